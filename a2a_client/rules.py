"""The rules of remote agents when they are saved (C1, C2, P5, P6).

Each is a function from a change to problems, registered with `agent_runs.saving`. A save
that only takes away, such as switching an agent off, is stopped by none of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from a2a_client import guard, header_fields, importing
from a2a_client.models import RemoteAgent
from a2a_client.models.agent import CredentialKind
from agent_runs.cleaning import is_hidden
from agent_runs.saving import Change, Problem, listed, register_rules
from agent_runs.tools import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    AgentChange = Change[RemoteAgent]

# RFC 6749 3.3, several of them.
_SCOPES: Final = re.compile(r"[!#-\[\]-~]+( [!#-\[\]-~]+)*")
_IN_A_HEADER: Final = frozenset({CredentialKind.BEARER, CredentialKind.API_KEY})
_WITH_A_NAME: Final[Mapping[str, str]] = {
    CredentialKind.API_KEY: "An API key needs the name of its header.",
    CredentialKind.BASIC: "User name and password: the user name goes here.",
    CredentialKind.OAUTH2: "OAuth 2 needs the client id.",
}


# --- Names ----------------------------------------------------------------------------


def name_is_visible(change: AgentChange) -> Iterator[Problem]:
    name = change.new.name
    # Nothing at all has its own message from the field.
    if name and change.touches("name") and all(map(is_hidden, "".join(name.split()))):
        yield Problem(sentence="This needs some visible text.", field="name")


def tool_name_is_free(change: AgentChange) -> Iterator[Problem]:
    new = change.new
    if not change.touches("identifier") or new.tool_name not in registry.all_tools():
        return
    # Another agent's identifier has its own message from the field.
    if not RemoteAgent.objects.filter(identifier=new.identifier).exists():
        yield Problem(
            sentence=f"There is another tool «{new.tool_name}»; choose another "
            "identifier.",
            field="identifier",
        )


# --- Addresses ------------------------------------------------------------------------


def card_may_be_fetched(change: AgentChange) -> Iterator[Problem]:
    url = change.new.card_url
    if not url or not (change.touches("card_url") or change.gains("is_enabled")):
        return
    if problem := guard.url_problem(url):
        yield Problem(sentence=problem, field="card_url")


def token_url_fits(change: AgentChange) -> Iterator[Problem]:
    new = change.new
    if not change.touches("credential_kind", "token_url") and not change.gains(
        "is_enabled"
    ):
        return
    if problem := _token_url_problem(new):
        yield Problem(sentence=problem, field="token_url")


def _token_url_problem(agent: RemoteAgent) -> str | None:
    if agent.credential_kind != CredentialKind.OAUTH2:
        return (
            "Only OAuth 2 has a token URL; leave it empty." if agent.token_url else None
        )
    if not agent.token_url:
        return "OAuth 2 needs the URL where tokens are asked for."
    return guard.url_problem(agent.token_url)


# --- The credential -------------------------------------------------------------------


def credential_name_fits(change: AgentChange) -> Iterator[Problem]:
    new = change.new
    if not change.touches("credential_kind", "credential_name"):
        return
    if problem := _credential_name_problem(new.credential_kind, new.credential_name):
        yield Problem(sentence=problem, field="credential_name")


def _credential_name_problem(kind: str, name: str) -> str | None:
    needed = _WITH_A_NAME.get(kind)
    if needed is None:
        return "This kind of credential has no name; leave it empty." if name else None
    if not name.strip():
        return needed
    if kind == CredentialKind.API_KEY:
        return _header_problem(name)
    if any(map(is_hidden, name)):
        return "This holds a character that nobody sees; type it anew."
    if kind == CredentialKind.BASIC and ":" in name:
        return "A user name cannot hold a colon."
    return None


def _header_problem(name: str) -> str | None:
    if not header_fields.is_name(name):
        return (
            "This is no name of a header: letters, digits and hyphens, without blanks."
        )
    if header_fields.is_taken(name):
        return (
            f"«{name}» is set by the request itself. A token that goes into "
            "Authorization is a bearer token."
        )
    return None


def scopes_fit(change: AgentChange) -> Iterator[Problem]:
    new = change.new
    if not new.scopes or not change.touches("credential_kind", "scopes"):
        return
    if new.credential_kind != CredentialKind.OAUTH2:
        yield Problem(
            sentence="Only OAuth 2 has scopes; leave this empty.", field="scopes"
        )
    elif not _SCOPES.fullmatch(new.scopes):
        yield Problem(
            sentence="Scopes are ASCII words with one space between them.",
            field="scopes",
        )


def secret_problem(kind: str, secret: str) -> str | None:
    """Why this cannot be the secret of a credential; for whoever enters one."""
    if kind == CredentialKind.NONE:
        return "Choose the kind of credential first."
    if not secret:
        return "The secret is empty."
    if kind in _IN_A_HEADER and not header_fields.is_value(secret):
        return (
            "The secret holds a character that cannot be sent in a header, or a blank at "
            "an end. Copy it again."
        )
    if any(letter in secret for letter in "\r\n\0"):
        return "The secret holds a line break. Copy it again."
    return None


# --- What the card decides ------------------------------------------------------------


def enabled_agent_can_be_called(change: AgentChange) -> Iterator[Problem]:
    if not change.gains("is_enabled"):
        return
    if problem := _problem_once_saved(change):
        yield Problem(sentence=f"It cannot be enabled: {problem}", field="is_enabled")


def _problem_once_saved(change: AgentChange) -> str | None:
    """A save also forgets what belonged to another address."""
    new, stored = change.new, change.stored
    if stored is None:
        return "Save it first, then import its card."
    if change.touches("card_url"):
        return "Its card has to be imported from the new address first."
    if new.needs_secret and new.leaves_secret_behind(stored):
        return "The secret has to be entered again for what was changed."
    return new.reach_problem()


def allowed_skills_are_on_the_card(change: AgentChange) -> Iterator[Problem]:
    if not change.touches("allowed_skills"):
        return
    allowed = change.new.allowed_skills
    if not isinstance(allowed, list) or not all(
        isinstance(skill, str) and skill for skill in allowed
    ):
        sentence = "This must be a list of ids of skills."
        yield Problem(sentence=sentence, field="allowed_skills")
    elif unknown := _unknown_skills(change, allowed):
        yield Problem(
            sentence=f"The agent's card has no skill {listed(unknown)}. Import the card "
            "anew, or leave it out.",
            field="allowed_skills",
        )


def _unknown_skills(change: AgentChange, allowed: list[str]) -> list[str]:
    before = change.stored.allowed_skills if change.stored else []
    added = [skill for skill in allowed if skill not in before]
    card = importing.stored_card(change.new)
    offered = {skill.id for skill in card.skills} if card else set()
    return [skill for skill in added if skill not in offered]


def register() -> None:
    register_rules(
        RemoteAgent,
        name_is_visible,
        tool_name_is_free,
        card_may_be_fetched,
        token_url_fits,
        credential_name_fits,
        scopes_fit,
        enabled_agent_can_be_called,
        allowed_skills_are_on_the_card,
    )
