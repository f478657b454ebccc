from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0003_questions_and_approvals"),
    ]

    operations = [
        migrations.CreateModel(
            name="ToolSetting",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(editable=False, max_length=64, unique=True)),
                ("enabled", models.BooleanField(blank=True, null=True)),
                ("requires_approval", models.BooleanField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "tool",
            },
        ),
    ]
