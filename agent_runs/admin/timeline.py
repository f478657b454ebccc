"""What happened in a run and what it wrote, as far as its events say (R15, T17)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib.admin.utils import quote
from django.db.models import Prefetch, prefetch_related_objects
from django.urls import NoReverseMatch, reverse

from agent_runs.admin.fields import cut, opened, spent
from agent_runs.models import AgentRunEvent, DraftKind
from agent_runs.models.run import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_runs.models import AgentRun

_VERDICTS = {True: "Approved", False: "Denied", None: "Approval asked for"}
# What the first column or a link says already, or what only the program needs.
_UNSHOWN: Mapping[str, set[str]] = {
    EventKind.APPROVAL: {"waiting", "approved", "by_id"},
    EventKind.ANSWER: {"by_id"},
    EventKind.DELEGATION: {"waiting"},
    EventKind.WRITE: {"object_id", "draft_id"},
}


def events_of(run: AgentRun) -> list[AgentRunEvent]:
    """In their order; read once for the whole page."""
    in_order = AgentRunEvent.objects.order_by("sequence")
    prefetch_related_objects([run], Prefetch("events", queryset=in_order))
    return list(run.events.all())


# --- What happened --------------------------------------------------------------------


def row(run: AgentRun, event: AgentRunEvent) -> dict[str, Any]:
    facts = facts_of(event)
    content = opened(event, "content")
    took = event.duration_ms
    return {
        "sequence": event.sequence,
        "at": event.created_at,
        "since": spent((event.created_at - run.created_at).total_seconds()),
        "what": _what(event, facts),
        "round": event.round or "",
        "took": "" if took is None else spent(took / 1000),
        "facts": list(_shown(event, facts)),
        "links": list(_links(facts)) if event.kind == EventKind.WRITE else [],
        "content": None if content is None else cut(content),
    }


def facts_of(event: AgentRunEvent) -> dict[str, Any]:
    return event.facts if isinstance(event.facts, dict) else {"": event.facts}


def _what(event: AgentRunEvent, facts: dict[str, Any]) -> str:
    if event.kind == EventKind.APPROVAL:
        verdict = facts.get("approved")
        return _VERDICTS[verdict if isinstance(verdict, bool) else None]
    return event.get_kind_display()


def _shown(event: AgentRunEvent, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    unshown = _UNSHOWN.get(event.kind, set())
    for name, value in facts.items():
        if value not in ("", [], {}, None) and name not in unshown:
            yield name.replace("_", " "), _fact_text(value)


def _fact_text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cut(text, 200)


# --- What it wrote --------------------------------------------------------------------


def writes(run: AgentRun) -> list[dict[str, Any]]:
    """From the events of writes alone: a row for each (T17)."""
    return [_write(event) for event in events_of(run) if event.kind == EventKind.WRITE]


def _write(event: AgentRunEvent) -> dict[str, Any]:
    facts = facts_of(event)
    kind = str(facts.get("kind", ""))
    return {
        "at": event.created_at,
        "kind": dict(DraftKind.choices).get(kind, kind),
        "model": str(facts.get("model", "")),
        "links": list(_links(facts)),
        "workspace": str(facts.get("workspace", "")),
        "tool": str(facts.get("tool", "")),
    }


def _links(facts: dict[str, Any]) -> Iterator[dict[str, str]]:
    draft, record = str(facts.get("draft_id", "")), str(facts.get("object_id", ""))
    if draft:
        url = _change_url("agent_runs.draft", draft)
        yield {"name": "draft", "text": draft[:8], "url": url}
    if record:
        url = _change_url(str(facts.get("model", "")), record)
        yield {"name": "record", "text": cut(record, 200), "url": url}


def _change_url(model: str, key: str) -> str:
    """Empty where the model has no page in the admin."""
    try:
        return reverse(f"admin:{model.replace('.', '_')}_change", args=[quote(key)])
    except NoReverseMatch:
        return ""
