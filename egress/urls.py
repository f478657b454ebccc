"""Takes a URL apart, strictly (E2).

Parsers disagree about odd URLs, and a guard that reads another host than the transport
is none. So whatever is odd is refused, and requests are built from the pieces found here,
never from the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from egress.errors import Reason, Refused

if TYPE_CHECKING:
    from collections.abc import Collection

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL_CHARACTERS = 8192

_VISIBLE = re.compile(r"[!-\[\]-~]+")  # ASCII without blanks, controls and backslash
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PIECES = re.compile(
    r"[^:]+://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?"
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?P<port>:[^:\[\]]*)?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")
# Whatever ends so is an address to a resolver: 2130706433, 127.1, 0x7f.1, 0177.0.0.1.
_NUMERIC = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL in its pieces: lower-case scheme and host, IPv6 without brackets.

    `path` has the query and keeps its exact characters; a fragment is dropped, since it
    is never sent.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_and_port(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def authority(self) -> str:
        """As the Host header has it: without the scheme's own port."""
        return self.host_and_port.removesuffix(f":{DEFAULT_PORTS[self.scheme]}")

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"


def parse(url: str, *, schemes: Collection[str] = tuple(DEFAULT_PORTS)) -> Target:
    """Raises `Refused` with the first reason in the guard's order."""
    require_visible(url)
    scheme = _scheme(url, schemes)
    pieces = _PIECES.match(url)
    if pieces is None or not pieces["authority"]:
        raise Refused(
            Reason.BAD_URL, "The URL names no host. Write it as https://host/path."
        )
    if "@" in pieces["authority"]:
        raise Refused(
            Reason.USERINFO,
            "The URL holds a user name or password before «@». Leave it out; "
            "credentials have a place of their own.",
        )
    host, port = _host_and_port(pieces["authority"])
    return Target(
        scheme=scheme,
        host=parse_host(host),
        port=DEFAULT_PORTS[scheme] if port is None else parse_port(port),
        path=f"{pieces['path'] or '/'}{pieces['query'] or ''}",
    )


def require_visible(url: str) -> None:
    """Raises `Refused` for blanks, control characters, backslashes and non-ASCII."""
    if len(url) > MAX_URL_CHARACTERS:
        raise Refused(
            Reason.BAD_URL, f"The URL is longer than {MAX_URL_CHARACTERS} characters."
        )
    if not url.isascii():
        raise Refused(
            Reason.BAD_HOST if _is_foreign_host(url) else Reason.BAD_URL,
            "The URL holds a character that is not ASCII. Write a host name as "
            "punycode («xn--…») and the rest percent-encoded.",
        )
    if not _VISIBLE.fullmatch(url):
        raise Refused(
            Reason.BAD_URL,
            "The URL is empty, or holds a blank, a control character or a backslash. "
            "Write it as https://host/path, percent-encoded where needed.",
        )


def _is_foreign_host(url: str) -> bool:
    pieces = _PIECES.match(url)
    return pieces is not None and not pieces["authority"].isascii()


def _scheme(url: str, schemes: Collection[str]) -> str:
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else ""
    if scheme not in schemes:
        raise Refused(Reason.SCHEME, "The URL must begin with «https://».")
    return scheme


def _host_and_port(authority: str) -> tuple[str, str | None]:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise Refused(
            Reason.BAD_URL,
            "The URL's host and port cannot be told apart. Write host:port once, and "
            "an address of IPv6 in brackets.",
        )
    return parts["host"], parts["port"] and parts["port"][1:]


def parse_host(text: str) -> str:
    """A host name or address in lower case, without its trailing dot or brackets.

    Raises `Refused`.
    """
    if text.startswith("["):
        return _parse_v6(text)
    host = text.lower().removesuffix(".")
    if not _NUMERIC.fullmatch(host):
        if _NAME.fullmatch(host):
            return host
        raise _bad_host()
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise Refused(
            Reason.NUMERIC_HOST,
            "The URL's host is a number. Write its name, or an address of IPv4 as four "
            "decimal numbers.",
        ) from None


def _written(address: IPv6Address) -> str:
    # Newer Pythons write a mapped address so (RFC 5952, section 5), older ones in hex.
    mapped = address.ipv4_mapped
    return str(address) if mapped is None else f"::ffff:{mapped}"


def _parse_v6(text: str) -> str:
    # A zone («%eth0») would choose an interface of this host.
    try:
        if "%" not in text:
            return _written(IPv6Address(text[1:-1]))
    except AddressValueError:
        pass
    raise _bad_host()


def _bad_host() -> Refused:
    return Refused(
        Reason.BAD_HOST,
        "The URL's host is no host name. It has letters, digits and hyphens between "
        "single dots; other scripts are written as punycode («xn--…»).",
    )


def parse_port(text: str) -> int:
    """Raises `Refused` for what is no plain number from 1 to 65535."""
    if _PORT.fullmatch(text) and int(text) <= 65535:
        return int(text)
    raise Refused(
        Reason.BAD_PORT, "The URL's port must be a number from 1 to 65535, or left out."
    )
