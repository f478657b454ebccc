"""Typed views of the A2A_* settings, read at call time.

The readers never raise for a wrong value: `checks` reports it, and what cannot be read
counts as not set. Only the `parse_…` functions raise, a `ValueError` with the sentence
that the check shows.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings
from django.db import connection

DEFAULT_PORTS = {"http": 80, "https": 443}
REQUEST_BYTES_RANGE = range(1024, 1024**3 + 1)
BLOCKING_WAIT_RANGE = range(1, 101)
WAITING_REQUESTS_RANGE = range(1, 100_001)
THREADS_RANGE = range(1, 65)
PROXY_COUNT_RANGE = range(11)

_HOST_NAME = re.compile(r"(?!-)[a-z0-9-]+(\.(?!-)[a-z0-9-]+)*\.?")
# No empty segment, and dots alone only where they are no way up or nowhere.
_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*")
_FAILURES = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseURL:
    """`path` is decoded and empty for a root; `text` is what cards and replies show."""

    scheme: str
    host: str
    port: int
    path: str
    text: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def parse_base_url(text: str) -> BaseURL:
    """Raise ValueError, with a sentence, for what S2 does not allow whatever DEBUG is."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValueError("It is not a URL.") from error
    _refuse_form(text, parts)
    path = parts.path.rstrip("/")
    if not _PATH.fullmatch(path):
        raise ValueError("Its path has empty or dotted segments or odd characters.")
    host = parse_host(parts.netloc.rpartition(":")[0] if port else parts.netloc)
    default = DEFAULT_PORTS[parts.scheme]
    return BaseURL(
        scheme=parts.scheme,
        host=host,
        port=port or default,
        path=unquote(path),
        text=f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}",
    )


def _refuse_form(text: str, parts: SplitResult) -> None:
    if parts.scheme not in DEFAULT_PORTS or not text.lower().startswith(
        f"{parts.scheme}://"
    ):
        raise ValueError("It does not begin with https:// or http://.")
    if "?" in text or "#" in text:
        raise ValueError("It has a query or a fragment.")
    if "@" in parts.netloc:
        raise ValueError("It holds a user name or a password.")
    if parts.netloc.endswith(":") or parts.port == 0:
        raise ValueError("Its port is not a number from 1 to 65535.")


def parse_host(text: str) -> str:
    """A host name or address in the one form in which hosts are compared here."""
    host = text.lower()
    if host.startswith("["):
        return _parse_bracketed(host)
    if not _HOST_NAME.fullmatch(host):
        raise ValueError("Its host is no ASCII host name and no address.")
    return host


def _parse_bracketed(host: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(host.removeprefix('[').removesuffix(']'))}]"
    except ValueError as error:
        raise ValueError("Its host is no IPv6 address.") from error


def base_url_problem(url: BaseURL) -> str | None:
    """Why a well-formed URL is not served: plain http beyond this machine."""
    if url.scheme == "https" or url.is_loopback or settings.DEBUG:
        return None
    return "Plain http is for loopback hosts only."


def base_urls() -> tuple[BaseURL, ...]:
    """The base URLs that can be served, in the order of the setting."""
    return _served(tuple(settings.A2A_SERVER_BASE_URLS), bool(settings.DEBUG))


@lru_cache(maxsize=16)
def _served(texts: tuple[str, ...], _debug: bool) -> tuple[BaseURL, ...]:
    served: list[BaseURL] = []
    for text in texts:
        try:
            url = parse_base_url(text)
        except ValueError:
            continue
        if base_url_problem(url) is None and url not in served:
            served.append(url)
    return tuple(served)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLimit:
    """`count` failures of one address in `window` are answered with 401 (S23)."""

    count: int
    window: timedelta


def parse_auth_failures(text: str) -> FailureLimit:
    found = _FAILURES.fullmatch(text.strip())
    if not found:
        raise ValueError("It is not written as failures/seconds, such as 10/900.")
    count, seconds = map(int, found.groups())
    return FailureLimit(count=count, window=timedelta(seconds=seconds))


def auth_failures() -> FailureLimit:
    try:
        return parse_auth_failures(settings.A2A_SERVER_AUTH_FAILURES)
    except ValueError:
        return FailureLimit(count=10, window=timedelta(minutes=15))


def is_server_enabled() -> bool:
    return bool(settings.A2A_SERVER_ENABLED)


def max_request_bytes() -> int:
    return _within(settings.A2A_SERVER_MAX_REQUEST_BYTES, REQUEST_BYTES_RANGE)


def blocking_wait() -> timedelta:
    seconds = _within(settings.A2A_SERVER_BLOCKING_WAIT_SECONDS, BLOCKING_WAIT_RANGE)
    return timedelta(seconds=seconds)


def max_waiting_requests() -> int:
    return _within(settings.A2A_SERVER_MAX_WAITING_REQUESTS, WAITING_REQUESTS_RANGE)


def trusted_proxy_count() -> int:
    return _within(settings.A2A_TRUSTED_PROXY_COUNT, PROXY_COUNT_RANGE)


def threads() -> int:
    """How many threads of a web process use the database for A2A requests."""
    # SQLite's writers do not queue: each sleeps and tries again, and some of them starve.
    # One thread makes the queue.
    if connection.vendor == "sqlite":
        return 1
    return _within(settings.A2A_SERVER_THREADS, THREADS_RANGE)


def redis_url() -> str:
    return str(settings.A2A_REDIS_URL)


def redis_key(*parts: str) -> str:
    prefix = settings.A2A_REDIS_PREFIX
    return ":".join((prefix, "a2a", *parts) if prefix else ("a2a", *parts))


def _within(value: int, allowed: range) -> int:
    return min(max(value, allowed.start), allowed.stop - 1)
