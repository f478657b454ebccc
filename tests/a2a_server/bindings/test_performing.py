from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError, connections, transaction

from a2a_protocol.errors import ProtocolError
from a2a_server import addressing, conf, exchanges, executor, waiting
from a2a_server.bindings import performing
from a2a_server.exchanges import Exchange
from a2a_server.limits import waiting_slots
from a2a_server.models import Task, TaskState, WaitingSlot
from a2a_server.operations.calls import Reply, Wait
from agent_runs import lifecycle
from agent_runs.models import AgentRun
from tests import factories
from tests.asgi_peer import Peer, ask, ask_once, make_scope, rpc_body, rpc_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.asgi_types import Message
    from a2a_server.entry import Entry
    from a2a_server.limits import Slot
    from a2a_server.models import Client
    from tests.a2a_server.conftest import LostDatabase
    from tests.asgi_peer import Answer

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


DONE = Reply(result_json="{}")


class Looks:
    """A task that is waited for, and what each look at it comes to."""

    def __init__(
        self, *outcomes: Any, seconds: float = ENOUGH, slot: Slot | None = None
    ) -> None:
        self.task_id = uuid.uuid4()
        self._outcomes = list(outcomes)
        self._seconds = seconds
        self._slot = slot
        self._looked = threading.Semaphore(0)

    def begin(self) -> Wait:
        return Wait(
            task_id=self.task_id,
            slot=self._slot,
            seconds=self._seconds,
            finish=self._finish,
        )

    async def next(self) -> None:
        assert await asyncio.to_thread(self._looked.acquire, timeout=ENOUGH)

    def _finish(self, *, is_last: bool) -> Reply | None:
        self._looked.release()
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if callable(outcome):
            outcome()
        return None if outcome is None else DONE


def _exchange() -> Exchange:
    scope = make_scope()
    target = addressing.find_target(scope)
    assert target
    return Exchange(
        scope=scope, receive=Peer([]).receive, target=target, request_id="r-1"
    )


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


def test_a_bell_for_a_task_that_has_not_settled_changes_nothing() -> None:
    """A bell says «look», and no more."""
    looks = Looks(None, DONE)

    async def ring_twice() -> Reply:
        work = asyncio.create_task(performing.perform(_exchange(), looks.begin))
        for _ in range(2):
            waiting.notifier().ring(looks.task_id)
            await looks.next()
        return await asyncio.wait_for(work, ENOUGH)

    assert asyncio.run(ring_twice()) is DONE


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
        await asyncio.wait_for(peer.is_listened_to.wait(), ENOUGH)
        work.cancel()
        await asyncio.wait_for(work, ENOUGH)

    asyncio.run(stop())

    assert peer.answer.status == 504
    assert peer.answer.reasons == ["BLOCKING_DEADLINE_EXCEEDED"]


class Stubborn(Peer):
    """When its request has been read, all threads of the server are busy."""

    async def receive(self) -> Message:
        message = await super().receive()
        self.free = _occupy_threads()
        self.is_listened_to.set()
        return message


def _occupy_threads() -> threading.Event:
    free = threading.Event()

    def be_busy() -> None:
        free.wait(ENOUGH)

    for _ in range(conf.threads()):
        executor.submit(be_busy)
    return free


def test_a_server_that_stops_refuses_whom_it_cuts_off_before_anything_is_stored(
    entry: Entry, client: Client
) -> None:
    """Not with the server's own words: they are no answer to this request."""
    peer = Stubborn([SEND])

    async def stop() -> None:
        work = asyncio.create_task(entry(_scope(client), peer.receive, peer.send))
        await asyncio.wait_for(peer.is_listened_to.wait(), ENOUGH)
        work.cancel()
        await asyncio.wait_for(work, ENOUGH)

    asyncio.run(stop())
    peer.free.set()

    assert peer.answer.status == 503
    assert peer.answer.reasons == ["STORE_UNAVAILABLE"]
    assert peer.answer.json["id"] == 1
    executor.close()
    assert not Task.objects.exists()


