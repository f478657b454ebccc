from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.urls import path

# Which installation a page belongs to is the first thing to know.
admin.site.site_header = admin.site.site_title = settings.A2A_SERVER_NAME
admin.site.index_title = "Administration"
# There is no site to view: the address serves machines.
admin.site.site_url = None

urlpatterns = [path("admin/", admin.site.urls)]
