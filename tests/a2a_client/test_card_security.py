from __future__ import annotations

from typing import Any

import pytest

from a2a_client.card_security import required_security
from tests.a2a_client import card_documents


def asked(*requirements: dict[str, Any], **schemes: Any) -> list[str]:
    """Each requirement: the scopes by the name of a scheme."""
    listed = [
        {"schemes": {name: {"list": scopes} for name, scopes in one.items()}}
        for one in requirements
    ]
    card = card_documents.card(securitySchemes=schemes, securityRequirements=listed)
    return required_security(card)


def oauth2(flow: str) -> dict[str, Any]:
    return {"oauth2SecurityScheme": {"flows": {flow: {"scopes": {}}} if flow else {}}}


BEARER = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
API_KEY = {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        (BEARER, "a bearer token"),
        (
            {"httpAuthSecurityScheme": {"scheme": "basic"}},
            "a user name and a password",
        ),
        (
            {"httpAuthSecurityScheme": {"scheme": "Digest\n"}},
            "HTTP authentication «Digest»",
        ),
        (API_KEY, "an API key in the header «X-Key»"),
        (oauth2("clientCredentials"), "OAuth 2 with client credentials"),
        (oauth2("authorizationCode"), "OAuth 2 with a sign-in by a person"),
        (oauth2("implicit"), "OAuth 2 with a sign-in by a person"),
        (oauth2("password"), "OAuth 2 with a user's password"),
        (oauth2("deviceCode"), "OAuth 2 with a sign-in on another device"),
        (oauth2(""), "OAuth 2"),
        (
            {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://x.test"}},
            "a token of OpenID Connect",
        ),
        ({"mtlsSecurityScheme": {}}, "a client certificate"),
        ({"newScheme": {}}, "«s», which the card does not explain"),
        (None, "«s», which the card does not explain"),
    ],
)
def test_a_scheme_is_told_in_words(scheme: Any, words: str) -> None:
    assert asked({"s": []}, s=scheme) == [words]


def test_alternatives_are_told_one_by_one() -> None:
    assert asked({"a": [], "b": []}, {"b": ["read", "write"]}, a=API_KEY, b=BEARER) == [
        "an API key in the header «X-Key» and a bearer token",
        "a bearer token (scopes «read», «write»)",
    ]


def test_a_card_that_asks_for_nothing_has_none() -> None:
    assert asked(a=BEARER) == []


def test_what_may_be_left_away_is_not_required() -> None:
    assert asked({"a": []}, {}, a=BEARER) == []
