from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runs import contents
from agent_runs.contents import (
    ContentsError,
    DataPart,
    FilePart,
    Output,
    Part,
    Result,
    RunInput,
    TextPart,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=5,
)
mappings = st.dictionaries(texts, values, max_size=3)
parts = st.lists(
    st.builds(TextPart, text=texts, media_type=texts)
    | st.builds(DataPart, data=values, media_type=texts)
    | st.builds(
        FilePart,
        media_type=texts,
        filename=texts,
        raw=st.none() | st.binary(max_size=20),
        url=texts,
    ),
    max_size=4,
).map(tuple)
inputs = st.builds(
    RunInput,
    parts=parts,
    skill=texts,
    message_id=texts,
    metadata=mappings,
    accepted_output_modes=st.lists(texts, max_size=3).map(tuple),
)
results = st.builds(
    Result,
    outputs=st.lists(
        st.builds(
            Output, parts=parts, name=texts, description=texts, metadata=mappings
        ),
        max_size=3,
    ).map(tuple),
    note=texts,
    message=parts,
)


@given(inputs)
def test_an_input_survives_being_stored(value: RunInput) -> None:
    assert contents.load_input(contents.dump_input(value)) == value


@given(results)
def test_a_result_survives_being_stored(value: Result) -> None:
    assert contents.load_result(contents.dump_result(value)) == value


@pytest.mark.parametrize(
    "stored", ['{"format": 2}', "{}", "[]", '"text"', "null", '{"format": "1"}']
)
def test_another_releases_format_is_not_guessed(stored: str) -> None:
    with pytest.raises(ContentsError):
        contents.load_document(stored)


def test_the_stored_form_names_its_format() -> None:
    assert json.loads(contents.dump_document({"a": 1})) == {"format": 1, "a": 1}


def test_what_json_does_not_know_is_not_stored() -> None:
    part: Part = DataPart(data=float("nan"))

    with pytest.raises(ValueError, match="JSON"):
        contents.dump_input(RunInput(parts=(part,)))


def test_the_text_of_an_input_is_that_of_its_text_parts() -> None:
    value = RunInput(
        parts=(TextPart(text="a"), DataPart(data="no"), TextPart(text="b")),
    )

    assert value.text == "a\nb"


def test_a_text_output_has_one_part() -> None:
    output = contents.text_output("a", name="n")

    assert output == Output(parts=(TextPart(text="a"),), name="n")
