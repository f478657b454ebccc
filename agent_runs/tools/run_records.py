"""Records as a run sees them: with its owner's permissions and its own drafts (T4, T15).

What may not be seen reads like what is not there. Permissions are those of the model, as
in Django's admin.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import CharField, Q, TextField
from pydantic import ConfigDict, create_model
from pydantic import Field as Parameter

from agent_runs import records, workspaces
from agent_runs.tools.contract import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import Model, QuerySet
    from pydantic import BaseModel

    from agent_runs.allow_lists import AllowedModel
    from agent_runs.contents import JSONValue
    from agent_runs.models import AgentRun, Draft

PAGE_SIZE = 50
MOST_PAGES = 20
DRAFT_PREFIX = "draft:"
NO_SUCH_RECORD = "There is no such record."
# More than a run makes; a bound all the same.
_MOST_DRAFTS = 200
_NOBODY = UUID(int=0)

# Models write a key as they read it, a number or a text.
PARAMETERS = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A record with the run's own draft over it.

    `live` holds what the drafted fields really have, where there is a live record.
    """

    id: str
    values: dict[str, JSONValue]
    draft_id: str = ""
    live: dict[str, JSONValue] | None = None


@lru_cache(maxsize=32)
def with_models(base: type[BaseModel], labels: tuple[str, ...]) -> type[BaseModel]:
    """The parameters with a `model` whose schema lists what is allowed now.

    Only the schema does: a model that is not listed is refused where it is used, with the
    words for what may not be seen.
    """
    extra: dict[str, Any] = {"enum": list(labels)} if labels else {}
    parameter = Parameter(description="app_label.model", json_schema_extra=extra)
    made: type[BaseModel] = create_model(
        base.__name__, __base__=base, model=(str, parameter)
    )
    return made


def listed(models: Iterable[AllowedModel]) -> str:
    """What there is, for a tool's description."""
    lines = [
        f"- {each.label}: {', '.join(map(records.described, each.fields))}"
        for each in models
    ]
    return "\n".join(lines) or "None is allowed at present."


def may(run: AgentRun, allowed: AllowedModel, action: str) -> bool:
    owner = run.owner
    return owner is not None and owner.has_perm(allowed.permission(action))


def draft_key(record_id: str) -> UUID:
    """The key in `draft:…`, or one that no draft has."""
    try:
        return UUID(record_id.removeprefix(DRAFT_PREFIX))
    except ValueError:
        return _NOBODY


def live_record(allowed: AllowedModel, record_id: str) -> Model | None:
    try:
        key = allowed.model._meta.pk.to_python(record_id)
    except (ValidationError, ValueError, TypeError):
        return None
    if isinstance(key, str) and "\x00" in key:
        return None
    return _rows(allowed).filter(pk=key).first()


def _rows(allowed: AllowedModel) -> QuerySet[Model]:
    return allowed.model._default_manager.all()  # noqa: SLF001 -- Django's documented name


# --- One ------------------------------------------------------------------------------


def get(run: AgentRun, allowed: AllowedModel | None, record_id: str) -> Seen:
    """Raise `ToolError` for what is not there and for what may not be seen."""
    if allowed is None or not may(run, allowed, "view"):
        raise ToolError(NO_SUCH_RECORD)
    drafts = workspaces.drafts_of(run, allowed.model)
    if record_id.startswith(DRAFT_PREFIX):
        draft = drafts.filter(id=draft_key(record_id)).first()
        live = live_record(allowed, draft.object_id) if draft else None
    else:
        live = live_record(allowed, record_id)
        draft = drafts.filter(object_id=str(live.pk)).first() if live else None
    if live is None and (draft is None or draft.object_id):
        raise ToolError(NO_SUCH_RECORD)
    return _seen(allowed, live, draft)


def _seen(allowed: AllowedModel, live: Model | None, draft: Draft | None) -> Seen:
    if draft is None:
        if live is None:
            raise TypeError("a record or a draft is needed")
        return Seen(id=str(live.pk), values=records.values_of(live, allowed.fields))
    drafted = workspaces.values_of(draft)
    before = None
    if live is not None:
        hidden = [field for field in allowed.fields if field.name in drafted]
        before = records.values_of(live, hidden)
    shown = live if live is not None else allowed.model()
    workspaces.overlay(shown, draft)
    draft_id = f"{DRAFT_PREFIX}{draft.id}"
    return Seen(
        id=str(live.pk) if live is not None else draft_id,
        values=records.values_of(shown, allowed.fields),
        draft_id=draft_id,
        live=before,
    )


# --- Many -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    found: Sequence[Seen] = ()
    next_page: int | None = None


def page(
    run: AgentRun, allowed: AllowedModel | None, *, search: str, number: int
) -> Page:
    """Those with the highest keys first; new ones that the run drafted before them."""
    if allowed is None or not may(run, allowed, "view"):
        return Page()
    drafts = list(workspaces.drafts_of(run, allowed.model)[:_MOST_DRAFTS])
    searched = _searched_fields(allowed)
    fitting = [draft for draft in drafts if _fits(draft, searched, search)]
    live, has_more = _live_page(allowed, _matching(searched, search, fitting), number)
    changes = {draft.object_id: draft for draft in drafts if draft.object_id}
    created = [draft for draft in fitting if not draft.object_id and number == 1]
    return Page(
        found=[
            *(_seen(allowed, None, draft) for draft in created),
            *(_seen(allowed, each, changes.get(str(each.pk))) for each in live),
        ],
        next_page=number + 1 if has_more and number < MOST_PAGES else None,
    )


def _live_page(
    allowed: AllowedModel, condition: Q, number: int
) -> tuple[list[Model], bool]:
    start = (number - 1) * PAGE_SIZE
    rows = _rows(allowed).filter(condition).only("pk", *allowed.names).order_by("-pk")
    found = list(rows[start : start + PAGE_SIZE + 1])
    return found[:PAGE_SIZE], len(found) > PAGE_SIZE


def _searched_fields(allowed: AllowedModel) -> list[str]:
    return [
        field.name
        for field in allowed.fields
        if isinstance(field, CharField | TextField) and not field.is_relation
    ]


def _fits(draft: Draft, searched: Iterable[str], search: str) -> bool:
    values = workspaces.values_of(draft)
    return not search or any(
        search.casefold() in str(values.get(name, "")).casefold() for name in searched
    )


def _matching(searched: Sequence[str], search: str, fitting: Iterable[Draft]) -> Q:
    """As it is stored, or as the run's own draft has it."""
    if not search:
        return Q()
    keys = [draft.object_id for draft in fitting if draft.object_id]
    condition = Q(pk__in=keys)
    for name in searched:
        condition |= Q(**{f"{name}__icontains": search})
    return condition


# --- Results --------------------------------------------------------------------------


def as_json(seen: Seen) -> dict[str, JSONValue]:
    told: dict[str, JSONValue] = {"id": seen.id, "values": seen.values}
    if seen.draft_id:
        told["draft"] = seen.draft_id
    if seen.live is not None:
        told["live_values"] = seen.live
    return told


def dumped(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False)
