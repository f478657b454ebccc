from __future__ import annotations

import json
from typing import Any

import pytest

from a2a_client import accumulating, outcomes
from a2a_client.accumulating import Cut, TaskSoFar, TooMuch
from a2a_client.outcomes import Asks, Ended, Finished, NeedsAuth
from tests.a2a_client import agents

IDS: Any = {"task_id": "R1", "context_id": "K1"}
EVENT_IDS: Any = {"taskId": "R1", "contextId": "K1"}


def snapshot(state: str = "WORKING", **members: Any) -> dict[str, Any]:
    return {"task": agents.task(state, **members)}


def status(state: str = "COMPLETED", **members: Any) -> dict[str, Any]:
    told = agents.task(state, say=members.pop("say", None))["status"]
    return {"statusUpdate": EVENT_IDS | {"status": told} | members}


def chunk(
    *texts: str, id_: str = "a1", append: bool = True, **members: Any
) -> dict[str, Any]:
    artifact = agents.artifact(*texts, id_=id_)
    told = EVENT_IDS | {"artifact": artifact, "append": append}
    return {"artifactUpdate": told | members}


def told(*events: dict[str, Any]) -> TaskSoFar:
    so_far = TaskSoFar()
    for event in events:
        assert so_far.take(event) == ()
    return so_far


def text_of(so_far: TaskSoFar) -> str:
    settled = so_far.settled()
    assert isinstance(settled, Finished)
    return settled.text


HELLO = (
    chunk("Hello, ", append=False),
    chunk("world"),
    chunk("!", lastChunk=True),
)


def test_a_question_that_was_answered_ends_no_stream() -> None:
    """C8: the agent begins with the task as it stood."""
    asks = told(snapshot("INPUT_REQUIRED", say="Why?")).settled()
    assert isinstance(asks, Asks)
    so_far = TaskSoFar(answered=asks.mark)

    so_far.take(snapshot("INPUT_REQUIRED", say="Why?"))
    has_ended, settled = so_far.is_over, so_far.settled()
    so_far.take(status("COMPLETED", say="So."))

    assert not has_ended
    assert settled == Cut(**IDS)
    assert text_of(so_far) == "So."


def test_chunks_are_put_together_once() -> None:
    """B114."""
    whole = agents.artifact("Hello, world!", id_="a1")

    so_far = told(snapshot(), *HELLO, snapshot(artifacts=[whole]), status("COMPLETED"))

    assert so_far.settled() == Finished(
        text="Hello, world!", artifact_names=("a1",), **IDS
    )


def test_chunks_are_enough_without_a_snapshot() -> None:
    """B114."""
    so_far = told(*HELLO, status())

    assert text_of(so_far) == "Hello, world!"
    assert (so_far.task_id, so_far.context_id) == ("R1", "K1")


def test_a_snapshot_replaces_what_was_told() -> None:
    """B114."""
    other = agents.artifact("Other", id_="a2")

    so_far = told(*HELLO, snapshot("COMPLETED", artifacts=[other]))

    assert text_of(so_far) == "Other"


def test_a_chunk_that_is_not_appended_replaces_its_artifact() -> None:
    so_far = told(*HELLO, chunk("Anew", append=False), chunk(" too"), status())

    assert text_of(so_far) == "Anew too"


def test_a_chunk_may_go_on_with_an_artifact_of_a_snapshot() -> None:
    """B106: the stream was cut and is taken up again."""
    half = agents.artifact("Hello, ", id_="a1")

    so_far = told(snapshot(artifacts=[half]), chunk("world"), status())

    assert text_of(so_far) == "Hello, world"


def test_a_chunk_that_is_appended_to_nothing_begins_an_artifact() -> None:
    """B114."""
    so_far = told(snapshot())

    notes = so_far.take(chunk("Hello, "))

    assert notes == ("artifact «a1»: It is not known; it begins with this chunk.",)
    assert so_far.take(chunk("world")) == ()
    so_far.take(status())
    assert text_of(so_far) == "Hello, world"


def test_interleaved_artifacts_stay_apart_and_in_order() -> None:
    """B114."""
    so_far = told(
        chunk("one, ", id_="a1", append=False),
        chunk("three, ", id_="a2", append=False),
        chunk("two", id_="a1"),
        chunk("four", id_="a2"),
        status(),
    )

    assert text_of(so_far) == "one, two\n\nthree, four"


def test_replayed_events_do_not_double_a_text() -> None:
    """B114."""
    so_far = TaskSoFar()
    events = [(str(number), event) for number, event in enumerate(HELLO, 1)]
    # The first chunk would begin anew, and so hide that the others came twice.
    for id_, event in [*events, *events[1:], ("9", status())]:
        so_far.take(event, event_id=id_)

    assert text_of(so_far) == "Hello, world!"


def test_a_replayed_status_does_not_take_a_task_back() -> None:
    so_far = TaskSoFar()
    so_far.take(status("WORKING", say="Beginning."), event_id="1")
    so_far.take(status("INPUT_REQUIRED"), event_id="2")

    so_far.take(status("WORKING", say="Beginning."), event_id="1")

    assert isinstance(so_far.settled(), Asks)


def test_events_without_ids_are_never_taken_for_replays() -> None:
    ha = chunk("ha")

    so_far = told(chunk("ha", append=False), ha, ha, status())

    assert text_of(so_far) == "hahaha"


