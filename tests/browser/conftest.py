"""The fixtures of this folder, where the browser's driver is installed.

It belongs to a dependency group of its own (`make browser`), and the other suites must be
collected without it.
"""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("selenium"):
    from tests.browser.fixtures import (  # noqa: F401
        browser,
        demo_browser,
        demonstration,
        desk,
        driver,
        editor,
        editor_signed_in,
        gateway,
        has_javascript,
        pictures,
        programs,
        registrar,
        registry,
        remote_agent,
        signed_in,
        title,
        token,
    )
else:
    collect_ignore_glob = ["test_*.py"]
