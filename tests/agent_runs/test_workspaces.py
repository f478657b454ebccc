"""Drafts: shown, published and discarded (T15–T17)."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.signals import pre_save

from a2a_project.newsroom.models import Article, Section
from agent_runs import workspaces
from agent_runs.models import Draft, DraftState
from agent_runs.workspaces import FieldDifference, PublishRefused
from tests import factories
from tests.agent_runs import drafts, locking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _allowed(settings: SettingsWrapper) -> None:
    drafts.allow(settings)


def _refused(draft: Draft, user: Any = None) -> str:
    """Why it is not published; it stays open, and nothing is written."""
    articles = sorted(Article.objects.values_list())
    with pytest.raises(PublishRefused) as caught:
        workspaces.publish(draft.id, user=user or drafts.publisher())
    draft.refresh_from_db()
    assert (draft.state, draft.decided_at) == (DraftState.OPEN, None)
    assert sorted(Article.objects.values_list()) == articles
    assert not LogEntry.objects.exists()
    return str(caught.value)


# --- Showing --------------------------------------------------------------------------


def test_a_change_is_compared_with_the_record_of_now() -> None:
    """T16: while it is open."""
    article = drafts.make_article("Old")
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    Article.objects.update(title="Mended")

    assert workspaces.differences(draft) == [
        FieldDifference(name="title", label="title", before="Mended", after="New")
    ]


def test_a_decided_change_is_compared_with_the_record_of_then() -> None:
    """T16."""
    article = drafts.make_article("Old")
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    workspaces.discard(draft.id, user=drafts.publisher())
    Article.objects.update(title="Later")
    draft.refresh_from_db()

    [difference] = workspaces.differences(draft)

    assert (difference.before, difference.after) == ("Old", "New")


def test_a_change_of_a_record_that_is_gone_shows_what_there_was() -> None:
    article = drafts.make_article("Old")
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    article.delete()

    [difference] = workspaces.differences(draft)

    assert (difference.before, difference.after) == ("Old", "New")


def test_a_new_record_has_nothing_before_and_names_what_it_refers_to() -> None:
    section = drafts.make_section("Sports")
    draft = drafts.make_draft(title="Goal", section=section.pk)

    shown = {each.name: each for each in workspaces.differences(draft)}

    assert {each.before for each in shown.values()} == {""}
    assert shown["section"].after == f"Sports ({section.pk})"


def test_a_draft_of_a_model_that_is_gone_can_still_be_looked_at() -> None:
    draft = drafts.make_draft(title="New")
    gone = ContentType.objects.create(app_label="gone", model="thing")
    Draft.objects.update(content_type=gone)
    draft = Draft.objects.get()

    shown = {each.name: each.after for each in workspaces.differences(draft)}

    assert shown["title"] == "New"
    assert workspaces.title_of(draft) == "new thing"
    assert _refused(draft, factories.make_user(is_superuser=True)) == (
        "Drafts of gone.thing may not be published any more."
    )


def test_titles_of_a_page_cost_no_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    article = drafts.make_article()
    drafts.make_draft(record_id=str(article.pk), title="Next")
    drafts.make_draft()
    rows = list(Draft.objects.select_related("content_type").order_by("kind"))

    with django_assert_num_queries(0):
        titles = [workspaces.title_of(draft) for draft in rows]

    assert titles == [f"Article {article.pk}", "new article"]


def test_says_when_a_change_can_no_more_be_published() -> None:
    article = drafts.make_article()
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    fresh = workspaces.outdated(draft)
    Article.objects.update(text="Mended")
    changed = workspaces.outdated(draft)
    article.delete()

    assert (fresh, workspaces.outdated(drafts.make_draft())) == ("", "")
    assert changed.startswith("The record was changed since")
    assert workspaces.outdated(draft).startswith("The record was deleted since")


# --- Publishing -----------------------------------------------------------------------


def test_a_new_record_is_published_once() -> None:
    """T16: with its key in the draft and a line in the record's history."""
    draft, user = drafts.make_draft(title="New"), drafts.publisher()

    record = workspaces.publish(draft.id, user=user)

    article = Article.objects.get()
    draft.refresh_from_db()
    assert (record, article.title, article.text) == (article, "New", "News.")
    assert (draft.state, draft.object_id) == (DraftState.PUBLISHED, str(article.pk))
    assert (draft.decided_by, draft.decided_at) == (user, draft.changed_at)
    entry = LogEntry.objects.get()
    assert (entry.user, entry.action_flag, entry.object_id) == (
        user,
        ADDITION,
        str(article.pk),
    )
    with pytest.raises(PublishRefused, match="published already"):
        workspaces.publish(draft.id, user=user)
    assert Article.objects.count() == 1


