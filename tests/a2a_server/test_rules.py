"""Each rule once for each side of the relation that it is about (P3, P4, P6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.exceptions import ValidationError
from pydantic import BaseModel

from a2a_server.models import Client, ClientProfile, Profile
from agent_runs import clock, handlers
from agent_runs.contents import Result
from agent_runs.effects import Effect
from agent_runs.models import AnswerLevel
from agent_runs.models.llm import ProviderKind
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_runs.models import LLMConfiguration
    from agent_runs.tools.contract import ToolCall

pytestmark = pytest.mark.django_db

_NOON = datetime(2035, 1, 2, 12, tzinfo=UTC)
_YESTERDAY, _TOMORROW = _NOON - timedelta(days=1), _NOON + timedelta(days=1)


class NoModel(handlers.PlainHandler):
    name = "test.plain"
    effect = Effect.READ_ONLY

    def run(self, context: handlers.RunContext) -> Result:
        return Result()


class NoParameters(BaseModel):
    pass


async def _execute(call: ToolCall) -> str:
    return ""


def make_tool(name: str, effect: Effect) -> Tool:
    return Tool(
        name=name,
        description=name,
        parameters=NoParameters,
        effect=effect,
        execute=_execute,
    )


@pytest.fixture(autouse=True)
def _a_handler_and_two_tools() -> Iterator[None]:
    def tools() -> list[Tool]:
        return [
            make_tool("reader", Effect.READ_ONLY),
            make_tool("writer", Effect.NON_IDEMPOTENT_WRITE),
        ]

    handlers.register(NoModel())
    registry.register_provider(tools)

    yield

    registry.unregister_provider(tools)


def problems_of(record: Any) -> dict[str, list[str]]:
    try:
        record.full_clean()
    except ValidationError as refusal:
        return dict(refusal.message_dict)
    return {}


def new_profile(**values: Any) -> Profile:
    defaults = {
        "skill_id": "new",
        "name": "New",
        "description": "New.",
        "handler": "test.plain",
    }
    return Profile(**defaults | values)


def changed(record: Any, **values: Any) -> Any:
    for name, value in values.items():
        setattr(record, name, value)
    return record


# --- A profile by itself --------------------------------------------------------------


@pytest.mark.parametrize(
    "skill_id", ["tasks", "TASKS", "v1", "message", "extendedAgentCard"]
)
def test_refuses_a_skill_id_that_is_an_address_of_the_protocol(skill_id: str) -> None:
    """P3."""
    problems = problems_of(new_profile(skill_id=skill_id))

    assert list(problems) == ["skill_id"]


@pytest.mark.parametrize(
    "skill_id",
    [
        pytest.param("", id="empty"),
        pytest.param("-a", id="begins-with-a-hyphen"),
        pytest.param("a b", id="space"),
        pytest.param("a/b", id="slash"),
        pytest.param("a\n", id="line-break-at-the-end"),
        pytest.param("ä", id="not-ascii"),
        pytest.param("a" * 65, id="too-long"),
    ],
)
def test_refuses_a_skill_id_of_another_form(skill_id: str) -> None:
    """P3."""
    assert "skill_id" in problems_of(new_profile(skill_id=skill_id))


@pytest.mark.parametrize("skill_id", ["a", "9", "tasks2", "A.b_c-d", "a" * 64])
def test_takes_every_other_skill_id(skill_id: str) -> None:
    """P3."""
    assert problems_of(new_profile(skill_id=skill_id)) == {}


def test_refuses_a_skill_id_that_differs_in_case_only() -> None:
    """P3."""
    factories.make_profile("summary")

    problems = problems_of(new_profile(skill_id="SUMMARY"))

    assert problems == {"__all__": ["Another profile has this skill id already."]}


@pytest.mark.parametrize("name", ["tags", "examples", "tools"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("text", id="text"),
        pytest.param({"a": 1}, id="object"),
        pytest.param([1], id="number"),
        pytest.param([["a"]], id="list"),
        pytest.param([None], id="null"),
        pytest.param([" "], id="blank"),
        pytest.param(["a\nb"], id="two-lines"),
        pytest.param(["a\x00"], id="zero"),
        pytest.param(["\ud800"], id="lone-surrogate"),
    ],
)
def test_refuses_lists_that_are_no_lines(name: str, value: object) -> None:
    """P3."""
    problems = problems_of(new_profile(**{name: value}))

    assert problems[name] == [
        "This must be a list of lines, each with some visible text."
    ]


def test_takes_lines_of_any_script() -> None:
    profile = new_profile(tags=["Übersetzung", "תרגום", "👩‍💻"], examples=["Was?"])

    assert problems_of(profile) == {}


@pytest.mark.parametrize("name", ["name", "description"])
def test_refuses_text_that_nobody_sees(name: str) -> None:
    """S7: a card needs it."""
    assert list(problems_of(new_profile(**{name: " \t"}))) == [name]


def test_refuses_a_handler_that_is_not_installed() -> None:
    """P3."""
    assert list(problems_of(new_profile(handler="no.such"))) == ["handler"]


def test_keeps_a_profile_whose_handler_went_away() -> None:
    """P6: it can be edited and switched off, but not made public."""
    profile = factories.make_profile(handler="no.such", is_public=False)

    assert problems_of(changed(profile, name="Other")) == {}
    assert list(problems_of(changed(profile, is_public=True))) == ["handler"]


def test_a_handler_with_a_model_needs_a_configuration() -> None:
    """P3."""
    problems = problems_of(new_profile(handler="llm.text"))

    assert problems == {
        "configuration": ["The handler «llm.text» needs an LLM configuration."]
    }


def test_a_handler_without_a_model_takes_no_configuration() -> None:
    """P3."""
    profile = new_profile(configuration=factories.make_configuration())

    assert list(problems_of(profile)) == ["configuration"]


# --- Tools ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "may_write", "is_refused"),
    [
        pytest.param(["reader"], False, False, id="reading"),
        pytest.param(["reader", "writer"], False, True, id="writing"),
        pytest.param(["unknown"], False, True, id="unknown-counts-as-writing"),
        pytest.param(["READER"], False, True, id="names-have-a-case"),
        pytest.param(["reader", "writer", "unknown"], True, False, id="may-write"),
    ],
)
def test_only_a_writing_profile_lists_writing_tools(
    tools: list[str], may_write: bool, is_refused: bool
) -> None:
    """P3, T1."""
    problems = problems_of(new_profile(tools=tools, may_write=may_write))

    assert list(problems) == (["tools"] if is_refused else [])


def test_a_refused_list_of_tools_leaves_the_stored_one() -> None:
    """P3."""
    profile = factories.make_profile(tools=["reader"])

    problems = problems_of(changed(profile, tools=["reader", "writer"]))

    assert "«writer»" in problems["tools"][0]
    assert Profile.objects.get(pk=profile.pk).tools == ["reader"]


def test_a_profile_may_always_stop_writing() -> None:
    """P6: its runs then get the reading tools only (T3)."""
    profile = factories.make_profile(tools=["reader", "writer"], may_write=True)

    assert problems_of(changed(profile, may_write=False)) == {}


def test_a_list_may_always_become_shorter() -> None:
    """P6."""
    profile = factories.make_profile(tools=["reader", "writer", "gone"])

    assert problems_of(changed(profile, tools=["writer"])) == {}


@pytest.mark.parametrize(
    ("stored", "changes"),
    [
        ({}, {"tools": ["writer"]}),
        ({"tools": ["reader"]}, {"tools": ["writer", "reader"]}),
        ({"tools": ["writer"]}, {"tools": ["writer", "reader"]}),
        (
            {"tools": ["reader"], "may_write": True},
            {"tools": ["reader", "writer"], "may_write": False},
        ),
        ({"tools": {"writer": 1}}, {"tools": ["writer"]}),
        ({"is_public": False}, {"tools": ["writer"]}),
        ({}, {"tools": [" writer"]}),
    ],
    ids=[
        "first tool",
        "one more",
        "one more beside a withheld one",
        "while it stops writing",
        "instead of nonsense",
        "not public",
        "another spelling",
    ],
)
@pytest.mark.parametrize("how", ["full_clean", "clean"])
def test_a_list_that_gains_a_writing_tool_needs_may_write(
    stored: dict[str, Any], changes: dict[str, Any], how: str
) -> None:
    """P3: also where a form shows some fields only; the stored list stays."""
    profile = factories.make_profile(**stored)
    before = Profile.objects.values("tools", "may_write").get()
    changed(profile, **changes)

    with pytest.raises(ValidationError) as refused:
        getattr(profile, how)()

    assert "writer»" in refused.value.message_dict["tools"][0]
    assert Profile.objects.values("tools", "may_write").get() == before


def test_tools_and_may_write_may_come_together() -> None:
    """P3."""
    profile = factories.make_profile()

    assert problems_of(changed(profile, tools=["writer"], may_write=True)) == {}


# --- Public, and what the configuration says ------------------------------------------


def _inactive_configuration() -> LLMConfiguration:
    return factories.make_configuration(name="Sleeping", is_active=False)


def _inactive_provider() -> LLMConfiguration:
    provider = factories.make_provider(name="Sleeping", is_active=False)
    return factories.make_configuration(provider=provider)


def _forgetful_provider() -> LLMConfiguration:
    provider = factories.make_provider(
        name="Sleeping", answer_level=AnswerLevel.METADATA
    )
    return factories.make_configuration(provider=provider)


def _broken_provider() -> LLMConfiguration:
    provider = factories.make_provider(
        name="Sleeping", kind=ProviderKind.OPENAI_COMPATIBLE
    )
    return factories.make_configuration(provider=provider)


UNFIT = [
    pytest.param(_inactive_configuration, id="inactive-configuration"),
    pytest.param(_inactive_provider, id="inactive-provider"),
    pytest.param(_forgetful_provider, id="provider-that-keeps-no-result"),
    pytest.param(_broken_provider, id="provider-without-address"),
]


@pytest.mark.parametrize("make", UNFIT)
def test_a_skill_that_cannot_answer_is_not_made_public(make: Any) -> None:
    """P6, R16: the sentence names the record whose rule it is."""
    profile = factories.make_profile(configuration=make(), is_public=False)

    problems = problems_of(changed(profile, is_public=True))

    assert list(problems) == ["configuration"]
    assert "«Sleeping»" in problems["configuration"][0]


@pytest.mark.parametrize("make", UNFIT)
def test_a_public_skill_takes_no_configuration_that_cannot_answer(make: Any) -> None:
    """P6."""
    profile = factories.make_profile()

    problems = problems_of(changed(profile, configuration=make()))

    assert "«Sleeping»" in problems["configuration"][0]


@pytest.mark.parametrize("make", UNFIT)
def test_a_skill_that_is_not_public_takes_any_configuration(make: Any) -> None:
    profile = factories.make_profile(is_public=False)

    assert problems_of(changed(profile, configuration=make())) == {}


@pytest.mark.parametrize("make", UNFIT)
def test_a_public_skill_that_cannot_answer_any_more_can_be_edited(make: Any) -> None:
    """P6: only what the save brings is judged."""
    profile = factories.make_profile(configuration=make())

    assert problems_of(changed(profile, description="Better.", position=3)) == {}
    assert problems_of(changed(profile, is_public=False)) == {}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"is_active": False}, id="off"),
        pytest.param({"answer_level": AnswerLevel.NONE}, id="stricter"),
    ],
)
def test_a_provider_of_public_skills_may_always_narrow(changes: dict[str, Any]) -> None:
    """P6: the other side."""
    provider = factories.make_profile().configuration.provider

    assert problems_of(changed(provider, **changes)) == {}


def test_a_configuration_of_public_skills_may_always_be_switched_off() -> None:
    """P6: the other side."""
    configuration = factories.make_profile().configuration

    assert problems_of(changed(configuration, is_active=False)) == {}


# --- Writing skills and workspaces ----------------------------------------------------


def test_a_skill_of_a_client_on_live_does_not_begin_to_write() -> None:
    """P6: from the profile's side."""
    profile = factories.make_profile()
    factories.make_client("on-live", profiles=[profile])
    factories.make_client(
        "careful", profiles=[profile], workspace=factories.make_workspace()
    )

    problems = problems_of(changed(profile, may_write=True))

    assert list(problems) == ["may_write"]
    assert "«on-live»" in problems["may_write"][0]
    assert "careful" not in problems["may_write"][0]


