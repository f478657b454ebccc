from __future__ import annotations

from a2a_project import launch


def test_web_processes_listen_on_loopback_unless_told_otherwise() -> None:
    assert "--host=127.0.0.1" in launch.web(8000)


def test_web_processes_do_not_believe_forwarded_addresses() -> None:
    """S24."""
    assert "--no-proxy-headers" in launch.web(8000)


def test_periodic_jobs_have_a_queue_of_their_own() -> None:
    """W6."""
    assert "--queues=agent_sweep" in launch.celery_periodic_worker()
    assert "--queues=agent_runs" in launch.celery_worker()


def test_the_workers_of_a_host_have_different_names() -> None:
    """Celery takes two of one name for the same worker and warns."""
    assert "--hostname=runs@%h" in launch.celery_worker()
    assert "--hostname=jobs@%h" in launch.celery_periodic_worker()
