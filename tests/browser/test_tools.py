"""Trying a skill, and taking a tool away and giving it back, in a real browser (T2, O2).

The whole is done twice, the second time in a browser that runs no JavaScript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import newsroom

if TYPE_CHECKING:
    from tests.browser.pages import Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize(
        "has_javascript",
        [True, False],
        ids=["javascript", "no-javascript"],
        indirect=True,
        scope="module",
    ),
]

OFF = "not offered:\nThe tool is not enabled."
NOT_LISTED = "not offered:\nThe tool is not in the skill's list."


def test_tries_a_skill_as_a_client_and_approves_what_it_proposes(
    editor: Browser, title: str
) -> None:
    """O2, T12: a run without a task; whoever pressed the button is its starter."""
    editor.open_record("A2A publication profiles", "Article")
    editor.follow("Try it", inside=".object-tools")
    assert "New bridge opened" in str(editor.value("Text"))
    editor.fill({"Client": "demo", "Text": f"{title}\nSection: Culture\nShort."})

    editor.press("Try it")

    assert "was started as «demo»" in " ".join(editor.messages())
    assert editor.shown("Starter") == "admin"
    run = editor.path
    editor.reload_until(lambda: editor.shown("State").startswith("Waiting"))
    editor.follow_shown("State")
    editor.press("Approve")
    editor.visit(run)
    editor.reload_until(lambda: editor.shown("State") == "Completed")
    newsroom.open_draft(editor)
    assert editor.column("Value") == [title, "Culture (1)", "Short."]
    editor.press("Publish")
    assert editor.messages() == [f"«{title}» is live now."]


def test_refuses_a_trial_without_a_client_and_keeps_the_text(
    editor: Browser, title: str
) -> None:
    """O2: one choice can be mended from where one is."""
    editor.open_record("A2A publication profiles", "Article")
    editor.follow("Try it", inside=".object-tools")
    editor.leave_to_the_server("#try_form")
    editor.fill({"Text": title})

    editor.press("Try it")

    assert editor.refusal("Client") == "This field is required."
    assert editor.value("Text") == title


def test_takes_a_tool_from_skills_and_says_why_nobody_is_given_it(
    editor: Browser,
) -> None:
    """T2, T3: what is lost is told at once, and the table names the reason."""
    editor.open_record("Tools", "list_records")
    assert given(editor) == {
        "Article (article)": "offered",
        "Rewriting (rewrite)": "offered",
        "Summary (summary)": NOT_LISTED,
        "Text check (text-check)": NOT_LISTED,
    }
    editor.fill({"Enabled": "off"})

    editor.press("Save")

    assert "It is no longer offered to runs of the skills" in editor.messages()[1]
    assert given(editor)["Article (article)"] == OFF
    editor.open_list("Tools")
    editor.follow("list_records", inside="#result_list")
    editor.fill({"Enabled": "as declared (on)"})
    editor.press("Save")
    assert editor.messages() == ["«list_records» was saved."]
    assert given(editor)["Article (article)"] == "offered"


def test_sees_the_inbox_empty_when_nothing_waits(editor: Browser) -> None:
    """T11: a sentence tells what comes here."""
    editor.open_list("Inbox")

    assert "Nothing waits for you." in editor.text()


def given(editor: Browser) -> dict[str, str]:
    """What the tool's page says of each skill of the only client."""
    return dict(zip(editor.column("Skill"), editor.column("The tool is"), strict=True))
