"""An extractive summary: the sentences that share most words with the whole text.

Deterministic and the same for every language: no list of words decides, only how often
the text itself uses them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_runs.offline import sentences

if TYPE_CHECKING:
    from agent_runs.offline.sentences import Sentence

SENTENCES = 3
_LONGEST_SENTENCE = 400
_SHORTEST_KEYWORD = 5
_KEYWORDS = 5
# The first sentence of a text says what it is about more often than any other.
_FIRST_SENTENCE_BONUS = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    sentence: Sentence
    score: float
    word_count: int


def summarize(text: str) -> str:
    found = sentences.split(text)
    if not found:
        return "There is no text to summarize."
    split_words = [_content_words(sentence.text) for sentence in found]
    counts = Counter(word for words in split_words for word in words)
    scored = [
        _score(sentence, words, counts, is_first=index == 0)
        for index, (sentence, words) in enumerate(zip(found, split_words, strict=True))
    ]
    best = heapq.nsmallest(
        SENTENCES, scored, key=lambda s: (-s.score, s.sentence.start)
    )
    best.sort(key=lambda s: s.sentence.start)
    chosen = " ".join(_shorten(item.sentence.text) for item in best)
    return f"{chosen}\n\n{_facts(text, len(found), len(best), counts)}"


def _content_words(text: str) -> list[str]:
    return [word.casefold() for word in sentences.words(text)]


def _score(
    sentence: Sentence, words: list[str], counts: Counter[str], *, is_first: bool
) -> _Scored:
    """Long sentences gather more words, so the sum is divided, but not by all of them."""
    weight = sum(counts[word] for word in set(words) if len(word) >= _SHORTEST_KEYWORD)
    score = weight / (len(words) + 5)
    bonus = _FIRST_SENTENCE_BONUS if is_first else 1.0
    return _Scored(sentence=sentence, score=score * bonus, word_count=len(words))


def _shorten(text: str) -> str:
    """One line, cut at a word where there is one."""
    line = " ".join(text[: 4 * _LONGEST_SENTENCE].split())
    if len(line) <= _LONGEST_SENTENCE:
        return line
    head = line[:_LONGEST_SENTENCE]
    at_word, _, rest = head.rpartition(" ")
    return (at_word if len(rest) < _LONGEST_SENTENCE // 2 else head) + "…"


def _facts(text: str, total: int, chosen: int, counts: Counter[str]) -> str:
    facts = f"{chosen} of {total} sentences, {counts.total()} words in the text."
    repeated = ((w, n) for w, n in counts.items() if n > 1)
    keywords = heapq.nsmallest(
        _KEYWORDS,
        (item for item in repeated if len(item[0]) >= _SHORTEST_KEYWORD),
        key=lambda item: (-item[1], item[0]),
    )
    if not keywords:
        return facts
    listed = ", ".join(f"{word[:40]} ({count})" for word, count in keywords)
    return f"{facts} Most frequent: {listed}."
