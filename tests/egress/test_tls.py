from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from egress import client, tls
from tests.egress import peers
from tests.egress.peers import StubResolver

if TYPE_CHECKING:
    from pathlib import Path


def test_checks_names_and_certificates_and_speaks_no_old_tls() -> None:
    """E5."""
    context = tls.context()

    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert tls.context() is context


async def test_a_private_authority_is_trusted_besides(tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    peers.authority().cert_pem.write_to_path(str(ca_file))
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        client.open_client(
            peers.policy_for(peer),
            resolver=StubResolver(),
            ssl_context=tls.context(str(ca_file)),
        ) as opened,
    ):
        answer = await opened.request("GET", peer.url())

    assert answer.status == 200
    assert tls.context(str(ca_file)) is not tls.context()


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, text: str | None
) -> None:
    ca_file = tmp_path / "ca.pem"
    if text is not None:
        ca_file.write_text(text)

    with pytest.raises(OSError):  # noqa: PT011
        tls.context(str(ca_file))
