"""What the run of a writing skill has written, as an artifact of its task (S62, T17).

From the run's write events alone: what has no event was not written. Who may not write
any more has still written what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from a2a_server import documents
from agent_runs.contents import DataPart, Output, TextPart
from agent_runs.models import AgentRunEvent
from agent_runs.models.run import EventKind
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_protocol import types
    from a2a_server.models import Task
    from agent_runs.contents import JSONValue

ARTIFACT: Final = "writes"
NOTHING: Final = "Nothing was written."

_WRITES: Final[Select[Any]] = Select(
    lambda: (
        AgentRunEvent.objects.filter(
            run_id=value(AgentRunEvent, "run_id"), kind=EventKind.WRITE
        )
        .order_by("sequence")
        .values_list("facts", flat=True)
    )
)
# As the facts of a write event are called, and how a client reads them.
_MEMBERS: Final = (
    ("kind", "kind"),
    ("model", "model"),
    ("object_id", "objectId"),
    ("draft_id", "draftId"),
    ("workspace", "workspace"),
    ("tool", "tool"),
)


def artifacts_of(task: Task) -> tuple[types.Artifact, ...]:
    """At the task's end; none for a skill that does not write."""
    may_write = task.profile.may_write
    if not may_write and not task.run.has_effects:
        return ()
    written = [_shown(facts) for facts in _WRITES.all(run_id=task.run_id)]
    return (_artifact(written),) if written or may_write else ()


def _shown(facts: Mapping[str, Any]) -> dict[str, JSONValue]:
    """All members are texts and always there; empty: there is none."""
    return {name: str(facts.get(fact, "")) for fact, name in _MEMBERS}


def _artifact(written: list[dict[str, JSONValue]]) -> types.Artifact:
    text = "\n".join(_line(one) for one in written) or NOTHING
    shown: list[JSONValue] = [*written]
    output = Output(
        name=ARTIFACT,
        description="What was written.",
        parts=(TextPart(text=text), DataPart(data={"writes": shown})),
    )
    artifact = documents.artifact(output, number=1)
    # Not one of the results that are counted: a client finds it by its name.
    return artifact.model_copy(update={"artifact_id": ARTIFACT})


def _line(one: Mapping[str, JSONValue]) -> str:
    told = [f"{one['kind']} {one['model']} {one['objectId']}".rstrip()]
    if one["draftId"]:
        told.append(f"draft {one['draftId']}")
    if one["workspace"]:
        told.append(f"workspace «{one['workspace']}»")
    return ", ".join(told)
