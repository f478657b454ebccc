"""Requests that other servers were reported to answer wrongly, word for word.

Each stands with the entry of the reports that it is from, and gets the answer of the
specification or, where that leaves it open, of the guide for clients. What is refused
stores nothing, and the next request is fine.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import pytest

from a2a_server.models import Profile, Task, TaskEvent, TaskMessage, TaskState
from agent_runs import engine, handlers, lifecycle
from agent_runs.models import AgentRun
from tests import factories
from tests.a2a_server.calling import SilentHandler, make_task, read_task
from tests.asgi_peer import ask, ask_once, make_scope, rpc_body, rpc_headers

if TYPE_CHECKING:
    from a2a_server.entry import Entry
    from a2a_server.models import Client
    from agent_runs.contents import Result
    from agent_runs.handlers import RunContext
    from tests.asgi_peer import Answer, Header

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("worker"),
]

UNKNOWN_TASK = "11111111-1111-4111-8111-111111111111"
M = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
AT_ONCE = {"returnImmediately": True}
PART = "message.parts[0]"


def call(entry: Entry, client: Client, body: bytes, *more: Header) -> Answer:
    headers = rpc_headers(factories.token_of(client).header, *more)
    return ask_once(entry, make_scope(headers=headers), [body])


def rpc(method: str, params: Any = None) -> bytes:
    return rpc_body(method, params)


def send(message: Any = None, **members: Any) -> bytes:
    """SendMessage with the reports' message, changed."""
    changed = M | message if isinstance(message, dict) else M
    return rpc("SendMessage", {"message": changed, "configuration": AT_ONCE} | members)


def send_without(name: str) -> bytes:
    message = {key: value for key, value in M.items() if key != name}
    return rpc("SendMessage", {"message": message, "configuration": AT_ONCE})


def send_text(member: str) -> bytes:
    """SendMessage whose message has one more member, as the text that it is."""
    message = json.dumps(M)[:-1] + f",{member}}}"
    params = f'{{"message":{message},"configuration":{json.dumps(AT_ONCE)}}}'
    return (
        f'{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}'
    ).encode()


def send_part(text: str) -> bytes:
    """The same with the text of its only part."""
    return send().replace(json.dumps(M["parts"]).encode(), f"[{text}]".encode())


def nested(levels: int) -> str:
    return '"metadata":' + '{"a":' * levels + "1" + "}" * levels


def fields_of(answer: Answer) -> list[str]:
    details = answer.error.get("data", [])
    return [
        violation["field"]
        for detail in details
        for violation in detail.get("fieldViolations", [])
    ]


def assert_nothing_stored() -> None:
    for model in (Task, TaskMessage, TaskEvent, AgentRun):
        assert not model.objects.exists(), model


def assert_goes_on(entry: Entry, client: Client) -> None:
    assert call(entry, client, rpc("ListTasks")).json["result"]["tasks"] == []


# --- What is no request ---------------------------------------------------------------

CALLS = [
    {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "X"}},
    {"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "X"}},
    {"foo": 1},
]
STREAM = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "SendStreamingMessage",
    "params": {"message": M},
}


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"[1]",
        json.dumps(CALLS).encode(),
        json.dumps([STREAM]).encode(),
        json.dumps([json.loads(send())]).encode(),
        json.dumps(CALLS[:1] * 10_000).encode(),
    ],
    ids=["empty", "a number", "three calls", "a stream", "a message", "10,000 calls"],
)
def test_no_batch_is_carried_out_in_part(
    entry: Entry, partner: Client, body: bytes
) -> None:
    """S12, B006: refused as a whole, with one object and no id."""
    answer = call(entry, partner, body)

    assert answer.json["id"] is None
    assert answer.error["code"] == -32600
    assert_nothing_stored()