def test_a_skill_of_clients_with_workspaces_may_begin_to_write() -> None:
    profile = factories.make_profile()
    factories.make_client(profiles=[profile], workspace=factories.make_workspace())

    assert problems_of(changed(profile, may_write=True)) == {}


def test_a_client_of_a_writing_skill_keeps_its_workspace() -> None:
    """P6: from the client's side."""
    profile = factories.make_profile("writes", may_write=True)
    client = factories.make_client(
        profiles=[profile], workspace=factories.make_workspace()
    )

    problems = problems_of(changed(client, workspace=None))

    assert list(problems) == ["workspace"]
    assert "«Writes (writes)»" in problems["workspace"][0]


def test_a_client_may_change_its_workspace() -> None:
    profile = factories.make_profile(may_write=True)
    client = factories.make_client(
        profiles=[profile], workspace=factories.make_workspace()
    )

    assert problems_of(changed(client, workspace=factories.make_workspace())) == {}


def test_a_client_on_live_is_not_given_a_writing_skill() -> None:
    """P6: from the grant's side."""
    client = factories.make_client("on-live")
    profile = factories.make_profile(may_write=True)

    problems = problems_of(ClientProfile(client=client, profile=profile))

    assert list(problems) == ["profile"]
    assert "«on-live»" in problems["profile"][0]


