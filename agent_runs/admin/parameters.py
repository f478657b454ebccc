"""A tool's parameters as rows that people read; the JSON schema is what a model reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "object": "object",
    "array": "list",
    "null": "nothing",
}
_LIMITS = {
    "minLength": "length at least {}",
    "maxLength": "length at most {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "minimum": "not below {}",
    "maximum": "not above {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "pattern": "of the form {}",
    "format": "{}",
}
# A schema may name itself.
_DEEPEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    kind: str
    is_required: bool
    limits: str
    description: str


def parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    named = schema.get("$defs", {})
    required = schema.get("required", [])
    return [
        Parameter(
            name=name,
            kind=_kind(found, named),
            is_required=name in required,
            limits=_limits(found),
            description=str(found.get("description", "")),
        )
        for name, found in schema.get("properties", {}).items()
    ]


def _kind(schema: Mapping[str, Any], named: Mapping[str, Any], depth: int = 0) -> str:
    if depth > _DEEPEST:
        return "…"
    if "$ref" in schema:
        target = named.get(str(schema["$ref"]).rpartition("/")[2], {})
        return _kind(target, named, depth + 1)
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if choices:
        return f"one of {', '.join(map(_shown, choices))}"
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_kind(each, named, depth + 1) for each in alternatives)
    if schema.get("type") == "array" and schema.get("items"):
        return f"list of {_kind(schema['items'], named, depth + 1)}"
    return _KINDS.get(str(schema.get("type")), "anything")


def _limits(schema: Mapping[str, Any]) -> str:
    found = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema]
    if schema.get("default") not in (None, "", [], {}):
        found.append(f"without it {_shown(schema['default'])}")
    return ", ".join(found)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"«{value}»"
    return json.dumps(value, ensure_ascii=False, default=str)
