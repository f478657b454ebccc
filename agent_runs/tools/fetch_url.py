"""Reads a page of the public web, through the guard and as text only (T5, E1)."""

from __future__ import annotations

import asyncio
import codecs
import re
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from pydantic import BaseModel, Field

from agent_runs import outbound
from agent_runs.effects import Effect
from agent_runs.tools import html_text, run_records
from agent_runs.tools.contract import Tool, ToolCall, ToolError
from egress import redirects
from egress.errors import EgressError

if TYPE_CHECKING:
    from egress.client import Answer
    from egress.redirects import Landed

GROUP = "fetch_url"

_DESCRIPTION = """Reads a page of the public web and gives its text. It takes https only, \
and text, HTML, JSON or XML only; a long page is cut. Nothing is sent but the URL."""
_ACCEPT = "text/html, text/plain, application/json, application/xml;q=0.9, text/*;q=0.8"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(r"text/.+|application/(.+\+)?(json|xml)")
_CHARSET = re.compile(r""";\s*charset=["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
# Others are no charsets of the web, and one (punycode) takes quadratic time.
_CHARSETS = (
    "ascii",
    "big5",
    "cp",
    "euc_",
    "gb",
    "iso2022",
    "iso8859",
    "koi8",
    "mac",
    "shift_jis",
    "utf",
)


class FetchUrl(BaseModel):
    model_config = run_records.PARAMETERS

    url: str = Field(min_length=1, max_length=2048, description="Begins with https://.")


async def _fetch(call: ToolCall) -> str:
    arguments = call.arguments
    if not isinstance(arguments, FetchUrl):
        raise TypeError("these are arguments of another tool")
    headers = {"Accept": _ACCEPT, "User-Agent": f"a2a-gateway/{settings.A2A_VERSION}"}
    try:
        async with outbound.open_client(GROUP) as client:
            landed = await redirects.get(client, arguments.url, headers=headers)
    except EgressError as error:
        raise ToolError(error.sentence) from None
    # Two megabytes of HTML take a while.
    text = await asyncio.to_thread(_read, landed)
    return text or "The page holds no text."


def _read(landed: Landed) -> str:
    answer, host = landed.answer, urlsplit(landed.url).hostname
    if not 200 <= answer.status < 300:
        raise ToolError(f"«{host}» gave no page: {_said(answer.status)}.")
    content_type = answer.headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    text = _decoded(answer, content_type)
    if media_type in _HTML:
        return html_text.text_of(text, url=landed.url)
    if _TEXT.fullmatch(media_type):
        return text
    raise ToolError(
        f"«{host}» gave something that is no text. Only text, HTML, JSON and XML can be "
        "read."
    )


def _said(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def _decoded(answer: Answer, content_type: str) -> str:
    found = _CHARSET.search(content_type)
    try:
        charset = codecs.lookup(found[1]).name if found else ""
    except LookupError:
        charset = ""
    if not charset.replace("-", "_").startswith(_CHARSETS):
        charset = "utf-8"
    return answer.body.decode(charset, "replace").removeprefix("\ufeff")


def tool() -> Tool:
    return Tool(
        name="fetch_url",
        description=_DESCRIPTION,
        parameters=FetchUrl,
        effect=Effect.READ_ONLY,
        execute=_fetch,
        group="web",
        is_outside=True,
        # What a model asks for may carry what it has read: an administrator decides.
        enabled_by_default=False,
    )
