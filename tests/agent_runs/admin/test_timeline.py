from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from agent_runs.admin import timeline
from agent_runs.models import AgentRun, AgentRunEvent
from agent_runs.models.run import EventKind
from tests import factories

if TYPE_CHECKING:
    from django.test import Client as Browser

pytestmark = pytest.mark.django_db

DRAFT = str(uuid.uuid4())


def make_event(run: AgentRun, kind: str, **values: Any) -> AgentRunEvent:
    defaults = {
        "sequence": run.events.count() + 1,
        "created_at": run.created_at + timedelta(seconds=2),
    }
    return AgentRunEvent.objects.create(run=run, kind=kind, **defaults | values)


def row_of(kind: str, **values: Any) -> dict[str, Any]:
    run = factories.make_run()
    return timeline.row(run, make_event(run, kind, **values))


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        ({"waiting": True, "tools": ["a", "b"]}, "Approval asked for"),
        (
            {"approved": True, "by": "ada", "by_id": "1", "tools": ["a", "b"]},
            "Approved",
        ),
        ({"approved": False, "by": "ada", "by_id": "1", "tools": ["a", "b"]}, "Denied"),
        ({"approved": [], "tools": ["a", "b"]}, "Approval asked for"),
    ],
)
def test_a_verdict_says_which_and_who(facts: dict[str, Any], what: str) -> None:
    """R15, T12."""
    row = row_of(EventKind.APPROVAL, facts=facts)

    who = [("by", "ada")] if "by" in facts else []
    assert row["what"] == what
    assert row["facts"] == [*who, ("tools", "a, b")]


def test_an_answer_says_who_gave_it() -> None:
    facts = {"by": "reader", "by_id": "7", "tool": "ask_choice", "length": 3}

    row = row_of(EventKind.ANSWER, facts=facts, content="red")

    assert row["facts"] == [("by", "reader"), ("tool", "ask_choice"), ("length", "3")]
    assert row["content"] == "red"


def test_what_a_later_release_stored_is_shown_as_it_is() -> None:
    row = row_of("novel", facts=["odd"], duration_ms=90_000)

    assert (row["what"], row["facts"], row["took"]) == (
        "novel",
        [("", "odd")],
        "1 min 30 s",
    )


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("auth.group", reverse("admin:auth_group_change", args=["7"])),
        ("no.such", ""),
        ("", ""),
        ("../x.y", ""),
    ],
)
def test_a_write_leads_to_its_draft_and_to_what_has_a_page(
    model: str, url: str
) -> None:
    """T17."""
    facts = {"kind": "change", "model": model, "object_id": "7", "draft_id": DRAFT}

    row = row_of(EventKind.WRITE, facts=facts)

    draft = reverse("admin:agent_runs_draft_change", args=[DRAFT])
    assert row["links"] == [
        {"name": "draft", "text": DRAFT[:8], "url": draft},
        {"name": "record", "text": "7", "url": url},
    ]


def test_lists_what_was_written_and_nothing_else() -> None:
    """T17: from the events of writes only."""
    run = factories.make_run()
    make_event(run, EventKind.TOOL, facts={"tool": "draft_record"})
    make_event(
        run,
        EventKind.WRITE,
        facts={"kind": "create", "model": "a.b", "tool": "t", "workspace": "Desk"},
    )

    (written,) = timeline.writes(run)

    assert (written["kind"], written["model"]) == ("New record", "a.b")
    assert (written["workspace"], written["tool"]) == ("Desk", "t")


def test_the_page_shows_them_escaped(browser: Browser) -> None:
    run = factories.make_run()
    facts = {"kind": "odd", "model": "<b>a</b>", "draft_id": DRAFT, "object_id": "<i>"}
    make_event(run, EventKind.WRITE, facts=facts)
    url = reverse("admin:agent_runs_agentrun_change", args=[run.pk])

    text = browser.get(url).content.decode()

    assert f"{DRAFT}/change/" in text
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "<b>a" not in text
    assert "<i>" not in text


def test_a_run_that_wrote_nothing_says_so(browser: Browser) -> None:
    url = reverse("admin:agent_runs_agentrun_change", args=[factories.make_run().pk])

    assert "It wrote nothing." in browser.get(url).content.decode()
