from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from agent_runs import allow_lists
from agent_runs.models import Draft
from agent_runs.tools import run_records
from tests import factories
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


class Parameters(BaseModel):
    model: str


def test_the_schema_lists_the_models_and_their_refusal_comes_later() -> None:
    """T4: a model that is not listed reads like one that may not be seen."""
    made = run_records.with_models(Parameters, ("a.b", "c.d"))

    assert made.model_json_schema()["properties"]["model"]["enum"] == ["a.b", "c.d"]
    assert made.model_validate({"model": "x.y"}).model_dump() == {"model": "x.y"}


def test_the_key_of_a_draft_is_read_from_its_id() -> None:
    key = uuid.uuid4()

    assert run_records.draft_key(f"draft:{key}") == key


@pytest.mark.django_db
def test_what_is_no_id_of_a_draft_names_none() -> None:
    assert not Draft.objects.filter(id=run_records.draft_key("draft:x")).exists()


@pytest.mark.django_db
def test_a_run_may_what_its_owner_may(settings: SettingsWrapper) -> None:
    """T4: and one without an owner nothing."""
    drafts.allow(settings)
    article = allow_lists.readable()["newsroom.article"]
    run = drafts.make_run("newsroom.view_article")
    gone = drafts.make_run(owner=None)
    inactive = factories.make_user(permissions=drafts.MAY_ALL, is_active=False)

    assert run_records.may(run, article, "view")
    assert not run_records.may(run, article, "change")
    assert not run_records.may(gone, article, "view")
    assert not run_records.may(drafts.make_run(owner=inactive), article, "view")
