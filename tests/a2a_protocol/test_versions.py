from __future__ import annotations

import pytest

from a2a_protocol import versions
from a2a_protocol.errors import ErrorCode, ProtocolError, error_details


@pytest.mark.parametrize(
    ("header", "query"),
    [
        pytest.param("1.0", None, id="header"),
        pytest.param(" 1.0\t", None, id="blanks around it"),
        pytest.param("1.0.1", None, id="a patch number is ignored"),
        pytest.param("1.0.999", None, id="of any size"),
        pytest.param(None, "1.0", id="query"),
        pytest.param("1.0", "0.3", id="the header wins"),
    ],
)
def test_serves_1_0(header: str | None, query: str | None) -> None:
    """S11, B015, B017."""
    assert versions.negotiate(header, query) == "1.0"


@pytest.mark.parametrize(
    ("header", "query"),
    [
        pytest.param(None, None, id="absent means 0.3"),
        pytest.param("", None, id="empty means 0.3"),
        pytest.param("  ", None, id="blank means 0.3"),
        pytest.param("", "1.0", id="an empty header is a header"),
        pytest.param(None, "", id="empty query"),
        pytest.param("0.3", "1.0", id="the header wins"),
        pytest.param("1", None, id="no minor"),
        pytest.param("1.1", None, id="newer"),
        pytest.param(None, "9.9", id="much newer"),
        pytest.param("1.0.", None, id="half a patch"),
        pytest.param("1.0.x", None, id="not a number"),
        pytest.param("1.0.1.2", None, id="four numbers"),
        pytest.param("v1.0", None, id="a letter"),
        pytest.param("1.0, 1.0", None, id="two headers joined"),
        pytest.param("1.٠", None, id="digits of another script"),
        pytest.param("1.0\n", None, id="a line break"),
    ],
)
def test_refuses_every_other_version(header: str | None, query: str | None) -> None:
    """S11, B015, B017. Prose against proto: an empty header is 0.3, hence refused."""
    with pytest.raises(ProtocolError) as caught:
        versions.negotiate(header, query)

    details = error_details(caught.value)
    assert caught.value.code is ErrorCode.VERSION_NOT_SUPPORTED
    assert details[0]["reason"] == "VERSION_NOT_SUPPORTED"
    assert details[0]["metadata"] == {"supportedVersions": "1.0"}
    assert "A2A-Version: 1.0" in caught.value.message
