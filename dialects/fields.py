"""The text of an attribute that wraps a frozen dataclass: `name = value`, separated by commas."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from xdsl.parser import AttrParser

from tirx.dialects.formula_attr import parse_formula
from tirx.dialects.text_data import errors_from

ValueT = TypeVar("ValueT")


@cache
def _types(value_class: type) -> dict[str, Any]:
    hints = get_type_hints(value_class)
    return {field.name: hints[field.name] for field in dataclasses.fields(value_class)}


def parse_value(parser: AttrParser, value_class: type[ValueT], required: frozenset[str] = frozenset()) -> ValueT:
    """Parses an instance of `value_class`: its fields up to the end of the list, each at most once, in any order.

    Integers, booleans, lists of strings and lists of formulas are read by their annotated type, all others as string
    literals. Fields without a default, and those in `required`, must be there.
    """
    types, fields = _types(value_class), dataclasses.fields(cast("type[Any]", value_class))
    required = required | {f.name for f in fields if f.default is dataclasses.MISSING}
    values: dict[str, Any] = {}
    start = parser.pos
    while True:
        name_start = parser.pos
        name = parser.parse_identifier()
        if name not in types or name in values:
            parser.raise_error(f"expected a new field out of {', '.join(types)}, found {name}", name_start, parser.pos)
        parser.parse_punctuation("=")
        if types[name] is bool:
            values[name] = parser.parse_boolean()
        elif types[name] is int:
            values[name] = parser.parse_integer(allow_boolean=False)
        elif get_origin(types[name]) is tuple:
            item = parser.parse_str_literal if get_args(types[name])[0] is str else lambda: parse_formula(parser)
            values[name] = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, item))
        else:
            values[name] = parser.parse_str_literal()
        if parser.parse_optional_punctuation(",") is None:
            break
    if missing := [name for name in types if name in required and name not in values]:
        parser.raise_error(f"expected the fields {', '.join(missing)} too", start, parser.pos)
    with errors_from(parser, start):
        return value_class(**values)


def fields_text(value: Any, required: frozenset[str] = frozenset()) -> str:
    """Prints the fields of a dataclass instance, without those that have their default and are not in `required`."""
    shown = [(f.name, getattr(value, f.name), f.default) for f in dataclasses.fields(value)]
    return ", ".join(
        f"{name} = {_literal(found)}" for name, found, default in shown if found != default or name in required
    )


def _literal(value: object) -> str:
    match value:
        case str():
            return f'"{value}"'
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(map(_literal, value))}]"  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return str(value)
