"""`tirx-release-early`: slots come back as soon as products have read A from them."""

from __future__ import annotations

from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tirx.dialects import tirx
from tirx.hw.features import supports
from tirx.passes.rings.attempt import prove_together, until_fragments
from tirx.passes.rings.proof.errors import located
from tirx.passes.rings.proof.slots import Place, place_of
from tirx.passes.rings.proof.tile_accesses import tile_accesses


class TirxReleaseEarlyPass(ModulePass):
    """Marks a release behind products of tcgen05 as `early` where they read all of the slot as A, on targets whose
    commits can tell that they have (sm_107a, sm_107f): a ring of A fills the slot again while the product reads B.

    A ring whose slots hold A and B stays as it is; `tirx-pipeline-loops` gives A a ring of its own on such targets.
    """

    name = "tirx-release-early"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            until = until_fragments(kernel, "tirx-prefetch-fragments")
            prove_together(kernel, self.name, partial(_mark_early, kernel), until)


def _mark_early(kernel: tirx.KernelOp) -> None:
    if (target := kernel.target_info) is not None and supports(target, "tcgen05.commit.sync_restrict"):
        with located(kernel):
            _mark(kernel)


def _mark(kernel: tirx.KernelOp) -> None:
    only_a: dict[Place, bool] = {}
    for access in (found for op in kernel.walk() for found in tile_accesses(op)):
        only_a[access.slot.place] = only_a.get(access.slot.place, True) and access.as_a
    for op in kernel.walk():
        if isinstance(op, tirx.ReleaseOp) and op.after is not None and only_a.get(place_of(op), False):
            op.early = UnitAttr()
