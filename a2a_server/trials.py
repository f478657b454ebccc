"""Starts a run as one of a skill's clients, without a task: «try it» (O2).

What refuses a client's message refuses a trial too, with a sentence for administrators.
Two things do not: the skill need not be public, since it is tried before it is published,
and no limit of tasks counts. Who pressed the button is the run's starter, so that four
eyes stay four (T12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction

from a2a_server import inputs, skills
from a2a_server.models import Client, ClientProfile, Profile, Trial
from agent_runs import availability, clock, queue
from agent_runs.cleaning import clean_text
from agent_runs.contents import RunInput, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from uuid import UUID

    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import QuerySet

PERMISSION: Final = "a2a_server.try_profile"
_TEXT: Final = "text/plain"


class TrialRefused(Exception):  # noqa: N818 -- an answer, not a failure
    """Nothing was started; the sentence says why."""


def clients_of(profile: Profile) -> QuerySet[Client]:
    """Those that a trial can be as."""
    return Client.objects.filter(profiles=profile).order_by("name")


def may_try(user: Any) -> bool:
    return bool(user.has_perm(PERMISSION))


def start(
    profile: Profile, client: Client, text: str, *, starter: AbstractBaseUser
) -> UUID:
    """The run that was started; raises `TrialRefused`."""
    if not may_try(starter):
        raise TrialRefused("You may not try skills.")
    grant = _find_grant(profile, client)
    now = clock.database_now()
    if problems := list(_problems(grant, now)):
        raise TrialRefused(" ".join(problems))
    try:
        return _start(grant, text, starter=starter, now=now)
    except IntegrityError:
        # The statement that looked for them was a moment too early.
        sentence = "The client or the skill was deleted meanwhile. Nothing was started."
        raise TrialRefused(sentence) from None


def _find_grant(profile: Profile, client: Client) -> ClientProfile:
    related = "client__technical_user", "client__workspace"
    grants = ClientProfile.objects.filter(client=client, profile=profile)
    grant = grants.select_related(*related, "profile__configuration__provider").first()
    if grant is None:
        raise TrialRefused(f"The client «{client}» may not call this skill any more.")
    return grant


def _start(
    grant: ClientProfile, text: str, *, starter: AbstractBaseUser, now: datetime
) -> UUID:
    client, profile = grant.client, grant.profile
    tools = skills.given_tools(profile, user_id=client.technical_user_id)
    parts = (TextPart(text=clean_text(text)),)
    with transaction.atomic():
        run_id = queue.enqueue(
            owner=client.technical_user,
            starter=starter,
            handler=profile.handler,
            run_input=RunInput(parts=parts, skill=profile.skill_id),
            configuration=skills.configuration_of(profile),
            workspace=client.workspace,
            tools=tools,
            now=now,
        )
        Trial.objects.create(run_id=run_id, client=client, profile=profile)
    return run_id


# --- Refusals -------------------------------------------------------------------------


def _problems(grant: ClientProfile, now: datetime) -> Iterator[str]:
    client, profile = grant.client, grant.profile
    yield from _client_problems(client, now)
    if problem := skills.work_problem(profile):
        yield problem
        return
    yield from _configuration_problems(profile, client)
    if profile.may_write and client.workspace_id is None:
        yield f"The skill may write, and the client «{client}» has no workspace."
    handler = skills.handler_of(profile)
    if not inputs.is_accepted(_TEXT, handler.input_modes):
        yield f"The domain handler «{profile.handler}» takes no plain text."


def _client_problems(client: Client, now: datetime) -> Iterator[str]:
    if not client.is_enabled:
        yield f"The client «{client}» is not enabled."
    if client.expires_at is not None and client.expires_at <= now:
        yield f"The client «{client}» has expired."
    if problem := availability.owner_problem(client.technical_user):
        yield problem


def _configuration_problems(profile: Profile, client: Client) -> Iterator[str]:
    configuration = skills.configuration_of(profile)
    if configuration is None:
        return
    user = client.technical_user
    if not availability.user_may_use(configuration, user):
        yield (
            f"The technical user «{user.get_username()}» is in no group that may use "
            f"«{configuration}»."
        )
    if not availability.keeps_result(configuration):
        yield f"The provider «{configuration.provider}» keeps no result."
