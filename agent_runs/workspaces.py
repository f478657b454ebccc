"""Drafts: how they are stored, shown, published and discarded (T15–T17).

The only writer of drafts, and the only place where what a run wrote becomes live.
Publishing is one transaction that locks the draft and then the record, so that of two who
publish one wins and the other is refused. It refuses as a whole what it may not write as
a whole: a field that the allow-list names no more is never dropped silently, since what a
person saw in the diff is what is published or nothing is.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.utils.text import capfirst

from agent_runs import allow_lists, clock, records
from agent_runs.models import Draft, DraftKind, DraftState
from agent_runs.store import STORE_AWAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from uuid import UUID

    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.db.models import Manager, Model, QuerySet

    from agent_runs.allow_lists import AllowedModel
    from agent_runs.contents import JSONValue
    from agent_runs.models import AgentRun

    Values = Mapping[str, JSONValue]

logger = logging.getLogger(__name__)

PERMISSION = "agent_runs.publish_draft"
_CHANGED = (
    "The record was changed since the draft was made. Discard the draft, and have it "
    "drafted anew."
)
_REVISED = (
    "The draft was revised since you opened it. Look at it again before you publish."
)
_GONE = "The record was deleted since the draft was made. Discard the draft."
_IN_THE_WAY = "Another record is in the way, or one that it refers to is gone."
_BROKEN = "The record could not be saved. The log says why."


class PublishRefused(Exception):  # noqa: N818 -- an answer, not a failure
    """The draft stays as it is; the sentence is for whoever asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """A field that a draft writes, as people read it; empty: no value."""

    name: str
    label: str
    before: str
    after: str


# --- Showing --------------------------------------------------------------------------


def title_of(draft: Draft) -> str:
    """«Article 12» or «new article»; no query where the content type is at hand."""
    name = draft.content_type.name
    return f"{capfirst(name)} {draft.object_id}" if draft.object_id else f"new {name}"


def values_of(draft: Draft) -> dict[str, JSONValue]:
    """Raises `ValueError` for what is no object."""
    values = json.loads(draft.values)
    if not isinstance(values, dict):
        raise ValueError("a draft holds an object")
    return values


def differences(draft: Draft) -> list[FieldDifference]:
    """An open change beside the record of now, a decided one beside that of then."""
    values = values_of(draft)
    return compared(_model_of(draft), _before(draft, values), values)


def _before(draft: Draft, values: Values) -> Values:
    stored: Values = json.loads(draft.before)
    if draft.state != DraftState.OPEN:
        return stored
    live = live_record(draft)
    if live is None:
        return stored
    known = _fields_of(type(live))
    return {
        name: records.value_of(live, known[name]) for name in values if name in known
    }


def compared(
    model: type[Model] | None, before: Values, after: Values
) -> list[FieldDifference]:
    known = _fields_of(model)
    return [
        _difference(known.get(name), name, before.get(name), value)
        for name, value in after.items()
    ]


def _difference(
    field: Any, name: str, before: JSONValue, after: JSONValue
) -> FieldDifference:
    if field is None:
        # Its app or column is gone; the draft is still history.
        label, pair = name, [_plain_text(before), _plain_text(after)]
    else:
        label, pair = str(field.verbose_name), records.texts(field, before, after)
    return FieldDifference(name=name, label=label, before=pair[0], after=pair[1])


def _plain_text(value: JSONValue) -> str:
    return "" if value is None else str(value)


def _fields_of(model: type[Model] | None) -> dict[str, Any]:
    fields = model._meta.concrete_fields if model else ()
    return {field.name: field for field in fields}


def _model_of(draft: Draft) -> type[Model] | None:
    return draft.content_type.model_class()


def live_record(draft: Draft) -> Model | None:
    """The record that the draft is about, as it is now; None: none yet, or no more."""
    model = _model_of(draft)
    if model is None or not draft.object_id:
        return None
    return _rows(model).filter(pk=draft.object_id).first()