@pytest.mark.parametrize(
    ("body", "id_"),
    [
        pytest.param(b'{"id":1,"method":"GetTask","params":{"id":"X"}}', 1, id="B003"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask",'
            b'"method":"CancelTask","params":{"id":"X","id":"Y"}}',
            None,
            id="B008",
        ),
        pytest.param(send_part('{"text":"a","text":"b"}'), 1, id="B008 in a part"),
        pytest.param(send_text('"taskId":"","task_id":"X"'), 1, id="B008 respelled"),
    ],
)
def test_nothing_of_a_wrong_envelope_is_carried_out(
    entry: Entry, partner: Client, body: bytes, id_: int | None
) -> None:
    """S12, S15, B003, B008: the id is echoed where it is readable."""
    answer = call(entry, partner, body)

    assert (answer.error["code"], answer.json["id"]) == (-32600, id_)
    assert_nothing_stored()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(send_text('"metadata":{"x":NaN}'), id="B009 NaN"),
        pytest.param(send_text('"metadata":{"x":-Infinity}'), id="B009 -Infinity"),
        pytest.param(send_text('"metadata":' + '{"a":' * 20_000), id="B011 20,000"),
        pytest.param(send_text(nested(20_000)), id="B011 20,000, closed"),
        pytest.param(send_text(nested(900)), id="B011 900"),
        pytest.param(send_text(nested(62)), id="B011 one too many"),
    ],
)
def test_what_no_client_could_read_is_not_read_either(
    entry: Entry, partner: Client, body: bytes
) -> None:
    """S15, B009, B011."""
    answer = call(entry, partner, body)

    assert (answer.error["code"], answer.json["id"]) == (-32700, None)
    assert_nothing_stored()
    assert_goes_on(entry, partner)


def test_the_deepest_value_that_is_taken_is_given_back(
    entry: Entry, partner: Client
) -> None:
    """S15, B011: nothing that was stored breaks a later answer."""
    task = call(entry, partner, send_text(nested(61))).json["result"]["task"]

    read = call(entry, partner, rpc("GetTask", {"id": task["id"]})).json["result"]
    listed = call(entry, partner, rpc("ListTasks")).json["result"]

    assert read["history"] == task["history"]
    assert listed["tasks"] == [task]


