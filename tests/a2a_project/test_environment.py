from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.exceptions import ImproperlyConfigured

from a2a_project import environment

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_variable_is_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THING", raising=False)

    assert environment.text("THING", "default") == "default"


def test_reads_a_text_without_the_space_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THING", " value\n")

    assert environment.text("THING") == "value"


def test_reads_a_secret_from_the_file_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.delenv("THING", raising=False)
    monkeypatch.setenv("THING_FILE", str(tmp_path / "secret"))

    assert environment.text("THING") == "from a file"


def test_the_variable_counts_more_than_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("THING", "direct")
    monkeypatch.setenv("THING_FILE", str(tmp_path / "missing"))

    assert environment.text("THING") == "direct"


def test_a_file_that_cannot_be_read_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("THING", raising=False)
    monkeypatch.setenv("THING_FILE", str(tmp_path / "missing"))

    with pytest.raises(ImproperlyConfigured, match="THING_FILE"):
        environment.text("THING")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", True),
        ("TRUE", True),
        ("yes", True),
        ("on", True),
        ("", False),
        ("0", False),
        ("false", False),
        ("No", False),
        ("off", False),
    ],
)
def test_reads_a_switch(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setenv("THING", value)

    assert environment.boolean("THING") is expected


def test_guesses_no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING", "maybe")

    with pytest.raises(ImproperlyConfigured, match="THING must be on or off"):
        environment.boolean("THING")


def test_reads_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING", "12")

    assert environment.integer("THING", 3) == 12


def test_guesses_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING", "12 MB")

    with pytest.raises(ImproperlyConfigured, match="THING must be a whole number"):
        environment.integer("THING", 3)


def test_reads_words_between_commas_and_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING", "one, two\tthree\n,four")

    assert environment.words("THING") == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", {}),
        ("a.b:c", {"a.b": ("c",)}),
        (" a.b:c,d\n e.f:g a.b:h ", {"a.b": ("c", "d", "h"), "e.f": ("g",)}),
        # What is wrong stays wrong, for the system check to see.
        ("a.b", {"a.b": ("",)}),
        ("a.b:c, d", {"a.b": ("c", ""), "d": ("",)}),
        ("a.b:c:d", {"a.b": ("c:d",)}),
    ],
)
def test_reads_fields_by_model(
    monkeypatch: pytest.MonkeyPatch, written: str, expected: dict[str, object]
) -> None:
    """T5."""
    monkeypatch.setenv("NAME", written)

    assert environment.fields_by_model("NAME") == expected


def test_takes_apps_by_package_and_by_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = "tests tests.conformance tests.drill.apps.Anything tests.drill.Anything"
    monkeypatch.setenv("APPS", names)

    assert environment.apps("APPS") == names.split()


@pytest.mark.parametrize("typo", ["wordcuont", "tests.conformnace", "tests.x.y", ".x"])
def test_names_the_variable_of_an_app_that_is_nowhere(
    monkeypatch: pytest.MonkeyPatch, typo: str
) -> None:
    """Django would say it with a traceback that does not name the variable."""
    monkeypatch.setenv("APPS", f"tests {typo}")

    with pytest.raises(ImproperlyConfigured, match=f"^APPS names {typo}, and"):
        environment.apps("APPS")
