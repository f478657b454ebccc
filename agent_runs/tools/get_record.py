"""Gives one record in full, as its run sees it (T5)."""

from __future__ import annotations

from pydantic import BaseModel, Field

from agent_runs import allow_lists
from agent_runs.effects import Effect
from agent_runs.tools import run_records
from agent_runs.tools.contract import Tool, ToolCall

_DESCRIPTION = """Gives one record of a model, with these fields:
{models}
Where this run has drafted a change, `values` are as drafted, `draft` names the draft and \
`live_values` holds what is published. A new record that this run drafted is found by the \
id of its draft."""


class GetRecord(BaseModel):
    model_config = run_records.PARAMETERS

    model: str
    id: str = Field(min_length=1, max_length=255, description="As it is listed.")


def _get(call: ToolCall) -> str:
    arguments = call.arguments
    if not isinstance(arguments, GetRecord):
        raise TypeError("these are arguments of another tool")
    allowed = allow_lists.readable().get(arguments.model)
    seen = run_records.get(call.run, allowed, arguments.id)
    return run_records.dumped({"model": arguments.model, **run_records.as_json(seen)})


def tool() -> Tool:
    models = allow_lists.readable()
    return Tool(
        name="get_record",
        description=_DESCRIPTION.format(models=run_records.listed(models.values())),
        parameters=run_records.with_models(GetRecord, tuple(models)),
        effect=Effect.READ_ONLY,
        execute=_get,
        group="records",
    )
