"""The offline model «rewrite»: an article's title and, below it, what its text shall be.

The demonstration drafts new records only, and what people judge most is a change of one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_runs.offline.scripts import Call

if TYPE_CHECKING:
    from agent_runs.offline.scripts import Conversation

NAME = "rewrite"
TOOLS = (LIST, DRAFT) = ("list_records", "draft_record")
ARTICLE = "newsroom.article"


def rewrite(conversation: Conversation) -> str | tuple[Call, ...]:
    title, _, text = conversation.prompt.partition("\n")
    if drafted := conversation.last(DRAFT):
        return f"The change of «{title}»: {drafted.outcome}."
    listed = conversation.last(LIST)
    if listed is None:
        return (Call(tool=LIST, arguments={"model": ARTICLE, "search": title}),)
    record_id = str(json.loads(listed.content)["records"][0]["id"])
    values = {"text": text}
    return (
        Call(
            tool=DRAFT, arguments={"model": ARTICLE, "id": record_id, "values": values}
        ),
    )
