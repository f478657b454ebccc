from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from a2a_project.newsroom.models import Article
from agent_runs import workspaces
from agent_runs.effects import Effect
from agent_runs.models import Draft, DraftKind, DraftState
from agent_runs.tools import draft_record, gate
from agent_runs.tools.contract import Write
from tests import factories
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db

NO_SUCH = "There is no such record."


@pytest.fixture(autouse=True)
def _allowed(settings: SettingsWrapper) -> None:
    drafts.allow(settings)


def new_article(**values: Any) -> dict[str, Any]:
    defaults = {"title": "New", "text": "News.", "section": drafts.make_section().pk}
    return defaults | values


def test_declares_what_it_does() -> None:
    """T1, T2."""
    tool = draft_record.tool()

    assert tool.effect is Effect.NON_IDEMPOTENT_WRITE
    assert (tool.enabled_by_default, tool.needs_approval) == (False, True)
    assert tool.supports_workspaces
    assert "newsroom.article: title" in tool.description


# --- Storing --------------------------------------------------------------------------


def test_a_new_record_is_a_draft_and_nothing_live() -> None:
    """T15, T17."""
    run = drafts.make_run()

    result, written = drafts.write(run, new_article())

    draft = Draft.objects.get()
    assert (draft.run, draft.workspace, draft.kind, draft.state) == (
        run,
        run.workspace,
        DraftKind.CREATE,
        DraftState.OPEN,
    )
    assert workspaces.values_of(draft) == new_article()
    assert (draft.object_id, draft.base_digest, draft.before) == ("", "", "{}")
    assert written.writes == (
        Write(kind="create", model="newsroom.article", draft_id=str(draft.id)),
    )
    assert json.loads(result.content)["id"] == f"draft:{draft.id}"
    assert not Article.objects.exists()


def test_a_change_is_a_draft_of_what_differs() -> None:
    """T15: with what there was, and a digest of all of it."""
    article = drafts.make_article("Old", text="Same.")
    run = drafts.make_run()

    values = {"title": "New", "text": "Same."}
    _, written = drafts.write(run, values, record_id=str(article.pk))

    draft = Draft.objects.get()
    assert (draft.kind, draft.object_id) == (DraftKind.CHANGE, str(article.pk))
    assert workspaces.values_of(draft) == {"title": "New"}
    assert json.loads(draft.before) == {"title": "Old"}
    assert len(draft.base_digest) == 64
    [write] = written.writes
    assert (write.kind, write.object_id) == ("change", str(article.pk))
    article.refresh_from_db()
    assert article.title == "Old"


def test_a_draft_of_the_run_is_revised_and_keeps_the_rest() -> None:
    run = drafts.make_run()
    draft = drafts.make_draft(run, title="First", text="Kept.")

    drafts.drafted(run, {"title": "Second"}, record_id=f"draft:{draft.id}")

    draft = Draft.objects.get()
    values = workspaces.values_of(draft)
    assert (values["title"], values["text"]) == ("Second", "Kept.")
    assert draft.changed_at > draft.created_at


@pytest.mark.parametrize("is_named_as_draft", [True, False])
def test_a_change_is_revised_by_either_of_its_names(is_named_as_draft: bool) -> None:
    run, article = drafts.make_run(), drafts.make_article("Old")
    draft = drafts.make_draft(run, str(article.pk), title="First")
    record_id = f"draft:{draft.id}" if is_named_as_draft else str(article.pk)

    drafts.drafted(run, {"text": "More."}, record_id=record_id)

    assert workspaces.values_of(Draft.objects.get()) == {
        "title": "First",
        "text": "More.",
    }


def test_a_revision_does_not_carry_over_what_was_drafted_for_another_state() -> None:
    """T16: or somebody's change would be undone by a text that knew nothing of it."""
    run, article = drafts.make_run(), drafts.make_article("Old")
    record_id = str(article.pk)
    drafts.make_draft(run, record_id, title="First")
    Article.objects.update(title="Mended")

    told = drafts.refusal(run, {"text": "More."}, record_id=record_id)
    drafts.drafted(run, {"title": "Second"}, record_id=record_id)

    assert "give these fields too: title" in told
    workspaces.publish(Draft.objects.get().id, user=drafts.publisher())
    assert Article.objects.get().title == "Second"


