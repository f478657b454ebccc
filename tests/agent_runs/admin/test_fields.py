from __future__ import annotations

from typing import Any

import pytest
from django import forms

from agent_runs.admin.fields import LinesField, cut, preformatted, spent


class LinesForm(forms.Form):
    lines = LinesField(required=False)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(" \r\n \n", [], id="blank-lines"),
        pytest.param(" a \r\nb c\n\na", ["a", "b c"], id="spaces-and-repeats"),
        pytest.param("a\u2028b", ["a", "b"], id="line-separator"),
    ],
)
def test_reads_one_item_a_line(text: str, lines: list[str]) -> None:
    form = LinesForm({"lines": text})

    assert form.is_valid()
    assert form.cleaned_data["lines"] == lines


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        pytest.param(["a", "b"], "a\nb", id="list"),
        pytest.param([], "", id="empty"),
        pytest.param([1, None], "1\nNone", id="no-texts"),
        pytest.param({"a": 1}, "{&#x27;a&#x27;: 1}", id="object"),
        pytest.param("<b>", "&lt;b&gt;", id="markup"),
        pytest.param(None, "", id="null"),
    ],
)
def test_shows_what_is_stored_whatever_it_is(stored: Any, shown: str) -> None:
    """B139."""
    assert f">\n{shown}</textarea>" in str(LinesForm(initial={"lines": stored}))


@pytest.mark.parametrize(
    ("stored", "text", "is_changed"),
    [
        pytest.param(["a"], " a\n", False, id="same"),
        pytest.param(["a"], "b", True, id="other"),
        pytest.param(None, "", True, id="mends-null"),
    ],
)
def test_knows_what_was_changed(stored: Any, text: str, is_changed: bool) -> None:
    form = LinesForm({"lines": text}, initial={"lines": stored})

    assert form.has_changed() is is_changed


def test_cuts_long_text_and_says_so() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc… (1 more character)"
    assert cut("abcdef", 3) == "abc… (3 more characters)"


def test_shows_text_of_others_as_text() -> None:
    assert "&lt;script&gt;" in preformatted("<script>")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0 ms"),
        (0.0004, "0 ms"),
        (0.25, "250 ms"),
        (1, "1.0 s"),
        (59.94, "59.9 s"),
        (59.97, "1 min 0 s"),
        (3_599, "59 min 59 s"),
        (3_600, "1 h 0 min"),
        (86_399, "23 h 59 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_a_duration_has_the_units_that_fit(seconds: float, shown: str) -> None:
    assert spent(seconds) == shown
