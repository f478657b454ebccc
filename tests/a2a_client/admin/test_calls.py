from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from a2a_client import stored
from a2a_client.models import CallState, RemoteCall
from agent_runs.encryption import field_of
from agent_runs.questions import Question
from tests import factories, html_forms
from tests.a2a_client import agents, scripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

    from tests.a2a_client.peer import Peer

LIST = reverse("admin:a2a_client_remotecall_changelist")
VIEW = "a2a_client.view_remotecall"
CALL = "a2a_client.call_remoteagent"
RUNS = "agent_runs.view_agentrun"


def page_of(call: RemoteCall, page: str = "change") -> str:
    return reverse(f"admin:a2a_client_remotecall_{page}", args=[call.pk])


def text_of(browser: Browser, url: str) -> str:
    response = browser.get(url)
    assert response.status_code == 200
    text: str = response.content.decode()
    return text


def unknown_at(peer: Peer) -> RemoteCall:
    agent = factories.make_remote_agent(peer.url)
    return factories.make_remote_call(
        CallState.UNKNOWN, agent=agent, code="reset", sentence="Nobody knows."
    )


# --- The list -------------------------------------------------------------------------


@pytest.mark.django_db
def test_lists_states_with_their_codes(browser: Browser) -> None:
    factories.make_remote_call(CallState.UNKNOWN, code="crashed", skill="news")
    factories.make_remote_call(CallState.WORKING, polls=7)

    page = text_of(browser, LIST)

    assert "Outcome unknown (crashed)" in page
    assert "The agent works" in page
    assert "news" in page


@pytest.mark.django_db
def test_the_list_takes_as_many_queries_for_many_calls(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        factories.make_remote_call(run=factories.make_run())

    with django_assert_max_num_queries(6):
        browser.get(LIST)


@pytest.mark.django_db
def test_is_filtered_by_agent_and_state(browser: Browser) -> None:
    mine = factories.make_remote_call(CallState.UNKNOWN)
    other = factories.make_remote_call(CallState.COMPLETED)

    by_agent = text_of(browser, f"{LIST}?agent={mine.agent_id}")
    by_state = text_of(browser, f"{LIST}?state=completed")

    assert page_of(mine) in by_agent
    assert page_of(other) not in by_agent
    assert page_of(other) in by_state
    assert page_of(mine) not in by_state


@pytest.mark.django_db
def test_an_empty_list_says_what_makes_a_call(browser: Browser) -> None:
    assert "No call yet." in text_of(browser, LIST)


# --- A call ---------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_page_shows_what_was_said(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = factories.make_run()
    call = factories.make_remote_call(
        text="Look <into> it.",
        run=run,
        result="Found it.",
        detail="HTTP 200",
        sentence="It ended.",
        remote_task_id="T" * 500,
    )

    with django_assert_max_num_queries(8):
        page = text_of(browser, page_of(call))

    assert "Look &lt;into&gt; it." in page
    assert "Found it." in page
    assert "HTTP 200" in page
    assert "It ended." in page
    assert reverse("admin:agent_runs_agentrun_change", args=[run.pk]) in page


@pytest.mark.django_db
def test_an_open_question_is_shown(browser: Browser) -> None:
    question = Question(text="Which colour?", details="Red or blue.")
    call = factories.make_remote_call(
        CallState.ASKING, question=stored.dump_question(question)
    )

    page = text_of(browser, page_of(call))

    assert "Which colour?\n\nRed or blue." in page


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["nonsense", "{}", '{"v": 99}'])
def test_what_another_release_stored_is_no_traceback(
    browser: Browser, text: str
) -> None:
    call = factories.make_remote_call(CallState.ASKING, question=text)

    assert "that this release cannot show" in text_of(browser, page_of(call))


@pytest.mark.django_db
def test_what_the_keys_do_not_open_is_no_traceback(browser: Browser) -> None:
    call = factories.make_remote_call()
    foreign = field_of(RemoteCall, "request").seal("another row", "text")
    RemoteCall.objects.update(request=foreign, question=foreign)

    page = text_of(browser, page_of(call))

    assert "Cannot be opened with the configured encryption keys." in page


@pytest.mark.django_db
def test_nothing_is_added_changed_or_deleted(browser: Browser) -> None:
    call = factories.make_remote_call()

    add = browser.get(reverse("admin:a2a_client_remotecall_add"))
    change = browser.post(page_of(call), {"state": "failed"})
    delete = browser.post(page_of(call, "delete"), {"post": "yes"})

    assert [add.status_code, change.status_code, delete.status_code] == [403] * 3
    assert RemoteCall.objects.get().state == CallState.COMPLETED


