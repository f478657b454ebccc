from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.db import models
from django.test.utils import isolate_apps

from a2a_project.newsroom.models import Section
from agent_runs import allow_lists
from agent_runs.allow_lists import READABLE, WRITABLE

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

UNKNOWN, MODEL, FIELD = (f"agent_runs.E00{number}" for number in (6, 7, 8))


def found(
    settings: SettingsWrapper, setting: str, label: str, *fields: str
) -> set[str]:
    """The checks that an entry breaks; one that breaks any is not allowed."""
    setattr(settings, setting, {label: fields})
    problems = allow_lists.problems(setting)
    allow = {READABLE: allow_lists.readable, WRITABLE: allow_lists.writable}[setting]
    assert set(allow()) == (set() if problems else {label})
    assert all(problem.hint and label in problem.sentence for problem in problems)
    return {problem.check_id for problem in problems}


@pytest.mark.parametrize("setting", [READABLE, WRITABLE])
@pytest.mark.parametrize(
    ("label", "fields", "expected"),
    [
        ("newsroom.article", ("title", "section"), set()),
        ("newsroom.article", ("title", "title"), set()),
        ("newsroom.nothing", ("title",), {UNKNOWN}),
        ("nowhere.article", ("title",), {UNKNOWN}),
        ("newsroom.Article", ("title",), {UNKNOWN}),  # one way to write it
        ("article", ("title",), {UNKNOWN}),
        ("a.b.c", ("title",), {UNKNOWN}),
        ("newsroom.article", ("",), {UNKNOWN}),
        ("newsroom.article", ("title", "nothing"), {UNKNOWN}),
        ("newsroom.article", ("section_id",), {UNKNOWN}),  # a column, no field
        ("newsroom.section", ("articles",), {FIELD}),  # the other side of a relation
        ("sessions.session", ("expire_date",), {MODEL}),
        ("agent_runs.provider", ("api_key",), {FIELD}),
    ],
)
def test_judges_each_entry(
    settings: SettingsWrapper,
    setting: str,
    label: str,
    fields: tuple[str, ...],
    expected: set[str],
) -> None:
    """T5."""
    told = found(settings, setting, label, *fields)

    assert told >= expected
    assert bool(told) == bool(expected)


@pytest.mark.parametrize(
    ("label", "field"),
    [
        ("auth.user", "username"),
        ("auth.group", "name"),
        ("auth.permission", "name"),
        ("auth.user_groups", "user"),  # who is in which group
        ("contenttypes.contenttype", "model"),
        ("admin.logentry", "change_message"),
        ("agent_runs.toolsetting", "enabled"),
        ("agent_runs.workspace", "name"),
        ("a2a_server.profile", "may_write"),
    ],
)
def test_who_may_do_what_is_never_written(
    settings: SettingsWrapper, label: str, field: str
) -> None:
    """T5: users, groups, permissions and this project's own records."""
    assert MODEL in found(settings, WRITABLE, label, field)


with isolate_apps("tests"):

    class Account(AbstractBaseUser):
        """A user model in somebody's own app."""

        class Meta:
            app_label = "tests"

    class Employee(User):
        class Meta:
            app_label = "tests"

    class Team(models.Model):
        accounts = models.ManyToManyField(Account)

        class Meta:
            app_label = "tests"

        def __str__(self) -> str:
            return "team"

    class Membership(models.Model):
        pk = models.CompositePrimaryKey("team", "number")
        team = models.IntegerField()
        number = models.IntegerField()
        paper = models.FileField()

        class Meta:
            app_label = "tests"

        def __str__(self) -> str:
            return "membership"

    class Alias(Section):
        class Meta:
            app_label = "tests"
            proxy = True


@pytest.mark.parametrize(
    ("model", "is_refused"),
    [
        (Account, True),
        (Employee, True),  # inherits the user's columns
        (Team.accounts.through, True),
        (Alias, True),
        (Membership, True),  # tools name a record by one value
        (Team, False),
    ],
)
def test_an_apps_own_users_are_never_written(
    model: type[models.Model], is_refused: bool
) -> None:
    """T5: wherever they are defined."""
    assert bool(allow_lists._model_problem(WRITABLE, model)) is is_refused


@pytest.mark.parametrize(
    ("label", "field"), [("auth.user", "username"), ("agent_runs.workspace", "name")]
)
def test_some_of_them_may_be_read(
    settings: SettingsWrapper, label: str, field: str
) -> None:
    assert found(settings, READABLE, label, field) == set()


@pytest.mark.parametrize(
    ("label", "field"),
    [
        ("auth.user", "password"),
        ("auth.user", "groups"),  # many to many
        ("a2a_server.client", "token_hash"),
        ("agent_runs.agentrun", "request"),  # encrypted
    ],
)
def test_secrets_are_not_read(
    settings: SettingsWrapper, label: str, field: str
) -> None:
    """T5."""
    assert found(settings, READABLE, label, field) == {FIELD}


@pytest.mark.parametrize("field", ["id", "changed_at"])
def test_what_people_cannot_edit_is_read_and_not_written(
    settings: SettingsWrapper, field: str
) -> None:
    assert found(settings, READABLE, "newsroom.article", field) == set()
    assert found(settings, WRITABLE, "newsroom.article", field) == {FIELD}


def test_a_file_is_read_by_its_name_and_not_written() -> None:
    """A text written there would name any file below the folder of uploads."""
    field = Membership._meta.get_field("paper")

    assert allow_lists._field_problem(READABLE, field) == ""
    assert allow_lists._field_problem(WRITABLE, field)


def test_one_wrong_entry_leaves_the_others(settings: SettingsWrapper) -> None:
    settings.AGENT_RUNS_WRITABLE_MODELS = {
        "auth.user": ("username",),
        "newsroom.article": ("title",),
    }

    assert list(allow_lists.writable()) == ["newsroom.article"]


def test_names_the_permissions_as_django_does(settings: SettingsWrapper) -> None:
    settings.AGENT_RUNS_READABLE_MODELS = {"newsroom.article": ("title",)}

    allowed = allow_lists.readable()["newsroom.article"]

    assert allowed.permission("view") == "newsroom.view_article"
    assert (allowed.label, allowed.names) == ("newsroom.article", ("title",))
