"""T5: pages come over real sockets from a peer on loopback, as a trial may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_runs.effects import Effect
from agent_runs.models import AgentRun
from agent_runs.tools import fetch_url
from agent_runs.tools.contract import ToolCall, ToolError
from tests.egress import peers

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from tests.egress.peers import Exchange, Peer


@pytest.fixture(autouse=True)
def _trial(settings: SettingsWrapper) -> None:
    settings.DEBUG = True
    settings.A2A_EGRESS_ALLOW_LOOPBACK = True
    settings.A2A_EGRESS_OWN_HOSTS = ["gateway.example"]


async def _fetch(url: str) -> str:
    tool = fetch_url.tool()
    arguments = tool.parameters.model_validate({"url": url})
    assert tool.execute
    result = tool.execute(ToolCall(run=AgentRun(), call_id="1", arguments=arguments))
    assert not isinstance(result, str)
    return await result


async def _refusal(url: str) -> str:
    with pytest.raises(ToolError) as refusal:
        await _fetch(url)
    return str(refusal.value)


def _url(peer: Peer, path: str = "/") -> str:
    return peer.url("127.0.0.1", path, scheme="http")


async def _page(body: bytes, content_type: str, status: bytes = b"200 OK") -> str:
    header = b"Content-Type: " + content_type.encode()
    raw = peers.with_body(body, header, status=status)
    async with peers.serving(peers.answering(raw), tls=False) as peer:
        return await _fetch(_url(peer))


def test_waits_for_an_administrator_and_is_fenced() -> None:
    """T2, T6."""
    tool = fetch_url.tool()

    assert (tool.effect, tool.group) == (Effect.READ_ONLY, "web")
    assert tool.is_outside
    assert not tool.enabled_by_default


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/plain", "grüße".encode(), "grüße"),
        ("text/plain; charset=latin-1", "grüße".encode("latin-1"), "grüße"),
        ('text/plain; charset="UTF-16"', "grüße".encode("utf-16"), "grüße"),
        ("text/plain; charset=windows-1252", "“x”".encode("cp1252"), "“x”"),
        ("text/plain", b"gr\xfc\xdfe", "gr\ufffd\ufffde"),
        ("text/plain; charset=nonsense", "ü".encode(), "ü"),
        ("text/plain; charset=hex", b"6869", "6869"),
        ("text/plain; charset=punycode", b"abc-", "abc-"),
        ("text/plain", b"\xef\xbb\xbfbom", "bom"),
        ("text/markdown", b"# head", "# head"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/ld+json", b"[]", "[]"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/atom+xml; charset=utf-8", b"<a/>", "<a/>"),
        ("Text/HTML; charset=utf-8", b"<p>one<script>two</script>", "one"),
        ("application/xhtml+xml", b"<p>one</p>", "one"),
        ("text/html", b"<script>two</script>", "The page holds no text."),
    ],
)
async def test_gives_text(content_type: str, body: bytes, expected: str) -> None:
    """T5."""
    assert await _page(body, content_type) == expected


@pytest.mark.parametrize(
    "content_type",
    ["image/png", "application/octet-stream", "application/pdf", "x", ""],
)
async def test_refuses_what_is_no_text(content_type: str) -> None:
    """T5."""
    with pytest.raises(ToolError, match="gave something that is no text"):
        await _page(b"x", content_type)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (b"404 Nope", "404 Not Found"),
        (b"503 x", "503 Service"),
        (b"599 x", "status 599"),
    ],
)
async def test_says_that_there_is_no_page(status: bytes, said: str) -> None:
    with pytest.raises(ToolError, match=f"«127.0.0.1» gave no page: {said}"):
        await _page(b"the peer's own words", "text/plain", status)


async def test_follows_a_redirect_and_reads_links_from_where_it_ended() -> None:
    """E6."""

    async def answer(exchange: Exchange) -> None:
        header = b"Content-Type: text/html"
        if b"GET /a/b " in exchange.request:
            await exchange.send(peers.with_body(b"<a href=c>go</a>", header))
        else:
            to = b"Location: /a/b"
            await exchange.send(peers.with_body(b"", to, status=b"302 Found"))

    async with peers.serving(answer, tls=False) as peer:
        assert await _fetch(_url(peer)) == f"go ({_url(peer, '/a/c')})"


async def test_a_redirect_is_judged_as_new() -> None:
    """E6."""
    to = b"Location: https://gateway.example/admin/"
    raw = peers.with_body(b"", to, status=b"302 Found")
    async with peers.serving(peers.answering(raw), tls=False) as peer:
        assert "is a host of this installation" in await _refusal(_url(peer))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://page.test/", "over https"),
        ("https://user@page.test/", "user name"),
        ("https://localhost/", "public internet"),
        ("https://10.0.0.1/", "public internet"),
        ("https://page.test:22/", "Port 22"),
        ("ftp://page.test/", "must begin with «https://»"),
    ],
)
async def test_says_what_the_guard_refuses(url: str, said: str) -> None:
    """E1, E2."""
    assert said in await _refusal(url)


async def test_follows_the_lists_of_its_own_group(settings: SettingsWrapper) -> None:
    """E1."""
    settings.A2A_EGRESS_FETCH_URL_ALLOW = ["page.test"]

    assert "«fetch_url»" in await _refusal("https://other.test/")
