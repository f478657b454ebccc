from __future__ import annotations

from tests.admin_browsers import browser, browser_of, strange_browser

__all__ = ["browser", "browser_of", "strange_browser"]
