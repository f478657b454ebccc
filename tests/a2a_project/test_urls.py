from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from django.template import defaultfilters
from django.urls import reverse

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client
    from pytest_django.fixtures import SettingsWrapper


def test_names_the_installation_on_every_page(
    client: Client, superuser: User, settings: SettingsWrapper
) -> None:
    """O2: with several installations, the first thing to know."""
    client.force_login(superuser)

    text = client.get(reverse("admin:index")).content.decode()

    assert settings.A2A_SERVER_NAME in text
    assert "Django administration" not in text
    assert "View site" not in text


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        pytest.param(
            datetime(2026, 11, 30, 9, 5, 7, tzinfo=UTC),
            "2026-11-30 09:05:07",
            id="morning",
        ),
        pytest.param(
            datetime(2026, 1, 2, 16, tzinfo=UTC), "2026-01-02 16:00:00", id="afternoon"
        ),
    ],
)
def test_writes_moments_with_seconds(moment: datetime, written: str) -> None:
    """O2: what happened within a minute can be told apart."""
    assert defaultfilters.date(moment, "DATETIME_FORMAT") == written


@pytest.mark.parametrize(
    "path", ["/", "/a2a//", "//a2a", "/A2A", "/.well-known/agent.json"]
)
def test_never_redirects_a_call_that_missed_its_address(
    client: Client, path: str
) -> None:
    """S4, B082: a redirect would lose the body, and a page of errors helps nobody."""
    answer = client.post(path, data=b"{}", content_type="application/json")

    assert answer.status_code == 404
    assert "Location" not in answer.headers


def test_leads_from_the_bare_address_to_the_admin(client: Client) -> None:
    """O2."""
    answer = client.get("/")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/")
