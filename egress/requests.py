"""Builds what is sent, from judged pieces only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpcore2

from egress.errors import Reason, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from egress.operation import Operation
    from egress.urls import Target

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
# What decides where a request goes, or where it ends.
_TAKEN = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host"}
    | {"keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer"}
    | {"transfer-encoding", "upgrade"}
)
_WITH_BODY = frozenset({"PATCH", "POST", "PUT"})


def build(
    operation: Operation,
    target: Target,
    *,
    method: str,
    headers: Mapping[str, str],
    content: bytes,
) -> httpcore2.Request:
    """Raises `Refused` for a header that may not be sent."""
    own = {"Host": target.authority, "Accept-Encoding": "identity"}
    if content or method in _WITH_BODY:
        own["Content-Length"] = str(len(content))
    limits = operation.limits
    return httpcore2.Request(
        method,
        httpcore2.URL(
            scheme=target.scheme, host=target.host, port=target.port, target=target.path
        ),
        headers=[*map(_line, own.items()), *map(_line, _judged(headers).items())],
        content=content,
        extensions={
            "timeout": {
                "connect": limits.connect_seconds,
                "read": limits.idle_seconds,
                "write": limits.idle_seconds,
            },
            "trace": operation.trace,
        },
    )


def _line(header: tuple[str, str]) -> tuple[bytes, bytes]:
    name, value = header
    return name.encode("ascii"), value.encode("latin-1")


def _judged(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Never says a value: it may be a secret."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Refused(
                Reason.BAD_REQUEST,
                "A header's name or value holds a character that HTTP does not carry. "
                "Leave out line breaks and whatever is not Latin.",
            )
        if name.lower() in _TAKEN:
            raise Refused(
                Reason.BAD_REQUEST,
                f"The header «{name}» is set by the connection itself. Choose another.",
            )
    return headers