def test_a_server_that_stops_refuses_whom_it_has_not_even_authenticated(
    entry: Entry, client: Client
) -> None:
    peer = Peer([SEND])

    async def stop() -> None:
        free = _occupy_threads()
        work = asyncio.create_task(entry(_scope(client), peer.receive, peer.send))
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait_for(work, ENOUGH)
        free.set()

    asyncio.run(stop())

    assert peer.answer.status == 503
    assert peer.answer.reasons == ["STORE_UNAVAILABLE"]


def test_a_slot_that_is_taken_for_a_request_that_has_gone_is_given_back(
    client: Client,
) -> None:
    """S46: its thread knows nothing of it."""
    begun, is_cut_off = threading.Event(), threading.Event()

    def take_late() -> Wait:
        begun.set()
        is_cut_off.wait(ENOUGH)
        return Looks(slot=waiting_slots.acquire(client.id, 10)).begin()

    async def cut_off() -> None:
        work = asyncio.create_task(performing.perform(_exchange(), take_late))
        await asyncio.to_thread(begun.wait, ENOUGH)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cut_off())
    assert not WaitingSlot.objects.exists()
    is_cut_off.set()
    executor.close()

    assert _slots_are_free()


@pytest.mark.parametrize("how", ["away", "hanging"])
def test_the_deadline_names_the_task_whatever_the_database_does(how: str) -> None:
    """S45, S92."""
    free = threading.Event()
    looks = Looks(OperationalError() if how == "away" else free.wait, seconds=0.05)

    async def wait() -> None:
        await asyncio.wait_for(performing.perform(_exchange(), looks.begin), ENOUGH)

    with pytest.raises(ProtocolError) as caught:
        asyncio.run(wait())
    free.set()

    assert caught.value.reason == "BLOCKING_DEADLINE_EXCEEDED"
    assert caught.value.metadata == {"taskId": str(looks.task_id)}


@pytest.mark.usefixtures("postgresql")
def test_a_locked_row_makes_the_store_unavailable(
    entry: Entry, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S92: whoever holds it does not hold the threads as well."""
    options = connections.settings["default"]["OPTIONS"]
    assert "lock_timeout=10s" in options["options"]
    monkeypatch.setitem(options, "options", "-c lock_timeout=100ms")

    with transaction.atomic():
        type(client).objects.select_for_update().get()
        answer = ask_once(entry, _scope(client), [SEND])

    assert answer.status == 503
    assert answer.reasons == ["STORE_UNAVAILABLE"]
    assert not Task.objects.exists()
    assert _slots_are_free()


@pytest.mark.usefixtures("postgresql")
def test_a_client_whose_row_is_locked_leaves_a_thread_to_others(
    entry: Entry, client: Client
) -> None:
    """However much it sends."""
    other = factories.make_client("other")
    peers = [Peer([_send(number)]) for number in range(2 * conf.threads())]

    async def send_and_read() -> Answer:
        sending = [
            asyncio.create_task(entry(_scope(client), peer.receive, peer.send))
            for peer in peers
        ]
        await _until(lambda: _waiting_for_locks() == conf.threads() - 1)
        reading = ask(entry, _scope(other), [rpc_body("ListTasks")])
        answer = await asyncio.wait_for(reading, ENOUGH)
        for work in sending:
            work.cancel()
        await asyncio.gather(*sending)
        return answer

    with transaction.atomic():
        type(client).objects.select_for_update().get(pk=client.pk)
        answer = asyncio.run(send_and_read())

    assert answer.status == 200


def _waiting_for_locks() -> int:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])


def test_a_database_that_hangs_is_unavailable() -> None:
    """S92: the thread may never come back, the answer does."""
    refusal = performing.protocol_error(executor.OverdueError(), _exchange())

    assert refusal.http_status == 503
    assert refusal.reason == "STORE_UNAVAILABLE"


def test_a_waiting_request_outlasts_a_database_that_is_away(
    entry: Entry,
    client: Client,
    database: LostDatabase,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S92: it keeps waiting until its deadline."""

    async def lose_and_find(peer: Peer) -> None:
        task_id = (await _in_thread(Task.objects.get)).id
        await asyncio.to_thread(database.lose)
        waiting.notify(task_id, TaskState.COMPLETED)
        await _until(lambda: "Waiting tasks cannot be read" in caplog.messages)
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
