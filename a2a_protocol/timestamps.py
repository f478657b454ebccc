"""Moments on the wire: RFC 3339 in, UTC with milliseconds and ``Z`` out.

Read: any offset and up to nine digits of a second, of which the first six are kept; the
rest is cut off, never rounded, so that a moment does not slip into the next second.
Refused: a moment without an offset (whose clock would it be?), a date alone, days and
hours that do not exist, years outside 1…9999, and the second 60, because neither a
protobuf Timestamp nor ``datetime`` has one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from a2a_protocol.errors import ErrorCode, LocalError, invalid_params

_RFC_3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_MICROSECOND_DIGITS: Final = 6
_LAST_MINUTE: Final = 59


def parse_timestamp(text: str) -> datetime:
    """An aware moment in UTC. Raises ProtocolError (INVALID_PARAMS)."""
    moment = moment_or_none(text)
    if moment is None:
        raise invalid_params("", "A moment in RFC 3339 with an offset is needed here.")
    return moment


def moment_or_none(text: str) -> datetime | None:
    match = _RFC_3339.fullmatch(text)
    if match is None:
        return None
    *date_and_time, fraction, sign, hours, minutes = match.groups()
    digits = (fraction or "")[:_MICROSECOND_DIGITS].ljust(_MICROSECOND_DIGITS, "0")
    year, month, day, hour, minute, second = map(int, date_and_time)
    try:
        return datetime(
            year,
            month,
            day,
            hour,
            minute,
            second,
            int(digits),
            tzinfo=_offset(sign, hours, minutes),
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_timestamp(moment: datetime) -> str:
    """Raises LocalError for a moment without a time zone."""
    if moment.tzinfo is None:
        raise LocalError(code=ErrorCode.INTERNAL)
    try:
        text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    except OverflowError:
        raise LocalError(code=ErrorCode.INTERNAL) from None
    return f"{text.removesuffix('+00:00')}Z"


def _offset(sign: str | None, hours: str, minutes: str) -> timezone:
    if sign is None:
        return UTC
    if int(minutes) > _LAST_MINUTE:
        raise ValueError(minutes)
    distance = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-distance if sign == "-" else distance)
