"""Facts about a kernel, read off the IR, that each pass needs or leaves."""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.dialects import scf
from xdsl.ir import Operation

from tirx.diagnostics import LocatedError
from tirx.dialects import tirx
from tirx.dialects.ptx.core import entries
from tirx.dialects.tcgen05 import CpDescriptorOp, InstructionDescriptorOp, SmemDescriptorOp, ZeroColumnMaskOp
from tirx.dialects.wgmma import SmemDescriptorOp as WgmmaDescriptorOp
from tirx.passes.ir.scheduled import LOWERED, is_lowered_with_products
from tirx.rules import StageError
from tirx.values import dataclass


@dataclass(frozen=True)
class Fact:
    """Something that holds of a kernel once the pass `left_by` has run.

    `breaks` returns True for an operation, the kernel or one inside it, that shows that it does not hold.
    """

    says: str
    left_by: str
    breaks: Callable[[Operation], bool]
    always: bool = False
    """Passes that need it would find errors where there are none: they are refused in short runs, too."""


def _variable(op: Operation) -> bool:
    if isinstance(op, tirx.SubviewOp | tirx.ReshapeOp | tirx.TransposeOp):
        return tirx.TileType.of(op.source).memory is tirx.MemorySpace.REGISTER
    return isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.REGISTER


def _without_layout(op: Operation) -> bool:
    if isinstance(op, tirx.ViewOp) and tirx.has_run_time_strides(op.source_type):
        return False  # only tensor maps know where it is
    if isinstance(op, tirx.AllocOp | tirx.ViewOp) and op.result.type.layout is None:
        return True
    return any(
        isinstance(type_ := result.type, tirx.TileType)
        and type_.memory is tirx.MemorySpace.REGISTER
        and type_.layout is None
        for result in op.results
    )


def _without_place(op: Operation) -> bool:
    return (
        isinstance(op, tirx.AllocOp)
        and op.start is None
        and op.result.type.memory in (tirx.MemorySpace.SHARED, tirx.MemorySpace.TENSOR)
    )


def _moves_tiles(op: Operation) -> bool:
    return isinstance(op, tirx.CopyOp) or (
        isinstance(op, tirx.FillOp) and op.tile_type.memory is not tirx.MemorySpace.REGISTER
    )


def _on_tensor_memory(op: Operation) -> bool:
    return (isinstance(op, tirx.MmaOp | tirx.AsyncMmaOp) and op.on_tensor_memory) or (
        isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.TENSOR
    )


def _of_warps(op: Operation) -> bool:
    return isinstance(op, tirx.MmaOp) and op.plan is not None and isinstance(op.plan.data, tirx.MmaSyncPlan)


def _accumulator(op: Operation) -> bool:
    return isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.ACCUMULATOR


FACTS: dict[str, Fact] = {
    "accumulators": Fact("accumulators in registers or tensor memory", "tirx-resolve-accumulators", _accumulator),
    "values": Fact("register tiles to be values", "tirx-mem2reg", _variable),
    "blocks": Fact(
        "what one block of a pair does",
        "tirx-split-pairs",
        lambda op: isinstance(op, tirx.KernelOp) and op.is_whole_pair,
    ),
    "layouts": Fact("a layout on every tile", "tirx-pick-layouts", _without_layout),
    "plans": Fact(
        "a plan on every product",
        "tirx-select-instructions",
        lambda op: isinstance(op, tirx.MmaOp | tirx.AsyncMmaOp) and op.plan is None,
    ),
    "engines": Fact(
        "an engine on every copy", "tirx-select-copies", lambda op: isinstance(op, tirx.CopyOp) and op.engine is None
    ),
    "threads": Fact(
        "rings, their loops and queues to be lowered",
        "tirx-lower-rings",
        lambda op: type(op) in LOWERED and not is_lowered_with_products(op),
    ),
    "places": Fact("a place for every tile in memory", "tirx-allocate-memory", _without_place),
    "loads": Fact("copies to be loads and stores", "tirx-expand-copies", _moves_tiles),
    "tensor": Fact("products on tensor memory to be lowered", "convert-tirx-to-tcgen05", _on_tensor_memory),
    "warpgroups": Fact(
        "products of warpgroups to be lowered",
        "convert-tirx-to-wgmma",
        lambda op: isinstance(op, tirx.MmaOp | tirx.AsyncMmaOp) and not op.on_tensor_memory and not _of_warps(op),
    ),
    "warps": Fact("products of warps to be lowered", "convert-tirx-to-mma", _of_warps),
    "descriptors": Fact(
        "descriptors to be numbers",
        "tirx-materialize-descriptors",
        lambda op: isinstance(
            op, SmemDescriptorOp | CpDescriptorOp | InstructionDescriptorOp | ZeroColumnMaskOp | WgmmaDescriptorOp
        ),
    ),
    "entries": Fact("kernels to be entries", "convert-tirx-to-ptx", lambda op: isinstance(op, tirx.KernelOp)),
    "branches": Fact(
        "loops and conditions to be branches",
        "convert-scf-to-ptx",
        lambda op: isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp),
        always=True,
    ),
}
"""Name -> fact, in the order of the pipeline."""

_PARAMETRIC = ("tirx-set-target", "tirx-tile-linalg", "tirx-choose", "tirx-specialize")
"""Passes of kernels whose parameters are not bound yet."""

_BOUND = "parameters"
"""Known once no kernel has parameters."""

