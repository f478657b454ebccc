"""A gateway of real processes and a real browser in front of it.

Both serve all tests of a module, so each test goes by what it made itself.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from tests import processes
from tests.a2a_client import scripts
from tests.a2a_client.peer import Peer
from tests.browser import chromium, gateways, newsroom, pages, publishing
from tests.conftest import missing_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.chrome.webdriver import WebDriver

PICTURES = processes.ROOT / "test-artifacts" / "browser"


@pytest.fixture(scope="module")
def has_javascript(request: pytest.FixtureRequest) -> bool:
    """Parametrize it, indirectly, with False for a browser that runs none."""
    return bool(getattr(request, "param", True))


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    if program := chromium.missing_program():
        missing_service(f"{program} is not installed.")


@pytest.fixture(scope="module")
def driver(
    has_javascript: bool, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebDriver]:
    profile = tmp_path_factory.mktemp("chromium")
    with chromium.started(profile, has_javascript=has_javascript) as started:
        yield started


def empty_folder(name: str) -> Path:
    """For pictures; what an earlier run left in it is gone."""
    folder = PICTURES / re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path:
    return empty_folder(request.node.name)


# --- An empty gateway -----------------------------------------------------------------


def _services() -> dict[str, str]:
    """What an installation is told of the services of this run, where it has them."""
    is_postgresql = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
    if not (is_postgresql and settings.A2A_REDIS_URL):
        return {}
    return {"database": processes.POSTGRESQL, "redis_url": settings.A2A_REDIS_URL}


@pytest.fixture(scope="module")
def gateway(
    driver: WebDriver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[gateways.Gateway]:
    """One for each browser: on Celery where this run has its services."""
    folder = tmp_path_factory.mktemp("gateway")
    with processes.installation(folder, **_services()) as site:
        yield gateways.start(site)


@pytest.fixture(scope="module")
def token(driver: WebDriver, gateway: gateways.Gateway, has_javascript: bool) -> str:
    """Of the client that was made, with all it needs, by clicking through the admin."""
    folder = "publishing-javascript" if has_javascript else "publishing-no-javascript"
    browser = pages.Browser(
        driver=driver, origin=gateway.site.origin, pictures=empty_folder(folder)
    )
    browser.sign_in(gateways.ADMIN, gateways.PASSWORD)
    publishing.publish(browser)
    return gateway.site.manage("a2a_client_token", publishing.CLIENT).stdout.strip()


@pytest.fixture
def browser(
    driver: WebDriver, gateway: gateways.Gateway, token: str, pictures: Path
) -> pages.Browser:
    """Signed in to the gateway in which everything was published."""
    secret = token.split("_", 2)[2]
    return pages.Browser(
        driver=driver,
        origin=gateway.site.origin,
        pictures=pictures,
        secrets={token, secret},
    )


# --- Remote agents --------------------------------------------------------------------


@pytest.fixture(scope="module")
def remote_agent() -> Iterator[Peer]:
    """An agent at addresses that are not the gateway's."""
    with Peer(host="127.0.0.2") as peer:
        peer.on("GetTask", scripts.error(-32001))
        yield peer


@pytest.fixture(scope="module")
def registry(
    driver: WebDriver, tmp_path_factory: pytest.TempPathFactory, has_javascript: bool
) -> Iterator[processes.Installation]:
    """A gateway with the client role, in which the browser is signed in."""
    folder = tmp_path_factory.mktemp("registry")
    with processes.installation(folder, **gateways.CLIENT_ROLE) as site:
        gateways.start_web(site)
        name = "registry" if has_javascript else "registry-no-javascript"
        browser = pages.Browser(
            driver=driver, origin=site.origin, pictures=empty_folder(name)
        )
        browser.sign_in(gateways.ADMIN, gateways.PASSWORD)
        yield site


@pytest.fixture
def registrar(
    driver: WebDriver, registry: processes.Installation, pictures: Path
) -> pages.Browser:
    """The browser of the person who registers remote agents."""
    return pages.Browser(driver=driver, origin=registry.origin, pictures=pictures)


# --- The demonstration ----------------------------------------------------------------


@pytest.fixture(scope="module")
def demonstration(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[processes.Installation]:
    """Its records and a web process."""
    with processes.installation(tmp_path_factory.mktemp("demonstration")) as site:
        site.start_web()
        yield site


@pytest.fixture(scope="module")
def signed_in(driver: WebDriver, demonstration: processes.Installation) -> None:
    demo = demonstration.seed()
    browser = pages.Browser(
        driver=driver,
        origin=demonstration.origin,
        pictures=empty_folder("demonstration"),
    )
    browser.sign_in(demo["admin_user"], demo["admin_password"])


@pytest.fixture
def demo_browser(
    driver: WebDriver,
    demonstration: processes.Installation,
    signed_in: None,
    pictures: Path,
) -> pages.Browser:
    """Signed in to the demonstration; a test leaves the records as they were."""
    return pages.Browser(driver=driver, origin=demonstration.origin, pictures=pictures)


# --- The newsroom ---------------------------------------------------------------------


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[newsroom.Newsroom]:
    """The demonstration as `make run` has it, with a worker: one for all modules."""
    folder = tmp_path_factory.mktemp("newsroom")
    with processes.installation(folder, **_services(), **newsroom.ENVIRONMENT) as site:
        yield newsroom.start(site)


@pytest.fixture(scope="module")
def editor_signed_in(
    driver: WebDriver, desk: newsroom.Newsroom, has_javascript: bool
) -> None:
    folder = "newsroom" if has_javascript else "newsroom-no-javascript"
    browser = pages.Browser(
        driver=driver, origin=desk.site.origin, pictures=empty_folder(folder)
    )
    browser.sign_in(desk.demo["admin_user"], desk.demo["admin_password"])


@pytest.fixture
def editor(
    driver: WebDriver, desk: newsroom.Newsroom, editor_signed_in: None, pictures: Path
) -> pages.Browser:
    """The browser of the person who approves and publishes."""
    return pages.Browser(
        driver=driver,
        origin=desk.site.origin,
        pictures=pictures,
        secrets={desk.demo["token"]},
    )


@pytest.fixture
def title(request: pytest.FixtureRequest) -> str:
    """Of an article that no other test has."""
    return f"Article of {request.node.name}"[:120]
