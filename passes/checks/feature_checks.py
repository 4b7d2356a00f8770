"""Checks that targets have what instructions need."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cache
from typing import cast

from xdsl.ir import Operation

from tirx.diagnostics import Errors, LocatedError
from tirx.dialects.definition import item
from tirx.dialects.nesting import Listed
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.table import TableInstruction
from tirx.dialects.xdsl_private import operands_of, type_of
from tirx.hw.features import UnsupportedFeature, required_version
from tirx.hw.targets import PtxVersion, Target


def feature_version(op: Operation, feature: str, target: Target) -> PtxVersion:
    """Returns the PTX version that an operation needs for a row of `FEATURES`. Raises LocatedError if there is none."""
    try:
        return required_version(feature, target)
    except UnsupportedFeature as error:
        raise LocatedError(
            op, f"'{op.name}' needs {feature}, which {target} lacks; supported on {', '.join(error.supported)}"
        ) from error


@cache
def _may_need(kind: type[Operation]) -> bool:
    """Returns True if some instruction of a class needs a row of `FEATURES`."""
    if not issubclass(kind, PTXInstruction):
        return False
    by_class = kind.features in (PTXInstruction.features, TableInstruction.features)  # others state it themselves
    return not by_class or bool(kind.NEEDS or kind.forms_need())


def needed_features(inside: Listed) -> Iterator[tuple[PTXInstruction, tuple[str, ...]]]:
    """Returns the first instruction of each kind that needs some rows of `FEATURES`, with the rows."""
    seen: set[Hashable] = set()
    for op in cast("list[PTXInstruction]", inside.where(_may_need)):
        kind = type(op)
        if not op.properties and isinstance(op, TableInstruction):
            # What it needs follows from the type of its operands.
            alike = kind, id(type_of(item(operands_of(op), 0)))
            if alike in seen:
                continue
            seen.add(alike)
        found = op.features()
        if found and (kind, found) not in seen:
            seen.add((kind, found))
            yield op, found


def check_features(inside: Listed, target: Target) -> None:
    """Raises LocatedError at the first instruction of each kind that needs what the target lacks."""
    errors = Errors()
    for op, features in needed_features(inside):
        for feature in features:
            with errors.attempt():
                feature_version(op, feature, target)
    errors.raise_all()
