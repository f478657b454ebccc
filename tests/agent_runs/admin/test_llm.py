from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.sites import AdminSite
from django.test import RequestFactory
from django.urls import reverse

from agent_runs.admin.llm import ProviderAdmin
from agent_runs.models import AnswerLevel, LLMConfiguration, Provider
from agent_runs.models.llm import ProviderKind
from tests import factories, html_forms

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client as Browser
    from pytest_django.fixtures import SettingsWrapper

URL = "https://models.example/v1"
KEY = "sk-very-secret-1234567890"
ADD = reverse("admin:agent_runs_provider_add")
LIST = reverse("admin:agent_runs_provider_changelist")


@pytest.fixture
def provider(db: None) -> Provider:
    return factories.make_provider(
        name="Models",
        kind=ProviderKind.OPENAI_COMPATIBLE,
        base_url=URL,
        api_key=KEY,
    )


def page_of(provider: Provider) -> str:
    return reverse("admin:agent_runs_provider_change", args=[provider.pk])


def stored(provider: Provider) -> Provider:
    return Provider.objects.get(pk=provider.pk)


# --- Providers ------------------------------------------------------------------------


def test_adds_a_provider_with_a_key(browser: Browser) -> None:
    """P1."""
    html_forms.save(
        browser,
        ADD,
        "provider_form",
        name="New",
        kind="openai-compatible",
        base_url=f" {URL} ",
        new_api_key=KEY,
    )

    provider = Provider.objects.get()
    assert (provider.base_url, provider.api_key) == (URL, KEY)


def test_a_new_provider_has_no_key_to_remove(
    browser: Browser, provider: Provider
) -> None:
    """P1: the page of a stored one has."""
    control = 'name="remove_api_key"'

    assert control not in browser.get(ADD).content.decode()
    assert control in browser.get(page_of(provider)).content.decode()


def test_adds_an_offline_provider_with_a_name_alone(browser: Browser) -> None:
    html_forms.save(browser, ADD, "provider_form", name="Demo", kind="offline")

    assert not Provider.objects.get().has_api_key


@pytest.mark.parametrize("page", ["list", "record", "history"])
def test_no_page_shows_the_key(browser: Browser, provider: Provider, page: str) -> None:
    """Architecture, secrets at rest."""
    html_forms.save(browser, page_of(provider), "provider_form", new_api_key=KEY + "2")
    urls = {
        "list": LIST,
        "record": page_of(provider),
        "history": reverse("admin:agent_runs_provider_history", args=[provider.pk]),
    }

    text = browser.get(urls[page]).content.decode()

    assert "very-secret" not in text
    assert vars(stored(provider))["api_key"] not in text


def test_the_pages_say_whether_a_key_is_stored(
    browser: Browser, provider: Provider
) -> None:
    factories.make_provider(name="Keyless")

    text = browser.get(LIST).content.decode()

    assert '<td class="field-key">a key is stored</td>' in text
    assert '<td class="field-key">none</td>' in text


def test_the_log_of_changes_does_not_hold_the_key(
    browser: Browser, provider: Provider
) -> None:
    """B139."""
    html_forms.save(browser, page_of(provider), "provider_form", new_api_key="sk-other")

    assert "sk-other" not in "".join(
        str(vars(entry)) for entry in LogEntry.objects.all()
    )


def test_a_form_without_a_key_keeps_the_stored_one(
    browser: Browser, provider: Provider
) -> None:
    html_forms.save(browser, page_of(provider), "provider_form", name="Renamed")

    assert stored(provider).api_key == KEY


def test_a_form_replaces_the_key(browser: Browser, provider: Provider) -> None:
    html_forms.save(browser, page_of(provider), "provider_form", new_api_key="sk-2")

    assert stored(provider).api_key == "sk-2"


def test_a_form_removes_the_key(browser: Browser, provider: Provider) -> None:
    page = html_forms.save(
        browser, page_of(provider), "provider_form", remove_api_key="on"
    )

    assert not stored(provider).has_api_key
    assert "The stored API key was removed." in html_forms.sentences(page)


