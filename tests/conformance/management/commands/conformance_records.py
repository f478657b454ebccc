"""`manage.py conformance_records TOKEN`: the stand's one skill and one client."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from a2a_server.models import Client
from tests import factories
from tests.conformance.handlers import StandHandler
from tests.conformance.tokens import is_token

if TYPE_CHECKING:
    from argparse import ArgumentParser

# No kit should meet a limit that it did not ask for.
TASK_LIMIT = 1000


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("token")
        parser.add_argument("--task-limit", type=int, default=TASK_LIMIT)

    def handle(self, *args: Any, **options: Any) -> None:
        token: str = options["token"]
        if not is_token(token):
            self.stderr.write("TOKEN has not the form that clients' tokens have.")
            raise SystemExit(2)
        profile = factories.make_profile(
            "stand", handler=StandHandler.name, configuration=None
        )
        client = factories.make_client(
            "conformance", profiles=[profile], task_limit=options["task_limit"]
        )
        Client.objects.filter(pk=client.pk).update(
            token_prefix=token.split("_")[1],
            token_hash=hashlib.sha256(token.encode()).hexdigest(),
        )
