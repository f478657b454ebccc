"""Which headers may carry a credential, asked when it is entered and when it is sent.

RFC 9110 sections 5.1 and 5.5, without what only some readers understand. Pure.
"""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE: Final = re.compile(r"[!-~](?:[ -~]{0,8190}[!-~])?")
# What the request itself, its connection or the protocol says with them.
_TAKEN: Final = re.compile(
    r"authorization|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade"
    r"|expect|accept|user-agent|forwarded|via"
    r"|(a2a|accept|content|if|proxy|sec|x-forwarded)-.*",
    re.IGNORECASE,
)


def is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text))


def is_taken(name: str) -> bool:
    return bool(_TAKEN.fullmatch(name))


def is_value(text: str) -> bool:
    """Visible ASCII, with blanks inside; at most 8,192 characters."""
    return bool(_VALUE.fullmatch(text))