def test_a_form_that_changes_the_address_removes_the_key(
    browser: Browser, provider: Provider
) -> None:
    """P1: through the form."""
    page = html_forms.save(
        browser, page_of(provider), "provider_form", base_url="https://other.example"
    )

    assert not stored(provider).has_api_key
    assert "The stored API key was removed." in html_forms.sentences(page)


def test_a_form_that_changes_the_address_takes_the_key_again(
    browser: Browser, provider: Provider
) -> None:
    """P1: the same key may be meant for it."""
    html_forms.save(
        browser,
        page_of(provider),
        "provider_form",
        base_url="https://other.example",
        new_api_key=KEY,
    )

    assert stored(provider).api_key == KEY


def test_a_list_edit_that_changes_the_address_removes_the_key(
    superuser: User, provider: Provider
) -> None:
    """P1: through a list, should a project make the address editable there."""

    class ListAdmin(ProviderAdmin):
        list_editable = ("base_url",)

    page = ListAdmin(Provider, AdminSite())
    request = RequestFactory().post("/")
    request.user = superuser
    form = page.get_changelist_form(request, fields=("base_url",))
    filled = form({"base_url": "https://other.example"}, instance=stored(provider))

    assert filled.is_valid()
    filled.save()

    assert not stored(provider).has_api_key


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("two words", id="space"),
        pytest.param("schlüssel", id="not-ascii"),
        pytest.param("a\x7fb", id="control"),
    ],
)
def test_refuses_a_key_that_no_header_carries(
    browser: Browser, provider: Provider, key: str
) -> None:
    page = html_forms.save(browser, page_of(provider), "provider_form", new_api_key=key)

    assert "visible ASCII" in html_forms.errors(page)
    assert key not in page.content.decode()
    assert stored(provider).api_key == KEY


def test_refuses_to_enter_and_remove_at_once(
    browser: Browser, provider: Provider
) -> None:
    page = html_forms.save(
        browser,
        page_of(provider),
        "provider_form",
        new_api_key="sk-2",
        remove_api_key="on",
    )

    assert "Either enter a key" in html_forms.errors(page)


@pytest.mark.parametrize("keys", [[], ["nonsense"]], ids=["none", "malformed"])
def test_says_that_there_is_no_encryption_key(
    browser: Browser, provider: Provider, settings: SettingsWrapper, keys: list[str]
) -> None:
    """R17: a sentence, not a traceback."""
    settings.A2A_ENCRYPTION_KEYS = keys

    page = html_forms.save(
        browser, page_of(provider), "provider_form", new_api_key="sk-2"
    )

    assert "A2A_ENCRYPTION_KEYS" in html_forms.errors(page)


def test_a_key_that_does_not_open_can_be_replaced(
    browser: Browser, provider: Provider, settings: SettingsWrapper
) -> None:
    """After a lost encryption key the record must still be repairable."""
    settings.A2A_ENCRYPTION_KEYS = ["b3RoZXItdGVzdHMta2V5LW9mLTMyLWJ5dGVzLWdvZXM="]

    html_forms.save(
        browser,
        page_of(provider),
        "provider_form",
        base_url="https://other.example",
        new_api_key="sk-2",
    )

    assert stored(provider).api_key == "sk-2"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"base_url": "ftp://models.example"}, "http", id="scheme"),
        pytest.param(
            {"base_url": "https://u:p@models.example"}, "user name", id="user"
        ),
        pytest.param({"base_url": ""}, "needs a base URL", id="missing"),
        pytest.param({"kind": "offline"}, "leave it empty", id="offline"),
        pytest.param({"kind": "OFFLINE"}, "valid choice", id="upper-case"),
        pytest.param({"timeout_seconds": "0"}, "greater than", id="timeout"),
        pytest.param({"max_retries": "4"}, "less than", id="retries"),
        pytest.param({"name": "   "}, "required", id="blank-name"),
    ],
)
def test_refuses_a_provider_with_a_sentence(
    browser: Browser, provider: Provider, changes: dict[str, str], field: str
) -> None:
    """P1: through the form."""
    page = html_forms.save(browser, page_of(provider), "provider_form", **changes)

    assert field in html_forms.errors(page)
    assert stored(provider).base_url == URL


