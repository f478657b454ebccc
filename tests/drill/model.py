"""What the model says in the drill: a function of what it was sent, so that a call that
is made again is answered as before.

«draft …» reads, asks, drafts and is done; «send …» sends a letter and is done; «hand-over
…», «follow …», «pass-on …» and «linger …» have a remote agent do something and are done.
Call ids are the same in every run: the answer to one run must never reach another.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.agent_runs import openai_server
from tests.drill.visiting import wait_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.agent_runs.openai_server import Answer

DRAFT = "draft"
SEND = "send"
# The agent is polled; its stream is followed; it asks something first; it never ends.
HAND_OVER = "hand-over"
FOLLOW = "follow"
PASS_ON = "pass-on"
LINGER = "linger"
HANDOVERS = (HAND_OVER, FOLLOW, PASS_ON, LINGER)
# The agents' identifiers.
POLLED = "polled"
STREAMING = "streaming"

_ARTICLE = {"title": "A title", "section": 1, "text": "A text."}
_TURNS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    DRAFT: (
        ("list_records", {"model": "newsroom.section"}),
        ("ask_choice", {"question": "For which section?", "options": ["News", "Art"]}),
        ("draft_record", {"model": "newsroom.article", "values": _ARTICLE}),
    ),
    SEND: (("drill_send", {"text": "A letter."}),),
    HAND_OVER: ((f"a2a_{POLLED}", {}),),
    FOLLOW: ((f"a2a_{STREAMING}", {}),),
    PASS_ON: ((f"a2a_{POLLED}", {}),),
    LINGER: ((f"a2a_{POLLED}", {}),),
}
TOOLS = tuple(name for task in (DRAFT, SEND) for name, _ in _TURNS[task])


class DrillModel:
    """Each call visits the gate, as `<run id>/request`; `run_ids` are by the prompt."""

    def __init__(self, gate_port: int) -> None:
        self.base_url = ""
        self.run_ids: dict[str, str] = {}
        self._gate_port = gate_port

    def answer(self, body: dict[str, Any]) -> Answer:
        prompt = _text(next(m for m in body["messages"] if m["role"] == "user"))
        wait_at(self._gate_port, f"{self.run_ids[prompt]}/request")
        turns = _TURNS[prompt.split()[0]]
        number = sum(message["role"] == "tool" for message in body["messages"])
        if number == len(turns):
            return openai_server.stream(prompt, " is done")
        name, arguments = turns[number]
        if name.startswith("a2a_"):
            arguments = {"task": prompt}
        return openai_server.tool_call(
            name, json.dumps(arguments), call_id=f"call-{number}"
        )


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


@contextmanager
def running(gate_port: int) -> Iterator[DrillModel]:
    model = DrillModel(gate_port)
    with openai_server.running() as server:
        server.answer = model.answer
        model.base_url = server.base_url
        yield model
