from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from a2a_server import auth, demo
from a2a_server.models import Client, Profile
from agent_runs import clock
from tests import factories

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.A2A_SERVER_BASE_URLS = ["https://gateway.example/a2a"]


def test_makes_a_client_whose_token_opens_it() -> None:
    """O1."""
    made = demo.seed()

    caller = auth.authenticate([f"Bearer {made.token}".encode()], None)

    assert caller.client_name == "demo"


def test_makes_two_skills_that_are_offered() -> None:
    """O1, S7."""
    made = demo.seed()

    profiles = Profile.objects.filter(is_public=True, clients__name="demo")
    assert {profile.skill_id for profile in profiles} == set(made.skill_ids)


def test_makes_an_account_that_may_do_everything() -> None:
    """O1."""
    made = demo.seed()

    account = User.objects.get(username=made.admin_user)
    assert account.is_superuser
    assert account.check_password(made.admin_password)


def test_the_technical_user_never_signs_in() -> None:
    demo.seed()

    user = Client.objects.get(name="demo").technical_user
    assert not user.is_superuser
    assert not user.has_usable_password()


def test_tells_the_same_when_it_is_done_again() -> None:
    """O1."""
    assert demo.seed() == demo.seed()


def test_leaves_alone_what_somebody_changed() -> None:
    demo.seed()
    Profile.objects.filter(skill_id="summary").update(is_public=False, name="Mine")

    demo.seed()

    profile = Profile.objects.get(skill_id="summary")
    assert (profile.is_public, profile.name) == (False, "Mine")


def test_issues_a_new_token_when_the_known_one_was_replaced() -> None:
    first = demo.seed()
    client = Client.objects.get(name="demo")
    auth.issue_token(client, now=clock.database_now(), by="somebody")

    second = demo.seed()

    assert second.token != first.token
    assert (first.is_token_replaced, second.is_token_replaced) == (False, True)
    assert "replaced" not in demo.file().read_text()
    caller = auth.authenticate([f"Bearer {second.token}".encode()], None)
    assert caller.client_id == client.pk


def test_never_sets_the_password_of_an_account_that_was_there() -> None:
    factories.make_user("admin", is_superuser=True)

    made = demo.seed()

    assert made.admin_password == ""
    assert User.objects.get(username="admin").check_password("admin")


def test_forgets_a_password_that_was_changed() -> None:
    demo.seed()
    account = User.objects.get(username="admin")
    account.set_password("another")
    account.save()

    assert demo.seed().admin_password == ""


def test_keeps_its_secrets_where_only_the_owner_reads() -> None:
    made = demo.seed()

    assert demo.file().stat().st_mode & 0o777 == 0o600
    assert json.loads(demo.file().read_text())["token"] == made.token


def test_starts_anew_from_a_file_that_cannot_be_read() -> None:
    demo.file().write_text("[")

    made = demo.seed()

    assert json.loads(demo.file().read_text())["token"] == made.token


def test_can_be_seeded_before_there_is_an_address(settings: Settings) -> None:
    settings.A2A_SERVER_BASE_URLS = []

    assert demo.seed().card_url == ""
