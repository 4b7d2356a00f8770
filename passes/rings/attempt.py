"""Changes to the schedule of a kernel, which stay only where the result is proved right."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar

from tirx.diagnostics import (
    Diagnostic,
    LocatedError,
    diagnostic_handler,
    following_stage,
    in_stage,
    report,
    wants_remarks,
)
from tirx.dialects.nesting import operations, walk
from tirx.dialects.tirx import KernelOp, MmaOp, RingOp, TileType
from tirx.dialects.xdsl_private import clone, discard
from tirx.passes.ir.scheduled import is_scheduling
from tirx.values import dataclass, field

STRICT = "TIRX_STRICT_SCHEDULE"
"""The environment variable with which a schedule that a pass would take back is an error, as tests want it."""


def attempt(kernel: KernelOp, otherwise: str, change: Callable[[], None], asked: bool = False) -> bool:
    """Changes a kernel and proves its rings right. Returns False where it cannot: the kernel is then what it was.

    A remark at the operation in question says which rule was not met and `otherwise`, what the kernel keeps. Rings that
    were wrong or undecided before the change are for `tirx-check-rings` to report.

    Raises LocatedError instead of taking a change back that the program has `asked` for, and every change where
    `TIRX_STRICT_SCHEDULE=1` is in the environment: what passes plan should be provable, and tests show where it is not.
    """
    if (together := _TOGETHER.get()) is not None:
        if together.before is None:
            together.before = clone(kernel)
        change()
        return True
    before = clone(kernel)
    said: list[Diagnostic] = []
    try:
        with diagnostic_handler(said.append, remarks=wants_remarks()):
            change()
        _require_right(kernel)
    except LocatedError as error:
        _restore(kernel, before)
        if is_scheduling(kernel) and not _is_right(kernel):
            return False
        if asked or os.environ.get(STRICT, "0") not in ("", "0"):
            raise
        message = f"@{kernel.sym_name.data} {otherwise}: {error.message} [{error.diagnostic.rule}]"
        report(Diagnostic("remark", message, error.location))
        return False
    _keep(before, said)
    return True


@dataclass
class _Together:
    """Changes of a kernel since it was `before` that nobody has proved yet."""

    before: KernelOp | None = None
    steps: list[tuple[str, Callable[[], None]]] = field(default_factory=list[tuple[str, Callable[[], None]]])
    said: list[Diagnostic] = field(default_factory=list[Diagnostic])


_TOGETHER: ContextVar[_Together | None] = ContextVar("tirx_together", default=None)
_UNPROVED = "unproved_changes"
"""The attribute of the object of a kernel with the changes that are not proved: it holds them, as they hold its IR."""


def prove_together(kernel: KernelOp, stage: str, step: Callable[[], None], until: str | None = None) -> None:
    """Does a step of a pass, which may attempt changes. Proves them along with those that passes before left unproved.

    They are left unproved where the pass `until`, which calls this function too, comes next, nobody looks at the kernel
    in between and nobody asks for remarks: what all have made is what has to be right. Where the proof fails the
    kernel is what it was before them, and each step is done again with a proof for each change.
    """
    is_last = until is None or following_stage() != until or wants_remarks()
    together: _Together | None = vars(kernel).pop(_UNPROVED, None)
    if together is None and is_last:
        step()
        return
    together = _Together() if together is None else together
    together.steps.append((stage, step))
    token = _TOGETHER.set(together)
    try:
        with diagnostic_handler(together.said.append, remarks=wants_remarks()):
            step()
        if together.before is None:
            for diagnostic in together.said:
                report(diagnostic)
        elif is_last:
            _require_right(kernel)
            _keep(together.before, together.said)
        else:
            vars(kernel)[_UNPROVED] = together
        return
    except LocatedError:
        if together.before is None:
            raise
    finally:
        _TOGETHER.reset(token)
    _restore(kernel, together.before)
    for stage, step in together.steps:
        with in_stage(stage):
            step()


def until_fragments(kernel: KernelOp, following: str) -> str | None:
    """Returns the pass `following` for kernels that `tirx-prefetch-fragments` will come to, None for others."""
    return following if any(isinstance(op, MmaOp) for op in walk(kernel)) else None


def _keep(before: KernelOp, said: list[Diagnostic]) -> None:
    discard(before.body)
    for diagnostic in said:
        report(diagnostic)


def _require_right(kernel: KernelOp) -> None:
    """Raises LocatedError unless the rings of a kernel are right, and have a plan if they have their layouts."""
    from tirx.passes.rings.proof.proof import prove  # imports what only kernels with rings need
    from tirx.passes.rings.ring_plan import keep_plan, plan_rings

    with diagnostic_handler(lambda diagnostic: None, remarks=False):
        extraction = prove(kernel)
    rings = [op for op in operations(kernel.body.block) if isinstance(op, RingOp)]
    tiles = [view.type for ring in rings for view in ring.result.type.views]
    if tiles and all(type_.layout for type_ in tiles if isinstance(type_, TileType)):
        plan = plan_rings(kernel, extraction)
        for owner in plan.owners:
            plan.bound_releases(owner)
        keep_plan(plan)


def _is_right(kernel: KernelOp) -> bool:
    try:
        _require_right(kernel)
    except LocatedError:
        return False
    return True


def _restore(kernel: KernelOp, before: KernelOp) -> None:
    kernel.detach_region(kernel.body).drop_all_references()
    kernel.add_region(before.detach_region(before.body))
    kernel.properties = before.properties
    kernel.attributes = before.attributes
