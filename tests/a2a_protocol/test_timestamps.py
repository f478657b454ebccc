from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from a2a_protocol.errors import ErrorCode, LocalError, ProtocolError
from a2a_protocol.timestamps import format_timestamp, parse_timestamp

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-01-02T03:04:05Z", MOMENT, id="plain"),
        pytest.param("2026-01-02t03:04:05z", MOMENT, id="RFC 3339 allows lower case"),
        pytest.param(
            "2026-01-02T03:04:05.123456789Z",
            MOMENT.replace(microsecond=123456),
            id="nanoseconds are cut off",
        ),
        pytest.param(
            "2026-01-02T03:04:05.999999999Z",
            MOMENT.replace(microsecond=999999),
            id="and never rounded up",
        ),
        pytest.param(
            "2026-01-02T03:04:05.5Z", MOMENT.replace(microsecond=500000), id="one digit"
        ),
        pytest.param("2026-01-02T05:04:05+02:00", MOMENT, id="east"),
        pytest.param("2026-01-01T21:34:05-05:30", MOMENT, id="west"),
        pytest.param("2026-01-02T03:04:05-00:00", MOMENT, id="unknown local offset"),
        pytest.param(
            "0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC), id="first year"
        ),
        pytest.param(
            "9999-12-31T23:59:59Z",
            datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
            id="last year",
        ),
    ],
)
def test_reads_rfc_3339(text: str, moment: datetime) -> None:
    """S13, B031."""
    parsed = parse_timestamp(text)

    assert parsed == moment
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2026-01-02T03:04:05", id="naive"),
        pytest.param("2026-01-02", id="date only"),
        pytest.param("2026-02-30T00:00:00Z", id="no such day"),
        pytest.param("2026-13-01T00:00:00Z", id="no such month"),
        pytest.param("2026-01-02T24:00:00Z", id="no such hour"),
        pytest.param("2016-12-31T23:59:60Z", id="leap second"),
        pytest.param("10000-01-01T00:00:00Z", id="year of five digits"),
        pytest.param("0000-01-01T00:00:00Z", id="year zero"),
        pytest.param("1767323045", id="seconds since 1970"),
        pytest.param("2026-01-02 03:04:05Z", id="a blank for the T"),
        pytest.param("2026-01-02T03:04:05 02:00", id="a plus that became a blank"),
        pytest.param("2026-01-02T03:04:05+0200", id="no colon in the offset"),
        pytest.param("2026-01-02T03:04:05+24:00", id="offset of a day"),
        pytest.param("2026-01-02T03:04:05+01:60", id="offset of sixty minutes"),
        pytest.param("2026-01-02T03:04:05.Z", id="a point without digits"),
        pytest.param("2026-01-02T03:04:05.1234567890Z", id="ten digits"),
        pytest.param("2026-01-02T03:04Z", id="no seconds"),
        pytest.param("2026-01-02T03:04:05Z\n", id="line break"),
        pytest.param("٢٠٢٦-01-02T03:04:05Z", id="digits of another script"),
        pytest.param("0001-01-01T00:00:00+05:00", id="before the first year"),
        pytest.param("9999-12-31T23:59:59-05:00", id="after the last year"),
        pytest.param("", id="empty"),
    ],
)
def test_refuses_what_is_no_moment(text: str) -> None:
    """S13, B031."""
    with pytest.raises(ProtocolError) as caught:
        parse_timestamp(text)

    assert caught.value.code is ErrorCode.INVALID_PARAMS


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        pytest.param(MOMENT, "2026-01-02T03:04:05.000Z", id="three digits always"),
        pytest.param(
            MOMENT.replace(microsecond=999999),
            "2026-01-02T03:04:05.999Z",
            id="cut off, not rounded",
        ),
        pytest.param(
            MOMENT.astimezone(timezone(timedelta(hours=2))),
            "2026-01-02T03:04:05.000Z",
            id="another zone",
        ),
        pytest.param(
            datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z", id="early year"
        ),
    ],
)
def test_writes_utc_with_milliseconds(moment: datetime, text: str) -> None:
    """S13, B031."""
    assert format_timestamp(moment) == text


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(MOMENT.replace(tzinfo=None), id="naive"),
        pytest.param(
            datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5))),
            id="out of range in UTC",
        ),
    ],
)
def test_does_not_write_what_cannot_be_read(moment: datetime) -> None:
    with pytest.raises(LocalError):
        format_timestamp(moment)
