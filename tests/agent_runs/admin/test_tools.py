from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from pydantic import BaseModel, Field

from agent_runs import questions
from agent_runs.effects import Effect
from agent_runs.models import RunState, ToolSetting
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries

    from agent_runs.questions import Question
    from agent_runs.tools.contract import ToolCall, Written

LIST = reverse("admin:agent_runs_toolsetting_changelist")
VIEW = "agent_runs.view_toolsetting"
CHANGE = "agent_runs.change_toolsetting"


class Search(BaseModel):
    words: str = Field(max_length=80, description="What to look for.")
    most: int = 10


class NoParameters(BaseModel):
    pass


def _execute(call: ToolCall) -> str:
    return ""


def _write(call: ToolCall) -> Written:
    raise NotImplementedError


def _ask(arguments: BaseModel) -> Question:
    return questions.choice("?", [], allow_free_text=True)


READER = Tool(
    name="find_notes",
    description="Finds <notes>.",
    parameters=Search,
    effect=Effect.READ_ONLY,
    execute=_execute,
    group="notes",
    permission="agent_runs.view_workspace",
)
WRITER = Tool(
    name="write_note",
    description="Writes.",
    parameters=NoParameters,
    effect=Effect.NON_IDEMPOTENT_WRITE,
    write=_write,
    needs_approval=True,
    supports_workspaces=True,
    enabled_by_default=False,
)
ASKER = Tool(
    name="ask_something",
    description="Asks.",
    parameters=NoParameters,
    effect=Effect.READ_ONLY,
    question=_ask,
)


@pytest.fixture(autouse=True)
def _three_tools() -> Iterator[None]:
    def tools() -> list[Tool]:
        return [READER, WRITER, ASKER]

    registry.register_provider(tools)

    yield

    registry.unregister_provider(tools)


def page_of(name: str) -> str:
    return reverse("admin:agent_runs_toolsetting_change", args=[name])


def save(browser: Browser, name: str, **changes: Any) -> Any:
    return html_forms.save(browser, page_of(name), "tool_form", **changes)


def text_of(browser: Browser, url: str, **query: Any) -> str:
    return browser.get(url, query).content.decode()


# --- The list -------------------------------------------------------------------------


def test_lists_what_is_installed_without_any_row(browser: Browser) -> None:
    """T2."""
    text = text_of(browser, LIST)

    assert "find_notes" in text
    assert "agent_runs.view_workspace" in text
    assert "<td>writes once</td>" in text
    assert "<td>off, as declared</td>" in text
    assert "<td>not needed: it only asks</td>" in text


def test_lists_settings_of_what_is_not_installed(browser: Browser) -> None:
    """T2: a row outlives its tool."""
    ToolSetting.objects.create(name="gone_tool", enabled=True)

    text = text_of(browser, LIST)

    assert "Settings of tools that are not installed" in text
    assert "gone_tool" in text.partition("Settings of tools")[2]


def test_says_that_a_tool_was_set_here(browser: Browser) -> None:
    ToolSetting.objects.create(name="write_note", enabled=True)

    assert "<td>on, set here (declared: off)</td>" in text_of(browser, LIST)


# --- A tool's page --------------------------------------------------------------------


def test_a_page_describes_the_tool_and_its_parameters(browser: Browser) -> None:
    text = text_of(browser, page_of("find_notes"))

    assert "Finds &lt;notes&gt;." in text
    assert "What to look for." in text
    assert "<td>length at most 80</td>" in text
    assert "as declared (on)" in text


def test_switches_a_tool_off_and_keeps_no_row_for_as_declared(browser: Browser) -> None:
    """T2."""
    save(browser, "find_notes", enabled="off", approval="on")
    stored = ToolSetting.objects.get(name="find_notes")
    save(browser, "find_notes", enabled="", approval="")

    assert (stored.enabled, stored.requires_approval) == (False, True)
    assert not ToolSetting.objects.exists()


