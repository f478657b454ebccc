"""Drafts a new record, or a change of one; people publish it (T5, T15).

A draft is judged by the same rules that publishing judges it by, so that one that could
never be published is refused while the model can still mend it. Nothing live is written
here.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from pydantic import BaseModel, Field

from agent_runs import allow_lists, records, workspaces
from agent_runs.effects import Effect
from agent_runs.models import Draft, DraftKind
from agent_runs.tools import run_records
from agent_runs.tools.contract import Tool, ToolCall, ToolError, Write, Written
from agent_runs.workspaces import Proposal

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import Model, QuerySet

    from agent_runs.allow_lists import AllowedModel
    from agent_runs.contents import JSONValue
    from agent_runs.models import AgentRun

_DESCRIPTION = """Drafts a new record or a change of one. A person looks at the draft and \
publishes it or does not; nothing is live before. These fields can be written:
{models}"""
_NOT_WRITABLE = "Records of this model cannot be drafted by this run."
_LINE = 110


class DraftRecord(BaseModel):
    model_config = run_records.PARAMETERS

    model: str
    id: str = Field(
        default="",
        max_length=255,
        description="Empty for a new record; the id of the record to change; or "
        "draft:… for a draft of this run that is to be revised.",
    )
    values: dict[str, Any] = Field(
        description="The fields to write with their values; dates in ISO form, decimals "
        "as text, a related record as its id."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What is to be written to: a record, an earlier draft, both or neither."""

    live: Model | None = None
    draft: Draft | None = None


# --- The tool -------------------------------------------------------------------------


def tool() -> Tool:
    models = allow_lists.writable()
    return Tool(
        name="draft_record",
        description=_DESCRIPTION.format(models=run_records.listed(models.values())),
        parameters=run_records.with_models(DraftRecord, tuple(models)),
        effect=Effect.NON_IDEMPOTENT_WRITE,
        write=_write,
        preview=_preview,
        may_run=_may_run,
        group="records",
        needs_approval=True,
        supports_workspaces=True,
        enabled_by_default=False,
    )


def _arguments(given: BaseModel) -> DraftRecord:
    if not isinstance(given, DraftRecord):
        raise TypeError("these are arguments of another tool")
    return given


def _write(call: ToolCall) -> Written:
    if call.run.workspace_id is None:
        raise ToolError("There is no workspace to write to.")
    proposal = _proposal(call.run, _arguments(call.arguments), is_locked=True)
    draft = workspaces.store(call.run, proposal)
    write = Write(
        kind=draft.kind,
        model=proposal.model._meta.label_lower,
        object_id=draft.object_id,
        draft_id=str(draft.id),
    )
    return Written(content=_told(draft, proposal), writes=(write,))


def _told(draft: Draft, proposal: Proposal) -> str:
    draft_id = f"{run_records.DRAFT_PREFIX}{draft.id}"
    return run_records.dumped(
        {
            "draft": draft_id,
            "id": draft.object_id or draft_id,
            "values": dict(proposal.values),
            "note": "The draft is stored. It is live once a person has published it.",
        }
    )


def _preview(call: ToolCall) -> str:
    proposal = _proposal(call.run, _arguments(call.arguments), is_locked=False)
    name = str(proposal.model._meta.verbose_name)
    title = f"{name} {proposal.object_id}" if proposal.object_id else f"new {name}"
    compared = workspaces.compared(proposal.model, proposal.before, proposal.values)
    return "\n".join(
        [
            f"{title[:1].upper()}{title[1:]}",
            *(
                f"{each.label}: {_one_line(each.before)} → {_one_line(each.after)}"
                for each in compared
            ),
        ]
    )


def _one_line(text: str) -> str:
    line = " ".join(text.split()) or records.EMPTY
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def _may_run(user: AbstractBaseUser, given: BaseModel) -> bool:
    arguments = _arguments(given)
    allowed = allow_lists.writable().get(arguments.model)
    if allowed is None:
        return False
    permission = allowed.permission(_action(arguments.id))
    return bool(user.has_perm(permission))  # type: ignore[attr-defined]


def _action(record_id: str) -> str:
    """A draft that is revised is of the kind that it was made as."""
    if not record_id:
        return "add"
    if not record_id.startswith(run_records.DRAFT_PREFIX):
        return "change"
    drafts = Draft.objects.filter(id=run_records.draft_key(record_id))
    is_new = drafts.filter(kind=DraftKind.CREATE).exists()
    return "add" if is_new else "change"


# --- What is proposed -----------------------------------------------------------------


def _proposal(run: AgentRun, arguments: DraftRecord, *, is_locked: bool) -> Proposal:
    """Raise `ToolError` for what could never be published."""
    allowed = allow_lists.writable().get(arguments.model)
    if allowed is None:
        raise ToolError(_NOT_WRITABLE)
    target = _target(run, allowed, arguments.id, is_locked=is_locked)
    _refuse_unknown(allowed, arguments.values)
    _refuse_stale(target, arguments.values)
    drafted = workspaces.values_of(target.draft) if target.draft else {}
    record = _filled(run, allowed, target.live, {**drafted, **arguments.values})
    values = _values(record, allowed, {*drafted, *arguments.values})
    return _compared_to(target, allowed, values)


