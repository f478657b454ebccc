from __future__ import annotations

from agent_runs import rewriting
from agent_runs.contents import DataPart, FilePart, JSONValue, Output, Result, TextPart
from agent_runs.rewriting import Changes

RESULT = Result(
    outputs=(
        Output(
            parts=(
                TextPart(text="t", media_type="text/x"),
                DataPart(data={"d": 1}),
                FilePart(media_type="m", filename="f", raw=b"r", url="u"),
                FilePart(media_type="m", url="u"),
            ),
            name="n",
            description="d",
            metadata={"m": 1},
        ),
    ),
    note="o",
    message=(TextPart(text="s"),),
)


def upper(text: str) -> str:
    return text.upper()


def boxed(value: JSONValue) -> JSONValue:
    return {"was": value}


def test_every_text_of_a_result_is_changed() -> None:
    changed = rewriting.rewrite_result(
        RESULT, Changes(text=upper, value=boxed, raw=bytes.upper)
    )

    assert changed == Result(
        outputs=(
            Output(
                parts=(
                    TextPart(text="T", media_type="text/x"),
                    DataPart(data={"was": {"d": 1}}),
                    FilePart(media_type="m", filename="F", raw=b"R", url="U"),
                    FilePart(media_type="m", filename="", url="U"),
                ),
                name="N",
                description="D",
                metadata={"was": {"m": 1}},
            ),
        ),
        note="O",
        message=(TextPart(text="S"),),
    )


def test_bytes_stay_where_nothing_is_said_about_them() -> None:
    changed = rewriting.rewrite_result(RESULT, Changes(text=upper, value=boxed))

    assert changed.outputs[0].parts[2] == FilePart(
        media_type="m", filename="F", raw=b"r", url="U"
    )


def test_metadata_that_a_change_makes_unreadable_is_dropped() -> None:
    changed = rewriting.rewrite_result(
        RESULT, Changes(text=upper, value=lambda _: None)
    )

    assert changed.outputs[0].metadata == {}
