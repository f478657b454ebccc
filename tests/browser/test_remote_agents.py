"""From a card's address to an agent that runs may be handed to, by clicking (C1, C2).

The whole is done twice, the second time in a browser that runs no JavaScript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.a2a_client import cards, scripts

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer
    from tests.browser.pages import Browser
    from tests.processes import Installation

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize(
        "has_javascript",
        [True, False],
        ids=["javascript", "no-javascript"],
        indirect=True,
        scope="module",
    ),
]

LIST = "Remote agents"
LONG = "An agent that knows the news of the whole world, " + "and-much-more-" * 30


def register(browser: Browser, agent: Peer, name: str) -> None:
    """As far as the page that imports the card."""
    agent.serve_card(cards.card(agent.url, name=name, description=LONG))
    browser.add(
        LIST,
        {
            "Name": name,
            "Identifier": name.lower().replace(" ", "_"),
            "Card URL": agent.card_url,
        },
    )
    assert browser.messages()[-1] == "Next, import its card."


def test_registers_imports_enables_and_probes_an_agent(
    registrar: Browser, remote_agent: Peer
) -> None:
    """C2: the card is asked for when somebody presses the button, not before."""
    asked_before = len(remote_agent.received)
    register(registrar, remote_agent, "News desk")
    assert len(remote_agent.received) == asked_before

    registrar.press("Fetch the card")
    assert remote_agent.url in registrar.text("#store_form")
    assert registrar.column("Skill", inside="#store_form") == ["news"]
    registrar.press("Store it")
    assert registrar.messages() == [
        "The card was stored.",
        "What is left: The agent is not enabled.",
    ]
    registrar.fill({"Enabled": True})
    registrar.press("Save")
    registrar.open_record(LIST, "News desk")
    registrar.press("Probe")

    [told] = registrar.messages()
    assert "«127.0.0.2» answered in" in told
    assert "it speaks A2A 1.0 and wants no credential for this." in told


def test_another_host_is_confirmed_by_name(
    registrar: Browser, remote_agent: Peer
) -> None:
    """C2: and the confirmation is taken back."""
    register(registrar, remote_agent, "Moving desk")
    registrar.press("Fetch the card")
    registrar.press("Store it")
    there = f"http://127.0.0.3:{remote_agent.port}"
    moved = cards.card(f"{there}/rpc", name="Moving desk", version="2.0")
    remote_agent.serve_card(moved)

    registrar.follow("Import the card")
    registrar.press("Fetch the card")
    differences = "\n".join(registrar.texts("#differences li"))
    assert "2.0" in differences
    assert f"The interface in use becomes {there}/rpc." in differences
    registrar.press("Store it")
    registrar.press(f"Confirm {there}")
    assert registrar.messages()[0] == f"Its interface may be at {there}."

    registrar.follow("Import the card")
    registrar.press("Forget the confirmation")
    assert "nothing is sent to the agent" in registrar.messages()[0]
    registrar.press("Fetch the card")
    registrar.fill({f"Its interface may be at {there}": True})
    registrar.press("Store it")
    assert registrar.messages()[1] == f"Its interface may be at {there}."


def test_a_secret_is_entered_and_not_shown(
    registrar: Browser, remote_agent: Peer
) -> None:
    """P1."""
    register(registrar, remote_agent, "Closed desk")
    registrar.press("Fetch the card")
    registrar.press("Store it")
    secret = "s3cret-of-the-desk"
    registrar.fill({"Credential": "Bearer token", "Secret": secret})
    registrar.secrets.add(secret)

    registrar.press("Save and continue editing")

    assert registrar.shown("Stored secret") == "a secret is stored"
    registrar.open_list(LIST)
    assert "Bearer token" in registrar.column("Credential")


def test_what_is_no_card_is_told_where_it_was_fetched(
    registrar: Browser, remote_agent: Peer
) -> None:
    register(registrar, remote_agent, "Lost desk")
    remote_agent.on("GET /.well-known/agent-card.json", scripts.html())

    registrar.press("Fetch the card")

    [told] = registrar.messages()
    assert "is a web page, not a card" in told
    assert registrar.has_button("Fetch the card")


def test_an_unknown_outcome_is_looked_up(
    registrar: Browser, remote_agent: Peer, registry: Installation
) -> None:
    """C7: the message is sent once, whatever is asked afterwards."""
    register(registrar, remote_agent, "Silent desk")
    registrar.press("Fetch the card")
    registrar.press("Store it")
    registrar.fill({"Enabled": True})
    registrar.press("Save")
    sent_before = remote_agent.count("SendMessage")
    remote_agent.on("SendMessage", scripts.reset)
    registrar.open_list("Remote calls")
    assert "No call yet." in registrar.text()
    registry.manage("a2a_agent_call", "silent_desk", "Look into it.", check=False)
    remote_agent.on("ListTasks", scripts.result({"tasks": []}))

    registrar.open_list(LIST)
    assert "look it up among its calls" in registrar.text("#result_list")
    registrar.open_list("Remote calls")
    registrar.follow_first("#result_list th a")
    assert "The message is not sent again." in registrar.shown("State")
    assert registrar.shown("What was handed over") == "Look into it."
    assert registrar.shown("Its answer") == "-"
    registrar.press("Look it up")

    [told] = registrar.messages()
    assert told.startswith("The agent knows no task of this call")
    assert registrar.shown("Found") == told
    assert remote_agent.count("SendMessage") == sent_before + 1