# --- Parameters -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param(rpc("GetTask", [1, 2]), "params", id="B005 array"),
        pytest.param(rpc("GetTask", "x"), "params", id="B005 text"),
        pytest.param(rpc("GetTask", 42), "params", id="B005 number"),
        pytest.param(rpc("GetTask", None), "id", id="B005 null"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"GetTask"}', "id", id="B005 absent"
        ),
        pytest.param(
            send_text('"metadata":{"x":1e999}'), "message.metadata.x", id="B009 1e999"
        ),
        pytest.param(
            send_text(f'"metadata":{{"x":{"9" * 400}}}'),
            "message.metadata.x",
            id="B009 400 digits",
        ),
        pytest.param(send_part(r'{"text":"a\u0000b"}'), f"{PART}.text", id="B013 NUL"),
        pytest.param(
            send_part(r'{"text":"\ud800"}'), f"{PART}.text", id="B013 half a pair"
        ),
        pytest.param(send({"messageId": "m\x00"}), "message.messageId", id="B013 id"),
        pytest.param(
            send({"metadata": {"\x00": 1}}), "message.metadata.\ufffd", id="B013 name"
        ),
        pytest.param(rpc("ListTasks", {"pageToken": "\x00"}), "pageToken", id="B013"),
        pytest.param(send_without("messageId"), "message.messageId", id="B023 id"),
        pytest.param(send_without("role"), "message.role", id="B023 role"),
        pytest.param(send_without("parts"), "message.parts", id="B023 parts"),
        pytest.param(send({"parts": []}), "message.parts", id="B023 no part"),
        pytest.param(send({"messageId": ""}), "message.messageId", id="B023 empty id"),
        pytest.param(rpc("SendMessage", {}), "message", id="B023 no message"),
        pytest.param(rpc("GetTask", {"id": ""}), "id", id="B023 empty task id"),
        pytest.param(rpc("GetTask", {"id": "  "}), "id", id="B023 blank task id"),
        pytest.param(send({"messageId": "  "}), "message.messageId", id="B024 blank"),
        pytest.param(
            send({"messageId": "x" * 10_000}), "message.messageId", id="B024 long"
        ),
        pytest.param(
            send({"contextId": "x" * 10_000}), "message.contextId", id="B024 context"
        ),
        pytest.param(send({"taskId": "  "}), "message.taskId", id="B024 blank task"),
        *(
            pytest.param(send({"role": role}), "message.role", id=f"B025 {role}")
            for role in ("user", "role_user", "ROLE_UNSPECIFIED", 0, "ROLE_AGENT", 2, 7)
        ),
        *(
            pytest.param(rpc("ListTasks", {"status": status}), "status", id="B025")
            for status in ("completed", "input-required", "TASK_STATE_CANCELLED")
        ),
        pytest.param(
            send_part('{"text":"a","url":"https://x.test/y"}'), PART, id="B026 two"
        ),
        pytest.param(send_part("{}"), PART, id="B026 none"),
        pytest.param(send_part('{"metadata":{}}'), PART, id="B026 metadata"),
        pytest.param(send_part('{"filename":"a.txt"}'), PART, id="B026 filename"),
        pytest.param(send_part('{"text":5}'), f"{PART}.text", id="B026 number"),
        *(
            pytest.param(send_part(json.dumps({"raw": raw})), f"{PART}.raw", id="B028")
            for raw in ("+/ 8=", "@@@@", "A", "AB=C")
        ),
        pytest.param(send({"parts": None}), "message.parts", id="B029"),
        *(
            pytest.param(
                rpc("ListTasks", {"statusTimestampAfter": moment}),
                "statusTimestampAfter",
                id=f"B031 {moment}",
            )
            for moment in (
                "2026-01-02T03:04:05",
                "2026-01-02",
                "2026-02-30T00:00:00Z",
                "2026-01-02T23:59:60Z",
                "10000-01-01T00:00:00Z",
                "1767323045",
            )
        ),
        *(
            pytest.param(rpc("ListTasks", {"pageSize": size}), "pageSize", id="B075")
            for size in (0, -1, 101, 100_000)
        ),
    ],
)
def test_a_parameter_that_is_none_is_named(
    entry: Entry, partner: Client, body: bytes, field: str
) -> None:
    """B005, B009, B013, B023, B024, B025, B026, B028, B029, B031, B075."""
    answer = call(entry, partner, body)

    assert (answer.status, answer.json["id"]) == (200, 1)
    assert answer.error["code"] == -32602
    assert fields_of(answer)[:1] == [field]
    assert_nothing_stored()
    assert_goes_on(entry, partner)


@pytest.mark.parametrize("params", ["", ',"params":{}', ',"params":null'])
def test_no_extended_card_is_said_whatever_the_parameters(
    entry: Entry, partner: Client, params: str
) -> None:
    """B005, B087: the public card says that there is none."""
    body = f'{{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"{params}}}'

    answer = call(entry, partner, body.encode())

    assert answer.error["code"] == -32004
    assert answer.json["id"] == 1