def test_a_list_edit_is_judged_by_the_same_rules(browser: Browser) -> None:
    """P6: what the list does not show speaks above the row, without a traceback."""
    factories.make_provider(
        kind=ProviderKind.OPENAI_COMPATIBLE, base_url="nonsense", is_active=False
    )

    page = html_forms.save(
        browser, LIST, "changelist-form", **{"form-0-is_active": "on"}
    )

    assert "http://" in html_forms.errors(page)
    assert "http://" in page.content.decode()
    assert not Provider.objects.get().is_active


def test_a_list_edit_switches_off(browser: Browser, provider: Provider) -> None:
    """P6."""
    html_forms.save(browser, LIST, "changelist-form", **{"form-0-is_active": None})

    assert not stored(provider).is_active


# --- Configurations -------------------------------------------------------------------

ADD_CONFIGURATION = reverse("admin:agent_runs_llmconfiguration_add")


def test_adds_a_configuration(browser: Browser) -> None:
    """P2."""
    provider = factories.make_provider()
    group = factories.make_group()

    html_forms.save(
        browser,
        ADD_CONFIGURATION,
        "llmconfiguration_form",
        name="Summaries",
        identifier="summaries",
        provider=str(provider.pk),
        model_name="summary",
        allowed_groups=[str(group.pk)],
    )

    configuration = LLMConfiguration.objects.get()
    assert configuration.model_name == "summary"
    assert list(configuration.allowed_groups.all()) == [group]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"model_name": "gpt-9"}, "knows «summary»", id="model"),
        pytest.param({"max_rounds": "21"}, "less than", id="rounds"),
        pytest.param({"max_rounds": "-1"}, "greater than", id="negative"),
        pytest.param({"temperature": "nan"}, "number", id="temperature"),
        pytest.param({"identifier": "not a slug"}, "slug", id="identifier"),
        pytest.param({"provider": "nonsense"}, "valid", id="provider"),
    ],
)
def test_refuses_a_configuration_with_a_sentence(
    browser: Browser, changes: dict[str, Any], sentence: str
) -> None:
    """P2: through the form."""
    configuration = factories.make_configuration()
    url = reverse("admin:agent_runs_llmconfiguration_change", args=[configuration.pk])

    page = html_forms.save(browser, url, "llmconfiguration_form", **changes)

    assert sentence in html_forms.errors(page)


def test_a_page_shows_a_provider_whose_level_is_unknown(browser: Browser) -> None:
    """B139: a fixture may store anything."""
    provider = factories.make_provider(answer_level="everything")
    factories.make_profile(
        configuration=factories.make_configuration(provider=provider)
    )

    statuses = [browser.get(url).status_code for url in (LIST, page_of(provider))]

    assert statuses == [200, 200]
    assert provider.answer_level not in AnswerLevel.values


def test_a_configurations_page_keeps_and_changes_its_groups(browser: Browser) -> None:
    """P2."""
    configuration = factories.make_configuration()
    url = reverse("admin:agent_runs_llmconfiguration_change", args=[configuration.pk])
    kept, gone, new = (factories.make_group() for _ in range(3))
    configuration.allowed_groups.add(kept, gone)

    html_forms.save(browser, url, "llmconfiguration_form", max_rounds="6")
    untouched = set(configuration.allowed_groups.all())
    html_forms.save(
        browser,
        url,
        "llmconfiguration_form",
        allowed_groups=[str(kept.pk), str(new.pk)],
    )

    assert untouched == {kept, gone}
    assert set(configuration.allowed_groups.all()) == {kept, new}


def test_the_page_names_the_offline_models_there_are(browser: Browser) -> None:
    """P1."""
    url = reverse("admin:agent_runs_llmconfiguration_add")

    page = browser.get(url).content.decode()

    assert "Offline: «summary», «text-check», «echo»" in page
