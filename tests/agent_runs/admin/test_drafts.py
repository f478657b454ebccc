from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from a2a_project.newsroom.models import Article
from agent_runs.models import AgentRun, Draft
from tests import factories, html_forms
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

LIST = reverse("admin:agent_runs_draft_changelist")
VIEW = "agent_runs.view_draft"
PUBLISH = "agent_runs.publish_draft"


@pytest.fixture(autouse=True)
def _articles_may_be_drafted(settings: SettingsWrapper) -> None:
    drafts.allow(settings)


def page_of(draft: Draft, page: str = "change") -> str:
    return reverse(f"admin:agent_runs_draft_{page}", args=[draft.pk])


def press(browser: Browser, draft: Draft, decision: str = "publish") -> Any:
    """Open the page and press a button of it, as a browser without scripts does."""
    values = html_forms.values_of(browser.get(page_of(draft)), f"{decision}_form")
    return browser.post(page_of(draft, decision), values, follow=True)


def text_of(browser: Browser, url: str, **query: Any) -> str:
    return browser.get(url, query).content.decode()


def stored(draft: Draft) -> Draft:
    return Draft.objects.get(pk=draft.pk)


def make_change(**values: Any) -> tuple[Article, Draft]:
    article = drafts.make_article("Old title", text="The old mayor speaks.")
    values = values or {"text": "The <new> mayor speaks."}
    return article, drafts.make_draft(None, str(article.pk), **values)


def member_of(draft: Draft, *permissions: str) -> User:
    member = factories.make_user(permissions=permissions, is_staff=True)
    draft.workspace.members.add(member)
    return member


# --- The list -------------------------------------------------------------------------


def test_lists_open_drafts_first_of_all(browser: Browser) -> None:
    """T16: the newest first; a link shows the decided ones."""
    article, change = make_change()
    drafts.make_draft()
    press(browser, change, "discard")

    open_ones = text_of(browser, LIST)
    every = text_of(browser, LIST, state="all")
    discarded = text_of(browser, LIST, state="discarded")

    name = f"Article {article.pk}</a>"
    assert (name in open_ones, "new article</a>" in open_ones) == (False, True)
    assert every.index("new article</a>") < every.index(name)
    assert (name in discarded, "new article</a>" in discarded) == (True, False)


def test_a_letter_that_turns_others_round_is_shown_by_its_code(
    browser: Browser,
) -> None:
    """T16: whoever publishes sees what becomes live."""
    draft = drafts.make_draft(text="pay 10\u202e00\n\tnow")

    text = text_of(browser, page_of(draft))

    assert "pay 10\\u202e00\n\tnow" in text
    assert "\u202e" not in text


def test_an_empty_list_says_where_drafts_come_from(browser: Browser) -> None:
    assert "No open draft." in text_of(browser, LIST)


def test_filters_by_workspace_and_model(browser: Browser) -> None:
    one, other = drafts.make_draft(), drafts.make_draft()

    text = text_of(browser, LIST, workspace=one.workspace.pk)
    of_articles = text_of(browser, LIST, content_type=one.content_type.pk)

    assert page_of(one) in text
    assert page_of(other) not in text
    assert page_of(one) in of_articles


@pytest.mark.parametrize("value", ["nonsense", "-1", "9" * 40, "all", "open"])
@pytest.mark.parametrize("name", ["state", "workspace", "content_type"])
def test_a_filter_that_no_page_offers_is_no_traceback(
    browser: Browser, name: str, value: str
) -> None:
    drafts.make_draft()

    assert browser.get(LIST, {name: value}).status_code == 200


