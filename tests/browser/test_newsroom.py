"""From a client's message to the live article, as the people of a newsroom go it (O1, O2).

The whole is done twice, the second time in a browser that runs no JavaScript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import newsroom

if TYPE_CHECKING:
    from tests.browser.newsroom import Newsroom
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

OLD = "It was last seen seventy years ago, and comes back now."
NEW = "It was last seen eighty years ago, and comes back now."
LONG = (
    "For a week the whole city talked of nothing else. https://comets.example/"
    + "a-very-long-address-" * 12
    + "\n\n"
    + "The observatory stays open until midnight for everybody who wants to see it. "
    * 12
)


# --- Approvals ------------------------------------------------------------------------


def test_approves_a_change_by_its_differences_and_publishes_it(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T11, T16: before and after are shown twice, and only then is anything live."""
    newsroom.add_article(editor, title, OLD)
    task_id = desk.ask_for("rewrite", f"{title}\n{NEW}")

    newsroom.open_card(editor, task_id, "Waiting for approval")

    assert f"text: {OLD} → {NEW}" in editor.text(".preview")
    assert f'"text": "{NEW}"' in editor.text(".arguments")
    editor.press("Approve")
    assert editor.messages() == ["Approved. The run goes on."]
    newsroom.open_run(editor, task_id, "Completed")
    newsroom.open_draft(editor)
    assert editor.column("Before") == [OLD]
    assert editor.column("After") == [NEW]
    assert editor.texts(".differences del") == ["seventy"]
    assert editor.texts(".differences ins") == ["eighty"]
    editor.press("Publish")
    assert editor.messages() == [f"«{title}» is live now."]
    assert editor.shown("State") == "Published"
    assert not editor.has_button("Publish")
    editor.follow(title, inside=".messagelist")
    assert editor.value("Text") == NEW


def test_denies_what_is_proposed_and_the_run_goes_on_without_it(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T14: the client is told, nothing was written, and the run's page says who it was."""
    task_id = desk.ask_for("article", f"{title}\nSection: Science\n{LONG}")
    newsroom.open_card(editor, task_id, "Waiting for approval")

    editor.press("Deny")

    assert editor.messages() == ["Denied. The run is told, and may go on without it."]
    newsroom.open_run(editor, task_id, "Completed")
    assert "Denied" in events(editor)
    assert editor.shown("Writes") == "It wrote nothing."
    assert "was not approved" in editor.shown("Result")


def test_refuses_a_verdict_that_somebody_was_faster_with(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T12: the card is a picture of what was; the first verdict counts."""
    task_id = desk.ask_for("article", f"{title}\nSection: Science\nShort.")
    newsroom.open_card(editor, task_id, "Waiting for approval")
    with editor.another_tab():
        newsroom.approve(editor, task_id)

    editor.press("Deny")

    assert editor.messages() == [
        "It was decided already, or the run ended. Nothing was changed."
    ]
    newsroom.open_run(editor, task_id, "Completed")
    assert "Approved" in events(editor)
    assert "Denied" not in events(editor)


# --- Questions ------------------------------------------------------------------------


def test_answers_a_question_in_the_inbox_at_the_second_try(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T8, S74: a wrong answer costs nothing, and says what is accepted."""
    task_id = desk.ask_for("article", f"{title}\n{LONG}")
    newsroom.open_run(editor, task_id, "Waiting for input")
    editor.open_list("Inbox")
    editor.follow("Question: For which section?", inside="#result_list")

    editor.press("Answer")

    assert "nothing was stored" in editor.text(".errornote")
    assert "One of: «Culture», «Politics», «Science»." in editor.refusals()
    editor.fill({"Politics": True})
    editor.press("Answer")
    assert editor.messages() == ["Answered. The run goes on."]
    newsroom.approve(editor, task_id)
    assert "is drafted" in editor.shown("Result")
    assert state_of(desk, task_id) == "TASK_STATE_COMPLETED"


def test_shows_what_is_wanted_now_to_whoever_answers_an_old_question(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T9: an answer is bound to the question that was on the card."""
    task_id = desk.ask_for("article", f"{title}\nShort.")
    newsroom.open_card(editor, task_id, "Waiting for input")
    with editor.another_tab():
        newsroom.open_card(editor, task_id, "Waiting for input")
        editor.fill({"Science": True})
        editor.press("Answer")
        newsroom.open_run(editor, task_id, "Waiting for approval")
    editor.fill({"Culture": True})

    editor.press("Answer")

    assert editor.messages() == [
        "The run waits for something else now; this is it. Nothing was changed."
    ]
    assert "section: – → Science" in editor.text(".preview")
    editor.press("Deny")


# --- Drafts ---------------------------------------------------------------------------


def test_discards_a_draft_and_keeps_it_as_history(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T16: nothing becomes live; the draft's page stays."""
    task_id = desk.ask_for("article", f"{title}\nSection: Science\n{LONG}")
    newsroom.approve(editor, task_id)
    newsroom.open_draft(editor)

    editor.press("Discard")

    assert editor.messages() == ["The draft was discarded."]
    assert editor.shown("State") == "Discarded"
    assert not editor.has_button("Publish")
    editor.open_list("Articles")
    assert title not in editor.column("Title")


def test_says_that_the_live_record_changed_before_anybody_publishes(
    editor: Browser, desk: Newsroom, title: str
) -> None:
    """T16: what was compared is no longer what there is."""
    newsroom.add_article(editor, title, OLD)
    task_id = desk.ask_for("rewrite", f"{title}\n{NEW}")
    newsroom.approve(editor, task_id)
    newsroom.open_draft(editor)
    with editor.another_tab():
        editor.open_record("Articles", title)
        editor.fill({"Text": "Somebody else wrote this."})
        editor.press("Save")

    editor.press("Publish")

    assert "changed" in " ".join(editor.messages())
    assert editor.text("#decision .errornote") in editor.messages()
    assert not editor.has_button("Publish")
    editor.follow_shown("Live record")
    assert editor.value("Text") == "Somebody else wrote this."


def events(editor: Browser) -> list[str]:
    return editor.column("What", inside=".field-timeline_shown")


def state_of(desk: Newsroom, task_id: str) -> str:
    return str(desk.task(task_id)["status"]["state"])