def test_an_id_that_is_given_again_to_something_else_is_no_replay() -> None:
    so_far = TaskSoFar()
    for event in (*HELLO, status()):
        so_far.take(event, event_id="1")

    assert text_of(so_far) == "Hello, world!"


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("COMPLETED", Finished),
        ("FAILED", Ended),
        ("REJECTED", Ended),
        ("CANCELED", Ended),
        ("INPUT_REQUIRED", Asks),
        ("AUTH_REQUIRED", NeedsAuth),
    ],
)
@pytest.mark.parametrize("event", [snapshot, status])
def test_a_state_that_ends_the_task_or_waits_for_us_ends_the_stream(
    event: Any, state: str, kind: type
) -> None:
    """B106: whether or not the agent closes it."""
    so_far = told(status("SUBMITTED"))
    assert not so_far.is_over

    so_far.take(event(state))

    assert so_far.is_over
    assert isinstance(so_far.settled(), kind)


def test_a_message_ends_the_stream() -> None:
    so_far = told(snapshot(), {"message": agents.message("Hi", contextId="K2")})

    assert so_far.is_over
    assert so_far.settled() == Finished(text="Hi", context_id="K2")


def test_what_comes_after_the_end_is_passed_over() -> None:
    so_far = told(*HELLO, status())

    assert so_far.take(chunk(" More.")) == (accumulating.LATE,)
    assert text_of(so_far) == "Hello, world!"


@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING"])
def test_an_end_before_the_task_has_ended_is_a_cut(state: str) -> None:
    """B106: half a text is no result."""
    so_far = told(*HELLO, status(state))

    assert not so_far.is_over
    assert so_far.settled() == Cut(**IDS)


def test_an_end_before_anything_was_told_is_a_cut_without_a_task() -> None:
    """B106."""
    assert TaskSoFar().settled() == Cut()


def test_an_unknown_state_goes_on() -> None:
    """C4."""
    so_far = told(*HELLO)

    notes = so_far.take(status("PAUSED"))

    assert outcomes.UNKNOWN_STATE in notes
    assert so_far.settled() == Cut(**IDS)


def test_an_event_of_an_unknown_kind_is_passed_over() -> None:
    """C4."""
    so_far = told(*HELLO)

    assert so_far.take({"hologram": {"taskId": "R1"}}) != ()
    so_far.take(status())
    assert text_of(so_far) == "Hello, world!"


@pytest.mark.parametrize(
    "event", [None, [], "x", {"task": {}}, {"statusUpdate": {"status": {}}}]
)
def test_an_event_that_cannot_be_read_is_passed_over(event: Any) -> None:
    """C4."""
    so_far = told(*HELLO)

    assert so_far.take(event) == (accumulating.UNREADABLE,)
    so_far.take(status())
    assert text_of(so_far) == "Hello, world!"


@pytest.mark.parametrize(
    "event",
    [
        snapshot("COMPLETED", id="R2"),
        status("COMPLETED", taskId="R2"),
        chunk("x", taskId="R2"),
    ],
)
def test_an_event_about_another_task_is_passed_over(event: dict[str, Any]) -> None:
    so_far = told(snapshot())

    assert so_far.take(event) == (accumulating.OF_ANOTHER_TASK,)
    assert so_far.settled() == Cut(**IDS)


@pytest.mark.parametrize(("given", "kept"), [("K2", "K2"), ("", "K1")])
def test_the_context_is_the_one_that_the_agent_named_last(
    given: str, kept: str
) -> None:
    """B112."""
    so_far = told(snapshot(), status("WORKING", contextId=given))

    assert so_far.context_id == kept


def test_events_are_bounded() -> None:
    so_far = TaskSoFar()
    for _ in range(accumulating.MOST_EVENTS):
        so_far.take(status("WORKING"))
    assert not so_far.is_over

    so_far.take(status("COMPLETED"))

    assert so_far.is_over
    assert so_far.settled() == TooMuch(
        sentence="The agent sent more than 10,000 events.", **IDS
    )


@pytest.mark.parametrize("more", [{"append": True}, {"id_": "a2", "append": False}])
def test_the_whole_result_is_bounded(more: Any) -> None:
    half = "ä" * (accumulating.LARGEST_TASK // 4)
    so_far = told(chunk("", append=False), chunk(half))
    assert not so_far.is_over

    so_far.take(chunk(half, **more))

    assert so_far.settled() == TooMuch(
        sentence="The agent's result is over 2,097,152 bytes.", **IDS
    )


def test_what_is_replaced_does_not_count() -> None:
    large = "x" * (accumulating.LARGEST_TASK // 2)
    again = chunk(large, append=False)
    artifact = agents.artifact(large, id_="a2")

    so_far = told(again, again, again, *[snapshot(artifacts=[artifact])] * 3)

    assert not so_far.is_over


def test_what_nobody_sees_counts_as_well() -> None:
    hidden = {"metadata": {"x": "y" * accumulating.LARGEST_TASK}}
    event = chunk("", append=False)
    event["artifactUpdate"]["artifact"] |= hidden

    so_far = told(event)

    assert isinstance(so_far.settled(), TooMuch)


def test_a_number_that_is_none_in_json_does_no_harm() -> None:
    event = json.loads('{"statusUpdate": {"metadata": {"n": 1e999, "s": "\\ud800"}}}')
    event["statusUpdate"] |= status()["statusUpdate"]
    so_far = TaskSoFar()

    so_far.take(event, event_id="\ud800")

    assert isinstance(so_far.settled(), Finished)
