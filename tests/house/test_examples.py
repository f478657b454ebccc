"""The code in the papers runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai.messages import ToolCallPart

from agent_runs import questions
from agent_runs.questions import Answer
from agent_runs.tools import gate, registry
from agent_runs.tools.contract import ToolCall
from tests import factories, processes

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from agent_runs.questions import Question
    from tests.processes import Installation

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def _blocks(name: str) -> list[str]:
    return _BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def test_the_readme_shows_the_handler_of_the_guide() -> None:
    (shown,) = _blocks("README.md")

    assert shown in _blocks("docs/handlers.md")[0]


def test_a_handler_is_about_ten_lines() -> None:
    (shown,) = _blocks("README.md")

    assert len([line for line in shown.splitlines() if line]) <= 10


def _made(containing: str) -> dict[str, Any]:
    """What a block of the guide defines; what it registers, it registers in vain."""
    (code,) = (block for block in _blocks("docs/handlers.md") if containing in block)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(code, names)  # noqa: S102 -- our own document
    return names


def test_the_guides_handler_that_asks_makes_its_result_of_the_answers() -> None:
    handler = _made("context.ask(")["BookTable"]()
    asked: list[str] = []

    def ask(question: Question) -> Answer:
        asked.append(question.text)
        return Answer(
            value=questions.parse(question, "4" if not asked[1:] else "dinner")
        )

    result = handler.run(SimpleNamespace(ask=ask))

    assert asked == ["For how many?", "Lunch or dinner?"]
    assert result.outputs[0].parts[0].text == "dinner for 4"


def test_the_guides_tool_asks_what_its_arguments_say() -> None:
    names = _made("ASK_TRIP")
    registry.unregister_provider(names["tools"])
    (tool,) = names["tools"]()

    question = tool.question(tool.parameters.model_validate({"city": "Rome"}))

    assert question.text == "When and how do you travel to Rome?"
    assert questions.parse(question, '{"day": "Monday", "means": "train"}') == {
        "day": "Monday",
        "means": "train",
    }


@pytest.mark.django_db
def test_the_guides_tools_read_and_write(owner: User) -> None:
    """T1, T17."""
    names: dict[str, Any] = {"__name__": "newsdesk.tools"}
    exec(_blocks("docs/tools.md")[0], names)  # noqa: S102 -- our own document
    count, add = names["tools"]()
    run = factories.make_run("running", owner=owner)
    part = ToolCallPart(add.name, '{"name": "Sports"}', "c1")

    shown = gate.preview(run, part, add)
    result, written = gate.write(run, part, add)
    again, _ = gate.write(run, part, add)

    assert (shown, result.outcome) == ("New section: Sports", "success")
    assert written
    assert [write.model for write in written.writes] == ["newsroom.section"]
    assert again.content == "Section with this Name already exists."
    call = ToolCall(run=run, call_id="c2", arguments=gate.parse(part, count))
    assert count.execute(call) == "0"


def test_the_guides_tools_are_registered_where_their_app_is_named(
    tmp_path: Path,
) -> None:
    package = tmp_path / "newsdesk"
    package.mkdir()
    tools, apps = _blocks("docs/tools.md")
    for name, code in (("__init__", ""), ("tools", tools), ("apps", apps)):
        (package / f"{name}.py").write_text(code)
    code = "from agent_runs.tools import registry; print(*sorted(registry.all_tools()))"

    with processes.installation(
        tmp_path / "site",
        EXTRA_APPS="a2a_project.newsroom newsdesk",
        PYTHONPATH=str(tmp_path),
    ) as site:
        found = site.manage("shell", "--no-imports", "-c", code).stdout.split()

    assert found == [
        "add_section",
        "ask_choice",
        "count_articles",
        "draft_record",
        "fetch_url",
        "get_record",
        "list_records",
    ]


def test_the_guides_handler_is_found_where_its_app_is_named(
    tmp_path: Path,
) -> None:
    package = tmp_path / "wordcount"
    package.mkdir()
    handler, apps = _blocks("docs/handlers.md")[:2]
    for name, code in (("__init__", ""), ("handler", handler), ("apps", apps)):
        (package / f"{name}.py").write_text(code)

    with processes.installation(
        tmp_path / "site", EXTRA_APPS="wordcount", PYTHONPATH=str(tmp_path)
    ) as site:
        found = _answer(site)

    assert found == "3"


def _answer(site: Installation) -> str:
    code = (
        "from types import SimpleNamespace as S; from agent_runs import handlers;"
        "handler = handlers.find('words.count');"
        "result = handler.run(S(input=S(text='one two three')));"
        "print(result.outputs[0].parts[0].text)"
    )
    return site.manage("shell", "--no-imports", "-c", code).stdout.strip()