NEEDS: dict[str, tuple[str, ...]] = {
    "tirx-mem2reg": ("accumulators",),
    "tirx-split-sums": ("values",),
    "tirx-pick-layouts": ("values", "blocks"),
    "tirx-check-layouts": ("values", "blocks", "layouts"),
    "tirx-fold-zero-fill": ("values", "blocks", "layouts"),
    "tirx-fuse-epilogue": ("values", "blocks", "layouts"),
    "tirx-select-instructions": ("values", "blocks", "layouts"),
    "tirx-select-copies": ("values", "blocks", "layouts"),
    "tirx-pipeline-loops": ("values", "blocks", "layouts", "plans", "engines"),
    "tirx-lower-rings": ("values", "blocks", "layouts", "plans", "engines"),
    "tirx-expand-exchanges": ("values", "blocks", "layouts"),
    "tirx-allocate-memory": ("blocks", "layouts", "plans", "threads"),
    "tirx-insert-barriers": ("layouts", "engines", "threads", "places"),
    "tirx-expand-async-copies": ("layouts", "engines", "threads"),
    "tirx-expand-copies": ("values", "layouts", "engines", "threads"),
    "convert-tirx-to-tcgen05": ("layouts", "plans", "threads", "places", "loads"),
    "convert-tirx-to-wgmma": ("values", "layouts", "plans", "threads"),
    "convert-tirx-to-mma": ("values", "layouts", "plans", "threads", "warpgroups"),
    "tirx-materialize-descriptors": ("layouts", "threads"),
    "convert-tcgen05-to-ptx": ("descriptors",),
    "convert-wgmma-to-ptx": ("descriptors",),
    "convert-tirx-to-ptx": (
        *("values", "blocks", "layouts", "threads", "places"),
        *("loads", "tensor", "warpgroups", "warps", "descriptors"),
    ),
    "convert-math-to-ptx": ("entries",),
    "convert-arith-to-ptx": ("entries",),
    "convert-scf-to-ptx": ("entries",),
    "tirx-copy-accumulators": ("entries", "branches"),
    "tirx-check-synchronization": ("entries", "branches"),
}
"""Pass -> the facts that it needs; passes that are not here take any kernel."""

_ORDERING = {"tirx-insert-barriers", "tirx-check-synchronization"}
"""The pass that makes threads wait for one another, and the one that finds where they should: a lowering has one."""

LEAVES: dict[str, tuple[str, ...]] = {
    name: tuple(each for each, fact in FACTS.items() if fact.left_by == name)
    for name in {fact.left_by for fact in FACTS.values()}
}
"""Pass -> the facts that hold behind it, whatever held before."""


def missing_pass(op: Operation) -> str:
    """The end of a message about an operation that earlier passes lower: the first of those that leave it as it is."""
    return next((f"; run {fact.left_by} first" for fact in FACTS.values() if fact.breaks(op)), "")


class Stages:
    """The facts that are known to hold while the passes `names` run over a module.

    A run of most of the passes of the table is a lowering from tiles to PTX, of which none may be missing. A pass that
    runs alone, or with a few others, takes what it finds: kernels may be written on any level. What it then cannot do,
    without an error of its own, is the error of the pass that is missing (`missing`).
    What a pass of the table needs and an earlier one has left is not looked up again; what others need is read off the
    IR. A pass that is not of tirx may do anything.
    """

    missing: LocatedError | None = None
    """The first fact that passes of a short run needed and did not find."""

    def __init__(self, names: Collection[str]) -> None:
        self._known: set[str] = set()
        self._is_ordered = not _ORDERING.isdisjoint(names)
        self._is_lowering = len(LEAVES.keys() & set(names)) > len(LEAVES.keys() - set(names))

    def before(self, name: str, module: Operation) -> None:
        """Looks for what `name` needs and does not hold.

        Raises LocatedError, naming the pass that is missing, in a lowering; notes it in `missing` elsewhere.
        """
        if _BOUND not in self._known and name.startswith(("tirx-", "convert-")) and name not in _PARAMETRIC:
            for kernel in tirx.kernels(module):
                if kernel.params is not None:
                    names = ", ".join(each.name for each in kernel.params.data)
                    message = f"expected numbers before {name}, found the parameters {names}; run tirx-specialize first"
                    raise StageError(kernel, message)
            self._known.add(_BOUND)
        if name == "convert-tirx-to-ptx" and self._is_lowering and not self._is_ordered:
            for kernel in tirx.kernels(module):
                found = " nor ".join(sorted(_ORDERING))
                raise StageError(kernel, f"expected passes that order accesses of shared memory, found neither {found}")
        unknown = [each for each in NEEDS.get(name, ()) if each not in self._known]
        if not unknown or self.missing is not None:
            return
        refused = [each for each in unknown if self._is_lowering or FACTS[each].always]
        require(module, refused, name)
        self._known.update(refused)
        try:
            require(module, [each for each in unknown if each not in refused], name)
            self._known.update(unknown)
        except LocatedError as error:
            self.missing = error

    def after(self, name: str, known: Collection[str]) -> None:
        """Notes what `name` leaves, one of the `known` passes or one of somebody else."""
        if name in _PARAMETRIC:
            self._known.discard(_BOUND)
        elif name in known:
            self._known.update(LEAVES.get(name, ()))
        else:
            self._known.clear()


def require(module: Operation, facts: Collection[str], pass_name: str) -> None:
    """Raises LocatedError at the first operation of a kernel that breaks one of the facts which `pass_name` needs."""
    if not (wanted := [FACTS[each] for each in facts]):
        return
    for kernel in (*tirx.kernels(module), *entries(module)):
        for op in kernel.walk():
            for fact in wanted:
                if fact.breaks(op):
                    raise StageError(
                        op, f"expected {fact.says} before {pass_name}, found '{op.name}'; run {fact.left_by} first"
                    )
