"""Queries of the ORM that are written as SQL once and run with other values each time.

Building a query costs Django several times what running it costs. What every message
pays for is therefore a constant of its module:

    _FIND = Select(lambda: Task.objects.filter(pk=value(Task, "id")).only("state"))
    task = _FIND.first(id=task_id)

Django writes the SQL for the database at hand and converts values in both directions, so
that a statement does what its queryset would do. Values are given by name when it runs;
each one that was declared has to be given.

PostgreSQL prepares a statement that is asked again and again, and then plans it once,
without knowing the values. What never changes is therefore part of the text: an index of
some states only could not be used otherwise.
"""

from __future__ import annotations

import copy
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    OperationalError,
    connections,
    transaction,
)
from django.db.models import Expression, sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models import Field, Model, QuerySet
    from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")

_PREPARED_AFTER = 5
# PostgreSQL's «cached plan must not change result type», and «does not exist».
_STALE = frozenset({"0A000", "26000"})
# What makes a queryset give what it gives, besides its query.
_KEPT = ("_iterable_class", "_fields", "_prefetch_related_lookups", "_fetch_mode")


def _connection() -> BaseDatabaseWrapper:
    """This thread's own: the proxy would look for it at each of its attributes."""
    return connections[DEFAULT_DB_ALIAS]


class _StaleStatementError(OperationalError):
    """What this connection has prepared does not serve any more.

    A table was changed since, or somebody dropped what was prepared. To the callers it is
    as if the store had been away: the next connection knows better.
    """


class _Value(Expression):
    """The place of a value that is given when the statement runs."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> Any:
        return "%s", (self,)

    def adapted(self, given: Any, connection: BaseDatabaseWrapper) -> Any:
        # Of a value to be found too: the two differ for JSON's null alone.
        return self.output_field.get_db_prep_save(given, connection)


def value(model: type[Model], field: str, name: str = "") -> Any:
    """A value called `name`, or like the field, which converts it."""
    found: Any = model._meta.get_field(field)
    return _Value(name or field, found)


class _Text:
    """What Django wrote for one kind of database."""

    def __init__(
        self, written: tuple[str, Sequence[Any]], connection: BaseDatabaseWrapper
    ) -> None:
        self.text, self._parameters = written
        if connection.vendor == "postgresql":
            self.text, self._parameters = _with_constants(*written, connection)
        self.names = frozenset(p.name for p in self._parameters if _is_value(p))

    def with_values(
        self, values: Mapping[str, Any], connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        return self.text, tuple(
            each.adapted(values[each.name], connection) if _is_value(each) else each
            for each in self._parameters
        )


def _with_constants(
    text: str, parameters: Sequence[Any], connection: BaseDatabaseWrapper
) -> tuple[str, Sequence[Any]]:
    """What is not a value of ours becomes part of the text."""
    quote = connection.schema_editor().quote_value
    left, kept = iter(parameters), []

    def fill(place: re.Match[str]) -> str:
        if place[0] == "%%":
            return place[0]
        parameter = next(left)
        if not _is_value(parameter):
            # What stands in the text is text for the driver too.
            return str(quote(parameter)).replace("%", "%%")
        kept.append(parameter)
        return "%s"

    return re.sub("%%|%s", fill, text), kept


def _is_value(parameter: object) -> bool:
    return isinstance(parameter, _Value)


@contextmanager
def _preparing(connection: Any) -> Iterator[None]:
    """Only what is written here is prepared: it is the same text every time."""
    if connection.vendor != "postgresql":
        yield
        return
    connection.ensure_connection()
    raw = connection.connection
    usual = raw.prepare_threshold
    if settings.A2A_DATABASE_PREPARED_STATEMENTS:
        raw.prepare_threshold = _PREPARED_AFTER
    try:
        yield
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) not in _STALE:
            raise
        # Closed before the next piece of work, at the latest.
        connection.close_at = 0
        raise _StaleStatementError(str(error)) from error
    finally:
        raw.prepare_threshold = usual


class Select(Generic[Row]):
    """A SELECT; it gives what its queryset would give: instances, tuples or values."""

    def __init__(self, make: Callable[[], QuerySet[Any, Row]]) -> None:
        self._make = make
        self._written: dict[str, tuple[QuerySet[Any, Row], SQLCompiler, _Text]] = {}

    def all(self, **values: Any) -> list[Row]:
        """Values that this statement does not name are not looked at."""
        connection = _connection()
        try:
            return self._read(values, connection)
        except _StaleStatementError:
            if connection.in_atomic_block:
                raise
            connection.close()
            return self._read(values, connection)

    def first(self, **values: Any) -> Row | None:
        """The first row; how many are read is the query's own concern."""
        return next(iter(self.all(**values)), None)

    def _read(
        self, values: Mapping[str, Any], connection: BaseDatabaseWrapper
    ) -> list[Row]:
        with _preparing(connection):
            return list(self._queryset(values, connection))

    def _queryset(
        self, values: Mapping[str, Any], connection: BaseDatabaseWrapper
    ) -> QuerySet[Any, Row]:
        ready = self._written.get(connection.vendor)
        if ready is None:
            ready = self._written[connection.vendor] = self._write(connection)
        written, compiler, text = ready
        given = text.with_values(values, connection)
        query: Any = _Query(written.query, compiler, given, connection)
        made: Any = written.__class__(written.model, query, using=DEFAULT_DB_ALIAS)
        for name in _KEPT:
            if hasattr(written, name):
                setattr(made, name, getattr(written, name))
        queryset: QuerySet[Any, Row] = made
        return queryset

    def _write(
        self, connection: BaseDatabaseWrapper
    ) -> tuple[QuerySet[Any, Row], SQLCompiler, _Text]:
        queryset = self._make()
        compiler: Any = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        text = _Text(compiler.as_sql(), connection)
        # It belongs to this thread, which may end long before the statement does.
        compiler.connection = None
        return queryset, compiler, text