def test_a_tool_that_asks_has_no_approval_to_set(browser: Browser) -> None:
    """A value that was stored before stays as it was."""
    ToolSetting.objects.create(name="ask_something", requires_approval=True)

    assert 'name="approval"' not in text_of(browser, page_of("ask_something"))
    save(browser, "ask_something", enabled="off")

    stored = ToolSetting.objects.get()
    assert (stored.enabled, stored.requires_approval) == (False, True)


def test_a_setting_of_what_is_not_installed_can_be_removed(browser: Browser) -> None:
    ToolSetting.objects.create(name="gone_tool", enabled=True)

    save(browser, "gone_tool", enabled="")

    assert not ToolSetting.objects.exists()
    assert browser.get(page_of("gone_tool")).status_code == 404


@pytest.mark.parametrize("name", ["no_such_tool", "x" * 300, "a_00b", "3"])
def test_an_unknown_name_is_not_found(browser: Browser, name: str) -> None:
    assert browser.get(page_of(name)).status_code == 404


def test_refuses_a_choice_that_the_page_does_not_offer(browser: Browser) -> None:
    page = save(browser, "find_notes", enabled="perhaps")

    assert page.status_code == 200
    assert "Select a valid choice" in page.content.decode()
    assert not ToolSetting.objects.exists()


def test_the_history_tells_who_set_what(browser: Browser) -> None:
    save(browser, "find_notes", enabled="off")
    save(browser, "find_notes", enabled="")

    text = text_of(
        browser, reverse("admin:agent_runs_toolsetting_history", args=["find_notes"])
    )

    assert LogEntry.objects.count() == 2
    assert "Saved as enabled: off, approval: as declared." in text
    assert page_of("find_5Fnotes") in text


# --- Who is given it ------------------------------------------------------------------


def make_holder(name: str, *, permitted: bool = True, **values: Any) -> Any:
    permissions = ["agent_runs.view_workspace"] if permitted else []
    user = factories.make_user(permissions=permissions)
    return factories.make_client(name, technical_user=user, **values)


def test_says_who_is_offered_a_tool(browser: Browser) -> None:
    """T2, T3."""
    profile = factories.make_profile("finding", tools=["find_notes"])
    make_holder("bot", profiles=[profile])

    text = text_of(browser, page_of("find_notes"))

    assert "<td>offered</td>" in text.partition('id="audience_list"')[2]


def test_says_why_a_tool_is_not_offered(browser: Browser) -> None:
    """T2, T3: each reason, not the first alone."""
    profile = factories.make_profile("hidden", tools=[], is_public=False)
    make_holder("bot", profiles=[profile], permitted=False, is_enabled=False)
    ToolSetting.objects.create(name="find_notes", enabled=False)

    text = text_of(browser, page_of("find_notes"))

    assert "The client is not enabled." in text
    assert "The tool is not enabled." in text
    assert "lacks the permission agent_runs.view_workspace." in text
    assert "The skill is not offered: it is not public." in text
    assert "The tool is not in the skill&#x27;s list." in text


def test_finds_a_client_by_a_part_of_its_name(browser: Browser) -> None:
    make_holder("weather-bot")
    make_holder("news-bot")

    text = text_of(browser, page_of("find_notes"), client="WEATHER")

    assert "weather-bot" in text
    assert "news-bot" not in text


@pytest.mark.parametrize(
    "query",
    [{"p": "x"}, {"p": "0"}, {"p": "9" * 30}, {"client": "%_"}],
    ids=["letters", "zero", "huge", "wildcards"],
)
def test_nonsense_in_the_address_is_no_traceback(
    browser: Browser, query: dict[str, str]
) -> None:
    make_holder("bot")

    assert browser.get(page_of("find_notes"), query).status_code == 200


def test_shows_a_page_of_clients_at_a_time(browser: Browser) -> None:
    profile = factories.make_profile(tools=["find_notes"])
    user = factories.make_user()
    for number in range(60):
        factories.make_client(
            f"bot-{number:02d}", technical_user=user, profiles=[profile]
        )

    first = text_of(browser, page_of("find_notes"))
    second = text_of(browser, page_of("find_notes"), p="2")

    assert "bot-49" in first
    assert "bot-50" not in first
    assert "More →" in first
    assert "bot-50" in second
    assert "More →" not in second


