"""The browser itself: a test that it misleads would pass for the wrong reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.common.exceptions import WebDriverException

from tests.browser import chromium, pages

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

SCRIPT = "data:text/html,<title>off</title><script>document.title = 'on'</script>"


@pytest.mark.parametrize(
    ("has_javascript", "title"),
    [pytest.param(True, "on", id="on"), pytest.param(False, "off", id="off")],
)
def test_runs_javascript_only_where_it_is_asked_to(
    tmp_path: Path, has_javascript: bool, title: str
) -> None:
    with chromium.started(tmp_path, has_javascript=has_javascript) as driver:
        driver.get(SCRIPT)

        assert driver.title == title


def test_reaches_nothing_but_this_machine(tmp_path: Path) -> None:
    with (
        chromium.started(tmp_path) as driver,
        pytest.raises(WebDriverException, match="ERR_NAME_NOT_RESOLVED"),
    ):
        driver.get("http://gateway.example/")


def test_notices_a_secret_on_a_page(tmp_path: Path) -> None:
    """S20: what the other tests rely on without saying so."""
    with chromium.started(tmp_path / "profile") as driver:
        browser = pages.Browser(
            driver=driver, origin="", pictures=tmp_path, secrets={"sesame"}
        )

        with pytest.raises(AssertionError, match="shows a secret"):
            browser.visit("data:text/html,<input type=hidden value=sesame>")


@pytest.mark.parametrize(
    "style",
    [
        pytest.param("width: 3000px", id="wider-than-the-page"),
        pytest.param("width: 9em; overflow: hidden; white-space: nowrap", id="cut-off"),
    ],
)
def test_notices_what_is_wider_than_its_place(tmp_path: Path, style: str) -> None:
    with chromium.started(tmp_path / "profile") as driver:
        browser = pages.Browser(driver=driver, origin="", pictures=tmp_path)

        with pytest.raises(AssertionError, match="is cut off"):
            browser.visit(f"data:text/html,<p style='{style}'>{'long ' * 9}</p>")
