"""With the client role off nothing of it is offered or reachable in the admin (C1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_client import conf

if TYPE_CHECKING:
    from django.http import HttpRequest

    class _Admin:
        def has_module_permission(self, request: HttpRequest) -> bool: ...
        def has_view_permission(self, request: HttpRequest, obj: Any = ...) -> bool: ...
        def has_add_permission(self, request: HttpRequest, obj: Any = ...) -> bool: ...
        def has_change_permission(
            self, request: HttpRequest, obj: Any = ...
        ) -> bool: ...
        def has_delete_permission(
            self, request: HttpRequest, obj: Any = ...
        ) -> bool: ...

else:
    _Admin = object

# Whoever has it may have something harmless sent to an agent.
CALL = "a2a_client.call_remoteagent"


class WithRole(_Admin):
    """Mixed into pages; the setting is asked whenever somebody comes."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return conf.is_enabled() and super().has_module_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return conf.is_enabled() and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return conf.is_enabled() and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return conf.is_enabled() and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return conf.is_enabled() and super().has_delete_permission(request, obj)

    def may_call(self, request: HttpRequest) -> bool:
        return conf.is_enabled() and request.user.has_perm(CALL)
