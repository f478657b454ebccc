"""P3 and P6 in every way in which the admin saves a profile: a list that gains a writing
tool needs «may write», and the stored list stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from a2a_server.models import Profile
from tests import factories, html_forms
from tests.a2a_server import toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.test import Client as Browser

ADD = reverse("admin:a2a_server_profile_add")
LIST = reverse("admin:a2a_server_profile_changelist")
NEW = {
    "skill_id": "new",
    "name": "New",
    "description": "New.",
    "handler": "llm.text",
    "tools": ["writer"],
}


@pytest.fixture(autouse=True)
def _two_tools() -> Iterator[None]:
    with toolbox.registered(toolbox.reader(), toolbox.Writer()):
        yield


def page_of(profile: Profile) -> str:
    return reverse("admin:a2a_server_profile_change", args=[profile.pk])


def post(browser: Browser, url: str, button: str, **changes: Any) -> Any:
    """Press any of the page's buttons."""
    values = html_forms.values_of(browser.get(url), "profile_form") | changes
    sent = {name: value for name, value in values.items() if value is not None}
    return browser.post(url, sent | {button: "x"}, follow=True)


BUTTONS = ["_save", "_continue", "_addanother", "_saveasnew"]


@pytest.mark.parametrize("button", BUTTONS)
def test_no_new_profile_lists_a_writing_tool_without_may_write(
    browser: Browser, button: str
) -> None:
    """P3."""
    configuration = factories.make_configuration()

    page = post(browser, ADD, button, **NEW, configuration=str(configuration.pk))

    assert "«writer»" in html_forms.errors(page)
    assert not Profile.objects.exists()


def test_neither_does_one_that_a_popup_makes(browser: Browser) -> None:
    """P3: the page behind the plus sign of a client."""
    configuration = factories.make_configuration()

    page = post(
        browser,
        f"{ADD}?_popup=1",
        "_save",
        **NEW,
        configuration=str(configuration.pk),
        _popup="1",
    )

    assert "«writer»" in html_forms.errors(page)
    assert not Profile.objects.exists()


@pytest.mark.parametrize("who", ["superuser", "delegate"])
@pytest.mark.parametrize("button", BUTTONS)
def test_a_refused_list_leaves_the_stored_one(
    browser: Browser, browser_of: Callable[..., Browser], who: str, button: str
) -> None:
    """P3, P5."""
    profile = factories.make_profile(tools=["reader"])
    if who == "delegate":
        browser = browser_of("a2a_server.change_profile", "a2a_server.add_profile")

    page = post(browser, page_of(profile), button, tools=["reader", "writer"])

    assert "«writer»" in html_forms.errors(page)
    assert Profile.objects.get().tools == ["reader"]


def test_nor_is_it_saved_while_may_write_goes(browser: Browser) -> None:
    """P3."""
    profile = factories.make_profile(tools=["reader"], may_write=True)

    page = post(
        browser,
        page_of(profile),
        "_save",
        tools=["reader", "writer"],
        may_write=None,
    )

    assert "«writer»" in html_forms.errors(page)
    assert Profile.objects.get().may_write
    assert Profile.objects.get().tools == ["reader"]


def test_the_list_page_takes_no_tools(browser: Browser) -> None:
    """P3: whatever is sent to it."""
    factories.make_profile(tools=["reader"], is_public=False)

    html_forms.save(
        browser,
        LIST,
        "changelist-form",
        **{
            "form-0-tools": "writer",
            "form-0-may_write": "on",
            "form-0-is_public": "on",
        },
    )

    profile = Profile.objects.get()
    assert (profile.tools, profile.may_write) == (["reader"], False)
    assert profile.is_public


def test_with_may_write_it_is_saved(browser: Browser) -> None:
    """P3: what the tests above have to differ from."""
    profile = factories.make_profile(tools=["reader"])

    page = post(browser, page_of(profile), "_save", tools=["writer"], may_write="on")

    assert html_forms.errors(page) == ""
    assert Profile.objects.get().tools == ["writer"]


def test_a_context_is_remembered_where_somebody_says_so(browser: Browser) -> None:
    """S49."""
    profile = factories.make_profile()

    post(browser, page_of(profile), "_save", remember_context="on")

    assert Profile.objects.get().remember_context
