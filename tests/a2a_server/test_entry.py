from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from django.test import RequestFactory

from a2a_server import bodies, exchanges, executor
from a2a_server.models import AuthFailure, Task
from agent_runs.encryption import Sealed
from tests import factories
from tests.asgi_peer import (
    Peer,
    ask,
    ask_once,
    make_scope,
    rpc_body,
    rpc_headers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.entry import Entry
    from tests.a2a_server.conftest import LostDatabase
    from tests.asgi_peer import Answer, Header

pytestmark = pytest.mark.django_db(transaction=True)

CARD = "/.well-known/agent-card.json"
LIST = rpc_body("ListTasks")
NOBODY = factories.Token(999_999).header


@pytest.fixture
def authorization() -> str:
    return factories.token_of(factories.make_client()).header


def call(
    entry: Entry,
    authorization: str,
    *pieces: bytes,
    more: Sequence[Header] = (),
    **scope: Any,
) -> Answer:
    headers = rpc_headers(authorization, *more)
    return ask_once(entry, make_scope(headers=headers, **scope), pieces or (LIST,))


def logged(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    (record,) = [r for r in caplog.records if r.name == exchanges.__name__]
    return vars(record)


# --- Address and method ---------------------------------------------------------------


@pytest.mark.parametrize("path", ["/a2a", "/a2a/"])
def test_answers_with_or_without_a_trailing_slash(
    entry: Entry, authorization: str, path: str
) -> None:
    """S3, B082: and never with a redirect, which would lose the body."""
    answer = call(entry, authorization, path=path)

    assert answer.status == 200
    assert answer.json["result"]["tasks"] == []


@pytest.mark.parametrize(
    "scope",
    [
        {"path": "/admin/"},
        {"path": "/a2a//"},
        {"path": "//a2a"},
        {"path": f"{CARD}/"},
        {"path": "/.well-known/agent.json"},
        {"host": "other.example"},
        {"scheme": "http"},
        {"host": "gateway.example:1"},
    ],
)
def test_leaves_other_addresses_to_the_project(
    entry: Entry, authorization: str, scope: dict[str, Any]
) -> None:
    """S4, B082."""
    answer = call(entry, authorization, **scope)

    assert answer.status == 418
    assert answer.body == b"elsewhere"


def test_nothing_answers_while_the_server_is_off(
    entry: Entry, authorization: str, settings: SettingsWrapper
) -> None:
    """S1: whatever else is set."""
    settings.A2A_SERVER_ENABLED = False

    assert call(entry, authorization).status == 418
    assert call(entry, authorization, path=CARD, method="GET").status == 418


def test_leaves_other_kinds_of_connections_to_the_project(entry: Entry) -> None:
    scope = make_scope() | {"type": "websocket"}

    assert ask_once(entry, scope).status == 418


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "X"])
def test_refuses_other_methods_of_the_endpoint(entry: Entry, method: str) -> None:
    """S3, B082: before authentication, with Allow and a JSON body."""
    answer = ask_once(entry, make_scope(method=method))

    assert answer.status == 405
    assert answer.headers["allow"] == "POST"
    assert answer.headers["content-type"] == "application/json"
    assert answer.error["code"] == -32600
    assert answer.json["id"] is None


def test_refuses_other_methods_of_the_card(entry: Entry) -> None:
    answer = ask_once(entry, make_scope(CARD, method="POST"))

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", [CARD, f"/a2a{CARD}"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_serves_the_card_without_authentication(
    entry: Entry, method: str, path: str
) -> None:
    """S3, S8, B080: the URL in it is the setting's."""
    answer = ask_once(entry, make_scope(path, method=method, host="GATEWAY.example"))

    assert answer.status == 200
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    interfaces = answer.json["supportedInterfaces"]
    assert interfaces[0]["url"] == "https://gateway.example/a2a"


def test_a_peer_that_has_the_card_gets_304(entry: Entry) -> None:
    """S8."""
    first = ask_once(entry, make_scope(CARD, method="GET"))
    known = f'"other", W/{first.headers["etag"]}'
    scope = make_scope(CARD, method="GET", headers=[("if-none-match", known)])

    second = ask_once(entry, scope)

    assert second.status == 304
    assert second.body == b""
    assert second.headers["etag"] == first.headers["etag"]


# --- Authentication comes first -------------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [
        (b"{not json",),
        (rpc_body("NoSuchMethod"),),
        (b"",),
    ],
)
def test_refuses_an_unknown_caller_whatever_it_sent(
    entry: Entry, pieces: Sequence[bytes]
) -> None:
    """S10, B093: nothing about the request is told to a stranger."""
    headers = [("authorization", NOBODY), ("content-type", "text/plain")]

    answer = ask_once(entry, make_scope(headers=headers), pieces)

    assert answer.status == 401
    assert answer.error["code"] == -32600
    assert answer.reasons == ["UNAUTHENTICATED"]
    assert answer.json["id"] is None


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ([], 'Bearer realm="a2a"'),
        ([("authorization", "")], 'Bearer realm="a2a", error="invalid_token"'),
        ([("authorization", "Basic x")], 'Bearer realm="a2a", error="invalid_token"'),
        ([("authorization", NOBODY)], 'Bearer realm="a2a", error="invalid_token"'),
    ],
)
def test_challenges_whoever_is_refused(
    entry: Entry, headers: list[Header], challenge: str
) -> None:
    """S22, B092, RFC 6750 3."""
    answer = ask_once(entry, make_scope(headers=headers))

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == challenge


def test_limits_failing_addresses_and_not_the_valid_token_beside_them(
    entry: Entry, authorization: str, settings: SettingsWrapper
) -> None:
    """S23."""
    settings.A2A_SERVER_AUTH_FAILURES = "1/900"

    answers = [call(entry, NOBODY) for _ in range(2)]
    elsewhere = call(entry, NOBODY, client=("198.51.100.9", 1))
    valid = call(entry, authorization)

    assert [answer.status for answer in answers] == [401, 429]
    assert answers[1].reasons == ["AUTH_RATE_LIMITED"]
    assert 890 <= int(answers[1].headers["retry-after"]) <= 900
    assert "www-authenticate" not in answers[1].headers
    assert elsewhere.status == 401
    assert valid.status == 200


def test_reads_no_body_of_an_unknown_caller(entry: Entry) -> None:
    """S10, B093: 64 KiB are thrown away, then the connection closes."""
    headers = [("authorization", NOBODY), ("transfer-encoding", "chunked")]
    peer = Peer([b"x" * 16_384], is_endless=True)

    asyncio.run(entry(make_scope(headers=headers), peer.receive, peer.send))

    assert peer.answer.status == 401
    assert peer.answer.headers["connection"] == "close"
    assert peer.taken == bodies.DISCARDED_BYTES


def test_gives_the_early_answer_before_it_throws_the_body_away(entry: Entry) -> None:
    """A peer that sends slowly must not wait for its refusal."""
    headers = [("authorization", NOBODY), ("content-length", "100")]
    peer = Peer([])

    async def refuse() -> None:
        work = asyncio.create_task(
            entry(make_scope(headers=headers), peer.receive, peer.send)
        )
        while len(peer.sent) < 2:
            await asyncio.sleep(0)
        assert not work.done()
        peer.hung_up.set()
        await work

    asyncio.run(refuse())

    assert peer.answer.status == 401
    assert int(peer.answer.headers["content-length"]) == len(peer.answer.body)


def test_keeps_the_connection_of_a_refused_request_without_a_body(entry: Entry) -> None:
    answer = ask_once(entry, make_scope(method="GET"))

    assert "connection" not in answer.headers


# --- The body -------------------------------------------------------------------------


def test_refuses_a_media_type_before_it_reads_the_body(
    entry: Entry, authorization: str
) -> None:
    """S10, B018."""
    headers = [("authorization", authorization), ("content-type", "text/plain")]
    peer = Peer([])

    async def refuse() -> None:
        peer.hung_up.set()
        await entry(make_scope(headers=headers), peer.receive, peer.send)

    asyncio.run(refuse())

    assert peer.answer.status == 415
    assert peer.answer.error["code"] == -32005
    assert peer.answer.reasons == ["CONTENT_TYPE_NOT_SUPPORTED"]


