"""Paths below a base URL; the entry resolves them, the project's URLs never see them."""

from __future__ import annotations

from django.urls import path

from a2a_server.api import api

urlpatterns = [path("", api.urls)]