def test_a_page_asks_the_same_queries_for_many_clients(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        profile = factories.make_profile(tools=["find_notes"])
        make_holder(f"bot-{number}", profiles=[profile])

    with django_assert_max_num_queries(11):
        text = text_of(browser, page_of("find_notes"))

    assert text.count("<td>offered</td>") == 20


def test_whoever_may_not_see_clients_sees_none_here(
    browser_of: Callable[..., Browser],
) -> None:
    """P5."""
    make_holder("secret-bot")

    text = text_of(browser_of(VIEW), page_of("find_notes"))

    assert "secret-bot" not in text
    assert "Who is given it" not in text


# --- What a save takes ----------------------------------------------------------------


def test_says_which_skills_lose_a_tool(browser: Browser) -> None:
    """P6: a save that narrows succeeds and says what it took."""
    profile = factories.make_profile("finding", tools=["find_notes"])
    make_holder("bot", profiles=[profile])
    make_holder("without", profiles=[profile], permitted=False)

    page = save(browser, "find_notes", enabled="off")

    told = html_forms.sentences(page)
    assert (
        "It is no longer offered to runs of the skills «Finding (finding)» for «bot»."
        in told
    )


def test_names_no_clients_to_whoever_may_not_see_them(
    browser_of: Callable[..., Browser],
) -> None:
    """P5."""
    profile = factories.make_profile("finding", tools=["find_notes"])
    make_holder("secret-bot", profiles=[profile])
    person = browser_of(VIEW, "agent_runs.change_toolsetting")

    page = save(person, "find_notes", enabled="off")

    assert html_forms.sentences(page) == ["«find_notes» was saved."]


def test_a_save_that_takes_nothing_says_nothing(browser: Browser) -> None:
    page = save(browser, "find_notes", enabled="on")

    assert html_forms.sentences(page) == ["«find_notes» was saved."]


def test_counts_the_waiting_runs_that_would_fail(browser: Browser) -> None:
    """S73."""
    factories.make_run(RunState.WAITING_FOR_INPUT, tools=["find_notes"])
    factories.make_run(RunState.WAITING_FOR_INPUT, tools=["write_note"])
    factories.make_run(RunState.COMPLETED, tools=["find_notes"])
    sentence = "1 waiting run was given this tool and will fail without it."

    assert sentence in text_of(browser, page_of("find_notes"))
    page = save(browser, "find_notes", enabled="off")

    assert sentence in html_forms.sentences(page)


# --- Strangers ------------------------------------------------------------------------


@pytest.mark.parametrize("url", [LIST, page_of("find_notes")], ids=["list", "page"])
def test_a_stranger_sees_nothing(strange_browser: Browser, url: str) -> None:
    assert strange_browser.get(url).status_code == 403


def test_a_stranger_changes_nothing(strange_browser: Browser) -> None:
    answer = strange_browser.post(page_of("find_notes"), {"enabled": "off"})

    assert answer.status_code == 403
    assert not ToolSetting.objects.exists()


def test_whoever_may_only_look_changes_nothing(
    browser_of: Callable[..., Browser],
) -> None:
    browser = browser_of(VIEW)

    text = text_of(browser, page_of("find_notes"))
    answer = browser.post(page_of("find_notes"), {"enabled": "off"})

    assert 'id="tool_form"' not in text
    assert "on, as declared" in text
    assert answer.status_code == 403
    assert not ToolSetting.objects.exists()


def test_a_delegate_switches_a_tool_off(browser_of: Callable[..., Browser]) -> None:
    """P5."""
    save(browser_of(CHANGE), "find_notes", enabled="off")

    assert ToolSetting.objects.get().enabled is False


@pytest.mark.parametrize("page", ["add", "delete"])
def test_no_tool_is_added_or_deleted_here(browser: Browser, page: str) -> None:
    args = [] if page == "add" else ["find_notes"]
    url = reverse(f"admin:agent_runs_toolsetting_{page}", args=args)

    assert browser.get(url).status_code == 403
