from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_project.newsroom.models import Article
from agent_runs.tools import list_records
from agent_runs.tools.contract import ToolError
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

    from agent_runs.models import AgentRun

pytestmark = pytest.mark.django_db

NOTHING: dict[str, Any] = {"records": [], "next_page": None}


@pytest.fixture(autouse=True)
def _allowed(settings: SettingsWrapper) -> None:
    drafts.allow(settings)


def listed(
    run: AgentRun, model: str = "newsroom.article", **arguments: Any
) -> dict[str, Any]:
    return drafts.call(run, "list_records", model=model, **arguments)


def titles(run: AgentRun, **arguments: Any) -> list[str]:
    return [each["values"]["title"] for each in listed(run, **arguments)["records"]]


def test_lists_the_allowed_fields_with_long_texts_cut() -> None:
    """T5."""
    article = drafts.make_article("Old", text="x" * 201)

    told = listed(drafts.make_run())

    assert told["next_page"] is None
    assert told["records"] == [
        {
            "id": str(article.pk),
            "values": {
                "title": "Old",
                "section": article.section_id,
                "text": "x" * 200 + "…",
            },
        }
    ]


def test_the_schema_names_the_models_that_are_allowed_now(
    settings: SettingsWrapper,
) -> None:
    now = list_records.tool().schema()["properties"]["model"]["enum"]
    settings.AGENT_RUNS_READABLE_MODELS = {"newsroom.section": ("name",)}

    later = list_records.tool()

    assert now == ["newsroom.article", "newsroom.section"]
    assert later.schema()["properties"]["model"]["enum"] == ["newsroom.section"]
    assert "newsroom.article" not in later.description


def test_where_nothing_is_allowed_there_is_nothing(settings: SettingsWrapper) -> None:
    settings.AGENT_RUNS_READABLE_MODELS = {}
    drafts.make_article()

    assert "enum" not in list_records.tool().schema()["properties"]["model"]
    assert listed(drafts.make_run()) == NOTHING


@pytest.mark.parametrize("model", ["newsroom.article", "auth.user", "x"])
def test_what_is_refused_reads_like_what_is_empty(model: str) -> None:
    """T4."""
    empty = listed(drafts.make_run())
    drafts.make_article()

    assert empty == NOTHING
    assert listed(drafts.make_run("newsroom.view_section"), model) == empty


@pytest.fixture
def many_articles() -> None:
    section = drafts.make_section()
    Article.objects.bulk_create(
        Article(title=f"{number:04}", section=section, text="x")
        for number in range(1, 1102)
    )


def test_pages_hold_fifty_and_none_is_told_twice(many_articles: None) -> None:
    run = drafts.make_run()

    seen: list[str] = []
    page: int | None = 1
    while page:
        told = listed(run, page=page)
        assert len(told["records"]) == 50
        seen += [each["values"]["title"] for each in told["records"]]
        page = told["next_page"]

    assert seen == [f"{number:04}" for number in range(1101, 101, -1)]


@pytest.mark.parametrize("page", [0, -1, 21, 10**30, "x"])
def test_no_page_is_further_on_than_the_last(page: Any) -> None:
    """A bound keeps the cost flat."""
    with pytest.raises(ToolError, match="page"):
        listed(drafts.make_run(), page=page)


def test_a_page_costs_the_same_whatever_is_on_it(
    many_articles: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """One query for the run's drafts and one for the records."""
    run = drafts.make_run()
    for article in Article.objects.order_by("-pk")[:2]:
        drafts.make_draft(run, str(article.pk), text="drafted")
    drafts.make_draft(run)
    drafts.make_draft(run)

    with django_assert_num_queries(2):
        told = listed(run, search="e")
    with django_assert_num_queries(2):
        everything = listed(run)

    assert len(told["records"]) == 4
    marks = ["draft" in each for each in everything["records"]]
    assert marks == [True] * 4 + [False] * 48


def test_searches_the_texts_of_listed_fields() -> None:
    run = drafts.make_run()
    drafts.make_article("Snow in May", text="cold")
    drafts.make_article("Sun", text="Not a flake of SNOW")
    drafts.make_article("Rain", section=drafts.make_section("Snow"))

    assert titles(run, search=" snow ") == ["Sun", "Snow in May"]
    assert titles(run, search="100%") == []


def test_what_the_run_drafted_is_listed_and_found() -> None:
    """T15: new ones first, changed ones where they are."""
    run = drafts.make_run()
    old, _ = drafts.make_article("Old"), drafts.make_article("Other")
    drafts.make_draft(run, str(old.pk), title="Snow")
    drafts.make_draft(run, title="New snow")
    drafts.make_draft(title="Snow of another run")

    assert titles(run) == ["New snow", "Other", "Snow"]
    assert titles(run, search="SNOW") == ["New snow", "Snow"]
    assert titles(run, page=2) == []
