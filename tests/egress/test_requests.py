from __future__ import annotations

import pytest

from egress import requests, urls
from egress.errors import Reason, Refused
from egress.limits import Limits
from egress.operation import Operation

SECRET = "s3cret"


async def _lines(
    headers: dict[str, str], *, method: str = "GET", content: bytes = b""
) -> dict[bytes, bytes]:
    target = urls.parse("https://agent.test:8443/a?b")
    operation = Operation(target.host, Limits())
    request = requests.build(
        operation, target, method=method, headers=headers, content=content
    )
    return dict(request.headers)


async def test_names_the_host_and_asks_for_no_encoding() -> None:
    """E5, E7."""
    assert await _lines({"Accept": "text/html"}) == {
        b"Host": b"agent.test:8443",
        b"Accept-Encoding": b"identity",
        b"Accept": b"text/html",
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_says_how_long_the_body_is_even_where_there_is_none(method: str) -> None:
    assert (await _lines({}, method=method))[b"Content-Length"] == b"0"


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "HOST",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Accept-Encoding",
        "Proxy-Authorization",
        "Upgrade",
        "TE",
    ],
)
async def test_nobody_else_says_where_a_request_goes_or_ends(name: str) -> None:
    with pytest.raises(Refused, match=f"«{name}»") as refusal:
        await _lines({name: SECRET})

    assert refusal.value.reason is Reason.BAD_REQUEST
    assert SECRET not in refusal.value.sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Key", f"{SECRET}\r\nX-Other: 1"),
        ("X-Key", f"{SECRET}\0"),
        ("X-Key", f"{SECRET}€"),
        ("X-Key\r\nX-Other", SECRET),
        ("X Key", SECRET),
        ("X-Schlüssel", SECRET),
        ("", SECRET),
    ],
)
async def test_refuses_headers_that_http_does_not_carry(name: str, value: str) -> None:
    with pytest.raises(Refused) as refusal:
        await _lines({name: value})

    assert refusal.value.reason is Reason.BAD_REQUEST
    assert SECRET not in refusal.value.sentence


async def test_a_connection_is_asked_for_under_no_other_name() -> None:
    """E5: an extension of the pool's would replace the name in TLS."""
    target = urls.parse("https://agent.test/")
    request = requests.build(
        Operation(target.host, Limits()), target, method="GET", headers={}, content=b""
    )

    assert set(request.extensions) == {"timeout", "trace"}
