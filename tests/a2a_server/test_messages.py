from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_protocol import types
from a2a_protocol.proto_json import read
from a2a_server import messages
from tests.a2a_server.calling import make_message

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


def fingerprint(metadata: dict[str, Any] | None = None, **members: Any) -> str:
    message = make_message(messageId="m") | members
    request = read(types.SendMessageRequest, {"message": message, "metadata": metadata})
    return messages.fingerprint(request)


def test_the_same_content_has_the_same_fingerprint() -> None:
    """S47: in whichever order and spelling it came."""
    plain = fingerprint({"a": 1, "b": 2}, contextId="c")

    assert plain == fingerprint({"b": 2, "a": 1}, context_id="c", role=1)


def test_other_content_has_another() -> None:
    """S47: text, ids and metadata all count."""
    assert (
        len(
            {
                fingerprint(),
                fingerprint(parts=[{"text": "other"}]),
                fingerprint(parts=[{"data": "hi"}]),
                fingerprint(contextId="c"),
                fingerprint({"a": 1}),
                fingerprint(metadata={"a": 2}),
            }
        )
        == 6
    )


def test_a_fingerprint_tells_nothing_without_the_key(
    settings: SettingsWrapper,
) -> None:
    """S47: short texts could be guessed from a plain hash."""
    before = fingerprint()
    settings.SECRET_KEY = "another"

    assert fingerprint() != before
