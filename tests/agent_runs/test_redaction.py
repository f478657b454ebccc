from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runs import redaction
from agent_runs.contents import (
    DataPart,
    FilePart,
    Output,
    Result,
    TextPart,
    text_output,
)
from agent_runs.models import AnswerLevel
from agent_runs.questions import LONGEST_DETAILS, Question
from agent_runs.redaction import MASK
from tests import growth

TOKEN = "a2a_abcdefghij12_" + "x" * 43
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N"
PRIVATE_KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKC\nAQEA\n-----END RSA PRIVATE KEY-----"
)

SECRETS = {
    "own token": (f"use {TOKEN} now", f"use {MASK} now"),
    "bearer": ("Bearer abcdef1234567890", f"Bearer {MASK}"),
    "authorization header": ("Authorization: Basic dXNlcjpw", f"Authorization: {MASK}"),
    "header in JSON": (
        '{"authorization": "Bearer x1"}',
        f'{{"authorization": "{MASK}"}}',
    ),
    "password=": ("password=hunter2 ok", f"password={MASK} ok"),
    "password with spaces": ('password: "two words" ok', f'password: "{MASK}" ok'),
    "password in JSON": (
        '{"password":"a\\"b","n":1}',
        f'{{"password":"{MASK}","n":1}}',
    ),
    "longer name": ("DB_PASSWORD='x'", f"DB_PASSWORD='{MASK}'"),
    "camel case": ("dbPassword=x", f"dbPassword={MASK}"),
    "query": ("?api_key=abc&page=2", f"?api_key={MASK}&page=2"),
    "unterminated": ('secret="cut off here', f'secret="{MASK}"'),
    "sk key": ("key sk-proj-0123456789abcdefXYZ.", f"key {MASK}."),
    "AWS": ("AKIAIOSFODNN7EXAMPLE", MASK),
    "GitHub": ("ghp_0123456789abcdefghijABCDEFGHIJ", MASK),
    "Slack": ("xoxb-123456789012-abcdef", MASK),
    "Google": ("AIzaSyA0123456789abcdefghijklmnopqrstuv", MASK),
    "JWT": (f"({JWT})", f"({MASK})"),
    "private key": (f"a {PRIVATE_KEY} b", f"a {MASK} b"),
    "two private keys": (f"{PRIVATE_KEY} b {PRIVATE_KEY}", f"{MASK} b {MASK}"),
    "private key that was cut": ("a -----BEGIN PRIVATE KEY-----\nMII", f"a {MASK}"),
    "URL": ("https://me:pw@host.example/x", f"https://{MASK}@host.example/x"),
    "URL with @ in it": ("redis://:p@ss@host/0", f"redis://{MASK}@host/0"),
    "address": ("Write to jane.doe+a@mail.example, please", f"Write to {MASK}, please"),
    "address in brackets": ("<jane@mail.example>", f"<{MASK}>"),
}


@pytest.mark.parametrize(("text", "masked"), SECRETS.values(), ids=SECRETS.keys())
def test_masks_secrets_and_addresses(text: str, masked: str) -> None:
    """R15: `redacted` is text with masked secrets and e-mails."""
    assert redaction.mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "The compass: north is up.",  # «pass» within a word
        "A bearer certificate is needed.",  # «bearer» in prose
        "Basic understanding of tokens helps.",
        "The password must be changed every year.",
        "at @noon, 5 @ 3 EUR",  # at signs without an address
        "https://host.example/a@b",  # no user before the host
        "max_tokens=100",
        "",
        "日本語のテキスト。",
    ],
)
def test_leaves_plain_text_alone(text: str) -> None:
    assert redaction.mask(text) == text


