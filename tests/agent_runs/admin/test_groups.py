"""A configuration's groups on their own page (P2, P5): none left would mean everyone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Group
from django.db.models import ProtectedError
from django.urls import reverse

from agent_runs import availability
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser

GROUPS = reverse("admin:auth_group_changelist")
REFUSAL = (
    "«insiders» is not deleted: it is still used by 2 LLM configurations. Take it from "
    "their allowed groups first; a configuration without any is open to everyone."
)


@pytest.fixture
def insiders(db: None) -> Group:
    """The only group of two configurations."""
    group = factories.make_group("insiders")
    for _ in range(2):
        factories.make_configuration().allowed_groups.add(group)
    return group


def page_of(group: Group, page: str = "delete") -> str:
    return reverse(f"admin:auth_group_{page}", args=[group.pk])


def test_a_group_that_a_configuration_names_is_not_deleted(insiders: Group) -> None:
    """P2: in the shell; with the group gone, everyone might use the configuration."""
    configuration = factories.make_configuration()
    configuration.allowed_groups.add(insiders)

    with pytest.raises(ProtectedError):
        insiders.delete()
    with pytest.raises(ProtectedError):
        Group.objects.filter(pk=insiders.pk).delete()

    assert not availability.user_may_use(configuration, factories.make_user())


def test_its_page_says_who_uses_it(browser: Browser, insiders: Group) -> None:
    """P5: before anybody confirms, and afterwards."""
    asked = browser.get(page_of(insiders), follow=True)
    confirmed = browser.post(page_of(insiders), {"post": "yes"}, follow=True)

    assert html_forms.sentences(asked) == [REFUSAL]
    assert html_forms.sentences(confirmed) == [REFUSAL]
    assert Group.objects.filter(pk=insiders.pk).exists()


def test_the_action_says_who_uses_it(browser: Browser, insiders: Group) -> None:
    """P5."""
    free = factories.make_group()
    chosen = {
        "action": "delete_selected",
        "_selected_action": [insiders.pk, free.pk],
        "post": "yes",
    }

    page = browser.post(GROUPS, chosen, follow=True)

    assert html_forms.sentences(page) == [REFUSAL]
    assert Group.objects.count() == 2


def test_a_group_that_nobody_names_is_deleted(browser: Browser) -> None:
    group = factories.make_group()

    browser.post(page_of(group), {"post": "yes"})

    assert not Group.objects.exists()


def test_who_may_not_delete_groups_is_told_nothing_of_them(
    browser_of: Callable[..., Browser], insiders: Group
) -> None:
    reader = browser_of("auth.view_group")

    page = reader.get(page_of(insiders))

    assert page.status_code == 403


def test_a_group_is_edited_as_before(browser: Browser, insiders: Group) -> None:
    """Django's own page, with its permissions."""
    page = html_forms.save(
        browser, page_of(insiders, "change"), "group_form", name="people"
    )

    insiders.refresh_from_db()
    assert insiders.name == "people"
    assert page.status_code == 200


def test_a_group_is_free_when_its_configurations_are_gone(insiders: Group) -> None:
    for allowance in insiders.configuration_allowances.all():
        allowance.configuration.delete()

    insiders.delete()

    assert not Group.objects.exists()
