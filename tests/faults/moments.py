"""Where accidents happen to a run, and what is allowed to come of it (R12).

The run reads, asks, has its draft approved, writes it and answers, in three segments:
up to the question, up to the approval, to the end. Its every visit at the gate is one of
`tests/drill/points.py`; a number says which one, where a point is passed several times.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.drill import model


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """`is_leased`: a lease is left behind and has to run out.

    `reason` is why the run ends when its worker is killed here.
    """

    name: str
    visit: str
    number: int = 1
    is_leased: bool = True
    task: str = model.DRAFT
    reason: str = "completed"


def _unleased(name: str, visit: str, number: int = 1) -> Moment:
    return Moment(name=name, visit=visit, number=number, is_leased=False)


def _leased(name: str, visit: str, number: int = 1) -> Moment:
    return Moment(name=name, visit=visit, number=number)


def _sending(name: str, visit: str, number: int = 1, *, reason: str) -> Moment:
    return Moment(name=name, visit=visit, number=number, task=model.SEND, reason=reason)


DRAFTING = (
    _unleased("before the claim", "claim.before"),
    _unleased("inside the claim's transaction", "claim.inside"),
    _leased("after the claim", "claim.after"),
    _leased("before the model call", "model.before"),
    _leased("during the model call", "request"),
    _leased("after the answer, before its checkpoint", "model.after"),
    _leased("after the checkpoint, before the scan", "answer.after"),
    _leased("before a read", "tool.before"),
    _leased("after a read, before its checkpoint", "tool.after"),
    _leased("after a read's checkpoint", "store.after", 2),
    _leased("question: before the suspension", "suspend.before"),
    _leased("question: inside the suspension", "suspend.inside"),
    _unleased("question: after the suspension", "suspend.after"),
    _unleased("question: while it waits", "person"),
    _unleased("answered, before the claim", "claim.before", 2),
    _leased("answered, before the answer is stored", "decisions.before", 2),
    _leased("answered, after the answer is stored", "decisions.after", 2),
    _leased("approval: before the suspension", "suspend.before", 2),
    _leased("approval: inside the suspension", "suspend.inside", 2),
    _unleased("approval: after the suspension", "suspend.after", 2),
    _unleased("approval: while it waits", "person", 2),
    _unleased("approved, before the claim", "claim.before", 3),
    _leased("approved, before the verdict is stored", "decisions.before", 3),
    _leased("approved, after the verdict is stored", "decisions.after", 3),
    _leased("before the write", "write.before"),
    _leased("write: before the draft's row", "draft.before.in-transaction"),
    _leased("write: after the draft's row", "draft.after.in-transaction"),
    _leased("write: before the commit", "store.after.in-transaction"),
    _leased("after the write's commit", "write.after"),
    _leased("during the last model call", "request", 4),
    _leased("before the settlement", "settle.before"),
    _leased("inside the settlement's transaction", "settle.inside"),
    _unleased("after the settlement", "settle.after"),
    _unleased("settled, before the acknowledgement", "segment.after", 3),
)

_LOST = "lease_lost_after_write"

# What cannot be taken back and is no part of a transaction happens once at most.
SENDING = (
    _sending("letter: before it is begun", "answer.after", reason="completed"),
    _sending("letter: begun", "tool.before", reason=_LOST),
    _sending("letter: sent", "sent", reason=_LOST),
    _sending("letter: sent, before its checkpoint", "tool.after", reason=_LOST),
    _sending("letter: after its checkpoint", "store.after", 3, reason="completed"),
)

ALL = DRAFTING + SENDING
# One process works on one run at a time: these are killed one after the other.
OF_THE_SWEEP = tuple(
    moment
    for moment in ALL
    if moment.name
    in {
        "during the model call",
        "after the answer, before its checkpoint",
        "after the checkpoint, before the scan",
        "question: inside the suspension",
        "question: while it waits",
        "answered, before the answer is stored",
        "approved, after the verdict is stored",
        "before the write",
        "write: after the draft's row",
        "after the write's commit",
        "inside the settlement's transaction",
        "letter: sent",
    }
)
WAITING = tuple(moment for moment in DRAFTING if moment.visit == "person")
