from __future__ import annotations

from typing import Any

import pytest

from a2a_client import dialects, interfaces
from a2a_client.interfaces import Interface, NoInterface
from a2a_protocol.errors import ProtocolError
from tests.a2a_client import card_documents
from tests.a2a_client.card_documents import RPC, interface


def chosen(*offered: dict[str, Any]) -> Interface:
    return interfaces.choose(card_documents.card(*offered), card_documents.URL)


def refusal(*offered: dict[str, Any]) -> str:
    card, _ = interfaces.read_card(card_documents.document(*offered))
    with pytest.raises(NoInterface) as caught:
        interfaces.choose(card, card_documents.URL)
    return str(caught.value)


# --- Reading --------------------------------------------------------------------------


def test_a_card_is_read_with_notes_on_what_was_passed_over() -> None:
    """C2: unknown members are ignored."""
    document = card_documents.document(interface(), new=1, iconUrl=5)

    card, notes = interfaces.read_card(document)

    assert card.name == "Translator"
    assert [note.partition(":")[0] for note in notes] == ["iconUrl"]


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[]", b"\xff", b'{"a":1,'])
def test_what_is_no_card_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        interfaces.read_card(body)


# --- Choosing -------------------------------------------------------------------------


def test_everything_that_may_be_chosen_is_spoken() -> None:
    """C2."""
    pairs = {
        (binding, version)
        for version, bindings in interfaces.SPOKEN
        for binding in bindings
    }

    assert pairs == set(dialects.DIALECTS)


def test_the_first_interface_that_is_spoken_is_used() -> None:
    """C2, B117: in the card's order, whatever stands before it."""
    offered = [
        interface("https://agent.test/grpc", "GRPC"),
        interface("https://agent.test/old", "JSONRPC", "0.3"),
        interface("https://agent.test/rest", "HTTP+JSON"),
        interface("https://agent.test/next", "JSONRPC", "2.0"),
        interface("https://agent.test/one", tenant="t1"),
        interface("https://agent.test/two"),
    ]

    assert chosen(*offered) == Interface(
        url="https://agent.test/one", binding="JSONRPC", version="1.0", tenant="t1"
    )


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "1.0.17", "1", " 1.0 "])
def test_a_patch_number_does_not_count(version: str) -> None:
    """B117."""
    assert chosen(interface(version=version)).version == "1.0"


@pytest.mark.parametrize(
    "version",
    ["", "0.3", "0.3.0", "1.1", "2.0", "10", "v1.0", "1.0-rc", "1.0.0.0", "1.", "١.٠"],
)
def test_another_version_is_not_taken_for_this_one(version: str) -> None:
    """B117."""
    assert "This client speaks JSONRPC 1.0." in refusal(interface(version=version))


@pytest.mark.parametrize("binding", ["jsonrpc", " JSONRPC", "JsonRpc"])
def test_a_binding_may_be_spelled_carelessly(binding: str) -> None:
    assert chosen(interface(binding=binding)).binding == "JSONRPC"


@pytest.mark.parametrize(
    "url",
    [
        "https://agent.test",
        "https://agent.test/",
        "https://Agent.test:443//a/../b?x=%7e&&y",
        "http://0.0.0.0:8000/",
        "https://other.test/rpc",
        "http://169.254.169.254/",
        "HTTPS://agent.test/rpc",
    ],
)
def test_a_whole_url_is_used_as_it_is_written(url: str) -> None:
    """B117: no slash comes or goes; where it may lead is for the guard to say."""
    assert chosen(interface(url)).url == url


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("/rpc", "https://agent.test/rpc"),
        ("rpc", "https://agent.test/team/a/.well-known/rpc"),
        ("../rpc", "https://agent.test/team/a/rpc"),
        ("//other.test/rpc", "https://other.test/rpc"),
        ("?x=1", "https://agent.test/team/a/.well-known/agent-card.json?x=1"),
    ],
)
def test_a_relative_url_starts_from_the_card(url: str, whole: str) -> None:
    """B117."""
    assert chosen(interface(url)).url == whole


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "has no URL"),
        ("https://agent.test/a b", "has a character in its URL"),
        (" https://agent.test/", "has a character in its URL"),
        ("https://agent.test/\n", "has a character in its URL"),
        ("https://agent.test\\@other.test/", "has a character in its URL"),
        ("https://ägent.test/", "has a character in its URL"),
        ("https://[::1/", "has a URL that cannot be read"),
        ("ftp://agent.test/", "has a URL that is not one of http or https"),
        ("file:///etc/passwd", "has a URL that is not one of http or https"),
        ("agent.test:8000/rpc", "has a URL that is not one of http or https"),
        ("javascript:1", "has a URL that is not one of http or https"),
        ("https:rpc", "has a URL that is not one of http or https"),
        ("https:///rpc", "has a URL that is not one of http or https"),
        ("https://user@agent.test/", "has a user name in its URL"),
        ("https://user:word@agent.test/", "has a user name in its URL"),
        ("//user@agent.test/", "has a user name in its URL"),
        ("https://agent.test/#a", "has a fragment in its URL"),
        ("https://agent.test/#", "has a fragment in its URL"),
        ("#a", "has a fragment in its URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, problem: str) -> None:
    """B117."""
    sentence = refusal(interface(url))

    assert sentence.startswith("The card's interface cannot be used: JSONRPC 1.0 ")
    assert problem in sentence


def test_an_interface_that_cannot_be_used_leaves_it_to_the_next() -> None:
    assert chosen(interface("ftp://agent.test/"), interface()).url == RPC


def test_a_card_without_interfaces_says_so() -> None:
    assert refusal() == (
        "The card offers no interface of protocol 1.0. This client speaks JSONRPC 1.0."
    )


def test_a_refusal_says_what_is_offered() -> None:
    """C2."""
    offered = [
        interface(binding="GRPC"),
        interface(version="0.3"),
        interface(binding="", version=""),
        interface(binding="x\n" * 200),
    ]

    assert refusal(*offered) == (
        "The card offers GRPC 1.0, JSONRPC 0.3, a binding without a name without a "
        f"version, {'x ' * 49}x… 1.0. This client speaks JSONRPC 1.0."
    )


def test_a_refusal_is_short_however_much_is_offered() -> None:
    sentence = refusal(*[interface(binding="GRPC")] * 12)

    assert sentence.count("GRPC 1.0") == 10
    assert " and 2 more. " in sentence
    assert refusal(*[interface("")] * 12).count("has no URL") == 10
