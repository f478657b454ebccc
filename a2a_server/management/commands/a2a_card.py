"""`manage.py a2a_card [--check] [--json]`: what the card says, and what keeps a skill
off it (S7).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError

from a2a_protocol import proto_json
from a2a_server import cards, conf, skills
from agent_runs.management.command import ExitCommand, ExitError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from a2a_server.models import Profile

    Judged = tuple[Profile, tuple[str, ...]]


class Command(ExitCommand):
    help = (
        "Prints the agent card, or with --check why profiles are not on it. Exit code "
        "1: no card is served, no skill is on it, or a public profile is not."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="say for each profile why it is not on"
        )
        parser.add_argument(
            "--json", action="store_true", help="print for machines, on one line"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["check"]:
                self._check(as_json=options["json"])
            else:
                self._print(as_json=options["json"])
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error

    def _print(self, *, as_json: bool) -> None:
        if problems := list(_role_problems()):
            raise ExitError(" ".join(problems))
        card = cards.build(conf.base_urls()[0].text)
        if as_json:
            self.stdout.write(proto_json.write_text(card))
        else:
            text = json.dumps(proto_json.write(card), indent=2, ensure_ascii=False)
            self.stdout.write(text)

    def _check(self, *, as_json: bool) -> None:
        role_problems = list(_role_problems())
        judged = skills.all_with_problems()
        if as_json:
            self.stdout.write(json.dumps(_document(role_problems, judged)))
        else:
            self.stdout.write("\n".join(_lines(role_problems, judged)))
        if wrong := [*role_problems, *_skill_problems(judged)]:
            raise ExitError(" ".join(wrong))


def _role_problems() -> Iterator[str]:
    if not conf.is_server_enabled():
        yield "The server role is off (A2A_SERVER_ENABLED)."
    if not conf.base_urls():
        yield "There is no base URL to serve a card at (A2A_SERVER_BASE_URLS)."


def _skill_problems(judged: list[Judged]) -> Iterator[str]:
    # A profile that is not public is off the card because somebody wants it so.
    withheld = [p.skill_id for p, problems in judged if p.is_public and problems]
    if withheld:
        yield f"Public, but not on the card: {', '.join(withheld)}."
    if all(problems for _, problems in judged):
        yield "No skill is on the card."


def _document(role_problems: list[str], judged: list[Judged]) -> dict[str, Any]:
    skill_list = [
        {"id": p.skill_id, "onCard": not problems, "problems": problems}
        for p, problems in judged
    ]
    return {"problems": role_problems, "skills": skill_list}


def _lines(role_problems: list[str], judged: list[Judged]) -> Iterator[str]:
    yield from role_problems
    if not judged:
        yield "There are no profiles."
    for profile, problems in judged:
        verdict = " ".join(problems) if problems else "on the card"
        yield f"{profile.skill_id}: {verdict}"
