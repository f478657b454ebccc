"""Headless Chromium as the system installed it, driven over WebDriver.

Nothing is downloaded and nothing outside this machine can be reached: every name but the
loopback address resolves to nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from selenium import webdriver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.chrome.webdriver import WebDriver

_OPTIONS = (
    "--headless=new",
    "--window-size=1280,900",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    # The shared memory of a container is often too small for a page.
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
_JAVASCRIPT_OFF = {"profile.managed_default_content_settings.javascript": 2}
PROGRAMS = (("chromium", "google-chrome"), ("chromedriver",))


def missing_program() -> str | None:
    for names in PROGRAMS:
        if not any(map(shutil.which, names)):
            return names[0]
    return None


@contextlib.contextmanager
def started(profile: Path, *, has_javascript: bool = True) -> Iterator[WebDriver]:
    """A browser with an empty profile, ended with the block."""
    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, PROGRAMS[0])))
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    if os.geteuid() == 0:
        # Its sandbox refuses to run as root, as containers do.
        options.add_argument("--no-sandbox")
    if not has_javascript:
        options.add_experimental_option("prefs", _JAVASCRIPT_OFF)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()
