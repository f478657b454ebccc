from __future__ import annotations

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import agent_runs.encryption


class Migration(migrations.Migration):
    dependencies = [
        ("agent_runs", "0004_tool_settings"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "object_id",
                    models.CharField(blank=True, max_length=255, verbose_name="record"),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("create", "New record"), ("change", "Change")],
                        max_length=8,
                    ),
                ),
                ("values", agent_runs.encryption.EncryptedTextField(editable=False)),
                ("before", agent_runs.encryption.EncryptedTextField(editable=False)),
                ("base_digest", models.CharField(blank=True, max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("published", "Published"),
                            ("discarded", "Discarded"),
                        ],
                        default="open",
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "permissions": [("publish_draft", "Can publish and discard drafts")],
            },
        ),
        migrations.AddField(
            model_name="draft",
            name="content_type",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="contenttypes.contenttype",
                verbose_name="model",
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="decided_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="drafts",
                to="agent_runs.agentrun",
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="drafts",
                to="agent_runs.workspace",
            ),
        ),
        migrations.AddIndex(
            model_name="draft",
            index=models.Index(fields=["-created_at", "-id"], name="draft_newest"),
        ),
        migrations.AddIndex(
            model_name="draft",
            index=models.Index(
                condition=models.Q(("state", "open")),
                fields=["-created_at", "-id"],
                name="draft_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["open", "published", "discarded"])),
                name="draft_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("base_digest", ""), ("kind", "create")),
                    models.Q(
                        ("kind", "change"),
                        models.Q(("base_digest", ""), _negated=True),
                        models.Q(("object_id", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="draft_change_has_base",
            ),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at__isnull", True), ("state", "open")),
                    models.Q(
                        models.Q(("state", "open"), _negated=True),
                        ("decided_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="draft_decision_is_whole",
            ),
        ),
    ]
