"""Reads typed values from the process environment, loudly.

Only `settings.py` uses this module, and `local.py`, which adds to some values. A value
that is present but cannot be read raises `ImproperlyConfigured` with the variable's name;
nothing is guessed.
"""

from __future__ import annotations

import importlib.util
import os
from importlib.machinery import PathFinder
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """Read NAME, or the content of the file that NAME_FILE points to."""
    if name in os.environ:
        return os.environ[name].strip()
    path = os.environ.get(f"{name}_FILE", "")
    if not path:
        return default
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read.") from error


def boolean(name: str, default: bool = False) -> bool:
    value = text(name, "on" if default else "off").lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be on or off, not {value!r}.")


def integer(name: str, default: int) -> int:
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number.") from error


def words(name: str, default: str = "") -> list[str]:
    """Read a list whose items are separated by commas or white space."""
    return text(name, default).replace(",", " ").split()


def fields_by_model(name: str) -> dict[str, tuple[str, ...]]:
    """Read words like `app_label.model:field,field`; system checks judge them."""
    found: dict[str, tuple[str, ...]] = {}
    for word in text(name).split():
        model, _, fields = word.partition(":")
        found[model] = (*found.get(model, ()), *fields.split(","))
    return found


def apps(name: str) -> list[str]:
    """Read a list of Django apps, each a package or the path of its configuration."""
    found = words(name)
    for app in found:
        if not _may_be_imported(app):
            raise ImproperlyConfigured(
                f"{name} names {app}, and there is no such app beside manage.py or on "
                "PYTHONPATH."
            )
    return found


def _may_be_imported(dotted: str) -> bool:
    """Imports nothing, since an app must not be imported before the settings are read."""
    top, *names = dotted.split(".")
    spec = importlib.util.find_spec(top) if top else None
    for name in names:
        if spec is None or spec.submodule_search_locations is None:
            break
        below = PathFinder.find_spec(
            f"{spec.name}.{name}", spec.submodule_search_locations
        )
        if below is None:
            # A configuration may also be a name within a package.
            return name is names[-1] and name[:1].isupper()
        spec = below
    return spec is not None
