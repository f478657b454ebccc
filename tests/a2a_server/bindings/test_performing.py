from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from a2a_server import conf, exchanges, waiting
from a2a_server.limits import waiting_slots
from a2a_server.models import Task, TaskState, WaitingSlot
from agent_runs import lifecycle
from agent_runs.models import AgentRun
from tests import factories
from tests.asgi_peer import Peer, ask_once, make_scope, rpc_body, rpc_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.entry import Entry
    from a2a_server.models import Client
    from tests.a2a_server.conftest import LostDatabase

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("without_redis"),
]

MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
SEND = rpc_body("SendMessage", {"message": MESSAGE})
ENOUGH = 5.0


@pytest.fixture
def client() -> Client:
    factories.make_worker()
    return factories.make_client(profiles=[factories.make_profile()])


def _scope(client: Client) -> dict[str, Any]:
    return make_scope(headers=rpc_headers(factories.token_of(client).header))


def _in_thread(function: Callable[[], Any]) -> Awaitable[Any]:
    def call() -> Any:
        try:
            return function()
        finally:
            connections.close_all()

    return asyncio.to_thread(call)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(ENOUGH):
        while not await _in_thread(condition):
            await asyncio.sleep(0.01)


def send_and(
    entry: Entry, client: Client, during: Callable[[Peer], Awaitable[None]]
) -> Peer:
    """A blocking send; `during` runs as soon as it waits."""
    peer = Peer([SEND])

    async def both() -> None:
        work = asyncio.create_task(entry(_scope(client), peer.receive, peer.send))
        await _until(WaitingSlot.objects.exists)
        await _until(Task.objects.exists)
        await during(peer)
        await asyncio.wait_for(work, ENOUGH)

    asyncio.run(both())
    return peer


def _cancel_run() -> bool:
    return lifecycle.cancel(AgentRun.objects.get().id)


async def _end_task(peer: Peer) -> None:
    await _in_thread(_cancel_run)


def test_a_blocking_send_answers_when_its_task_has_settled(
    entry: Entry, client: Client
) -> None:
    """S44."""
    peer = send_and(entry, client, _end_task)

    assert peer.answer.status == 200
    task = peer.answer.json["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_CANCELED"
    assert not WaitingSlot.objects.exists()


def test_a_bell_for_a_task_that_has_not_settled_changes_nothing(
    entry: Entry, client: Client
) -> None:
    """A bell says «look», and no more."""

    async def ring_first(peer: Peer) -> None:
        task = await _in_thread(Task.objects.get)
        waiting.notify(task.id, TaskState.COMPLETED)
        await asyncio.sleep(0.05)
        assert peer.sent == []
        await _in_thread(_cancel_run)

    assert send_and(entry, client, ring_first).answer.status == 200


def test_the_deadline_leaves_the_task_going(
    entry: Entry, client: Client, settings: SettingsWrapper
) -> None:
    """S45: 504 with the task's id; the slot is free again."""
    settings.A2A_SERVER_BLOCKING_WAIT_SECONDS = 1
    started = time.monotonic()

    answer = ask_once(entry, _scope(client), [SEND])

    assert 1 <= time.monotonic() - started < ENOUGH
    assert answer.status == 504
    assert answer.error["code"] == -32603
    assert answer.reasons == ["BLOCKING_DEADLINE_EXCEEDED"]
    task = Task.objects.get()
    assert answer.error["data"][0]["metadata"]["taskId"] == str(task.id)
    assert task.state == TaskState.SUBMITTED
    assert _slots_are_free()


def test_a_peer_that_hangs_up_frees_its_slot_and_the_task_goes_on(
    entry: Entry, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """S46, B055."""
    caplog.set_level(logging.INFO, exchanges.__name__)

    async def hang_up(peer: Peer) -> None:
        peer.hung_up.set()

    peer = send_and(entry, client, hang_up)

    assert peer.sent == []
    assert Task.objects.get().state == TaskState.SUBMITTED
    assert _slots_are_free()
    (record,) = [r for r in caplog.records if r.name == exchanges.__name__]
    assert vars(record)["outcome"] == "PEER_GONE"
    assert vars(record)["task"] == str(Task.objects.get().id)


def test_a_server_that_stops_tells_its_peers_the_task(
    entry: Entry, client: Client
) -> None:
    """Cut off at the end of the grace period, it answers as at a deadline."""
    peer = Peer([SEND])

    async def stop() -> None:
        work = asyncio.create_task(entry(_scope(client), peer.receive, peer.send))
        await _until(Task.objects.exists)
        await _until(WaitingSlot.objects.exists)
        await asyncio.sleep(0.05)
        work.cancel()
        await asyncio.wait_for(work, ENOUGH)

    asyncio.run(stop())

    assert peer.answer.status == 504
    assert peer.answer.reasons == ["BLOCKING_DEADLINE_EXCEEDED"]


def test_a_waiting_request_outlasts_a_database_that_is_away(
    entry: Entry, client: Client, database: LostDatabase
) -> None:
    """S92: it keeps waiting until its deadline."""

    async def lose_and_find(peer: Peer) -> None:
        task_id = (await _in_thread(Task.objects.get)).id
        await asyncio.to_thread(database.lose)
        waiting.notify(task_id, TaskState.COMPLETED)
        await asyncio.sleep(0.5)
        assert peer.sent == []
        await asyncio.to_thread(database.find)
        await _in_thread(_cancel_run)

    assert send_and(entry, client, lose_and_find).answer.status == 200


def test_waiting_holds_no_thread(entry: Entry, client: Client) -> None:
    """S46: more requests wait than there are threads, and others are still answered."""
    peers = [Peer([_send(number)]) for number in range(conf.threads() + 3)]

    async def wait_and_read() -> Peer:
        sending = [
            asyncio.create_task(entry(_scope(client), peer.receive, peer.send))
            for peer in peers
        ]
        await _until(lambda: Task.objects.count() == len(peers))
        reader = Peer([rpc_body("ListTasks")])
        await asyncio.wait_for(
            entry(_scope(client), reader.receive, reader.send), ENOUGH
        )
        for peer in peers:
            peer.hung_up.set()
        await asyncio.gather(*sending)
        return reader

    reader = asyncio.run(wait_and_read())

    assert len(reader.answer.json["result"]["tasks"]) == len(peers)


def _send(number: int) -> bytes:
    message = MESSAGE | {"messageId": f"m-{number}"}
    return rpc_body("SendMessage", {"message": message})


def test_one_more_waiting_request_is_refused(
    entry: Entry, client: Client, settings: SettingsWrapper
) -> None:
    """S46: and nothing is stored."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 1
    waiting_slots.acquire(client.id, 10)

    answer = ask_once(entry, _scope(client), [SEND])

    assert answer.status == 503
    assert answer.reasons == ["WAITING_CAPACITY_EXHAUSTED"]
    assert answer.headers["retry-after"] == "5"
    assert not Task.objects.exists()


def test_no_worker_is_said_before_anything_is_stored(entry: Entry) -> None:
    """S40."""
    client = factories.make_client(profiles=[factories.make_profile()])

    answer = ask_once(entry, _scope(client), [SEND])

    assert answer.status == 503
    assert answer.reasons == ["WORKER_UNAVAILABLE"]
    assert answer.headers["retry-after"] == "30"
    assert not Task.objects.exists()


def _slots_are_free() -> bool:
    """The last slot is given back after the answer, by a thread."""
    deadline = time.monotonic() + ENOUGH
    while WaitingSlot.objects.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not WaitingSlot.objects.exists()
