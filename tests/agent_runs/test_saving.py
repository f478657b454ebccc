from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.exceptions import ValidationError

from agent_runs import saving
from agent_runs.models import Provider
from agent_runs.saving import Change, Offer, Problem
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_says_what_a_new_record_touches(db: None) -> None:
    change = saving.change_of(Provider(name="New"))

    assert change.stored is None
    assert change.touches("name")
    assert change.gains("is_active")


def test_says_what_a_stored_record_touches(db: None) -> None:
    provider = factories.make_provider(is_active=False)
    provider.is_active = True

    change = saving.change_of(provider)

    assert change.gains("is_active")
    assert not change.touches("name", "kind")


def test_switching_off_gains_nothing(db: None) -> None:
    provider = factories.make_provider()
    provider.is_active = False

    change = saving.change_of(provider)

    assert change.touches("is_active")
    assert not change.gains("is_active")


def test_refuses_with_the_sentences_of_every_rule(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(change: Change[Provider]) -> Iterator[Problem]:
        yield Problem(sentence="First.", field="name")

    def other(change: Change[Provider]) -> Iterator[Problem]:
        yield Problem(sentence="Second.", field="name")
        yield Problem(sentence="Of no field.")

    monkeypatch.setitem(saving._rules, Provider, [one, other])

    with pytest.raises(ValidationError) as refusal:
        saving.check(Provider())

    assert refusal.value.message_dict == {
        "name": ["First.", "Second."],
        "__all__": ["Of no field."],
    }


def test_takes_a_rule_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(saving._rules, Provider, [])

    saving.register_rules(Provider, _no_rule)
    saving.register_rules(Provider, _no_rule)

    assert saving._rules[Provider] == [_no_rule]


def _no_rule(change: Change[Provider]) -> tuple[Problem, ...]:
    return ()


def test_reads_a_key_that_points_to_nothing_as_none() -> None:
    assert saving.related(factories.LLMConfiguration(), "provider") is None


SUMMARY = Offer(skill_key=1, skill="Summary (summary)")
CHECK = Offer(skill_key=2, skill="Check (check)")
TO_BOT = Offer(skill_key=1, client_key=7, skill=SUMMARY.skill, client="bot")


@pytest.mark.parametrize(
    ("before", "after", "sentences"),
    [
        pytest.param([SUMMARY], [SUMMARY], [], id="nothing"),
        pytest.param([], [SUMMARY], [], id="only-more"),
        pytest.param(
            [SUMMARY, CHECK],
            [],
            ["No longer offered: Check (check), Summary (summary)."],
            id="skills",
        ),
        pytest.param(
            [SUMMARY, TO_BOT],
            [],
            ["No longer offered: Summary (summary)."],
            id="a-skill-that-is-gone-for-all-is-told-once",
        ),
        pytest.param(
            [SUMMARY, TO_BOT],
            [SUMMARY],
            ["«bot» may no longer call: Summary (summary)."],
            id="a-client",
        ),
        pytest.param(
            [SUMMARY, TO_BOT],
            [
                Offer(skill_key=1, skill="New name"),
                Offer(skill_key=1, client_key=7, skill="New name", client="new"),
            ],
            [],
            id="other-names",
        ),
    ],
)
def test_tells_what_was_lost(
    before: list[Offer], after: list[Offer], sentences: list[str]
) -> None:
    """P6."""
    assert saving.losses(before, after) == sentences


def test_names_a_few_and_counts_the_rest() -> None:
    assert saving.listed("ab") == "«a», «b»"
    assert saving.listed("abcdefg") == "«a», «b», «c», «d», «e» and 2 more"
