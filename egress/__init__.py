"""The only way out to addresses that outsiders chose.

The verdict is pure (`addresses`, `policy`, `errors`); the shell around it resolves names
(`resolver`), opens sockets to judged addresses only (`transport`) and makes requests with
bounds (`client`). Nothing here knows Django.

Import the modules, not their names: ``from egress import client, policy``.
"""

from __future__ import annotations
