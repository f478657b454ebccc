"""A gateway of real processes and a real browser in front of it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from tests import processes
from tests.browser import chromium, gateways, pages
from tests.conftest import missing_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.chrome.webdriver import WebDriver

PICTURES = processes.ROOT / "test-artifacts" / "browser"


def _has_services() -> bool:
    is_postgresql = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
    return is_postgresql and bool(settings.A2A_REDIS_URL)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[gateways.Gateway]:
    """Empty, with web and worker: on Celery where this run has its services."""
    services = {"database": processes.POSTGRESQL, "redis_url": settings.A2A_REDIS_URL}
    with processes.installation(
        tmp_path / "site", **(services if _has_services() else {})
    ) as site:
        yield gateways.start(site)


@pytest.fixture(scope="module")
def demonstration(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[processes.Installation]:
    """The demonstration records and a web process that reads and changes them."""
    with processes.installation(tmp_path_factory.mktemp("demonstration")) as site:
        site.start_web()
        yield site


@pytest.fixture(params=[True, False], ids=["javascript", "no-javascript"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WebDriver]:
    if program := chromium.missing_program():
        missing_service(f"{program} is not installed.")
    profile = tmp_path / "chromium"
    with chromium.started(profile, has_javascript=request.param) as started:
        yield started


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path:
    """Where what the test sees is kept; nothing of an earlier run is left in it."""
    folder = PICTURES / re.sub(r"[^a-z0-9]+", "-", request.node.name).strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def browser(
    driver: WebDriver, gateway: gateways.Gateway, pictures: Path
) -> pages.Browser:
    """Signed in to the empty gateway."""
    opened = pages.Browser(driver=driver, origin=gateway.site.origin, pictures=pictures)
    opened.sign_in(gateways.ADMIN, gateways.PASSWORD)
    return opened


@pytest.fixture
def demo_browser(
    driver: WebDriver, demonstration: processes.Installation, pictures: Path
) -> pages.Browser:
    """Signed in to the demonstration, whose records are as they were made."""
    demo = demonstration.seed()
    opened = pages.Browser(
        driver=driver,
        origin=demonstration.origin,
        pictures=pictures,
        secrets={demo["token"]},
    )
    opened.sign_in(demo["admin_user"], demo["admin_password"])
    return opened
