"""Requests that are put together from nothing: the protocol's shape, any values in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.methods import METHODS
from tests.fuzz import inputs, judge, mutations
from tests.fuzz.inputs import Input, Names

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _is_no_canary(text: str) -> bool:
    """Hypothesis also tries the words that it finds in the code under test."""
    return not any(canary.decode() in text for canary in judge.CANARIES)


# Half surrogate pairs and U+0000 are among the characters.
TEXTS = st.text(st.characters(), max_size=8).filter(_is_no_canary) | st.sampled_from(
    ["", " ", "x" * 300]
)
NUMBERS = (
    st.integers(-2, 101)
    | st.integers()
    | st.floats(allow_nan=True)
    | st.sampled_from([2**31, 10**400, 1.0, -0.0])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)


# `one_of` takes a strategy that is named several times for one.
_IS_ODD = st.sampled_from([False] * 29 + [True])


def mostly(usual: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return _IS_ODD.flatmap(lambda is_odd: VALUES if is_odd else usual)


def members(
    required: dict[str, SearchStrategy[Any]], optional: dict[str, SearchStrategy[Any]]
) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {name: mostly(value) for name, value in required.items()},
        optional={name: mostly(value) for name, value in optional.items()}
        | {"futureField": VALUES},
    )


PARTS = st.one_of(
    members({"text": TEXTS}, {"mediaType": TEXTS, "metadata": VALUES}),
    members({"data": VALUES}, {"media_type": st.just("application/json")}),
    members(
        {"raw": st.sampled_from(["+/8=", "-_8", "AB=C", "A"])}, {"filename": TEXTS}
    ),
    members({"url": TEXTS}, {"text": st.none()}),
)


def messages(names: Names) -> SearchStrategy[Any]:
    ids = st.sampled_from([*names.tasks, *names.foreign_tasks]) | TEXTS
    return members(
        {
            "messageId": st.uuids().map(str) | TEXTS,
            "role": st.sampled_from(["ROLE_USER", "ROLE_USER", 1, "ROLE_AGENT"]),
            "parts": st.lists(PARTS, min_size=1, max_size=3),
        },
        {
            "contextId": TEXTS,
            "taskId": ids | st.none(),
            "extensions": st.lists(TEXTS, max_size=2),
            "referenceTaskIds": st.lists(ids, max_size=2),
            "metadata": st.dictionaries(TEXTS, VALUES, max_size=2),
        },
    )


def params(names: Names, method: str) -> SearchStrategy[Any]:
    if method in {"SendMessage", "SendStreamingMessage"}:
        skills = st.sampled_from(list(names.skills))
        return members(
            {
                "message": messages(names),
                "configuration": members(
                    {"returnImmediately": st.just(True)},
                    {"historyLength": NUMBERS, "acceptedOutputModes": VALUES},
                ),
            },
            {"metadata": st.fixed_dictionaries({PROFILE_EXTENSION_URI: skills})},
        )
    if method == "ListTasks":
        return members(
            {"pageSize": st.integers(-1, 6)},
            {
                "contextId": TEXTS,
                "status": st.integers(-1, 10) | st.just("TASK_STATE_WORKING"),
                "statusTimestampAfter": st.datetimes().map(
                    lambda moment: f"{moment.isoformat()}Z"
                ),
                "pageToken": TEXTS,
                "historyLength": NUMBERS,
                "includeArtifacts": st.booleans(),
            },
        )
    ids = st.sampled_from([*names.tasks, *names.foreign_tasks])
    return members({"id": ids}, {"historyLength": NUMBERS, "tenant": TEXTS})


def envelopes(names: Names) -> SearchStrategy[Any]:
    methods = [*["SendMessage", "GetTask", "ListTasks", "CancelTask"] * 4, *METHODS]
    return st.sampled_from(methods).flatmap(
        lambda method: members(
            {
                "jsonrpc": st.just("2.0"),
                "id": st.integers() | TEXTS,
                "method": st.just(method),
                "params": params(names, method),
            },
            {},
        )
    )


def bodies(names: Names) -> SearchStrategy[bytes]:
    def write(value: object, ascii_only: bool, indent: int | None) -> bytes:
        text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
        return text.encode("utf-8", "surrogatepass")

    written = st.builds(
        write, envelopes(names), st.booleans(), st.sampled_from([None, None, 1])
    )
    return _IS_ODD.flatmap(lambda is_odd: st.binary(max_size=64) if is_odd else written)


def requests(names: Names) -> SearchStrategy[Input]:
    """Authenticated, to the endpoint; what is odd is inside, or in one header."""
    headers = st.tuples(
        st.sampled_from(mutations.HEADER_NAMES), st.binary(max_size=12)
    ).filter(lambda row: row[0] != b"host")
    return st.builds(
        _request,
        st.sampled_from(list(names.tokens)),
        bodies(names),
        _IS_ODD.flatmap(
            lambda is_odd: (
                st.lists(headers, min_size=1, max_size=2) if is_odd else st.just([])
            )
        ),
    )


def _request(token: str, body: bytes, more: list[tuple[bytes, bytes]]) -> Input:
    odd = {name for name, _ in more}
    usual = tuple(row for row in inputs.real_headers(token) if row[0] not in odd)
    return Input(label="generated", headers=(*usual, *more), body=body)
