"""Each rule once for what it refuses and once for what it lets pass (C1, P6)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.exceptions import ValidationError
from pydantic import BaseModel

from a2a_client import rules
from a2a_client.models import RemoteAgent
from agent_runs.effects import Effect
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool
from tests import factories
from tests.a2a_client import cards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper

    from agent_runs.tools.contract import ToolCall

pytestmark = pytest.mark.django_db

CARD_URL = "https://agent.example/card"


class NoParameters(BaseModel):
    pass


async def _execute(call: ToolCall) -> str:
    return ""


@pytest.fixture
def _a_tool_of_that_name() -> Iterator[None]:
    def tools() -> list[Tool]:
        tool = Tool(
            name="a2a_taken",
            description="taken",
            parameters=NoParameters,
            effect=Effect.READ_ONLY,
            execute=_execute,
        )
        return [tool]

    registry.register_provider(tools)

    yield

    registry.unregister_provider(tools)


def problems_of(record: Any) -> dict[str, list[str]]:
    try:
        record.full_clean()
    except ValidationError as refusal:
        return dict(refusal.message_dict)
    return {}


def new_agent(**values: Any) -> RemoteAgent:
    defaults = {"identifier": "desk", "name": "Desk", "card_url": CARD_URL}
    return RemoteAgent(**defaults | values)


def changed(record: RemoteAgent, **values: Any) -> RemoteAgent:
    for name, value in values.items():
        setattr(record, name, value)
    return record


def test_takes_a_usual_agent() -> None:
    assert problems_of(new_agent()) == {}


# --- Names ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["  ", "\u200b", "\u2800 \u200b"])
def test_refuses_a_name_that_nobody_sees(name: str) -> None:
    assert list(problems_of(new_agent(name=name))) == ["name"]


@pytest.mark.usefixtures("_a_tool_of_that_name")
def test_refuses_the_name_of_another_tool() -> None:
    """C5."""
    problems = problems_of(new_agent(identifier="taken"))

    assert "«a2a_taken»" in problems["identifier"][0]
    assert problems_of(new_agent(identifier="free")) == {}


@pytest.mark.usefixtures("_a_tool_of_that_name")
def test_an_identifier_that_an_agent_has_is_told_once() -> None:
    factories.make_remote_agent(identifier="taken")

    problems = problems_of(new_agent(identifier="taken"))

    assert len(problems["identifier"]) == 1


@pytest.mark.usefixtures("_a_tool_of_that_name")
def test_an_agent_keeps_an_identifier_that_another_tool_took_later() -> None:
    """P6."""
    agent = factories.make_remote_agent(identifier="taken")

    assert problems_of(changed(agent, name="Other")) == {}


# --- Addresses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://agent.example/card", id="http"),
        pytest.param("https://user@agent.example/card", id="userinfo"),
        pytest.param("https://192.168.0.1/card", id="private"),
        pytest.param("https://gateway.example/card", id="own-host"),
        pytest.param("agent.example/card", id="no-scheme"),
    ],
)
def test_refuses_a_card_url_that_the_guard_refuses(url: str) -> None:
    """E2."""
    assert list(problems_of(new_agent(card_url=url))) == ["card_url"]


def test_judges_the_card_url_again_when_it_is_enabled(
    settings: SettingsWrapper,
) -> None:
    agent = factories.make_remote_agent(is_enabled=False)
    settings.A2A_EGRESS_REMOTE_AGENT_DENY = ["agent.example"]

    assert problems_of(changed(agent, description="x")) == {}
    assert list(problems_of(changed(agent, is_enabled=True))) == ["card_url"]


@pytest.mark.parametrize(
    ("kind", "url"),
    [("oauth2", ""), ("oauth2", "http://agent.example/token"), ("bearer", CARD_URL)],
)
def test_refuses_a_token_url_that_does_not_fit(kind: str, url: str) -> None:
    """C1."""
    name = "client" if kind == "oauth2" else ""
    agent = new_agent(credential_kind=kind, credential_name=name, token_url=url)

    assert list(problems_of(agent)) == ["token_url"]


def test_takes_a_token_url_for_oauth2() -> None:
    url = "https://login.example/token"
    agent = new_agent(credential_kind="oauth2", credential_name="me", token_url=url)

    assert problems_of(agent) == {}


def test_judges_the_token_url_again_when_it_is_enabled(
    settings: SettingsWrapper,
) -> None:
    agent = factories.make_remote_agent(
        credential_kind="oauth2",
        credential_name="me",
        token_url="https://login.example/token",
        secret="word",
        is_enabled=False,
    )
    settings.A2A_EGRESS_REMOTE_AGENT_DENY = ["login.example"]

    assert problems_of(changed(agent, description="x")) == {}
    assert list(problems_of(changed(agent, is_enabled=True))) == ["token_url"]


# --- The credential -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("none", "X-Key"),
        ("bearer", "X-Key"),
        ("api_key", ""),
        ("api_key", "  "),
        ("api_key", "X Key"),
        ("api_key", "X-Key:"),
        ("api_key", "Schlüssel"),
        ("api_key", "Authorization"),
        ("api_key", "host"),
        ("api_key", "Content-Type"),
        ("api_key", "Transfer-Encoding"),
        ("api_key", "A2A-Version"),
        ("api_key", "Proxy-Authorization"),
        ("basic", ""),
        ("basic", "me:you"),
        ("basic", "me\u200b"),
        ("oauth2", ""),
    ],
)
def test_refuses_a_credentials_name_that_does_not_fit(kind: str, name: str) -> None:
    """C1."""
    url = "https://login.example/token" if kind == "oauth2" else ""
    agent = new_agent(credential_kind=kind, credential_name=name, token_url=url)

    assert list(problems_of(agent)) == ["credential_name"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("none", ""),
        ("bearer", ""),
        ("api_key", "X-API-Key"),
        ("api_key", "Hostess"),
        ("basic", "Änne Muster"),
    ],
)
def test_takes_a_credentials_name_that_fits(kind: str, name: str) -> None:
    assert problems_of(new_agent(credential_kind=kind, credential_name=name)) == {}


@pytest.mark.parametrize(
    ("kind", "scopes"),
    [("bearer", "read"), ("oauth2", "read  write"), ("oauth2", 'a"b'), ("oauth2", "ä")],
)
def test_refuses_scopes_that_do_not_fit(kind: str, scopes: str) -> None:
    is_oauth2 = kind == "oauth2"
    agent = new_agent(
        credential_kind=kind,
        credential_name="me" if is_oauth2 else "",
        token_url="https://login.example/token" if is_oauth2 else "",
        scopes=scopes,
    )

    assert list(problems_of(agent)) == ["scopes"]


def test_takes_scopes_for_oauth2() -> None:
    agent = new_agent(
        credential_kind="oauth2",
        credential_name="me",
        token_url="https://login.example/token",
        scopes="read https://agent.example/.default",
    )

    assert problems_of(agent) == {}


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("none", "word"),
        ("bearer", ""),
        ("bearer", "two\nlines"),
        ("bearer", " word"),
        ("api_key", "wörd"),
        ("basic", "word\r\n"),
        ("oauth2", "wo\0rd"),
    ],
)
def test_refuses_a_secret_that_cannot_be_sent(kind: str, secret: str) -> None:
    """C3."""
    problem = rules.secret_problem(kind, secret)

    assert problem
    assert not secret.strip() or secret not in problem


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("bearer", "a b-c_d.e="),
        ("api_key", "k"),
        ("basic", "pässword "),
        ("oauth2", "ß"),
    ],
)
def test_takes_a_secret_that_can_be_sent(kind: str, secret: str) -> None:
    assert rules.secret_problem(kind, secret) is None


# --- Enabling -------------------------------------------------------------------------


def test_a_new_agent_cannot_be_enabled() -> None:
    """C2: its card was not imported."""
    problems = problems_of(new_agent(is_enabled=True))

    assert list(problems) == ["is_enabled"]
    assert "import its card" in problems["is_enabled"][0]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"interface_url": "", "confirmed_origin": ""}, "import its card"),
        ({"confirmed_origin": ""}, "Nobody has confirmed"),
        ({"confirmed_origin": "https://other.example"}, "Nobody has confirmed"),
        ({"credential_kind": "bearer"}, "credential has to be entered"),
    ],
    ids=["no-card", "unconfirmed", "moved", "no-secret"],
)
def test_enabling_needs_a_card_a_confirmation_and_a_secret(
    columns: dict[str, str], told: str
) -> None:
    """C1, C2."""
    agent = factories.make_remote_agent(is_enabled=False, **columns)

    problems = problems_of(changed(agent, is_enabled=True))

    assert told in problems["is_enabled"][0]


def test_enables_an_agent_that_can_be_called() -> None:
    agent = factories.make_remote_agent(
        is_enabled=False, credential_kind="bearer", secret="word"
    )

    assert problems_of(changed(agent, is_enabled=True)) == {}


@pytest.mark.parametrize(
    "values",
    [{"card_url": "https://new.example/card"}, {"credential_kind": "bearer"}],
    ids=lambda values: next(iter(values)),
)
def test_enabling_does_not_count_on_what_the_same_save_forgets(
    values: dict[str, str],
) -> None:
    """P1."""
    agent = factories.make_remote_agent(
        is_enabled=False,
        credential_kind="api_key",
        credential_name="X-Key",
        secret="word",
    )

    changed(agent, is_enabled=True, **values)
    if agent.credential_kind == "bearer":
        agent.credential_name = ""

    assert list(problems_of(agent)) == ["is_enabled"]


def test_a_secret_that_is_entered_with_the_change_counts() -> None:
    agent = factories.make_remote_agent(is_enabled=False)
    changed(agent, is_enabled=True, credential_kind="bearer")

    agent.enter_secret("word")

    assert problems_of(agent) == {}


def test_switching_off_always_succeeds(settings: SettingsWrapper) -> None:
    """P6: whatever is wrong by then."""
    agent = factories.make_remote_agent(
        credential_kind="api_key",
        credential_name="Host",
        scopes="read",
        confirmed_origin="",
        allowed_skills=["gone"],
        token_url="http://127.0.0.1",
    )
    settings.A2A_EGRESS_REMOTE_AGENT_DENY = ["agent.example"]

    assert problems_of(changed(agent, is_enabled=False)) == {}


# --- Skills ---------------------------------------------------------------------------


def agent_with_skills(**values: Any) -> RemoteAgent:
    card = json.dumps(cards.card("https://agent.example/rpc"))
    return factories.make_remote_agent(card=card, **values)


def test_allows_skills_of_the_card_only() -> None:
    """C1."""
    agent = agent_with_skills()

    assert problems_of(changed(agent, allowed_skills=["news"])) == {}
    problems = problems_of(changed(agent, allowed_skills=["news", "weather"]))

    assert "«weather»" in problems["allowed_skills"][0]
    assert "«news»" not in problems["allowed_skills"][0]


@pytest.mark.parametrize("skills", ["news", {"news": 1}, [1], [""]])
def test_refuses_skills_that_are_no_list_of_ids(skills: Any) -> None:
    problems = problems_of(changed(agent_with_skills(), allowed_skills=skills))

    assert list(problems) == ["allowed_skills"]


def test_taking_a_skill_away_always_succeeds() -> None:
    """P6: also where another one is not on the card any more."""
    agent = agent_with_skills(allowed_skills=["news", "gone"])

    assert problems_of(changed(agent, allowed_skills=["gone"])) == {}


def test_a_new_agent_has_no_card_to_take_skills_from() -> None:
    assert list(problems_of(new_agent(allowed_skills=["news"]))) == ["allowed_skills"]
