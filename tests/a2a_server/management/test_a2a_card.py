from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection

from a2a_server import cards
from tests import factories
from tests.settings import BASE_URL

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.models import Profile

pytestmark = pytest.mark.django_db


def a2a_card(*options: str) -> tuple[str, str, int]:
    """What it prints, the sentence it ends with and its exit code."""
    output = StringIO()
    try:
        call_command("a2a_card", *options, stdout=output)
    except CommandError as error:
        return output.getvalue(), str(error), error.returncode
    return output.getvalue(), "", 0


def test_prints_the_card_as_it_is_served(profile: Profile) -> None:
    """S7."""
    served = cards.public_card(BASE_URL).body.decode()

    pretty, _, code = a2a_card()
    exact, _, _ = a2a_card("--json")

    assert code == 0
    assert exact == served + "\n"
    assert json.loads(pretty) == json.loads(served)
    assert "\n  " in pretty


def test_says_that_all_is_well(profile: Profile) -> None:
    """S7: what nobody made public is no mistake."""
    factories.make_profile("draft", is_public=False)

    output, _, code = a2a_card("--check")

    assert code == 0
    assert output == "draft: It is not public.\nsilent: on the card\n"


def test_says_why_a_public_profile_is_not_on_the_card(profile: Profile) -> None:
    """S7."""
    factories.make_profile("broken", handler="gone")

    output, sentence, code = a2a_card("--check")

    assert code == 1
    assert "broken: Its domain handler «gone» is not available." in output
    assert "silent: on the card" in output
    assert sentence == "Public, but not on the card: broken."


def test_says_the_same_to_machines(profile: Profile) -> None:
    """S7, W8."""
    factories.make_profile("broken", handler="gone")

    output, _, code = a2a_card("--check", "--json")

    assert code == 1
    assert json.loads(output) == {
        "problems": [],
        "skills": [
            {
                "id": "broken",
                "onCard": False,
                "problems": ["Its domain handler «gone» is not available."],
            },
            {"id": "silent", "onCard": True, "problems": []},
        ],
    }


@pytest.mark.parametrize("options", [[], ["--check"]], ids=str)
@pytest.mark.parametrize(
    ("name", "value"),
    [("A2A_SERVER_ENABLED", False), ("A2A_SERVER_BASE_URLS", [])],
)
def test_says_that_no_card_is_served(
    profile: Profile,
    settings: SettingsWrapper,
    options: list[str],
    name: str,
    value: object,
) -> None:
    """S1, S2."""
    setattr(settings, name, value)

    _, sentence, code = a2a_card(*options)

    assert code == 1
    assert name in sentence


def test_no_profile_at_all_is_wrong(db: None) -> None:
    """S7."""
    output, sentence, code = a2a_card("--check")

    assert (output, code) == ("There are no profiles.\n", 1)
    assert sentence == "No skill is on the card."


def test_bad_options_end_with_two(db: None) -> None:
    """W8."""
    with pytest.raises(SystemExit) as caught:
        a2a_card("--nonsense")

    assert caught.value.code == 2


@pytest.mark.parametrize("options", [[], ["--check"]], ids=str)
def test_a_store_that_is_away_is_a_sentence(options: list[str]) -> None:
    """W8: nothing of the driver's text."""

    def away(*args: object) -> None:
        raise OperationalError("server at 10.0.0.1")

    with connection.execute_wrapper(away):
        output, sentence, code = a2a_card(*options)

    assert (output, sentence, code) == ("", "The database cannot be used.", 1)
