"""The ASGI application: health, then A2A, then Django for everything else, bounded."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "a2a_project.settings")
_django = get_asgi_application()

# All of these need the applications that the line above has set up.
from a2a_project.health import Health  # noqa: E402
from a2a_project.lifespan import Lifespan  # noqa: E402
from a2a_project.uploads import BoundedUploads  # noqa: E402
from a2a_server.entry import Entry  # noqa: E402

application = Lifespan(Health(Entry(BoundedUploads(_django))))