class _Query:
    """Stands in for a query whose SQL is there already."""

    def __init__(
        self,
        query: Any,
        compiler: SQLCompiler,
        written: Any,
        connection: BaseDatabaseWrapper,
    ) -> None:
        self._query = query
        self._compiler = compiler
        self._sql = written
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)

    def get_compiler(self, *args: Any, **kwargs: Any) -> SQLCompiler:
        # A compiler holds its connection, and every thread has one of its own.
        compiler: Any = copy.copy(self._compiler)
        compiler.connection = self._connection
        compiler.as_sql = lambda *_, **__: self._sql
        return compiler  # type: ignore[no-any-return]


class _Change:
    def __init__(self) -> None:
        self._written: dict[str, _Text] = {}

    def _write(self) -> tuple[str, Sequence[Any]]:
        raise NotImplementedError

    @property
    def names(self) -> frozenset[str]:
        """The values that it takes, all of which are needed."""
        return self._text(_connection()).names

    def execute(self, **values: Any) -> int:
        """How many rows it touched. Raises TypeError for a value that it does not take."""
        connection = _connection()
        text = self._text(connection)
        if undeclared := values.keys() - text.names:
            raise TypeError(f"The statement has no {', '.join(sorted(undeclared))}.")
        with (
            transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS),
            _preparing(connection),
            connection.cursor() as cursor,
        ):
            cursor.execute(*text.with_values(values, connection))
            count: int = cursor.rowcount
        return count

    def _text(self, connection: BaseDatabaseWrapper) -> _Text:
        text = self._written.get(connection.vendor)
        if text is None:
            text = _Text(self._write(), connection)
            self._written[connection.vendor] = text
        return text


class Update(_Change):
    """An UPDATE of the rows of a queryset; `columns` says to what."""

    def __init__(
        self,
        make: Callable[[], QuerySet[Any, Any]],
        columns: Callable[[], Mapping[str, Any]],
    ) -> None:
        super().__init__()
        self._make = make
        self._columns = columns

    def _write(self) -> tuple[str, Sequence[Any]]:
        query: Any = self._make().query.chain(sql.UpdateQuery)
        query.add_update_values(dict(self._columns()))
        text, parameters = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        return text, parameters


class Insert(_Change):
    """An INSERT of one row. Columns that are not named get their field's default."""

    def __init__(self, model: type[Model], *names: str, **columns: Any) -> None:
        super().__init__()
        self._model = model
        self._names = frozenset(names)
        self._columns = columns

    def _write(self) -> tuple[str, Sequence[Any]]:
        model, given = self._model, self._names.union(self._columns)
        fields = [
            each
            for each in model._meta.concrete_fields
            if each.attname in given or not each.primary_key
        ]
        for each in fields:
            is_new = each.has_default() and callable(each.default)
            if is_new and each.attname not in given:
                raise TypeError(f"{each} has a default of its own for every row.")
        values = {name: value(model, name) for name in self._names} | self._columns
        query = sql.InsertQuery(model)
        # Raw: no field may look at its value, which is only known later.
        query.insert_values(fields, [model(**values)], raw=True)
        ((text, parameters),) = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        return text, parameters
