"""Reduces a page to its text, for a model that reads it."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import urljoin

_DROPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4"}
    | {"h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre"}
    | {"section", "table", "title", "tr", "ul"}
)
_CELLS = frozenset({"td", "th"})
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?\n ?")
_EMPTY_LINES = re.compile(r"\n{3,}")


def text_of(html: str, *, url: str) -> str:
    """The text in lines, a link as «text (url)»; `url` is where the page came from."""
    reader = _Reader(url)
    # Never closed: what is unfinished at the end is left out, since some releases of
    # Python need quadratic time to make something of it. Some also stumble over «<![»;
    # what came before it is kept.
    with suppress(AssertionError):
        reader.feed(html)
    text = _LINE_ENDS.sub("\n", _BLANKS.sub(" ", "".join(reader.pieces)))
    return _EMPTY_LINES.sub("\n\n", text).strip()


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._url = url
        self._links: list[str] = []
        self._dropped: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED:
            self._dropped.append(tag)
        elif self._dropped:
            return
        elif tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in _CELLS:
            self.pieces.append(" ")
        elif tag == "a":
            self._links.append(self._link(dict(attrs).get("href") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._dropped:
            # An end that belongs to an outer one ends the inner ones too.
            del self._dropped[self._dropped.index(tag) :]
        elif self._dropped:
            return
        elif tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag == "a" and self._links and (link := self._links.pop()):
            self.pieces.append(f" ({link})")

    def handle_data(self, data: str) -> None:
        if not self._dropped:
            self.pieces.append(data)

    def _link(self, href: str) -> str:
        """Only what can be fetched, and leads away from this place on the page."""
        if not href.strip() or href.startswith("#"):
            return ""
        try:
            link = urljoin(self._url, href.strip())
        except ValueError:
            return ""
        return link if link.startswith(("https://", "http://")) else ""
