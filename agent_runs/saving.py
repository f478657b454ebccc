"""What a save of a record must pass, whoever knows the rule, and what it took away (P6).

A model's `clean()` calls `check`; the rules are functions that packages register in
`AppConfig.ready()`, on their own records and on those of packages below. So a rule between
two records is asked from both sides, and no model imports what judges it.

A rule looks at a `Change` and yields a problem only for what this very save brings: it
asks `touches` first. What was already wrong in the database stops no save that switches
something off, and is caught where it is used.

`offers` lists what clients may call now; whoever saves compares before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    ObjectDoesNotExist,
    ValidationError,
)
from django.db.models import Model

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[M]):
    """`new` is about to be saved over `stored`, which is None for a new record."""

    new: M
    stored: M | None

    def touches(self, *attributes: str) -> bool:
        """Whether one of these is new or differs; name foreign keys with `_id`."""
        return self.stored is None or any(
            getattr(self.new, name) != getattr(self.stored, name) for name in attributes
        )

    def gains(self, flag: str) -> bool:
        """Whether a switch goes on with this save."""
        return bool(getattr(self.new, flag)) and self.touches(flag)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A sentence for administrators, at a field or, without one, at the record."""

    sentence: str
    field: str = NON_FIELD_ERRORS


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A skill that is offered to everyone who may call it, or to one client.

    The keys tell offers apart; the names are for people and may change with a save.
    """

    skill_key: Hashable
    client_key: Hashable = None
    skill: str = field(compare=False)
    client: str = field(default="", compare=False)


Rule = Callable[[Change[Any]], Iterable[Problem]]
OfferSource = Callable[[], Collection[Offer]]

_rules: defaultdict[type[Model], list[Rule]] = defaultdict(list)
_offer_sources: list[OfferSource] = []


def register_rules(model: type[Model], *rules: Rule) -> None:
    known = _rules[model]
    known.extend(rule for rule in rules if rule not in known)


def register_offers(source: OfferSource) -> None:
    if source not in _offer_sources:
        _offer_sources.append(source)


def change_of(record: M) -> Change[M]:
    # The manager that Django names for reading rows whatever `objects` leaves out.
    rows = type(record)._base_manager  # noqa: SLF001
    stored = rows.filter(pk=record.pk).first() if record.pk is not None else None
    return Change(new=record, stored=stored)


def check(record: Model) -> None:
    """Raise `ValidationError` with every problem of saving this record as it is now."""
    change = change_of(record)
    sentences: defaultdict[str, list[str]] = defaultdict(list)
    for rule in _rules[type(record)]:
        for problem in rule(change):
            sentences[problem.field].append(problem.sentence)
    if sentences:
        raise ValidationError(dict(sentences))


def related(record: Model, name: str) -> Any:
    """What a foreign key points to; None where it is empty or points to nothing."""
    try:
        return getattr(record, name)
    except ObjectDoesNotExist:
        return None


def offers() -> frozenset[Offer]:
    return frozenset(offer for source in _offer_sources for offer in source())


def losses(before: Collection[Offer], after: Collection[Offer]) -> list[str]:
    """Sentences that tell what a save took from clients."""
    gone = sorted(set(before) - set(after), key=lambda offer: offer.skill)
    everywhere = {offer.skill_key: offer.skill for offer in gone if not offer.client}
    sentences = []
    if everywhere:
        sentences.append(f"No longer offered: {', '.join(everywhere.values())}.")
    theirs: defaultdict[str, list[str]] = defaultdict(list)
    for offer in gone:
        if offer.client and offer.skill_key not in everywhere:
            theirs[offer.client].append(offer.skill)
    for client, names in sorted(theirs.items()):
        sentences.append(f"«{client}» may no longer call: {', '.join(names)}.")
    return sentences


def listed(names: Iterable[object], most: int = 5) -> str:
    """A few names in guillemets, and how many more there are."""
    known = [f"«{name}»" for name in names]
    shown = ", ".join(known[:most])
    return shown if len(known) <= most else f"{shown} and {len(known) - most} more"
