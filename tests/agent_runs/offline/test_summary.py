from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runs.offline import summary

TEXT = (
    "The gateway stores every message before it runs. "
    "Cats sleep. "
    "A worker claims the stored message and runs it for the gateway. "
    "Rain fell yesterday over hills nobody visits anymore. "
    "The gateway answers when the worker has stored its message."
)


def test_takes_the_sentences_that_share_most_words() -> None:
    """P1: the offline provider's answer is computed from the text."""
    first, _, facts = summary.summarize(TEXT).partition("\n\n")

    assert first == (
        "The gateway stores every message before it runs. "
        "A worker claims the stored message and runs it for the gateway. "
        "The gateway answers when the worker has stored its message."
    )
    assert facts == (
        "3 of 5 sentences, 40 words in the text. "
        "Most frequent: gateway (3), message (3), stored (2), worker (2)."
    )


def test_the_same_text_gives_the_same_summary() -> None:
    assert summary.summarize(TEXT) == summary.summarize(TEXT)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_says_that_there_is_no_text(text: str) -> None:
    assert summary.summarize(text) == "There is no text to summarize."


def test_a_sentence_without_end_is_cut_at_a_word() -> None:
    found = summary.summarize("word " * 10_000)

    first = found.partition("\n\n")[0]
    assert first.endswith("word…")
    assert len(first) <= 401


@given(st.text())
def test_takes_any_text(text: str) -> None:
    assert summary.summarize(text)
