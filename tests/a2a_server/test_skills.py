from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Permission, User

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_server import skills
from a2a_server.models import Client, ClientProfile, Profile
from agent_runs import handlers
from agent_runs.effects import Effect
from agent_runs.models import LLMConfiguration, Provider, ToolSetting
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool
from tests import factories
from tests.a2a_server import toolbox
from tests.a2a_server.calling import SilentHandler, assert_invalid, caller_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import DjangoAssertNumQueries

pytestmark = pytest.mark.django_db


def choose(client: Client, name: str | None = None) -> str:
    return skills.choose(caller_of(client), name).skill_id


def refusal(client: Client, name: str | None = None) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        skills.choose(caller_of(client), name)
    return caught.value


def change_configuration(profile: Profile, **values: Any) -> None:
    LLMConfiguration.objects.filter(pk=profile.configuration_id).update(**values)


def change_provider(profile: Profile, **values: Any) -> None:
    providers = Provider.objects.filter(configurations=profile.configuration_id)
    providers.update(**values)


# --- Offered --------------------------------------------------------------------------


def test_offers_what_is_public_and_works_in_its_order() -> None:
    """S7."""
    for skill_id, position in [("c", 1), ("b", 2), ("a", 2), ("hidden", 0)]:
        factories.make_profile(
            skill_id, position=position, is_public=skill_id != "hidden"
        )

    assert [profile.skill_id for profile in skills.offered()] == ["c", "a", "b"]


def test_offers_with_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """S7."""
    for _ in range(3):
        factories.make_profile()

    with django_assert_num_queries(1):
        assert len(skills.offered()) == 3


def test_a_skill_without_a_model_needs_no_configuration(profile: Profile) -> None:
    """S7: «where it uses a model»."""
    assert skills.problems(profile) == ()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"is_public": False}, "not public"),
        ({"handler": "gone"}, "«gone» is not available"),
        ({"configuration": None}, "needs an LLM configuration"),
        ({"name": "  "}, "name is empty"),
        ({"description": ""}, "description is empty"),
        ({"tags": "a b"}, "tags are not a list"),
        ({"examples": [1]}, "examples are not a list"),
        ({"tools": None}, "tools are not a list"),
    ],
    ids=str,
)
def test_says_what_keeps_a_profile_off_the_card(
    change: dict[str, Any], word: str
) -> None:
    """S7, P6: also what `update` stored past every rule."""
    profile = factories.make_profile()
    for name, value in change.items():
        setattr(profile, name, value)

    (problem,) = skills.problems(profile)

    assert word in problem


@pytest.mark.parametrize(
    ("on", "change", "word"),
    [
        ("configuration", {"is_active": False}, "configuration"),
        ("provider", {"is_active": False}, "provider"),
        ("provider", {"answer_level": "metadata"}, "keeps no result"),
        ("provider", {"answer_level": "none"}, "keeps no result"),
    ],
    ids=str,
)
def test_says_what_is_wrong_with_its_records(
    on: str, change: dict[str, Any], word: str
) -> None:
    """S7, R16."""
    profile = factories.make_profile()
    (change_configuration if on == "configuration" else change_provider)(
        profile, **change
    )

    ((_, problems),) = skills.all_with_problems()

    assert word in problems[0]
    assert skills.offered() == []


# --- Choosing -------------------------------------------------------------------------


def test_the_only_skill_needs_no_name(partner: Client) -> None:
    """S30."""
    assert choose(partner) == choose(partner, "silent") == "silent"


def test_several_skills_need_a_name(partner: Client) -> None:
    """S30: the error names the callable ones and no other."""
    for skill_id, values in [("second", {}), ("broken", {"handler": "gone"})]:
        profile = factories.make_profile(skill_id, **values)
        partner.grants.create(profile=profile)
    factories.make_profile("foreign")

    error = refusal(partner)

    assert error.code is ErrorCode.INVALID_PARAMS
    assert error.reason == "PROFILE_REQUIRED"
    assert error.metadata == {"skills": "second,silent"}
    (violation,) = error.violations
    assert violation.field == f"metadata.{PROFILE_EXTENSION_URI}"
    assert choose(partner, "second") == "second"


def test_of_several_the_only_callable_one_needs_no_name(partner: Client) -> None:
    """S30."""
    partner.grants.create(profile=factories.make_profile("off", is_public=False))
    partner.grants.create(profile=factories.make_profile("broken", handler="gone"))

    assert choose(partner) == "silent"


