"""What every part of the fuzz asks for, and the table of what came out of it.

FUZZ_INPUTS   how many inputs in all, 100000
FUZZ_SEED     decides every input; `random` takes a new one
FUZZ_ONLY     the number of one input, to meet it alone; with `-k changed` or `-k raw`
"""

from __future__ import annotations

import os
import random
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.fuzz.judge")

from a2a_server import executor  # noqa: E402
from tests.fuzz import records as prepared  # noqa: E402
from tests.fuzz.judge import BODY_LIMIT, Tally  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django.fixtures import SettingsWrapper

    from tests.fuzz.records import Records

_USUAL_SEED = "20260731"
_USUAL_INPUTS = "100000"
# In hundredths of the whole.
_SHARES = {"generated": 5, "raw": 5}


@dataclass(slots=True)
class Plan:
    seed: int
    inputs: int
    only: int | None
    tallies: dict[str, Tally] = field(default_factory=dict)

    def share(self, part: str) -> int:
        """How many inputs a part has to run; the mutated requests are the rest."""
        shares = {name: self.inputs * n // 100 for name, n in _SHARES.items()}
        return shares.get(part, self.inputs - sum(shares.values()))

    def numbers(self, part: str) -> range:
        if self.only is not None:
            return range(self.only, self.only + 1)
        return range(self.share(part))

    def tally(self, part: str) -> Tally:
        return self.tallies.setdefault(part, Tally())

    def report(self) -> Iterator[str]:
        for part, tally in sorted(self.tallies.items()):
            yield f"\n{tally.inputs:9,d}  {part} inputs, which ended so:"
            yield from tally.lines()
        total = sum(tally.inputs for tally in self.tallies.values())
        yield f"\n{total:9,d}  inputs in all, FUZZ_SEED={self.seed}"


def _speaker(config: pytest.Config) -> Callable[[str], None]:
    """Past pytest's capturing, also while a test runs."""
    capturing = config.pluginmanager.get_plugin("capturemanager")
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    assert capturing
    assert terminal

    def say(text: str) -> None:
        with capturing.global_and_fixture_disabled():
            terminal.write_line(text)

    return say


@pytest.fixture(scope="session")
def plan(pytestconfig: pytest.Config) -> Iterator[Plan]:
    text = os.environ.get("FUZZ_SEED") or _USUAL_SEED
    seed = random.SystemRandom().getrandbits(32) if text == "random" else int(text)
    only = os.environ.get("FUZZ_ONLY")
    plan = Plan(
        seed=seed,
        inputs=int(os.environ.get("FUZZ_INPUTS") or _USUAL_INPUTS),
        only=int(only) if only else None,
    )
    say = _speaker(pytestconfig)
    say(f"\nFUZZ_SEED={plan.seed} FUZZ_INPUTS={plan.inputs}")
    yield plan
    say("\n".join(plan.report()))


@pytest.fixture
def records(
    transactional_db: None, settings: SettingsWrapper, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Records]:
    # A thread that is still at work keeps its connection, and that the database.
    monkeypatch.setattr(executor, "CLOSING_SECONDS", 60)
    settings.A2A_REDIS_PREFIX = f"fuzz-{uuid.uuid4().hex}"
    settings.A2A_SERVER_BLOCKING_WAIT_SECONDS = 1
    settings.A2A_SERVER_MAX_REQUEST_BYTES = BODY_LIMIT
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 12
    yield prepared.make_records()
    executor.close()
