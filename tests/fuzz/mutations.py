"""What is done to real requests: their values, their text, their head, their delivery.

Every mutation takes an input and gives another; `rng` decides all of it.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from tests.fuzz import inputs
from tests.fuzz.inputs import CARD, ENDPOINT, HOST, Input, Names, chance, dump

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    Mutation = Callable[[random.Random, Input, Names], Input]

_ODD_TEXTS: Final = [
    "",
    " ",
    "\t\n",
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud800",
    "\ufeff",
    "\u202eabc",
    "\u200b",
    "e\u0301" * 40,
    "\N{GRINNING FACE}" * 70,
    "\u2028\u2029\u0085",
    "x" * 255,
    "x" * 256,
    "x" * 5000,
    "../../x",
    "%00%s%n{0}${x}",
    "' OR 1=1 --",
    '"); DROP TABLE x; --',
    "<script>alert(1)</script>",
    "null",
    "true",
    "1e5",
    "NaN",
    "-0",
    "0x10",
    "٣",
    "TASK_STATE_CANCELLED",
    "TASK_STATE_UNSPECIFIED",
    "ROLE_AGENT",
    "user",
    "AB=C",
    "-_8",
    "2026-02-30T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999999-14:00",
    "2026-01-02T03:04:05",
    "{11111111-1111-4111-8111-111111111111}",
    "11111111-1111-4111-8111-111111111111",
    "text/html;q=\x7f",
]
_ODD_NUMBERS: Final = [
    0,
    -0.0,
    -1,
    1.0,
    1.5,
    101,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**63,
    2**64,
    10**308,
    10**400,
    -(10**4000),
    1e308,
    5e-324,
    3.0e9,
]
_ODD_VALUES: Final[list[Any]] = [
    None,
    True,
    False,
    [],
    {},
    [None],
    [[]],
    {"": ""},
    {"a": {"b": None}},
    {"$ref": "#"},
    {"@type": "x"},
    {"__proto__": {"x": 1}},
]
_MEMBERS: Final = [
    "id",
    "taskId",
    "task_id",
    "contextId",
    "context_id",
    "messageId",
    "message_id",
    "message",
    "configuration",
    "returnImmediately",
    "return_immediately",
    "historyLength",
    "history_length",
    "pageSize",
    "pageToken",
    "status",
    "statusTimestampAfter",
    "includeArtifacts",
    "acceptedOutputModes",
    "taskPushNotificationConfig",
    "metadata",
    "extensions",
    "referenceTaskIds",
    "parts",
    "text",
    "data",
    "raw",
    "url",
    "mediaType",
    "media_type",
    "filename",
    "role",
    "tenant",
    "kind",
    "futureField",
    "\x00",
    "\ud800",
    "x" * 300,
    "jsonrpc",
    "method",
    "params",
    PROFILE_EXTENSION_URI,
]


def odd_value(rng: random.Random) -> Any:
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(_ODD_TEXTS)
    if kind < 7:
        return rng.choice(_ODD_NUMBERS)
    if kind < 9:
        return copy.deepcopy(rng.choice(_ODD_VALUES))
    return nested(rng.choice([1, 2, 30, 58, 60, 61, 62, 63, 64, 65, 100, 900]), rng)


def nested(depth: int, rng: random.Random) -> Any:
    value: Any = rng.choice([None, 1, "x"])
    in_list = chance(rng, 2)
    for _ in range(depth):
        value = [value] if in_list else {"a": value}
    return value


# --- The values of the body -----------------------------------------------------------


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a value."""
    found: list[tuple[Any, Any]] = []
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys:
        found += [(value, key), *_places(value[key])]
    return found


def _with_envelope(
    rng: random.Random, given: Input, change: Callable[[dict[str, Any]], object]
) -> Input:
    """Change the parsed body; one that is no object, or too deep, stays as it is."""
    try:
        parsed = json.loads(given.body)
        if not isinstance(parsed, dict):
            return given
        change(parsed)
        return replace(given, body=dump(parsed, ascii_only=chance(rng, 2)))
    except (ValueError, RecursionError):
        return given


