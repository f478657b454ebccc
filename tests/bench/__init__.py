"""How fast it is, beside the official SDK's own server, in one run (`make bench`).

Method, so that anyone can repeat it:

- One machine, one PostgreSQL. Ours: one uvicorn process and one Celery worker, on that
  PostgreSQL and a Redis. Theirs: a2a-sdk 1.3.0's server with its database task store on
  the same PostgreSQL, one uvicorn process with the same event loop and HTTP parser, and
  an executor that completes a task with one text artifact, as ours does.
- The load comes from a process of its own over kept-alive connections, one request after
  the other on each. Both servers get the same bytes but for their tokens.
- Rounds alternate between the two servers; a figure is the median of its rounds. Before
  the first round each operation is called some times uncounted.
- With `--pin` the web process of each server is bound to one core before the rounds: the
  threads of one Python process take turns, and waking each other on another core costs
  more than half of a small request.
- CPU time is what the server processes (ours: web and worker apart) used in the round,
  from the kernel, by requests.

- Growth: one client's tasks are inserted in bulk, first few and then many, and each read
  is measured over one connection after the database has gathered its statistics.

Ratios count, seconds do not: the machine decides them. Nothing here is asserted.
"""

from __future__ import annotations
