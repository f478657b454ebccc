"""A request that may leave for a remote agent, or why it may not (C2, C3).

Whatever is missing is found before anything leaves, so that it can be set right and the
same request be made again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from asgiref.sync import sync_to_async
from django.db import Error

from a2a_client import contact, credentials, extensions, tokens, words
from a2a_client.dialects import DIALECTS, Destination
from a2a_client.replies import HttpAnswer, NotAccepted, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_client.audit import Audit
    from a2a_client.dialects import Dialect, Request
    from a2a_client.models import RemoteAgent
    from a2a_client.replies import Judgement
    from a2a_protocol.types import WireModel

logger = logging.getLogger(__name__)

USER_AGENT: Final = "a2a-gateway"

_UNAUTHORIZED: Final = 401
_LONGEST_URI: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants to ask an agent; `params` need name no tenant."""

    agent: RemoteAgent
    method: str
    params: WireModel
    audit: Audit
    is_streaming: bool = False

    def logged(self, judgement: Judgement) -> Judgement:
        """Whatever was not accepted is logged once, without a word of the agent's."""
        if isinstance(judgement, NotAccepted):
            logger.warning("remote request not accepted", extra=self._facts(judgement))
        elif isinstance(judgement, Unknown):
            logger.warning("remote request unknown", extra=self._facts(judgement))
        return judgement

    def _facts(self, judgement: NotAccepted | Unknown) -> dict[str, str]:
        facts = self.audit.facts(self.agent)
        return facts | {"method": self.method, "code": judgement.code}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A request with everything that it needs, and how its answer is read."""

    wanted: Wanted
    dialect: Dialect
    request: Request
    credential: Mapping[str, str] = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {
            "User-Agent": USER_AGENT,
            **self.request.headers,
            **self.credential,
        }

    async def heard(self, status: int) -> None:
        """The agent answered; raises nothing, since what it answered counts more."""
        try:
            await sync_to_async(self._note)(status)
        except Error:
            facts = self.wanted.audit.facts(self.wanted.agent)
            logger.warning("remote answer not noted", extra=facts, exc_info=True)

    def _note(self, status: int) -> None:
        contact.heard(self.wanted.agent)
        if status == _UNAUTHORIZED:
            credentials.refused(self.wanted.agent, self.credential)

    def judge(self, status: int, headers: Mapping[str, str], body: bytes) -> Judgement:
        shown = credentials.without(body, self.credential)
        told = {name: self._without(value) for name, value in headers.items()}
        answer = HttpAnswer(status=status, headers=told, body=shown)
        return self.dialect.judge(self.request, answer)

    def _without(self, header: str) -> str:
        # As `egress` reads headers.
        shown = credentials.without(header.encode("latin-1"), self.credential)
        return shown.decode("latin-1")

    def judge_event(self, data: str) -> Judgement:
        shown = credentials.without(data.encode(), self.credential)
        return self.dialect.judge_event(self.request, shown)


async def prepare(wanted: Wanted) -> Outgoing | NotAccepted:
    agent = wanted.agent
    if problem := agent.reach_problem():
        return NotAccepted(code="not_set_up", sentence=_NOT_SET_UP, detail=problem)
    dialect = DIALECTS.get((agent.interface_binding, agent.interface_version))
    if dialect is None:
        return NotAccepted(code="not_spoken", sentence=_NOT_SPOKEN)
    try:
        to = _destination(agent)
        credential = await credentials.headers(agent, audit=wanted.audit)
    except extensions.ExtensionNeeded as error:
        return NotAccepted(code="extension", sentence=_needs_extension(error.uri))
    except (credentials.CredentialUnreadable, tokens.TokenNotGiven) as error:
        return NotAccepted(code=error.code, sentence=error.sentence)
    request = dialect.write(
        to, wanted.method, wanted.params, streaming=wanted.is_streaming
    )
    return Outgoing(
        wanted=wanted, dialect=dialect, request=request, credential=credential
    )


_NOT_SET_UP: Final = (
    "The agent cannot be asked as it is set up. An administrator has to look at it."
)
_NOT_SPOKEN: Final = (
    "The agent's interface is of a kind that is not spoken here. An administrator has to "
    "import its card again."
)


def _destination(agent: RemoteAgent) -> Destination:
    return Destination(
        url=agent.interface_url,
        tenant=agent.interface_tenant,
        extensions=extensions.to_activate(agent.card),
    )


def _needs_extension(uri: str) -> str:
    shown = words.one_line(uri, _LONGEST_URI)
    return f"The agent needs the extension «{shown}», which is not known here."
