"""What skipped the rules of P6 (`update`, `add`, a fixture, Django's own pages) is caught
where it is used: at the card, at the call, at the token.

`test_rules.py` and the tests of the admin show the same rules at a save.
"""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from django.core import serializers
from django.core.management import call_command

from a2a_protocol.errors import ProtocolError
from a2a_server import auth, skills
from a2a_server.models import Client, ClientProfile, Profile, Task
from agent_runs.effects import Effect
from agent_runs.models import AgentRun, AnswerLevel, LLMConfiguration, Provider
from agent_runs.models.llm import ProviderKind
from agent_runs.tools import registry
from tests import factories
from tests.a2a_server import toolbox
from tests.a2a_server.calling import make_params, refusal_of, send
from tests.a2a_server.test_rules import make_tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_runs.tools.contract import Tool


@pytest.fixture
def model_client(worker: None) -> Client:
    """May call one skill that uses a model, and can."""
    profile = factories.make_profile("model")
    client = factories.make_client("partner", profiles=[profile])
    send(client)
    Task.objects.all().delete()
    AgentRun.objects.all().delete()
    return client


def _restrict(client: Client) -> None:
    configuration = LLMConfiguration.objects.get()
    configuration.allowed_groups.add(factories.make_group())


def _swap_user_of_restricted(client: Client) -> None:
    configuration = LLMConfiguration.objects.get()
    group = factories.make_group(members=[client.technical_user])
    configuration.allowed_groups.add(group)
    client.technical_user.groups.clear()


def _load_level(client: Client) -> None:
    Provider.objects.update(answer_level="everything")


def _add_writing_skill(client: Client) -> None:
    client.profiles.clear()
    client.profiles.add(factories.make_profile(may_write=True))


def _clear_workspace(client: Client) -> None:
    Profile.objects.update(may_write=True)
    Client.objects.update(workspace=factories.make_workspace())
    Client.objects.update(workspace=None)


@pytest.mark.parametrize(
    ("break_rule", "reason"),
    [
        pytest.param(
            lambda c: Provider.objects.update(answer_level=AnswerLevel.NONE),
            "RESULT_NOT_RETAINABLE",
            id="stricter-level",
        ),
        pytest.param(_load_level, "RESULT_NOT_RETAINABLE", id="unknown-level"),
        pytest.param(
            lambda c: Provider.objects.update(is_active=False),
            "PROFILE_UNAVAILABLE",
            id="inactive-provider",
        ),
        pytest.param(
            lambda c: Provider.objects.update(kind=ProviderKind.OPENAI_COMPATIBLE),
            "PROFILE_UNAVAILABLE",
            id="no-address",
        ),
        pytest.param(
            lambda c: Provider.objects.update(
                kind=ProviderKind.OPENAI_COMPATIBLE, base_url="https://u:p@x.example"
            ),
            "PROFILE_UNAVAILABLE",
            id="address-with-user",
        ),
        pytest.param(
            lambda c: Provider.objects.update(kind="OFFLINE"),
            "PROFILE_UNAVAILABLE",
            id="unknown-kind",
        ),
        pytest.param(
            lambda c: LLMConfiguration.objects.update(is_active=False),
            "PROFILE_UNAVAILABLE",
            id="inactive-configuration",
        ),
        pytest.param(
            lambda c: LLMConfiguration.objects.update(model_name="gpt-9"),
            "PROFILE_UNAVAILABLE",
            id="unknown-offline-model",
        ),
        pytest.param(
            lambda c: Profile.objects.update(configuration=None),
            "PROFILE_UNAVAILABLE",
            id="no-configuration",
        ),
        pytest.param(
            lambda c: Profile.objects.update(handler="no.such"),
            "PROFILE_UNAVAILABLE",
            id="unknown-handler",
        ),
        pytest.param(_restrict, "PROFILE_UNAVAILABLE", id="configuration-restricted"),
        pytest.param(
            _swap_user_of_restricted, "PROFILE_UNAVAILABLE", id="user-left-the-group"
        ),
        pytest.param(
            lambda c: Profile.objects.update(may_write=True),
            "WORKSPACE_REQUIRED",
            id="skill-writes",
        ),
        pytest.param(_clear_workspace, "WORKSPACE_REQUIRED", id="workspace-cleared"),
        pytest.param(_add_writing_skill, "WORKSPACE_REQUIRED", id="skill-added"),
    ],
)
def test_a_call_is_refused_and_nothing_is_stored(
    model_client: Client, break_rule: Callable[[Client], Any], reason: str
) -> None:
    """S31."""
    break_rule(model_client)

    error = refusal_of(
        Client.objects.get(pk=model_client.pk), "SendMessage", make_params()
    )

    assert error.reason == reason
    assert not AgentRun.objects.exists()


