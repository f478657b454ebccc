"""One judge of headers for whoever enters a credential and for whoever sends it."""

from __future__ import annotations

import pytest

from a2a_client import header_fields


@pytest.mark.parametrize(
    ("name", "is_name"),
    [
        ("X-Api-Key", True),
        ("x!#$%&'*+.^_`|~-9", True),
        ("a" * 200, True),
        ("a" * 201, False),
        ("", False),
        ("X Key", False),
        ("X-Key:", False),
        ("X-Schlüssel", False),
        ("X-Key\n", False),
    ],
)
def test_a_name_is_a_token(name: str, is_name: bool) -> None:
    """RFC 9110, section 5.6.2."""
    assert header_fields.is_name(name) is is_name


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "HOST",
        "te",
        "Via",
        "A2A-Version",
        "accept-language",
        "Content-Length",
        "Proxy-Authorization",
        "X-Forwarded-For",
        "User-Agent",
    ],
)
def test_what_the_request_says_itself_is_taken(name: str) -> None:
    assert header_fields.is_taken(name)


@pytest.mark.parametrize("name", ["X-Api-Key", "Api-Key", "Hosts", "X-Via", "Ifs"])
def test_other_names_are_free(name: str) -> None:
    assert not header_fields.is_taken(name)


@pytest.mark.parametrize(
    ("value", "is_value"),
    [
        ("k", True),
        ("key with spaces", True),
        ("k" * 8192, True),
        ("k" * 8193, False),
        ("", False),
        (" k", False),
        ("k ", False),
        ("k\r\nHost: x", False),
        ("clé", False),
    ],
    ids=range(9),
)
def test_a_value_is_visible_ascii(value: str, is_value: bool) -> None:
    """RFC 9110, section 5.5, without what only some readers understand."""
    assert header_fields.is_value(value) is is_value
