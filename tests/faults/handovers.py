"""Where accidents happen to a step that is handed to a remote agent (C5–C9, R12).

The run hands over, waits without a worker until a poll tells that the agent is done, and
answers. Or the agent asks first; or its stream is followed. Visits whose names begin with
«agent.» are the agent's own: the request has arrived, and it has not answered yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.drill import model
from tests.faults.moments import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover(Moment):
    """When its worker dies here: `call`, how the remote call ends; `sent`, how many
    messages have reached the agent.
    """

    task: str = model.HAND_OVER
    call: str = "completed"
    sent: int = 1


def _unknown(name: str, visit: str, *, sent: int, **more: object) -> Handover:
    return Handover(name=name, visit=visit, call="unknown", sent=sent, **more)  # type: ignore[arg-type]


def _asking(name: str, visit: str, number: int = 1, *, sent: int = 2) -> Handover:
    return Handover(
        name=name, visit=visit, number=number, task=model.PASS_ON, sent=sent
    )


def _asking_unknown(name: str, visit: str, number: int = 1, *, sent: int) -> Handover:
    return _unknown(name, visit, number=number, task=model.PASS_ON, sent=sent)


def _stream(name: str, visit: str, number: int = 1) -> Handover:
    return Handover(name=name, visit=visit, number=number, task=model.FOLLOW)


# As many as are stopped at once.
OF_THE_WORKER = (
    Handover(name="handed over: before it is begun", visit="delegate.before"),
    _unknown("handed over: begun, nothing sent", "send.before", sent=0),
    _unknown("handed over: sent, no answer yet", "agent.message", sent=1),
    _unknown("handed over: answered, nothing stored", "record.before", sent=1),
    Handover(name="handed over: the answer is stored", visit="record.after"),
    Handover(name="handed over: inside the suspension", visit="suspend.inside"),
    Handover(
        name="handed over: after the suspension",
        visit="suspend.after",
        is_leased=False,
    ),
    Handover(
        name="woken, before the claim", visit="claim.before", number=2, is_leased=False
    ),
    Handover(name="woken, before the result is stored", visit="delegate.after"),
    _asking("asks: answered here, nothing begun", "delegate.before", 2),
    _asking_unknown("asks: the answer is begun", "send.before", 2, sent=1),
    _asking_unknown("asks: the answer is sent", "agent.message", 2, sent=2),
    _asking_unknown("asks: it is answered, nothing stored", "record.before", 2, sent=2),
    _asking("asks: all of it is stored", "record.after", 2),
    _unknown("stream: before any event", "agent.message", task=model.FOLLOW, sent=1),
    _stream("stream: in the middle", "agent.event"),
    _stream("stream: over, its end is not stored", "record.before"),
)
# Polls are made by the process of the periodic jobs, which stores one at a time.
OF_THE_POLLS = (
    Handover(name="poll: asked, no answer yet", visit="agent.poll", is_leased=False),
    Handover(
        name="poll: before the commit",
        visit="wake.after.in-transaction",
        is_leased=False,
    ),
)

# Whoever is stopped inside a transaction holds others up until the server ends it.
THAT_MAY_STOP = tuple(
    moment
    for moment in OF_THE_WORKER
    if moment.visit not in {"suspend.inside", "suspend.after", "claim.before"}
)
LINGERING = Handover(
    name="cancel: asked, no answer yet",
    visit="delegate.before",
    task=model.LINGER,
    is_leased=False,
    call="canceled",
)
