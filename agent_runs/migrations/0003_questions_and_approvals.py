from __future__ import annotations

from django.conf import settings
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0002_fewer_indexes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = []
