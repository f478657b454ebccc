from __future__ import annotations

from typing import Any

import pytest

from a2a_protocol.methods import METHODS, HttpRoute, Method
from tests.a2a_protocol.proto_facts import FACTS

# The prose of the specification has POST where the proto has GET; both are served.
ONLY_IN_THE_PROSE = {
    HttpRoute("POST", "/tasks/{id}:subscribe"),
    HttpRoute("POST", "/{tenant}/tasks/{id}:subscribe"),
}


def proto_route(row: dict[str, Any]) -> HttpRoute:
    path = row["path"].replace("=*}", "}")
    return HttpRoute(row["verb"], path, "body" in row)


def test_has_every_method_of_the_proto_and_no_other() -> None:
    """The names are PascalCase, not the category/action of older prose."""
    assert list(METHODS) == list(FACTS["methods"])


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_agrees_with_the_proto(method: Method) -> None:
    facts = FACTS["methods"][method.name]

    response = method.response_type.__name__ if method.response_type else "Empty"

    assert method.request_type.__name__ == facts["request"]
    assert response == facts["response"]
    assert method.streaming == facts.get("stream", False)
    assert set(method.http) - ONLY_IN_THE_PROSE == set(map(proto_route, facts["http"]))


def test_a_subscription_is_asked_for_by_get_and_by_post() -> None:
    """Prose against proto: subscribe verb."""
    assert set(METHODS["SubscribeToTask"].http) > ONLY_IN_THE_PROSE


def test_every_route_exists_below_a_tenant_too() -> None:
    for method in METHODS.values():
        paths = {route.path for route in method.http}
        bare = {path for path in paths if not path.startswith("/{tenant}")}

        assert {f"/{{tenant}}{path}" for path in bare} == paths - bare


@pytest.mark.parametrize(
    ("capability", "names"),
    [
        ("streaming", {"SendStreamingMessage", "SubscribeToTask"}),
        (
            "push_notifications",
            {
                "CreateTaskPushNotificationConfig",
                "GetTaskPushNotificationConfig",
                "ListTaskPushNotificationConfigs",
                "DeleteTaskPushNotificationConfig",
            },
        ),
        ("extended_agent_card", {"GetExtendedAgentCard"}),
        (None, {"SendMessage", "GetTask", "ListTasks", "CancelTask"}),
    ],
    ids=["streaming", "push", "extended card", "always"],
)
def test_names_the_capability_that_a_method_needs(
    capability: str | None, names: set[str]
) -> None:
    found = {name for name, row in METHODS.items() if row.capability == capability}

    assert found == names