FUTURE = {"futureField": {"a": 1}}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(send(**FUTURE), id="B021 beside the message"),
        pytest.param(send(FUTURE), id="B021 in the message"),
        pytest.param(send({"parts": [{"text": "hi"} | FUTURE]}), id="B021 in a part"),
        pytest.param(send(configuration=AT_ONCE | FUTURE), id="B021 configuration"),
        pytest.param(
            send_part('{"text":"x","mediaType":"Text/Plain; charset=utf-8"}'),
            id="B019 parameters and case",
        ),
        pytest.param(
            send(configuration=AT_ONCE | {"acceptedOutputModes": ["image/png"]}),
            id="B019 a wish",
        ),
        pytest.param(send({"messageId": "msg-1"}), id="B024 no UUID"),
        pytest.param(send({"messageId": "../../x"}), id="B024 a path"),
        pytest.param(send({"messageId": "\N{GRINNING FACE}"}), id="B024 a face"),
        pytest.param(send({"contextId": "../../x"}), id="B024 a context"),
        pytest.param(send({"contextId": "  "}), id="B024 no context"),
        pytest.param(send({"role": 1}), id="B025"),
        pytest.param(
            send(
                {
                    "metadata": None,
                    "extensions": None,
                    "referenceTaskIds": None,
                    "taskId": None,
                    "contextId": None,
                },
                metadata=None,
            ),
            id="B029",
        ),
        pytest.param(send({"taskId": ""}), id="B029 an empty task id"),
        pytest.param(
            send(configuration=AT_ONCE | {"historyLength": None}), id="B029 history"
        ),
    ],
)
def test_a_message_is_taken_that_others_refused(
    entry: Entry, partner: Client, body: bytes
) -> None:
    """B019, B021, B024, B025, B029: and nothing unknown is stored."""
    task = call(entry, partner, body).json["result"]["task"]

    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    (message,) = task["history"]
    assert message["role"] == "ROLE_USER"
    assert "future" not in json.dumps(task)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(
            {"statusTimestampAfter": "2026-01-02T03:04:05.123456789Z"}, id="B031 nano"
        ),
        pytest.param({"statusTimestampAfter": "2026-01-02T03:04:05+02:00"}, id="B031"),
        pytest.param({"status": 3}, id="B025"),
        pytest.param({"pageSize": 1}, id="B075 least"),
        pytest.param({"pageSize": 100}, id="B075 most"),
        pytest.param({"pageSize": "50"}, id="B075 text"),
        pytest.param({}, id="B075 absent"),
    ],
)
def test_a_filter_is_taken_that_others_refused(
    entry: Entry, partner: Client, params: dict[str, Any]
) -> None:
    """B025, B031, B075: the size in the answer is the one that was used."""
    listed = call(entry, partner, rpc("ListTasks", params)).json["result"]

    assert listed["pageSize"] == int(params.get("pageSize", 50))


@pytest.mark.parametrize(
    "part",
    [
        {"raw": "AAAA", "mediaType": "application/x-msdownload"},
        {"text": None, "url": "https://x.test/y"},
        {"raw": ""},
    ],
    ids=["B019", "B026 null is unset", "B028 empty is no error"],
)
def test_a_part_that_the_skill_does_not_take_is_a_part_all_the_same(
    entry: Entry, partner: Client, part: dict[str, Any]
) -> None:
    """B019, B026, B028: -32005, before any row is there."""
    answer = call(entry, partner, send({"parts": [part]}))

    assert answer.error["code"] == -32005
    assert_nothing_stored()


# --- Tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize("task_id", ["msg-1", "../../x", "x" * 10_000, UNKNOWN_TASK])
def test_an_id_that_a_client_chose_makes_no_task(
    entry: Entry, partner: Client, task_id: str
) -> None:
    """B024, B033: nobody but the server names tasks."""
    answers = [
        call(entry, partner, send({"taskId": task_id})),
        call(entry, partner, rpc("GetTask", {"id": task_id})),
    ]

    assert [answer.error["code"] for answer in answers] == [-32001, -32001]
    assert answers[0].body == answers[1].body
    assert_nothing_stored()


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SendMessage"])
def test_another_clients_task_reads_as_one_that_never_was(
    entry: Entry, partner: Client, rival: Client, profile: Profile, method: str
) -> None:
    """B033, B089: byte for byte, and the task stays as it is."""
    task = make_task(TaskState.WORKING, client=rival, profile=profile)
    before = read_task(rival, task.pk)

    def ask_for(task_id: str) -> bytes:
        is_sent = method == "SendMessage"
        body = send({"taskId": task_id}) if is_sent else rpc(method, {"id": task_id})
        return call(entry, partner, body).body

    assert ask_for(str(task.pk)) == ask_for(UNKNOWN_TASK)
    assert read_task(rival, task.pk) == before


def test_a_reference_gives_nothing_away(
    entry: Entry, partner: Client, rival: Client, profile: Profile
) -> None:
    """B089: another client's task is named and not looked at."""
    foreign = str(make_task(TaskState.WORKING, client=rival, profile=profile).pk)

    taken = call(entry, partner, send({"referenceTaskIds": [foreign]}))

    (message,) = taken.json["result"]["task"]["history"]
    assert message["referenceTaskIds"] == [foreign]
    run = AgentRun.objects.exclude(task__pk=foreign).get()
    assert foreign not in str(run.request)


