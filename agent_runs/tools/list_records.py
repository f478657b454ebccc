"""Lists records page by page, as their run sees them (T5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from agent_runs import allow_lists
from agent_runs.cleaning import clean_text
from agent_runs.effects import Effect
from agent_runs.tools import run_records
from agent_runs.tools.contract import Tool, ToolCall

if TYPE_CHECKING:
    from agent_runs.contents import JSONValue
    from agent_runs.tools.run_records import Seen

_LONGEST = 200
_DESCRIPTION = f"""Lists the records of a model, {run_records.PAGE_SIZE} to a page, with \
these fields:
{{models}}
Long texts are cut; get_record gives them in full. Those with the highest ids come first, \
before them new ones that this run drafted. `next_page` is null on the last page, and at \
most {run_records.MOST_PAGES} pages can be read: search for what is further on."""


class ListRecords(BaseModel):
    model_config = run_records.PARAMETERS

    model: str
    search: str = Field(
        default="", max_length=200, description="Part of a text in any of the fields."
    )
    page: int = Field(default=1, ge=1, le=run_records.MOST_PAGES)


def _list(call: ToolCall) -> str:
    arguments = call.arguments
    if not isinstance(arguments, ListRecords):
        raise TypeError("these are arguments of another tool")
    allowed = allow_lists.readable().get(arguments.model)
    page = run_records.page(
        call.run,
        allowed,
        search=clean_text(arguments.search.strip()),
        number=arguments.page,
    )
    return run_records.dumped(
        {
            "records": [_shortened(seen) for seen in page.found],
            "next_page": page.next_page,
        }
    )


def _shortened(seen: Seen) -> JSONValue:
    told: dict[str, JSONValue] = {
        "id": seen.id,
        "values": {name: _short(value) for name, value in seen.values.items()},
    }
    return told | {"draft": seen.draft_id} if seen.draft_id else told


def _short(value: JSONValue) -> JSONValue:
    if isinstance(value, dict | list):
        value = run_records.dumped(value)
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}…"
    return value


def tool() -> Tool:
    models = allow_lists.readable()
    return Tool(
        name="list_records",
        description=_DESCRIPTION.format(models=run_records.listed(models.values())),
        parameters=run_records.with_models(ListRecords, tuple(models)),
        effect=Effect.READ_ONLY,
        execute=_list,
        group="records",
    )
