from __future__ import annotations

from a2a_protocol.methods import METHODS
from a2a_server.operations.table import OPERATIONS


def test_has_every_method_that_needs_no_capability() -> None:
    """S6: what the card does not switch on is not here."""
    plain = {name for name, method in METHODS.items() if method.capability is None}

    assert set(OPERATIONS) == plain