def test_a_change_writes_what_was_drafted_and_the_time_of_change() -> None:
    """T16."""
    article = drafts.make_article("Old", text="Stays.")
    draft = drafts.make_draft(record_id=str(article.pk), title="New")

    workspaces.publish(draft.id, user=drafts.publisher())

    changed = Article.objects.get()
    assert (changed.title, changed.text) == ("New", "Stays.")
    assert changed.changed_at > article.changed_at
    entry = LogEntry.objects.get()
    assert (entry.action_flag, entry.get_change_message()) == (
        CHANGE,
        "Changed title.",
    )


def test_fields_beside_the_drafted_ones_are_not_written(
    settings: SettingsWrapper,
) -> None:
    """T16: even where the app's own code changes them on the way."""
    article = drafts.make_article("Old", text="Stays.")
    draft = drafts.make_draft(record_id=str(article.pk), title="New")

    with _before_saving(lambda record: setattr(record, "text", "Overwritten.")):
        workspaces.publish(draft.id, user=drafts.publisher())

    assert Article.objects.get().text == "Stays."


@contextmanager
def _before_saving(act: Callable[[Any], None]) -> Iterator[None]:
    """As if it was the app's own code."""

    def receive(instance: Any, **_: Any) -> None:
        act(instance)

    pre_save.connect(receive, sender=Article)
    try:
        yield
    finally:
        pre_save.disconnect(receive, sender=Article)


@pytest.mark.parametrize(
    ("lacking", "expected"),
    [
        ("agent_runs.publish_draft", "You may not publish drafts."),
        ("newsroom.add_article", "You may not add records of newsroom.article."),
    ],
)
def test_publishing_needs_both_permissions(lacking: str, expected: str) -> None:
    """T16: the publisher's own."""
    user = drafts.take(drafts.publisher(), lacking)

    assert _refused(drafts.make_draft(), user) == expected


def test_publishing_a_change_needs_the_permission_to_change() -> None:
    article = drafts.make_article()
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    user = drafts.take(drafts.publisher(), "newsroom.change_article")

    assert _refused(draft, user) == "You may not change records of newsroom.article."


@pytest.mark.parametrize("field", ["title", "text"])
def test_a_record_that_was_changed_since_is_not_overwritten(field: str) -> None:
    """T16: whichever of its fields."""
    article = drafts.make_article()
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    Article.objects.update(**{field: "Mended"})

    assert "changed since" in _refused(draft)


def test_a_record_that_is_gone_is_not_made_anew() -> None:
    article = drafts.make_article()
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    article.delete()

    assert "deleted since" in _refused(draft)


def test_what_is_not_valid_any_more_is_refused_with_its_fields() -> None:
    """T16: the full validation, at the moment of publishing."""
    draft = drafts.make_draft()
    Section.objects.all().delete()

    assert _refused(draft) == (
        "The record would not be valid. section: there is no such record"
    )


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (("title", "section"), "These fields may not be written any more: text."),
        (None, "Drafts of newsroom.article may not be published any more."),
        (("password",), "Drafts of newsroom.article may not be published any more."),
    ],
)
def test_the_allow_list_of_now_counts(
    settings: SettingsWrapper, now: tuple[str, ...] | None, expected: str
) -> None:
    """T16: nothing that a person saw in the diff is dropped silently."""
    draft = drafts.make_draft()
    settings.AGENT_RUNS_WRITABLE_MODELS = {"newsroom.article": now} if now else {}

    assert _refused(draft) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValidationError({"title": "Too loud."}), "title: Too loud."),
        (IntegrityError("secret column"), "Another record is in the way"),
        (LookupError("/etc/secret"), "The record could not be saved."),
    ],
    ids=["its rules", "its constraints", "its mistakes"],
)
def test_what_the_apps_own_code_raises_refuses(error: Exception, expected: str) -> None:
    """T16: nothing half-done, and nothing internal in the sentence."""
    draft = drafts.make_draft()

    def fail(record: Any) -> None:
        raise error

    with _before_saving(fail):
        told = _refused(draft)

    assert expected in told
    assert "secret" not in told


