from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_client import probing
from a2a_client.models import CredentialKind
from tests import factories
from tests.a2a_client import agents, scripts

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer, Script

pytestmark = pytest.mark.django_db


def test_an_agent_that_knows_no_such_task_is_reached(peer: Peer) -> None:
    """C3: nothing is begun there, and no message is sent."""
    peer.on("GetTask", scripts.error(-32001))

    probed = probing.probe(factories.make_remote_agent(peer.url))

    assert probed.is_good
    assert probed.sentence.startswith("«127.0.0.1» answered in ")
    assert "speaks A2A 1.0 and wants no credential for this." in probed.sentence
    assert [received.method for received in peer.received] == ["GetTask"]


def test_says_that_the_credential_was_taken(peer: Peer) -> None:
    peer.on("GetTask", scripts.error(-32001))
    agent = factories.make_remote_agent(
        peer.url, secret="s3cret", credential_kind=CredentialKind.BEARER
    )

    probed = probing.probe(agent)

    assert "took the credential" in probed.sentence
    assert peer.of("GetTask")[0].headers["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("says_so_in_json", [False, True])
def test_says_that_the_credential_was_refused(
    peer: Peer, status: int, says_so_in_json: bool
) -> None:
    error = scripts.error(-32600, status=status)
    peer.on("GetTask", error if says_so_in_json else scripts.http(status))
    agent = factories.make_remote_agent(
        peer.url, secret="s3cret", credential_kind=CredentialKind.BEARER
    )

    probed = probing.probe(agent)

    assert not probed.is_good
    assert f"It refuses the credential (HTTP {status})" in probed.sentence


def test_says_that_a_credential_is_wanted(peer: Peer) -> None:
    peer.on("GetTask", scripts.http(401))

    probed = probing.probe(factories.make_remote_agent(peer.url))

    assert "It wants a credential (HTTP 401): choose its kind" in probed.sentence


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (scripts.html(), "cannot be read"),
        (scripts.error(-32601), "The agent refused the request (error -32601)."),
        (scripts.redirect("https://elsewhere.example/"), "redirects are not followed"),
        (scripts.result(agents.task()), "claims to have a task that nobody gave it"),
        (scripts.reset, "It took "),
    ],
    ids=["html", "no such method", "redirect", "any task", "reset"],
)
def test_anything_else_is_no_success(peer: Peer, script: Script, sentence: str) -> None:
    peer.on("GetTask", script)

    probed = probing.probe(factories.make_remote_agent(peer.url))

    assert not probed.is_good
    assert sentence in probed.sentence


def test_what_was_answered_instead_is_shown_to_administrators(peer: Peer) -> None:
    peer.on("GetTask", scripts.html())

    probed = probing.probe(factories.make_remote_agent(peer.url))

    assert "text/html" in probed.detail


def test_tells_what_the_guard_refuses(peer: Peer) -> None:
    """E2: with the guard's own sentence."""
    agent = factories.make_remote_agent("https://10.0.0.1/rpc")

    probed = probing.probe(agent)

    assert not probed.is_good
    assert "10.0.0.1" in probed.sentence


def test_asks_nobody_whose_host_is_not_confirmed(peer: Peer) -> None:
    """C2."""
    agent = factories.make_remote_agent(peer.url, confirmed_origin="")

    probed = probing.probe(agent)

    assert probed.sentence.startswith("The agent was not asked. Nobody has confirmed")
    assert not peer.received
