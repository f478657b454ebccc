"""The demonstration: records with which a new installation answers at once.

Idempotent: what is there is left as it is, also where somebody has changed it since. The
secrets that cannot be read back from the database are kept in `DATA_DIR/demo.json`,
which only its owner may read. A token that is no longer the client's is issued anew; an
account that was there before, or whose password was changed, is never given another one.

Other packages add chapters to it, in `AppConfig.ready()`: functions that make records of
their own and skills for the demonstration's client.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import reverse

from a2a_server import auth, conf
from a2a_server.models import Client, ClientProfile, Profile
from a2a_server.models.task import TERMINAL_STATES
from agent_runs import clock
from agent_runs.models import LLMConfiguration, Provider
from agent_runs.models.llm import ProviderKind

PROVIDER = "Demonstration (offline)"
CLIENT = "demo"
TECHNICAL_USER = "demo-agent"
ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    skill_id: str
    name: str
    description: str
    tags: tuple[str, ...]
    example: str
    tools: tuple[str, ...] = ()
    may_write: bool = False


SKILLS = (
    Skill(
        skill_id="summary",
        name="Summary",
        description="Shortens a text to the sentences that carry it.",
        tags=("text", "summary"),
        example="Summarize: The meeting began late. It decided to move the release to May.",
    ),
    Skill(
        skill_id="text-check",
        name="Text check",
        description="Finds slips in a text, such as doubled words and unclosed brackets, "
        "and says where they are.",
        tags=("text", "proofreading"),
        example="This sentence has has a doubled word.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a chapter finds. `is_new`: the client was made a moment ago."""

    client: Client
    provider: Provider
    is_new: bool

    @property
    def is_untouched(self) -> bool:
        """Whether the client is as an earlier release left it, and has nothing to do."""
        client = self.client
        skill_ids = {skill.skill_id for skill in SKILLS}
        return (
            (client.workspace_id, client.expires_at) == (None, None)
            and client.is_enabled
            and client.technical_user.get_username() == TECHNICAL_USER
            and self.provider.kind == ProviderKind.OFFLINE
            and not client.profiles.exclude(skill_id__in=skill_ids).exists()
            and not client.tasks.exclude(state__in=TERMINAL_STATES).exists()
        )


# Makes what is missing of its own; gives the ids of the skills that the client may call.
Chapter = Callable[[Stage], Iterable[str]]

_chapters: list[Chapter] = []


def register(chapter: Chapter) -> None:
    if chapter not in _chapters:
        _chapters.append(chapter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What a person needs to try the installation; an empty text is not known."""

    base_url: str
    card_url: str
    token: str
    skill_ids: tuple[str, ...]
    admin_url: str
    admin_user: str
    admin_password: str
    is_token_replaced: bool = False
    """The token kept here was no longer the client's, so that this one was issued."""

    def as_json(self) -> str:
        told = asdict(self)
        del told["is_token_replaced"]
        return json.dumps(told, indent=2)


def file() -> Path:
    return Path(settings.DATA_DIR) / "demo.json"


def seed() -> Demo:
    """Make what is missing and write the file; raise OSError if that cannot be done."""
    known = _known()
    with transaction.atomic():
        stage = _seed_stage()
        skill_ids = _seed_skills(stage)
        client = stage.client
        known_token = known.get("token", "")
        token = _token(client, known_token)
        password = _admin_password(known.get("admin_password", ""))
    demo = Demo(
        **_addresses(),
        token=token,
        skill_ids=skill_ids,
        admin_user=ADMIN,
        admin_password=password,
        is_token_replaced=known_token not in ("", token),
    )
    _write(demo)
    return demo


def _known() -> dict[str, Any]:
    try:
        found = json.loads(file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _seed_stage() -> Stage:
    provider, _ = Provider.objects.get_or_create(
        name=PROVIDER, defaults={"kind": ProviderKind.OFFLINE}
    )
    client, is_new = Client.objects.get_or_create(
        name=CLIENT,
        defaults={"technical_user": _technical_user(), "is_enabled": True},
    )
    return Stage(client=client, provider=provider, is_new=is_new)


def _technical_user() -> Any:
    user, is_new = get_user_model().objects.get_or_create(username=TECHNICAL_USER)
    if is_new:
        # It acts for a client and never signs in.
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def _seed_skills(stage: Stage) -> tuple[str, ...]:
    for position, skill in enumerate(SKILLS):
        profile = seed_skill(skill, stage.provider, position)
        ClientProfile.objects.get_or_create(client=stage.client, profile=profile)
    added = [skill_id for chapter in _chapters for skill_id in chapter(stage)]
    return (*(skill.skill_id for skill in SKILLS), *added)


def seed_skill(skill: Skill, provider: Provider, position: int) -> Profile:
    configuration, _ = LLMConfiguration.objects.get_or_create(
        identifier=f"demo-{skill.skill_id}",
        defaults={
            "name": f"{skill.name} (demonstration)",
            "provider": provider,
            "model_name": skill.skill_id,
        },
    )
    profile, _ = Profile.objects.get_or_create(
        skill_id__iexact=skill.skill_id,
        defaults={
            "skill_id": skill.skill_id,
            "name": skill.name,
            "description": skill.description,
            "tags": list(skill.tags),
            "examples": [skill.example],
            "handler": "llm.text",
            "configuration": configuration,
            "tools": list(skill.tools),
            "may_write": skill.may_write,
            "is_public": True,
            "position": position,
        },
    )
    return profile


def _token(client: Client, known: str) -> str:
    digest = hashlib.sha256(known.encode()).hexdigest()
    if known and hmac.compare_digest(digest, client.token_hash):
        return known
    return auth.issue_token(client, now=clock.database_now(), by="seed_demo")


def _admin_password(known: str) -> str:
    """The account's password, as far as it is known here."""
    users = get_user_model().objects
    account = users.filter(username=ADMIN).first()
    if account is None:
        password = secrets.token_urlsafe(12)
        users.create_superuser(ADMIN, password=password)
        return password
    return known if known and account.check_password(known) else ""


def _addresses() -> dict[str, str]:
    base_urls = conf.base_urls()
    if not base_urls:
        return {"base_url": "", "card_url": "", "admin_url": ""}
    base_url = base_urls[0].text
    parts = urlsplit(base_url)
    admin = parts._replace(path=reverse("admin:index")).geturl()
    card_url = f"{base_url}/.well-known/agent-card.json"
    return {"base_url": base_url, "card_url": card_url, "admin_url": admin}


def _write(demo: Demo) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    folder = file().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".demo-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as temporary:
        temporary.write(demo.as_json() + "\n")
    Path(name).replace(file())
