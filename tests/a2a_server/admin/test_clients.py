from __future__ import annotations

import html
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from a2a_server.models import Client, ClientProfile, Profile
from agent_runs import clock
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries

ADD = reverse("admin:a2a_server_client_add")
LIST = reverse("admin:a2a_server_client_changelist")


def page_of(client: Client, page: str = "change") -> str:
    return reverse(f"admin:a2a_server_client_{page}", args=[client.pk])


def save(browser: Browser, client: Client, **changes: Any) -> Any:
    return html_forms.save(browser, page_of(client), "client_form", **changes)


def add(browser: Browser, profile: Profile, **changes: Any) -> Any:
    values = {
        "name": "bot",
        "technical_user": str(factories.make_user().pk),
        "is_enabled": "on",
        "grants-0-profile": str(profile.pk),
    }
    return html_forms.save(browser, ADD, "client_form", **values | changes)


def stored(client: Client) -> Client:
    return Client.objects.get(pk=client.pk)


def skills_of(client: Client) -> set[Profile]:
    return set(stored(client).profiles.all())


@pytest.fixture
def writing(db: None) -> Profile:
    return factories.make_profile("writes", may_write=True)


# --- Adding ---------------------------------------------------------------------------


def test_adds_a_client_with_its_skill(browser: Browser) -> None:
    """P4."""
    profile = factories.make_profile()

    add(browser, profile)

    client = Client.objects.get()
    assert (client.task_limit, client.token_prefix) == (10, None)
    assert skills_of(client) == {profile}


def test_a_new_client_on_live_gets_no_writing_skill(
    browser: Browser, writing: Profile
) -> None:
    """P6: through the form, where the choice is not stored yet."""
    page = add(browser, writing)

    assert "needs a workspace" in html_forms.errors(page)
    assert not Client.objects.exists()


def test_a_new_client_with_a_workspace_gets_a_writing_skill(
    browser: Browser, writing: Profile
) -> None:
    """P6: both are new in one save."""
    add(browser, writing, workspace=str(factories.make_workspace().pk))

    assert skills_of(Client.objects.get()) == {writing}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"name": "42"}, "digits only", id="digits"),
        pytest.param({"name": "  "}, "required", id="blank"),
        pytest.param({"name": " other "}, "already exists", id="same-but-for-spaces"),
        pytest.param({"task_limit": "0"}, "greater than", id="limit"),
        pytest.param({"technical_user": ""}, "required", id="no-user"),
        pytest.param({"technical_user": "999999"}, "valid choice", id="unknown-user"),
        pytest.param({"workspace": "999999"}, "valid choice", id="unknown-workspace"),
        pytest.param({"expires_at_0": "soon"}, "valid date", id="date"),
        pytest.param({"grants-0-profile": "999999"}, "valid choice", id="skill"),
    ],
)
def test_refuses_a_client_with_a_sentence(
    browser: Browser, changes: dict[str, str], sentence: str
) -> None:
    """P4: through the form."""
    factories.make_client("other")

    page = add(browser, factories.make_profile(), **changes)

    assert sentence in html_forms.errors(page)
    assert Client.objects.count() == 1


@pytest.mark.parametrize(
    "values", [{"is_active": False}, {"is_superuser": True}], ids=["off", "superuser"]
)
def test_refuses_a_technical_user_that_no_run_may_be(
    browser: Browser, values: dict[str, bool]
) -> None:
    """P4: through the form."""
    user = factories.make_user("unfit", **values)

    page = add(browser, factories.make_profile(), technical_user=str(user.pk))

    assert "«unfit»" in html_forms.errors(page)


def test_a_new_client_has_no_token_to_tell_about(browser: Browser) -> None:
    """S20: its page says how to come by one once it is stored."""
    text = browser.get(ADD).content.decode()

    assert "Save the client first; its page then tells how." in text
    assert "none issued" not in text


def test_offers_no_deletion_of_what_is_only_chosen(browser: Browser) -> None:
    """P5: a red cross beside the technical user or a skill would delete the record."""
    text = browser.get(ADD).content.decode()

    assert 'id="add_id_technical_user"' in text
    assert "delete-related" not in text


# --- Changing -------------------------------------------------------------------------


