"""What clients may call just now, for whoever saves a record and wants to see what it
took from them (P6).

A skill is offered to everyone who may call it while it is on the card, and to a client
while the client is enabled and holds it. Counted in two queries, whatever the numbers.
"""

from __future__ import annotations

from a2a_server import skills
from a2a_server.models import ClientProfile
from agent_runs import saving
from agent_runs.saving import Offer


def current() -> frozenset[Offer]:
    on_card = {profile.pk: str(profile) for profile in skills.offered()}
    grants = ClientProfile.objects.filter(
        client__is_enabled=True, profile__in=list(on_card)
    )
    held = grants.values_list("profile_id", "client__name")
    return frozenset(Offer(skill=name) for name in on_card.values()) | frozenset(
        Offer(skill=on_card[profile_id], client=client) for profile_id, client in held
    )


def register() -> None:
    saving.register_offers(current)
