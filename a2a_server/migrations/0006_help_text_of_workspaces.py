from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("a2a_server", "0005_remembered_contexts_and_trials"),
        ("agent_runs", "0007_help_text_of_models"),
    ]

    operations = [
        migrations.AlterField(
            model_name="client",
            name="workspace",
            field=models.ForeignKey(
                blank=True,
                help_text="Where its runs write drafts. Empty: it may call no writing skill.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="a2a_clients",
                to="agent_runs.workspace",
            ),
        ),
    ]
