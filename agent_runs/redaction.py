"""What the answer level lets through, and how secrets and addresses are masked (R15, R16).

`mask` errs on the side of masking. Its patterns use possessive quantifiers and fixed
prefixes, so that hostile text costs linear time, and a mask is never changed by a second
pass. Nothing here does I/O.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from agent_runs import rewriting
from agent_runs.models.llm import AnswerLevel
from agent_runs.questions import LONGEST_DETAILS, QuestionError

if TYPE_CHECKING:
    from agent_runs.contents import JSONValue, Result
    from agent_runs.questions import Field, Question

MASK = "[redacted]"
# Events are for looking at; results are kept whole.
LONGEST_EVENT_TEXT = 2_000
_CUT = "…"

# The first group may end a longer name (dbPassword); the second would end plain words.
_TELLING_NAME = (
    r"(?:password|passwd|passphrase|credentials?|secret(?:[_-]?access)?(?:[_-]?key)?"
    r"|(?:api|private|access|auth|encryption|signing|account)[_-]?key"
    r"|(?:access|auth|refresh|session|api|client|csrf)[_-]?token"
    r"|(?<![a-z0-9])(?:pass|pwd|token))[0-9]?"
)

# The longer shapes come first, so that a name with its value is masked as one.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        # A block that was cut off is masked to the end of the text.
        re.compile(
            r"-----BEGIN (?:[A-Z]{1,12} ){0,3}PRIVATE KEY-----"
            r"(?:.*?-----END (?:[A-Z]{1,12} ){0,3}PRIVATE KEY-----|.*+)",
            re.DOTALL,
        ),
        MASK,
    ),
    (
        re.compile(r"(?<=://)(?:[^\s/@\[\]\"'<>]*+@)++"),
        f"{MASK}@",
    ),
    (
        re.compile(
            r"(?i)\b(authorization[\"']?+[^\S\n]*+[:=][^\S\n]*+[\"']?+)"
            r"(?:(?:basic|bearer|digest|token|apikey)[^\S\n]++)?+[^\s,;&\"'\[]++"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(
            r"(?i)\b(bearer[^\S\n]++)"
            r"(?:(?=[a-z._~+/=-]*+\d)[\w.~+/=-]{8,}+|[\w.~+/=-]{20,}+)"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(
            rf"(?i)({_TELLING_NAME}[\"']?+[^\S\n]*+[:=][^\S\n]*+)"
            r"(?:(\")(?:[^\"\\\n]|\\.)*+\"?+|(')(?:[^'\\\n]|\\.)*+'?+|[^\s,;&\"']++)"
        ),
        rf"\1\2\3{MASK}\2\3",
    ),
    (
        re.compile(
            r"(?<![A-Za-z0-9])(?:"
            r"a2a_[a-z0-9]{12}_[A-Za-z0-9_-]{20,}+"
            r"|eyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{5,}+(?:\.[A-Za-z0-9_-]*+){0,3}"
            r"|gAAAAA[A-Za-z0-9_=-]{40,}+"
            r"|sk-[A-Za-z0-9_-]{16,}+"
            r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}+"
            r"|gh[oprsu]_[A-Za-z0-9]{20,}+"
            r"|github_pat_[A-Za-z0-9_]{20,}+"
            r"|glpat-[A-Za-z0-9_-]{16,}+"
            r"|hf_[A-Za-z0-9]{20,}+"
            r"|npm_[A-Za-z0-9]{20,}+"
            r"|xox[a-z]-[A-Za-z0-9-]{10,}+"
            r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
            r"|AIza[A-Za-z0-9_-]{30,}+"
            r"|ya29\.[A-Za-z0-9_-]{20,}+"
            r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"
            r")"
        ),
        MASK,
    ),
    (
        re.compile(r"(?<![\w.%+'-])[\w.%+'-]++@[\w-]++(?:\.[\w-]++)++"),
        MASK,
    ),
)
_NAME_OF_SECRET = re.compile(rf"(?i)(?:{_TELLING_NAME}|authorization)\Z")


def mask(text: str) -> str:
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def mask_value(value: JSONValue) -> JSONValue:
    """Mask every text in a JSON value, and whatever stands under a secret's name."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [mask_value(item) for item in value]
    if isinstance(value, dict):
        return {mask(name): _mask_member(name, item) for name, item in value.items()}
    return value


def _mask_member(name: str, value: JSONValue) -> JSONValue:
    if _NAME_OF_SECRET.search(name) and isinstance(value, (str, int, float)):
        return MASK
    return mask_value(value)


def mask_bytes(raw: bytes) -> bytes:
    """Mask a file that is text; bytes that are no UTF-8 stay as they are."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw
    return mask(text).encode()


def cut(text: str) -> str:
    if len(text) <= LONGEST_EVENT_TEXT:
        return text
    return text[: LONGEST_EVENT_TEXT - len(_CUT)] + _CUT


_MASKING = rewriting.Changes(text=mask, value=mask_value, raw=mask_bytes)


def event_content(level: str, text: str) -> str | None:
    """What an event may hold of a prompt, an answer, arguments or a result (R15)."""
    if level == AnswerLevel.FULL:
        return text
    if level == AnswerLevel.REDACTED:
        return cut(mask(text))
    return None


def askable(level: str, question: Question) -> Question:
    """The question as it may be kept and shown (R16).

    Raises `QuestionError` where an option would not be itself any more: nobody could
    choose it.
    """
    if level == AnswerLevel.FULL:
        return question
    fields = tuple(_masked_field(field) for field in question.fields)
    # A mask can be longer than what it covers.
    details = mask(question.details)[:LONGEST_DETAILS]
    return dataclasses.replace(
        question, text=mask(question.text), details=details, fields=fields
    )


def _masked_field(field: Field) -> Field:
    if any(mask(option) != option for option in field.options):
        raise QuestionError("This cannot be asked: an option holds something secret.")
    return dataclasses.replace(field, label=mask(field.label))


def kept_result(level: str, result: Result) -> Result | None:
    """What may be stored and given of a result; None: nothing (R16)."""
    if level == AnswerLevel.FULL:
        return result
    if level == AnswerLevel.REDACTED:
        return rewriting.rewrite_result(result, _MASKING)
    return None
