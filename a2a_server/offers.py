"""What clients may call just now, for whoever saves a record and wants to see what it
took from them (P6).

A skill is offered to everyone who may call it while it is on the card, and to a client
while that client would be let in and its call of the skill taken: the questions are those
that authentication and `skills` ask. Counted in a few queries, whatever the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q, prefetch_related_objects
from django.db.models.functions import Now

from a2a_server import skills
from a2a_server.models import ClientProfile
from agent_runs import availability, saving
from agent_runs.saving import Offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_server.models import Profile


def current() -> frozenset[Offer]:
    on_card = skills.offered()
    prefetch_related_objects(on_card, "configuration__allowed_groups")
    everyones = (Offer(skill_key=p.pk, skill=str(p)) for p in on_card)
    return frozenset([*everyones, *_offers_to_clients(on_card)])


def _offers_to_clients(on_card: Iterable[Profile]) -> Iterator[Offer]:
    profiles = {profile.pk: profile for profile in on_card}
    for grant in _grants_of_those_let_in(profiles):
        client, profile = grant.client, profiles[grant.profile_id]
        user, has_workspace = client.technical_user, client.workspace_id is not None
        if not skills.refusal(profile, user=user, has_workspace=has_workspace):
            yield Offer(
                skill_key=profile.pk,
                client_key=client.pk,
                skill=str(profile),
                client=client.name,
            )


def _grants_of_those_let_in(profile_ids: Iterable[int]) -> list[ClientProfile]:
    grants = ClientProfile.objects.filter(
        Q(client__expires_at=None) | Q(client__expires_at__gt=Now()),
        client__is_enabled=True,
        profile__in=list(profile_ids),
    )
    grants = grants.select_related("client__technical_user")
    return [
        grant
        for grant in grants.prefetch_related("client__technical_user__groups")
        if not availability.owner_problem(grant.client.technical_user)
    ]


def register() -> None:
    saving.register_offers(current)
