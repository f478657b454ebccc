"""The conformance stand: this product with one handler whose behaviour the caller chooses.

`serve.py` starts it; it is loaded by `EXTRA_APPS` alone and is no part of the product.
"""

from __future__ import annotations
