"""Which requests are A2A requests, and where they come from.

Nothing is built from what a request says of itself (S5): scheme and host are only
compared with the configured base URLs, and a match is answered with the configured URL.
What matches none is not an A2A request, however malformed it is (S4).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from django.conf import settings

from a2a_server import conf

if TYPE_CHECKING:
    from a2a_server.asgi_types import Scope
    from a2a_server.conf import BaseURL

CARD_PATH = "/.well-known/agent-card.json"

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a request addresses; `path` is its path below the base URL."""

    kind: Literal["endpoint", "card"]
    base_url: BaseURL
    path: str

    @property
    def allowed_methods(self) -> tuple[str, ...]:
        return ("POST",) if self.kind == "endpoint" else ("GET", "HEAD")


def find_target(scope: Scope) -> Target | None:
    origin = _origin(scope)
    here = [url for url in conf.base_urls() if url.origin == origin]
    path = scope["path"]
    for url in here:
        if path in {url.path, f"{url.path}/"}:
            return Target(kind="endpoint", base_url=url, path="/")
        if path == url.path + CARD_PATH:
            return Target(kind="card", base_url=url, path=CARD_PATH)
    # Some clients drop a base URL's path and look at the host's root (S3).
    if path == CARD_PATH and len(here) == 1:
        return Target(kind="card", base_url=here[0], path=CARD_PATH)
    return None


def header(scope: Scope, name: bytes) -> str | None:
    """A header's value; several of one name are joined as Django joins them."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return b",".join(values).decode("latin-1") if values else None


def _origin(scope: Scope) -> tuple[str, str, int] | None:
    scheme = _scheme(scope)
    if scheme not in conf.DEFAULT_PORTS:
        return None
    text = _host(scope)
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        name, port = text, str(conf.DEFAULT_PORTS[scheme])
    if not (port.isascii() and port.isdigit() and len(port) <= 5):
        return None
    try:
        return scheme, conf.parse_host(name), int(port)
    except ValueError:
        return None


def _scheme(scope: Scope) -> str:
    secure = settings.SECURE_PROXY_SSL_HEADER
    if secure:
        name, secure_value = secure
        value = header(scope, _header_name(name))
        if value is not None:
            first = value.partition(",")[0].strip()
            return "https" if first == secure_value else "http"
    return str(scope.get("scheme", "http"))


def _host(scope: Scope) -> str:
    if settings.USE_X_FORWARDED_HOST:
        forwarded = header(scope, b"x-forwarded-host")
        if forwarded is not None:
            return forwarded
    return header(scope, b"host") or ""


def _header_name(meta_name: str) -> bytes:
    return meta_name.removeprefix("HTTP_").replace("_", "-").lower().encode()


def client_address(scope: Scope) -> IPAddress | None:
    """The address that failures are counted for; None where there is no IP at all.

    Each trusted proxy appends the address it was called from, so the client's own is the
    n-th from the right. A header that does not hold so many is not to be believed.
    """
    client = scope.get("client")
    peer = _parse_address(client[0]) if client else None
    count = conf.trusted_proxy_count()
    if not count:
        return peer
    hops = (header(scope, b"x-forwarded-for") or "").split(",")
    found = _parse_address(hops[-count].strip()) if len(hops) >= count else None
    return found or peer


def _parse_address(text: str) -> IPAddress | None:
    try:
        # A zone names an interface of this machine and no other address.
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def counting_key(address: IPAddress | None) -> str:
    """One key for all addresses that one subscriber can choose from (S23)."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return str(address) if address else "unknown"
