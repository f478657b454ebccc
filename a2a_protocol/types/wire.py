"""What every wire type is made of: the model class and the marks on its fields.

The fields of a model say everything the codec has to know, so that there is no second
list of them anywhere:

- a field without a default is required by the proto;
- a number, flag or string that may be None has presence: None is unset, and zero is a
  value. One that may not be None is unset when it is zero, false or empty;
- another message is None when unset; a list or map is empty;
- ``Rule`` carries the rest. Its bounds hold for what a client sends to us; what a
  remote agent sends is read leniently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic_core import core_schema

from a2a_protocol.json_text import JSONValue

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


# More than anybody means to send; what a request holds beyond it is not even read.
MAX_ITEMS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Marks one field, as the second argument of ``Annotated``.

    ``filled``: required, and neither blank nor empty. ``key``: the message means
    nothing without it, so that even a lenient reader refuses. ``minimum`` and
    ``maximum`` are inclusive, ``max_length`` counts characters, ``max_items`` the
    elements of a list. ``shown_empty``: written even when empty although the proto does
    not require it, except in canonical form.
    """

    oneof: str | None = None
    filled: bool = False
    key: bool = False
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    max_items: int = MAX_ITEMS
    printable: bool = False
    shown_empty: bool = False


class StructMark:
    """A google.protobuf.Struct: an object whose members are nobody's business here."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.dict_schema()


class ValueMark:
    """A google.protobuf.Value: any JSON value, null included."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.any_schema()


# Pydantic would otherwise walk what the reader has looked at already.
Struct: TypeAlias = Annotated[dict[str, JSONValue], StructMark()]
Value: TypeAlias = Annotated[JSONValue, ValueMark()]


class WireModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OneofModel(WireModel):
    """A message in which exactly one of some members has to be set."""

    oneof_members: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.oneof_members = tuple(
            name
            for name, field in cls.model_fields.items()
            if any(isinstance(mark, Rule) and mark.oneof for mark in field.metadata)
        )

    @property
    def set_members(self) -> tuple[str, ...]:
        """The members of the oneof that are set; a valid message has one."""
        return tuple(
            name for name in self.oneof_members if getattr(self, name) is not None
        )

    @property
    def kind(self) -> str | None:
        """The name of the member that is set, None where there is none."""
        return next(iter(self.set_members), None)
