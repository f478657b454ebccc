from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from a2a_server import offers
from agent_runs import clock
from agent_runs.models import AnswerLevel
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import DjangoAssertNumQueries

    from a2a_server.models import Client, Profile


def listed() -> set[tuple[str, str]]:
    return {(offer.skill, offer.client) for offer in offers.current()}


def test_lists_skills_on_the_card_and_who_may_call_them(db: None) -> None:
    shown = factories.make_profile("shown")
    hidden = factories.make_profile("hidden", is_public=False)
    factories.make_client("bot", profiles=[shown, hidden])
    factories.make_client("off", profiles=[shown], is_enabled=False)

    assert listed() == {("Shown (shown)", ""), ("Shown (shown)", "bot")}


def test_an_offer_is_the_same_under_another_name(db: None) -> None:
    profile = factories.make_profile()
    client = factories.make_client(profiles=[profile])
    before = offers.current()

    type(profile).objects.update(name="Other", skill_id="other")
    type(client).objects.update(name="other")

    assert offers.current() == before
    assert ("Other (other)", "other") in listed()


# --- What takes a skill from a client -------------------------------------------------


@pytest.fixture
def profile(db: None) -> Profile:
    """A writing skill whose configuration has a group."""
    configuration = factories.make_configuration()
    configuration.allowed_groups.add(factories.make_group("insiders"))
    return factories.make_profile(configuration=configuration, may_write=True)


@pytest.fixture
def client(profile: Profile) -> Client:
    """A client that may call it."""
    user = factories.make_user()
    user.groups.add(*profile.configuration.allowed_groups.all())
    return factories.make_client(
        "bot",
        profiles=[profile],
        technical_user=user,
        workspace=factories.make_workspace(),
        expires_at=clock.database_now() + timedelta(minutes=1),
    )


def _update(record: object, **values: object) -> None:
    type(record).objects.filter(pk=record.pk).update(**values)  # type: ignore[attr-defined]


NARROWING: dict[str, Callable[[Client, Profile], object]] = {
    "disabled": lambda c, _: _update(c, is_enabled=False),
    "expired": lambda c, _: _update(c, expires_at=clock.database_now()),
    "no workspace": lambda c, _: _update(c, workspace=None),
    "user left the group": lambda c, _: c.technical_user.groups.clear(),
    "other groups": lambda _, p: p.configuration.allowed_groups.set(
        [factories.make_group()]
    ),
    "user inactive": lambda c, _: _update(c.technical_user, is_active=False),
    "user became a superuser": lambda c, _: _update(
        c.technical_user, is_superuser=True
    ),
    "skill taken": lambda c, _: c.grants.all().delete(),
}
GONE_FOR_ALL: dict[str, Callable[[Client, Profile], object]] = {
    "not public": lambda _, p: _update(p, is_public=False),
    "no handler": lambda _, p: _update(p, handler="gone"),
    "configuration off": lambda _, p: _update(p.configuration, is_active=False),
    "provider off": lambda _, p: _update(p.configuration.provider, is_active=False),
    "nothing kept": lambda _, p: _update(
        p.configuration.provider, answer_level=AnswerLevel.METADATA
    ),
}


def test_a_client_that_meets_everything_is_offered_the_skill(
    client: Client, profile: Profile
) -> None:
    assert listed() == {(str(profile), ""), (str(profile), "bot")}


@pytest.mark.parametrize("narrow", NARROWING.values(), ids=NARROWING)
def test_a_client_that_would_be_refused_is_offered_nothing(
    client: Client, profile: Profile, narrow: Callable[[Client, Profile], object]
) -> None:
    """P6, S20, S31: what authentication and the choice of the skill would refuse."""
    narrow(client, profile)

    assert listed() == {(str(profile), "")}


@pytest.mark.parametrize("narrow", GONE_FOR_ALL.values(), ids=GONE_FOR_ALL)
def test_a_skill_that_nobody_may_call_is_offered_to_nobody(
    client: Client, profile: Profile, narrow: Callable[[Client, Profile], object]
) -> None:
    """P6, S31."""
    narrow(client, profile)

    assert listed() == set()


@pytest.mark.parametrize("count", [1, 6])
def test_counts_with_few_queries_whatever_the_numbers(
    db: None, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    group = factories.make_group()
    for _ in range(count):
        configuration = factories.make_configuration()
        configuration.allowed_groups.add(group)
        user = factories.make_user()
        user.groups.add(group)
        profile = factories.make_profile(configuration=configuration)
        factories.make_client(profiles=[profile], technical_user=user)

    # Profiles with configuration and provider, its groups; the grants, the users' groups.
    with django_assert_num_queries(4):
        found = offers.current()

    assert len(found) == 2 * count
