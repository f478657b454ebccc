from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from a2a_server.models import Profile
from agent_runs.effects import Effect
from agent_runs.models import AnswerLevel, ToolSetting
from agent_runs.tools import registry
from tests import factories, html_forms
from tests.a2a_server.test_rules import make_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries

    from agent_runs.tools.contract import Tool

ADD = reverse("admin:a2a_server_profile_add")
LIST = reverse("admin:a2a_server_profile_changelist")


@pytest.fixture(autouse=True)
def _three_tools() -> Iterator[None]:
    def tools() -> list[Tool]:
        return [
            make_tool("reader", Effect.READ_ONLY),
            make_tool("writer", Effect.NON_IDEMPOTENT_WRITE),
            dataclasses.replace(make_tool("finder", Effect.READ_ONLY), group="notes"),
        ]

    registry.register_provider(tools)

    yield

    registry.unregister_provider(tools)


def page_of(profile: Profile, page: str = "change") -> str:
    return reverse(f"admin:a2a_server_profile_{page}", args=[profile.pk])


def save(browser: Browser, profile: Profile, **changes: Any) -> Any:
    return html_forms.save(browser, page_of(profile), "profile_form", **changes)


def stored(profile: Profile) -> Profile:
    return Profile.objects.get(pk=profile.pk)


def test_adds_a_profile(browser: Browser) -> None:
    """P3."""
    configuration = factories.make_configuration()

    html_forms.save(
        browser,
        ADD,
        "profile_form",
        skill_id="summary",
        name="Summary",
        description="Sums up.",
        handler="llm.text",
        configuration=str(configuration.pk),
        tags=" text \r\n\r\nsummary\r\ntext",
        examples="Sum up: …",
        is_public="on",
    )

    profile = Profile.objects.get()
    assert profile.tags == ["text", "summary"]
    assert profile.examples == ["Sum up: …"]
    assert profile.tools == []


def test_a_form_that_nobody_touched_changes_nothing(browser: Browser) -> None:
    profile = factories.make_profile(tags=["a", "b c"], tools=["reader"])

    save(browser, profile)

    again = stored(profile)
    assert (again.tags, again.tools) == (["a", "b c"], ["reader"])


def test_offers_the_installed_handlers(browser: Browser) -> None:
    text = browser.get(ADD).content.decode()

    assert '<option value="llm.text">' in text
    assert "(uses a model)" in text


def test_offers_the_installed_tools_with_what_they_do(browser: Browser) -> None:
    """P3: by their groups, and what counts for each."""
    ToolSetting.objects.create(name="writer", enabled=False, requires_approval=True)

    text = browser.get(ADD).content.decode()

    assert "reader (reads)" in text
    assert "writer (writes once, needs approval, not enabled)" in text
    assert "<label>notes</label>" in text


def test_ticks_what_the_profile_has_and_keeps_its_order(browser: Browser) -> None:
    profile = factories.make_profile(tools=["writer", "reader"], may_write=True)

    page = save(browser, profile, name="Renamed", tools=["finder", "reader", "writer"])

    assert html_forms.errors(page) == ""
    assert stored(profile).tools == ["writer", "reader", "finder"]


def test_a_tool_that_is_not_installed_stays_ticked_until_it_is_unticked(
    browser: Browser,
) -> None:
    """P6: a save that narrows always succeeds."""
    profile = factories.make_profile(tools=["gone", "reader"])

    text = browser.get(page_of(profile)).content.decode()
    save(browser, profile, name="Renamed")
    kept = stored(profile).tools
    save(browser, profile, tools=["reader"])

    assert "<label>Not installed here</label>" in text
    assert kept == ["gone", "reader"]
    assert stored(profile).tools == ["reader"]


def test_takes_all_tools_from_a_profile(browser: Browser) -> None:
    profile = factories.make_profile(tools=["reader"])

    save(browser, profile, tools=None)

    assert stored(profile).tools == []


def test_says_that_no_tool_is_installed(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Undone here: the fixtures' own providers are taken away afterwards.
    with monkeypatch.context() as patch:
        patch.setattr(registry, "_providers", [])
        page = browser.get(ADD).content.decode()

    assert "None is installed here." in page


def test_keeps_a_handler_that_is_not_installed_any_more(browser: Browser) -> None:
    """P6."""
    profile = factories.make_profile(handler="no.such", is_public=False)

    save(browser, profile, name="Renamed")

    assert stored(profile).name == "Renamed"
    assert stored(profile).handler == "no.such"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"skill_id": "Tasks"}, "address of the protocol", id="reserved"),
        pytest.param({"skill_id": "a b"}, "letters, digits", id="form"),
        pytest.param({"skill_id": "OTHER"}, "Another profile", id="letter-case"),
        pytest.param({"handler": "no.such"}, "valid choice", id="handler"),
        pytest.param({"configuration": ""}, "needs an LLM", id="configuration"),
        pytest.param({"tools": ["reader", "writer"]}, "«writer»", id="writing-tool"),
        pytest.param({"tools": ["READER"]}, "«READER»", id="unknown-tool"),
        pytest.param({"tags": "a\x01b"}, "list of lines", id="control-character"),
        pytest.param({"description": "  "}, "required", id="blank"),
        pytest.param({"active_task_quota": "-1"}, "greater than", id="quota"),
    ],
)
def test_refuses_a_profile_with_a_sentence(
    browser: Browser, changes: dict[str, str], sentence: str
) -> None:
    """P3: through the form."""
    factories.make_profile("other")
    profile = factories.make_profile("mine", tools=["reader"])

    page = save(browser, profile, **changes)

    assert sentence in html_forms.errors(page)
    assert stored(profile).tools == ["reader"]
    assert stored(profile).skill_id == "mine"


