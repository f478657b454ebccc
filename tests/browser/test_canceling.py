"""Ending what waits in the queue, from both lists and from the page of one (O2, R14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import gateways

if TYPE_CHECKING:
    from tests.browser.gateways import Gateway
    from tests.browser.pages import Browser

pytestmark = pytest.mark.browser


def queue_task(gateway: Gateway, token: str) -> str:
    """While the worker is halted: the id of a task that nobody works on."""
    task = gateways.send(gateway.site, token, "summary", "Read me.", waits=False)
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    return str(task["id"])


def test_cancels_a_queued_run_as_an_action_and_its_task_ends(
    browser: Browser, gateway: Gateway
) -> None:
    """R14: the client sees at once what the administrator did."""
    token = gateway.site.seed()["token"]
    with gateway.halted_worker():
        task_id = queue_task(gateway, token)

        browser.open_list("Runs")
        browser.choose_row("Queued")
        browser.act("Cancel selected runs")

        assert browser.messages() == ["1 was canceled."]
        assert gateways.state_of(gateway.site, token, task_id) == "TASK_STATE_CANCELED"


def test_cancels_a_task_on_its_own_page_once(
    browser: Browser, gateway: Gateway
) -> None:
    """R14: the button goes with the last moment at which it does something."""
    token = gateway.site.seed()["token"]
    with gateway.halted_worker():
        task_id = queue_task(gateway, token)
        browser.visit(f"/admin/a2a_server/task/{task_id}/change/")

        browser.press("Cancel this task")

    assert browser.messages() == ["1 was canceled."]
    assert browser.shown("State") == "Canceled"
    assert not browser.has_button("Cancel this task")