def test_the_workspace_is_not_cleared_under_a_writing_skill(
    browser: Browser, writing: Profile
) -> None:
    """P6: through the form, from the client's side."""
    workspace = factories.make_workspace()
    client = factories.make_client(profiles=[writing], workspace=workspace)

    page = save(browser, client, workspace="")

    assert "«Writes (writes)»" in html_forms.errors(page)
    assert stored(client).workspace == workspace


def test_workspace_and_writing_skill_may_go_together(
    browser: Browser, writing: Profile
) -> None:
    """P6: the form knows that the skill goes with this save."""
    other = factories.make_profile()
    client = factories.make_client(
        profiles=[writing, other], workspace=factories.make_workspace()
    )
    rows = list(client.grants.order_by("profile__name"))
    index = [row.profile for row in rows].index(writing)

    page = save(browser, client, workspace="", **{f"grants-{index}-DELETE": "on"})

    assert html_forms.errors(page) == ""
    assert stored(client).workspace is None
    assert skills_of(client) == {other}


def test_a_row_is_not_turned_into_a_writing_skill(
    browser: Browser, writing: Profile
) -> None:
    """P6: through the form, from the grant's side."""
    other = factories.make_profile()
    client = factories.make_client(profiles=[other])

    page = save(browser, client, **{"grants-0-profile": str(writing.pk)})

    assert "needs a workspace" in html_forms.errors(page)
    assert skills_of(client) == {other}


def test_a_skill_is_granted_once(browser: Browser) -> None:
    profile = factories.make_profile()
    client = factories.make_client(profiles=[profile])

    page = save(browser, client, **{"grants-1-profile": str(profile.pk)})

    assert html_forms.errors(page) != ""
    assert ClientProfile.objects.count() == 1


def test_a_client_does_not_become_an_outsiders(browser: Browser) -> None:
    """P6: groups, through the form."""
    configuration = factories.make_configuration(name="Restricted")
    configuration.allowed_groups.add(factories.make_group())
    insider = factories.make_user()
    insider.groups.add(*configuration.allowed_groups.all())
    client = factories.make_client(
        profiles=[factories.make_profile(configuration=configuration)],
        technical_user=insider,
    )

    page = save(browser, client, technical_user=str(factories.make_user().pk))

    assert "«Restricted»" in html_forms.errors(page)
    assert stored(client).technical_user == insider


def test_a_client_can_be_switched_off_whatever_is_wrong(
    browser: Browser, writing: Profile
) -> None:
    """P6."""
    client = factories.make_client("bot", profiles=[writing])
    client.technical_user.is_superuser = True
    client.technical_user.save()

    page = save(browser, client, is_enabled=None)

    assert not stored(client).is_enabled
    # It could call nothing before.
    assert not any("may no longer" in s for s in html_forms.sentences(page))


