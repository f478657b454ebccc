"""Refuses requests of people that name U+0000, which PostgreSQL's texts cannot hold.

A filter, a search, a page's id and a cookie go into queries as they came; there the
driver's error would be this server's. Values of forms are judged by their fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest
from django.utils.deprecation import MiddlewareMixin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest

_NUL = "\0"


class RefuseNul(MiddlewareMixin):
    """Answers 400; stands before whatever reads the session."""

    def process_request(self, request: HttpRequest) -> None:
        if any(_NUL in text for text in _texts(request)):
            raise BadRequest("The request names U+0000.")


def _texts(request: HttpRequest) -> Iterator[str]:
    yield request.path_info
    for name, values in request.GET.lists():
        yield name
        yield from values
    yield from request.COOKIES.values()
