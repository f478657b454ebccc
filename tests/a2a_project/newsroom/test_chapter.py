from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User

from a2a_project.newsroom.models import Article, Section
from a2a_server import demo
from a2a_server.models import Client, ClientProfile, Profile, TaskState
from agent_runs.models import LLMConfiguration, ToolSetting, Workspace
from agent_runs.models.llm import ProviderKind
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

ALL = ("summary", "text-check", "article")


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.A2A_SERVER_BASE_URLS = ["https://gateway.example/a2a"]


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch) -> Client:
    """The client as a release without a newsroom made it."""
    with monkeypatch.context() as patch:
        patch.setattr(demo, "_chapters", [])
        demo.seed()
    return Client.objects.get(name=demo.CLIENT)


# --- A new installation ---------------------------------------------------------------


def test_makes_a_writing_skill_that_the_client_may_call() -> None:
    """O1, P4."""
    made = demo.seed()

    client = Client.objects.get(name=demo.CLIENT)
    profile = client.profiles.get(skill_id="article")
    assert made.skill_ids == ALL
    assert (profile.may_write, profile.is_public) == (True, True)
    assert client.workspace == Workspace.objects.get(name="Newsroom")


def test_makes_records_that_pass_every_rule() -> None:
    """P6."""
    demo.seed()

    client = Client.objects.get(name=demo.CLIENT)
    for record in (client, *Profile.objects.all(), *LLMConfiguration.objects.all()):
        record.full_clean()
    assert (Section.objects.count(), Article.objects.count()) == (3, 2)


def test_the_technical_user_may_add_articles_and_no_more() -> None:
    """T3, T4."""
    demo.seed()

    user = User.objects.get(username=demo.TECHNICAL_USER)
    assert user.get_all_permissions() == {
        "newsroom.add_article",
        "newsroom.view_article",
        "newsroom.view_section",
    }


def test_enables_the_tools_that_an_administrator_said_nothing_about() -> None:
    """T2."""
    ToolSetting.objects.create(name="draft_record", enabled=False)

    demo.seed()

    enabled = dict(ToolSetting.objects.values_list("name", "enabled"))
    assert enabled == {"ask_choice": True, "draft_record": False}


# --- Again ----------------------------------------------------------------------------


def test_does_nothing_when_it_is_done_again() -> None:
    first = demo.seed()

    assert demo.seed() == first
    assert (Section.objects.count(), Article.objects.count()) == (3, 2)


def _take_permission() -> None:
    User.objects.get(username=demo.TECHNICAL_USER).user_permissions.clear()


def _take_skill() -> None:
    ClientProfile.objects.filter(profile__skill_id="article").delete()


def _take_workspace() -> None:
    _take_skill()
    Client.objects.update(workspace=None)


def _delete_skill() -> None:
    _take_workspace()
    Profile.objects.filter(skill_id="article").delete()


def _hide_skill() -> None:
    Profile.objects.filter(skill_id="article").update(is_public=False)


@pytest.mark.parametrize(
    ("change", "skill_ids"),
    [
        (_take_permission, ALL),
        (Article.objects.all().delete, ALL),
        (Section.objects.filter(name="Politics").delete, ALL),
        (ToolSetting.objects.all().delete, ALL),
        (_take_skill, ALL[:2]),
        (_take_workspace, ALL[:2]),
        (_delete_skill, ALL[:2]),
        (_hide_skill, ALL[:2]),
    ],
)
def test_what_people_took_away_stays_away(
    change: Callable[[], object], skill_ids: tuple[str, ...]
) -> None:
    demo.seed()
    change()
    before = _state()

    made = demo.seed()

    assert _state() == before
    assert made.skill_ids == skill_ids


def _state() -> list[Any]:
    client = Client.objects.get(name=demo.CLIENT)
    return [
        client.workspace,
        sorted(client.profiles.values_list("skill_id", "is_public")),
        sorted(client.technical_user.get_all_permissions()),
        (Section.objects.count(), Article.objects.count()),
        ToolSetting.objects.count(),
    ]


# --- What an earlier release left -----------------------------------------------------


@pytest.mark.usefixtures("earlier")
def test_a_client_that_nobody_touched_is_given_the_skill() -> None:
    assert demo.seed().skill_ids == ALL


def _with_workspace(client: Client) -> None:
    client.workspace = factories.make_workspace("Newsroom")
    client.save()


def _with_own_user(client: Client) -> None:
    client.technical_user = factories.make_user("mine")
    client.save()


def _with_own_skill(client: Client) -> None:
    ClientProfile.objects.create(client=client, profile=factories.make_profile())


def _switched_off(client: Client) -> None:
    client.is_enabled = False
    client.save()


def _with_open_task(client: Client) -> None:
    profile = Profile.objects.get(skill_id="summary")
    factories.make_task(TaskState.SUBMITTED, client=client, profile=profile)


def _with_another_provider(client: Client) -> None:
    provider = LLMConfiguration.objects.get(identifier="demo-summary").provider
    provider.kind = ProviderKind.OPENAI_COMPATIBLE
    provider.save()


@pytest.mark.parametrize(
    "touch",
    [
        *(_with_workspace, _with_own_user, _with_own_skill, _switched_off),
        *(_with_open_task, _with_another_provider),
    ],
)
def test_a_client_that_somebody_touched_is_left_alone(
    earlier: Client, touch: Callable[[Client], None]
) -> None:
    touch(earlier)
    before = _state()

    made = demo.seed()

    assert made.skill_ids == ALL[:2]
    assert _state() == before


def test_a_skill_of_the_same_name_stays_its_owners() -> None:
    factories.make_profile("Article")

    made = demo.seed()

    assert made.skill_ids == ALL[:2]
    assert not Client.objects.get(name=demo.CLIENT).workspace
