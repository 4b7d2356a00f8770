"""Checks that targets have what instructions need."""

from __future__ import annotations

from xdsl.ir import Operation

from tirx.diagnostics import Errors, LocatedError
from tirx.dialects.ptx.base import PTXInstruction
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


def check_features(entry: Operation, target: Target) -> None:
    """Raises LocatedError at the first instruction of each kind that needs what the target lacks."""
    errors, seen = Errors(), set[tuple[str, tuple[str, ...]]]()
    for op in entry.walk():
        if not isinstance(op, PTXInstruction) or (found := (op.name, op.features())) in seen:
            continue
        seen.add(found)
        for feature in found[1]:
            with errors.attempt():
                feature_version(op, feature, target)
    errors.raise_all()