def replace_value(rng: random.Random, given: Input, names: Names) -> Input:
    def change(parsed: dict[str, Any]) -> None:
        if places := _places(parsed):
            container, key = rng.choice(places)
            container[key] = odd_value(rng)

    return _with_envelope(rng, given, change)


def drop_member(rng: random.Random, given: Input, names: Names) -> Input:
    def change(parsed: dict[str, Any]) -> None:
        if places := _places(parsed):
            container, key = rng.choice(places)
            del container[key]

    return _with_envelope(rng, given, change)


def add_member(rng: random.Random, given: Input, names: Names) -> Input:
    def change(parsed: dict[str, Any]) -> None:
        places = [(None, None), *_places(parsed)]
        container, key = rng.choice(places)
        target = parsed if container is None else container[key]
        if isinstance(target, dict):
            target[rng.choice(_MEMBERS)] = odd_value(rng)
        elif isinstance(target, list):
            target += [odd_value(rng)] * rng.choice([1, 1, 17, 300])

    return _with_envelope(rng, given, change)


def respell_member(rng: random.Random, given: Input, names: Names) -> Input:
    """A name in snake_case, or in other case; sometimes beside the right one."""

    def change(parsed: dict[str, Any]) -> None:
        places = [(c, k) for c, k in _places(parsed) if isinstance(c, dict)]
        container, key = rng.choice(places or [({"a": 1}, "a")])
        snake = re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()
        spelled = rng.choice([snake, key.upper(), key.capitalize(), f"{key} "])
        container[spelled] = container[key]
        if spelled != key and chance(rng, 2):
            del container[key]

    return _with_envelope(rng, given, change)


def swap_types(rng: random.Random, given: Input, names: Names) -> Input:
    """The same value as another type."""

    def change(parsed: dict[str, Any]) -> None:
        if places := _places(parsed):
            container, key = rng.choice(places)
            old = container[key]
            spellings = [[old], {"value": old}, str(old)[:500], bool(old), [[old]]]
            container[key] = rng.choice(spellings)

    return _with_envelope(rng, given, change)


def change_id(rng: random.Random, given: Input, names: Names) -> Input:
    def change(parsed: dict[str, Any]) -> None:
        parsed["id"] = odd_value(rng)

    return _with_envelope(rng, given, change)


def change_method(rng: random.Random, given: Input, names: Names) -> Input:
    odd = ["getTask", "GetTask ", "tasks/get", "__init__", "x" * 999, "rpc.discover"]

    def change(parsed: dict[str, Any]) -> None:
        known = list(inputs.METHODS)
        parsed["method"] = rng.choice([*odd, *known, *known, odd_value(rng)])

    return _with_envelope(rng, given, change)


def batch(rng: random.Random, given: Input, names: Names) -> Input:
    times = rng.choice([0, 1, 2, 50])
    return replace(given, body=b"[" + b",".join([given.body] * times) + b"]")


# --- The text of the body -------------------------------------------------------------

_ODD_BYTES: Final = [
    b"\x00",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\uD83D\\uDE00",
    b",",
    b",,",
    b":",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1e-999",
    b"00",
    b"+1",
    b".5",
    b"//x\n",
    b"/**/",
    b"\n",
    b"\r\n",
    b"\x0b",
    b"\xc2\xa0",
    b"9" * 400,
    b"9" * 5000,
    b"'",
    b"undefined",
]


def flip_bytes(rng: random.Random, given: Input, names: Names) -> Input:
    body = bytearray(given.body)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        if body:
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    return replace(given, body=bytes(body))


def cut(rng: random.Random, given: Input, names: Names) -> Input:
    start = rng.randrange(len(given.body) + 1)
    body = given.body[:start] if chance(rng, 2) else given.body[start:]
    return replace(given, body=body)


