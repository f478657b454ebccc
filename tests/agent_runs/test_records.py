from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.core.exceptions import ValidationError
from django.db import models
from django.test.utils import isolate_apps

from a2a_project.newsroom.models import Article
from agent_runs import records
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries


class Size(models.TextChoices):
    SMALL = "s", "Small"
    LARGE = "l", "Large"


with isolate_apps("tests"):

    class Thing(models.Model):
        """One field of each kind; it has no table."""

        text = models.CharField(max_length=10)
        number = models.IntegerField(null=True)
        share = models.FloatField(default=0.5)
        price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
        is_new = models.BooleanField(default=False)
        day = models.DateField(null=True)
        moment = models.DateTimeField(null=True)
        length = models.DurationField(null=True)
        key = models.UUIDField(null=True)
        data = models.JSONField(null=True)
        size = models.CharField(max_length=1, choices=Size, default=Size.SMALL)

        class Meta:
            app_label = "tests"

        def __str__(self) -> str:
            return self.text


NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
KEY = uuid.UUID(int=7)


def _field(name: str) -> Any:
    return Thing._meta.get_field(name)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("text", "ä", "ä"),
        ("text", "a\x00b", "a\ufffdb"),
        ("number", 5, 5),
        ("number", None, None),
        ("share", 0.25, 0.25),
        ("share", float("nan"), "nan"),
        ("price", Decimal("9.90"), "9.90"),
        ("is_new", True, True),
        ("day", date(2026, 5, 4), "2026-05-04"),
        ("moment", NOON, "2026-05-04T12:00:00+00:00"),
        ("length", timedelta(hours=1), "01:00:00"),
        ("key", KEY, str(KEY)),
        ("data", {"a": [1]}, {"a": [1]}),
        ("size", Size.LARGE, "l"),
    ],
)
def test_a_value_is_json_and_comes_back(name: str, value: Any, expected: Any) -> None:
    """T5: dates in ISO form, decimals as text."""
    told = records.value_of(Thing(**{name: value}), _field(name))

    assert (told, type(told)) == (expected, type(expected))
    assert json.loads(json.dumps(told)) == expected
    back = Thing()
    records.set_value(back, _field(name), told)
    assert records.value_of(back, _field(name)) == expected


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("text", ["a"]),
        ("text", True),
        ("number", 5.5),
        ("number", "many"),
        ("number", True),
        ("price", "dear"),
        ("price", {}),
        ("price", float("inf")),
        ("price", 10**400),
        ("is_new", "perhaps"),
        ("day", "4 May"),
        ("day", 5),
        ("moment", 5),
        ("moment", "2026-13-01T00:00"),
        ("key", "x"),
        ("length", "long"),
    ],
)
def test_what_is_no_value_of_the_field_is_refused(name: str, given: Any) -> None:
    with pytest.raises(ValidationError):
        records.set_value(Thing(), _field(name), given)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    thing = Thing()

    records.set_value(thing, _field("number"), 5.0)

    assert (thing.number, type(thing.number)) == (5, int)


def test_a_moment_without_a_zone_is_one_of_the_installations() -> None:
    thing = Thing()

    records.set_value(thing, _field("moment"), "2026-05-04T12:00:00")

    assert thing.moment == NOON


def test_every_column_counts_in_a_digest() -> None:
    """T16."""
    thing = Thing(pk=1, text="a", key=KEY)
    values: dict[str, Any] = {
        "text": "b",
        "number": 0,
        "share": 0.75,
        "price": Decimal(0),
        "is_new": True,
        "day": NOON.date(),
        "moment": NOON,
        "length": timedelta(0),
        "key": None,
        "data": {},
        "size": Size.LARGE,
        "id": 2,
    }

    digests = {records.digest(thing)}
    for name, value in values.items():
        before = getattr(thing, name)
        setattr(thing, name, value)
        digests.add(records.digest(thing))
        setattr(thing, name, before)

    assert set(values) == {field.name for field in Thing._meta.concrete_fields}
    assert len(digests) == len(values) + 1


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("text", None, ""),
        ("text", "a", "a"),
        ("is_new", True, "yes"),
        ("is_new", False, "no"),
        ("size", "l", "Large"),
        ("size", "x", "x"),
        ("number", 5, "5"),
        ("data", {"a": 1}, '{\n  "a": 1\n}'),
    ],
)
def test_people_read_values_in_words(name: str, value: Any, expected: str) -> None:
    assert records.texts(_field(name), value) == [expected]


@pytest.mark.django_db
def test_related_records_are_named_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    politics, sports = map(drafts.make_section, ("Politics", "Sports"))
    field = Article._meta.get_field("section")

    with django_assert_num_queries(1):
        told = records.texts(field, politics.pk, sports.pk, 999_999, None)

    assert told == [
        f"Politics ({politics.pk})",
        f"Sports ({sports.pk})",
        "999999",
        "",
    ]


def test_a_field_says_what_it_takes() -> None:
    assert records.described(_field("size")) == "size (one of: s, l)"
    assert records.described(_field("text")) == "text (String (up to 10))"
    assert records.described(Article._meta.get_field("section")) == (
        "section (id of newsroom.section)"
    )
