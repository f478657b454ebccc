from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from a2a_server.models import Task, TaskEvent, TaskMessage, TaskState
from agent_runs import clock
from agent_runs.models import AgentRun, RunState
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

LIST = reverse("admin:a2a_server_task_changelist")
HISTORY = '[{"role":"ROLE_USER","parts":[{"text":"<script>x</script>"}]}]'


def page_of(task: Task, page: str = "change") -> str:
    return reverse(f"admin:a2a_server_task_{page}", args=[task.pk])


def listed(page: Any) -> list[Task]:
    return list(page.context["cl"].result_list)


def make_tasks(count: int, **values: Any) -> list[Task]:
    now, profile = clock.database_now(), factories.make_profile()
    client = factories.make_client(profiles=[profile])
    return [
        factories.make_task(
            client=client, profile=profile, now=now - timedelta(seconds=i), **values
        )
        for i in range(count)
    ]


def test_lists_the_newest_status_first(browser: Browser) -> None:
    tasks = make_tasks(3)

    assert listed(browser.get(LIST)) == tasks


def test_counts_nothing_and_asks_no_query_a_row(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_tasks(60)

    # Session, user, two filters, the page's size, the rows.
    with django_assert_num_queries(6) as queries:
        page = browser.get(LIST)

    assert len(listed(page)) == 50
    assert not [q for q in queries.captured_queries if "COUNT(" in q["sql"]]
    assert not [q for q in queries.captured_queries if '"history"' in q["sql"]]


def test_finds_a_task_by_its_id(browser: Browser) -> None:
    wanted, _ = make_tasks(2)

    page = browser.get(LIST, {"q": str(wanted.pk).upper()})

    assert listed(page) == [wanted]


def test_filters_by_state_client_and_skill(browser: Browser) -> None:
    wanted = factories.make_task(TaskState.COMPLETED)
    factories.make_task(TaskState.FAILED, client=wanted.client, profile=wanted.profile)
    factories.make_task(TaskState.COMPLETED, profile=wanted.profile)
    factories.make_task(TaskState.COMPLETED, client=wanted.client)

    page = browser.get(
        LIST,
        {
            "state__exact": "completed",
            "client": wanted.client.pk,
            "profile": wanted.profile.pk,
        },
    )

    assert listed(page) == [wanted]


@pytest.mark.parametrize("name", ["client", "profile"])
def test_an_unknown_value_filters_nothing(browser: Browser, name: str) -> None:
    tasks = make_tasks(1)

    assert listed(browser.get(LIST, {name: "nobody"})) == tasks


def test_says_how_tasks_come_about(browser: Browser) -> None:
    assert "A client&#x27;s message makes one" in browser.get(LIST).content.decode()


# --- One task -------------------------------------------------------------------------


def test_shows_what_the_client_sees_as_plain_text(browser: Browser) -> None:
    task = factories.make_task(
        TaskState.COMPLETED,
        history=HISTORY,
        artifacts='[{"name":"Summary","parts":[{"text":"Short."}]}]',
        reply='{"role":"ROLE_AGENT","parts":[{"text":"Said."}]}',
    )

    text = browser.get(page_of(task)).content.decode()

    assert "<script>x</script>" not in text
    for part in (
        "&lt;script&gt;x",
        "TASK_STATE_COMPLETED",
        "Summary:\nShort.",
        "Said.",
    ):
        assert part in text


def test_a_task_that_has_just_begun_has_gaps_and_no_nones(browser: Browser) -> None:
    text = browser.get(page_of(factories.make_task())).content.decode()

    assert ">None<" not in text


def test_links_to_run_client_and_skill(browser: Browser) -> None:
    task = factories.make_task()

    text = browser.get(page_of(task)).content.decode()

    for name, record in (
        ("agent_runs_agentrun", task.run),
        ("a2a_server_client", task.client),
        ("a2a_server_profile", task.profile),
    ):
        assert reverse(f"admin:{name}_change", args=[record.pk]) in text


def test_shows_messages_and_events(browser: Browser) -> None:
    task = factories.make_task()
    TaskMessage.objects.create(
        client=task.client, task=task, dedupe_key="m-1", created_at=task.created_at
    )
    TaskEvent.objects.create(
        task=task, sequence=1, payload='{"task":"<b>"}', created_at=task.created_at
    )

    text = browser.get(page_of(task)).content.decode()

    assert "m-1" in text
    assert "{&quot;task&quot;:&quot;&lt;b&gt;&quot;}" in text


def test_contents_that_do_not_open_are_no_traceback(
    browser: Browser, settings: SettingsWrapper
) -> None:
    """R17."""
    task = factories.make_task(history=HISTORY)
    TaskEvent.objects.create(
        task=task, sequence=1, payload="{}", created_at=task.created_at
    )
    settings.A2A_ENCRYPTION_KEYS = ["b3RoZXItdGVzdHMta2V5LW9mLTMyLWJ5dGVzLWdvZXM="]

    text = browser.get(page_of(task)).content.decode()

    assert text.count("Cannot be opened with the configured encryption keys.") == 3


def test_a_long_task_asks_no_query_an_event(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    task = factories.make_task()
    TaskEvent.objects.bulk_create(
        TaskEvent(task=task, sequence=i, payload="{}", created_at=task.created_at)
        for i in range(1, 31)
    )

    with django_assert_max_num_queries(13):
        browser.get(page_of(task))


def test_a_delegate_sees_a_task_with_its_parts(
    browser_of: Callable[..., Browser],
) -> None:
    """One permission opens the whole page."""
    task = factories.make_task()
    TaskMessage.objects.create(
        client=task.client, task=task, dedupe_key="m-1", created_at=task.created_at
    )

    page = browser_of("a2a_server.view_task").get(page_of(task))

    assert "m-1" in page.content.decode()


def test_a_stranger_sees_nothing(strange_browser: Browser) -> None:
    urls = [page_of(factories.make_task()), page_of(Task()), LIST]

    assert [strange_browser.get(url).status_code for url in urls] == [403, 403, 403]


@pytest.mark.parametrize("page", ["add", "change", "delete"])
def test_nobody_writes_a_task(browser: Browser, page: str) -> None:
    """B139."""
    task = factories.make_task()
    url = reverse("admin:a2a_server_task_add") if page == "add" else page_of(task, page)

    answer = browser.post(url, {"post": "yes", "state": "completed"})

    assert answer.status_code == 403
    assert Task.objects.get().state == TaskState.SUBMITTED


# --- Cancel ---------------------------------------------------------------------------


def test_cancels_the_run_of_a_task(browser: Browser) -> None:
    """O2, R14."""
    going = factories.make_task()
    ended = factories.make_task(TaskState.COMPLETED)
    chosen = {
        "action": "cancel_selected",
        "_selected_action": [str(going.pk), str(ended.pk)],
    }

    page = browser.post(LIST, chosen, follow=True)

    assert sorted(html_forms.sentences(page)) == [
        "1 task had ended already.",
        "1 task was canceled.",
    ]
    assert AgentRun.objects.get(pk=going.run_id).state == RunState.CANCELED


def test_the_page_of_a_task_has_a_button(browser: Browser) -> None:
    task = factories.make_task()

    assert page_of(task, "cancel") in browser.get(page_of(task)).content.decode()
    browser.post(page_of(task, "cancel"))

    assert AgentRun.objects.get(pk=task.run_id).state == RunState.CANCELED


def test_looking_is_not_cancelling(browser_of: Callable[..., Browser]) -> None:
    """R20."""
    task = factories.make_task()

    page = browser_of("a2a_server.view_task").post(page_of(task, "cancel"), follow=True)

    assert html_forms.sentences(page) == ["1 task is not yours to cancel."]
    assert AgentRun.objects.get(pk=task.run_id).state == RunState.QUEUED


def test_an_unknown_task_is_no_traceback(browser: Browser) -> None:
    url = reverse("admin:a2a_server_task_cancel", args=[uuid.uuid4()])

    assert browser.post(url).status_code == 404