@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.WORKING])
@pytest.mark.parametrize("is_known", [True, False], ids=["existing", "random"])
def test_a_message_for_another_context_leaves_the_task_alone(
    entry: Entry, partner: Client, profile: Profile, state: TaskState, is_known: bool
) -> None:
    """S70, B034: history, moment and order as before."""
    task = make_task(state, client=partner, profile=profile, context_id="C1")
    if is_known:
        make_task(client=partner, profile=profile, context_id="C2")
    before = call(entry, partner, rpc("ListTasks")).body

    answer = call(entry, partner, send({"taskId": str(task.pk), "contextId": "C2"}))

    assert answer.error["code"] == -32602
    assert fields_of(answer) == ["message.contextId"]
    assert call(entry, partner, rpc("ListTasks")).body == before


ENDED = [
    TaskState.COMPLETED,
    TaskState.FAILED,
    TaskState.CANCELED,
    TaskState.REJECTED,
]


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("state", ENDED)
def test_an_ended_task_takes_no_message(
    entry: Entry, partner: Client, profile: Profile, state: TaskState, method: str
) -> None:
    """S70, B036: plain JSON for the streaming method too."""
    task = make_task(state, client=partner, profile=profile)
    before = read_task(partner, task.pk)

    answer = call(
        entry, partner, rpc(method, {"message": M | {"taskId": str(task.pk)}})
    )

    assert answer.headers["content-type"] == "application/json"
    assert answer.error["code"] == -32004
    assert read_task(partner, task.pk) == before


@pytest.mark.parametrize("state", ENDED)
def test_an_ended_task_is_not_canceled(
    entry: Entry, partner: Client, profile: Profile, state: TaskState
) -> None:
    """S66, B041: nor canceled a second time."""
    task = make_task(state, client=partner, profile=profile)
    before = read_task(partner, task.pk)

    answer = call(entry, partner, rpc("CancelTask", {"id": str(task.pk)}))

    assert answer.error["code"] == -32002
    assert read_task(partner, task.pk) == before


@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.SUBMITTED])
def test_a_task_that_nobody_works_on_is_canceled_at_once(
    entry: Entry, partner: Client, profile: Profile, state: TaskState
) -> None:
    """S66, B039, B042: interrupted is not ended."""
    task = make_task(state, client=partner, profile=profile)
    name = f"TASK_STATE_{state.upper()}"
    listed = call(entry, partner, rpc("ListTasks", {"status": name})).json["result"]

    answer = call(entry, partner, rpc("CancelTask", {"id": str(task.pk)}))

    assert [row["id"] for row in listed["tasks"]] == [str(task.pk)]
    assert answer.json["result"]["status"]["state"] == "TASK_STATE_CANCELED"
    assert not lifecycle.cancel(task.run_id)


def at_once(entry: Entry, client: Client, bodies: list[bytes]) -> list[Answer]:
    scope = make_scope(headers=rpc_headers(factories.token_of(client).header))

    async def all_of_them() -> list[Answer]:
        return await asyncio.gather(*(ask(entry, scope, [body]) for body in bodies))

    return asyncio.run(all_of_them())


def test_two_cancels_at_the_same_moment_cancel_once(
    entry: Entry, partner: Client
) -> None:
    """S66, B041: one answer, one event."""
    task = call(entry, partner, send()).json["result"]["task"]
    events = TaskEvent.objects.count()

    answers = at_once(entry, partner, [rpc("CancelTask", {"id": task["id"]})] * 2)

    codes = [answer.json.get("error", {}).get("code") for answer in answers]
    assert sorted(codes, key=str) == [-32002, None]
    assert TaskEvent.objects.count() == events + 1


def test_messages_to_a_task_under_work_start_nothing(
    entry: Entry, partner: Client
) -> None:
    """S70, B038: there is one run for one task, always."""
    task = call(entry, partner, send()).json["result"]["task"]

    bodies = [send({"taskId": task["id"], "messageId": f"n-{n}"}) for n in range(2)]
    answers = at_once(entry, partner, bodies)

    assert [answer.reasons[-1] for answer in answers] == ["TASK_NOT_WAITING"] * 2
    assert AgentRun.objects.count() == TaskMessage.objects.count() == 1


