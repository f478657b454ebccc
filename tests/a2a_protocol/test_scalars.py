from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_protocol import scalars
from a2a_protocol.types import Role, TaskState

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue

read_state = scalars.enum_reader(TaskState)


def refused(reader: scalars.Reader, value: JSONValue) -> bool:
    try:
        reader(value)
    except scalars.BadValueError as error:
        return bool(error.description)
    return False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("+/8=", b"\xfb\xff", id="standard, padded"),
        pytest.param("+/8", b"\xfb\xff", id="standard, not padded"),
        pytest.param("-_8=", b"\xfb\xff", id="URL-safe, padded"),
        pytest.param("-_8", b"\xfb\xff", id="URL-safe, not padded"),
        pytest.param("-w", b"\xfb", id="one letter of the URL-safe alphabet"),
        pytest.param("_w", b"\xff", id="the other one"),
        pytest.param("QQ==", b"A", id="two pads"),
        pytest.param("", b"", id="empty"),
        pytest.param("QUI", b"AB", id="one pad missing"),
        pytest.param("QQ", b"A", id="two pads missing"),
        pytest.param("QUJD", b"ABC", id="no pad needed"),
    ],
)
def test_reads_bytes_in_either_alphabet(text: str, value: bytes) -> None:
    """S13, B028."""
    assert scalars.read_bytes(text) == value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("+/ 8=", id="blank inside"),
        pytest.param("@@@@", id="not base64"),
        pytest.param("A", id="a single character"),
        pytest.param("AB=C", id="pad inside"),
        pytest.param("+_8=", id="both alphabets at once"),
        pytest.param("QUI==", id="too many pads"),
        pytest.param("QQ=", id="too few pads"),
        pytest.param("QUJD====", id="pads that pad nothing"),
        pytest.param("====", id="pads only"),
        pytest.param("QUJD\n", id="line break"),
        pytest.param("ÄÄÄÄ", id="letters of another alphabet"),
        pytest.param(5, id="number"),
        pytest.param(["QQ"], id="list"),
    ],
)
def test_refuses_bytes_that_are_junk(value: JSONValue) -> None:
    """S13, B028."""
    assert refused(scalars.read_bytes, value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0),
        (7, 7),
        (-1, -1),
        (1.0, 1),
        ("50", 50),
        ("-1", -1),
        ("1.0", 1),
        ("1e2", 100),
        ("1E+2", 100),
        (1e2, 100),
        (2147483647, 2147483647),
        (-2147483648, -2147483648),
        ("2147483647", 2147483647),
    ],
)
def test_reads_whole_numbers(value: JSONValue, number: int) -> None:
    """S13."""
    read = scalars.read_int32(value)

    assert (read, type(read)) == (number, int)


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        True,
        False,
        2147483648,
        -2147483649,
        10**400,
        float("inf"),
        float("-inf"),
        "1.5",
        "",
        " 5",
        "5 ",
        "007",
        "+5",
        "0x10",
        "5_0",
        "٣",
        "NaN",
        "Infinity",
        "1e999",
        "9" * 5000,
        "2147483648",
        [],
        {},
    ],
)
def test_refuses_what_is_no_int32(value: JSONValue) -> None:
    """S13."""
    assert refused(scalars.read_int32, value)


@pytest.mark.parametrize(
    ("value", "state"),
    [
        pytest.param("TASK_STATE_COMPLETED", TaskState.TASK_STATE_COMPLETED, id="name"),
        pytest.param(3, TaskState.TASK_STATE_COMPLETED, id="number"),
        pytest.param(3.0, TaskState.TASK_STATE_COMPLETED, id="number as a double"),
        pytest.param(0, TaskState.TASK_STATE_UNSPECIFIED, id="zero"),
    ],
)
def test_reads_enum_names_and_numbers(value: JSONValue, state: TaskState) -> None:
    """S13, B025."""
    assert read_state(value) is state


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("completed", id="0.3"),
        pytest.param("input-required", id="older prose"),
        pytest.param("task_state_completed", id="lower case"),
        pytest.param("TASK_STATE_CANCELLED", id="two Ls"),
        pytest.param("3", id="number in a string"),
        pytest.param(9, id="unknown number"),
        pytest.param(-1, id="negative"),
        pytest.param(1.5, id="no whole number"),
        pytest.param(float("inf"), id="infinite"),
        pytest.param(10**400, id="huge"),
        pytest.param(True, id="true is not 1"),
        pytest.param(["TASK_STATE_COMPLETED"], id="list"),
    ],
)
def test_refuses_unknown_enum_values(value: JSONValue) -> None:
    """S13, B025. Prose against proto: enum spelling."""
    assert refused(read_state, value)


def test_names_the_enum_values_that_it_takes() -> None:
    with pytest.raises(scalars.UnknownEnumError) as caught:
        scalars.enum_reader(Role)("user")

    assert caught.value.description == "One of ROLE_USER, ROLE_AGENT is needed here."


def test_reads_unrecognized_as_unset() -> None:
    """S13: what the JavaScript SDK writes for an enum that was not set."""
    with pytest.raises(scalars.UnsetEnumError):
        scalars.enum_reader(Role)("UNRECOGNIZED")


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (scalars.read_string, 5),
        (scalars.read_string, True),
        (scalars.read_string, ["a"]),
        (scalars.read_string, "a\x00"),
        (scalars.read_string, "\ud800"),
        (scalars.read_bool, "true"),
        (scalars.read_bool, 1),
        (scalars.read_bool, 0),
        (scalars.read_struct, []),
        (scalars.read_struct, "a"),
        (scalars.read_timestamp, 1767323045),
        (scalars.read_timestamp, "2026-01-02"),
    ],
)
def test_refuses_other_types(reader: scalars.Reader, value: JSONValue) -> None:
    """S13, B026, B031."""
    assert refused(reader, value)


def test_writes_bytes_in_the_standard_alphabet_with_padding() -> None:
    """S13, B028."""
    assert scalars.write_bytes(b"\xfb\xff") == "+/8="