# --- Who ------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_stranger_sees_no_call(strange_browser: Browser) -> None:
    call = factories.make_remote_call()

    for url in (LIST, page_of(call)):
        assert strange_browser.get(url).status_code == 403
    assert strange_browser.post(page_of(call, "look_up")).status_code == 403


@pytest.mark.django_db
def test_contents_are_for_those_who_see_runs(
    browser_of: Callable[..., Browser],
) -> None:
    """R15: a call says as much as its run would, and no more."""
    run = factories.make_run()
    call = factories.make_remote_call(
        text="handed over", result="its answer is 7", detail="as it came", run=run
    )
    link = reverse("admin:agent_runs_agentrun_change", args=[run.pk])
    colleague = browser_of(VIEW)

    for url in (LIST, page_of(call)):
        page = text_of(colleague, url)
        assert link not in page
        assert str(run.pk)[:8] in page
        for secret in ("handed over", "its answer is 7", "as it came"):
            assert secret not in page
    assert "its answer is 7" in text_of(browser_of(VIEW, RUNS), page_of(call))


# --- Looking up -----------------------------------------------------------------------


@pytest.mark.django_db
def test_an_unknown_outcome_is_looked_up(browser: Browser, peer: Peer) -> None:
    """C7: by its context, without sending the message again."""
    call = unknown_at(peer)
    task = agents.task("COMPLETED", id="T9", contextId=call.context_id)
    peer.on("ListTasks", scripts.result({"tasks": [task]}))

    shown = text_of(browser, page_of(call))
    assert not peer.received
    assert "Look it up" in shown
    response = browser.post(page_of(call, "look_up"), follow=True)

    assert html_forms.sentences(response) == ["At the agent, task «T9» is completed."]
    assert "task «T9» is completed." in response.content.decode()
    assert RemoteCall.objects.get().state == CallState.UNKNOWN
    assert [received.method for received in peer.received] == ["ListTasks"]
    assert LogEntry.objects.get().change_message.startswith("Looked up. At the agent")


@pytest.mark.django_db
def test_what_told_nothing_is_a_warning(browser: Browser, peer: Peer) -> None:
    call = unknown_at(peer)
    peer.on("ListTasks", scripts.error(-32601))

    response = browser.post(page_of(call, "look_up"), follow=True)

    [told] = response.context["messages"]
    assert told.level_tag == "warning"
    assert told.message.startswith("Nothing was found out. ")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "task_id", "is_offered"),
    [
        (CallState.UNKNOWN, "", True),
        (CallState.WORKING, "R1", True),
        (CallState.COMPLETED, "R1", True),
        (CallState.COMPLETED, "", False),
        (CallState.NOT_ACCEPTED, "", False),
    ],
)
def test_is_offered_where_there_is_something_to_ask(
    browser: Browser, peer: Peer, state: str, task_id: str, is_offered: bool
) -> None:
    agent = factories.make_remote_agent(peer.url)
    call = factories.make_remote_call(state, agent=agent, remote_task_id=task_id)

    page = text_of(browser, page_of(call))
    browser.post(page_of(call, "look_up"))

    assert ("Look it up" in page) is is_offered
    assert bool(peer.received) is is_offered


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("permissions", "status"),
    [([VIEW], 403), ([CALL], 403), ([VIEW, CALL], 302)],
    ids=["sees calls", "may call", "both"],
)
def test_looking_up_takes_a_permission_of_its_own(
    browser_of: Callable[..., Browser],
    peer: Peer,
    permissions: list[str],
    status: int,
) -> None:
    call = unknown_at(peer)
    browser = browser_of(*permissions)

    response = browser.post(page_of(call, "look_up"))

    assert response.status_code == status
    assert bool(peer.received) is (status == 302)
    if permissions == [VIEW]:
        assert "Look it up" not in text_of(browser, page_of(call))


@pytest.mark.django_db
def test_opening_the_address_looks_nothing_up(browser: Browser, peer: Peer) -> None:
    """C2: nothing fetches because a page is shown."""
    call = unknown_at(peer)

    assert browser.get(page_of(call, "look_up")).status_code == 405
    assert not peer.received


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_a_call_that_is_not_there_is_no_traceback(browser: Browser, key: str) -> None:
    url = reverse("admin:a2a_client_remotecall_look_up", args=[key])

    assert browser.post(url).status_code == 404


# --- The role -------------------------------------------------------------------------


@pytest.mark.django_db
def test_with_the_role_off_nothing_of_it_is_there(
    browser: Browser, peer: Peer, settings: SettingsWrapper
) -> None:
    """C1."""
    call = unknown_at(peer)
    settings.A2A_CLIENT_ENABLED = False

    got: list[Any] = [browser.get(url) for url in (LIST, page_of(call))]
    got.append(browser.post(page_of(call, "look_up")))

    assert [response.status_code for response in got] == [403, 403, 403]
    assert not peer.received
