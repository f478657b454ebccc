"""The installation's database, as whoever runs its server sees it."""

from __future__ import annotations

import psycopg
from psycopg import sql


class Store:
    def __init__(self, database_url: str) -> None:
        server, _, self.name = database_url.rpartition("/")
        self._connection = psycopg.connect(f"{server}/postgres", autocommit=True)

    def cut_connections(self) -> int:
        """How many were open; each has ended, and says so to whoever looks."""
        cut = self._connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = %s",
            [self.name],
        )
        return len(cut.fetchall())

    def was_asked(self, beginning: str) -> bool:
        """Whether the last statement of a connection begins so."""
        found = self._connection.execute(
            "SELECT FROM pg_stat_activity WHERE datname = %s AND starts_with(query, %s)",
            [self.name, beginning],
        )
        return found.rowcount > 0

    def go_away(self) -> None:
        self._accept(False)
        self.cut_connections()

    def come_back(self) -> None:
        self._accept(True)

    def close(self) -> None:
        self.come_back()
        self._connection.close()

    def _accept(self, does_accept: bool) -> None:
        statement = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        name, value = sql.Identifier(self.name), sql.Literal(does_accept)
        self._connection.execute(statement.format(name, value))
