"""`manage.py a2a_agent_call IDENTIFIER "text"`: have a remote agent do something (C10).

The answer alone is on standard output; what happens meanwhile is on standard error. What
the agent asks is answered at the terminal; without one the exit code is 3, and the
command is called again with `--task-id` and `--answer`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from a2a_client import calling, words
from a2a_client.management.command import AgentCommand
from a2a_client.models import CallState
from agent_runs import questions
from agent_runs.contents import ContentsError
from agent_runs.management.command import ExitError, bounded
from agent_runs.questions import BadAnswer

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from a2a_client.calling import CallResult
    from agent_runs.questions import Question

_A_WEEK = 7 * 24 * 3600
_BAD_OPTIONS = 2
_ASKS = 3
_LONGEST_ID = 500


class Command(AgentCommand):
    help = (
        "Sends a task to a remote agent and prints its answer. Exit code 1: there is no "
        "answer, 3: the agent asks something."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("identifier", help="of the agent")
        parser.add_argument("text", nargs="?", default="", help="what it shall do")
        parser.add_argument("--skill", default="", help="of the agent, by its id")
        parser.add_argument(
            "--context-id", default="", help="of an earlier task, to go on with it"
        )
        parser.add_argument(
            "--task-id", default="", help="of a task that is not over: wait, or answer"
        )
        parser.add_argument("--answer", default="", help="to what the task asks")
        waiting = parser.add_mutually_exclusive_group()
        waiting.add_argument(
            "--timeout",
            type=bounded(float, 0, _A_WEEK),
            help="wait at most so many seconds (the agent's deadline)",
        )
        waiting.add_argument(
            "--no-wait", action="store_true", help="the agent's first reply is enough"
        )
        super().add_arguments(parser)

    def perform(self, options: dict[str, Any]) -> None:
        _require_sense(options)
        try:
            result = self._call(options)
        except (calling.CallRefused, BadAnswer) as refusal:
            raise ExitError(str(refusal)) from refusal
        except ContentsError as error:
            raise ExitError("The question cannot be read any more.") from error
        except KeyboardInterrupt:
            raise ExitError(
                "Nobody waits any more; the task goes on. manage.py a2a_agent_calls "
                f"{options['identifier']} tells how far it is."
            ) from None
        self._tell(result, options)

    def _call(self, options: dict[str, Any]) -> CallResult:
        is_asked = sys.stdin.isatty() and not options["no_wait"]
        waiting: dict[str, Any] = {
            "on_progress": self.stderr.write,
            "answer": self._ask if is_asked else None,
            "timeout": 0 if options["no_wait"] else options["timeout"],
        }
        identifier = options["identifier"]
        if options["task_id"]:
            return calling.go_on(
                identifier, options["task_id"], options["answer"], **waiting
            )
        return calling.call(
            identifier,
            options["text"],
            skill=options["skill"],
            context_id=options["context_id"],
            **waiting,
        )

    def _ask(self, question: Question) -> str | None:
        """Until it is answered; nothing typed leaves it open."""
        self.stderr.write(_as_text(question))
        while text := sys.stdin.readline().strip():
            try:
                questions.parse(question, text)
            except BadAnswer as refusal:
                self.stderr.write(str(refusal))
            else:
                return text
        return None

    def _tell(self, result: CallResult, options: dict[str, Any]) -> None:
        if options["json"]:
            self.print_json(_document(result))
        elif result.state == CallState.COMPLETED:
            self.stdout.write(words.lines(result.text, len(result.text)))
        problem = _problem(result, options["identifier"])
        if problem and not (options["no_wait"] and _goes_on(result)):
            raise ExitError(problem, code=_ASKS if result.question else 1)
        if problem:
            self.stderr.write(problem)


def _require_sense(options: dict[str, Any]) -> None:
    is_new = bool(options["text"])
    if is_new == bool(options["task_id"]):
        raise ExitError("Give a text for a new task, or --task-id.", code=_BAD_OPTIONS)
    if is_new and options["answer"]:
        raise ExitError("--answer needs the --task-id that asks.", code=_BAD_OPTIONS)
    if not is_new and (options["skill"] or options["context_id"]):
        raise ExitError(
            "--skill and --context-id are for a new task.", code=_BAD_OPTIONS
        )


def _problem(result: CallResult, identifier: str) -> str:
    """Why there is no answer; empty where there is one."""
    task = words.one_line(result.task_id, _LONGEST_ID)
    again = f"manage.py a2a_agent_call {identifier} --task-id {task}"
    if result.question:
        return f"{_as_text(result.question)}\nAnswer with: {again} --answer «…»"
    if _goes_on(result):
        return f"The agent goes on with task {task}. Ask again with: {again}"
    if result.state == CallState.COMPLETED:
        return ""
    said = f" The agent says: {words.one_line(result.text, 500)}" if result.text else ""
    told = f"{result.sentence or result.state.label}{said}"
    if result.state == CallState.UNKNOWN:
        look_up = f"manage.py a2a_agent_calls --look-up {result.call_id}"
        return f"{told}\nAsk the agent what became of it: {look_up}"
    return told


def _goes_on(result: CallResult) -> bool:
    return result.state in {CallState.WORKING, CallState.ASKING}


def _as_text(question: Question) -> str:
    told = [question.text, question.details, question.expected()]
    return "\n".join(text for text in told if text)


def _document(result: CallResult) -> dict[str, Any]:
    question = result.question
    return {
        "call": str(result.call_id),
        "state": result.state.value,
        "text": result.text,
        "sentence": result.sentence,
        "taskId": result.task_id,
        "contextId": result.context_id,
        "question": question
        and {
            "text": question.text,
            "details": question.details,
            "expected": question.expected(),
            "schema": question.schema(),
        },
    }