def test_refuses_to_write_while_a_client_is_on_live(browser: Browser) -> None:
    """P6: through the form, from the profile's side."""
    profile = factories.make_profile()
    factories.make_client("on-live", profiles=[profile])

    page = save(browser, profile, may_write="on")

    assert "«on-live»" in html_forms.errors(page)
    assert not stored(profile).may_write


def test_says_which_tools_are_withheld(browser: Browser) -> None:
    """P6, T3: narrowing succeeds and says what it takes."""
    profile = factories.make_profile(tools=["reader", "writer"], may_write=True)

    page = save(browser, profile, may_write=None)

    assert not stored(profile).may_write
    assert "Without «may write» its runs do not get «writer»." in html_forms.sentences(
        page
    )


def test_says_that_the_skill_is_no_longer_offered(browser: Browser) -> None:
    """P6."""
    profile = factories.make_profile("summary")
    factories.make_client("bot", profiles=[profile])

    page = save(browser, profile, is_public=None)

    told = html_forms.sentences(page)
    assert "No longer offered: Summary (summary)." in told
    assert not [sentence for sentence in told if "bot" in sentence]


# --- The list -------------------------------------------------------------------------


def test_a_list_edit_refuses_what_the_form_refuses(browser: Browser) -> None:
    """P6: through `list_editable`, from the profile's side."""
    provider = factories.make_provider(name="Forgetful", answer_level=AnswerLevel.NONE)
    configuration = factories.make_configuration(provider=provider)
    profile = factories.make_profile(configuration=configuration, is_public=False)

    page = html_forms.save(
        browser, LIST, "changelist-form", **{"form-0-is_public": "on"}
    )

    assert "«Forgetful» keeps no result" in html_forms.errors(page)
    assert "«Forgetful» keeps no result" in page.content.decode()
    assert not stored(profile).is_public


def test_a_list_edit_always_narrows(browser: Browser) -> None:
    """P6: whatever else is wrong with the record."""
    profile = factories.make_profile(
        "summary", handler="no.such", tools=["gone"], tags={"no": "list"}
    )

    html_forms.save(browser, LIST, "changelist-form", **{"form-0-is_public": None})

    assert not stored(profile).is_public


def test_says_why_a_profile_is_not_on_the_card(browser: Browser) -> None:
    """S7."""
    factories.make_profile("fine")
    factories.make_profile("hidden", is_public=False)
    sleeping = factories.make_configuration(name="Sleeping", is_active=False)
    factories.make_profile("asleep", configuration=sleeping)

    text = browser.get(LIST).content.decode()

    assert '<td class="field-card">yes</td>' in text
    assert '<td class="field-card">It is not public.</td>' in text
    assert "«Sleeping» is not active." in text


def test_a_page_asks_few_queries(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    profile = factories.make_profile()
    for _ in range(20):
        factories.make_configuration()

    with django_assert_max_num_queries(8):
        browser.get(page_of(profile))


def test_a_delegate_who_may_only_look_sees_the_page(
    browser_of: Callable[..., Browser],
) -> None:
    """P5."""
    profile = factories.make_profile(tags=["a"])
    browser = browser_of("a2a_server.view_profile")

    assert browser.get(page_of(profile)).status_code == 200


def test_a_profile_in_use_is_not_deleted(browser: Browser) -> None:
    """P5."""
    task = factories.make_task()
    profile = task.profile

    page = browser.post(page_of(profile, "delete"), {"post": "yes"}, follow=True)

    told = html_forms.sentences(page)[0]
    assert "1 client that may call it and 1 task" in told
    assert told.endswith("Switch it off instead: clear «public» and save.")


# --- Back doors -----------------------------------------------------------------------

FIXTURE = """[{"model": "a2a_server.profile", "pk": 7, "fields": {
  "skill_id": "loaded", "name": "Loaded", "description": "", "handler": 5,
  "tags": {"a": 1}, "examples": "text", "tools": [1, null, ["x"]],
  "is_public": true, "may_write": false}}]"""


def test_a_record_that_a_fixture_broke_opens_and_can_be_mended(
    browser: Browser, tmp_path: Path
) -> None:
    """B139: lists, types, a missing description."""
    file = tmp_path / "broken.json"
    file.write_text(FIXTURE)
    call_command("loaddata", str(file), verbosity=0)
    profile = Profile.objects.get(pk=7)

    assert browser.get(LIST).status_code == 200
    assert browser.get(page_of(profile)).status_code == 200
    page = save(
        browser,
        profile,
        description="Mended.",
        handler="llm.text",
        configuration=str(factories.make_configuration().pk),
        tags="a",
        examples="",
        tools=None,
    )

    assert html_forms.errors(page) == ""
    assert stored(profile).tags == ["a"]
    assert stored(profile).tools == []