def test_a_client_on_live_with_a_writing_skill_is_not_enabled() -> None:
    """P6: what skipped the rules is caught by the next widening."""
    profile = factories.make_profile(may_write=True)
    client = factories.make_client(profiles=[profile], is_enabled=False)

    assert list(problems_of(changed(client, is_enabled=True))) == ["workspace"]


def test_a_client_on_live_with_a_writing_skill_can_be_switched_off() -> None:
    """P6."""
    profile = factories.make_profile(may_write=True)
    client = factories.make_client(profiles=[profile])

    assert problems_of(changed(client, is_enabled=False, task_limit=1)) == {}


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        ({"expires_at": None}, True),
        ({"expires_at": _TOMORROW}, True),
        ({"expires_at": _YESTERDAY}, False),
        ({"expires_at": None, "is_enabled": False}, False),
        ({"task_limit": 5}, False),
    ],
    ids=["for ever", "longer", "shorter", "longer but off", "something else"],
)
def test_a_client_on_live_with_a_writing_skill_is_not_prolonged(
    changes: dict[str, Any], is_refused: bool
) -> None:
    """P6: to last longer is to be enabled for longer."""
    profile = factories.make_profile(may_write=True)
    client = factories.make_client(profiles=[profile], expires_at=_NOON)

    problems = problems_of(changed(client, **changes))

    assert list(problems) == (["workspace"] if is_refused else [])


