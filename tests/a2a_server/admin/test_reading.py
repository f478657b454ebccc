from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_server.admin import reading

if TYPE_CHECKING:
    from collections.abc import Callable


def test_reads_a_status_with_its_message() -> None:
    head = (
        '{"id":"t","status":{"state":"TASK_STATE_FAILED","timestamp":"2026-01-02T03:04Z",'
        '"message":{"role":"ROLE_AGENT","parts":[{"text":"It failed."}]}}}'
    )

    text = reading.status(head)

    assert text == "TASK_STATE_FAILED 2026-01-02T03:04Z\nAgent:\nIt failed.\n"


def test_reads_messages_with_every_kind_of_part() -> None:
    history = (
        '[{"role":"ROLE_USER","parts":[{"text":"Hi"},{"data":{"a":1}},'
        '{"raw":"AA==","filename":"f.pdf"},{"url":"https://x.example"}]},\n'
        '{"role":"ROLE_AGENT","parts":[{"raw":"AA=="}]}]'
    )

    lines = reading.messages(history).splitlines()

    assert lines[:5] == ["Client:", "Hi", "{", '  "a": 1', "}"]
    assert lines[5:] == ["[f.pdf]", "[https://x.example]", "", "Agent:", "[file]"]


def test_reads_artifacts_with_their_names() -> None:
    stored = '[{"name":"Summary","parts":[{"text":"Short."}]},{"parts":[]}]'

    assert reading.artifacts(stored) == "Summary:\nShort.\n\nArtifact:\n"


@pytest.mark.parametrize("read", [reading.status, reading.messages, reading.artifacts])
@pytest.mark.parametrize(
    "stored",
    ["", "no json", "7", '"x"', "[1]", '{"status":1}', '{"parts":[1]}', "[" * 9],
)
def test_shows_what_it_cannot_read_as_it_is(
    read: Callable[[str], str], stored: str
) -> None:
    """B139: no traceback for what is stored."""
    assert isinstance(read(stored), str)
