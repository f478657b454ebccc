"""The id of a JSON-RPC request, kept as the JSON text it is echoed with.

Clients compare the id of a reply by value and by type, so an id is never turned into
a Python value and back: what is stored here is exactly what goes out again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestId:
    json: str


NULL_ID = RequestId(json="null")
