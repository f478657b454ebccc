from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from agent_runs.models import AnswerLevel, LLMConfiguration, Provider
from agent_runs.models.llm import ProviderKind
from tests import factories

URL = "https://models.example/v1"
OPENAI = ProviderKind.OPENAI_COMPATIBLE


def problems_of(record: Any) -> dict[str, list[str]]:
    try:
        record.full_clean()
    except ValidationError as refusal:
        return dict(refusal.message_dict)
    return {}


# --- Addresses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "http://10.0.0.5:8080/v1",
        "http://localhost:11434",
        "HTTPS://Models.Example/v1",
        "http://[fd00::1]:8000/v1",
    ],
)
def test_takes_addresses_that_the_operator_declares(db: None, url: str) -> None:
    """P1: private addresses too."""
    assert problems_of(Provider(name="P", kind=OPENAI, base_url=url)) == {}


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("", id="missing"),
        pytest.param("models.example/v1", id="no-scheme"),
        pytest.param("ftp://models.example/v1", id="other-scheme"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("https://user@models.example/v1", id="user"),
        pytest.param("https://user:pw@models.example/v1", id="user-and-password"),
        pytest.param("https://@models.example/v1", id="empty-user"),
        pytest.param("https:///v1", id="no-host"),
        pytest.param("https://models.example:0/v1", id="port-0"),
        pytest.param("https://models.example:99999/v1", id="port-too-high"),
        pytest.param("https://models.example:x/v1", id="port-no-number"),
        pytest.param("https://[::1/v1", id="half-a-bracket"),
        pytest.param("https://models.example/a b", id="space"),
        pytest.param("https://models.example/\r\nX: y", id="line-break"),
        pytest.param("https://models.example/v1?key=1", id="query"),
        pytest.param("https://models.example/v1#top", id="fragment"),
    ],
)
def test_refuses_addresses_that_cannot_be_called(db: None, url: str) -> None:
    """P1."""
    problems = problems_of(Provider(name="P", kind=OPENAI, base_url=url))

    assert list(problems) == ["base_url"]


def test_drops_white_space_around_an_address(db: None) -> None:
    provider = Provider(name="P", kind=OPENAI, base_url=f"  {URL}\n")

    provider.full_clean()

    assert provider.base_url == URL


def test_refuses_an_address_for_an_offline_provider(db: None) -> None:
    """P1."""
    provider = Provider(name="P", kind=ProviderKind.OFFLINE, base_url=URL)

    assert problems_of(provider) == {
        "base_url": ["An offline provider has no base URL; leave it empty."]
    }


def test_says_that_a_kind_needs_an_extra_package(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    problems = problems_of(Provider(name="P", kind=ProviderKind.ANTHROPIC))

    assert "a2a-gateway[anthropic]" in problems["kind"][0]


def test_leaves_an_unknown_kind_to_the_choices(db: None) -> None:
    problems = problems_of(Provider(name="P", kind="OFFLINE"))

    assert list(problems) == ["kind"]


def test_saves_a_narrowing_of_a_provider_that_is_wrong_already(db: None) -> None:
    """P6: what an `update` broke stops nobody from switching it off."""
    provider = factories.make_provider(kind=OPENAI, base_url="nonsense")
    provider.is_active = False
    provider.answer_level = AnswerLevel.NONE

    assert problems_of(provider) == {}


def test_judges_the_address_when_a_provider_is_switched_on(db: None) -> None:
    """P6."""
    provider = factories.make_provider(
        kind=OPENAI, base_url="nonsense", is_active=False
    )
    provider.is_active = True

    assert list(problems_of(provider)) == ["base_url"]


# --- The key --------------------------------------------------------------------------


@pytest.fixture
def provider(db: None) -> Provider:
    return factories.make_provider(kind=OPENAI, base_url=URL, api_key="sk-first")


def stored(provider: Provider) -> Provider:
    return Provider.objects.get(pk=provider.pk)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"base_url": "https://elsewhere.example/v1"}, id="address"),
        pytest.param({"kind": ProviderKind.OFFLINE, "base_url": ""}, id="kind"),
        pytest.param({"base_url": URL.upper()}, id="letter-case"),
    ],
)
def test_a_save_that_changes_the_address_drops_the_key(
    provider: Provider, changes: dict[str, str]
) -> None:
    """P1: in a shell as anywhere."""
    again = stored(provider)
    for name, value in changes.items():
        setattr(again, name, value)

    again.save()

    assert not stored(provider).has_api_key


def test_a_save_of_one_column_drops_the_key_with_it(provider: Provider) -> None:
    """P1."""
    again = stored(provider)
    again.base_url = "https://elsewhere.example/v1"

    again.save(update_fields=["base_url"])

    assert not stored(provider).has_api_key


def test_the_old_key_does_not_follow_although_it_was_read(provider: Provider) -> None:
    """P1."""
    again = stored(provider)
    assert again.api_key == "sk-first"
    again.base_url = "https://elsewhere.example/v1"

    again.save()

    assert not stored(provider).has_api_key


def test_a_row_read_without_its_key_drops_it_too(provider: Provider) -> None:
    """P1."""
    again = Provider.objects.defer("api_key").get(pk=provider.pk)
    again.base_url = "https://elsewhere.example/v1"

    again.save()

    assert not stored(provider).has_api_key


def test_a_new_key_comes_with_the_new_address(provider: Provider) -> None:
    """P1."""
    again = stored(provider)
    again.base_url = "https://elsewhere.example/v1"
    again.api_key = "sk-second"

    again.save()

    assert stored(provider).api_key == "sk-second"


def test_the_same_key_may_be_entered_for_the_new_address(provider: Provider) -> None:
    """P1."""
    again = stored(provider)
    again.base_url = "https://elsewhere.example/v1"
    again.enter_key("sk-first")

    again.save()

    assert stored(provider).api_key == "sk-first"


def test_any_other_save_keeps_the_key(provider: Provider) -> None:
    again = stored(provider)
    again.name, again.timeout_seconds = "Other name", 5

    again.save()

    assert stored(provider).api_key == "sk-first"


def test_a_new_provider_keeps_its_key(db: None) -> None:
    provider = Provider.objects.create(
        name="P", kind=OPENAI, base_url=URL, api_key="sk-new"
    )

    assert stored(provider).api_key == "sk-new"


# --- Configurations -------------------------------------------------------------------


def test_refuses_an_offline_model_that_does_not_exist(db: None) -> None:
    """P1."""
    provider = factories.make_provider(name="Demo")
    configuration = LLMConfiguration(
        identifier="c", name="C", provider=provider, model_name="gpt-9"
    )

    problems = problems_of(configuration)

    assert "«Demo»" in problems["model_name"][0]


def test_takes_any_model_name_of_another_provider(db: None) -> None:
    provider = factories.make_provider(kind=OPENAI, base_url=URL)
    configuration = LLMConfiguration(
        identifier="c", name="C", provider=provider, model_name="gpt-9"
    )

    assert problems_of(configuration) == {}


def test_a_configuration_without_a_provider_is_refused_by_its_field(db: None) -> None:
    configuration = LLMConfiguration(identifier="c", name="C", model_name="echo")

    assert list(problems_of(configuration)) == ["provider"]


def test_switches_off_a_configuration_that_is_wrong_already(db: None) -> None:
    """P6."""
    configuration = factories.make_configuration(model_name="gpt-9")
    configuration.is_active = False

    assert problems_of(configuration) == {}
