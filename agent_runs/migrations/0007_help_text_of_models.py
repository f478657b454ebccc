from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0006_inbox"),
    ]

    operations = [
        migrations.AlterField(
            model_name="llmconfiguration",
            name="model_name",
            field=models.CharField(
                help_text="As the provider names it. Offline: «summary», «text-check», «echo», or one that an app brings.",
                max_length=200,
            ),
        ),
    ]