def _target(
    run: AgentRun, allowed: AllowedModel, record_id: str, *, is_locked: bool
) -> _Target:
    if not record_id:
        if not run_records.may(run, allowed, "add"):
            raise ToolError(_NOT_WRITABLE)
        return _Target()
    drafts = workspaces.drafts_of(run, allowed.model)
    if is_locked:
        drafts = drafts.select_for_update()
    if record_id.startswith(run_records.DRAFT_PREFIX):
        draft = drafts.filter(id=run_records.draft_key(record_id)).first()
        if draft is not None and not draft.object_id:
            return _new_one(run, allowed, draft)
        record_id = draft.object_id if draft else ""
    return _change(run, allowed, record_id, drafts)


def _new_one(run: AgentRun, allowed: AllowedModel, draft: Draft) -> _Target:
    if not run_records.may(run, allowed, "add"):
        raise ToolError(run_records.NO_SUCH_RECORD)
    return _Target(draft=draft)


def _change(
    run: AgentRun, allowed: AllowedModel, record_id: str, drafts: QuerySet[Draft]
) -> _Target:
    """Who may not see the record hears that there is none (T4)."""
    live = None
    if run_records.may(run, allowed, "view"):
        live = run_records.live_record(allowed, record_id)
    if live is None:
        raise ToolError(run_records.NO_SUCH_RECORD)
    if not run_records.may(run, allowed, "change"):
        raise ToolError("Records of this model cannot be changed by this run.")
    return _Target(live=live, draft=drafts.filter(object_id=str(live.pk)).first())


def _refuse_unknown(allowed: AllowedModel, values: dict[str, Any]) -> None:
    can = ", ".join(allowed.names)
    if not values:
        raise ToolError(f"There is nothing to write. These can be written: {can}.")
    if unknown := sorted(set(values) - set(allowed.names)):
        names = ", ".join(unknown)
        raise ToolError(f"These cannot be written: {names}. These can: {can}.")


def _refuse_stale(target: _Target, values: dict[str, Any]) -> None:
    """What was drafted for an earlier state of the record is not carried over."""
    if target.live is None or target.draft is None:
        return
    if records.digest(target.live) == target.draft.base_digest:
        return
    if missing := sorted(set(workspaces.values_of(target.draft)) - set(values)):
        raise ToolError(
            "Somebody changed the record after it was drafted. Read it again, and give "
            f"these fields too: {', '.join(missing)}."
        )


def _filled(
    run: AgentRun, allowed: AllowedModel, live: Model | None, values: dict[str, Any]
) -> Model:
    record = copy.copy(live) if live is not None else allowed.model()
    wrong: dict[str, Any] = {}
    for field in allowed.fields:
        if field.name in values:
            try:
                records.set_value(record, field, values[field.name])
                _refuse_unseen(run, field, values[field.name])
            except ValidationError as error:
                wrong[field.name] = error
    if wrong:
        raise _complaint(allowed, ValidationError(wrong))
    try:
        record.full_clean()
    except ValidationError as error:
        raise _complaint(allowed, error) from None
    return record


def _refuse_unseen(run: AgentRun, field: Any, given: JSONValue) -> None:
    if given is None or not field.is_relation:
        return
    options = field.related_model._meta
    permission = f"{options.app_label}.view_{options.model_name}"
    if run.owner is None or not run.owner.has_perm(permission):
        raise records.no_such_record()


def _complaint(allowed: AllowedModel, error: ValidationError) -> ToolError:
    """Fields that the allow-list does not name are not the model's business."""
    told, is_elsewhere = [], False
    for name, messages in records.complaints(allowed.model, error).items():
        if name and name not in allowed.names:
            is_elsewhere = True
            continue
        text = " ".join(messages)
        told.append(f"{name}: {text}" if name else text)
    if is_elsewhere:
        told.append("other fields, which cannot be written here, would not be valid")
    return ToolError(f"This would not be a valid record. {'; '.join(told)}")


def _values(
    record: Model, allowed: AllowedModel, names: set[str]
) -> dict[str, JSONValue]:
    return records.values_of(
        record, [field for field in allowed.fields if field.name in names]
    )


def _compared_to(
    target: _Target, allowed: AllowedModel, values: dict[str, JSONValue]
) -> Proposal:
    live = target.live
    if live is None:
        return Proposal(
            model=allowed.model, values=values, before={}, draft=target.draft
        )
    before = _values(live, allowed, set(values))
    changed = {name for name, value in values.items() if value != before[name]}
    if not changed:
        raise ToolError("The record has these values already; nothing would change.")
    return Proposal(
        model=allowed.model,
        values={name: values[name] for name in values if name in changed},
        before={name: before[name] for name in before if name in changed},
        object_id=str(live.pk),
        base_digest=records.digest(live),
        draft=target.draft,
    )
