from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_server import offers
from agent_runs.saving import Offer
from tests import factories

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries


def test_lists_skills_on_the_card_and_who_may_call_them(db: None) -> None:
    shown = factories.make_profile("shown")
    hidden = factories.make_profile("hidden", is_public=False)
    factories.make_client("bot", profiles=[shown, hidden])
    factories.make_client("off", profiles=[shown], is_enabled=False)

    assert offers.current() == {
        Offer(skill="Shown (shown)"),
        Offer(skill="Shown (shown)", client="bot"),
    }


def test_counts_with_two_queries(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        factories.make_client(profiles=[factories.make_profile()])

    # The profiles with their configurations and providers; the grants.
    with django_assert_num_queries(2):
        assert len(offers.current()) == 10
