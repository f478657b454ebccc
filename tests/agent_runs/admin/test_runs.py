"""Pages of runs: history that opens quickly however much there is (O2, R15)."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from agent_runs import clock, contents
from agent_runs.models import AgentRun, AgentRunEvent, RunState
from agent_runs.models.run import EndReason, EventKind
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

LIST = reverse("admin:agent_runs_agentrun_changelist")


def page_of(run: AgentRun, page: str = "change") -> str:
    return reverse(f"admin:agent_runs_agentrun_{page}", args=[run.pk])


def listed(page: Any) -> list[AgentRun]:
    return list(page.context["cl"].result_list)


def make_runs(count: int, **values: Any) -> list[AgentRun]:
    owner, now = factories.make_user(), clock.database_now()
    return [
        factories.make_run(owner=owner, now=now - timedelta(seconds=i), **values)
        for i in range(count)
    ]


def make_event(run: AgentRun, **values: Any) -> AgentRunEvent:
    defaults = {
        "sequence": run.events.count() + 1,
        "kind": EventKind.MODEL,
        "created_at": run.created_at + timedelta(seconds=2),
    }
    return AgentRunEvent.objects.create(run=run, **defaults | values)


# --- The list -------------------------------------------------------------------------


def test_lists_the_newest_first(browser: Browser) -> None:
    runs = make_runs(3)

    assert listed(browser.get(LIST)) == runs


@pytest.mark.parametrize(
    ("count", "page", "shown", "has_more"),
    [
        pytest.param(50, 1, 50, False, id="exactly-one-page"),
        pytest.param(51, 1, 50, True, id="one-more"),
        pytest.param(51, 2, 1, False, id="the-last-page"),
        pytest.param(101, 2, 50, True, id="a-page-between"),
    ],
)
def test_knows_whether_there_are_older_ones(
    browser: Browser, count: int, page: int, shown: int, has_more: bool
) -> None:
    make_runs(count)

    answer = browser.get(LIST, {"p": page})

    assert len(listed(answer)) == shown
    assert ("Older" in answer.content.decode()) is has_more
    assert ("Newer" in answer.content.decode()) is (page > 1)


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "9" * 30, "²"])
def test_a_page_that_does_not_exist_is_no_traceback(
    browser: Browser, page: str
) -> None:
    make_runs(51)

    assert browser.get(LIST, {"p": page}, follow=True).status_code == 200


def test_links_between_pages_keep_the_filters(browser: Browser) -> None:
    make_runs(51)

    text = browser.get(LIST, {"state__exact": "queued"}).content.decode()

    assert "?state__exact=queued&amp;p=2" in text


def test_counts_nothing_and_asks_no_query_a_row(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_runs(60)

    # Session, user, owners of the filter, the page's size, the rows.
    with django_assert_num_queries(5) as queries:
        browser.get(LIST)

    assert not [q for q in queries.captured_queries if "COUNT(" in q["sql"]]


def test_filters_count_nothing_even_when_asked(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_runs(3)

    with django_assert_num_queries(5) as queries:
        browser.get(LIST, {"_facets": "True"})

    assert not [q for q in queries.captured_queries if "COUNT(" in q["sql"]]


def test_the_list_reads_no_contents(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_runs(1)

    with django_assert_num_queries(5) as queries:
        browser.get(LIST)

    assert not [q for q in queries.captured_queries if '"request"' in q["sql"]]


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(str, id="as-shown"),
        pytest.param(lambda key: key.hex, id="without-hyphens"),
        pytest.param(lambda key: f"  {str(key).upper()} ", id="upper-case-and-spaces"),
        pytest.param(lambda key: str(key)[:4], id="four-characters"),
        pytest.param(lambda key: str(key)[:13], id="a-beginning"),
    ],
)
def test_finds_a_run_by_its_id(browser: Browser, spelled: Callable[[Any], str]) -> None:
    wanted = factories.make_run(id=uuid.UUID(int=0xABCD << 112 | 7))
    factories.make_run(id=uuid.UUID(int=0xABCE << 112))

    page = browser.get(LIST, {"q": spelled(wanted.pk)})

    assert listed(page) == [wanted]


@pytest.mark.parametrize("text", ["abc", "no such", "%", "'", "g" * 32])
def test_finds_nothing_by_other_text(browser: Browser, text: str) -> None:
    make_runs(1)

    page = browser.get(LIST, {"q": text})

    assert listed(page) == []


def test_filters_by_state_handler_owner_and_period(
    browser: Browser, owner: User
) -> None:
    wanted = factories.make_run(RunState.COMPLETED, owner=owner)
    factories.make_run(RunState.QUEUED, owner=owner)
    factories.make_run(RunState.COMPLETED)
    factories.make_run(RunState.COMPLETED, owner=owner, handler="other")
    old = clock.database_now() - timedelta(days=3)
    factories.make_run(RunState.COMPLETED, owner=owner, now=old)
    yesterday = (clock.database_now() - timedelta(days=1)).isoformat()

    page = browser.get(
        LIST,
        {
            "state__exact": "completed",
            "handler": "llm.text",
            "owner": owner.pk,
            "created_at__gte": yesterday,
        },
    )

    assert listed(page) == [wanted]


@pytest.mark.parametrize("value", ["nobody", "0", "' OR 1=1"])
def test_an_owner_who_has_no_run_filters_nothing(browser: Browser, value: str) -> None:
    runs = make_runs(1)

    assert listed(browser.get(LIST, {"owner": value})) == runs


def test_says_how_runs_come_about(browser: Browser) -> None:
    assert "A message to a skill makes one" in browser.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        pytest.param(RunState.QUEUED, "", "Queued", id="goes-on"),
        pytest.param(RunState.COMPLETED, "completed", "Completed", id="same-word"),
        pytest.param(
            RunState.FAILED,
            EndReason.RETRIES_EXHAUSTED,
            "Failed: Failed on every try",
            id="tells-more",
        ),
    ],
)
def test_lists_the_reason_where_it_tells_more_than_the_state(
    browser: Browser, state: RunState, reason: str, shown: str
) -> None:
    """R4: the list answers why without a click."""
    factories.make_run(state, end_reason=reason)

    text = browser.get(LIST).content.decode()

    assert f'<td class="field-outcome">{shown}</td>' in text


# --- One run --------------------------------------------------------------------------


def test_shows_what_happened(browser: Browser) -> None:
    """R15: what, when, how long."""
    run = factories.make_run(RunState.COMPLETED)
    make_event(
        run, duration_ms=1234, round=2, facts={"model": "echo"}, content="<b>Hi</b>"
    )

    text = browser.get(page_of(run)).content.decode()

    for part in ("Model call", "1.2 s", "2.0 s", "model: echo"):
        assert part in text
    assert "&lt;b&gt;Hi&lt;/b&gt;" in text
    assert "<b>Hi</b>" not in text


def test_leaves_out_facts_that_say_nothing(browser: Browser) -> None:
    """R15: words instead of keys, and no empty lists."""
    run = factories.make_run()
    make_event(run, facts={"answer_length": 0, "tools": [], "finish_reason": ""})

    text = browser.get(page_of(run)).content.decode()

    assert "answer length: 0" in text
    assert "tools: []" not in text
    assert "finish" not in text


def test_cuts_what_is_long(browser: Browser) -> None:
    run = factories.make_run()
    make_event(run, content="x" * 5_000)

    text = browser.get(page_of(run)).content.decode()

    assert "x" * 2_000 in text
    assert "x" * 2_001 not in text
    assert "3000 more characters" in text


def test_shows_no_more_than_was_kept(browser: Browser) -> None:
    """R16: the request itself is not shown, its event is as far as the level lets it."""
    run = factories.make_run(text="the secret request", answer_level="metadata")
    make_event(run, kind=EventKind.REQUEST, facts={"characters": 18}, content=None)

    text = browser.get(page_of(run)).content.decode()

    assert "secret request" not in text
    assert "characters: 18" in text


def test_shows_the_result(browser: Browser) -> None:
    result = contents.Result(
        outputs=(
            contents.text_output("<i>Answer</i>"),
            contents.Output(
                parts=(
                    contents.DataPart(data={"n": 1}),
                    contents.FilePart(media_type="application/pdf", filename="a.pdf"),
                )
            ),
        ),
        note="A note.",
    )
    run = factories.make_run(RunState.COMPLETED, result=contents.dump_result(result))

    text = browser.get(page_of(run)).content.decode()

    assert "&lt;i&gt;Answer&lt;/i&gt;" in text
    assert "&quot;n&quot;: 1" in text
    assert "[a.pdf, application/pdf]" in text
    assert "A note." in text


@pytest.mark.parametrize("stored", ['{"format":99}', "{}", "[]", "no json", ""])
def test_a_result_of_another_release_is_no_traceback(
    browser: Browser, stored: str
) -> None:
    run = factories.make_run(RunState.COMPLETED, result=stored)

    assert "cannot show" in browser.get(page_of(run)).content.decode()


def test_contents_that_do_not_open_are_no_traceback(
    browser: Browser, settings: SettingsWrapper
) -> None:
    """R17."""
    run = factories.make_run(RunState.COMPLETED, result="{}")
    make_event(run, content="x")
    settings.A2A_ENCRYPTION_KEYS = ["b3RoZXItdGVzdHMta2V5LW9mLTMyLWJ5dGVzLWdvZXM="]

    text = browser.get(page_of(run)).content.decode()

    assert "Cannot be opened with the configured encryption keys." in text


def test_links_to_what_the_run_belongs_to(browser: Browser) -> None:
    task = factories.make_task()

    text = browser.get(page_of(task.run)).content.decode()

    assert reverse("admin:a2a_server_task_change", args=[task.pk]) in text


def test_a_run_that_has_just_begun_has_gaps_and_no_nones(browser: Browser) -> None:
    text = browser.get(page_of(factories.make_run())).content.decode()

    assert "Nothing has happened yet." in text
    assert ">None<" not in text


def test_shows_a_run_whose_owner_and_handler_are_gone(browser: Browser) -> None:
    run = factories.make_run(owner=None, handler="no.such", tools=["a", "b"])

    text = browser.get(page_of(run)).content.decode()

    assert "no.such (not installed)" in text
    assert "a, b" in text


def test_a_long_timeline_asks_no_query_an_event(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = factories.make_task().run
    for _ in range(30):
        make_event(run, content="x")
        make_event(run, kind=EventKind.WRITE, facts={"draft_id": str(uuid.uuid4())})

    with django_assert_max_num_queries(10):
        browser.get(page_of(run))


def test_says_what_it_waits_for_and_leads_there(browser: Browser) -> None:
    """O2."""
    run = factories.make_run(RunState.WAITING_FOR_APPROVAL)
    card = reverse("admin:agent_runs_waitingrun_change", args=[run.pk])

    text = browser.get(page_of(run)).content.decode()

    assert f'Waiting for approval. <a href="{card}">Approval of write</a>' in text


def test_says_it_without_a_link_where_it_would_lead_nowhere(
    browser_of: Callable[..., Browser],
) -> None:
    """R20."""
    question = factories.make_question("Is <b>it</b>?")
    run = factories.make_run(RunState.WAITING_FOR_INPUT, waiting=question)

    browser = browser_of("agent_runs.view_agentrun")
    text = browser.get(page_of(run)).content.decode()

    assert "Waiting for input. Question: Is &lt;b&gt;it&lt;/b&gt;?" in text
    assert "/waitingrun/" + str(run.pk) not in text


def test_names_who_started_it(browser: Browser) -> None:
    """T12."""
    run = factories.make_run(starter=factories.make_user("ada"))

    assert "ada</a>" in browser.get(page_of(run)).content.decode()


# --- Nobody writes history ------------------------------------------------------------


@pytest.mark.parametrize("page", ["add", "change", "delete"])
def test_nobody_adds_changes_or_deletes_a_run(browser: Browser, page: str) -> None:
    """B139: states and owners are read-only, for superusers too."""
    run = factories.make_run()
    url = (
        reverse("admin:agent_runs_agentrun_add")
        if page == "add"
        else page_of(run, page)
    )

    answer = browser.post(url, {"post": "yes", "state": "completed", "owner": ""})

    assert answer.status_code == 403
    assert AgentRun.objects.get().state == RunState.QUEUED


def test_the_action_delete_does_not_exist(browser: Browser) -> None:
    run = factories.make_run()

    browser.post(LIST, {"action": "delete_selected", "_selected_action": [run.pk]})

    assert AgentRun.objects.exists()


def test_a_stranger_sees_nothing(strange_browser: Browser) -> None:
    """R20: known and unknown alike."""
    urls = [page_of(factories.make_run()), page_of(AgentRun()), LIST]

    assert [strange_browser.get(url).status_code for url in urls] == [403, 403, 403]


def test_a_delegate_may_look(browser_of: Callable[..., Browser]) -> None:
    browser = browser_of("agent_runs.view_agentrun")

    assert browser.get(LIST).status_code == 200
    assert browser.get(page_of(factories.make_run())).status_code == 200


# --- Cancel ---------------------------------------------------------------------------


def cancel(browser: Browser, *runs: AgentRun) -> list[str]:
    chosen = {"action": "cancel_selected", "_selected_action": [r.pk for r in runs]}
    return html_forms.sentences(browser.post(LIST, chosen, follow=True))


def state_of(run: AgentRun) -> str:
    return AgentRun.objects.get(pk=run.pk).state


def test_cancels_what_has_not_ended_and_counts_the_rest(browser: Browser) -> None:
    """R14."""
    going = [
        factories.make_run(state)
        for state in (RunState.QUEUED, RunState.RUNNING, RunState.WAITING_FOR_INPUT)
    ]
    ended = factories.make_run(RunState.COMPLETED)

    told = cancel(browser, *going, ended)

    assert sorted(told) == ["1 run had ended already.", "3 runs were canceled."]
    assert {state_of(run) for run in going} == {RunState.CANCELED}
    assert state_of(ended) == RunState.COMPLETED


def test_a_delegate_without_the_permission_cancels_own_runs_only(
    browser_of: Callable[..., Browser],
) -> None:
    """R20."""
    user = factories.make_user(permissions=["agent_runs.view_agentrun"], is_staff=True)
    own, foreign = factories.make_run(owner=user), factories.make_run()

    told = cancel(browser_of(user=user), own, foreign)

    assert sorted(told) == ["1 run is not yours to cancel.", "1 run was canceled."]
    assert state_of(own) == RunState.CANCELED
    assert state_of(foreign) == RunState.QUEUED


def test_the_permission_cancels_runs_of_others(
    browser_of: Callable[..., Browser],
) -> None:
    """R20."""
    browser = browser_of("agent_runs.view_agentrun", "agent_runs.cancel_run")
    run = factories.make_run()

    assert cancel(browser, run) == ["1 run was canceled."]


def test_the_permission_alone_opens_nothing(browser_of: Callable[..., Browser]) -> None:
    """R20."""
    browser = browser_of("agent_runs.cancel_run")
    run = factories.make_run()

    answer = browser.post(page_of(run, "cancel"))

    assert answer.status_code == 403
    assert state_of(run) == RunState.QUEUED


def test_the_page_of_a_run_has_a_button_without_javascript(browser: Browser) -> None:
    run = factories.make_run()

    assert page_of(run, "cancel") in browser.get(page_of(run)).content.decode()

    page = browser.post(page_of(run, "cancel"), follow=True)

    assert html_forms.sentences(page) == ["1 run was canceled."]
    assert state_of(run) == RunState.CANCELED
    assert page_of(run, "cancel") not in page.content.decode()


def test_the_button_is_not_shown_for_runs_of_others(
    browser_of: Callable[..., Browser],
) -> None:
    browser = browser_of("agent_runs.view_agentrun")
    run = factories.make_run()

    assert page_of(run, "cancel") not in browser.get(page_of(run)).content.decode()
    browser.post(page_of(run, "cancel"))
    assert state_of(run) == RunState.QUEUED


def test_a_link_cancels_nothing(browser: Browser) -> None:
    run = factories.make_run()

    assert browser.get(page_of(run, "cancel")).status_code == 405
    assert state_of(run) == RunState.QUEUED


@pytest.mark.parametrize("key", ["no-uuid", str(uuid.UUID(int=0))])
def test_cancelling_an_unknown_run_is_no_traceback(browser: Browser, key: str) -> None:
    url = reverse("admin:agent_runs_agentrun_cancel", args=[key])

    assert browser.post(url).status_code == 404


def test_cancelling_is_in_the_log_of_changes(browser: Browser) -> None:
    """B139."""
    run = factories.make_run()

    cancel(browser, run)

    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (str(run.pk), "Canceled.")
