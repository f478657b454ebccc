from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_client import guard
from egress.errors import Reason, Refused

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


def test_asks_no_dns() -> None:
    """E2: what a name leads to is judged when it is dialled."""
    assert guard.url_problem("https://no-such-host.example/card") is None


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://agent.example/", id="scheme"),
        pytest.param("https://user:word@agent.example/", id="userinfo"),
        pytest.param("https://127.1/", id="numeric"),
        pytest.param("https://10.0.0.1/", id="private"),
        pytest.param("https://[::1]/", id="loopback"),
        pytest.param("https://[::ffff:10.0.0.1]/", id="embedded"),
        pytest.param("https://gateway.example/a2a", id="own"),
        pytest.param("https://agent.example:8443/", id="port"),
        pytest.param("", id="empty"),
    ],
)
def test_tells_what_can_never_be_called(url: str) -> None:
    """E2."""
    assert guard.url_problem(url)


def test_names_the_setting_of_the_list(settings: SettingsWrapper) -> None:
    settings.A2A_EGRESS_REMOTE_AGENT_ALLOW = ["other.example"]

    problem = guard.url_problem("https://agent.example/")

    assert problem
    assert problem.endswith("(Setting: A2A_EGRESS_REMOTE_AGENT_ALLOW.)")


def test_a_refusal_without_a_setting_is_told_as_it_is() -> None:
    assert guard.sentence_of(Refused(Reason.BAD_HOST, "No.")) == "No."
