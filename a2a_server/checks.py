"""System checks for the A2A_* settings, each with a hint (O3).

Errors are settings that cannot work or would not be served; warnings are settings that
work on one's own machine and should not be seen elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

from a2a_server import conf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from django.apps import AppConfig
    from django.core.checks import CheckMessage


def register() -> None:
    checks.register(check_settings, "a2a_server")


def check_settings(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    return [
        *_check_base_urls(),
        *_check_ranges(),
        *_check_auth_failures(),
        *_check_card(),
        *_check_redis_url(),
    ]


def _check_base_urls() -> Iterator[CheckMessage]:
    if settings.A2A_SERVER_ENABLED and not settings.A2A_SERVER_BASE_URLS:
        yield checks.Warning(
            "A2A_SERVER_ENABLED is on, and A2A_SERVER_BASE_URLS is empty.",
            hint="Name at least one address; without one there is neither a card nor "
            "an endpoint.",
            id="a2a_server.W002",
        )
    seen: set[conf.BaseURL] = set()
    for text in settings.A2A_SERVER_BASE_URLS:
        yield from _check_base_url(text, seen)


def _check_base_url(text: str, seen: set[conf.BaseURL]) -> Iterator[CheckMessage]:
    name = f"A2A_SERVER_BASE_URLS: {text!r}"
    try:
        url = conf.parse_base_url(text)
    except ValueError as error:
        yield checks.Error(
            f"{name} cannot be served. {error}",
            hint="Write it as https://host/path.",
            id="a2a_server.E001",
        )
        return
    problem = conf.base_url_problem(url)
    if problem:
        yield checks.Error(
            f"{name} cannot be served. {problem}",
            hint="Use https, and let a proxy in front do the encryption.",
            id="a2a_server.E001",
        )
    elif url.scheme == "http" and not settings.DEBUG:
        yield checks.Warning(
            f"{name} is plain http.",
            hint="That is fine on your own machine; remote agents need https.",
            id="a2a_server.W001",
        )
    if url in seen:
        yield checks.Warning(
            f"{name} is there twice.",
            hint="Remove one of the two.",
            id="a2a_server.W003",
        )
    seen.add(url)


def _check_ranges() -> Iterator[CheckMessage]:
    ranges = {
        "A2A_SERVER_MAX_REQUEST_BYTES": conf.REQUEST_BYTES_RANGE,
        "A2A_SERVER_BLOCKING_WAIT_SECONDS": conf.BLOCKING_WAIT_RANGE,
        "A2A_SERVER_MAX_WAITING_REQUESTS": conf.WAITING_REQUESTS_RANGE,
        "A2A_SERVER_THREADS": conf.THREADS_RANGE,
        "A2A_TRUSTED_PROXY_COUNT": conf.PROXY_COUNT_RANGE,
    }
    for name, allowed in ranges.items():
        value = getattr(settings, name)
        if value not in allowed:
            yield checks.Error(
                f"{name} is {value}.",
                hint=f"Choose a number from {allowed.start} to {allowed.stop - 1}.",
                id="a2a_server.E002",
            )


def _check_auth_failures() -> Iterator[CheckMessage]:
    try:
        conf.parse_auth_failures(settings.A2A_SERVER_AUTH_FAILURES)
    except ValueError as error:
        yield checks.Error(
            f"A2A_SERVER_AUTH_FAILURES cannot be read. {error}",
            hint="10/900 allows ten failures in fifteen minutes.",
            id="a2a_server.E003",
        )


def _check_card() -> Iterator[CheckMessage]:
    for name in ("A2A_SERVER_NAME", "A2A_SERVER_DESCRIPTION", "A2A_SERVER_VERSION"):
        if not getattr(settings, name).strip():
            yield checks.Error(
                f"{name} is blank.",
                hint="The agent card needs it; leave the setting out for the default.",
                id="a2a_server.E004",
            )
    provider = settings.A2A_SERVER_PROVIDER
    organization, url = provider["organization"].strip(), provider["url"].strip()
    if bool(organization) != bool(url):
        yield checks.Error(
            "A2A_SERVER_PROVIDER has an organization or a URL, but not both.",
            hint="Set both, or neither.",
            id="a2a_server.E005",
        )
    for name, text in (
        ("A2A_SERVER_PROVIDER_URL", url),
        ("A2A_SERVER_DOCUMENTATION_URL", settings.A2A_SERVER_DOCUMENTATION_URL),
    ):
        if text and not _is_web_address(text):
            yield checks.Error(
                f"{name} is not an absolute web address.",
                hint="Write it as https://host/path.",
                id="a2a_server.E006",
            )


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    is_clean = text.isprintable() and " " not in text
    return is_clean and parts.scheme in conf.DEFAULT_PORTS and bool(parts.hostname)


def _check_redis_url() -> Iterator[CheckMessage]:
    url = conf.redis_url()
    problem = _redis_problem(url) if url else None
    if problem:
        # The URL may hold a password, so it is not repeated.
        yield checks.Error(
            f"A2A_REDIS_URL {problem}",
            hint="Write it as redis://host:6379/0, or leave it empty.",
            id="a2a_server.E007",
        )


def _redis_problem(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "cannot be read."
    if parts.scheme not in {"redis", "rediss", "unix"}:
        return "does not begin with redis://, rediss:// or unix://."
    if parts.scheme == "unix":
        return None if parts.path else "names no socket."
    # Without a host the packages silently take one of their own.
    return None if parts.hostname else "names no host."
