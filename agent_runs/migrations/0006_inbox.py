from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0005_drafts"),
    ]

    operations = [
        migrations.CreateModel(
            name="WaitingRun",
            fields=[],
            options={
                "verbose_name": "waiting run",
                "verbose_name_plural": "inbox",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("agent_runs.agentrun",),
        ),
    ]
