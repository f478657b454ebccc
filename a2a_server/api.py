"""The A2A endpoints as views.

Only the entry sends requests here: it has found the base URL, authenticated the caller
and read the body within its bounds, and calls each endpoint by its path below the base
URL. There is no second parser, so these views return responses and take no schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from ninja import NinjaAPI

from a2a_server import cards, exchanges, executor
from a2a_server.addressing import CARD_PATH
from a2a_server.bindings import jsonrpc

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

api = NinjaAPI(docs_url=None, openapi_url=None, urls_namespace="a2a")


@api.exception_handler(Exception)
def leave_to_entry(request: HttpRequest, error: Exception) -> NoReturn:
    raise error


@api.post("/")
async def call(request: HttpRequest) -> HttpResponse:
    return await jsonrpc.answer(exchanges.of_request(request))


@api.api_operation(["GET", "HEAD"], CARD_PATH)
async def card(request: HttpRequest) -> HttpResponseBase:
    base_url = exchanges.of_request(request).target.base_url
    served = await executor.run(cards.public_card, base_url.text)
    response = HttpResponse(
        served.body,
        content_type="application/json",
        headers={
            "Cache-Control": "public, max-age=300",
            "Content-Length": str(len(served.body)),
            "ETag": served.etag,
        },
    )
    response.headers["Last-Modified"] = http_date(served.last_modified.timestamp())
    return (
        get_conditional_response(
            request,
            etag=served.etag,
            last_modified=int(served.last_modified.timestamp()),
            response=response,
        )
        or response
    )
