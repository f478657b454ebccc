"""The offline model «article»: makes a draft of a message, in the way a real model would.

It reads which sections there are, asks for one where the message names none, and drafts.
The message's first line is the title, unless a line says «Title: …»; a line
«Section: …» chooses the section. Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_runs import questions
from agent_runs.offline.scripts import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_runs.offline.scripts import Conversation, Done

NAME = "article"
TOOLS = (ASK, DRAFT, LIST) = ("ask_choice", "draft_record", "list_records")
_ARTICLE = "newsroom.article"
_SECTION = "newsroom.section"
_LONGEST_TITLE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a message asks for; `section` is as it says it, or empty."""

    title: str
    text: str
    section: str = ""


# --- The message ----------------------------------------------------------------------


def read(prompt: str) -> Wish:
    """`title` is empty where nothing is left for one."""
    said = {"title": "", "section": ""}
    lines = []
    for line in prompt.strip().splitlines():
        label, colon, value = line.partition(":")
        name = label.strip().casefold()
        if colon and value.strip() and said.get(name) == "":
            said[name] = value.strip()
        else:
            lines.append(line)
    title, text = said["title"], "\n".join(lines).strip()
    if not title:
        title, _, rest = text.partition("\n")
        # A message of one line is its own title.
        text = rest.strip() or title
    return Wish(title=_shortened(title.strip()), text=text, section=said["section"])


def _shortened(title: str) -> str:
    if len(title) <= _LONGEST_TITLE:
        return title
    head = title[: _LONGEST_TITLE - 1]
    return (head.rpartition(" ")[0] or head) + "…"


# --- The conversation -----------------------------------------------------------------


def write(conversation: Conversation) -> str | tuple[Call, ...]:
    if drafted := conversation.last(DRAFT):
        return _report(drafted)
    if not conversation.may_call:
        return "Nothing was drafted: this skill has too few rounds to finish."
    wish = read(conversation.prompt)
    if not (wish.title and wish.text):
        return "Nothing was drafted: send a title and, below it, the text."
    for tool in (LIST, DRAFT):
        if tool not in conversation.tools:
            return f"Nothing was drafted: this skill is not given the tool «{tool}»."
    if listed := conversation.last(LIST):
        return _choose(conversation, wish, _sections(listed))
    return (Call(tool=LIST, arguments={"model": _SECTION}),)


def _report(drafted: Done) -> str:
    title = drafted.arguments["values"]["title"]
    if drafted.is_success:
        return f"«{title}» is drafted. It is live once somebody has published it."
    if drafted.outcome == "denied":
        return f"Nothing was drafted: «{title}» was not approved."
    return f"Nothing was drafted: {drafted.content}"


def _choose(
    conversation: Conversation, wish: Wish, sections: Sequence[Section]
) -> str | tuple[Call, ...]:
    if not sections:
        return "Nothing was drafted: there is no section that this skill may read."
    asked = conversation.last(ASK)
    if asked and not asked.is_success:
        return f"Nothing was drafted: {asked.content}"
    section = _named(asked.content, sections) if asked else _meant(wish, sections)
    if section:
        return (_draft(wish, section),)
    names = ", ".join(f"«{each.name}»" for each in sections)
    if asked or ASK not in conversation.tools:
        return f"Nothing was drafted: name one of the sections {names}."
    return (_question(sections),)


def _draft(wish: Wish, section: Section) -> Call:
    values = {"title": wish.title, "section": section.id, "text": wish.text}
    return Call(tool=DRAFT, arguments={"model": _ARTICLE, "id": "", "values": values})


def _question(sections: Sequence[Section]) -> Call:
    names = [each.name for each in sections]
    # With more than a choice takes, the answer is a text.
    options = names if len(names) <= questions.MOST_OPTIONS else []
    return Call(
        tool=ASK, arguments={"question": "For which section?", "options": options}
    )


# --- Sections -------------------------------------------------------------------------


def _sections(listed: Done) -> list[Section]:
    if not listed.is_success:
        return []
    named = [
        Section(id=str(record["id"]), name=record["values"].get("name", ""))
        for record in json.loads(listed.content)["records"]
    ]
    return sorted((each for each in named if each.name), key=lambda each: each.name)


def _meant(wish: Wish, sections: Sequence[Section]) -> Section | None:
    """The one that the message names, or the only one that there is."""
    if wish.section:
        return _named(wish.section, sections)
    said = f"{wish.title}\n{wish.text}"
    found = [each for each in sections if _occurs(each.name, said)]
    candidates = found or list(sections)
    return candidates[0] if len(candidates) == 1 else None


def _occurs(name: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE))


def _named(name: str, sections: Sequence[Section]) -> Section | None:
    wanted = questions.normalized(name).casefold()
    for each in sections:
        if questions.normalized(each.name).casefold() == wanted:
            return each
    return None
