from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("a2a_server", "0004_help_texts"),
        ("agent_runs", "0003_questions_and_approvals"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="profile",
            options={
                "permissions": [
                    ("try_profile", "Can try a profile as one of its clients")
                ],
                "verbose_name": "A2A publication profile",
            },
        ),
        migrations.AddField(
            model_name="profile",
            name="remember_context",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Gives the model what was said in earlier tasks of the same client, skill and context: at most 20 messages.",
                verbose_name="remember the context",
            ),
        ),
        migrations.CreateModel(
            name="Trial",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="trial",
                        serialize=False,
                        to="agent_runs.agentrun",
                    ),
                ),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="trials",
                        to="a2a_server.client",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="trials",
                        to="a2a_server.profile",
                    ),
                ),
            ],
            options={"verbose_name": "trial"},
        ),
    ]
