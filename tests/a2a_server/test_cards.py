from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from a2a_project import __version__
from a2a_protocol import types
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.json_text import load_json
from a2a_protocol.proto_json import read
from a2a_server import cards
from a2a_server.models import Profile, ServedCard
from tests import factories
from tests.settings import BASE_URL

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db

EXTENSION_SENTENCE = (
    "Names the skill of a message: the member of this name in the request's metadata "
    "holds the skill's id."
)


def card(base_url: str = BASE_URL) -> dict[str, Any]:
    served = cards.public_card(base_url)
    read(types.AgentCard, load_json(served.body))
    shown: dict[str, Any] = json.loads(served.body)
    return shown


def test_shows_the_settings_and_the_offered_skills(profile: Profile) -> None:
    """S5, S6, S7, B080, B086."""
    Profile.objects.update(tags=["a", "b"], examples=["Say it."])
    factories.make_profile("hidden", is_public=False)

    assert card() == {
        "name": "A2A Gateway",
        "description": "Skills of this installation for registered agents.",
        "supportedInterfaces": [
            {"url": BASE_URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "version": __version__,
        "capabilities": {
            "streaming": False,
            "pushNotifications": False,
            "extendedAgentCard": False,
            "extensions": [
                {"uri": PROFILE_EXTENSION_URI, "description": EXTENSION_SENTENCE}
            ],
        },
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {
                "id": "silent",
                "name": "Silent",
                "description": "What silent does.",
                "tags": ["a", "b"],
                "examples": ["Say it."],
                "inputModes": ["text/plain", "application/json"],
                "outputModes": ["text/plain"],
            }
        ],
    }


def test_no_skill_is_an_empty_list() -> None:
    """S7."""
    assert card()["skills"] == []


def test_every_member_comes_from_its_setting(settings: SettingsWrapper) -> None:
    """S6."""
    settings.A2A_SERVER_NAME = "N"
    settings.A2A_SERVER_DESCRIPTION = "D"
    settings.A2A_SERVER_VERSION = "9"
    settings.A2A_SERVER_PROVIDER = {"organization": "O", "url": "https://o.example"}
    settings.A2A_SERVER_DOCUMENTATION_URL = "https://d.example"

    shown = card("https://other.example/a2a")

    assert (shown["name"], shown["description"], shown["version"]) == ("N", "D", "9")
    assert shown["provider"] == {"organization": "O", "url": "https://o.example"}
    assert shown["documentationUrl"] == "https://d.example"
    assert shown["supportedInterfaces"][0]["url"] == "https://other.example/a2a"


@pytest.mark.parametrize("half", ["organization", "url"])
def test_half_a_provider_is_none(settings: SettingsWrapper, half: str) -> None:
    """S6: a check reports it."""
    settings.A2A_SERVER_PROVIDER = {"organization": "", "url": ""} | {half: "x"}

    assert "provider" not in card()


def test_the_etag_is_the_contents(profile: Profile) -> None:
    """S8, B085: strong, the same in every process, another for another content."""
    first, same = cards.public_card(BASE_URL), cards.public_card(BASE_URL)
    Profile.objects.update(name="Other")
    other = cards.public_card(BASE_URL)

    assert first == same
    assert first.etag != other.etag
    assert first.etag.startswith('"')
    assert first.etag.endswith('"')


def test_last_modified_is_since_when_this_content_is_served(profile: Profile) -> None:
    """S8: the first process that sees a content sets the time, all others keep it."""
    first = cards.public_card(BASE_URL)
    earlier = first.last_modified - timedelta(hours=1)
    ServedCard.objects.update(since=earlier)
    assert cards.public_card(BASE_URL).last_modified == earlier

    Profile.objects.update(name="Other")

    assert cards.public_card(BASE_URL).last_modified >= first.last_modified


def test_each_base_url_has_its_own_history(profile: Profile) -> None:
    """S2, S8."""
    cards.public_card(BASE_URL)
    cards.public_card("https://other.example/" + "x" * 500)

    assert ServedCard.objects.count() == 2


def test_an_unchanged_card_takes_two_queries(
    profile: Profile, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S8: the skills, and since when."""
    cards.public_card(BASE_URL)

    with django_assert_num_queries(2):
        cards.public_card(BASE_URL)
