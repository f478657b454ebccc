from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_runs import outbound_checks as checks

if TYPE_CHECKING:
    from pathlib import Path

    from django.core.checks import CheckMessage
    from pytest_django.fixtures import SettingsWrapper


def _ids(messages: list[CheckMessage]) -> list[str | None]:
    assert all(message.hint for message in messages)
    return [message.id for message in messages]


def test_finds_nothing_wrong_with_what_ships() -> None:
    assert [message for check in checks.ALL for message in check(None)] == []


@pytest.mark.parametrize(
    "name",
    ["A2A_EGRESS_REMOTE_AGENT", "A2A_EGRESS_INBOUND_URL", "A2A_EGRESS_FETCH_URL"],
)
def test_names_each_entry_that_cannot_be_read(
    settings: SettingsWrapper, name: str
) -> None:
    """E1."""
    setattr(settings, f"{name}_ALLOW", ["good.test", "203.0.113.0/24", "*"])
    setattr(settings, f"{name}_DENY", ["203.0.113.0/24", "good.test:0"])

    messages = checks.check_lists(None)

    assert _ids(messages) == ["agent_runs.E012"] * 3
    assert [message.msg.split(":")[0] for message in messages] == [
        f"{name}_ALLOW",
        f"{name}_ALLOW",
        f"{name}_DENY",
    ]


@pytest.mark.parametrize(
    ("debug", "allowed", "expected"),
    [
        (False, True, ["agent_runs.E013"]),
        (True, True, []),
        (False, False, []),
    ],
)
def test_loopback_with_debug_off_stops_the_start(
    settings: SettingsWrapper, debug: bool, allowed: bool, expected: list[str]
) -> None:
    """E4."""
    settings.DEBUG = debug
    settings.A2A_EGRESS_ALLOW_LOOPBACK = allowed

    assert _ids(checks.check_loopback(None)) == expected


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_authorities_that_cannot_be_read_stop_the_start(
    settings: SettingsWrapper, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if text is not None:
        path.write_text(text)
    settings.A2A_EGRESS_CA_FILE = str(path)

    assert _ids(checks.check_authorities(None)) == ["agent_runs.E014"]


def test_name_servers_that_cannot_be_read_stop_the_start(
    settings: SettingsWrapper,
) -> None:
    settings.A2A_EGRESS_NAMESERVERS = ["9.9.9.9", "dns.example"]

    assert _ids(checks.check_nameservers(None)) == ["agent_runs.E015"]
