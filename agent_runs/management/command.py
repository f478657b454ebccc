"""What all commands share: exit codes that machines can rely on (W8).

0: done. 1: it could not be done (`ExitError`). 2: bad options, told by argparse on
stderr, also when the command is called in code. No traceback for a person's mistake.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

if TYPE_CHECKING:
    from collections.abc import Callable


class ExitError(CommandError):
    """The command could not do what it was asked; the sentence goes to stderr."""

    def __init__(self, sentence: str, *, code: int = 1) -> None:
        super().__init__(sentence, returncode=code)


class _Parser(CommandParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")


class ExitCommand(BaseCommand):
    _is_a_process = False

    def run_from_argv(self, argv: list[str]) -> None:
        self._is_a_process = True
        super().run_from_argv(argv)

    def execute(self, *args: Any, **options: Any) -> Any:
        """Called in code it raises; Django would print the class before the sentence."""
        try:
            return super().execute(*args, **options)
        except ExitError as error:
            if not self._is_a_process or options["traceback"]:
                raise
            self.stderr.write(str(error))
            sys.exit(error.returncode)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.__class__ = _Parser
        return parser


def bounded(
    kind: type[int] | type[float], least: float, most: float
) -> Callable[[str], float]:
    """An argparse type: a number of `kind` between `least` and `most`, both included."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"a number from {least:g} to {most:g}")
        return number

    return read