@pytest.mark.parametrize("name", [None, "silent", "unknown", "SILENT", "", "hidden"])
def test_every_unavailable_skill_is_refused_alike(name: str | None) -> None:
    """S31: unknown, not allowed, not public."""
    client = factories.make_client(
        profiles=[factories.make_profile("hidden", is_public=False)]
    )
    factories.make_profile("silent")

    error = refusal(client, name)

    assert error.code is ErrorCode.UNSUPPORTED_OPERATION
    assert (error.reason, error.metadata) == ("PROFILE_UNAVAILABLE", {})


@pytest.mark.parametrize(
    ("on", "change", "reason"),
    [
        ("configuration", {"is_active": False}, "PROFILE_UNAVAILABLE"),
        ("provider", {"is_active": False}, "PROFILE_UNAVAILABLE"),
        ("provider", {"answer_level": "metadata"}, "RESULT_NOT_RETAINABLE"),
        ("provider", {"answer_level": "none"}, "RESULT_NOT_RETAINABLE"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", [None, "model"])
def test_refuses_a_skill_whose_records_are_off(
    on: str, change: dict[str, Any], reason: str, name: str | None
) -> None:
    """S31, R16."""
    profile = factories.make_profile("model")
    client = factories.make_client(profiles=[profile])
    assert choose(client, name) == "model"

    (change_configuration if on == "configuration" else change_provider)(
        profile, **change
    )

    assert refusal(client, name).reason == reason


def test_refuses_a_skill_whose_handler_is_gone(
    partner: Client, profile: Profile
) -> None:
    """S31."""
    handlers.unregister(profile.handler)

    assert refusal(partner).reason == "PROFILE_UNAVAILABLE"


def test_of_several_broken_skills_none_is_named(partner: Client) -> None:
    """S31: there is nothing to choose from."""
    Profile.objects.update(handler="gone")
    partner.grants.create(profile=factories.make_profile("second", handler="gone"))

    assert refusal(partner).reason == "PROFILE_UNAVAILABLE"


def test_a_handler_may_go_between_choosing_and_using(profile: Profile) -> None:
    """S31."""
    assert skills.handler_of(profile).name == profile.handler
    handlers.unregister(profile.handler)

    with pytest.raises(ProtocolError) as caught:
        skills.handler_of(profile)

    assert caught.value.reason == "PROFILE_UNAVAILABLE"


def test_only_members_of_the_allowed_groups_may_call() -> None:
    """S31: the technical user's groups count."""
    profile = factories.make_profile()
    client = factories.make_client(profiles=[profile])
    group = factories.make_group()
    assert profile.configuration
    profile.configuration.allowed_groups.add(group)

    assert refusal(client).reason == "PROFILE_UNAVAILABLE"
    group.user_set.add(client.technical_user)
    assert choose(client) == profile.skill_id


def test_a_writing_skill_needs_a_workspace(partner: Client, profile: Profile) -> None:
    """S31."""
    Profile.objects.filter(pk=profile.pk).update(may_write=True)
    assert refusal(partner).reason == "WORKSPACE_REQUIRED"

    partner.workspace = factories.make_workspace()

    assert choose(partner) == "silent"


def test_chooses_with_few_queries(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """S31: the skills with their records, and the groups of the configuration."""
    client = factories.make_client(profiles=[factories.make_profile("model")])

    with django_assert_num_queries(2):
        choose(client)


def test_the_name_stands_in_the_requests_metadata() -> None:
    """S30."""
    assert skills.named_skill({PROFILE_EXTENSION_URI: "a"}) == "a"
    assert skills.named_skill({PROFILE_EXTENSION_URI: None}) is None
    assert skills.named_skill({"other": "a"}) is None
    assert skills.named_skill(None) is None


@pytest.mark.parametrize("value", [1, ["a"], {"id": "a"}, True], ids=str)
def test_a_name_is_a_text(value: Any) -> None:
    """S30."""
    with pytest.raises(ProtocolError) as caught:
        skills.named_skill({PROFILE_EXTENSION_URI: value})

    assert_invalid(caught.value, f"metadata.{PROFILE_EXTENSION_URI}")


# --- Tools ----------------------------------------------------------------------------


@pytest.fixture
def _tools() -> Iterator[None]:
    async def execute(call: Any) -> str:
        raise AssertionError

    def provide() -> list[Tool]:
        return [
            Tool(
                name=effect.value,
                description="",
                parameters=Any,
                effect=effect,
                execute=execute,
            )
            for effect in Effect
        ]

    registry.register_provider(provide)
    yield
    registry.unregister_provider(provide)


@pytest.mark.usefixtures("_tools")
@pytest.mark.parametrize(
    ("tools", "may_write", "granted"),
    [
        ([], False, ()),
        (["read_only", "idempotent_write", "nobodys"], False, ("read_only",)),
        (["read_only", "idempotent_write"], True, ("read_only", "idempotent_write")),
        ("read_only", True, ()),  # not a list: `update` stored it
    ],
    ids=str,
)
def test_writing_tools_need_may_write(
    tools: Any, may_write: bool, granted: tuple[str, ...]
) -> None:
    """T1, T3: a name that nobody registered counts as a write."""
    profile = Profile(tools=tools, may_write=may_write)

    assert skills.granted_tools(profile) == granted


NEEDED = "agent_runs.decide_run"


@pytest.fixture
def _toolbox() -> Iterator[None]:
    with toolbox.registered(
        toolbox.reader("open"),
        toolbox.reader("permitted", permission=NEEDED),
        toolbox.reader("off", enabled_by_default=False),
        toolbox.Writer("writer"),
    ):
        yield


LISTED = ["writer", "permitted", "open", "open", "off", "nobodys"]


@pytest.mark.usefixtures("_toolbox")
@pytest.mark.parametrize(
    ("permissions", "switched", "may_write", "given"),
    [
        ([], {}, False, ("open",)),
        ([], {}, True, ("writer", "open")),
        ([NEEDED], {}, False, ("permitted", "open")),
        ([], {"off": True}, False, ("open", "off")),
        ([], {"open": False, "writer": False}, True, ()),
    ],
    ids=["least", "may write", "permitted", "switched on", "switched off"],
)
def test_a_run_is_given_what_it_would_be_offered_now(
    permissions: list[str],
    switched: dict[str, bool],
    may_write: bool,
    given: tuple[str, ...],
) -> None:
    """S50, T2, T3: each once, in the order of the list."""
    profile = factories.make_profile(tools=LISTED, may_write=may_write)
    user = factories.make_user(permissions=permissions)
    for name, enabled in switched.items():
        ToolSetting.objects.create(name=name, enabled=enabled)

    assert skills.given_tools(profile, user_id=user.pk) == given


@pytest.mark.usefixtures("_toolbox")
def test_a_permission_of_a_group_counts_and_one_of_an_inactive_user_does_not() -> None:
    """T3."""
    profile = factories.make_profile(tools=["permitted"])
    user = factories.make_user()
    group = factories.make_group(members=[user])
    codename = NEEDED.partition(".")[2]
    group.permissions.add(Permission.objects.get(codename=codename))

    assert skills.given_tools(profile, user_id=user.pk) == ("permitted",)

    User.objects.update(is_active=False)
    assert skills.given_tools(profile, user_id=user.pk) == ()


@pytest.mark.usefixtures("_toolbox")
def test_a_run_without_a_model_is_given_no_tool(profile: Profile) -> None:
    """T3: nobody would call it; the list was left behind."""
    profile.tools = ["open"]

    assert skills.given_tools(profile, user_id=factories.make_user().pk) == ()


@pytest.mark.usefixtures("_toolbox")
@pytest.mark.parametrize(
    ("listed", "queries"),
    [([], 0), (["open"], 3), (["open", "off"], 3), (["permitted", "open"], 5)],
    ids=["none", "one", "two", "with a permission"],
)
def test_tools_cost_a_bounded_number_of_queries(
    listed: list[str],
    queries: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """S50: user, agents, settings, and permissions where a tool needs one."""
    profile = factories.make_profile(tools=listed)
    user = factories.make_user()

    with django_assert_num_queries(queries):
        skills.given_tools(profile, user_id=user.pk)


def test_a_handler_without_a_model_uses_no_configuration(profile: Profile) -> None:
    """S31, R16: a configuration that was left behind decides nothing."""
    profile.configuration = factories.make_configuration(
        provider=factories.make_provider(answer_level="none")
    )

    assert skills.configuration_of(profile) is None
    assert skills.keeps_result(profile)
    assert profile.handler == SilentHandler.name
    assert ClientProfile.objects.count() == 0
