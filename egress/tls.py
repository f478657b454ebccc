"""The authorities whose certificates are believed."""

from __future__ import annotations

import ssl
from functools import lru_cache

import httpcore2


@lru_cache(maxsize=8)
def context(ca_file: str = "") -> ssl.SSLContext:
    """One for the whole process: the system's authorities, and those of a PEM file.

    Making one takes some 30 ms. A changed file is read by a new process. Raises `OSError`
    (of which `ssl.SSLError` is one) for a file that cannot be read.
    """
    made = httpcore2.default_ssl_context()
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file:
        made.load_verify_locations(cafile=ca_file)
    return made