PIECES = [
    *(text for text, _ in SECRETS.values()),
    *("://", "@", "pass", "=", ":", '"', "'", "\\", " ", "\n", "a", "1", MASK, "token"),
    *("bearer ", "authorization:", "AKIAIOSFODNN7EXAMPLE", ".b.c", "-----BEGIN "),
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_masking_twice_changes_nothing(text: str) -> None:
    once = redaction.mask(text)

    assert redaction.mask(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "a_", "@", "a@", "a.", "://", "password", "password=", 'password="'),
        *("-----BEGIN PRIVATE KEY-----", "eyJ", "eyJaaaaa.", "bearer ", "sk-", " "),
        *('password="\\', "authorization: ", "secret_", "://a:", "token ", "a2a_"),
    ],
)
def test_hostile_text_costs_linear_time(piece: str) -> None:
    assert growth.is_linear(redaction.mask, piece * (20_000 // len(piece)))


@pytest.mark.parametrize(
    ("level", "content"),
    [
        (AnswerLevel.NONE, None),
        (AnswerLevel.METADATA, None),
        (AnswerLevel.REDACTED, f"I am {MASK}"),
        (AnswerLevel.FULL, "I am jane@mail.example"),
    ],
)
def test_an_event_holds_what_the_level_lets_through(
    level: AnswerLevel, content: str | None
) -> None:
    """R15."""
    assert redaction.event_content(level, "I am jane@mail.example") == content


def test_a_redacted_event_is_cut_after_masking() -> None:
    """R15: cut at 2,000 characters; a secret at the cut is masked, not halved."""
    text = "x" * 1_980 + f" {TOKEN} " + "y" * 2_000

    content = redaction.event_content(AnswerLevel.REDACTED, text)

    assert content is not None
    assert len(content) == 2_000
    assert "a2a_" not in content
    assert content.endswith("…")


def test_a_full_event_is_not_cut() -> None:
    assert redaction.event_content(AnswerLevel.FULL, "x" * 5_000) == "x" * 5_000


@pytest.mark.parametrize("level", [AnswerLevel.NONE, AnswerLevel.METADATA])
def test_strict_levels_keep_no_result(level: AnswerLevel) -> None:
    """R16."""
    assert redaction.kept_result(level, Result(note="done")) is None


def test_the_full_level_keeps_the_result_as_it_is() -> None:
    result = Result(outputs=(text_output("jane@mail.example"),))

    assert redaction.kept_result(AnswerLevel.FULL, result) is result


def test_a_redacted_result_is_masked_everywhere_and_not_cut() -> None:
    """R16: given masked but not cut, in every part."""
    mail = "jane@mail.example"
    result = Result(
        outputs=(
            Output(
                parts=(
                    TextPart(text=f"{mail} " + "x" * 3_000),
                    DataPart(data={"who": [mail], "password": "p", "n": 1, mail: None}),
                    FilePart(media_type="text/plain", raw=mail.encode(), filename=mail),
                    FilePart(
                        media_type="image/png", raw=b"\xff\x00", url="https://a:b@c"
                    ),
                ),
                name=mail,
                description=mail,
                metadata={"token": "abc", "by": mail},
            ),
        ),
        note=mail,
        message=(TextPart(text=mail),),
    )

    kept = redaction.kept_result(AnswerLevel.REDACTED, result)

    assert kept == Result(
        outputs=(
            Output(
                parts=(
                    TextPart(text=f"{MASK} " + "x" * 3_000),
                    DataPart(
                        data={"who": [MASK], "password": MASK, "n": 1, MASK: None}
                    ),
                    FilePart(media_type="text/plain", raw=MASK.encode(), filename=MASK),
                    FilePart(
                        media_type="image/png",
                        raw=b"\xff\x00",
                        url=f"https://{MASK}@c",
                    ),
                ),
                name=MASK,
                description=MASK,
                metadata={"token": MASK, "by": MASK},
            ),
        ),
        note=MASK,
        message=(TextPart(text=MASK),),
    )


SECRETIVE = Question(text="Why? a@b.example", details="Ask\nc@d.example")


def test_a_question_is_masked_with_its_details() -> None:
    """R16."""
    masked = redaction.askable(AnswerLevel.REDACTED, SECRETIVE)

    assert masked.text == f"Why? {MASK}"
    assert masked.details == f"Ask\n{MASK}"
    assert redaction.askable(AnswerLevel.FULL, SECRETIVE) == SECRETIVE


def test_details_that_the_masks_make_too_long_are_cut() -> None:
    question = Question(text="Why?", details="a@b.c " * 1_600)

    masked = redaction.askable(AnswerLevel.REDACTED, question)

    assert len(masked.details) == LONGEST_DETAILS
