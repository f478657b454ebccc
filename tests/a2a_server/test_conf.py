from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from a2a_server import conf

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


@pytest.mark.parametrize(
    ("text", "origin", "path", "shown"),
    [
        ("https://h.example", ("https", "h.example", 443), "", "https://h.example"),
        ("https://h.example/", ("https", "h.example", 443), "", "https://h.example"),
        (
            "https://H.Example:8443/a/b/",
            ("https", "h.example", 8443),
            "/a/b",
            "https://h.example:8443/a/b",
        ),
        (
            "https://h.example/a%20b",
            ("https", "h.example", 443),
            "/a b",
            "https://h.example/a%20b",
        ),
        ("http://[::1]:80/x", ("http", "[::1]", 80), "/x", "http://[::1]:80/x"),
        (
            "http://[0:0:0:0:0:0:0:1]",
            ("http", "[::1]", 80),
            "",
            "http://[::1]",
        ),
        ("http://127.0.0.2:1", ("http", "127.0.0.2", 1), "", "http://127.0.0.2:1"),
    ],
)
def test_reads_a_base_url(
    text: str, origin: tuple[str, str, int], path: str, shown: str
) -> None:
    """S2: a trailing slash is dropped, hosts are compared in one form."""
    url = conf.parse_base_url(text)

    assert (url.origin, url.path, url.text) == (origin, path, shown)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h.example/a2a",  # no scheme
        "//h.example",
        "https:/h.example",
        "https:h.example",
        "ftp://h.example",
        "https://",
        "https:///a2a",
        "https://h.example?x=1",
        "https://h.example?",
        "https://h.example/#top",
        "https://user@h.example",
        "https://user:secret@h.example",
        "https://h.example:",
        "https://h.example:0",
        "https://h.example:65536",
        "https://h.example:port",
        "https://h.example/a//b",
        "https://h.example/../b",
        "https://h.example/a/./b",
        "https://h.example/a b",
        "https://h.example/a\\b",
        "https://h_.ex ample",
        "https://-h.example",
        "https://münchen.example",  # only as punycode
        "https://[::1",
        "https://[::g]",
    ],
)
def test_refuses_what_is_no_base_url(text: str) -> None:
    """S2."""
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        conf.parse_base_url(text)


@pytest.mark.parametrize(
    ("text", "debug", "is_served"),
    [
        ("https://h.example", False, True),
        ("http://h.example", False, False),
        ("http://h.example", True, True),
        ("http://localhost:8000", False, True),
        ("http://127.255.255.254", False, True),
        ("http://[::1]", False, True),
        ("http://128.0.0.1", False, False),
        ("http://localhost.example", False, False),
    ],
)
def test_serves_plain_http_on_loopback_only(
    settings: SettingsWrapper, text: str, debug: bool, is_served: bool
) -> None:
    """S2: http for a loopback host, and any http with DEBUG on."""
    settings.A2A_SERVER_BASE_URLS = [text]
    settings.DEBUG = debug

    assert bool(conf.base_urls()) is is_served


def test_leaves_out_wrong_and_repeated_base_urls(settings: SettingsWrapper) -> None:
    settings.A2A_SERVER_BASE_URLS = [
        "https://one.example/",
        "nonsense",
        "https://one.example",
        "https://two.example",
    ]

    assert [url.text for url in conf.base_urls()] == [
        "https://one.example",
        "https://two.example",
    ]


def test_reads_settings_at_call_time(settings: SettingsWrapper) -> None:
    settings.A2A_SERVER_AUTH_FAILURES = "3/60"
    settings.A2A_SERVER_BLOCKING_WAIT_SECONDS = 5
    settings.A2A_SERVER_ENABLED = False
    settings.A2A_SERVER_MAX_REQUEST_BYTES = 2048

    assert conf.auth_failures() == conf.FailureLimit(
        count=3, window=timedelta(minutes=1)
    )
    assert conf.blocking_wait() == timedelta(seconds=5)
    assert not conf.is_server_enabled()
    assert conf.max_request_bytes() == 2048


@pytest.mark.parametrize("text", ["", "10", "10/0", "0/900", "-1/900", "10/900s"])
def test_unreadable_failure_limit_counts_as_the_default(
    settings: SettingsWrapper, text: str
) -> None:
    """S23: a typing error must not switch the limit off."""
    settings.A2A_SERVER_AUTH_FAILURES = text

    assert conf.auth_failures().count == 10
    assert conf.auth_failures().window == timedelta(minutes=15)


@pytest.mark.parametrize(("value", "seconds"), [(0, 1), (100, 100), (101, 100)])
def test_holds_the_blocking_wait_within_its_range(
    settings: SettingsWrapper, value: int, seconds: int
) -> None:
    """S44: 1 to 100 seconds."""
    settings.A2A_SERVER_BLOCKING_WAIT_SECONDS = value

    assert conf.blocking_wait() == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("prefix", "key"), [("here", "here:a2a:tasks"), ("", "a2a:tasks")]
)
def test_puts_the_prefix_before_redis_keys(
    settings: SettingsWrapper, prefix: str, key: str
) -> None:
    """W5: two installations may share one Redis."""
    settings.A2A_REDIS_PREFIX = prefix

    assert conf.redis_key("tasks") == key