@pytest.mark.parametrize(
    "columns",
    [
        {"object_id": "x"},
        {"values": "x"},
        {"values": "[]"},
        {"values": '{"title": []}'},
    ],
    ids=str,
)
def test_a_draft_that_cannot_be_read_is_refused(columns: dict[str, str]) -> None:
    """Such as one that another release or a fixture left."""
    draft = drafts.make_draft(record_id=str(drafts.make_article().pk), title="New")
    for name, value in columns.items():
        setattr(draft, name, value)
    draft.save()

    assert _refused(draft).startswith("The record ")


def test_a_draft_is_published_as_it_was_seen_or_not_at_all() -> None:
    """T16: its run may revise it until then."""
    run = drafts.make_run()
    draft, user = drafts.make_draft(run, title="Seen"), drafts.publisher()
    drafts.drafted(run, {"title": "Unseen"}, record_id=f"draft:{draft.id}")

    with pytest.raises(PublishRefused):
        workspaces.publish(draft.id, user=user, seen_at=draft.changed_at)
    draft.refresh_from_db()
    workspaces.publish(draft.id, user=user, seen_at=draft.changed_at)

    assert [article.title for article in Article.objects.all()] == ["Unseen"]


@pytest.mark.parametrize("act", [workspaces.publish, workspaces.discard])
def test_a_draft_that_is_not_there_is_refused(act: Any) -> None:
    with pytest.raises(PublishRefused, match="no such draft"):
        act(uuid.uuid4(), user=drafts.publisher())


# --- Discarding -----------------------------------------------------------------------


def test_a_discarded_draft_stays_as_history() -> None:
    """T16."""
    draft, user = drafts.make_draft(), drafts.publisher()

    workspaces.discard(draft.id, user=user)

    draft.refresh_from_db()
    assert (draft.state, draft.decided_by) == (DraftState.DISCARDED, user)
    assert draft.decided_at
    for act in (workspaces.publish, workspaces.discard):
        with pytest.raises(PublishRefused, match="discarded already"):
            act(draft.id, user=user)
    assert not Article.objects.exists()


def test_discarding_needs_the_permission() -> None:
    draft = drafts.make_draft()

    with pytest.raises(PublishRefused, match="may not discard"):
        workspaces.discard(draft.id, user=drafts.publisher(*drafts.MAY_ALL))

    draft.refresh_from_db()
    assert draft.state == DraftState.OPEN


# --- Races ----------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_change", [False, True])
def test_of_two_who_publish_one_wins(postgresql: str, is_change: bool) -> None:
    """T16."""
    record_id = str(drafts.make_article().pk) if is_change else ""
    draft, user = (
        drafts.make_draft(record_id=record_id, title="New"),
        drafts.publisher(),
    )
    barrier = threading.Barrier(2)

    def publish() -> str:
        barrier.wait()
        try:
            workspaces.publish(draft.id, user=user)
        except PublishRefused as refused:
            return str(refused)
        return "published"

    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(locking.with_own_connection, publish) for _ in range(2)]
        told = sorted(each.result() for each in both)

    assert told == ["The draft is published already.", "published"]
    assert [article.title for article in Article.objects.all()] == ["New"]
    assert LogEntry.objects.count() == 1


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_who_changes_the_record_meanwhile_is_not_overwritten(postgresql: str) -> None:
    """T16: the record is locked before it is compared."""
    article = drafts.make_article()
    draft = drafts.make_draft(record_id=str(article.pk), title="New")
    user = drafts.publisher()

    def publish() -> str:
        with pytest.raises(PublishRefused) as caught:
            workspaces.publish(draft.id, user=user)
        return str(caught.value)

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            Article.objects.update(title="Mended")
            publishing = thread.submit(locking.with_own_connection, publish)
            locking.wait_for_who_waits_for_us()
        told = publishing.result()

    assert "changed since" in told
    assert Article.objects.get().title == "Mended"


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_a_section_that_goes_meanwhile_is_told_at_the_commit(postgresql: str) -> None:
    """PostgreSQL judges the reference when all else is done."""
    draft = drafts.make_draft()
    user = drafts.publisher()

    def remove_the_section(record: Any) -> None:
        Section.objects.filter(pk=record.section_id).delete()

    with _before_saving(remove_the_section), pytest.raises(PublishRefused) as caught:
        workspaces.publish(draft.id, user=user)

    assert "one that it refers to is gone" in str(caught.value)
    assert not Article.objects.exists()
    draft.refresh_from_db()
    assert draft.state == DraftState.OPEN
