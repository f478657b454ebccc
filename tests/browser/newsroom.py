"""The newsroom of the demonstration with a client that calls its skills, and its people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.browser import gateways

if TYPE_CHECKING:
    from tests.browser.pages import Browser
    from tests.processes import Installation

_FIELDS = "newsroom.article:title,section,text"
ENVIRONMENT = {
    "EXTRA_APPS": "a2a_project.newsroom tests.browser.rewriting",
    "AGENT_RUNS_READABLE_MODELS": f"newsroom.section:name {_FIELDS}",
    "AGENT_RUNS_WRITABLE_MODELS": _FIELDS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Newsroom:
    site: Installation
    demo: dict[str, Any]

    def ask_for(self, skill: str, text: str) -> str:
        """The id of the task that a client's message makes."""
        task = gateways.send(self.site, self.demo["token"], skill, text, waits=False)
        return str(task["id"])

    def task(self, task_id: str) -> dict[str, Any]:
        return gateways.call(self.site, self.demo["token"], "GetTask", {"id": task_id})


def start(site: Installation) -> Newsroom:
    # The databases of installations under test hold the tables of built-in apps.
    site.manage("migrate", "--verbosity=0")
    demo = site.seed()
    site.start_web()
    if site.redis_url:
        site.start_celery_worker()
    else:
        site.start_sweep()
    return Newsroom(site=site, demo=demo)


# --- What people do -------------------------------------------------------------------


def add_article(browser: Browser, title: str, text: str) -> None:
    browser.add("Articles", {"Title": title, "Section": "Science", "Text": text})
    assert "successfully" in " ".join(browser.messages()), browser.text()


def open_run(browser: Browser, task_id: str, state: str) -> None:
    """From the task's page to its run, as soon as that is in the state."""
    browser.visit(f"/admin/a2a_server/task/{task_id}/change/")
    browser.follow_shown("Run")
    browser.reload_until(lambda: browser.shown("State").startswith(state))


def open_card(browser: Browser, task_id: str, state: str) -> None:
    open_run(browser, task_id, state)
    browser.follow_shown("State")


def approve(browser: Browser, task_id: str) -> None:
    """Leaves the run's page open, with what it wrote."""
    open_card(browser, task_id, "Waiting for approval")
    browser.press("Approve")
    assert browser.messages() == ["Approved. The run goes on."]
    open_run(browser, task_id, "Completed")


def open_draft(browser: Browser) -> None:
    """From the page of the run that wrote it."""
    browser.follow_first(".field-writes_shown tbody a")
