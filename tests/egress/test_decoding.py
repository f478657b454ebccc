from __future__ import annotations

import gzip
import zlib

import pytest

from egress.decoding import PIECE_BYTES, Decoder
from egress.errors import BadAnswer, Reason


def _decoded(encoding: str, *raw: bytes, body_bytes: int = 10**7) -> list[bytes]:
    decoder = Decoder(encoding, host="peer.test", body_bytes=body_bytes)
    pieces = [piece for part in raw for piece in decoder.feed(part)]
    decoder.finish()
    return pieces


def _reason(encoding: str, *raw: bytes, body_bytes: int = 10**7) -> Reason:
    with pytest.raises(BadAnswer) as failure:
        _decoded(encoding, *raw, body_bytes=body_bytes)
    assert failure.value.has_left
    return failure.value.reason


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_hands_plain_bytes_on_as_they_come(encoding: str) -> None:
    assert _decoded(encoding, b"one", b"", b"two") == [b"one", b"", b"two"]


@pytest.mark.parametrize(
    "size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES]
)
def test_inflates_every_byte_at_every_seam(size: int) -> None:
    """E7."""
    text = bytes(n % 251 for n in range(size))
    raw = gzip.compress(text)

    for cut in (1, 10, len(raw) // 2, len(raw) - 1):
        assert b"".join(_decoded("gzip", raw[:cut], raw[cut:])) == text


def test_inflates_byte_by_byte() -> None:
    text = b"hello " * 1000

    raw = [bytes([byte]) for byte in gzip.compress(text)]

    assert b"".join(_decoded("gzip", *raw)) == text


def test_never_holds_more_than_a_piece() -> None:
    """E7."""
    pieces = _decoded("gzip", gzip.compress(b"\0" * 5_000_000))

    assert max(map(len, pieces)) == PIECE_BYTES


def test_no_body_at_all_is_whole() -> None:
    """As HEAD and 304 answer."""
    assert _decoded("gzip") == []


@pytest.mark.parametrize(
    "raw",
    [
        b"hello",
        gzip.compress(b"hello")[:-1],
        gzip.compress(b"hello") + b"\0",
        gzip.compress(b"hello") + gzip.compress(b"more"),
        zlib.compress(b"hello"),
        gzip.compress(b"hello")[:-8] + b"\0" * 8,
    ],
    ids=["plain", "cut", "padded", "twice", "zlib", "wrong sum"],
)
def test_refuses_what_is_no_whole_gzip(raw: bytes) -> None:
    """E7."""
    assert _reason("gzip", raw) is Reason.ENCODING


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "gzip,", "x"])
def test_refuses_every_other_encoding(encoding: str) -> None:
    """E7."""
    assert _reason(encoding) is Reason.ENCODING


def test_counts_what_comes_and_what_it_stands_for() -> None:
    """E7: the last one inflates to nothing, for ever."""
    deflater = zlib.compressobj(wbits=31)
    head = deflater.compress(b"") + deflater.flush(zlib.Z_SYNC_FLUSH)
    empty = b"\0\0\0\xff\xff"

    assert _reason("", b"x" * 11, body_bytes=10) is Reason.BODY_TOO_LARGE
    assert (
        _reason("gzip", gzip.compress(b"x" * 101), body_bytes=100)
        is Reason.BODY_TOO_LARGE
    )
    assert _reason("gzip", head, *[empty] * 50, body_bytes=100) is Reason.BODY_TOO_LARGE