@pytest.mark.parametrize(
    "break_rule",
    [
        pytest.param(
            lambda: Provider.objects.update(answer_level=AnswerLevel.METADATA),
            id="level",
        ),
        pytest.param(lambda: Provider.objects.update(is_active=False), id="provider"),
        pytest.param(
            lambda: LLMConfiguration.objects.update(is_active=False),
            id="configuration",
        ),
        pytest.param(lambda: Profile.objects.update(handler="gone"), id="handler"),
        pytest.param(lambda: Profile.objects.update(tags={"a": 1}), id="tags"),
        pytest.param(lambda: Profile.objects.update(description=" "), id="description"),
    ],
)
def test_the_card_leaves_out_what_does_not_work(
    model_client: Client, break_rule: Callable[[], Any]
) -> None:
    """S7."""
    assert [profile.skill_id for profile in skills.offered()] == ["model"]

    break_rule()

    assert skills.offered() == []


@pytest.mark.parametrize(
    "change", [{"is_superuser": True}, {"is_active": False}], ids=["superuser", "off"]
)
def test_a_token_stops_opening_when_its_user_changes(
    model_client: Client, change: dict[str, bool]
) -> None:
    """S22, R19: the user's page is Django's own and knows no client."""
    header = factories.token_of(model_client).header.encode()
    auth.authenticate([header], ip_address("192.0.2.7"))
    user = model_client.technical_user
    for name, value in change.items():
        setattr(user, name, value)
    user.save()

    with pytest.raises(ProtocolError) as refused:
        auth.authenticate([header], ip_address("192.0.2.7"))

    assert refused.value.reason == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("stored", "granted"),
    [
        pytest.param(["reader", "writer", "unknown"], ("reader",), id="writing-tools"),
        pytest.param({"reader": 1}, (), id="object"),
        pytest.param("reader", (), id="text"),
        pytest.param([1, None], (), id="no-texts"),
    ],
)
def test_runs_get_reading_tools_only(db: None, stored: Any, granted: Any) -> None:
    """T3."""

    def tools() -> list[Tool]:
        return [
            make_tool("reader", Effect.READ_ONLY),
            make_tool("writer", Effect.IDEMPOTENT_WRITE),
        ]

    registry.register_provider(tools)
    profile = factories.make_profile()
    Profile.objects.update(tools=stored)
    profile.refresh_from_db()

    try:
        assert skills.granted_tools(profile) == granted
    finally:
        registry.unregister_provider(tools)


def _load(profile: Profile, tmp_path: Path) -> None:
    file = tmp_path / "row.json"
    row = json.loads(serializers.serialize("json", [profile]))[0]
    row["fields"] |= {"tools": ["reader", "writer"], "may_write": False}
    file.write_text(json.dumps([row]))
    call_command("loaddata", str(file), verbosity=0)


def _save(profile: Profile, tmp_path: Path) -> None:
    profile.tools = ["reader", "writer"]
    profile.save()


def _update(profile: Profile, tmp_path: Path) -> None:
    Profile.objects.update(tools=["reader", "writer"])


def _update_many(profile: Profile, tmp_path: Path) -> None:
    profile.tools = ["reader", "writer"]
    Profile.objects.bulk_update([profile], ["tools"])


@pytest.mark.parametrize("store", [_load, _save, _update, _update_many])
def test_a_writing_tool_that_was_stored_without_may_write_is_not_given(
    model_client: Client, tmp_path: Path, store: Callable[[Profile, Path], None]
) -> None:
    """P3, T3: whatever stored the list."""
    store(Profile.objects.get(), tmp_path)

    with toolbox.registered(toolbox.reader(), toolbox.Writer()):
        send(model_client)

    assert AgentRun.objects.get().tools == ["reader"]


def test_two_saves_that_do_not_see_each_other_are_caught(model_client: Client) -> None:
    """P6: each was right when it was judged."""
    Client.objects.update(workspace=factories.make_workspace())
    profile, client = Profile.objects.get(), Client.objects.get()
    profile.may_write, client.workspace = True, None
    profile.full_clean()
    client.full_clean()

    profile.save()
    client.save()

    error = refusal_of(client, "SendMessage", make_params())
    assert error.reason == "WORKSPACE_REQUIRED"


def test_a_fixture_that_skips_every_rule_is_refused_at_use(
    model_client: Client, tmp_path: Path
) -> None:
    """B139: loaddata validates nothing."""
    rows = [
        {
            "model": "a2a_server.profile",
            "pk": 77,
            "fields": {
                "skill_id": "loaded",
                "name": "Loaded",
                "description": "x",
                "handler": "llm.text",
                "tools": [],
                "is_public": True,
                "may_write": True,
                "configuration": LLMConfiguration.objects.get().pk,
            },
        },
        {
            "model": "a2a_server.clientprofile",
            "pk": 77,
            "fields": {"client": model_client.pk, "profile": 77},
        },
    ]
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(rows))
    ClientProfile.objects.all().delete()

    call_command("loaddata", str(file), verbosity=0)

    error = refusal_of(model_client, "SendMessage", make_params())
    assert error.reason == "WORKSPACE_REQUIRED"