def insert(rng: random.Random, given: Input, names: Names) -> Input:
    at = rng.randrange(len(given.body) + 1)
    odd = rng.choice([*_ODD_BYTES, rng.randbytes(rng.randrange(1, 9))])
    return replace(given, body=given.body[:at] + odd + given.body[at:])


def replace_token(rng: random.Random, given: Input, names: Names) -> Input:
    """One JSON token is something that is none, or a number that nobody expects."""
    tokens = list(
        re.finditer(rb'"(?:[^"\\]|\\.)*"|-?[0-9.eE+]+|true|false', given.body)
    )
    if not tokens:
        return given
    start, end = rng.choice(tokens).span()
    odd = rng.choice(_ODD_BYTES)
    return replace(given, body=given.body[:start] + odd + given.body[end:])


def splice(rng: random.Random, given: Input, names: Names) -> Input:
    """The beginning of one request and the end of another."""
    other = dump(inputs.envelope(rng, names))
    at, to = rng.randrange(len(given.body) + 1), rng.randrange(len(other) + 1)
    return replace(given, body=given.body[:at] + other[to:])


def repeat_member(rng: random.Random, given: Input, names: Names) -> Input:
    """A member name twice in one object."""
    found = list(re.finditer(rb'(\\?"(?:[^"\\]|\\.)*")\s*:', given.body))
    if not found:
        return given
    name = rng.choice(found)
    again = name[1] + b":" + dump(odd_value(rng), ascii_only=True) + b","
    at = name.start()
    return replace(given, body=given.body[:at] + again + given.body[at:])


def nest_endlessly(rng: random.Random, given: Input, names: Names) -> Input:
    depth = rng.choice([64, 65, 1000, 10_000])
    opened = rng.choice([b"[", b'{"a":'])
    closed = {b"[": b"]", b'{"a":': b"}"}[opened] * (depth if chance(rng, 2) else 0)
    deep = opened * depth + (b"1" if closed else b"") + closed
    if chance(rng, 2):
        return replace(given, body=deep)
    return replace(given, body=given.body.replace(b'"params"', b'"x":' + deep, 1))


def encode(rng: random.Random, given: Input, names: Names) -> Input:
    text = given.body.decode("utf-8", "replace")
    encoding = rng.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig"])
    return replace(given, body=text.encode(encoding, "replace"))


def pad(rng: random.Random, given: Input, names: Names) -> Input:
    """Around the limit, and far over it."""
    size = rng.choice([65_535, 65_536, 65_537, 70_000, 300_000])
    filler = rng.choice([b" ", b"\n", b"x", b"\x00"])
    return replace(given, body=given.body.ljust(size, filler))


def noise(rng: random.Random, given: Input, names: Names) -> Input:
    return replace(given, body=rng.randbytes(rng.choice([0, 1, 8, 64, 512])))


# --- The head -------------------------------------------------------------------------


