"""The inbox and its cards, as a browser without JavaScript uses them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client as Browser
from django.urls import reverse

from agent_runs import clock, deciding, lifecycle, waiting
from agent_runs.deciding import Teller
from agent_runs.models import AgentRun, RunState
from agent_runs.questions import Field, Question, ValueType, choice
from agent_runs.transcript import Decisions
from agent_runs.waiting import ShownCall
from tests import factories, html_forms
from tests.agent_runs import scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.contrib.auth.models import User
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

    from tests.agent_runs.scripted import Toolbox

pytestmark = pytest.mark.django_db

LIST = reverse("admin:agent_runs_waitingrun_changelist")
DECIDER = "agent_runs.decide_run"


def card_of(run: AgentRun | uuid.UUID) -> str:
    key = run.pk if isinstance(run, AgentRun) else run
    return reverse("admin:agent_runs_waitingrun_change", args=[key])


def to_approve(*tools: str, **values: Any) -> AgentRun:
    values.setdefault("waiting", factories.make_approval(*tools or ("write",)))
    return factories.make_run(RunState.WAITING_FOR_APPROVAL, **values)


def asking(question: Question | None = None, **values: Any) -> AgentRun:
    asked = question or Question(text="Which colour?")
    opened = waiting.open_question(asked, key="call-1", asked_by=["call-1"])
    return factories.make_run(RunState.WAITING_FOR_INPUT, waiting=opened, **values)


def text_of(page: Any) -> str:
    return str(page.content.decode())


def listed(page: Any) -> list[uuid.UUID]:
    return [run.pk for run in page.context["cl"].result_list]


def decisions_of(run: AgentRun) -> Decisions:
    run.refresh_from_db()
    assert run.pending
    return Decisions.load(run.pending)


def send(browser: Browser, run: AgentRun, form_id: str, **values: str) -> Any:
    """What the card's form holds, and what is typed or pressed."""
    held = html_forms.values_of(browser.get(card_of(run)), form_id)
    return browser.post(card_of(run), held | values, follow=True)


def judge(browser: Browser, run: AgentRun, verdict: str) -> list[str]:
    return html_forms.sentences(send(browser, run, "verdict_form", verdict=verdict))


def answer(browser: Browser, run: AgentRun, *texts: str) -> Any:
    typed = {f"answer-{number}": text for number, text in enumerate(texts)}
    return send(browser, run, "answer_form", **typed)


@pytest.fixture(autouse=True)
def box() -> Iterator[Toolbox]:
    """A writer that anybody may run, by the name that the factories use."""
    with scripted.registered() as box:
        box.add_writer("write", lambda call: pytest.fail("it is only approved here"))
        yield box


# --- The list -------------------------------------------------------------------------


def test_lists_what_waits_for_people_and_longest_first(browser: Browser) -> None:
    now = clock.database_now()
    runs = [
        to_approve(now=now - timedelta(minutes=1)),
        asking(now=now - timedelta(minutes=3)),
        to_approve(now=now - timedelta(minutes=2)),
    ]
    for state in set(RunState) - {"waiting_for_approval", "waiting_for_input"}:
        factories.make_run(state)

    page = browser.get(LIST)

    assert listed(page) == [runs[1].pk, runs[2].pk, runs[0].pk]
    assert "3 runs wait" in text_of(page)


def test_says_what_is_wanted_and_who_asked(browser: Browser) -> None:
    """T11: the client and the skill are told by the upper package."""
    client = factories.make_client("reader")
    profile = factories.make_profile("draft-articles")
    run = to_approve("write", "read", "write")
    factories.make_task(run=run, client=client, profile=profile)
    asking(Question(text="Which <b>colour</b>?"))

    text = text_of(browser.get(LIST))

    for part in ("Approval of write, read<", "reader", "Draft articles"):
        assert part in text
    assert "Question: Which &lt;b&gt;colour&lt;/b&gt;?" in text
    assert card_of(run) in text


@pytest.mark.parametrize("column", ["starter", "owner"])
def test_names_who_started_a_run_that_no_client_sent(
    browser: Browser, column: str
) -> None:
    asking(**{column: factories.make_user("ada")})

    assert '<td class="field-asker">ada</td>' in text_of(browser.get(LIST))


def test_says_when_nothing_waits(browser: Browser) -> None:
    text = text_of(browser.get(LIST))

    assert "Nothing waits for you." in text
    assert "no runs wait" in text