def test_the_list_asks_the_same_queries_for_many(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = drafts.make_run()
    for _ in range(30):
        drafts.make_draft(run)

    with django_assert_max_num_queries(7):
        text = text_of(browser, LIST)

    assert text.count("new article</a>") == 30


# --- The page -------------------------------------------------------------------------


def test_shows_what_changes_with_the_words_marked(browser: Browser) -> None:
    """T16, and whatever others wrote is text."""
    _, draft = make_change()

    text = text_of(browser, page_of(draft))

    assert "The<del> old</del> mayor" in text
    assert "The<ins> &lt;new&gt;</ins> mayor" in text


def test_shows_a_new_record_without_marks(browser: Browser) -> None:
    draft = drafts.make_draft(title="A title")

    text = text_of(browser, page_of(draft))

    assert "A title" in text
    assert "<ins>" not in text
    assert "<th>Before</th>" not in text


def test_leads_to_the_run_and_to_the_live_record(browser: Browser) -> None:
    article, draft = make_change()

    text = text_of(browser, page_of(draft))

    assert reverse("admin:agent_runs_agentrun_change", args=[draft.run_id]) in text
    assert reverse("admin:newsroom_article_change", args=[article.pk]) in text


def test_a_draft_outlives_its_run(browser: Browser) -> None:
    """T15."""
    _, draft = make_change()
    AgentRun.objects.all().delete()

    statuses = [browser.get(url).status_code for url in (LIST, page_of(draft))]

    assert statuses == [200, 200]


def test_a_page_asks_few_queries(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    _, draft = make_change()

    with django_assert_max_num_queries(12):
        browser.get(page_of(draft))


@pytest.mark.parametrize("values", ["no JSON", "[1]", '"text"', '{"text": {"a": 1}}'])
def test_a_draft_that_cannot_be_read_is_no_traceback(
    browser: Browser, values: str
) -> None:
    """A fixture may have stored anything."""
    _, draft = make_change()
    draft.values = values
    draft.save()

    assert browser.get(page_of(draft)).status_code == 200


def test_a_draft_under_a_lost_key_says_so(
    browser: Browser, settings: SettingsWrapper
) -> None:
    _, draft = make_change()
    settings.A2A_ENCRYPTION_KEYS = ["b3RoZXItdGVzdHMta2V5LW9mLTMyLWJ5dGVzLWdvZXM="]

    text = text_of(browser, page_of(draft))

    assert "Stored in a form that cannot be shown here." in text


def test_a_model_that_is_gone_leaves_the_draft_to_look_at(browser: Browser) -> None:
    _, draft = make_change()
    draft.content_type.model = "gone"
    draft.content_type.save()

    assert browser.get(page_of(draft)).status_code == 200
    assert browser.get(LIST).status_code == 200


# --- Publishing -----------------------------------------------------------------------


def test_publishes_a_change(browser: Browser) -> None:
    """T16."""
    article, draft = make_change()

    page = press(browser, draft)

    article.refresh_from_db()
    assert article.text == "The <new> mayor speaks."
    assert stored(draft).state == "published"
    link = reverse("admin:newsroom_article_change", args=[article.pk])
    assert html_forms.sentences(page) == [
        f'«<a href="{link}">Old title</a>» is live now.'
    ]
    assert 'id="publish_form"' not in page.content.decode()


def test_publishes_a_new_record(browser: Browser, superuser: User) -> None:
    """T16: the draft then names the record, and who made it live."""
    draft = drafts.make_draft(title="Fresh")

    press(browser, draft)

    article = Article.objects.get()
    again = stored(draft)
    assert (article.title, again.object_id) == ("Fresh", str(article.pk))
    assert again.decided_by == superuser


def test_the_history_of_the_draft_tells_who_decided(browser: Browser) -> None:
    _, draft = make_change()

    press(browser, draft)

    entry = LogEntry.objects.get(object_id=str(draft.pk))
    assert entry.get_change_message() == "Published."


def test_a_record_without_an_admin_page_is_named_only(browser: Browser) -> None:
    _, draft = make_change()
    model_admin = admin.site._registry.pop(Article)
    try:
        page = press(browser, draft)
    finally:
        admin.site._registry[Article] = model_admin

    assert page.status_code == 200
    assert stored(draft).state == "published"


def test_says_beforehand_that_the_record_was_changed(browser: Browser) -> None:
    """T16."""
    article, draft = make_change()
    article.title = "Changed meanwhile"
    article.save()

    text = text_of(browser, page_of(draft))

    assert "The record was changed since the draft was made." in text
    assert 'id="publish_form"' not in text
    assert 'id="discard_form"' in text


def test_says_beforehand_that_the_record_is_gone(browser: Browser) -> None:
    article, draft = make_change()
    article.delete()

    text = text_of(browser, page_of(draft))

    assert "The record was deleted since the draft was made." in text
    assert 'id="publish_form"' not in text


def test_refuses_what_changed_after_the_page_was_opened(browser: Browser) -> None:
    """T16: a sentence, and the draft stays open."""
    article, draft = make_change()
    values = html_forms.values_of(browser.get(page_of(draft)), "publish_form")
    Article.objects.update(title="Changed meanwhile")

    page = browser.post(page_of(draft, "publish"), values, follow=True)

    article.refresh_from_db()
    assert "The record was changed" in html_forms.sentences(page)[0]
    assert article.text == "The old mayor speaks."
    assert stored(draft).state == "open"


def test_publishes_nothing_that_nobody_saw(browser: Browser) -> None:
    """Its run revised the draft after the page was opened."""
    draft = drafts.make_draft()
    assert draft.run
    values = html_forms.values_of(browser.get(page_of(draft)), "publish_form")
    drafts.drafted(draft.run, {"title": "Revised"}, record_id=f"draft:{draft.pk}")

    page = browser.post(page_of(draft, "publish"), values, follow=True)

    assert "The draft was revised" in html_forms.sentences(page)[0]
    assert not Article.objects.exists()


@pytest.mark.parametrize("seen_at", [None, "", "yesterday", "2026-01-01"])
def test_a_form_that_no_page_made_publishes_nothing(
    browser: Browser, seen_at: str | None
) -> None:
    draft = drafts.make_draft()
    values = {} if seen_at is None else {"seen_at": seen_at}

    page = browser.post(page_of(draft, "publish"), values, follow=True)

    assert len(html_forms.sentences(page)) == 1
    assert not Article.objects.exists()


def test_an_invalid_record_is_refused_with_the_fields(browser: Browser) -> None:
    """T16: the model's full validation."""
    draft = drafts.make_draft()
    values = html_forms.values_of(browser.get(page_of(draft)), "publish_form")
    draft.values = draft.values.replace('"New"', '""')
    draft.save()

    page = browser.post(page_of(draft, "publish"), values, follow=True)

    assert "title" in html_forms.sentences(page)[0]
    assert not Article.objects.exists()


@pytest.mark.parametrize("decision", ["publish", "discard"])
def test_what_was_decided_is_decided(browser: Browser, decision: str) -> None:
    """T16: of two that decide one wins, and the other is told."""
    draft = drafts.make_draft()
    values = html_forms.values_of(browser.get(page_of(draft)), f"{decision}_form")
    press(browser, draft)

    page = browser.post(page_of(draft, decision), values, follow=True)

    assert html_forms.sentences(page)[-1] == "The draft is published already."
    assert Article.objects.count() == 1


def test_discards_and_keeps_the_row(browser: Browser) -> None:
    """T16."""
    article, draft = make_change()

    page = press(browser, draft, "discard")

    article.refresh_from_db()
    assert html_forms.sentences(page) == ["The draft was discarded."]
    assert stored(draft).state == "discarded"
    assert article.text == "The old mayor speaks."


@pytest.mark.parametrize("decision", ["publish", "discard"])
def test_opening_an_address_decides_nothing(browser: Browser, decision: str) -> None:
    draft = drafts.make_draft()

    assert browser.get(page_of(draft, decision)).status_code == 405
    assert stored(draft).state == "open"


# --- Who may --------------------------------------------------------------------------


def test_whoever_may_only_look_is_told_so(browser_of: Callable[..., Browser]) -> None:
    """P5."""
    draft = drafts.make_draft()

    text = text_of(browser_of(VIEW), page_of(draft))

    assert "You may not publish drafts." in text
    assert "publish_form" not in text
    assert "discard_form" not in text


def test_publishing_needs_the_models_own_permission(
    browser_of: Callable[..., Browser],
) -> None:
    """T16: the publisher's own; discarding writes nothing and does not need it."""
    draft = drafts.make_draft()
    browser = browser_of(VIEW, PUBLISH)

    text = text_of(browser, page_of(draft))
    values = {"seen_at": draft.changed_at.isoformat()}
    page = browser.post(page_of(draft, "publish"), values, follow=True)

    sentence = "You may not add records of newsroom.article."
    assert sentence in text
    assert html_forms.sentences(page) == [sentence]
    assert not Article.objects.exists()
    assert 'id="discard_form"' in text


def test_a_delegate_publishes(browser_of: Callable[..., Browser]) -> None:
    draft = drafts.make_draft()

    press(browser_of(VIEW, PUBLISH, "newsroom.add_article"), draft)

    assert Article.objects.count() == 1


@pytest.mark.parametrize("decision", ["publish", "discard"])
def test_without_the_permission_nothing_is_decided(
    browser_of: Callable[..., Browser], decision: str
) -> None:
    draft = drafts.make_draft()
    values = {"seen_at": draft.changed_at.isoformat()}

    page = browser_of(VIEW).post(page_of(draft, decision), values, follow=True)

    assert html_forms.sentences(page)[0].startswith("You may not")
    assert stored(draft).state == "open"


@pytest.mark.parametrize("page", ["change", "publish", "discard"])
def test_a_stranger_sees_and_decides_nothing(
    strange_browser: Browser, page: str
) -> None:
    draft = drafts.make_draft()
    values = {"seen_at": draft.changed_at.isoformat()}

    method = strange_browser.get if page == "change" else strange_browser.post
    answer = method(page_of(draft, page), values)

    assert answer.status_code in {302, 403}
    assert "News." not in answer.content.decode()
    assert stored(draft).state == "open"
    assert strange_browser.get(LIST).status_code == 403
    assert LIST not in text_of(strange_browser, reverse("admin:index"))


def test_a_member_sees_the_drafts_of_the_workspace_alone(
    browser_of: Callable[..., Browser],
) -> None:
    """T15: members look after what is written there, without any permission."""
    own, foreign = drafts.make_draft(), drafts.make_draft()
    browser = browser_of(user=member_of(own))

    text = text_of(browser, LIST)

    assert page_of(own) in text
    assert page_of(foreign) not in text
    assert foreign.workspace.name not in text
    assert browser.get(page_of(own)).status_code == 200
    assert browser.get(page_of(foreign)).status_code == 302
    assert LIST in text_of(browser, reverse("admin:index"))


def test_a_filter_shows_a_member_nothing_of_others(
    browser_of: Callable[..., Browser],
) -> None:
    own, foreign = drafts.make_draft(), drafts.make_draft()
    browser = browser_of(user=member_of(own))

    text = text_of(browser, LIST, workspace=foreign.workspace.pk, state="all")

    assert page_of(foreign) not in text


def test_a_member_publishes_with_the_permissions_only(
    browser_of: Callable[..., Browser],
) -> None:
    """T15, T16."""
    draft = drafts.make_draft()
    bare = browser_of(user=member_of(draft))
    entitled = browser_of(user=member_of(draft, PUBLISH, "newsroom.add_article"))

    assert "publish_form" not in text_of(bare, page_of(draft))
    press(entitled, draft)

    assert Article.objects.count() == 1


@pytest.mark.parametrize("decision", ["publish", "discard"])
def test_a_foreign_draft_and_an_unknown_one_answer_alike(
    browser_of: Callable[..., Browser], decision: str
) -> None:
    own, foreign = drafts.make_draft(), drafts.make_draft()
    permissions = (PUBLISH, "newsroom.add_article")
    browser = browser_of(user=member_of(own, *permissions))
    unknown = reverse(f"admin:agent_runs_draft_{decision}", args=[uuid4()])
    values = {"seen_at": foreign.changed_at.isoformat()}

    answers = [
        browser.post(url, values) for url in (page_of(foreign, decision), unknown)
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert stored(foreign).state == "open"


@pytest.mark.parametrize("page", ["add", "delete"])
def test_no_draft_is_added_or_deleted_here(browser: Browser, page: str) -> None:
    args = [] if page == "add" else [drafts.make_draft().pk]
    url = reverse(f"admin:agent_runs_draft_{page}", args=args)

    assert browser.get(url).status_code == 403


@pytest.mark.parametrize("name", ["nonsense", "00000000", "%2F"])
@pytest.mark.parametrize("page", ["change", "publish"])
def test_an_address_of_no_draft_is_no_traceback(
    browser: Browser, page: str, name: str
) -> None:
    url = f"{LIST}{name}/{page}/"

    answer = browser.get(url) if page == "change" else browser.post(url)

    assert answer.status_code in {302, 404}


@pytest.mark.django_db
def test_a_strangers_login_page_asks_nothing(
    client: Browser, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Whoever is not signed in is a member of nothing."""
    with django_assert_num_queries(0):
        page = client.get(reverse("admin:login"))

    assert page.status_code == 200