def test_drafts_of_others_and_decided_ones_are_not_revised() -> None:
    run = drafts.make_run()
    neighbour = drafts.make_run(workspace=run.workspace)
    other, mine = drafts.make_draft(neighbour), drafts.make_draft(run)
    workspaces.discard(mine.id, user=drafts.publisher())

    for draft in (other, mine):
        told = drafts.refusal(run, {"title": "x"}, record_id=f"draft:{draft.id}")
        assert told == NO_SUCH


def test_two_runs_draft_the_same_record_apart() -> None:
    """T15, T16: of the two, one can be published."""
    article = drafts.make_article("Old")
    run = drafts.make_run()
    other = drafts.make_run(workspace=run.workspace)
    first = drafts.make_draft(run, str(article.pk), title="First")
    second = drafts.make_draft(other, str(article.pk), title="Second")

    workspaces.publish(first.id, user=drafts.publisher())

    with pytest.raises(workspaces.PublishRefused, match="changed since"):
        workspaces.publish(second.id, user=drafts.publisher())


def test_without_a_workspace_nothing_is_drafted() -> None:
    """T15."""
    run = drafts.make_run(workspace=None)

    assert drafts.refusal(run, new_article()) == "There is no workspace to write to."


# --- Who may --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record_id", ["0", "x", str(2**70), "a\x00", "draft:x", f"draft:{uuid.uuid4()}"]
)
def test_a_record_that_may_not_be_seen_reads_like_a_missing_one(
    record_id: str,
) -> None:
    """T4."""
    article = drafts.make_article()
    blind = drafts.make_run("newsroom.change_article", "newsroom.add_article")

    missing = drafts.refusal(drafts.make_run(), {"title": "x"}, record_id=record_id)

    assert missing == NO_SUCH
    refused = drafts.refusal(blind, {"title": "x"}, record_id=str(article.pk))
    assert refused == missing


def test_a_change_needs_the_permission_to_change() -> None:
    """T4, T5."""
    article = drafts.make_article()
    run = drafts.make_run("newsroom.view_article", "newsroom.add_article")

    told = drafts.refusal(run, {"title": "x"}, record_id=str(article.pk))

    assert told == "Records of this model cannot be changed by this run."


def test_a_new_record_needs_the_permission_to_add() -> None:
    """T4, T5: and a model that is not listed reads the same."""
    values = new_article()
    run = drafts.make_run("newsroom.view_article", "newsroom.change_article")

    told = drafts.refusal(run, values)

    assert told == "Records of this model cannot be drafted by this run."
    for model in ("newsroom.section", "auth.user", "x"):
        refused = drafts.refusal(drafts.make_run(), {"name": "x"}, model=model)
        assert refused == told


def test_a_draft_is_not_revised_once_the_permission_is_gone() -> None:
    """T4: asked anew at every call."""
    run = drafts.make_run()
    draft = drafts.make_draft(run)
    assert run.owner
    run.owner = drafts.take(run.owner, "newsroom.add_article")

    told = drafts.refusal(run, {"title": "x"}, record_id=f"draft:{draft.id}")

    assert told == NO_SUCH


def test_a_wrongly_listed_model_is_not_drafted(settings: SettingsWrapper) -> None:
    """T5: whether or not the checks ran."""
    settings.AGENT_RUNS_WRITABLE_MODELS = {"auth.user": ("username", "is_superuser")}
    run = drafts.make_run(owner=factories.make_user(is_superuser=True))

    told = drafts.refusal(run, {"is_superuser": True}, record_id="1", model="auth.user")

    assert told == "Records of this model cannot be drafted by this run."


def test_a_related_record_that_may_not_be_seen_reads_like_a_missing_one() -> None:
    """T4."""
    blind = drafts.make_run("newsroom.add_article", "newsroom.view_article")

    refused = drafts.refusal(blind, new_article())

    missing = drafts.refusal(drafts.make_run(), new_article(section=999_999))
    assert refused == missing
    assert "section: there is no such record" in missing