@pytest.mark.parametrize("asked", [None, False, True])
def test_lists_have_all_their_members_and_no_more(
    entry: Entry, partner: Client, asked: bool | None
) -> None:
    """S65, B079: a task without artifacts has none, asked for or not."""
    call(entry, partner, send())

    listed = call(entry, partner, rpc("ListTasks", {"includeArtifacts": asked}))

    result = listed.json["result"]
    assert set(result) == {"tasks", "nextPageToken", "pageSize", "totalSize"}
    assert (result["nextPageToken"], result["totalSize"]) == ("", 1)
    assert "artifacts" not in result["tasks"][0]


# --- Size, card, failures -------------------------------------------------------------


def test_a_file_over_the_limit_is_refused_as_json(
    entry: Entry, partner: Client
) -> None:
    """S41, B014: three megabytes in one part, announced or not."""
    body = send_part(json.dumps({"raw": "AAAA" * 1_000_000}))
    length = ("content-length", str(len(body)))

    for answer in (call(entry, partner, body), call(entry, partner, body, length)):
        assert answer.status == 413
        assert answer.headers["content-type"] == "application/json"
        assert answer.error["code"] == -32600
    assert_nothing_stored()


def test_every_interface_on_the_card_is_served(entry: Entry, partner: Client) -> None:
    """S5, B080, B086: at its address as it stands there, in its version."""
    path = "/.well-known/agent-card.json"
    card = ask_once(entry, make_scope(path, method="GET")).json

    assert card["supportedInterfaces"]
    for interface in card["supportedInterfaces"]:
        url = urlsplit(interface["url"])
        headers = dict(rpc_headers(factories.token_of(partner).header))
        headers["a2a-version"] = interface["protocolVersion"]
        scope = make_scope(
            url.path, host=url.netloc, scheme=url.scheme, headers=headers.items()
        )
        assert "result" in ask_once(entry, scope, [rpc("ListTasks")]).json


class Leaking(SilentHandler):
    """Its error holds what nobody may read, more than anybody wants, and no UTF-8."""

    name: ClassVar[str] = "test.leaking"

    def run(self, context: RunContext) -> Result:
        raise RuntimeError("postgres://u:pw@db/x \udcff" + "x" * 1_000_000)


def test_a_failed_task_says_nothing_of_its_error(
    entry: Entry, partner: Client, profile: Profile
) -> None:
    """S60, B049, B095: one short sentence, whatever the error's text."""
    handlers.register(Leaking())
    Profile.objects.filter(pk=profile.pk).update(handler=Leaking.name)
    task = call(entry, partner, send()).json["result"]["task"]

    engine.execute(AgentRun.objects.get().pk)

    answer = call(entry, partner, rpc("GetTask", {"id": task["id"]}))
    assert answer.json["result"]["status"]["state"] == "TASK_STATE_FAILED"
    assert b"postgres" not in answer.body
    assert len(answer.body) < 2_000


# --- Strangers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(b'{"jsonrpc', [], id="no token, no JSON"),
        pytest.param(
            rpc("NoSuchMethod"), [("a2a-version", "9.9")], id="no token, no version"
        ),
        pytest.param(
            send(configuration={"taskPushNotificationConfig": {"url": "http://x/"}}),
            [("authorization", factories.Token(999_999).header)],
            id="wrong token, push",
        ),
    ],
)
def test_a_stranger_learns_that_it_is_one_and_nothing_else(
    entry: Entry, partner: Client, body: bytes, headers: list[Header]
) -> None:
    """S10, B093: whatever else is wrong."""
    scope = make_scope(headers=[("content-type", "application/json"), *headers])

    answer = ask_once(entry, scope, [body])

    assert (answer.status, answer.json["id"]) == (401, None)
    assert answer.reasons == ["UNAUTHENTICATED"]
    assert_nothing_stored()
