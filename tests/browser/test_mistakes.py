"""What the admin refuses, and whether a person can mend it from where they are (P5, P6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.pages import Browser

pytestmark = pytest.mark.browser


def test_refuses_an_address_for_an_offline_provider_beside_the_field(
    demo_browser: Browser,
) -> None:
    """P1: what was typed stays, so that one word can be mended."""
    demo_browser.add(
        "Providers",
        {
            "Name": "Mine",
            "Kind": "Offline (deterministic, for demonstrations)",
            "Base URL": "http://127.0.0.1:9",
        },
    )

    assert demo_browser.refusal("Base URL") == (
        "An offline provider has no base URL; leave it empty."
    )
    assert demo_browser.refusal("Name") == ""
    assert demo_browser.value("Name") == "Mine"
    assert demo_browser.value("Base URL") == "http://127.0.0.1:9"


def test_a_refused_form_does_not_bring_the_key_back(demo_browser: Browser) -> None:
    """P1: it is entered once more; what a page holds is kept in too many places."""
    key = "sk-browser-0123456789"
    demo_browser.start_adding("Providers")
    demo_browser.fill(
        {
            "Name": "Mine",
            "Kind": "OpenAI-compatible endpoint",
            "Base URL": "ftp://127.0.0.1/",
            "API key": key,
        }
    )
    demo_browser.secrets.add(key)

    demo_browser.press("Save")

    assert demo_browser.refusal("Base URL") != ""
    assert demo_browser.value("API key") == ""


def test_refuses_a_skill_id_of_the_protocol_and_keeps_the_lines(
    demo_browser: Browser,
) -> None:
    """P3: also what is edited one a line comes back as it was typed."""
    demo_browser.add(
        "A2A publication profiles",
        {
            "Skill id": "Tasks",
            "Name": "Mine",
            "Description": "Does something.",
            "Tags": "one\ntwo words",
            "Domain handler": "Text to text, by a language model (uses a model)",
        },
    )

    assert demo_browser.refusal("Skill id") == (
        "«Tasks» is an address of the protocol; choose another id."
    )
    assert "needs an LLM configuration" in demo_browser.refusal("LLM configuration")
    assert demo_browser.value("Tags") == "one\ntwo words"
    assert demo_browser.value("Domain handler").startswith("Text to text")


def test_refuses_a_superuser_as_technical_user_and_keeps_the_chosen_skill(
    demo_browser: Browser,
) -> None:
    """P4: no client acts with every permission there is."""
    demo_browser.start_adding("A2A clients")
    demo_browser.choose("grants-0-profile", "Summary (summary)")

    demo_browser.fill({"Name": "mighty", "Technical user": "admin", "Enabled": True})
    demo_browser.press("Save")

    assert "superuser" in demo_browser.refusal("Technical user")
    assert demo_browser.value("Name") == "mighty"
    assert demo_browser.chosen("grants-0-profile") == "Summary (summary)"


def test_refuses_to_delete_a_used_provider_on_its_page(demo_browser: Browser) -> None:
    """P5: the sentence counts what uses it and says what to do instead."""
    demo_browser.open_record("Providers", "Demonstration (offline)")

    demo_browser.follow("Delete", inside=".submit-row")

    [sentence] = demo_browser.messages()
    assert "«Demonstration (offline)» is not deleted" in sentence
    assert "2 LLM configurations" in sentence
    assert "Switch it off instead" in sentence


def test_refuses_to_delete_used_profiles_as_an_action(demo_browser: Browser) -> None:
    """P5: a sentence for each record."""
    demo_browser.open_list("A2A publication profiles")
    demo_browser.choose_row("Summary")
    demo_browser.choose_row("Text check")

    demo_browser.act("Delete selected A2A publication profiles")

    first, second = demo_browser.messages()
    assert "«Summary (summary)» is not deleted" in first
    assert "«Text check (text-check)» is not deleted" in second
    assert "1 client that may call it" in first


def test_says_which_skills_go_when_something_is_switched_off(
    demo_browser: Browser,
) -> None:
    """P6: narrowing succeeds, and what it takes away is told."""
    demo_browser.open_record("LLM configurations", "Summary (demonstration)")
    demo_browser.fill({"Active": False})

    demo_browser.press("Save")

    assert any(
        sentence.startswith("No longer offered: ")
        for sentence in demo_browser.messages()
    )
    demo_browser.open_record("LLM configurations", "Summary (demonstration)")
    demo_browser.fill({"Active": True})
    demo_browser.press("Save")
