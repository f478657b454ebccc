"""Fills in pages as a browser without JavaScript does: only what the page holds is sent.

`values_of` reads the controls of one form; a test changes some of them and posts the rest
as it came, so that a page that forgets a field fails.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client

Attributes = list[tuple[str, str | None]]


class _FormReader(HTMLParser):
    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id = form_id
        self.values: dict[str, Any] = {}
        self._is_inside = False
        self._textarea = self._select = ""

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_inside = found.get("id") == self.form_id
        elif self._is_inside:
            self._control(tag, found)

    def _control(self, tag: str, found: dict[str, str]) -> None:
        name = found.get("name", "")
        if tag == "input" and name:
            self._input(name, found)
        elif tag == "textarea":
            self._textarea, self.values[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in found:
            self.values.setdefault(self._select, []).append(found.get("value", ""))

    def _input(self, name: str, found: dict[str, str]) -> None:
        kind = found.get("type", "text")
        is_off = kind in {"checkbox", "radio"} and "checked" not in found
        if kind in {"submit", "button"} or is_off:
            return
        value: Any = found.get("value", "on" if kind == "checkbox" else "")
        if kind == "checkbox" and name in self.values:
            # Several boxes of one name are one list.
            earlier = self.values[name]
            value = [*(earlier if isinstance(earlier, list) else [earlier]), value]
        self.values[name] = value

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            # A browser drops the line break that follows the tag.
            text = self.values[self._textarea]
            self.values[self._textarea] = text.removeprefix("\r\n").removeprefix("\n")
            self._textarea = ""
        elif tag == "form":
            self._is_inside = False


def values_of(response: Any, form_id: str) -> dict[str, Any]:
    reader = _FormReader(form_id)
    reader.feed(response.content.decode())
    assert reader.values, f"the page holds no form {form_id}"
    return reader.values


def save(browser: Client, url: str, form_id: str, **changes: Any) -> Any:
    """Open the page, change some controls (None: clear it) and press «Save»."""
    page = browser.get(url)
    values = values_of(page, form_id) | changes
    sent = {name: value for name, value in values.items() if value is not None}
    return browser.post(url, sent | {"_save": "Save"}, follow=True)


def sentences(response: Any) -> list[str]:
    """What the page tells on top, after a redirect."""
    return [str(message) for message in response.context["messages"]]


def errors(response: Any) -> str:
    """Every sentence of a refused form, its rows included; empty where it was saved."""
    found: list[str] = []
    context = response.context
    if "adminform" in context:
        found += _errors_of(context["adminform"].form)
        for inline in context.get("inline_admin_formsets", ()):
            found += inline.formset.non_form_errors()
            found += [e for form in inline.formset for e in _errors_of(form)]
    formset = getattr(context.get("cl"), "formset", None)
    if formset is not None:
        found += [e for form in formset for e in _errors_of(form)]
    return "\n".join(found)


def _errors_of(form: Any) -> list[str]:
    return [str(error) for errors in form.errors.values() for error in errors]
