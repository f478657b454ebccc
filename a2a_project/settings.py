"""The only reader of the environment; `docs/settings.md` explains every variable.

The defaults serve a bare checkout: SQLite below `DATA_DIR`, no broker, the server role
off. Values that cannot work are reported by system checks (`manage.py check`).
"""

from __future__ import annotations

import logging
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from a2a_project import __version__
from a2a_project import environment as env

# pydantic-ai prints a banner at the first model call of a process otherwise.
os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.text("DATA_DIR") or BASE_DIR / "var").resolve()

DEBUG = env.boolean("DEBUG")
_INSECURE_KEY = "insecure-key-for-debugging-only"
SECRET_KEY = env.text("SECRET_KEY", _INSECURE_KEY if DEBUG else "")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost 127.0.0.1 [::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")

A2A_VERSION = __version__

# --- Applications ---------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "agent_runs",
    "a2a_server",
    "a2a_client",
    *env.apps("EXTRA_APPS"),
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "a2a_project.nul.RefuseNul",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "a2a_project.urls"
ASGI_APPLICATION = "a2a_project.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Database -------------------------------------------------------------------------

SQLITE_OPTIONS = {
    # Two writers that began as readers fail at once with «database is locked»; a
    # transaction that begins as a writer waits its turn instead.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
}
A2A_DATABASE_PREPARED_STATEMENTS = env.boolean("A2A_DATABASE_PREPARED_STATEMENTS", True)
# The driver's own time-outs keep a hung server from holding a worker's thread for ever.
# The server's keep a process that stopped in the middle of a transaction, with rows
# locked, from holding up all others: its session ends after a minute. `manage.py
# migrate` lifts the bound on statements.
_STATEMENT_SECONDS = env.integer("A2A_DATABASE_STATEMENT_TIMEOUT_SECONDS", 30)
POSTGRESQL_OPTIONS = {
    "connect_timeout": 5,
    # Needed by statements that are prepared.
    "server_side_binding": True,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds
    "options": "-c idle_in_transaction_session_timeout=60s -c lock_timeout=10s"
    f" -c statement_timeout={_STATEMENT_SECONDS}s",
}


def _own_sqlite() -> str:
    """A bare checkout works at once, so the folder is made where it is missing."""
    try:
        DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured("DATA_DIR cannot be made.") from error
    return f"sqlite:///{DATA_DIR / 'a2a.sqlite3'}"


def _database() -> dict[str, Any]:
    url = env.text("DATABASE_URL") or _own_sqlite()
    try:
        found = dj_database_url.parse(url, conn_max_age=None, conn_health_checks=True)
    except ValueError as error:
        raise ImproperlyConfigured("DATABASE_URL cannot be read.") from error
    database: dict[str, Any] = dict(found)
    if database["ENGINE"].endswith("sqlite3"):
        database["OPTIONS"] = SQLITE_OPTIONS | database.get("OPTIONS", {})
    else:
        database["OPTIONS"] = POSTGRESQL_OPTIONS | database.get("OPTIONS", {})
    return database


DATABASES = {"default": _database()}

# --- Time, language, static files -----------------------------------------------------

USE_TZ = True
TIME_ZONE = env.text("TIME_ZONE", "UTC")
LANGUAGE_CODE = "en"
USE_I18N = True
FORMAT_MODULE_PATH = "a2a_project.formats"
STATIC_URL = "static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT") or DATA_DIR / "static")
# Serves the packages' own files without a collectstatic step.
WHITENOISE_USE_FINDERS = True

# --- Cookies and proxies --------------------------------------------------------------

