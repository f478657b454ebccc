"""The guide's trial: two gateways of `make run`, and an answer that came through both.

The lines are those of docs/remote-agents.md, with ports and folders of the test's own;
`make` says what it would start. What people do in the admin is done over HTTP.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests import conftest, html_forms, make_lines, processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Process

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

GUIDE = processes.ROOT / "docs" / "remote-agents.md"
_ERROR = re.compile(r"errorlist.*?<li>(.*?)</li>", re.DOTALL)
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The guide's commands, as they are for two ports and two folders."""

    directory: Path
    ports: tuple[int, int]

    def lines(self) -> list[str]:
        _, _, section = GUIDE.read_text("utf-8").partition(
            "## Trying it on one machine"
        )
        return [
            self._own(li.strip()) for li in section.splitlines() if li[:4] == "    "
        ]

    def _own(self, line: str) -> str:
        here, there = self.ports
        folder = self.directory / "here"
        usual = f"LOOPBACK_AGENTS=on PORT={here} DATA_DIR={folder}"
        for old, new in (
            ("127.0.0.1:8000", f"127.0.0.1:{here}"),
            ("127.0.0.2:8001", f"127.0.0.2:{there}"),
            ("PORT=8001", f"PORT={there}"),
            ("/tmp/other", str(self.directory / "there")),  # noqa: S108 -- the guide's
            ("var/demo.json", str(folder / "demo.json")),
            ("LOOPBACK_AGENTS=on", usual),
        ):
            line = line.replace(old, new)
        return line

    def demo(self, name: str) -> dict[str, Any]:
        """What a gateway has printed, from its folder."""
        kept: dict[str, Any] = json.loads(
            (self.directory / name / "demo.json").read_text()
        )
        return kept


def _shell(lines: str) -> str:
    done = subprocess.run(
        ["sh", "-ec", lines], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    for program in ("make", "curl"):
        if not shutil.which(program):
            conftest.missing_service(f"{program} is not installed.")
    return Trial(
        directory=tmp_path, ports=(processes.free_port(), processes.free_port())
    )


@pytest.fixture
def started() -> Iterator[list[Process]]:
    runners: list[Process] = []
    yield runners
    for runner in runners:
        runner.stop()


# --- The admin ------------------------------------------------------------------------


class Browser:
    """As `html_forms` wants one, over HTTP."""

    def __init__(self, admin_url: str) -> None:
        self._http = httpx2.Client(
            base_url=admin_url, follow_redirects=True, trust_env=False, timeout=30
        )

    def get(self, url: str) -> httpx2.Response:
        return self._http.get(url)

    def post(self, url: str, data: dict[str, Any], **_: Any) -> httpx2.Response:
        return self._http.post(url, data=data)

    def close(self) -> None:
        self._http.close()

    def sign_in(self, user: str, password: str) -> None:
        page = self.get("login/")
        held = html_forms.values_of(page, "login-form")
        self.post("login/", held | {"username": user, "password": password})

    def save(self, url: str, form: str, **changes: Any) -> None:
        browser: Any = self
        saved = html_forms.save(browser, url, form, **changes)
        assert not _ERROR.findall(saved.text), f"{url}: {_ERROR.findall(saved.text)}"

    def find(self, url: str, pattern: str) -> str:
        """What the pattern's group is on a page."""
        text = self.get(url).text
        found = re.search(pattern, text)
        assert found, f"{url} holds no {pattern}"
        return found[1]

    def holds(self, url: str, pattern: str) -> bool:
        return bool(re.search(pattern, self.get(url).text))


@pytest.fixture
def browsers() -> Iterator[list[Browser]]:
    opened: list[Browser] = []
    yield opened
    for browser in opened:
        browser.close()


def _configure(browser: Browser, token: str) -> None:
    """The guide's four steps."""
    agents = "a2a_client/remoteagent/"
    agent = browser.find(agents, rf"/{agents}([^/]+)/change/")
    chosen = {"credential_kind": "bearer", "new_secret": token, "is_enabled": "on"}
    browser.save(f"{agents}{agent}/change/", "remoteagent_form", **chosen)
    page = "agent_runs/llmconfiguration/add/"
    provider = browser.find(page, r'<option value="([^"]+)">Demonstration \(offline\)')
    browser.save(
        page,
        "llmconfiguration_form",
        **dict.fromkeys(("name", "identifier", "model_name"), "delegate"),
        provider=provider,
    )
    page = "a2a_server/profile/add/"
    configuration = browser.find(page, r'<option value="([^"]+)">delegate')
    browser.save(
        page,
        "profile_form",
        **dict.fromkeys(("skill_id", "name", "description"), "delegate"),
        **dict.fromkeys(("is_public", "may_write"), "on"),
        handler="llm.text",
        configuration=configuration,
        tools="a2a_other",
    )
    clients = "a2a_server/client/"
    page = f"{clients}{browser.find(clients, rf'/{clients}([^/]+)/change/')}/change/"
    profile = browser.find(page, r'<option value="([^"]+)">delegate')
    # The row below the three skills that it has.
    browser.save(page, "client_form", **{"grants-3-profile": profile})


def _approve(browser: Browser) -> str:
    """Approve what waits; the page as it was shown."""
    inbox = "agent_runs/waitingrun/"
    link = rf"/{inbox}([^/]+)/change/"
    processes.wait_until(lambda: browser.holds(inbox, link), what="the approval")
    page = f"{inbox}{browser.find(inbox, link)}/change/"
    card = browser.get(page)
    held = html_forms.values_of(card, "verdict_form")
    browser.post(page, held | {"verdict": "approve"})
    return card.text


# --- The trial ------------------------------------------------------------------------


def test_an_answer_comes_through_two_gateways(
    trial: Trial, started: list[Process], browsers: list[Browser]
) -> None:
    """O1, E2, E4, C2, C5."""
    run_here, run_there, add, token, send, look = trial.lines()
    for line in (run_here, run_there):
        log = trial.directory / f"run-{len(started)}.log"
        started.append(
            processes.Process("run", make_lines.argv(line), ENVIRONMENT, log)
        )
        started[-1].wait_for_line("^curl ", seconds=90)
    done = subprocess.run(
        make_lines.argv(add),
        cwd=processes.ROOT,
        env=ENVIRONMENT,
        text=True,
        capture_output=True,
    )
    demo = trial.demo("here")
    browser = Browser(demo["admin_url"])
    browsers.append(browser)
    browser.sign_in(demo["admin_user"], demo["admin_password"])
    _configure(browser, trial.demo("there")["token"])

    sent = _shell(f"{token}\n{send}")
    card = _approve(browser)
    processes.wait_until(
        lambda: "_COMPLETED" in _shell(f"{token}\n{look}"), what="the end"
    )
    (task,) = json.loads(_shell(f"{token}\n{look}"))["result"]["tasks"]

    assert done.returncode == 0, done.stderr
    assert json.loads(sent)["result"]["task"]["id"] == task["id"]
    assert "The release moves to May" in card
    assert "127.0.0.2" in card
    text = task["artifacts"][0]["parts"][0]["text"]
    assert "3 of 4 sentences" in text
    assert "untrusted" not in text
    assert "runs may call agents" in started[0].output
    assert "runs may call agents" not in started[1].output
