"""The programs of parties that are read from kernels with rings, as they are and with one thing changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import cast

from unit.printed_operations import changes, is_right
from xdsl.ir import Operation, SSAValue

from tirx.dialects.tirx import KernelOp
from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.extraction import Extraction
from tirx.passes.rings.proof.model import Ring
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_PASSES = Path(__file__).parents[1] / "passes"
_FILES = ("", "-tcgen05", "-copies", "-answers", "-lowered", "-deadlock", "-invalid")
_CHANGED = 24
"""Changes that are looked at, of all kernels together."""

_TOO_PLAIN = ("none", '"other"')
"""Properties that are missing, and names that do not exist."""


def extraction() -> str:
    """Programs that the check of rings reads from the kernels of its tests, or why it cannot."""
    lines: list[str] = []
    changed: list[tuple[str, Operation, str, int]] = []
    kernels = list(_kernels())
    for name, kernel in kernels:
        lines.append(f"{name}: {_said(kernel)}")
        for op in kernel.walk():
            if op.name.startswith(("tirx.", "ptx.", "arith.", "scf.")) and op is not kernel:
                following = op.next_op
                if following is not None and following.next_op is not None:
                    if not any(result.uses for result in op.results):
                        changed.append((name, op, "without", -1))
                    if not any(operand.owner is op for operand in following.operands):
                        changed.append((name, op, "later", -2))
                found = enumerate(what for what, _, _ in changes(op))
                changed += [(name, op, what, i) for i, what in found if " = " in what and not what.endswith(_TOO_PLAIN)]
    for name, op, what, index in random.Random(2).sample(changed, _CHANGED):
        kernel = next(around for around in _around(op) if isinstance(around, KernelOp))
        lines.append(f"{name}, {op.name} {op.location} {what}: {_with_change(kernel, op, index)}")
    return "\n".join(lines)


def _around(op: Operation) -> Iterator[Operation]:
    around: Operation | None = op
    while around is not None:
        yield around
        around = around.parent_op()


def _with_change(kernel: KernelOp, op: Operation, index: int) -> str:
    if index < 0:
        block, following = op.parent_block(), op.next_op
        assert block is not None and following is not None
        op.detach()
        if index == -2:
            block.insert_op_after(op, following)
        said = _said(kernel)
        if index == -2:
            op.detach()
        block.insert_op_before(op, following)
        return said
    _, change, restore = list(changes(op))[index]
    change()
    said = _said(kernel) if is_right(op) else "refused"
    restore()
    return said


def _kernels() -> Iterator[tuple[str, KernelOp]]:
    for name in _FILES:
        file = f"tirx-check-rings{name}.mlir"
        for number, chunk in enumerate((_PASSES / file).read_text().split("// -----\n")):
            for op in parse_located(new_context(), chunk, file).ops:
                if isinstance(op, KernelOp):
                    yield f"{file} {number}", op


def _said(kernel: KernelOp) -> str:
    try:
        return _text(Extraction(kernel).model)
    except RingError as error:
        return f"{type(error).__name__} at {_text(error.origin)}: {error.message} {_text(error.others)}"


def _text(value: object) -> str:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_text(each)}' for key, each in cast('dict[object, object]', value).items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, cast('tuple[object, ...]', value)))})"
    if isinstance(value, Operation):
        return f"{value.name} {value.location}"
    if isinstance(value, SSAValue):
        return f"%{value.name_hint}"
    if type(value).__module__ == Ring.__module__ and is_dataclass(value):
        parts = [_text(getattr(value, each.name)) for each in fields(value) if each.name != "origin"]
        return f"{type(value).__name__}({', '.join(parts)})"
    return str(value)
