"""The agent card as it is served: bytes, and what caches need to know of them (S5–S8).

Everything on it comes from the settings and the offered profiles, nothing from a request
but which of the configured base URLs was addressed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.conf import settings

from a2a_protocol import cards, proto_json, types
from a2a_server import skills
from a2a_server.models import ServedCard
from agent_runs import clock, handlers
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from datetime import datetime

    from a2a_server.models import Profile

_USUAL_MODES: Final = ("text/plain",)
_EXTENSION: Final = types.AgentExtension(
    uri=cards.PROFILE_EXTENSION_URI,
    description="Names the skill of a message: the member of this name in the request's "
    "metadata holds the skill's id.",
    required=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCardContent:
    """`last_modified`: since when this installation serves exactly this content."""

    body: bytes
    etag: str
    last_modified: datetime


def public_card(base_url: str) -> ServedCardContent:
    """`base_url` is one of the configured ones, without a trailing slash."""
    text = proto_json.write_text(build(base_url))
    content_hash = cards.content_hash(text)
    return ServedCardContent(
        body=text.encode(),
        etag=f'"{content_hash}"',
        last_modified=_served_since(_key(base_url), content_hash),
    )


def build(base_url: str) -> types.AgentCard:
    return types.AgentCard(
        name=settings.A2A_SERVER_NAME,
        description=settings.A2A_SERVER_DESCRIPTION,
        supported_interfaces=(
            types.AgentInterface(
                url=base_url, protocol_binding="JSONRPC", protocol_version="1.0"
            ),
        ),
        provider=_provider(),
        version=settings.A2A_SERVER_VERSION,
        documentation_url=settings.A2A_SERVER_DOCUMENTATION_URL or None,
        capabilities=types.AgentCapabilities(
            streaming=False,
            push_notifications=False,
            extended_agent_card=False,
            extensions=(_EXTENSION,),
        ),
        security_schemes=cards.bearer_schemes(),
        security_requirements=cards.bearer_requirements(),
        default_input_modes=_USUAL_MODES,
        default_output_modes=_USUAL_MODES,
        skills=tuple(_skill(profile) for profile in skills.offered()),
    )


def _provider() -> types.AgentProvider | None:
    provider = settings.A2A_SERVER_PROVIDER
    if not provider["organization"] or not provider["url"]:
        return None
    return types.AgentProvider(
        organization=provider["organization"], url=provider["url"]
    )


def _skill(profile: Profile) -> types.AgentSkill:
    handler = handlers.find(profile.handler)
    return types.AgentSkill(
        id=profile.skill_id,
        name=profile.name,
        description=profile.description,
        tags=tuple(profile.tags),
        examples=tuple(profile.examples),
        input_modes=handler.input_modes if handler else _USUAL_MODES,
        output_modes=handler.output_modes if handler else _USUAL_MODES,
    )


def _key(base_url: str) -> str:
    # A base URL may be longer than the column.
    return f"public:{hashlib.sha256(base_url.encode()).hexdigest()[:32]}"


_SERVED: Final = Select(lambda: ServedCard.objects.filter(pk=value(ServedCard, "key")))


def _served_since(key: str, content_hash: str) -> datetime:
    """Whoever first sees a new content sets its time, by compare-and-set."""
    row = _SERVED.first(key=key)
    if row is None:
        fresh = ServedCard(
            key=key, content_hash=content_hash, since=clock.database_now()
        )
        ServedCard.objects.bulk_create([fresh], ignore_conflicts=True)
    elif row.content_hash != content_hash:
        unchanged = ServedCard.objects.filter(pk=key, content_hash=row.content_hash)
        unchanged.update(content_hash=content_hash, since=clock.database_now())
    else:
        return row.since
    return ServedCard.objects.get(pk=key).since
