"""`manage.py drill_person`: somebody who answers and approves whatever waits.

Every decision visits the gate first, as `<run id>/person`. It goes on until it is ended.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand
from django.db import connection

from agent_runs import deciding
from agent_runs.models import AgentRun
from agent_runs.models.run import WAITING_FOR_PEOPLE
from agent_runs.store import STORE_AWAY
from agent_runs.waiting import OpenQuestion
from tests import factories
from tests.drill.visiting import visit

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User

_LOOK_SECONDS = 0.1
_AT_ONCE = 64


class Command(BaseCommand):
    def handle(self, *args: Any, **options: Any) -> None:
        self.user = factories.make_user("person", is_superuser=True)
        self.seen: set[tuple[UUID, str]] = set()
        self.stdout.write("the person is there")
        self.stdout.flush()
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            while True:
                for case in self._new_cases():
                    self.seen.add(case)
                    threads.submit(self._decide, case)
                time.sleep(_LOOK_SECONDS)

    def _new_cases(self) -> list[tuple[UUID, str]]:
        waiting = AgentRun.objects.filter(state__in=WAITING_FOR_PEOPLE)
        try:
            cases = list(waiting.values_list("id", "waiting_id"))
        except STORE_AWAY:
            connection.close()
            return []
        return [case for case in cases if case not in self.seen]

    def _decide(self, case: tuple[UUID, str]) -> None:
        try:
            visit(f"{case[0]}/person")
            _say(*case, self.user)
        except deciding.NotWaiting:
            pass
        except STORE_AWAY:
            # It is looked at again, and the gate sees one visit more.
            self.seen.discard(case)
        finally:
            connection.close()


def _say(run_id: UUID, waiting_id: str, user: User) -> None:
    _, found = deciding.waiting_run(run_id)
    if isinstance(found, OpenQuestion):
        by = deciding.of_user(user)
        deciding.answer(run_id, "News", by=by, question_id=waiting_id)
    else:
        deciding.decide(run_id, waiting_id, approve=True, user=user)