def _odd_header_values(name: bytes) -> list[bytes]:
    odd = {
        b"content-type": [
            b"text/plain",
            b"application/a2a+json",
            b"Application/JSON;Charset=UTF-8",
            b"application/json; charset=utf-16",
            b"application/json; charset",
            b"application/jsonp",
            b"multipart/form-data; boundary=x",
            b"application/x-www-form-urlencoded",
            b"application/json, application/json",
            b"application/json;;;=;charset=;",
        ],
        b"a2a-version": [b"", b"0.3", b"1.0.7", b"1.0.", b"1", b"9.9", b"1.0, 1.0"],
        b"content-length": [b"0", b"-1", b"1", b"1_0", b"9" * 30, b"\xb2", b"65537"],
        b"content-encoding": [b"identity", b"gzip", b"br, identity", b"", b"deflate"],
        b"transfer-encoding": [b"chunked", b"gzip, chunked", b"identity", b""],
        b"a2a-extensions": [
            PROFILE_EXTENSION_URI.encode(),
            b",,,",
            b"https://other.example/x, " + PROFILE_EXTENSION_URI.encode(),
            b"\xff\r",
        ],
        b"x-request-id": [b"r-1", b"a b", b"x" * 129, b"\xe9", b"a\x00b", b"<x>"],
        b"host": [
            HOST.upper().encode(),
            f"{HOST}:443".encode(),
            f"{HOST}:8443".encode(),
            b"other.example",
            b"",
            b"[::1]",
            b"[::1",
            b"a@b:99999",
            b"127.0.0.1",
        ],
        b"x-forwarded-for": [b"198.51.100.1", b"x, y", b"::1", b"fe80::1%eth0"],
        b"x-forwarded-host": [b"other.example"],
        b"x-forwarded-proto": [b"http", b"https"],
        b"accept": [b"text/html", b"text/event-stream", b"", b"*/*;q=\xff"],
        b"expect": [b"100-continue", b"200-ok"],
        b"if-none-match": [b"*", b'"', b'W/"x", "y"', b"\xff"],
        b"cookie": [b"sessionid=x; csrftoken=y", b"=;=;"],
        b"connection": [b"close", b"upgrade"],
        b"upgrade": [b"websocket", b"h2c"],
        b"last-event-id": [b"1"],
        b"range": [b"bytes=0-1"],
    }
    return odd[name]


HEADER_NAMES: Final = [
    *[b"content-type"] * 3,
    *[b"a2a-version"] * 3,
    *[b"content-length"] * 2,
    b"content-encoding",
    b"transfer-encoding",
    b"a2a-extensions",
    b"x-request-id",
    *[b"host"] * 2,
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"accept",
    b"expect",
    b"if-none-match",
    b"cookie",
    b"connection",
    b"upgrade",
    b"last-event-id",
    b"range",
]


def change_header(rng: random.Random, given: Input, names: Names) -> Input:
    """Instead of the header of that name, or beside it."""
    name = rng.choice(HEADER_NAMES)
    value = rng.choice(_odd_header_values(name))
    kept = given.headers
    if not chance(rng, 4):
        kept = tuple(row for row in kept if row[0].lower() != name)
    return replace(given, headers=(*kept, (name, value)))


def drop_header(rng: random.Random, given: Input, names: Names) -> Input:
    if not given.headers:
        return given
    at = rng.randrange(len(given.headers))
    return replace(given, headers=given.headers[:at] + given.headers[at + 1 :])


def repeat_header(rng: random.Random, given: Input, names: Names) -> Input:
    if not given.headers:
        return given
    return replace(given, headers=(*given.headers, rng.choice(given.headers)))


def flip_header(rng: random.Random, given: Input, names: Names) -> Input:
    """A bit of a name or value; the host stays, for it decides who has to answer."""
    rows = [at for at, (name, _) in enumerate(given.headers) if name != b"host"]
    if not rows:
        return given
    at = rng.choice(rows)
    row = [bytearray(text) for text in given.headers[at]]
    text = row[rng.randrange(2)]
    if text:
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    changed = (bytes(row[0]), bytes(row[1]))
    if changed[0].lower() == b"host":
        return given
    return replace(
        given, headers=(*given.headers[:at], changed, *given.headers[at + 1 :])
    )


def fill_headers(rng: random.Random, given: Input, names: Names) -> Input:
    more = tuple((b"x-%d" % n, rng.randbytes(8).hex().encode()) for n in range(50))
    return replace(given, headers=(*given.headers, *more))