def test_counts_no_more_than_it_has_to(browser: Browser) -> None:
    for _ in range(101):
        asking()

    first = browser.get(LIST)
    last = browser.get(LIST, {"p": 3})

    assert "more than 100 runs wait" in text_of(first)
    assert (len(listed(first)), "Next →" in text_of(first)) == (50, True)
    assert (len(listed(last)), "Next →" in text_of(last)) == (1, False)


@pytest.mark.parametrize("wanted", ["waiting_for_approval", "waiting_for_input"])
def test_shows_one_kind_alone(browser: Browser, wanted: str) -> None:
    runs = {run.state: run.pk for run in (to_approve(), asking())}

    assert listed(browser.get(LIST, {"wanted": wanted})) == [runs[wanted]]


@pytest.mark.parametrize("count", [1, 30])
def test_asks_the_same_queries_for_any_number_of_rows(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    for _ in range(count):
        factories.make_task("input_required")

    # Session, user, how many wait, the clock, the page's size, the rows, their tasks.
    with django_assert_num_queries(7) as queries:
        page = browser.get(LIST)

    assert len(listed(page)) == count
    assert not [q for q in queries.captured_queries if '"checkpoint"' in q["sql"]]


@pytest.mark.parametrize("stored", ['{"format":99}', "{}", "no json"])
def test_what_another_release_stored_is_no_traceback(
    browser: Browser, stored: str
) -> None:
    run = asking()
    run.waiting_for = stored
    run.save(update_fields=["waiting_for"])

    assert "cannot be shown here" in text_of(browser.get(LIST))
    for page in (browser.get(card_of(run)), browser.post(card_of(run))):
        assert "cannot be shown here" in text_of(page)


def test_what_does_not_open_is_no_traceback(
    browser: Browser, settings: SettingsWrapper
) -> None:
    """R17."""
    run = asking()
    settings.A2A_ENCRYPTION_KEYS = ["b3RoZXItdGVzdHMta2V5LW9mLTMyLWJ5dGVzLWdvZXM="]

    for url in (LIST, card_of(run)):
        assert "cannot be shown here" in text_of(browser.get(url))


def test_the_index_leads_to_it(strange_browser: Browser) -> None:
    assert f'href="{LIST}"' in text_of(strange_browser.get(reverse("admin:index")))


# --- Whose they are -------------------------------------------------------------------


def test_somebody_without_the_permission_sees_own_runs_only(
    browser_of: Callable[..., Browser],
) -> None:
    """R20."""
    user = factories.make_user(is_staff=True)
    owned, started = asking(owner=user), to_approve(starter=user)
    asking()
    asking(owner=user, starter=factories.make_user())

    page = browser_of(user=user).get(LIST)

    assert set(listed(page)) == {owned.pk, started.pk}


def test_the_permission_alone_shows_all(browser_of: Callable[..., Browser]) -> None:
    """R20."""
    run = to_approve()
    browser = browser_of(DECIDER)

    page = browser.get(card_of(run))

    assert listed(browser.get(LIST)) == [run.pk]
    assert page.status_code == 200
    assert reverse("admin:agent_runs_agentrun_change", args=[run.pk]) not in text_of(
        page
    )


@pytest.mark.parametrize("permission", ["agent_runs.view_agentrun", None])
@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("state", list(RunState))
def test_a_foreign_run_reads_as_an_unknown_one(
    browser_of: Callable[..., Browser],
    permission: str | None,
    method: str,
    state: RunState,
) -> None:
    """R20: whatever its state."""
    foreign = factories.make_run(state)
    browser = browser_of(*filter(None, [permission]))
    stored = AgentRun.objects.values().get()

    pages = [
        getattr(browser, method)(url, {"waiting_id": foreign.waiting_id})
        for url in (card_of(foreign), card_of(uuid.uuid4()))
    ]

    assert [page.status_code for page in pages] == [404, 404]
    assert pages[0].content == pages[1].content
    assert AgentRun.objects.values().get() == stored


@pytest.mark.parametrize("key", ["no-uuid", "1", "_5F", "a/b"])
def test_an_odd_id_is_no_traceback(browser: Browser, key: str) -> None:
    assert browser.get(f"{LIST}{key}/change/").status_code == 404


def test_who_is_not_of_staff_is_sent_to_log_in(client: Browser) -> None:
    run = asking()
    client.force_login(factories.make_user(permissions=[DECIDER]))

    browsers = client, Browser()
    pages = [browser.get(LIST) for browser in browsers]
    pages += [browser.post(card_of(run)) for browser in browsers]

    assert {page.status_code for page in pages} == {302}
    assert all("/login/" in page["Location"] for page in pages)


def test_a_verdict_needs_the_forms_token(superuser: User) -> None:
    run = to_approve()
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(superuser)

    page = browser.post(
        card_of(run), {"waiting_id": run.waiting_id, "verdict": "approve"}
    )

    assert page.status_code == 403
    assert AgentRun.objects.get().state == RunState.WAITING_FOR_APPROVAL


# --- The card of an approval ----------------------------------------------------------


def test_shows_everything_that_is_to_be_approved(browser: Browser) -> None:
    """T11: whole, as JSON over lines, and escaped."""
    long = "x" * 5_000
    approval = waiting.open_approval(
        [
            ShownCall(
                call_id="1",
                tool="write",
                arguments=f'{{"title": "<b>Ä</b>", "text": "{long}"}}',
                preview="Title: <i>old</i> → new\nText: a → b",
            ),
            ShownCall(call_id="2", tool="gone", arguments="no json"),
        ]
    )
    run = to_approve(waiting=approval, workspace=factories.make_workspace("Desk"))
    factories.make_task(run=run, client=factories.make_client("reader"))

    text = text_of(browser.get(card_of(run)))

    assert "&quot;title&quot;: &quot;&lt;b&gt;Ä&lt;/b&gt;&quot;,\n" in text
    assert long in text
    assert "Title: &lt;i&gt;old&lt;/i&gt; → new\nText: a → b" in text
    for part in ("no json", "The tool does not say.", "workspace Desk", "reader"):
        assert part in text


def test_hides_no_character_of_what_is_to_be_approved(browser: Browser) -> None:
    """T11: the direction of text is not turned round under the reader's eyes."""
    call = ShownCall(
        call_id="1",
        tool="write",
        arguments='{"to": "a\u202eb\u200bc\U000e0041"}',
        preview="x\u2066y",
    )

    text = text_of(
        browser.get(card_of(to_approve(waiting=waiting.open_approval([call]))))
    )

    assert "a\\u202eb\\u200bc\\U000e0041" in text
    assert "x\\u2066y" in text


@pytest.mark.parametrize(
    ("verdict", "told", "is_approved"),
    [("approve", "Approved. ", True), ("deny", "Denied. ", False)],
)
def test_a_verdict_hands_the_run_back(
    browser_of: Callable[..., Browser], verdict: str, told: str, is_approved: bool
) -> None:
    """T12: an event of the run, and an entry of the log of changes."""
    run = to_approve()
    browser = browser_of(
        user=factories.make_user("ada", permissions=[DECIDER], is_staff=True)
    )

    sentences = judge(browser, run, verdict)

    assert sentences[0].startswith(told)
    assert decisions_of(run).is_approved is is_approved
    assert run.events.get().facts["by"] == "ada"
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (
        str(run.pk),
        told.strip(),
    )
    assert entry.content_type.model_class() is AgentRun


def test_who_may_not_approve_reads_why_and_may_deny(
    browser_of: Callable[..., Browser],
) -> None:
    """T12: four eyes, on the page and when it is pressed all the same."""
    user = factories.make_user(is_staff=True)
    run = to_approve(
        starter=user, configuration=factories.make_configuration(four_eyes=True)
    )
    browser = browser_of(user=user)

    text = text_of(browser.get(card_of(run)))
    refused = judge(browser, run, "approve")

    assert "Four eyes: whoever started the run may deny, but not approve." in text
    assert 'value="approve"' not in text
    assert 'value="deny"' in text
    assert refused == ["Four eyes: whoever started the run may deny, but not approve."]
    assert not LogEntry.objects.exists()
    assert judge(browser, run, "deny")[0].startswith("Denied.")


def test_a_tool_that_fails_on_the_card_is_no_traceback(
    browser: Browser, box: Toolbox
) -> None:
    """T12: what cannot be judged cannot be approved, and can be denied."""
    box.add_writer(
        "broken", lambda call: pytest.fail("never"), may_run=lambda u, a: 1 / 0
    )
    run = to_approve("broken")

    text = text_of(browser.get(card_of(run)))
    refused = judge(browser, run, "approve")

    assert "could not say whether you may do this yourself." in text
    assert "division" not in text
    assert refused[0].startswith("The tool broken could not say")
    assert judge(browser, run, "deny")[0].startswith("Denied.")


def test_a_verdict_of_no_kind_is_asked_for_again(browser: Browser) -> None:
    run = to_approve()

    assert judge(browser, run, "perhaps") == ["Press «Approve» or «Deny»."]
    assert AgentRun.objects.get().state == RunState.WAITING_FOR_APPROVAL


@pytest.mark.parametrize("sent", [{}, {"waiting_id": ""}, {"waiting_id": "old"}])
@pytest.mark.parametrize("make", [to_approve, asking])
def test_what_was_meant_for_something_else_is_shown_what_waits_now(
    browser: Browser, make: Callable[[], AgentRun], sent: dict[str, str]
) -> None:
    """T9, T12: without an id nothing is decided either."""
    run = make()
    values = sent | {"verdict": "approve", "answer-0": "blue"}

    page = browser.post(card_of(run), values, follow=True)

    assert page.redirect_chain == [(card_of(run), 302)]
    assert html_forms.sentences(page)[0].startswith("The run waits for something else")
    assert AgentRun.objects.get().waiting_id == run.waiting_id


def test_whoever_is_slower_is_told_that_it_is_decided(browser: Browser) -> None:
    """T10."""
    run = to_approve()
    sent = {"waiting_id": run.waiting_id, "verdict": "approve"}
    deciding.decide(
        run.pk,
        run.waiting_id,
        approve=False,
        user=factories.make_user(is_superuser=True),
    )

    page = browser.post(card_of(run), sent, follow=True)

    assert page.redirect_chain == [(LIST, 302)]
    assert html_forms.sentences(page)[0].startswith("It was decided already")
    assert decisions_of(run).is_approved is False
    assert not LogEntry.objects.exists()


def test_whoever_is_slower_by_a_moment_is_told_so_too(
    browser: Browser, box: Toolbox
) -> None:
    """T10: somebody else decides after the card was read and before the verdict counts."""
    run = to_approve("raced")

    def somebody_is_faster(user: Any, arguments: Any) -> bool:
        lifecycle.cancel(run.pk)
        return True

    box.add_writer(
        "raced", lambda call: pytest.fail("never"), may_run=somebody_is_faster
    )
    sent = {"waiting_id": run.waiting_id, "verdict": "approve"}

    page = browser.post(card_of(run), sent, follow=True)

    assert html_forms.sentences(page)[0].startswith("It was decided already")
    assert not LogEntry.objects.exists()


def test_a_card_tells_what_was_asked_for(browser: Browser) -> None:
    """Without it nobody could answer; escaped, as the text of a stranger."""
    run = asking(text="Write <b>about</b> the tram.")

    shown = text_of(browser.get(card_of(run)))

    assert "Write &lt;b&gt;about&lt;/b&gt; the tram." in shown


def test_a_card_tells_no_more_than_the_answer_level_lets_it(browser: Browser) -> None:
    """R16."""
    provider = factories.make_provider(answer_level="metadata")
    configuration = factories.make_configuration(provider=provider)
    run = to_approve(configuration=configuration, text="The secret.")

    shown = text_of(browser.get(card_of(run)))

    assert "secret" not in shown
    assert "What was asked for" not in shown


def test_a_card_that_is_old_leads_back(browser: Browser) -> None:
    run = factories.make_run(RunState.COMPLETED)

    page = browser.get(card_of(run), follow=True)

    assert page.redirect_chain == [(LIST, 302)]


@pytest.mark.parametrize("count", [1, 10])
def test_a_card_asks_the_same_queries_for_any_number_of_calls(
    browser: Browser, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    run = to_approve(*["write"] * count)
    factories.make_task(run=run)

    # Session, user, the run, its task, remote agents, settings of tools.
    with django_assert_num_queries(6):
        browser.get(card_of(run))


# --- The card of a question -----------------------------------------------------------

EVERY_FIELD = Question(
    text="What about it?",
    fields=(
        Field(
            name="colour", label="Which <i>colour</i>?", options=("red", "<b>blue</b>")
        ),
        Field(name="name"),
        Field(name="weight", type=ValueType.NUMBER),
        Field(name="count", type=ValueType.INTEGER, is_required=False),
        Field(name="ok", type=ValueType.BOOLEAN),
        Field(name="size", options=("s", "m"), allow_free_text=True),
    ),
)


def test_the_details_of_a_question_are_escaped_and_keep_their_lines(
    browser: Browser,
) -> None:
    run = asking(Question(text="Why?", details="<b>one</b>\ntwo"))

    page = text_of(browser.get(card_of(run)))

    assert '<p class="details">&lt;b&gt;one&lt;/b&gt;<br>two</p>' in page


def test_a_question_without_details_shows_no_place_for_them(browser: Browser) -> None:
    run = asking()

    assert 'class="details"' not in text_of(browser.get(card_of(run)))


def test_a_text_answers_a_question(browser: Browser) -> None:
    """S74: the same as a client's answer, and told as a person's."""
    run = asking()

    page = answer(browser, run, "  dark\r\nblue ")

    assert html_forms.sentences(page) == ["Answered. The run goes on."]
    assert decisions_of(run).answers["call-1"].value == "dark\nblue"
    assert run.events.get().kind == "answer"
    assert LogEntry.objects.get().change_message == "Answered."


@pytest.mark.parametrize(
    ("type_", "typed", "value"),
    [
        (ValueType.TEXT, "5", "5"),
        (ValueType.NUMBER, "5.5", 5.5),
        (ValueType.INTEGER, "5", 5),
        (ValueType.BOOLEAN, "no", False),
    ],
)
def test_an_answer_has_the_type_that_was_asked_for(
    browser: Browser, type_: ValueType, typed: str, value: Any
) -> None:
    """T8."""
    run = asking(Question(text="How much?", fields=(Field(type=type_),)))

    answer(browser, run, typed)

    given = decisions_of(run).answers["call-1"].value
    assert (given, type(given)) == (value, type(value))


def test_every_kind_of_field_has_its_control(browser: Browser) -> None:
    run = asking(EVERY_FIELD)

    text = text_of(browser.get(card_of(run)))
    typed = ("<b>blue</b>", "Ada", "1.5", "", "yes", "s")
    answer(browser, run, *typed)

    assert "<i>colour" not in text
    assert "<b>blue" not in text
    assert text.count('type="radio"') == 2 + 2 + 2
    assert decisions_of(run).answers["call-1"].value == {
        "colour": "<b>blue</b>",
        "name": "Ada",
        "weight": 1.5,
        "ok": True,
        "size": "s",
    }


def test_another_text_counts_instead_of_the_choice(browser: Browser) -> None:
    run = asking(choice("Which size?", ["s", "m"], allow_free_text=True))

    send(browser, run, "answer_form", **{"answer-0": "s", "other-0": "huge"})

    assert decisions_of(run).answers["call-1"].value == "huge"


def test_a_wrong_answer_costs_nothing_and_is_shown_again(browser: Browser) -> None:
    """T8: every field says what is accepted, and what was typed stays."""
    run = asking(EVERY_FIELD)
    before = AgentRun.objects.values().get()

    page = answer(browser, run, "green", "Ada & Bob", "heavy", "1.5", "", "")

    text = text_of(page)
    errors = page.context["form"].errors
    assert page.status_code == 200
    assert AgentRun.objects.values().get() == before
    assert {name: errors[name][0] for name in sorted(errors)} == {
        "answer-0": "One of: «red», «<b>blue</b>».",
        "answer-2": "A number.",
        "answer-3": "A whole number.",
        "answer-4": "It is missing. Yes or no.",
        "answer-5": "It is missing. One of: «s», «m», or another text.",
    }
    assert "Ada &amp; Bob" in text
    assert 'value="heavy"' in text
    assert run.waiting_id in text
    assert "<b>blue" not in text
    assert not LogEntry.objects.exists()


def test_a_field_that_may_be_left_out_alone_may_not(browser: Browser) -> None:
    run = asking(Question(text="Which?", fields=(Field(is_required=False),)))

    page = answer(browser, run, " ")

    assert page.context["form"].errors == {"answer-0": ["It is missing. A text."]}


@pytest.mark.parametrize("typed", ["x" * 10_001, "\0", "blue"])
def test_odd_texts_are_no_traceback(browser: Browser, typed: str) -> None:
    run = asking(choice("Which?", ["red", "green"], allow_free_text=False))

    page = answer(browser, run, typed)

    assert page.status_code in {200, 400}
    assert AgentRun.objects.get().state == RunState.WAITING_FOR_INPUT


def test_whoever_answers_second_is_told_so(browser: Browser) -> None:
    """S74: the client was faster."""
    run = asking()
    sent = html_forms.values_of(browser.get(card_of(run)), "answer_form")
    deciding.answer(run.pk, "red", by=Teller(name="reader"))

    page = browser.post(card_of(run), sent | {"answer-0": "blue"}, follow=True)

    assert html_forms.sentences(page)[0].startswith("It was decided already")
    assert decisions_of(run).answers["call-1"].value == "red"
