"""Names of roles and rings as an attribute of kernels and entries."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation

from tirx.dialects.definition import i32_attr
from tirx.dialects.schedule_names import Schedule
from tirx.rules import LaunchParameterError

SCHEDULE = "tirx.schedule"
"""The attribute of kernels and entries that holds a `Schedule`."""


def store_schedule(op: Operation, schedule: Schedule) -> None:
    """Stores the names of a kernel on it, unless there are none."""
    if schedule.roles or schedule.rings:
        op.attributes[SCHEDULE] = _attribute(schedule)


def stored_schedule(op: Operation) -> Schedule:
    """Returns the names that are stored on a kernel or an entry, without any if none are. Raises LocatedError."""
    stored = op.attributes.get(SCHEDULE)
    try:
        return Schedule() if stored is None else Schedule.from_json(_plain(stored))
    except ValueError as error:
        raise LaunchParameterError(op, str(error)) from error


@lru_cache(maxsize=1024)
def _attribute(value: object) -> Attribute:
    match value:
        case int():
            return i32_attr(value)
        case str():
            return StringAttr(value)
        case tuple():
            return ArrayAttr([_attribute(each) for each in cast("tuple[object, ...]", value)])
        case _:
            return DictionaryAttr({key: _attribute(each) for key, each in vars(value).items()})


def _plain(attribute: Attribute) -> Any:
    match attribute:
        case IntegerAttr(value=IntAttr(data=number)):
            return number
        case StringAttr(data=text):
            return text
        case DictionaryAttr(data=items):
            return {key: _plain(each) for key, each in items.items()}
        case ArrayAttr(data=items):
            return [_plain(each) for each in cast("Iterable[Attribute]", items)]
        case _:
            raise ValueError(f"expected names and numbers of a schedule, found {attribute}")
