from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync

from a2a_client import credentials
from a2a_client.audit import Audit
from a2a_client.credentials import CredentialUnreadable
from a2a_client.models import CredentialKind, RemoteAgent
from agent_runs.encryption import Sealed, field_of
from tests import factories

if TYPE_CHECKING:
    from a2a_client.models import RemoteAgent as Agent

pytestmark = pytest.mark.django_db

AUDIT = Audit(purpose="test")
SECRET = "s3cret-of-the-agent"


def headers(agent: Agent) -> dict[str, str]:
    return async_to_sync(credentials.headers)(agent, audit=AUDIT)


def refusal(agent: Agent) -> str:
    with pytest.raises(CredentialUnreadable) as refused:
        headers(agent)
    assert refused.value.code == "credential"
    return refused.value.sentence


def make_agent(kind: str, name: str = "", secret: str = SECRET) -> Agent:
    return factories.make_remote_agent(
        credential_kind=kind, credential_name=name, secret=secret
    )


def test_an_agent_without_a_credential_is_sent_none() -> None:
    assert headers(factories.make_remote_agent()) == {}


def test_a_bearer_token_is_sent_as_one() -> None:
    agent = make_agent(CredentialKind.BEARER)

    assert headers(agent) == {"Authorization": f"Bearer {SECRET}"}


def test_an_api_key_has_a_header_of_its_own() -> None:
    agent = make_agent(CredentialKind.API_KEY, "X-Api-Key", "key with spaces")

    assert headers(agent) == {"X-Api-Key": "key with spaces"}


def test_a_user_name_and_a_password_are_utf_8() -> None:
    """RFC 7617 section 2.1."""
    agent = make_agent(CredentialKind.BASIC, "jürgen", "pass:wörd")

    sent = headers(agent)["Authorization"]

    scheme, _, pair = sent.partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(pair).decode() == "jürgen:pass:wörd"


@pytest.mark.parametrize(
    "secret", ["a\r\nX-Other: b", "a\nb", "a\x00b", "ключ", " a", "a ", "a" * 9000]
)
@pytest.mark.parametrize("kind", [CredentialKind.BEARER, CredentialKind.API_KEY])
def test_what_no_header_can_carry_is_refused(kind: str, secret: str) -> None:
    assert "holds what no header can carry" in refusal(
        make_agent(kind, "X-Api-Key", secret)
    )


def test_a_space_before_a_token_is_refused() -> None:
    assert "a space at an end" in refusal(make_agent(CredentialKind.BEARER, "", " a"))


@pytest.mark.parametrize("name", ["", "X Api", "X-Key:", "X-Schlüssel", "a\r\nb"])
def test_a_name_that_is_no_header_is_refused(name: str) -> None:
    assert "names no header" in refusal(make_agent(CredentialKind.API_KEY, name))


@pytest.mark.parametrize(
    "name", ["Content-Type", "accept", "A2A-Version", "User-Agent", "host"]
)
def test_a_name_that_the_request_needs_itself_is_refused(name: str) -> None:
    assert "names no header" in refusal(make_agent(CredentialKind.API_KEY, name))


@pytest.mark.parametrize(
    ("user", "password"), [("a:b", "c"), ("a\nb", "c"), ("a", "\x7f")]
)
def test_a_pair_that_cannot_be_told_apart_is_refused(user: str, password: str) -> None:
    assert "colon" in refusal(make_agent(CredentialKind.BASIC, user, password))


def test_a_credential_that_does_not_open_is_refused() -> None:
    """C3."""
    agent = make_agent(CredentialKind.BEARER)
    of_another = field_of(RemoteAgent, "credential_secret").seal(agent.pk + 1, SECRET)
    RemoteAgent.objects.update(credential_secret=of_another)

    sentence = refusal(RemoteAgent.objects.get())

    assert sentence == (
        "The credential of the agent does not open. An administrator has to enter it "
        "again."
    )


@pytest.mark.parametrize("secret", [None, ""])
def test_a_credential_that_is_missing_is_refused(secret: str | None) -> None:
    """C3: not without a name either."""
    agent = factories.make_remote_agent(credential_kind=CredentialKind.BEARER)
    agent.credential_secret = secret

    assert "is missing" in refusal(agent)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (CredentialKind.BEARER, ""),
        (CredentialKind.API_KEY, "X-Api-Key"),
        (CredentialKind.BASIC, "user"),
    ],
)
def test_its_use_is_logged_and_it_is_not(
    kind: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C3."""
    caplog.set_level(logging.INFO)
    agent = make_agent(kind, name)

    headers(agent)

    (record,) = [r for r in caplog.records if r.message == "credential sent"]
    facts: dict[str, Any] = vars(record)
    assert (facts["agent"], facts["host"]) == (agent.identifier, "agent.example")
    assert facts["purpose"] == "test"
    written = base64.b64encode(f"{name}:{SECRET}".encode()).decode()
    assert SECRET not in str(facts)
    assert written not in str(facts)


def test_every_kind_is_written() -> None:
    assert set(credentials._WRITERS) == set(CredentialKind) - {CredentialKind.NONE}


# --- Quoted ---------------------------------------------------------------------------


def test_what_a_body_quotes_is_taken_out() -> None:
    sent = {"Authorization": f"Bearer {SECRET}", "X-Key": "another-key"}
    body = f"<{SECRET}> <Bearer {SECRET}> <another-key>".encode()

    assert credentials.without(body, sent) == (
        b"<(credential)> <Bearer (credential)> <(credential)>"
    )


def test_a_pair_is_taken_out_without_its_scheme() -> None:
    sent = {"Authorization": "Basic dXNlcjpwYXNz"}

    assert credentials.without(b"<dXNlcjpwYXNz>", sent) == b"<(credential)>"


def test_a_password_is_taken_out_by_itself() -> None:
    sent = {"Authorization": "Basic " + base64.b64encode(b"user:s3cr3t:pass").decode()}

    assert (
        credentials.without(b"<user> <s3cr3t:pass>", sent) == b"<user> <(credential)>"
    )


@pytest.mark.parametrize(
    "quoted",
    [
        rb"a+b\/c\"d=12\\3",
        rb"a\u002Bb\u002fc\u0022d\u003D12\u005c3",
    ],
    ids=["backslash", "number"],
)
def test_what_json_escapes_is_taken_out(quoted: bytes) -> None:
    sent = {"X-Key": 'a+b/c"d=12\\3'}

    assert credentials.without(b"<%b>" % quoted, sent) == b"<(credential)>"


def test_a_password_in_another_script_is_taken_out() -> None:
    pair = base64.b64encode("user:geheim-söhne".encode()).decode()
    body = "<geheim-söhne> <geheim-s\\u00f6hne>".encode()

    assert credentials.without(body, {"Authorization": f"Basic {pair}"}) == (
        b"<(credential)> <(credential)>"
    )


def test_what_is_short_stands_in_bodies_by_chance() -> None:
    assert credentials.without(b'{"key": 1}', {"X-Key": "key"}) == b'{"key": 1}'


def test_a_kept_credential_is_sealed() -> None:
    make_agent(CredentialKind.BEARER)

    stored = RemoteAgent.objects.values_list("credential_secret", flat=True).get()

    assert isinstance(stored, Sealed)
    assert SECRET not in stored
