"""What an administrator enters before a client can call: the whole of it, by clicking."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.browser.pages import Browser

CLIENT = "planner"
SKILL = "minutes"
OFFLINE = "Offline (deterministic, for demonstrations)"
HANDLER = "Text to text, by a language model (uses a model)"


def publish(browser: Browser) -> None:
    _add_model(browser)
    _add_skill(browser)
    _add_client(browser)


def _add_model(browser: Browser) -> None:
    _add(browser, "Providers", {"Name": "In house", "Kind": OFFLINE})
    configuration = {
        "Name": "Short summaries",
        "Identifier": "short",
        "Provider": "In house",
        "Model name": "summary",
    }
    _add(browser, "LLM configurations", configuration)


def _add_skill(browser: Browser) -> None:
    profile = {
        "Skill id": SKILL,
        "Name": "Minutes",
        "Public": True,
        "Description": "Shortens the minutes of a meeting.",
        "Tags": "text\nmeetings",
        "Examples": "Shorten: The meeting began late.",
        "Domain handler": HANDLER,
        "LLM configuration": "Short summaries",
    }
    _add(browser, "A2A publication profiles", profile)


def _add_client(browser: Browser) -> None:
    # With «Disabled» there is no password: it acts for a client and never signs in.
    _add(browser, "Users", {"Username": "planner-agent", "Disabled": True})
    browser.start_adding("A2A clients")
    browser.fill({"Name": CLIENT, "Technical user": "planner-agent", "Enabled": True})
    browser.choose("grants-0-profile", "Minutes (minutes)")
    browser.press("Save")
    _assert_saved(browser)


def _add(browser: Browser, title: str, values: dict[str, str | bool]) -> None:
    browser.add(title, values)
    _assert_saved(browser)


def _assert_saved(browser: Browser) -> None:
    assert "successfully" in " ".join(browser.messages()), browser.text()
