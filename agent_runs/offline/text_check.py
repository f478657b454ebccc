"""Looks for slips in a text and reports each with its place.

One function per kind of slip; each yields findings by offset and none depends on another.
No dictionary, so that every language is served alike, and linear time for any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_runs.offline import sentences
from agent_runs.offline.sentences import Places, Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_SENTENCE = 40  # words
MOST_FINDINGS = 50
_SHORTEST_FULL_SENTENCE = 4  # words; less is a heading or a label
_LONGEST_EXCERPT = 40

_WORD = re.compile(r"\w++")
_DOUBLED_SPACE = re.compile(r"(?<=\S)[ \u00a0]{2,}+(?=\S)")
_SPACE_BEFORE_MARK = re.compile(r"(?<=\w) [,.](?=\s|\Z)")
_NO_SPACE_AFTER_COMMA = re.compile(r"(?<=[^\W\d_])[,;](?=[^\W\d_])")
_REPEATED_MARKS = re.compile(r",{2,}+|;{2,}+|[!?]{3,}+|\.{4,}+")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*+\n")
_LIST_ITEM = re.compile(r"(?:[-*•–#]{1,6}|\w{1,3}[.)])[^\S\n]")
_LIST_LETTER = re.compile(r"^[^\S\n]*\w{1,3}\Z")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_BRACKETS.values())
_BRACKET = re.compile(r"[()\[\]{}]")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    offset: int
    message: str


def report(text: str) -> str:
    found = sentences.split(text)
    if not found:
        return "There is no text to check."
    findings = sorted(_findings(text, found))
    word_count = len(sentences.words(text))
    size = f"{_count(word_count, 'word')}, {_count(len(found), 'sentence')}"
    if not findings:
        return f"No findings in {size}."
    lines = [f"{_count(len(findings), 'finding')} in {size}."]
    places = Places(text)
    for number, finding in enumerate(findings[:MOST_FINDINGS], start=1):
        line, column = places.line_and_column(finding.offset)
        lines.append(f"{number}. Line {line}, column {column}: {finding.message}")
    if len(findings) > MOST_FINDINGS:
        lines.append(f"… and {len(findings) - MOST_FINDINGS} more.")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _findings(text: str, found: list[Sentence]) -> Iterator[Finding]:
    for look in _TEXT_CHECKS:
        yield from look(text)
    for sentence in found:
        yield from _check_sentence(sentence)


def _check_sentence(sentence: Sentence) -> Iterator[Finding]:
    count = len(sentences.words(sentence.text))
    if count > LONGEST_SENTENCE:
        yield Finding(
            offset=sentence.start,
            message=f"The sentence has {count} words; more than {LONGEST_SENTENCE} are "
            "hard to follow.",
        )
    if count < _SHORTEST_FULL_SENTENCE or _LIST_ITEM.match(sentence.text):
        return
    first = next((char for char in sentence.text[:20] if char.isalnum()), "")
    if first.islower():
        yield Finding(
            offset=sentence.start,
            message="The sentence begins with a small letter: "
            f"«{_excerpt(sentence.text)}».",
        )
    if not sentence.has_mark and not sentence.text.endswith((":", "：")):
        yield Finding(
            offset=sentence.start + len(sentence.text),
            message="The sentence has no mark at its end.",
        )


def _doubled_words(text: str) -> Iterator[Finding]:
    previous = None
    for word in _WORD.finditer(text):
        if previous is not None and _is_doubled(text, previous, word):
            yield Finding(
                offset=word.start(),
                message=f"The word «{_excerpt(word[0])}» stands twice in a row.",
            )
        previous = word


def _is_doubled(text: str, first: re.Match[str], second: re.Match[str]) -> bool:
    return (
        not second[0].isdigit()
        and first[0].casefold() == second[0].casefold()
        and text[first.end() : second.start()].isspace()
    )


def _doubled_spaces(text: str) -> Iterator[Finding]:
    for match in _DOUBLED_SPACE.finditer(text):
        yield Finding(
            offset=match.start(), message=f"There are {len(match[0])} spaces in a row."
        )


def _marks(text: str) -> Iterator[Finding]:
    for match in _SPACE_BEFORE_MARK.finditer(text):
        yield Finding(
            offset=match.start(), message=f"There is a space before «{match[0][1]}»."
        )
    for match in _NO_SPACE_AFTER_COMMA.finditer(text):
        yield Finding(
            offset=match.start(), message=f"A space is missing after «{match[0]}»."
        )
    for match in _REPEATED_MARKS.finditer(text):
        yield Finding(
            offset=match.start(), message=f"«{_excerpt(match[0])}» is repeated."
        )


def _brackets(text: str) -> Iterator[Finding]:
    opened: list[re.Match[str]] = []
    for bracket in _BRACKET.finditer(text):
        if bracket[0] not in _CLOSING:
            opened.append(bracket)
        elif _is_list_letter(text, bracket.start()):
            continue
        elif opened and _BRACKETS[opened[-1][0]] == bracket[0]:
            opened.pop()
        else:
            yield Finding(
                offset=bracket.start(),
                message=f"Nothing opens before this «{bracket[0]}».",
            )
    for bracket in opened:
        yield Finding(
            offset=bracket.start(), message=f"This «{bracket[0]}» is never closed."
        )


def _is_list_letter(text: str, offset: int) -> bool:
    """The bracket of «a)» or «1)» at the beginning of a line closes nothing."""
    before = text[max(0, offset - 12) : offset]
    line = before.rpartition("\n")[2]
    return bool(_LIST_LETTER.match(line)) and (len(line) < 12 or "\n" in before)


def _quotes(text: str) -> Iterator[Finding]:
    start = 0
    for end in [*(m.end() for m in _PARAGRAPH_END.finditer(text)), len(text)]:
        paragraph = text[start:end]
        if paragraph.count('"') % 2:
            yield Finding(
                offset=start + paragraph.rindex('"'),
                message='This «"» has no partner in its paragraph.',
            )
        start = end


def _excerpt(text: str) -> str:
    line = " ".join(text[: 2 * _LONGEST_EXCERPT].split())
    return line if len(line) <= _LONGEST_EXCERPT else line[:_LONGEST_EXCERPT] + "…"


_TEXT_CHECKS: tuple[Callable[[str], Iterator[Finding]], ...] = (
    _doubled_words,
    _doubled_spaces,
    _marks,
    _brackets,
    _quotes,
)
