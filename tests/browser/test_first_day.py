"""From an empty installation to a client's answer, as an administrator goes it (O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import gateways

if TYPE_CHECKING:
    from tests.browser.gateways import Gateway
    from tests.browser.pages import Browser

pytestmark = pytest.mark.browser

TEXT = "The meeting began late. It decided to move the release to May."


def add_model(browser: Browser) -> None:
    browser.add("Providers", {"Name": "In house", "Kind": OFFLINE})
    browser.add(
        "LLM configurations",
        {
            "Name": "Short summaries",
            "Identifier": "short",
            "Provider": "In house",
            "Model name": "summary",
        },
    )


def add_skill(browser: Browser) -> None:
    browser.add(
        "A2A publication profiles",
        {
            "Skill id": "minutes",
            "Name": "Minutes",
            "Public": True,
            "Description": "Shortens the minutes of a meeting.",
            "Tags": "text\nmeetings",
            "Examples": "Shorten: The meeting began late.",
            "Domain handler": HANDLER,
            "LLM configuration": "Short summaries",
        },
    )


def add_client(browser: Browser) -> None:
    browser.add("Users", {"Username": "planner-agent", "Disabled": True})
    browser.add(
        "A2A clients",
        {"Name": "planner", "Technical user": "planner-agent", "Enabled": True},
        rows={"grants-0-profile": "Minutes (minutes)"},
    )


OFFLINE = "Offline (deterministic, for demonstrations)"
HANDLER = "Text to text, by a language model (uses a model)"


def publish(browser: Browser, gateway: Gateway) -> str:
    """Everything a client needs; its token, which no later page may show."""
    add_model(browser)
    add_skill(browser)
    add_client(browser)
    issued = gateway.site.manage("a2a_client_token", "planner").stdout.strip()
    browser.secrets.add(issued)
    return issued


def test_publishes_a_skill_and_follows_a_message_through_it(
    browser: Browser, gateway: Gateway
) -> None:
    """O2, P1–P4, S20: nothing but the admin, one command and the client's message."""
    token = publish(browser, gateway)

    task = gateways.send(gateway.site, token, "minutes", TEXT)

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    browser.open_list("Tasks")
    assert browser.column("State") == ["Completed"]
    assert browser.column("Client") == ["planner"]
    browser.visit(f"/admin/a2a_server/task/{task['id']}/change/")
    assert TEXT in browser.shown("History")
    assert TEXT in browser.shown("Artifacts")
    browser.follow_shown("Run")
    assert browser.shown("State") == "Completed"
    assert browser.column("What") == ["Request", "Model call", "Settled"]
    browser.follow_shown("Belongs to")
    assert browser.shown("Id") == task["id"]


def test_tells_when_a_client_used_its_token_and_never_the_token(
    browser: Browser, gateway: Gateway
) -> None:
    """S20: the page knows the prefix; every page that was seen was searched."""
    token = publish(browser, gateway)
    gateways.send(gateway.site, token, "minutes", TEXT)

    browser.open_record("A2A clients", "planner")

    prefix, secret = token.removeprefix("a2a_").split("_", 1)
    browser.secrets |= {secret}
    assert browser.shown("Token") == f"a2a_{prefix}_…"
    assert browser.shown("Last used from") == "127.0.0.1"
    browser.follow("History", inside=".object-tools")
    browser.open_list("A2A clients")
