from __future__ import annotations

import json
from typing import Any

import pytest

from a2a_client import extensions
from a2a_client.extensions import ExtensionNeeded
from a2a_protocol.cards import PROFILE_EXTENSION_URI

OTHER = "https://other.example/x"


def card(*declared: Any) -> str:
    return json.dumps({"capabilities": {"extensions": declared}})


@pytest.mark.parametrize("is_required", [True, False, None])
def test_what_is_known_and_declared_is_activated_once(is_required: bool | None) -> None:
    ours = {"uri": PROFILE_EXTENSION_URI, "required": is_required}

    found = extensions.to_activate(card({"uri": OTHER}, ours, ours))

    assert found == (PROFILE_EXTENSION_URI,)


def test_what_is_required_and_unknown_is_named() -> None:
    ours = {"uri": PROFILE_EXTENSION_URI, "required": True}
    needed = {"uri": OTHER, "required": True}

    with pytest.raises(ExtensionNeeded) as refused:
        extensions.to_activate(card(ours, needed))

    assert refused.value.uri == OTHER


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"capabilities": null}',
        '{"capabilities": {"extensions": {"uri": "x", "required": true}}}',
        card(
            None, "x", {}, {"uri": 5, "required": True}, {"uri": "", "required": True}
        ),
        card({"uri": OTHER}, {"uri": OTHER, "required": "yes"}),
    ],
)
def test_a_card_may_declare_none(stored: str) -> None:
    """C4."""
    assert extensions.to_activate(stored) == ()
