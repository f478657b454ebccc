from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0003_questions_and_approvals"),
    ]

    operations = []
