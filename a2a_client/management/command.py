"""What the commands for remote agents share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError

from a2a_client import conf
from agent_runs.cleaning import clean_text
from agent_runs.management.command import ExitCommand, ExitError
from agent_runs.registries import NothingNamed

if TYPE_CHECKING:
    from argparse import ArgumentParser


_NO_UTF_8 = "What was given is not UTF-8. Check the encoding of your terminal."
_BAD_OPTIONS = 2


class AgentCommand(ExitCommand):
    """Says in a sentence that the role is off or the database cannot be used."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="print for machines, on one line"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not conf.is_enabled():
            raise ExitError(conf.ROLE_IS_OFF)
        if not all(map(_is_utf_8, options.values())):
            raise ExitError(_NO_UTF_8, code=_BAD_OPTIONS)
        try:
            self.perform(options)
        except NothingNamed as error:
            raise ExitError(str(error)) from error
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error
        except UnicodeDecodeError as error:
            # Nothing but standard input is decoded strictly here.
            raise ExitError(_NO_UTF_8) from error

    def perform(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def print_json(self, document: object) -> None:
        self.stdout.write(json.dumps(document, ensure_ascii=False))


def _is_utf_8(option: object) -> bool:
    """The shell's bytes that are none come as half surrogate pairs."""
    texts = option if isinstance(option, list) else [option]
    return all(clean_text(text) == text for text in texts if isinstance(text, str))
