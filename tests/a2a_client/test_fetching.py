from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_client import fetching
from tests.a2a_client import cards, scripts
from tests.a2a_client.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper

    from tests.a2a_client.peer import Script

CARD = "GET /.well-known/agent-card.json"


@pytest.fixture
def elsewhere(loopback: None) -> Iterator[Peer]:
    """Another origin."""
    with Peer() as peer:
        yield peer


async def refusal_of(peer: Peer, *answers: Script, etag: str = "") -> str:
    peer.on(CARD, *answers)
    with pytest.raises(fetching.CardError) as refused:
        await fetching.fetch(peer.card_url, etag=etag)
    return str(refused.value)


async def test_gets_the_card_and_its_etag(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(peer.url))

    fetched = await fetching.fetch(peer.card_url)

    assert fetched.body
    assert b"Knows the news." in fetched.body
    assert fetched.etag.startswith('"')
    assert fetched.url == peer.card_url


async def test_asks_whether_the_card_is_as_before(peer: Peer) -> None:
    peer.on(CARD, scripts.http(304))

    fetched = await fetching.fetch(peer.card_url, etag='"1"')

    assert fetched.body is None
    assert peer.received[0].headers["if-none-match"] == '"1"'


async def test_takes_no_304_that_it_did_not_ask_for(peer: Peer) -> None:
    assert "HTTP 304" in await refusal_of(peer, scripts.http(304))


async def test_sends_no_credential(peer: Peer) -> None:
    """C2: a card is public."""
    peer.serve_card(cards.card(peer.url))

    await fetching.fetch(peer.card_url)

    assert {"authorization", "cookie"}.isdisjoint(peer.received[0].headers)


@pytest.mark.parametrize(
    "etag",
    ['"' + "e" * 200 + '"', '"é"', '"\x01"', '"\x7f"'],
    ids=["long", "latin", "control", "delete"],
)
async def test_keeps_no_etag_that_cannot_be_sent_back(peer: Peer, etag: str) -> None:
    peer.on(CARD, scripts.http(200, b"{}", {"ETag": etag}))

    assert (await fetching.fetch(peer.card_url)).etag == ""


async def test_follows_a_redirect_to_another_origin(
    peer: Peer, elsewhere: Peer
) -> None:
    """E6."""
    elsewhere.serve_card(cards.card(elsewhere.url))
    peer.on(CARD, scripts.redirect(elsewhere.card_url, 302))

    fetched = await fetching.fetch(peer.card_url)

    assert fetched.url == elsewhere.card_url


async def test_judges_where_a_redirect_leads(peer: Peer) -> None:
    """E6."""
    told = await refusal_of(peer, scripts.redirect("http://10.0.0.1/card"))

    assert "10.0.0.1" in told


async def test_gives_up_after_three_redirects(peer: Peer) -> None:
    """C2."""
    told = await refusal_of(peer, scripts.redirect("/.well-known/agent-card.json"))

    assert "3 redirects" in told
    assert peer.count(CARD) == 4


@pytest.mark.parametrize(
    ("script", "told"),
    [
        pytest.param(scripts.http(404), "no card at", id="not-found"),
        pytest.param(scripts.http(410), "/.well-known/agent-card.json", id="gone"),
        pytest.param(scripts.http(401), "wants a credential", id="unauthorized"),
        pytest.param(scripts.http(403), "wants a credential", id="forbidden"),
        pytest.param(scripts.http(503), "Try again later", id="unavailable"),
        pytest.param(scripts.http(429), "Try again later", id="busy"),
        pytest.param(scripts.http(204), "HTTP 204", id="empty"),
        pytest.param(scripts.http(302), "HTTP 302", id="redirect-to-nowhere"),
        pytest.param(scripts.html(), "web page", id="html"),
        pytest.param(scripts.http(200, b"\n <!doctype"), "web page", id="page-untyped"),
        pytest.param(scripts.endless, "larger than 1024 KiB", id="endless"),
        pytest.param(scripts.gzip_bomb(8), "larger than 1024 KiB", id="bomb"),
        pytest.param(scripts.reset, "127.0.0.1", id="reset"),
        pytest.param(scripts.half(), "127.0.0.1", id="half"),
    ],
)
async def test_every_failure_is_a_sentence(
    peer: Peer, script: Script, told: str
) -> None:
    """C2."""
    assert told in await refusal_of(peer, script)


@pytest.mark.parametrize(
    ("name", "value", "setting"),
    [
        (
            "A2A_EGRESS_REMOTE_AGENT_DENY",
            ["127.0.0.0/8"],
            "A2A_EGRESS_REMOTE_AGENT_DENY",
        ),
        (
            "A2A_EGRESS_REMOTE_AGENT_ALLOW",
            ["a.example"],
            "A2A_EGRESS_REMOTE_AGENT_ALLOW",
        ),
        ("A2A_EGRESS_ALLOW_LOOPBACK", False, "A2A_EGRESS_ALLOW_HTTP"),
    ],
)
async def test_names_the_setting_that_decides(
    peer: Peer, settings: SettingsWrapper, name: str, value: object, setting: str
) -> None:
    """C2, E2."""
    setattr(settings, name, value)

    told = await refusal_of(peer, scripts.http(200))

    assert f"(Setting: {setting}.)" in told
    assert peer.connections == 0
