"""Which version of the protocol a request speaks: specification 3.6.

Only Major.Minor counts; a patch number of ours is accepted and ignored, since clients
send the version of the specification that they were built from. No version means 0.3,
also when the header is there but empty; it is never taken for the newest.
"""

from __future__ import annotations

import re
from typing import Final

from a2a_protocol.errors import ErrorCode, ProtocolError

SUPPORTED: Final = ("1.0",)

_ASSUMED: Final = "0.3"
# The header is what most callers forgot, and the code's own sentence does not name it.
_REFUSAL: Final = (
    "This version of the protocol is not spoken here. Send the header A2A-Version: "
    f"{' or '.join(SUPPORTED)}; without it a request counts as {_ASSUMED}."
)
_MAJOR_MINOR: Final = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]{1,9})?")


def negotiate(header: str | None, query: str | None) -> str:
    """The version to serve. Raises ProtocolError (VERSION_NOT_SUPPORTED).

    ``header`` and ``query`` are None where absent; the query counts only then.
    """
    asked = query if header is None else header
    match = _MAJOR_MINOR.fullmatch((asked or "").strip(" \t") or _ASSUMED)
    if match is None or match[1] not in SUPPORTED:
        raise ProtocolError(
            code=ErrorCode.VERSION_NOT_SUPPORTED,
            message=_REFUSAL,
            metadata={"supportedVersions": ",".join(SUPPORTED)},
        )
    return match[1]
