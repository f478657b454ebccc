"""The project's settings as the tests see them.

Nothing of the developer's environment decides a result: every variable that the product
reads is set here before the product's settings load. What the suite runs against is
chosen by two variables of its own, `TEST_DATABASE_URL` (SQLite below a temporary folder
by default) and `TEST_REDIS_URL` (no Redis by default).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

TEST_DIR = Path(tempfile.mkdtemp(prefix="a2a-tests-"))
atexit.register(shutil.rmtree, TEST_DIR, ignore_errors=True)

TEST_DATABASE_URL = os.environ.get("TEST_DATABASE_URL") or f"sqlite:///{TEST_DIR}/main"
TEST_REDIS_URL = os.environ.get("TEST_REDIS_URL", "")
BASE_URL = "https://gateway.example/a2a"

_ENVIRONMENT = {
    "A2A_CLIENT_ENABLED": "on",
    "A2A_ENCRYPTION_KEYS": "dGVzdHMtb25seS1rZXktb2YtMzItYnl0ZXMtZ29lcy4=",
    "A2A_REDIS_PREFIX": f"test-{TEST_DIR.name}",
    "A2A_REDIS_URL": TEST_REDIS_URL,
    "A2A_SERVER_BASE_URLS": BASE_URL,
    "A2A_SERVER_ENABLED": "on",
    "ALLOWED_HOSTS": "testserver gateway.example localhost 127.0.0.1",
    "DATABASE_URL": TEST_DATABASE_URL,
    "DATA_DIR": str(TEST_DIR),
    "EXTRA_APPS": "a2a_project.newsroom",
    "LOG_LEVEL": "INFO",
    "SECRET_KEY": "tests-only-secret-key-0123456789-abcdefghijklmnopqrstuvwxyz",
}
_PREFIXES = ("A2A_", "AGENT_", "CELERY_", "DATABASE_", "SECRET_", "TRUST_", "HSTS_")
_NAMES = {"DEBUG", "EXTRA_APPS", "HTTPS", "STATIC_ROOT", "TIME_ZONE"}

for _name in list(os.environ):
    if _name.startswith(_PREFIXES) or _name in _NAMES:
        del os.environ[_name]
os.environ.update(_ENVIRONMENT)

from a2a_project.settings import *  # noqa: E402, F403
from a2a_project.settings import DATABASES, STATIC_ROOT  # noqa: E402

# whitenoise warns of a folder that is not there, once a request.
STATIC_ROOT.mkdir(exist_ok=True)

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, since several threads and processes of one test open it.
    DATABASES["default"]["TEST"] = {"NAME": str(TEST_DIR / "test.sqlite3")}

# Slow on purpose in the product; the tests make hundreds of users.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
