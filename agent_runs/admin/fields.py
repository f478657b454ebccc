"""Form fields and cells that several pages of the admin share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.html import format_html

from agent_runs.encryption import EncryptionError

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

LONGEST_TEXT = 2_000
# What Django shows for an empty column; a method's None would read «None» on a page.
NOTHING = "-"


class LinesField(forms.Field):
    """A list of words or sentences, one a line."""

    widget = forms.Textarea(attrs={"rows": 4, "cols": 60})

    def prepare_value(self, value: Any) -> Any:
        # What a fixture stored may be no list; it is shown as it is and can be mended.
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:
        lines = [line.strip() for line in str(value or "").splitlines()]
        return list(dict.fromkeys(line for line in lines if line))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(initial != self.to_python(data))


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    if len(text) <= most:
        return text
    left_out = len(text) - most
    noun = "character" if left_out == 1 else "characters"
    return f"{text[:most]}… ({left_out} more {noun})"


def preformatted(text: str) -> SafeString:
    """Text of others, escaped, with its line breaks, and not too much of it."""
    return format_html("<pre>{}</pre>", cut(text))


def opened(record: object, name: str) -> str | None:
    """An encrypted column's text; a sentence where the keys do not open it."""
    try:
        value = getattr(record, name)
    except EncryptionError:
        return "Cannot be opened with the configured encryption keys."
    return None if value is None else str(value)


def spent(seconds: float) -> str:
    """How long, in the units that fit."""
    tenths = max(round(seconds * 10), 0)
    if tenths < 10:
        return f"{max(round(seconds * 1000), 0)} ms"
    if tenths < 600:
        return f"{tenths / 10:.1f} s"
    minutes, rest = divmod(tenths // 10, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
