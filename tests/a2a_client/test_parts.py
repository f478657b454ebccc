from __future__ import annotations

from typing import Any

import pytest

from a2a_client import parts
from a2a_protocol import proto_json, types


def text_of(*given: dict[str, Any]) -> str:
    document = {"messageId": "m", "role": "ROLE_AGENT", "parts": list(given)}
    return parts.of_message(proto_json.read_lenient(types.Message, document)[0])


def artifact_text_of(*given: dict[str, Any]) -> str:
    document = {"artifactId": "a", "parts": list(given)}
    return parts.of_artifact(proto_json.read_lenient(types.Artifact, document)[0])


def test_the_texts_of_a_message_are_its_lines() -> None:
    assert text_of({"text": "one"}, {"text": "two"}) == "one\ntwo"


def test_the_texts_of_an_artifact_are_one_text() -> None:
    """B114."""
    chunks = ({"text": "Hel"}, {"text": "lo, "}, {"text": "world!"})

    assert artifact_text_of(*chunks) == "Hello, world!"


@pytest.mark.parametrize(
    ("part", "named"),
    [
        (
            {
                "url": "https://agent.test/r.pdf",
                "filename": "r.pdf",
                "mediaType": "application/pdf",
            },
            "[file r.pdf, application/pdf, https://agent.test/r.pdf]",
        ),
        ({"url": "https://agent.test/r"}, "[file https://agent.test/r]"),
        ({"raw": "AAEC", "filename": "a\n.bin"}, "[file a .bin, 3 bytes]"),
        ({"raw": ""}, "[file 0 bytes]"),
        ({"data": {"a": [1, "ä"]}}, '[data: {"a":[1,"ä"]}]'),
        ({"data": None}, "[data: null]"),
    ],
)
def test_other_parts_are_named(part: dict[str, Any], named: str) -> None:
    """C8."""
    assert text_of(part) == named


def test_what_is_named_stands_on_a_line_of_its_own() -> None:
    found = artifact_text_of(
        {"text": "one"}, {"data": 1}, {"data": 2}, {"text": "two"}, {"text": "three"}
    )

    assert found == "one\n[data: 1]\n[data: 2]\ntwothree"


def test_long_data_is_cut() -> None:
    found = text_of({"data": "x" * 5000})

    assert found == '[data: "' + "x" * (parts.LONGEST_DATA - 2) + "…]"


def test_a_part_of_a_kind_that_is_not_known_is_passed_over() -> None:
    """C4."""
    assert text_of({"hologram": "…"}, {"text": "seen"}) == "seen"


def test_no_message_has_no_text() -> None:
    assert parts.of_message(None) == ""