@pytest.mark.parametrize(
    ("pieces", "hops"),
    [
        pytest.param([LIST], 1, id="a body that is there"),
        pytest.param([LIST[:5], LIST[5:]], 2, id="a body that is on its way"),
        pytest.param([LIST.ljust(bodies.SMALL_BYTES + 1)], 2, id="a large body"),
    ],
)
def test_a_usual_request_makes_one_hop_to_a_thread(
    entry: Entry,
    authorization: str,
    pieces: list[bytes],
    hops: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And who sends a larger body is known before it is read (S10)."""
    started, start = [], executor.threads.start

    def counted(function: Callable[[], Any]) -> Any:
        started.append(function)
        return start(function)

    monkeypatch.setattr(executor.threads, "start", counted)
    monkeypatch.setattr(executor, "start", counted)

    assert call(entry, authorization, *pieces).status == 200
    assert len(started) == hops


def test_accepts_a_body_of_exactly_the_limit(
    entry: Entry, authorization: str, settings: SettingsWrapper
) -> None:
    """S41."""
    settings.A2A_SERVER_MAX_REQUEST_BYTES = 2048
    full = LIST.ljust(2048)

    fits = call(entry, authorization, full[:1000], full[1000:])
    over = call(entry, authorization, full, b" ")

    assert fits.status == 200
    assert over.status == 413
    assert over.error["code"] == -32600
    assert over.reasons == ["REQUEST_TOO_LARGE"]


def test_believes_no_announced_length(
    entry: Entry, authorization: str, settings: SettingsWrapper
) -> None:
    """S41: whatever Content-Length says, also of a body that is there already."""
    settings.A2A_SERVER_MAX_REQUEST_BYTES = 2048
    lie = ("content-length", "2")

    answer = call(entry, authorization, LIST.ljust(2049), more=[lie])

    assert (answer.status, answer.reasons) == (413, ["REQUEST_TOO_LARGE"])


def test_stops_reading_an_endless_body_at_the_limit(
    entry: Entry, authorization: str, settings: SettingsWrapper
) -> None:
    """S41, B014: chunked, so that no length was announced."""
    settings.A2A_SERVER_MAX_REQUEST_BYTES = 2048
    headers = rpc_headers(authorization, ("transfer-encoding", "chunked"))
    peer = Peer([b"x" * 1000], is_endless=True)

    asyncio.run(entry(make_scope(headers=headers), peer.receive, peer.send))

    assert peer.answer.status == 413
    assert peer.answer.headers["connection"] == "close"
    assert peer.taken <= 3000 + bodies.DISCARDED_BYTES + 1000


@pytest.mark.parametrize("length", ["2049", "9" * 400])
def test_refuses_an_announced_length_over_the_limit_at_once(
    entry: Entry, authorization: str, settings: SettingsWrapper, length: str
) -> None:
    """S10: not a byte is waited for."""
    settings.A2A_SERVER_MAX_REQUEST_BYTES = 2048

    answer = call(entry, authorization, b"{", more=[("content-length", length)])

    assert answer.status == 413


def test_says_nothing_to_a_peer_that_hung_up_before_its_body_was_there(
    entry: Entry, authorization: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    peer = Peer([b"{"], is_endless=False)
    peer.pieces = []

    async def hang_up() -> None:
        peer.hung_up.set()
        scope = make_scope(headers=rpc_headers(authorization))
        await entry(scope, peer.receive, peer.send)

    asyncio.run(hang_up())

    assert peer.sent == []
    assert logged(caplog)["outcome"] == "PEER_GONE"


# --- What every answer has ------------------------------------------------------------


def test_answers_carry_the_headers_that_protect_them(
    entry: Entry, authorization: str
) -> None:
    for answer in (call(entry, authorization), call(entry, NOBODY)):
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert int(answer.headers["content-length"]) == len(answer.body)


@pytest.mark.parametrize("given", ["abc-123", "!" * 128])
def test_gives_the_peers_request_id_back(
    entry: Entry, authorization: str, given: str
) -> None:
    """S91."""
    answer = call(entry, authorization, more=[("x-request-id", given)])

    assert answer.headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "é", "a\x00"])
def test_makes_a_request_id_where_the_peers_is_not_fit(
    entry: Entry, authorization: str, given: str
) -> None:
    answer = call(entry, authorization, more=[("x-request-id", given)])

    assert len(answer.headers["x-request-id"]) == 32
    assert answer.headers["x-request-id"].isalnum()


def test_logs_one_line_for_a_request(
    entry: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    """S91: who, what and how it ended; never token, text or answer."""
    caplog.set_level(logging.INFO)
    client = factories.make_client("reporting")
    token = factories.token_of(client)
    get = rpc_body("GetTask", {"id": "no-such-task", "metadata": {"x": "secret text"}})

    call(entry, token.header, get, more=[("x-request-id", "r-1")])

    line = logged(caplog)
    assert line["client"] == "reporting"
    assert line["method"] == "GetTask"
    assert line["outcome"] == "TASK_NOT_FOUND"
    assert line["request_id"] == "r-1"
    assert line["status"] == 200
    assert line["duration_ms"] >= 0
    everything = str([vars(record) for record in caplog.records])
    assert token.text not in everything
    assert "secret text" not in everything


def test_logs_no_method_name_that_could_not_be_one(
    entry: Entry, authorization: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    call(entry, authorization, rpc_body("secret text"))

    assert logged(caplog)["method"] == ""
    assert logged(caplog)["outcome"] == "METHOD_NOT_FOUND"


# --- What goes wrong here -------------------------------------------------------------


def test_an_unexpected_error_tells_the_peer_an_id_and_nothing_else(
    entry: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    """S14, B095: the log has the traceback, the peer the id that finds it."""
    client = factories.make_client(profiles=[factories.make_profile()])
    task = factories.make_task(client=client)
    # A stored text that no key opens, as after the loss of a key.
    Task.objects.filter(id=task.id).update(head=Sealed("gAAAAA-not-a-token"))
    get = rpc_body("GetTask", {"id": str(task.id)})

    answer = call(
        entry, factories.token_of(client).header, get, more=[("x-request-id", "r-2")]
    )

    assert answer.status == 200
    assert answer.error["code"] == -32603
    assert answer.reasons == ["INTERNAL"]
    assert answer.error["data"][0]["metadata"]["errorId"] == "r-2"
    assert "a2a_server" not in answer.body.decode()
    assert any(
        record.exc_info and vars(record).get("request_id") == "r-2"
        for record in caplog.records
    )


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_a_database_that_is_away_is_nobodys_failure(
    entry: Entry, authorization: str, database: LostDatabase, is_known: bool
) -> None:
    """S92: the same answer to all, no failure counted, nothing of the driver's text."""
    database.lose()
    lost = call(entry, authorization if is_known else NOBODY)
    database.find()
    found = call(entry, authorization)

    assert lost.status == 503
    assert lost.error["code"] == -32603
    assert lost.reasons == ["STORE_UNAVAILABLE"]
    assert lost.headers["retry-after"] == "5"
    assert "nowhere" not in lost.body.decode()
    assert found.status == 200
    assert not AuthFailure.objects.exists()


def test_a_card_without_a_database_is_a_json_answer_too(
    entry: Entry, database: LostDatabase
) -> None:
    database.lose()

    answer = ask_once(entry, make_scope(CARD, method="GET"))

    assert answer.status == 503
    assert answer.headers["cache-control"] == "no-store"
    assert answer.reasons == ["STORE_UNAVAILABLE"]


def test_several_requests_of_one_event_loop_share_its_threads(
    entry: Entry, authorization: str
) -> None:
    """B137: as many connections as threads, whatever the number of requests."""
    scope = make_scope(headers=rpc_headers(authorization))

    async def ask_often() -> list[Answer]:
        return await asyncio.gather(
            *(ask(entry, dict(scope), [LIST]) for _ in range(20))
        )

    answers = asyncio.run(ask_often())

    assert {answer.status for answer in answers} == {200}


def test_the_views_answer_nobody_who_came_past_the_entry() -> None:
    """A request that was never authenticated must not reach an operation."""
    request = RequestFactory().post("/", json.dumps({}), "application/json")

    with pytest.raises(TypeError):
        exchanges.of_request(request)


@pytest.mark.usefixtures("without_redis")
def test_counts_nothing_for_a_valid_token(entry: Entry, authorization: str) -> None:
    call(entry, authorization)

    assert not AuthFailure.objects.exists()
