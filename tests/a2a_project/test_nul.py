"""U+0000 wherever an admin page reads what the address or a cookie says (O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib import admin
from django.urls import reverse

from tests import factories

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import Model
    from django.test import Client as Browser

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
PARAMETERS = {"q", "o", "p", "all", "e", "x", "_facets", "_popup", "_to_field"}
PARAMETERS |= {"_changelist_filters", "_preserved_filters"}


@pytest.fixture
def browser(client: Browser, superuser: User) -> Browser:
    client.force_login(superuser)
    return client


@pytest.fixture
def _rows(superuser: User) -> None:
    """Every list has a row, so that every filter has something to offer."""
    factories.make_task("working")
    factories.make_worker()
    factories.make_workspace()
    factories.make_group()


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def parameters_of(model: type[Model], page: Any) -> set[str]:
    # A page of its own making has no change list.
    shown = page.context.get("cl")
    filters = shown.filter_specs if shown else []
    offered = {name for spec in filters for name in spec.expected_parameters()}
    columns = {field.name for field in model._meta.fields}
    return PARAMETERS | offered | {f"{name}__exact" for name in columns}


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
@pytest.mark.parametrize("value", ["\0", "a\0b"])
def test_every_parameter_of_every_list_is_refused(
    browser: Browser, model: type[Model], value: str
) -> None:
    url = list_of(model)
    names = parameters_of(model, browser.get(url))

    statuses = {name: browser.get(url, {name: value}).status_code for name in names}

    assert set(statuses.values()) == {400}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
@pytest.mark.parametrize("page", ["change", "delete", "history"])
def test_every_page_of_a_record_is_refused(
    browser: Browser, model: type[Model], page: str
) -> None:
    assert browser.get(f"{list_of(model)}a%00/{page}/").status_code == 400


@pytest.mark.parametrize(
    "address",
    ["admin/%00", "admin/login/?next=%00", "admin/?%00=1", "admin/?a=b&a=%00"],
)
def test_every_address_is_refused(client: Browser, address: str) -> None:
    assert client.get(f"/{address}").status_code == 400


@pytest.mark.django_db
def test_a_cookie_that_is_unquoted_to_it_is_refused(client: Browser) -> None:
    client.cookies.load('sessionid="' + 12 * "\\000" + '"')

    assert client.get(reverse("admin:login")).status_code == 400


def test_a_text_that_only_looks_like_it_is_searched_for(browser: Browser) -> None:
    page = browser.get(list_of(MODELS[0]), {"q": "%00 \\0 _00"})

    assert page.status_code == 200


def test_a_field_of_a_form_tells_it_itself(browser: Browser) -> None:
    url = reverse("admin:agent_runs_workspace_add")

    page = browser.post(url, {"name": "a\0", "description": "", "members": []})

    assert "Null characters are not allowed" in page.content.decode()
