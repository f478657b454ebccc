from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from a2a_project.newsroom import drafting
from agent_runs.offline.scripts import Call, Conversation, Done, OfferedTool

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOLS = {name: OfferedTool(description="", schema={}) for name in drafting.TOOLS}
PROMPT = "A new bridge\nThe bridge was opened on Monday."
LIST_SECTIONS = Call(tool="list_records", arguments={"model": "newsroom.section"})


def conversation(prompt: str = PROMPT, *done: Done) -> Conversation:
    return Conversation(prompt=prompt, done=done, tools=TOOLS)


def listed(names: Sequence[str] = ("Politics", "Culture")) -> Done:
    records = [
        {"id": str(number), "values": {"name": name}}
        for number, name in enumerate(names, 1)
    ]
    content = json.dumps({"records": records, "next_page": None})
    return made("list_records", content)


def made(tool: str, content: str, outcome: str = "success") -> Done:
    values = {"values": {"title": "A new bridge"}}
    return Done(tool=tool, arguments=values, outcome=outcome, content=content)


def draft_of(answer: str | tuple[Call, ...]) -> dict[str, str]:
    assert isinstance(answer, tuple)
    [call] = answer
    assert call.tool == "draft_record"
    assert (call.arguments["model"], call.arguments["id"]) == ("newsroom.article", "")
    values: dict[str, str] = call.arguments["values"]
    return values


# --- The message ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "title", "text", "section"),
    [
        ("A title\n\nA text.\nMore.", "A title", "A text.\nMore.", ""),
        ("A text.\nMore.\nTitle: A title", "A title", "A text.\nMore.", ""),
        ("section :  Culture \nA title\nA text.", "A title", "A text.", "Culture"),
        ("One line only", "One line only", "One line only", ""),
        ("Title: A title", "A title", "", ""),
        ("Section: Culture", "", "", "Culture"),
        ("Title: First\nTitle: Second", "First", "Title: Second", ""),
        ("word " * 30, f"{'word ' * 22}word…", ("word " * 30).strip(), ""),
        ("w" * 121, f"{'w' * 119}…", "w" * 121, ""),
    ],
)
def test_reads_title_text_and_section(
    prompt: str, title: str, text: str, section: str
) -> None:
    wish = drafting.read(prompt)

    assert (wish.title, wish.text, wish.section) == (title, text, section)
    assert len(wish.title) <= 120


# --- The way to a draft ---------------------------------------------------------------


def test_looks_for_the_sections_first() -> None:
    assert drafting.write(conversation()) == (LIST_SECTIONS,)


@pytest.mark.parametrize(
    ("prompt", "section"),
    [
        ("Section: culture\nA title\nPolitics decide.", "2"),
        ("A title\nThe politics of bridges.", "1"),
        ("Culture\nA text.", "2"),
    ],
)
def test_drafts_for_the_section_that_the_message_names(
    prompt: str, section: str
) -> None:
    answer = drafting.write(conversation(prompt, listed()))

    assert draft_of(answer)["section"] == section


@pytest.mark.parametrize(
    "prompt",
    [PROMPT, "Politics and culture\nBoth.", "Section: Sports\nA title\nCulture."],
    ids=["none", "two", "unknown"],
)
def test_asks_for_the_section_that_the_message_leaves_open(prompt: str) -> None:
    """T7."""
    answer = drafting.write(conversation(prompt, listed()))

    options = ["Culture", "Politics"]
    assert answer == (
        Call(
            tool="ask_choice",
            arguments={"question": "For which section?", "options": options},
        ),
    )


def test_drafts_for_the_section_that_was_answered() -> None:
    answered = made("ask_choice", "Politics")

    answer = drafting.write(conversation(PROMPT, listed(), answered))

    assert draft_of(answer) == {
        "title": "A new bridge",
        "section": "1",
        "text": "The bridge was opened on Monday.",
    }


def test_does_not_ask_where_there_is_one_section() -> None:
    answer = drafting.write(conversation(PROMPT, listed(["Culture"])))

    assert draft_of(answer)["section"] == "1"


def test_asks_for_a_text_where_there_are_more_sections_than_options() -> None:
    """T7."""
    many = listed([f"S{number}" for number in range(11)])

    asked = drafting.write(conversation(PROMPT, many))
    answer = drafting.write(conversation(PROMPT, many, made("ask_choice", "s10")))
    unknown = drafting.write(conversation(PROMPT, many, made("ask_choice", "Sports")))

    assert isinstance(asked, tuple)
    assert asked[0].arguments["options"] == []
    assert draft_of(answer)["section"] == "11"
    assert str(unknown).startswith("Nothing was drafted: name one of the sections «S0»")


# --- What it says in the end ----------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (
            "success",
            "«A new bridge» is drafted. It is live once somebody has published",
        ),
        ("denied", "Nothing was drafted: «A new bridge» was not approved."),
        ("failed", "Nothing was drafted: No workspace."),
    ],
)
def test_says_what_became_of_the_draft(outcome: str, sentence: str) -> None:
    """T14."""
    drafted = made("draft_record", "No workspace.", outcome)

    answer = drafting.write(conversation(PROMPT, listed(), drafted))

    assert str(answer).startswith(sentence)


@pytest.mark.parametrize("missing", ["list_records", "draft_record"])
def test_says_which_tool_is_missing(missing: str) -> None:
    tools = {name: tool for name, tool in TOOLS.items() if name != missing}

    answer = drafting.write(replace(conversation(), tools=tools))

    assert answer == (
        f"Nothing was drafted: this skill is not given the tool «{missing}»."
    )


def test_says_what_to_name_where_it_cannot_ask() -> None:
    tools = {name: tool for name, tool in TOOLS.items() if name != "ask_choice"}

    answer = drafting.write(replace(conversation(PROMPT, listed()), tools=tools))

    assert answer == (
        "Nothing was drafted: name one of the sections «Culture», «Politics»."
    )


@pytest.mark.parametrize(
    "done",
    [
        [made("list_records", "The tool failed.", "failed")],
        [listed([])],
        [listed(), made("ask_choice", "This cannot be asked.", "failed")],
    ],
    ids=["list failed", "no section", "question failed"],
)
def test_an_error_of_a_tool_ends_it_with_a_sentence(done: list[Done]) -> None:
    answer = drafting.write(conversation(PROMPT, *done))

    assert str(answer).startswith("Nothing was drafted: ")


def test_says_that_no_round_was_left() -> None:
    """R5."""
    answer = drafting.write(replace(conversation(PROMPT, listed()), may_call=False))

    assert answer == "Nothing was drafted: this skill has too few rounds to finish."


@pytest.mark.parametrize("prompt", ["", " \n ", "Section: Culture", "Title: A title"])
def test_needs_a_title_and_a_text(prompt: str) -> None:
    answer = drafting.write(conversation(prompt))

    assert answer == "Nothing was drafted: send a title and, below it, the text."
