from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from agent_runs import clock
from agent_runs.models import WorkerHeartbeat
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries

LIST = reverse("admin:agent_runs_workerheartbeat_changelist")


def seen(seconds: int) -> WorkerHeartbeat:
    now = clock.database_now()
    return factories.make_worker(last_seen_at=now - timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("seconds", "icon", "age"),
    [
        pytest.param(3, "icon-yes", "s ago", id="live"),
        pytest.param(100, "icon-yes", "1\xa0minute ago", id="late"),
        pytest.param(125, "icon-no", "2\xa0minutes ago", id="gone"),
        pytest.param(-3600, "icon-no", "not believed", id="future"),
    ],
)
def test_says_whether_a_worker_is_live(
    browser: Browser, seconds: int, icon: str, age: str
) -> None:
    """W2."""
    seen(seconds)

    text = browser.get(LIST).content.decode()

    assert icon in text
    assert age in text


def test_says_that_messages_are_refused_without_a_worker(browser: Browser) -> None:
    """S40."""
    seen(200)

    assert "No worker is live" in browser.get(LIST).content.decode()


def test_says_that_messages_are_accepted(browser: Browser) -> None:
    seen(1)

    assert "At least one worker is live" in browser.get(LIST).content.decode()


def test_says_how_to_start_a_worker(browser: Browser) -> None:
    assert "manage.py agent_work --loop" in browser.get(LIST).content.decode()


def test_shows_a_worker(browser: Browser) -> None:
    worker = seen(1)
    url = reverse("admin:agent_runs_workerheartbeat_change", args=[worker.pk])

    assert worker.worker_id in browser.get(url).content.decode()


def test_has_no_search(browser: Browser) -> None:
    seen(1)

    page = browser.get(LIST, {"q": "abcd"})

    assert 'name="q"' not in page.content.decode()
    assert len(page.context["cl"].result_list) == 1


@pytest.mark.parametrize("page", ["add", "change", "delete"])
def test_nobody_writes_here(browser: Browser, page: str) -> None:
    worker = seen(1)
    args = [] if page == "add" else [worker.pk]
    url = reverse(f"admin:agent_runs_workerheartbeat_{page}", args=args)

    assert browser.post(url, {"post": "yes", "version": "x"}).status_code == 403
    assert WorkerHeartbeat.objects.get().version == "test"


def test_a_stranger_sees_nothing(strange_browser: Browser) -> None:
    assert strange_browser.get(LIST).status_code == 403


def test_a_delegate_may_look(browser_of: Callable[..., Browser]) -> None:
    browser = browser_of("agent_runs.view_workerheartbeat")

    assert browser.get(LIST).status_code == 200


def test_asks_no_query_a_worker(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        seen(1)

    # Session, user; the time twice, a live worker, the page's size, the rows.
    with django_assert_num_queries(7):
        browser.get(LIST)
