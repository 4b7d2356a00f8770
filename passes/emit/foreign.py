"""Scalar operations of other dialects, in kernels and in the bodies of maps."""

from __future__ import annotations

from xdsl.ir import Operation

from tirx.dialects.tirx import KernelOp, ScalarOpInterface
from tirx.hw.targets import Target
from tirx.passes.emit.emitter import Emitter


def lower_scalars(kernel: KernelOp, target: Target) -> None:
    """Replaces the operations with `ScalarOpInterface` by what they lower to."""
    for op in list(kernel.walk()):
        if not isinstance(op, ScalarOpInterface):
            continue
        emit = Emitter.before(op)
        inserted, value = op.lower_scalar(target)
        for each in inserted:
            emit(each)
        assert isinstance(op, Operation)
        value.name_hint = value.name_hint or op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
