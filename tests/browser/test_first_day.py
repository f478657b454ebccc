"""From an empty installation to a client's answer, as an administrator goes it (O2).

`token` stands for everything that was entered before: see `publishing`. The whole is done
twice, the second time in a browser that runs no JavaScript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import gateways, publishing

if TYPE_CHECKING:
    from tests.browser.gateways import Gateway
    from tests.browser.pages import Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize(
        "has_javascript",
        [True, False],
        ids=["javascript", "no-javascript"],
        indirect=True,
        scope="module",
    ),
]

TEXT = "The meeting began late. It decided to move the release to May."


def test_follows_a_message_from_its_task_to_its_run_and_back(
    browser: Browser, gateway: Gateway, token: str
) -> None:
    """O2, P1–P4: the client's text, the result, and what happened in between."""
    task = gateways.send(gateway.site, token, publishing.SKILL, TEXT)

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    browser.open_list("Tasks")
    assert publishing.CLIENT in browser.column("Client")
    browser.visit(f"/admin/a2a_server/task/{task['id']}/change/")
    assert TEXT in browser.shown("History")
    assert TEXT in browser.shown("Artifacts")
    browser.follow_shown("Run")
    assert browser.shown("State") == "Completed"
    assert browser.column("What") == ["Request", "Model call", "Settled"]
    browser.follow_shown("Belongs to")
    assert browser.shown("Id") == task["id"]


def test_tells_when_a_token_was_used_and_never_the_token(
    browser: Browser, gateway: Gateway, token: str
) -> None:
    """S20: the page knows the prefix. Every page that a browser opens is searched."""
    gateways.send(gateway.site, token, publishing.SKILL, TEXT)

    browser.open_record("A2A clients", publishing.CLIENT)

    prefix = "_".join(token.split("_")[:2])
    assert browser.shown("Token") == f"{prefix}_…"
    assert browser.shown("Last used from") == "127.0.0.1"
    browser.follow("History", inside=".object-tools")
    browser.open_list("A2A clients")


def test_cancels_a_queued_run_as_an_action_and_its_task_ends(
    browser: Browser, gateway: Gateway, token: str
) -> None:
    """R14: the client sees at once what the administrator did."""
    with gateway.halted_worker():
        task_id = queue_task(gateway, token)
        browser.open_list("Runs")
        browser.choose_row("Queued")

        browser.act("Cancel selected runs")

        assert browser.messages() == ["1 run was canceled."]
        assert gateways.state_of(gateway.site, token, task_id) == "TASK_STATE_CANCELED"


def test_cancels_a_task_on_its_own_page_once(
    browser: Browser, gateway: Gateway, token: str
) -> None:
    """R14: the button goes with the last moment at which it does something."""
    with gateway.halted_worker():
        task_id = queue_task(gateway, token)
        browser.visit(f"/admin/a2a_server/task/{task_id}/change/")

        browser.press("Cancel this task")

    assert browser.messages() == ["1 task was canceled."]
    assert browser.shown("State") == "Canceled"
    assert not browser.has_button("Cancel this task")


def queue_task(gateway: Gateway, token: str) -> str:
    """While the worker is halted: the id of a task that nobody works on."""
    task = gateways.send(gateway.site, token, publishing.SKILL, TEXT, waits=False)
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    return str(task["id"])
