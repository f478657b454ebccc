"""The tools that come with the product (T5); settings say which records they may touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_runs.tools import (
    ask_choice,
    draft_record,
    fetch_url,
    get_record,
    list_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_runs.tools.contract import Tool


def tools() -> Iterable[Tool]:
    return (
        ask_choice.tool(),
        draft_record.tool(),
        fetch_url.tool(),
        get_record.tool(),
        list_records.tool(),
    )
