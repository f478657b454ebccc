from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import path

if TYPE_CHECKING:
    from django.http import HttpRequest

# Which installation a page belongs to is the first thing to know.
admin.site.site_header = admin.site.site_title = settings.A2A_SERVER_NAME
admin.site.index_title = "Administration"
# There is no site to view: the address serves machines.
admin.site.site_url = None


def lead_to_admin(request: HttpRequest) -> HttpResponse:
    # A call that came here by mistake would lose its body on the way.
    if request.method not in {"GET", "HEAD"}:
        raise Http404
    return redirect("admin:index")


urlpatterns = [path("", lead_to_admin), path("admin/", admin.site.urls)]