def change_authorization(rng: random.Random, given: Input, names: Names) -> Input:
    token = rng.choice(names.tokens).encode()
    dead = rng.choice(names.dead_tokens).encode()
    values = [
        b"Bearer " + dead,
        b"Bearer " + dead,
        b"bearer   " + token,
        b"BEARER " + token + b" ",
        b"Bearer " + token + b" x",
        b"Bearer\t" + token,
        b"Bearer " + token + b"," + b"Bearer " + token,
        b"Bearer caf\xe9",
        b"Bearer",
        b"",
        b"Basic " + token,
        token,
        b"Bearer " + token[:-1],
        b"Bearer " + token.upper(),
        b"Bearer a2a_" + b"\xff" * 12 + b"_" + b"A" * 43,
        b"Bearer " + b"x" * 66_000,
        b"Bearer " + token + b"\x00",
    ]
    kept = tuple(row for row in given.headers if row[0].lower() != b"authorization")
    # Failures are counted for an address; most of these come from one of their own.
    address = f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}"
    return replace(
        given,
        headers=(*kept, (b"authorization", rng.choice(values))),
        address=given.address if chance(rng, 8) else address,
    )


def change_line(rng: random.Random, given: Input, names: Names) -> Input:
    """Method, path, query and scheme."""
    kind = rng.randrange(6)
    if kind < 2:
        odd = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "post", "X"]
        return replace(given, method=rng.choice([*odd, "POST"]))
    if kind < 3:
        return replace(given, path=rng.choice(PATHS))
    if kind < 5:
        return replace(given, query=rng.choice(QUERIES))
    return replace(given, scheme=rng.choice(["http", "https"]))


PATHS: Final = [
    ENDPOINT,
    ENDPOINT + "/",
    ENDPOINT + "//",
    "//a2a",
    "/a2a/../a2a",
    "/A2A",
    "/a2a\x00",
    "/a2a/silent",
    CARD,
    ENDPOINT + CARD,
    CARD + "/",
    "/.well-known/agent.json",
    "",
    "/",
    "/admin",
    "/admin/login/",
    "/\N{GRINNING FACE}",
    "/" + "x" * 3000,
]
QUERIES: Final = [
    b"A2A-Version=1.0",
    b"A2A-Version=9.9",
    b"A2A-Version=",
    b"A2A-Version=1.0&A2A-Version=1.0",
    b"a2a-version=1.0",
    b"%ff=%ff&=&&",
    b"\xff",
    b"a=b&" * 2000,
    b"A2A-Version=%00",
    b"x[]=1;y",
]


# --- Delivery -------------------------------------------------------------------------


def cut_in_pieces(rng: random.Random, given: Input, names: Names) -> Input:
    size = len(given.body) + 1
    return replace(given, cuts=tuple(rng.randrange(size) for _ in range(4)))


def break_off(rng: random.Random, given: Input, names: Names) -> Input:
    """The peer is gone before its body has ended."""
    return replace(given, breaks=True)


def stall(rng: random.Random, given: Input, names: Names) -> Input:
    """The body never ends, and neither does the connection."""
    return replace(given, stalls=True)


# How often each is chosen.
MUTATIONS: Final[dict[Mutation, int]] = {
    replace_value: 20,
    drop_member: 6,
    add_member: 14,
    respell_member: 5,
    swap_types: 8,
    change_id: 5,
    change_method: 5,
    batch: 2,
    flip_bytes: 5,
    cut: 2,
    insert: 4,
    replace_token: 6,
    splice: 2,
    repeat_member: 5,
    nest_endlessly: 1,
    encode: 1,
    pad: 1,
    noise: 1,
    change_header: 10,
    drop_header: 3,
    repeat_header: 2,
    flip_header: 6,
    fill_headers: 1,
    change_authorization: 5,
    change_line: 6,
    cut_in_pieces: 3,
    break_off: 1,
}


def mutated(rng: random.Random, names: Names) -> Input:
    """A real request after none to three mutations."""
    given = inputs.real_input(rng, names)
    count = rng.choices([0, 1, 2, 3], weights=[6, 60, 24, 10])[0]
    chosen = rng.choices(list(MUTATIONS), weights=list(MUTATIONS.values()), k=count)
    # Each stall takes the whole deadline for a body.
    if chance(rng, 5000):
        chosen.append(stall)
    for mutation in chosen:
        given = mutation(rng, given, names)
    label = "+".join(mutation.__name__ for mutation in chosen) or "real"
    return replace(given, label=label)
