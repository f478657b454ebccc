"""Which credential a card asks for, in words for people (C1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_client import words

if TYPE_CHECKING:
    from a2a_protocol.types import (
        AgentCard,
        HTTPAuthSecurityScheme,
        OAuth2SecurityScheme,
        SecurityRequirement,
        SecurityScheme,
    )

NOTHING: Final = "no credential"

_LONGEST_SHOWN: Final = 100
_HTTP: Final = {"bearer": "a bearer token", "basic": "a user name and a password"}
_FLOWS: Final = {
    "authorization_code": "with a sign-in by a person",
    "client_credentials": "with client credentials",
    "implicit": "with a sign-in by a person",
    "password": "with a user's password",
    "device_code": "with a sign-in on another device",
}


def required_security(card: AgentCard) -> list[str]:
    """One text for each alternative, in the card's order.

    None where nothing is asked for, or where nothing is one of the alternatives.
    """
    if not all(one.schemes for one in card.security_requirements):
        return []
    return [_alternative(card, one) for one in card.security_requirements]


def _alternative(card: AgentCard, requirement: SecurityRequirement) -> str:
    needed = [
        _scheme(name, card.security_schemes.get(name)) + _scopes(scopes.list)
        for name, scopes in requirement.schemes.items()
    ]
    return " and ".join(needed)


def _scheme(name: str, scheme: SecurityScheme | None) -> str:
    if scheme is None or scheme.kind is None:
        return f"«{_shown(name)}», which the card does not explain"
    if (key := scheme.api_key_security_scheme) is not None:
        return f"an API key in the {_shown(key.location)} «{_shown(key.name)}»"
    if (http := scheme.http_auth_security_scheme) is not None:
        return _http(http)
    if (oauth2 := scheme.oauth2_security_scheme) is not None:
        return _oauth2(oauth2)
    if scheme.open_id_connect_security_scheme is not None:
        return "a token of OpenID Connect"
    return "a client certificate"


def _http(scheme: HTTPAuthSecurityScheme) -> str:
    known = _HTTP.get(scheme.scheme.lower())
    return known or f"HTTP authentication «{_shown(scheme.scheme)}»"


def _oauth2(scheme: OAuth2SecurityScheme) -> str:
    flow = _FLOWS.get(scheme.flows.kind or "")
    return f"OAuth 2 {flow}" if flow else "OAuth 2"


def _scopes(scopes: tuple[str, ...]) -> str:
    listed = ", ".join(f"«{_shown(scope)}»" for scope in scopes)
    return f" (scopes {listed})" if listed else ""


def _shown(text: str) -> str:
    return words.one_line(text, _LONGEST_SHOWN)
