from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_server import checks

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


def found() -> list[tuple[str, str]]:
    return [(str(m.id), str(m.msg)) for m in checks.check_settings(None)]


def ids() -> list[str]:
    return [id_.removeprefix("a2a_server.") for id_, _ in found()]


def test_the_settings_of_the_tests_are_right() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("name", "value", "id_"),
    [
        ("A2A_SERVER_BASE_URLS", ["h.example"], "E001"),
        ("A2A_SERVER_BASE_URLS", ["http://h.example"], "E001"),
        ("A2A_SERVER_BASE_URLS", ["https://h.example?x"], "E001"),
        ("A2A_SERVER_BASE_URLS", [], "W002"),
        ("A2A_SERVER_BASE_URLS", ["http://localhost:8000"], "W001"),
        ("A2A_SERVER_BASE_URLS", ["http://127.0.0.1/a"], "W001"),
        ("A2A_SERVER_BASE_URLS", ["https://h.example/", "https://h.example"], "W003"),
        ("A2A_SERVER_MAX_REQUEST_BYTES", 0, "E002"),
        ("A2A_SERVER_BLOCKING_WAIT_SECONDS", 0, "E002"),
        ("A2A_SERVER_BLOCKING_WAIT_SECONDS", 101, "E002"),
        ("A2A_SERVER_MAX_WAITING_REQUESTS", 0, "E002"),
        ("A2A_SERVER_THREADS", 0, "E002"),
        ("A2A_TRUSTED_PROXY_COUNT", -1, "E002"),
        ("A2A_SERVER_AUTH_FAILURES", "ten", "E003"),
        ("A2A_SERVER_NAME", " ", "E004"),
        ("A2A_SERVER_DESCRIPTION", "", "E004"),
        ("A2A_SERVER_VERSION", "", "E004"),
        ("A2A_SERVER_PROVIDER", {"organization": "We", "url": ""}, "E005"),
        ("A2A_SERVER_PROVIDER", {"organization": "", "url": "https://w.e"}, "E005"),
        ("A2A_SERVER_PROVIDER", {"organization": "We", "url": "w.e"}, "E006"),
        ("A2A_SERVER_DOCUMENTATION_URL", "/docs", "E006"),
        ("A2A_SERVER_DOCUMENTATION_URL", "javascript:x", "E006"),
        ("A2A_SERVER_DOCUMENTATION_URL", "https://[", "E006"),
        ("A2A_SERVER_DOCUMENTATION_URL", "https://h.example/a b", "E006"),
        ("A2A_REDIS_URL", "127.0.0.1:6379", "E007"),
        ("A2A_REDIS_URL", "rediss:/foo", "E007"),
        ("A2A_REDIS_URL", "redis:///0", "E007"),
        ("A2A_REDIS_URL", "redis://h.example:port/0", "E007"),
        ("A2A_REDIS_URL", "unix://", "E007"),
    ],
)
def test_reports_a_wrong_setting(
    settings: SettingsWrapper, name: str, value: Any, id_: str
) -> None:
    """O3, S2, S6, S14, S44, S46, S23, S24."""
    setattr(settings, name, value)

    messages = checks.check_settings(None)

    assert ids() == [id_]
    assert messages[0].hint
    assert name in messages[0].msg


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A2A_SERVER_BLOCKING_WAIT_SECONDS", 100),
        ("A2A_SERVER_PROVIDER", {"organization": "We", "url": "https://we.example"}),
        ("A2A_SERVER_DOCUMENTATION_URL", "https://we.example/docs"),
        ("A2A_REDIS_URL", "rediss://redis.example:6379/0"),
        ("A2A_REDIS_URL", "redis://:secret@127.0.0.1"),
        ("A2A_REDIS_URL", "unix:///run/redis.sock?db=1"),
    ],
)
def test_says_nothing_about_a_right_one(
    settings: SettingsWrapper, name: str, value: Any
) -> None:
    setattr(settings, name, value)

    assert ids() == []


def test_allows_plain_http_while_debugging(settings: SettingsWrapper) -> None:
    """S2."""
    settings.DEBUG = True
    settings.A2A_SERVER_BASE_URLS = ["http://h.example"]

    assert ids() == []


def test_asks_for_no_base_url_while_the_server_is_off(
    settings: SettingsWrapper,
) -> None:
    settings.A2A_SERVER_ENABLED = False
    settings.A2A_SERVER_BASE_URLS = []

    assert ids() == []


def test_never_repeats_the_redis_url(settings: SettingsWrapper) -> None:
    """It may hold a password."""
    settings.A2A_REDIS_URL = "http://:secret@redis.example"

    assert "secret" not in str(checks.check_settings(None))
