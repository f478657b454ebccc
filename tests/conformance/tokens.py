"""Tokens for the stand's one client, in the form that the product gives its clients."""

from __future__ import annotations

import re
import secrets
from typing import Final

_FORM: Final = re.compile(r"a2a_[a-z0-9]{12}_[A-Za-z0-9_-]{43}")
_PREFIX_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def make_token() -> str:
    prefix = "".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(12))
    return f"a2a_{prefix}_{secrets.token_urlsafe(32)}"


def is_token(text: str) -> bool:
    return _FORM.fullmatch(text) is not None