HTTPS = env.boolean("HTTPS")
# The proxy that ends TLS is also what sends plain http to https, so its check is no help.
SILENCED_SYSTEM_CHECKS = ["security.W008"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SECURE_HSTS_SECONDS = env.integer("HSTS_SECONDS", 0)
USE_X_FORWARDED_HOST = env.boolean("USE_X_FORWARDED_HOST")
if env.boolean("TRUST_X_FORWARDED_PROTO"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
A2A_TRUSTED_PROXY_COUNT = env.integer("A2A_TRUSTED_PROXY_COUNT", 0)

# --- Secrets at rest ------------------------------------------------------------------

A2A_ENCRYPTION_KEYS = env.words("A2A_ENCRYPTION_KEYS")

# --- Runs -----------------------------------------------------------------------------

AGENT_RUNS_RETENTION_DAYS = env.integer("AGENT_RUNS_RETENTION_DAYS", 30)
AGENT_RUNS_MAX_WAIT_DAYS = env.integer("AGENT_RUNS_MAX_WAIT_DAYS", 30)
AGENT_RUNS_READABLE_MODELS = env.fields_by_model("AGENT_RUNS_READABLE_MODELS")
AGENT_RUNS_WRITABLE_MODELS = env.fields_by_model("AGENT_RUNS_WRITABLE_MODELS")

# --- Redis and Celery -----------------------------------------------------------------

A2A_REDIS_URL = env.text("A2A_REDIS_URL")


def _redis_prefix() -> str:
    """Two installations that share a Redis differ by their database's name."""
    name = str(DATABASES["default"]["NAME"])
    if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        name = Path(name).stem
    return env.text("A2A_REDIS_PREFIX", re.sub(r"[^A-Za-z0-9_-]", "_", name))


A2A_REDIS_PREFIX = _redis_prefix()
CELERY_BROKER_URL = A2A_REDIS_URL or "memory://"
CELERY_TASK_ALWAYS_EAGER = env.boolean("CELERY_TASK_ALWAYS_EAGER")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
# A second delivery right after a crash would only meet a lease that still lives.
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker outlives any outage of the broker; the default gives up after 100 tries.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    "socket_keepalive": True,
    # A nudge is tried once; the worker's own reconnecting does not read this.
    "max_retries": 0,
    "global_keyprefix": f"{A2A_REDIS_PREFIX}:" if A2A_REDIS_PREFIX else "",
}
# Kept connections are checked where a segment starts and ends (agent_runs.tasks).
CELERY_DB_REUSE_MAX = 1000
CELERY_TASK_DEFAULT_QUEUE = "agent_runs"
CELERY_TASK_ROUTES = {"agent_runs.run_periodic_jobs": {"queue": "agent_sweep"}}
CELERY_TIMEZONE = "UTC"
PERIODIC_TICK = timedelta(seconds=5)
CELERY_BEAT_SCHEDULE = {
    "periodic-jobs": {
        "task": "agent_runs.run_periodic_jobs",
        "schedule": PERIODIC_TICK,
        "options": {"expires": PERIODIC_TICK.total_seconds()},
    },
}

# --- Server role ----------------------------------------------------------------------

A2A_SERVER_ENABLED = env.boolean("A2A_SERVER_ENABLED")
A2A_SERVER_BASE_URLS = env.words("A2A_SERVER_BASE_URLS")
A2A_SERVER_NAME = env.text("A2A_SERVER_NAME", "A2A Gateway")
A2A_SERVER_DESCRIPTION = env.text(
    "A2A_SERVER_DESCRIPTION", "Skills of this installation for registered agents."
)
A2A_SERVER_VERSION = env.text("A2A_SERVER_VERSION", __version__)
A2A_SERVER_PROVIDER = {
    "organization": env.text("A2A_SERVER_PROVIDER_ORGANIZATION"),
    "url": env.text("A2A_SERVER_PROVIDER_URL"),
}
A2A_SERVER_DOCUMENTATION_URL = env.text("A2A_SERVER_DOCUMENTATION_URL")
A2A_SERVER_MAX_REQUEST_BYTES = env.integer("A2A_SERVER_MAX_REQUEST_BYTES", 1024 * 1024)
A2A_SERVER_BLOCKING_WAIT_SECONDS = env.integer("A2A_SERVER_BLOCKING_WAIT_SECONDS", 20)
A2A_SERVER_MAX_WAITING_REQUESTS = env.integer("A2A_SERVER_MAX_WAITING_REQUESTS", 200)
A2A_SERVER_AUTH_FAILURES = env.text("A2A_SERVER_AUTH_FAILURES", "10/900")
A2A_SERVER_DEDUPLICATE_MESSAGES = env.boolean("A2A_SERVER_DEDUPLICATE_MESSAGES", True)
A2A_SERVER_THREADS = env.integer("A2A_SERVER_THREADS", 4)

# --- Client role ----------------------------------------------------------------------

A2A_CLIENT_ENABLED = env.boolean("A2A_CLIENT_ENABLED")

# --- Outbound requests ----------------------------------------------------------------

A2A_EGRESS_REMOTE_AGENT_ALLOW = env.words("A2A_EGRESS_REMOTE_AGENT_ALLOW")
A2A_EGRESS_REMOTE_AGENT_DENY = env.words("A2A_EGRESS_REMOTE_AGENT_DENY")
A2A_EGRESS_INBOUND_URL_ALLOW = env.words("A2A_EGRESS_INBOUND_URL_ALLOW")
A2A_EGRESS_INBOUND_URL_DENY = env.words("A2A_EGRESS_INBOUND_URL_DENY")
A2A_EGRESS_FETCH_URL_ALLOW = env.words("A2A_EGRESS_FETCH_URL_ALLOW")
A2A_EGRESS_FETCH_URL_DENY = env.words("A2A_EGRESS_FETCH_URL_DENY")
A2A_EGRESS_ALLOW_HTTP = env.boolean("A2A_EGRESS_ALLOW_HTTP")
A2A_EGRESS_ALLOW_LOOPBACK = env.boolean("A2A_EGRESS_ALLOW_LOOPBACK")
A2A_EGRESS_CA_FILE = env.text("A2A_EGRESS_CA_FILE")
A2A_EGRESS_NAMESERVERS = env.words("A2A_EGRESS_NAMESERVERS")


def _own_hosts() -> list[str]:
    """Hosts that lead here; a wildcard may also stand for somebody else's."""
    named = [
        re.match(r"\w+://(\[[^\]]*\]|[^:/]+)", url) for url in A2A_SERVER_BASE_URLS
    ]
    return [
        *(found[1] for found in named if found),
        *(host for host in ALLOWED_HOSTS if not host.startswith((".", "*"))),
    ]


A2A_EGRESS_OWN_HOSTS = _own_hosts()

# --- Logs -----------------------------------------------------------------------------

LOG_LEVEL = env.text("LOG_LEVEL", "INFO").upper()
# Python would print warnings as they are, between the lines of JSON.
logging.captureWarnings(True)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "a2a_project.logs.JSONFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Django's own handler would print every line a second time.
    "loggers": {
        "django": {"handlers": ["stderr"], "level": LOG_LEVEL, "propagate": False},
        "uvicorn.access": {"level": "WARNING"},
        # One line with the address for every model call.
        "httpx2": {"level": "WARNING"},
        # At DEBUG it logs what others answer, headers and all.
        "httpcore2": {"level": "WARNING"},
    },
}
