"""What holds for every message and for every string of bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_protocol import json_text, jsonrpc, plans, proto_json, scalars, sse, types
from a2a_protocol.errors import ProtocolError
from a2a_protocol.methods import METHODS
from a2a_protocol.types import SendMessageRequest, WireModel
from a2a_protocol.types.wire import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

# A slow machine is no reason to fail.
thorough = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12
)
FILLED = TEXTS.map(lambda text: f"x{text}")
PRINTABLE = TEXTS.filter(str.isprintable)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)
# The wire carries milliseconds.
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
MODELS = [
    kind
    for kind in (getattr(types, name) for name in types.__all__)
    if isinstance(kind, type)
    and issubclass(kind, WireModel)
    and plans.plan_of(kind).fields
]
REQUESTS = sorted(
    {row.request_type for row in METHODS.values()}, key=lambda m: m.__name__
)


def models(model: type[WireModel]) -> st.SearchStrategy[WireModel]:
    plan = plans.plan_of(model)
    free = [field for field in plan.fields if not field.oneof]
    required = {f.name: members(model, f) for f in free if f.required}
    optional = {f.name: members(model, f) for f in free if not f.required}
    rest = st.fixed_dictionaries(required, optional=optional)
    if not plan.oneof:
        return rest.map(lambda found: model(**found))
    choices = [
        st.fixed_dictionaries({field.name: members(model, field)})
        for field in plan.oneof
    ]
    return st.builds(lambda one, more: model(**one, **more), st.one_of(choices), rest)


def members(model: type[WireModel], field: plans.Field) -> st.SearchStrategy[Any]:
    marks = model.model_fields[field.name].metadata
    rule = next((mark for mark in marks if isinstance(mark, Rule)), Rule())
    one = values(field.kind, rule, required=field.required)
    if field.shape == "list":
        return st.lists(one, min_size=int(rule.filled), max_size=2).map(tuple)
    if field.shape == "map":
        return st.dictionaries(TEXTS, one, max_size=2)
    return one


def values(kind: plans.Kind, rule: Rule, *, required: bool) -> st.SearchStrategy[Any]:
    if kind.message is not None:
        return models(kind.message)
    if isinstance(kind.zero, StrEnum):
        states = list(scalars.ENUM_NUMBERS[type(kind.zero)].values())
        return st.sampled_from(states[int(required) :])
    low = -(2**31) if rule.minimum is None else rule.minimum
    high = 2**31 - 1 if rule.maximum is None else rule.maximum
    texts = PRINTABLE if rule.printable else FILLED if rule.filled else TEXTS
    return {
        "string": texts,
        "bytes": st.binary(max_size=9),
        "bool": st.booleans(),
        "int32": st.integers(low, high),
        "google.protobuf.Timestamp": MOMENTS,
        "google.protobuf.Struct": st.dictionaries(TEXTS, VALUES, max_size=3),
        "google.protobuf.Value": VALUES,
    }[kind.proto_name]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_is_written_is_read_again(model: type[WireModel]) -> None:
    """S13."""

    @settings(thorough, max_examples=25)
    @given(models(model))
    def check(value: WireModel) -> None:
        text = proto_json.write_text(value)
        again = json_text.load_json(text.encode())

        assert proto_json.read(model, again) == value
        assert proto_json.read_lenient(model, again) == (value, ())

    check()


def only_protocol_errors(call: Callable[[], object]) -> None:
    try:
        call()
    except ProtocolError as error:
        # Whatever was refused can be said.
        jsonrpc.error_bytes(None, error)


def handle(body: bytes) -> None:
    request = jsonrpc.parse_request(body)
    params = jsonrpc.params_object(request)
    for model in REQUESTS:
        only_protocol_errors(lambda model=model: proto_json.read(model, params))  # type: ignore[misc]


SAMPLE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": -0,
        "method": "SendMessage",
        "params": {
            "id": "t",
            "taskId": "t",
            "url": "u",
            "pageSize": "5",
            "statusTimestampAfter": "2026-01-02T03:04:05.678+02:00",
            "message": {
                "messageId": "m\u00e4",
                "role": 1,
                "parts": [{"text": "\U0001f600"}, {"raw": "-_8"}, {"data": 1e300}],
                "metadata": {"x": [1, {"y": None}]},
            },
            "configuration": {"historyLength": 0, "returnImmediately": True},
        },
    }
).encode()
SPLICES = st.sampled_from(
    [
        b"",
        b"NaN",
        b"1e999",
        b"9" * 5000,
        b'"\\ud800"',
        b"\\u0000",
        b"\x00",
        b"\xff",
        b"null",
        b"true",
        b"[",
        b"{",
        b"[" * 70,
        b'{"a":' * 2000,
        b'"id":1,',
        b"-0",
        b'"',
        b"}",
        b"]",
        b",",
        b":",
    ]
)
CUTS = st.integers(0, len(SAMPLE))


@thorough
@given(st.binary(max_size=200))
def test_no_bytes_bring_the_readers_down(body: bytes) -> None:
    """S15."""
    only_protocol_errors(lambda: json_text.load_json(body))
    only_protocol_errors(lambda: handle(body))


@settings(thorough, max_examples=600)
@given(st.lists(st.tuples(CUTS, st.integers(0, 12), SPLICES), min_size=1, max_size=3))
def test_no_damaged_request_brings_the_readers_down(
    edits: list[tuple[int, int, bytes]],
) -> None:
    """S15."""
    body = SAMPLE
    for at, removed, added in edits:
        body = body[:at] + added + body[at + removed :]

    only_protocol_errors(lambda: json_text.load_json(body))
    only_protocol_errors(lambda: handle(body))


@pytest.mark.parametrize("at", range(len(SAMPLE)))
def test_no_truncated_request_is_read(at: int) -> None:
    """S15, B001."""
    with pytest.raises(ProtocolError):
        jsonrpc.parse_request(SAMPLE[:at])


JSON_BODIES = VALUES | st.dictionaries(
    st.sampled_from(
        sorted({name for model in MODELS for name in plans.plan_of(model).by_name})
    ),
    VALUES,
    max_size=6,
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_json_value_brings_the_readers_down(model: type[WireModel]) -> None:
    """S15, C4."""

    @settings(thorough, max_examples=30)
    @given(JSON_BODIES)
    def check(value: Any) -> None:
        only_protocol_errors(lambda: proto_json.read(model, value))
        only_protocol_errors(lambda: proto_json.read_lenient(model, value))

    check()


def paths_into(value: Any) -> list[tuple[str | int, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    paths: list[tuple[str | int, ...]] = []
    for step, inner in steps:
        paths.append((step,))
        if isinstance(inner, (dict, list)):
            paths += [(step, *deeper) for deeper in paths_into(inner)]
    return paths


PARAMS = json.loads(SAMPLE)["params"]


@pytest.mark.parametrize(
    "path", paths_into(PARAMS), ids=lambda path: ".".join(map(str, path))
)
@pytest.mark.parametrize(
    "wrong", [None, True, -7, 1.5, "", "\x00", [], [None], {}, {"a": {}}], ids=repr
)
def test_no_wrong_type_brings_the_readers_down(
    path: tuple[Any, ...], wrong: Any
) -> None:
    """S13, B003, B026."""
    params = json.loads(json.dumps(PARAMS))
    place = params
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong

    only_protocol_errors(lambda: proto_json.read(SendMessageRequest, params))
    only_protocol_errors(lambda: proto_json.read_lenient(SendMessageRequest, params))


@thorough
@given(st.lists(st.binary(max_size=30), max_size=6))
def test_no_stream_brings_the_parser_down(chunks: list[bytes]) -> None:
    parser = sse.EventParser(max_event_bytes=50)

    only_protocol_errors(lambda: [parser.feed(chunk) for chunk in chunks])


@thorough
@given(st.lists(TEXTS.filter(bool), max_size=5), st.integers(1, 9))
def test_every_event_arrives_however_it_is_cut(texts: list[str], size: int) -> None:
    """E8."""
    stream = b"".join(sse.encode_event(json_text.dump_json(text)) for text in texts)
    parser = sse.EventParser()

    events = [
        event
        for at in range(0, len(stream), size)
        for event in parser.feed(stream[at : at + size])
    ]

    assert [json.loads(event.data) for event in events] == texts


@thorough
@given(st.datetimes(timezones=st.timezones()))
def test_a_written_moment_is_read_again_to_the_millisecond(moment: datetime) -> None:
    try:
        written = proto_json.format_timestamp(moment)
    except ProtocolError:
        return

    read = proto_json.parse_timestamp(written)

    assert 0 <= (moment - read).total_seconds() < 0.001