@pytest.mark.parametrize(
    ("permissions", "may_add", "may_change"),
    [
        (("newsroom.add_article",), True, False),
        (("newsroom.change_article",), False, True),
        ((), False, False),
    ],
)
def test_the_approver_needs_the_permission_too(
    permissions: tuple[str, ...], may_add: bool, may_change: bool
) -> None:
    """T12: for a draft that is revised, that of its kind."""
    approver = factories.make_user(permissions=permissions)
    run, article = drafts.make_run(), drafts.make_article()
    new = drafts.make_draft(run)
    change = drafts.make_draft(run, str(article.pk), title="New")
    tool = draft_record.tool()
    assert tool.may_run

    def may(record_id: str, model: str = "newsroom.article") -> bool:
        arguments = {"model": model, "id": record_id, "values": {"title": "x"}}
        parsed = gate.parse(drafts.part_of("draft_record", arguments), tool)
        assert tool.may_run
        return tool.may_run(approver, parsed)

    assert (may(""), may(f"draft:{new.id}")) == (may_add, may_add)
    assert (may(str(article.pk)), may(f"draft:{change.id}")) == (
        may_change,
        may_change,
    )
    assert not may("", "auth.user")


# --- What is wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"title": ""}, "title: This field cannot be blank."),
        ({"title": None}, "title: This field cannot be null."),
        ({"title": "x" * 121}, "title: Ensure this value has at most 120"),
        ({"title": ["x"]}, "title: this is not a single value"),
        ({"section": "x"}, "section: there is no such record"),
        ({"section": 2**70}, "section: there is no such record"),
        ({"section": None}, "section: This field cannot be null."),
        ({"changed_at": "2026-01-01"}, "These cannot be written: changed_at."),
        ({"id": 1}, "These cannot be written: id."),
    ],
)
def test_the_model_hears_what_is_wrong(change: dict[str, Any], expected: str) -> None:
    """T5: a draft that could never be published is refused at once."""
    assert expected in drafts.refusal(drafts.make_run(), new_article(**change))


def test_what_is_missing_is_named() -> None:
    told = drafts.refusal(drafts.make_run(), {"title": "Alone"})

    assert "text: This field cannot be blank." in told
    assert "section: This field cannot be null." in told


def test_a_field_that_is_not_listed_is_not_named(settings: SettingsWrapper) -> None:
    settings.AGENT_RUNS_WRITABLE_MODELS = {"newsroom.article": ("title", "text")}

    told = drafts.refusal(drafts.make_run(), {"title": "a", "text": "b"})

    assert "other fields, which cannot be written here" in told
    assert "section" not in told


def test_a_change_of_nothing_is_none() -> None:
    article = drafts.make_article("Old")
    run = drafts.make_run()
    record_id = str(article.pk)

    assert "nothing would change" in drafts.refusal(
        run, {"title": "Old"}, record_id=record_id
    )
    assert "nothing to write" in drafts.refusal(run, {}, record_id=record_id)


def test_what_cannot_be_stored_is_replaced() -> None:
    """S15."""
    draft = drafts.make_draft(title="a\x00b\ud800")

    assert workspaces.values_of(draft)["title"] == "a\ufffdb\ufffd"


# --- Preview --------------------------------------------------------------------------


def test_the_preview_shows_old_and_new() -> None:
    """T11."""
    article = drafts.make_article("Old", text="As it\nwas.")

    shown = drafts.preview(
        drafts.make_run(),
        {"title": "New", "text": "x" * 200},
        record_id=str(article.pk),
    )

    assert shown == [
        f"Article {article.pk}",
        "title: Old → New",
        f"text: As it was. → {'x' * 110}…",
    ]


def test_the_preview_of_a_new_record_names_what_it_refers_to() -> None:
    """T11."""
    section = drafts.make_section("Sports")

    shown = drafts.preview(drafts.make_run(), new_article(section=section.pk))

    assert shown[0] == "New article"
    assert f"section: – → Sports ({section.pk})" in shown
    assert not Draft.objects.exists()


def test_the_preview_says_what_stands_in_the_way() -> None:
    shown = drafts.preview(drafts.make_run(), new_article(title=""))

    assert "title: This field cannot be blank." in shown[0]


def test_the_preview_changes_with_the_record() -> None:
    """T13."""
    article, run = drafts.make_article("Old"), drafts.make_run()
    before = drafts.preview(run, {"title": "New"}, record_id=str(article.pk))
    Article.objects.update(title="Mended")

    after = drafts.preview(run, {"title": "New"}, record_id=str(article.pk))

    assert before != after
