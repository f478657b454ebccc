from __future__ import annotations

from typing import Any

import pytest

from a2a_client.card_differences import differences
from tests.a2a_client import card_documents
from tests.a2a_client.card_documents import interface, skill

BEARER = {"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
BASIC = {"s": {"httpAuthSecurityScheme": {"scheme": "Basic"}}}
ASKED = [{"schemes": {"s": {"list": []}}}]


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return differences(card_documents.card(**old), card_documents.card(**new))


def offers(*offered: dict[str, Any]) -> dict[str, Any]:
    return {"supportedInterfaces": list(offered)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {}),
        ({"iconUrl": "https://a.test/1"}, {"iconUrl": "https://a.test/2"}),
        ({"skills": [skill("a"), skill("b")]}, {"skills": [skill("b"), skill("a")]}),
        ({"capabilities": {}}, {"capabilities": {"streaming": False}}),
    ],
)
def test_what_nobody_decides_by_is_no_difference(old: Any, new: Any) -> None:
    assert changes(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        (
            {"version": "1"},
            {"version": "2"},
            ["The version changes from «1» to «2»."],
        ),
        (
            {"name": "A", "description": "a\nb"},
            {"name": "B", "description": ""},
            [
                "The name changes from «A» to «B».",
                "The description changes from «a b» to nothing.",
            ],
        ),
        (
            {},
            {"provider": {"organization": "Org", "url": "https://org.test"}},
            ["The provider changes from nothing to «Org (https://org.test)»."],
        ),
        (
            offers(interface("https://a.test/")),
            offers(interface("https://b.test/", tenant="t")),
            [
                "New interface: «JSONRPC 1.0 at https://b.test/, tenant t».",
                "Gone interface: «JSONRPC 1.0 at https://a.test/».",
            ],
        ),
        (
            offers(interface("https://a.test/"), interface("https://b.test/")),
            offers(interface("https://b.test/"), interface("https://a.test/")),
            ["The interfaces stand in another order."],
        ),
        (
            {"skills": [skill("a"), skill("b"), skill("same")]},
            {"skills": [skill("b", name="Other"), skill("c"), skill("same")]},
            [
                "New skill: «c».",
                "Gone skill: «a».",
                "The skill «b» says something else of itself.",
            ],
        ),
        (
            {"capabilities": {"streaming": True}},
            {"capabilities": {"pushNotifications": True, "extendedAgentCard": True}},
            [
                "Gone capability: streaming.",
                "New capability: push notifications.",
                "New capability: extended agent card.",
            ],
        ),
        (
            {"capabilities": {"extensions": [{"uri": "u"}]}},
            {"capabilities": {"extensions": [{"uri": "u", "required": True}]}},
            ["New extension: «u, required».", "Gone extension: «u»."],
        ),
        (
            {},
            {"securitySchemes": BEARER, "securityRequirements": ASKED},
            ["It asked for no credential and now asks for a bearer token."],
        ),
        (
            {"securitySchemes": BEARER, "securityRequirements": ASKED * 2},
            {"securitySchemes": BASIC, "securityRequirements": ASKED},
            [
                "It asked for a bearer token or a bearer token and now asks for "
                "a user name and a password."
            ],
        ),
        (
            {"securitySchemes": BEARER},
            {"securitySchemes": BASIC},
            ["It describes its credentials in another way."],
        ),
    ],
)
def test_every_change_has_a_sentence(
    old: dict[str, Any], new: dict[str, Any], sentences: list[str]
) -> None:
    """C2."""
    assert changes(old, new) == sentences


def test_long_words_are_cut() -> None:
    [sentence] = changes({"version": "1"}, {"version": "2" * 5000})

    assert len(sentence) < 300
