"""The operations that this server has, by method name.

A method of the protocol that is not here belongs to a capability that is off, and is
refused before its parameters are read.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from a2a_server.operations import send, tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_server.operations.calls import Operation

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        "SendMessage": send.send_message,
        "GetTask": tasks.get_task,
        "ListTasks": tasks.list_tasks,
        "CancelTask": tasks.cancel_task,
    }
)
