from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User

from agent_runs import availability
from agent_runs.models import AnswerLevel, LLMConfiguration, Provider
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable

    DjangoAssertNumQueries = Callable[[int], Any]


def make_configuration(
    *, provider: dict[str, Any] | None = None, **values: Any
) -> LLMConfiguration:
    """Not stored: most questions need no database."""
    defaults = {"name": "P", "kind": "openai-compatible", "base_url": "http://llm/v1"}
    return LLMConfiguration(
        provider=Provider(**defaults | (provider or {})),
        **{"name": "C", "model_name": "m"} | values,
    )


def test_a_whole_configuration_has_no_problem() -> None:
    assert availability.configuration_problem(make_configuration()) is None


@pytest.mark.parametrize(
    ("configuration", "sentence"),
    [
        ({"is_active": False}, "The LLM configuration «C» is not active."),
        ({"model_name": " "}, "The LLM configuration «C» names no model."),
        ({"provider": {"is_active": False}}, "The provider «P» is not active."),
        ({"provider": {"kind": "x"}}, "«x» is not known"),
        ({"provider": {"base_url": ""}}, "The provider «P» has no base URL."),
        ({"provider": {"base_url": "ftp://x"}}, "http:// or https://"),
        (
            {"provider": {"kind": "offline", "base_url": ""}, "model_name": "gpt"},
            "The offline model «gpt» does not exist; there are "
            "«summary», «text-check», «echo»",
        ),
    ],
)
def test_says_why_no_run_may_use_a_configuration(
    configuration: dict[str, Any], sentence: str
) -> None:
    problem = availability.configuration_problem(make_configuration(**configuration))

    assert problem is not None
    assert sentence in problem


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:11434/v1", "https://llm.example", "http://[::1]:80/v1"),
        "http://10.0.0.1/",  # private addresses are the operator's to declare
    ],
)
def test_takes_a_base_url(url: str) -> None:
    """P1."""
    assert availability.base_url_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        *("llm.example/v1", "//llm.example", "file:///etc/passwd", "http://", "https:"),
        *("http://user@llm", "http://user:pw@llm", "http://llm:99999", "http://llm:x"),
        *("http://l m/", "http://llm/\n", "http://bücher.example", "http://[::1", ""),
    ],
)
def test_refuses_a_base_url(url: str) -> None:
    """P1: http or https, no user name, something that can be called."""
    assert availability.base_url_problem(url)


@pytest.mark.parametrize(
    ("level", "keeps"),
    [
        (AnswerLevel.NONE, False),
        (AnswerLevel.METADATA, False),
        (AnswerLevel.REDACTED, True),
        (AnswerLevel.FULL, True),
    ],
)
def test_strict_levels_keep_no_result(level: AnswerLevel, keeps: bool) -> None:
    """R16."""
    configuration = make_configuration(provider={"answer_level": level})

    assert availability.keeps_result(configuration) is keeps


def test_a_run_without_configuration_keeps_its_result() -> None:
    """R16."""
    assert availability.keeps_result(None)


def test_everybody_may_use_a_configuration_without_groups(owner: User) -> None:
    """P2."""
    assert availability.user_may_use(factories.make_configuration(), owner)


def test_groups_narrow_who_may_use_a_configuration(
    owner: User, stranger: User, superuser: User
) -> None:
    """P2: being a superuser does not help."""
    configuration = factories.make_configuration()
    configuration.allowed_groups.add(
        factories.make_group(members=[owner]), factories.make_group()
    )

    assert availability.user_may_use(configuration, owner)
    assert not availability.user_may_use(configuration, stranger)
    assert not availability.user_may_use(configuration, superuser)
    assert not availability.user_may_use(configuration, None)


def test_asks_the_database_at_most_twice_about_groups(
    owner: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    configuration = factories.make_configuration()
    configuration.allowed_groups.add(factories.make_group(members=[owner]))

    with django_assert_num_queries(2):
        availability.user_may_use(configuration, owner)


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        (None, "does not exist any more"),
        (User(username="u", is_active=False), "«u» is not active"),
        (User(username="u", is_superuser=True), "«u» is a superuser"),
    ],
)
def test_says_why_no_run_may_act_as_a_user(user: User | None, sentence: str) -> None:
    """R19."""
    assert sentence in (availability.owner_problem(user) or "")


def test_a_run_may_act_as_an_active_user() -> None:
    assert availability.owner_problem(User(username="u")) is None
