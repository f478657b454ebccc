from __future__ import annotations

import uuid

from a2a_client.audit import Audit
from a2a_client.models import RemoteAgent

RUN, CALL = uuid.uuid4(), uuid.uuid4()


def test_the_log_is_told_for_whom_a_request_leaves() -> None:
    """C3."""
    agent = RemoteAgent(identifier="weather", interface_url="https://agent.example/rpc")

    facts = Audit(run_id=RUN, call_id=CALL, purpose="poll").facts(agent)

    assert facts == {
        "agent": "weather",
        "host": "agent.example",
        "purpose": "poll",
        "run": str(RUN),
        "call_id": str(CALL),
    }


def test_there_need_be_no_run_and_no_call() -> None:
    facts = Audit(purpose="probe").facts(RemoteAgent(identifier="weather"))

    assert facts == {"agent": "weather", "host": "", "purpose": "probe"}
