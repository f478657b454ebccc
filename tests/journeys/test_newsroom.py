"""What a newcomer does with the demonstration, from the message to the live article."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from a2a_project.newsroom.models import Article
from a2a_server import demo
from a2a_server.models import Client, Task
from agent_runs import engine
from agent_runs.models import AgentRun, AgentRunEvent, Draft
from tests import factories, html_forms
from tests.a2a_server.calling import make_answer, make_message, read_task, result_of

if TYPE_CHECKING:
    from pathlib import Path

    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True)

PROFILE = "https://nr-llm.netresearch.de/a2a/ext/profile/v1"
TEXT = "The bridge is open\nThe new bridge was opened on Monday."
FIELDS = ("title", "section", "text")


@pytest.fixture
def peer(settings: Settings, tmp_path: Path) -> Client:
    """The demonstration's client, in an installation as `make run` has it."""
    settings.DATA_DIR = tmp_path
    settings.AGENT_RUNS_READABLE_MODELS = {
        "newsroom.section": ("name",),
        "newsroom.article": FIELDS,
    }
    settings.AGENT_RUNS_WRITABLE_MODELS = {"newsroom.article": FIELDS}
    factories.make_worker()
    demo.seed()
    return Client.objects.get(name=demo.CLIENT)


@pytest.fixture
def browser(superuser: User) -> Browser:
    logged_in = Browser()
    logged_in.force_login(superuser)
    return logged_in


def _send(peer: Client, message: dict[str, Any]) -> dict[str, Any]:
    params = {
        "message": message,
        "metadata": {PROFILE: "article"},
        "configuration": {"returnImmediately": True},
    }
    task: dict[str, Any] = result_of(peer, "SendMessage", params)["task"]
    return task


def _work(peer: Client, task: dict[str, Any]) -> dict[str, Any]:
    """One segment, and what the client reads after it."""
    assert engine.execute(_run_of(task).pk)
    return read_task(peer, task["id"])


def _run_of(task: dict[str, Any]) -> AgentRun:
    return Task.objects.select_related("run").get(pk=task["id"]).run


def _judge(browser: Browser, task: dict[str, Any], verdict: str) -> str:
    """Press a button of the run's card in the inbox; the card as it was shown."""
    url = reverse("admin:agent_runs_waitingrun_change", args=[_run_of(task).pk])
    card = browser.get(url)
    held = html_forms.values_of(card, "verdict_form")
    browser.post(url, held | {"verdict": verdict}, follow=True)
    return str(card.content.decode())


def _publish(browser: Browser, draft: Draft) -> str:
    page = browser.get(reverse("admin:agent_runs_draft_change", args=[draft.pk]))
    url = reverse("admin:agent_runs_draft_publish", args=[draft.pk])
    browser.post(url, html_forms.values_of(page, "publish_form"))
    return str(page.content.decode())


def _tools(task: dict[str, Any]) -> list[str]:
    events = AgentRunEvent.objects.filter(run=_run_of(task), kind="tool")
    return [event.facts["tool"] for event in events.order_by("sequence")]


def test_an_article_is_asked_about_approved_and_published(
    peer: Client, browser: Browser
) -> None:
    """O1, T7, T11, T16, T17."""
    before = Article.objects.count()

    asked = _work(peer, _send(peer, make_message(TEXT)))
    answered = _send(peer, make_answer(asked, "Science"))
    waiting = _work(peer, answered)
    card = _judge(browser, waiting, "approve")
    ended = _work(peer, waiting)
    draft = Draft.objects.get()
    live_before = Article.objects.count()
    page = _publish(browser, draft)

    question = asked["status"]["message"]["parts"][0]["text"]
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert question.startswith("For which section?")
    assert waiting["status"]["state"] == "TASK_STATE_WORKING"
    assert "The bridge is open" in card
    assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
    answer, writes = ended["artifacts"]
    assert answer["parts"][0]["text"].startswith("«The bridge is open» is drafted.")
    assert str(draft.pk) in str(writes)
    assert live_before == before
    assert "The new bridge was opened on Monday." in page
    article = Article.objects.get(title="The bridge is open")
    assert article.section.name == "Science"
    assert _tools(ended) == ["list_records", "ask_choice", "draft_record"]


def test_nothing_is_written_when_somebody_says_no(
    peer: Client, browser: Browser
) -> None:
    """T14."""
    text = f"Section: Culture\n{TEXT}"

    waiting = _work(peer, _send(peer, make_message(text)))
    _judge(browser, waiting, "deny")
    ended = _work(peer, waiting)

    assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "was not approved" in str(ended["artifacts"])
    assert not Draft.objects.exists()