def _rows(model: type[Model]) -> Manager[Model]:
    """All of them, whatever the app's own manager leaves out."""
    return model._base_manager  # noqa: SLF001 -- Django's documented name


def outdated(draft: Draft) -> str:
    """Why an open change can no more be published, as a sentence; empty: it can."""
    if draft.kind == DraftKind.CREATE or draft.state != DraftState.OPEN:
        return ""
    live = live_record(draft)
    if live is None:
        return _GONE
    return "" if records.digest(live) == draft.base_digest else _CHANGED


# --- Publishing and discarding --------------------------------------------------------


def permission_problem(draft: Draft, user: AbstractBaseUser | AnonymousUser) -> str:
    """Why this person may not publish it, as a sentence; empty: they may."""
    if not user.has_perm(PERMISSION):  # type: ignore[union-attr]
        return "You may not publish drafts."
    action = "add" if draft.kind == DraftKind.CREATE else "change"
    app_label, name = draft.content_type.app_label, draft.content_type.model
    if not user.has_perm(f"{app_label}.{action}_{name}"):  # type: ignore[union-attr]
        return f"You may not {action} records of {app_label}.{name}."
    return ""


def publish(
    draft_id: UUID, *, user: AbstractBaseUser, seen_at: datetime | None = None
) -> Model:
    """Make it live: all of it, or `PublishRefused` and nothing.

    `seen_at` is the `changed_at` of what the person saw: its run may revise a draft.
    """
    try:
        with transaction.atomic():
            return _publish(_locked(draft_id, seen_at=seen_at), user)
    except IntegrityError:
        # PostgreSQL looks at some references at the commit only.
        raise PublishRefused(_IN_THE_WAY) from None


def discard(draft_id: UUID, *, user: AbstractBaseUser) -> None:
    """The row stays as history; nothing of it becomes live."""
    if not user.has_perm(PERMISSION):  # type: ignore[attr-defined]
        raise PublishRefused("You may not discard drafts.")
    with transaction.atomic():
        _decide(_locked(draft_id), DraftState.DISCARDED, user)


def _locked(draft_id: UUID, *, seen_at: datetime | None = None) -> Draft:
    found = Draft.objects.select_related("content_type").select_for_update(of=("self",))
    draft = found.filter(id=draft_id).first()
    if draft is None:
        raise PublishRefused("There is no such draft.")
    if draft.state != DraftState.OPEN:
        raise PublishRefused(
            f"The draft is {draft.get_state_display().lower()} already."
        )
    if seen_at is not None and draft.changed_at != seen_at:
        raise PublishRefused(_REVISED)
    return draft


def _publish(draft: Draft, user: AbstractBaseUser) -> Model:
    if problem := permission_problem(draft, user):
        raise PublishRefused(problem)
    allowed = _still_allowed(draft)
    with _refusing(draft, allowed.model):
        record = _saved(draft, allowed)
        draft.object_id = str(record.pk)
        _log(record, draft, user)
    _decide(draft, DraftState.PUBLISHED, user)
    return record


def _saved(draft: Draft, allowed: AllowedModel) -> Model:
    values, is_new = values_of(draft), draft.kind == DraftKind.CREATE
    _refuse_withdrawn(values, allowed)
    record = allowed.model() if is_new else _locked_record(draft, allowed)
    _fill(record, allowed, values)
    _save(record, values, is_new=is_new)
    return record


def _still_allowed(draft: Draft) -> AllowedModel:
    """The allow-list of this moment has the last word (T16)."""
    model = _model_of(draft)
    allowed = allow_lists.writable().get(model._meta.label_lower) if model else None
    if allowed is None:
        name = f"{draft.content_type.app_label}.{draft.content_type.model}"
        raise PublishRefused(f"Drafts of {name} may not be published any more.")
    return allowed


def _refuse_withdrawn(values: Values, allowed: AllowedModel) -> None:
    if missing := sorted(set(values) - set(allowed.names)):
        raise PublishRefused(
            f"These fields may not be written any more: {', '.join(missing)}."
        )


