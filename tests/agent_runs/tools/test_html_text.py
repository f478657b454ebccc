from __future__ import annotations

import time

import pytest

from agent_runs.tools import html_text

URL = "https://page.test/docs/index.html"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<h1>Head</h1>\n\n\n<ul><li>a<li>b</ul>", "Head\n\na\nb"),
        ("one<br>two", "one\ntwo"),
        ("a \t  b\xa0c", "a b c"),
        ("<table><tr><td>1</td><td>2</td></tr></table>", "1 2"),
        ("<title>T</title><body>x", "T\nx"),
        ("a &amp; b &lt;c&gt; &eacute;", "a & b <c> é"),
        ("<b>bo</b>ld", "bold"),
        ("a<script>alert('<p>no</p>')</script>b", "ab"),
        ("a<style>p { color: red }</style>b", "ab"),
        ("a<template>no<p>no</p></template>b", "ab"),
        ("a<svg><title>no</title></svg>b", "ab"),
        ("a<!-- no -->b", "ab"),
        ("a</script></p></a>b", "a\nb"),
        ("a<noscript>no<iframe>no</noscript>b", "ab"),
        ("", ""),
        ("<p", ""),
        ("one<![two", "one"),
        (
            "a<template><a href=/x>no</a></template><a href=/y>b</a>",
            "ab (https://page.test/y)",
        ),
    ],
)
def test_keeps_what_a_reader_sees(html: str, expected: str) -> None:
    """T5."""
    assert html_text.text_of(html, url=URL) == expected


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("https://other.test/a", "go (https://other.test/a)"),
        ("/a?b=c", "go (https://page.test/a?b=c)"),
        ("next.html", "go (https://page.test/docs/next.html)"),
        ("//other.test/a", "go (https://other.test/a)"),
        ("#part", "go"),
        ("", "go"),
        ("javascript:alert(1)", "go"),
        ("mailto:a@b.test", "go"),
        ("https://[::1/", "go"),
    ],
)
def test_a_link_tells_where_it_leads(href: str, expected: str) -> None:
    """T5."""
    html = f'<a href="{href}">go</a>'

    assert html_text.text_of(html, url=URL) == expected


@pytest.mark.parametrize(
    "piece", ["<!--", "<a ", "</", "<![", "<?", "&", "<script>", "<"]
)
def test_a_crafted_page_takes_no_longer_than_its_length(piece: str) -> None:
    began = time.monotonic()

    html_text.text_of(piece * (1_000_000 // len(piece)), url=URL)

    assert time.monotonic() - began < 20
