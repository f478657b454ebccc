from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import agent_runs.encryption


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
        migrations.AddConstraint(
            model_name="agentrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("state__in", ["waiting_for_approval", "waiting_for_input"]),
                        ("waiting_for__isnull", False),
                        models.Q(("waiting_id", ""), _negated=True),
                    ),
                    ("state", "waiting_for_remote"),
                    models.Q(
                        models.Q(
                            (
                                "state__in",
                                [
                                    "waiting_for_approval",
                                    "waiting_for_input",
                                    "waiting_for_remote",
                                ],
                            ),
                            _negated=True,
                        ),
                        ("waiting_for__isnull", True),
                        ("waiting_id", ""),
                    ),
                    _connector="OR",
                ),
                name="agentrun_waiting_is_whole",
            ),
        ),
    ]
