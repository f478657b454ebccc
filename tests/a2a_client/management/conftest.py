from __future__ import annotations

import io

import pytest


class Terminal(io.StringIO):
    """Standard input that somebody types into, or that is piped."""

    def __init__(self, typed: str = "", *, is_terminal: bool) -> None:
        super().__init__(typed)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class Input:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def typed(self, text: str) -> None:
        self._monkeypatch.setattr("sys.stdin", Terminal(text, is_terminal=True))

    def piped(self, text: str) -> None:
        self._monkeypatch.setattr("sys.stdin", Terminal(text, is_terminal=False))


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Input:
    """Nothing is piped in until a test says so."""
    given = Input(monkeypatch)
    given.piped("")
    return given