def _locked_record(draft: Draft, allowed: AllowedModel) -> Model:
    found = _rows(allowed.model).select_for_update()
    record = found.filter(pk=draft.object_id).first()
    if record is None:
        raise PublishRefused(_GONE)
    if records.digest(record) != draft.base_digest:
        raise PublishRefused(_CHANGED)
    return record


@contextmanager
def _refusing(draft: Draft, model: type[Model]) -> Iterator[None]:
    """What is stored may not fit, and the record's own app may raise anything."""
    try:
        yield
    except (PublishRefused, *STORE_AWAY):
        raise
    except ValidationError as error:
        raise PublishRefused(_invalid(model, error)) from None
    except (IntegrityError, DataError):
        raise PublishRefused(_IN_THE_WAY) from None
    except Exception:
        logger.exception("publishing failed", extra={"draft": str(draft.id)})
        raise PublishRefused(_BROKEN) from None


def _fill(record: Model, allowed: AllowedModel, values: Values) -> None:
    for field in allowed.fields:
        if field.name in values:
            records.set_value(record, field, values[field.name])
    record.full_clean()


def _invalid(model: type[Model], error: ValidationError) -> str:
    told = [
        f"{name}: {' '.join(messages)}" if name else " ".join(messages)
        for name, messages in records.complaints(model, error).items()
    ]
    return f"The record would not be valid. {'; '.join(told)}"


def _save(record: Model, values: Values, *, is_new: bool) -> None:
    if is_new:
        record.save(force_insert=True)
        return
    stamps = [
        field.name
        for field in record._meta.concrete_fields
        if getattr(field, "auto_now", False)
    ]
    record.save(update_fields=[*values, *stamps])


def _decide(draft: Draft, state: DraftState, user: AbstractBaseUser) -> None:
    draft.state = state
    draft.decided_at = draft.changed_at = clock.database_now()
    draft.decided_by = user  # type: ignore[assignment]
    draft.save(
        update_fields=["state", "object_id", "decided_at", "changed_at", "decided_by"]
    )


def _log(record: Model, draft: Draft, user: AbstractBaseUser) -> None:
    is_new = draft.kind == DraftKind.CREATE
    fields = list(values_of(draft))
    done = {"added": {}} if is_new else {"changed": {"fields": fields}}
    LogEntry.objects.log_actions(
        user.pk,
        [record],
        ADDITION if is_new else CHANGE,
        change_message=[done],
        single_object=True,
    )


# --- Storing --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a draft is to hold; `draft` is an earlier one of the same run, to be revised."""

    model: type[Model]
    values: Values
    before: Values
    object_id: str = ""
    base_digest: str = ""
    draft: Draft | None = None

    @property
    def kind(self) -> DraftKind:
        return DraftKind.CHANGE if self.base_digest else DraftKind.CREATE


def drafts_of(run: AgentRun, model: type[Model]) -> QuerySet[Draft]:
    """The run's own open drafts, as a query: what its later reads see (T15)."""
    return Draft.objects.filter(
        run=run,
        workspace=run.workspace_id,
        content_type=ContentType.objects.get_for_model(model),
        state=DraftState.OPEN,
    ).order_by("created_at", "id")


def store(run: AgentRun, proposal: Proposal) -> Draft:
    """Within the caller's transaction (R13)."""
    now = clock.database_now()
    draft = proposal.draft or Draft(
        run=run,
        workspace=run.workspace,
        content_type=ContentType.objects.get_for_model(proposal.model),
        object_id=proposal.object_id,
        kind=proposal.kind,
        created_at=now,
    )
    draft.values = json.dumps(proposal.values, ensure_ascii=False)
    draft.before = json.dumps(proposal.before, ensure_ascii=False)
    draft.base_digest, draft.changed_at = proposal.base_digest, now
    draft.save()
    return draft


def overlay(record: Model, draft: Draft) -> None:
    """Make the record what the draft would have it be; nothing is stored."""
    known = _fields_of(type(record))
    for name, value in values_of(draft).items():
        if name in known:
            records.set_value(record, known[name], value)
