"""The project's copy of what the proto of A2A 1.0.1 says, for tests to compare with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

FIXTURES: Final = Path(__file__).resolve().parents[2] / "fixtures"
FACTS: Final[dict[str, Any]] = json.loads(
    (FIXTURES / "protocol" / "a2a-1.0.1.json").read_text()
)
PROTO_SHA256: Final = "e195bf96ab630c69797851970203e1b2b6b19528f2e9803b7d904b91a5104016"
