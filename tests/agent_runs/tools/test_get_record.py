from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from agent_runs.models import Draft, DraftState
from agent_runs.tools.contract import ToolError
from tests import factories
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from agent_runs.models import AgentRun

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _allowed(settings: SettingsWrapper) -> None:
    drafts.allow(settings)


def refusal(run: AgentRun, model: str, record_id: str) -> str:
    with pytest.raises(ToolError) as caught:
        drafts.call(run, "get_record", model=model, id=record_id)
    return str(caught.value)


def test_gives_the_listed_fields_in_full() -> None:
    """T5: and no other."""
    article = drafts.make_article("Old", text="long " * 1000)

    told = drafts.call(
        drafts.make_run(), "get_record", model="newsroom.article", id=str(article.pk)
    )

    assert told == {
        "model": "newsroom.article",
        "id": str(article.pk),
        "values": {
            "title": "Old",
            "section": article.section_id,
            "text": article.text,
        },
    }


def test_takes_an_id_that_is_written_as_a_number() -> None:
    article = drafts.make_article()

    told = drafts.call(
        drafts.make_run(), "get_record", model="newsroom.article", id=article.pk
    )

    assert told["id"] == str(article.pk)


def test_finds_records_by_any_kind_of_key(settings: SettingsWrapper) -> None:
    settings.AGENT_RUNS_READABLE_MODELS = {"agent_runs.agentrun": ("handler",)}
    run = drafts.make_run("agent_runs.view_agentrun")

    told = drafts.call(run, "get_record", model="agent_runs.agentrun", id=str(run.id))

    assert told["values"] == {"handler": "llm.text"}


@pytest.mark.parametrize(
    "record_id",
    ["0", "x", "-1", str(2**70), "1.5", "a\x00b", "draft:", f"draft:{uuid.uuid4()}"],
)
def test_what_is_refused_reads_like_what_is_missing(record_id: str) -> None:
    """T4."""
    article = drafts.make_article()
    missing = refusal(drafts.make_run(), "newsroom.article", record_id)
    blind = drafts.make_run("newsroom.view_section")

    assert missing == refusal(blind, "newsroom.article", str(article.pk))
    assert missing == refusal(drafts.make_run(), "auth.user", "1")
    assert missing == refusal(drafts.make_run(), "newsroom.nothing", "1")


def test_a_run_without_its_owner_sees_nothing() -> None:
    """T4."""
    article = drafts.make_article()

    told = refusal(drafts.make_run(owner=None), "newsroom.article", str(article.pk))

    assert told == "There is no such record."


def test_a_wrongly_listed_model_is_not_read(settings: SettingsWrapper) -> None:
    """T5: whether or not the checks ran."""
    settings.AGENT_RUNS_READABLE_MODELS = {"auth.user": ("username", "password")}
    run = drafts.make_run()
    assert run.owner
    owner = factories.make_user(is_superuser=True)
    run.owner = owner

    assert refusal(run, "auth.user", str(owner.pk)) == "There is no such record."


def test_a_runs_own_draft_is_over_what_is_live() -> None:
    """T15: and both are told apart."""
    run, article = drafts.make_run(), drafts.make_article("Old")
    draft = drafts.make_draft(run, str(article.pk), title="New")

    told = drafts.call(run, "get_record", model="newsroom.article", id=str(article.pk))

    assert told["values"]["title"] == "New"
    assert told["values"]["text"] == article.text
    assert told["draft"] == f"draft:{draft.id}"
    assert told["live_values"] == {"title": "Old"}
    assert told == drafts.call(
        run, "get_record", model="newsroom.article", id=f"draft:{draft.id}"
    )


def test_a_new_record_of_the_run_is_read_by_the_id_of_its_draft() -> None:
    """T15."""
    run = drafts.make_run()
    draft = drafts.make_draft(run, title="New")

    told = drafts.call(
        run, "get_record", model="newsroom.article", id=f"draft:{draft.id}"
    )

    assert told["id"] == told["draft"] == f"draft:{draft.id}"
    assert told["values"]["title"] == "New"
    assert "live_values" not in told


def test_drafts_of_others_and_decided_ones_are_not_seen() -> None:
    """T15: of the same run, and only while they are open."""
    run, article = drafts.make_run(), drafts.make_article("Old")
    neighbour = drafts.make_run(workspace=run.workspace)
    other = drafts.make_draft(neighbour, str(article.pk), title="Other")
    mine = drafts.make_draft(run, title="Mine")
    Draft.objects.filter(id=mine.id).update(
        state=DraftState.DISCARDED, decided_at=mine.created_at
    )

    told = drafts.call(run, "get_record", model="newsroom.article", id=str(article.pk))

    assert told["values"]["title"] == "Old"
    for draft in (other, mine):
        refused = refusal(run, "newsroom.article", f"draft:{draft.id}")
        assert refused == "There is no such record."