def test_a_client_that_is_off_keeps_its_workspace_too() -> None:
    """P6: it may be enabled by a save that looks at nothing else."""
    profile = factories.make_profile(may_write=True)
    client = factories.make_client(
        profiles=[profile], workspace=factories.make_workspace(), is_enabled=False
    )

    assert list(problems_of(changed(client, workspace=None))) == ["workspace"]


def test_a_skill_may_begin_to_write_where_only_strangers_are_on_live() -> None:
    """P6."""
    factories.make_client(profiles=[factories.make_profile()])
    profile = factories.make_profile()

    assert problems_of(changed(profile, may_write=True)) == {}


def test_a_grant_is_not_moved_to_a_client_on_live() -> None:
    """P6: from the grant's side, either end of it."""
    writing = factories.make_profile(may_write=True)
    careful = factories.make_client(
        profiles=[writing], workspace=factories.make_workspace()
    )
    grant = careful.grants.get()

    moved = problems_of(changed(grant, client=factories.make_client("on-live")))

    assert "«on-live»" in moved["profile"][0]


@pytest.mark.parametrize(
    "changes",
    [
        {"may_write": False},
        {"tools": []},
        {"is_public": False},
        {"may_write": False, "tools": ["reader"], "is_public": False},
    ],
    ids=str,
)
def test_a_writing_skill_of_a_client_on_live_may_always_narrow(
    changes: dict[str, Any],
) -> None:
    """P6."""
    profile = factories.make_profile(may_write=True, tools=["reader", "writer"])
    factories.make_client(profiles=[profile])

    assert problems_of(changed(profile, **changes)) == {}


def test_a_grant_of_a_writing_skill_can_always_be_taken_away() -> None:
    """P6: a client on live that holds one is mended from either side."""
    profile = factories.make_profile(may_write=True)
    client = factories.make_client(profiles=[profile])

    client.grants.get().delete()

    assert problems_of(changed(client, is_enabled=True)) == {}


# --- Groups ---------------------------------------------------------------------------


@pytest.fixture
def restricted() -> LLMConfiguration:
    configuration = factories.make_configuration(name="Restricted")
    configuration.allowed_groups.add(factories.make_group("insiders"))
    return configuration


def insider(configuration: LLMConfiguration) -> Any:
    user = factories.make_user()
    user.groups.add(*configuration.allowed_groups.all())
    return user


