from __future__ import annotations

from typing import TYPE_CHECKING

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

import agent_runs.encryption

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps


def begin_waits_anew(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A run that waited before there were answers is worked on again, and asks again."""
    waiting = apps.get_model("agent_runs", "AgentRun").objects.filter(
        state__in=["waiting_for_approval", "waiting_for_input"], waiting_for=None
    )
    waiting.update(state="queued", due_at=Now(), state_changed_at=Now())


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0002_fewer_indexes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="agentrun",
            name="starter",
            field=models.ForeignKey(
                blank=True,
                help_text="Who started it by hand. Empty: its owner counts as the starter.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="agentrun",
            name="waiting_for",
            field=agent_runs.encryption.EncryptedTextField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="agentrun",
            name="waiting_id",
            field=models.CharField(blank=True, db_default="", max_length=64),
        ),
        migrations.RunPython(begin_waits_anew, migrations.RunPython.noop),
    ]
