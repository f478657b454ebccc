"""Three browsers: a superuser's, one of staff with the permissions a test asks for, and
one of staff with none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User


@pytest.fixture
def browser(superuser: User) -> Client:
    return _logged_in(superuser)


@pytest.fixture
def browser_of(db: None) -> Callable[..., Client]:
    """Make somebody of staff with these permissions, and log them in."""

    def log_in(*permissions: str, user: User | None = None) -> Client:
        user = user or factories.make_user(permissions=permissions, is_staff=True)
        return _logged_in(user)

    return log_in


@pytest.fixture
def strange_browser(db: None) -> Client:
    return _logged_in(factories.make_user(is_staff=True))


def _logged_in(user: User) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser
