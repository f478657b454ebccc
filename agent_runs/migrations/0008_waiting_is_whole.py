from __future__ import annotations

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0007_help_text_of_models"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="agentrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("state__in", ["waiting_for_approval", "waiting_for_input"]),
                        _negated=True,
                    ),
                    models.Q(
                        ("waiting_for__isnull", False),
                        models.Q(("waiting_id", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="agentrun_waiting_is_whole",
            ),
        ),
    ]