@pytest.mark.parametrize(
    "narrowing",
    [
        pytest.param({"is_enabled": None}, id="disabled"),
        pytest.param(
            {"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}, id="expired"
        ),
    ],
)
def test_a_client_that_is_narrowed_is_said_to_lose_its_skills(
    browser: Browser, narrowing: dict[str, Any]
) -> None:
    """P6."""
    profiles = [factories.make_profile("summary"), factories.make_profile("check")]
    client = factories.make_client("bot", profiles=profiles)

    page = save(browser, client, **narrowing)

    sentence = "«bot» may no longer call: Check (check), Summary (summary)."
    assert sentence in html_forms.sentences(page)


def test_a_list_edit_refuses_what_the_form_refuses(
    browser: Browser, writing: Profile
) -> None:
    """P6: through `list_editable`, with the stored skills."""
    client = factories.make_client(profiles=[writing], is_enabled=False)

    page = html_forms.save(
        browser, LIST, "changelist-form", **{"form-0-is_enabled": "on"}
    )

    assert "needs a workspace" in html_forms.errors(page)
    assert "needs a workspace" in page.content.decode()
    assert not stored(client).is_enabled


def test_a_list_edit_switches_off(browser: Browser) -> None:
    client = factories.make_client()

    html_forms.save(browser, LIST, "changelist-form", **{"form-0-is_enabled": None})

    assert not stored(client).is_enabled


# --- The token ------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["list", "record"])
def test_no_page_shows_more_of_the_token_than_its_prefix(
    browser: Browser, page: str
) -> None:
    """S20."""
    client = factories.make_client()
    token = factories.token_of(client)

    text = browser.get(LIST if page == "list" else page_of(client)).content.decode()

    assert f"a2a_{token.prefix}_…" in text
    assert token.text not in text
    assert token.digest not in text


def test_says_how_a_token_is_issued_and_when_it_was_used(browser: Browser) -> None:
    """S20, P4: by its name, for both kinds of installation."""
    client = factories.make_client(name="reporting", last_used_from="192.0.2.7")

    text = html.unescape(browser.get(page_of(client)).content.decode())

    assert "manage.py a2a_client_token reporting" in text
    assert 'make manage ARGS="a2a_client_token reporting"' in text
    assert "192.0.2.7" in text


def test_names_the_id_where_a_shell_would_split_the_name(browser: Browser) -> None:
    """S20."""
    client = factories.make_client(name="Lena's `id` agent")

    text = browser.get(page_of(client)).content.decode()

    assert f"manage.py a2a_client_token {client.pk}<" in text


def test_says_that_no_token_was_issued(browser: Browser) -> None:
    client = factories.make_client(
        token_prefix=None, token_hash="", token_issued_at=None
    )

    assert "none issued" in browser.get(page_of(client)).content.decode()


def test_nobody_writes_the_token_through_the_form(browser: Browser) -> None:
    """B139."""
    client = factories.make_client()

    save(browser, client, token_hash="0" * 64, token_prefix="forged000000")

    assert stored(client).token_hash == client.token_hash
    assert stored(client).token_prefix == client.token_prefix


def test_the_action_revokes_tokens(browser: Browser) -> None:
    """S20."""
    client = factories.make_client()
    factories.make_client(token_prefix=None, token_hash="")
    chosen = {
        "action": "revoke_selected",
        "_selected_action": list(Client.objects.values_list("pk", flat=True)),
    }

    page = browser.post(LIST, chosen, follow=True)

    assert stored(client).token_prefix is None
    assert html_forms.sentences(page) == ["1 token was revoked."]
    assert LogEntry.objects.get().change_message == "Token revoked."


def test_whoever_may_only_look_revokes_nothing(
    browser_of: Callable[..., Browser],
) -> None:
    client = factories.make_client()
    chosen = {"action": "revoke_selected", "_selected_action": [client.pk]}

    browser_of("a2a_server.view_client").post(LIST, chosen)

    assert stored(client).token_prefix is not None


# --- Deleting, queries ----------------------------------------------------------------


def test_a_client_with_tasks_is_not_deleted(browser: Browser) -> None:
    """P5."""
    client = factories.make_task().client

    page = browser.post(page_of(client, "delete"), {"post": "yes"}, follow=True)

    told = html_forms.sentences(page)[0]
    assert "still used by 1 task." in told
    assert told.endswith("Switch it off instead: clear «enabled» and save.")


def test_a_client_without_tasks_goes_with_its_skills(browser: Browser) -> None:
    client = factories.make_client(profiles=[factories.make_profile()])

    browser.post(page_of(client, "delete"), {"post": "yes"})

    assert not Client.objects.exists()
    assert not ClientProfile.objects.exists()


def test_the_page_asks_no_query_a_skill(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    profiles = [factories.make_profile() for _ in range(20)]
    client = factories.make_client(profiles=profiles)

    with django_assert_max_num_queries(9):
        browser.get(page_of(client))


def test_expiry_is_shown_and_saved(browser: Browser) -> None:
    tomorrow = clock.database_now() + timedelta(days=1)
    client = factories.make_client()

    save(
        browser,
        client,
        expires_at_0=tomorrow.date().isoformat(),
        expires_at_1="12:00:00",
    )

    expires_at = stored(client).expires_at
    assert expires_at is not None
    assert expires_at.date() == tomorrow.date()


# --- Delegates ------------------------------------------------------------------------

_SEES_SKILLS = "a2a_server.view_clientprofile"


@pytest.mark.parametrize("more", [(), (_SEES_SKILLS,)], ids=["unseen", "seen"])
def test_whoever_may_not_change_the_skills_is_held_to_them_all_the_same(
    browser_of: Callable[..., Browser], writing: Profile, more: tuple[str, ...]
) -> None:
    """P5, P6: the page has no rows of skills to judge by then."""
    workspace = factories.make_workspace()
    client = factories.make_client(profiles=[writing], workspace=workspace)
    browser = browser_of("a2a_server.change_client", *more)

    page = save(browser, client, workspace="")

    assert "«Writes (writes)»" in html_forms.errors(page)
    assert stored(client).workspace == workspace