def test_a_client_of_an_outsider_is_not_given_the_skill(
    restricted: LLMConfiguration,
) -> None:
    """P6, S31: from the grant's side."""
    profile = factories.make_profile(configuration=restricted)

    problems = problems_of(
        ClientProfile(client=factories.make_client(), profile=profile)
    )

    assert "«Restricted»" in problems["profile"][0]


def test_a_client_of_an_insider_is_given_the_skill(
    restricted: LLMConfiguration,
) -> None:
    profile = factories.make_profile(configuration=restricted)
    client = factories.make_client(technical_user=insider(restricted))

    assert problems_of(ClientProfile(client=client, profile=profile)) == {}


def test_a_client_does_not_become_an_outsiders(restricted: LLMConfiguration) -> None:
    """P6: from the client's side."""
    profile = factories.make_profile(configuration=restricted)
    client = factories.make_client(
        profiles=[profile], technical_user=insider(restricted)
    )

    problems = problems_of(changed(client, technical_user=factories.make_user()))

    assert "«Restricted»" in problems["technical_user"][0]


def test_a_skill_of_an_outsider_is_not_restricted_by_another_configuration(
    restricted: LLMConfiguration,
) -> None:
    """P6: from the profile's side."""
    profile = factories.make_profile()
    factories.make_client("outsider", profiles=[profile])
    factories.make_client(profiles=[profile], technical_user=insider(restricted))

    problems = problems_of(changed(profile, configuration=restricted))

    assert "«outsider»" in problems["configuration"][0]


# --- The technical user ---------------------------------------------------------------


UNFIT_USERS = [
    pytest.param({"is_active": False}, id="inactive"),
    pytest.param({"is_superuser": True}, id="superuser"),
]


@pytest.mark.parametrize("values", UNFIT_USERS)
def test_an_enabled_client_needs_a_fit_technical_user(values: dict[str, bool]) -> None:
    """P4, R19."""
    user = factories.make_user("unfit", **values)

    problems = problems_of(
        Client(name="new", technical_user=user, is_enabled=True, token_prefix=None)
    )

    assert "«unfit»" in problems["technical_user"][0]


@pytest.mark.parametrize("values", UNFIT_USERS)
def test_a_client_that_is_off_waits_for_its_user(values: dict[str, bool]) -> None:
    """P4."""
    client = Client(name="new", technical_user=factories.make_user(**values))

    assert problems_of(client) == {}


@pytest.mark.parametrize("values", UNFIT_USERS)
def test_a_client_is_not_enabled_for_an_unfit_user(values: dict[str, bool]) -> None:
    """P4."""
    client = factories.make_client(
        technical_user=factories.make_user(**values), is_enabled=False
    )

    assert list(problems_of(changed(client, is_enabled=True))) == ["technical_user"]


def test_a_client_whose_user_changed_can_be_edited_but_not_prolonged() -> None:
    """P6: the user's side is Django's own; it is caught here and at use."""
    now = clock.database_now()
    client = factories.make_client(expires_at=now)
    changed(client.technical_user, is_superuser=True).save()

    assert problems_of(changed(client, task_limit=1)) == {}
    assert problems_of(changed(client, expires_at=now - timedelta(days=1))) == {}
    later = changed(client, expires_at=now + timedelta(days=1))
    assert list(problems_of(later)) == ["technical_user"]


# --- A client by itself ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("42", id="digits"),
        pytest.param(" 42 ", id="digits-and-spaces"),
        pytest.param("  ", id="blank"),
    ],
)
def test_refuses_a_name_that_a_command_could_mistake(name: str) -> None:
    """P4."""
    client = Client(name=name, technical_user=factories.make_user())

    assert problems_of(client) != {}


def test_refuses_a_name_that_differs_by_spaces_only() -> None:
    """P4."""
    factories.make_client("bot")
    client = Client(name=" bot ", technical_user=factories.make_user())

    assert list(problems_of(client)) == ["name"]


def test_refuses_a_task_limit_of_zero() -> None:
    """P4."""
    client = Client(name="n", technical_user=factories.make_user(), task_limit=0)

    assert "task_limit" in problems_of(client)


def test_says_what_is_missing_without_a_traceback() -> None:
    assert {"name", "technical_user"} <= set(problems_of(Client()))
    assert {"client", "profile"} <= set(problems_of(ClientProfile()))
    assert {"skill_id", "name", "handler"} <= set(problems_of(Profile()))
