"""`tirx-pick-layouts`: a layout for every tile that has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tirx.copy.distribute import Memory, copy_distribution
from tirx.diagnostics import LocatedError, remark
from tirx.dialects.tcgen05 import same_registers
from tirx.dialects.tirx import (
    AllocOp,
    CopyOp,
    KernelOp,
    MmaOp,
    ReshapeOp,
    Scope,
    SubviewOp,
    TileType,
    ViewOp,
    layout_attr,
    owner_root,
    parts_in_use,
    strided_layout,
)
from tirx.dialects.tirx.syntax import shape_text
from tirx.layout import ComposeLayout, LayoutError, TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.mma import FragmentError, pick_fragments
from tirx.passes.plan.mma_product import product_variants
from tirx.passes.plan.operand_layouts import choose_operand_layout, operand_roots
from tirx.passes.plan.product import ILLEGAL, Product
from tirx.passes.plan.tcgen05_product import product_shape
from tirx.passes.plan.tcgen05_scales import block_shape, scale_smem_layout, scale_tmem_layout
from tirx.passes.plan.tensor_layouts import choose_tensor_layout, tensor_roots
from tirx.passes.plan.tensor_tiles import TensorTile
from tirx.smem.swizzle_modes import Major
from tirx.tcgen05 import LegalityError


def _place(tile: SSAValue, layout: TileLayout | ComposeLayout) -> None:
    """Places a tile, and with it the parts and other shapes of it that have no layout yet."""
    value = Rewriter.replace_value_with_new_type(tile, TileType.of(tile).with_layout(layout))
    for op in [use.operation for use in value.uses]:
        match op:
            case SubviewOp() if op.result.type.placement is None:
                try:
                    part = SubviewOp.type_of(TileType.of(value), op.start, op.result.type.dims).placement
                except LayoutError as e:
                    raise LocatedError(op, f"the layout picked for the source has no such part: {e}") from e
                if part is not None:
                    _place(op.result, part)
            case ReshapeOp() if op.result.type.placement is None:
                _place(op.result, layout)
            case _:
                pass


def _copies(tile: SSAValue) -> list[SSAValue]:
    """The tiles at the other end of every copy to or from `tile`, in program order of the uses."""
    others: list[SSAValue] = []
    for use in tile.uses:
        if isinstance(op := use.operation, CopyOp):
            others.append(op.source if op.destination is tile else op.destination)
    return others


def _only_registers(tiles: Sequence[SSAValue]) -> bool:
    return all(TileType.of(tile).memory is Scope.REGISTER for tile in tiles)


def _contiguous_dimension(tile: SSAValue) -> int | None:
    """The dimension of a placed plain tile along which neighbours are adjacent in memory, None if there is none."""
    type_ = TileType.of(tile)
    if not isinstance(layout := type_.placement, TileLayout) or layout.axes != ("m",):
        return None
    for dimension in reversed(range(len(type_.dims))):
        if type_.dims[dimension] == 1:
            continue
        step = tuple(int(d == dimension) for d in range(len(type_.dims)))
        origin = tuple(0 for _ in type_.dims)
        if layout.apply(step, type_.dims)["m"] - layout.apply(origin, type_.dims)["m"] == 1:
            return dimension
    return None


def _common_image(tensors: Sequence[TileType]) -> TileLayout:
    """
    The registers that tcgen05.ld and st of all these tiles have in common, with a shape for each; those that suit the
    first one where there are none: the lowering then says what is wrong with the others.

    Raises LegalityError for a tile that no shape moves.
    """
    first, *others = map(TensorTile.of, tensors)
    for _, image in first.images():
        if all(any(same_registers(image, found) for _, found in other.images()) for other in others):
            return image
    return first.image()


def _operand_major(tile: SSAValue) -> Major:
    """
    K-major unless what is copied into the operand is contiguous along its rows: then a copy moves whole vectors
    only if the operand is MN-major too.
    """
    majors = {_contiguous_dimension(other) for other in _copies(tile)}
    return "MN" if majors == {0} else "K"


class _Picker:
    """Picks for one kernel: first what the hardware dictates, then what is left."""

    def __init__(self, kernel: KernelOp):
        self.kernel = kernel
        self.fragments: set[Operation | Block] = set()  # owners of tiles that got the fragments of a product

    def run(self) -> None:
        for op in self.kernel.walk():
            if isinstance(op, ViewOp):
                self._view(op)
        mmas = [op for op in self.kernel.walk() if isinstance(op, MmaOp)]
        products = [mma for mma in mmas if mma.on_tensor_memory]
        for root, uses in list(tensor_roots(products)):
            what = f"data path of a {shape_text(TileType.of(root))} {uses[0].operand}"
            self._picked(root, choose_tensor_layout(root, uses), what)
        for mma in products:
            self._scales(mma)
        for root, uses in list(operand_roots(products)):
            choice = choose_operand_layout(root, uses, self.kernel.num_threads)
            self._picked(root, choice.layout, choice.reason)
        for mma in mmas:
            if not mma.on_tensor_memory:
                self._mma_sync(mma)
        allocs = [op for op in self.kernel.walk() if isinstance(op, AllocOp) and op.result.type.placement is None]
        for alloc in allocs:
            if alloc.result.type.memory is not Scope.REGISTER:
                self._plain(alloc)
        registers = [alloc for alloc in allocs if alloc.result.type.memory is Scope.REGISTER]
        # A tile that is copied to or from memory decides for the register tiles that it is copied to or from.
        for alloc in sorted(registers, key=lambda a: _only_registers(_copies(a.result))):
            self._registers(alloc)

    def _view(self, op: ViewOp) -> None:
        if op.result.type.placement is None:
            layout = strided_layout(op.source_type, op.result.type.dims)
            if isinstance(layout, str):
                raise LocatedError(op, layout)
            _place(op.result, layout)

    def _picked(self, tile: SSAValue, layout: TileLayout | ComposeLayout, why: str) -> None:
        if not isinstance(tile.owner, AllocOp):
            raise LocatedError(
                self.kernel, f"expected a layout on the tile type {tile.type}, which is not an allocation"
            )
        _place(tile, layout)
        remark(tile.owner, f"picked {layout_attr(layout)}: {why}")

    def _scales(self, mma: MmaOp) -> None:
        """Scale factors in tensor memory where the product reads them, and in shared memory as `tcgen05.cp` does."""
        for index in range(len(mma.scales)):
            root = owner_root(mma.scales[index])
            halves = 1
            try:
                scaling = product_shape(Product.of(mma)).scaling
                halves = 1 if scaling is None else scaling.halves_of(index)
                if scaling is not None and TileType.of(root).placement is None:
                    layout = scale_tmem_layout(TileType.of(root).dims, halves)
                    what = f"{('SFA', 'SFB')[index]} of kind {scaling.vector.kind}, {scaling.vector.name}"
                    self._picked(root, layout, what)
            except ILLEGAL as e:
                raise LocatedError(mma, str(e)) from e
            for op, part in list(parts_in_use(owner_root(mma.scales[index]))):
                if not isinstance(op, CopyOp) or op.destination is not part or op.source_type.placement is not None:
                    continue
                source = owner_root(op.source)
                if TileType.of(source).memory is not Scope.SHARED:
                    continue
                try:
                    layout = scale_smem_layout(TileType.of(source).dims, halves)
                except (LegalityError, LayoutError) as e:
                    raise LocatedError(op, str(e)) from e
                block = "x".join(map(str, block_shape(TileType.of(source).dims, halves)))
                self._picked(source, layout, f"blocks of {block} scale factors for tcgen05.cp")

    def _mma_sync(self, mma: MmaOp) -> None:
        placed = [tile for tile in (mma.a, mma.b, mma.accumulator) if TileType.of(tile).placement is not None]
        if len(placed) == 3:
            return
        if not all(tile.owner in self.fragments for tile in placed):
            raise LocatedError(
                mma,
                "expected layouts on all of A, B and the accumulator or on none: the fragments depend on each other",
            )
        *batch, m, n = mma.accumulator_type.dims
        k = mma.a_type.dims[-1]
        warps, rest = divmod(self.kernel.num_threads, WARP_SIZE)
        if rest:
            raise LocatedError(mma, f"expected whole warps for mma.sync, found {self.kernel.num_threads} threads")
        product = Product.of(mma)
        try:
            layouts = pick_fragments(
                m,
                n,
                k,
                mma.a_type.dtype.name,
                mma.accumulator_type.dtype.name,
                warps,
                batch=tuple(batch),
                a_major=_operand_major(mma.a),
                b_major=_operand_major(mma.b),
                variants=product_variants(product, product.target),
            )
        except (FragmentError, LayoutError) as e:
            raise LocatedError(mma, str(e)) from e
        for index, layout in enumerate(layouts):
            tile = mma.operands[index]
            if (found := TileType.of(tile).placement) is None:
                self._picked(tile, layout, f"fragments of mma.sync over {warps} warp{'s' if warps > 1 else ''}")
                self.fragments.add(tile.owner)
            elif not found.equivalent(layout):
                problem = (
                    f"expected A and B in two tiles, because {warps} warps hold different fragments of them"
                    if mma.a is mma.b
                    else f"expected {('A', 'B', 'the accumulator')[index]} in the fragments of one product only, or "
                    "layouts on all tiles: another product asks for other fragments"
                )
                raise LocatedError(mma, f"{problem}: {found} and {layout}")

    def _plain(self, alloc: AllocOp) -> None:
        type_ = alloc.result.type
        if type_.memory is Scope.TENSOR:
            raise LocatedError(alloc, "expected a tensor tile to be an operand of a product, or to have a layout")
        self._picked(alloc.result, TileLayout.row_major(type_.dims), "row-major")

    def _registers(self, alloc: AllocOp) -> None:
        type_ = alloc.result.type
        others = [t for t in map(TileType.of, _copies(alloc.result)) if t.placement is not None]
        ends = [(t.memory, t.placement) for t in others if t.placement is not None]
        try:
            if tensors := [t for t in others if t.memory is Scope.TENSOR]:
                self._picked(alloc.result, _common_image(tensors), "what tcgen05.ld and st move")
                return
            if registers := [layout for scope, layout in ends if scope is Scope.REGISTER]:
                self._picked(alloc.result, registers[0], "as in the register tile of a copy")
                return
            memories: list[tuple[Memory, TileLayout | ComposeLayout]] = [
                ("global" if scope is Scope.GLOBAL else "shared", layout) for scope, layout in ends
            ]
            memories = memories or [("global", TileLayout.row_major(type_.dims))]
            (first, source), (last, destination) = memories[0], memories[-1]
            layout = copy_distribution(
                type_.dims, source, destination, type_.dtype.storage_bits, self.kernel.num_threads, first, last
            )
        except (LayoutError, LegalityError) as e:
            raise LocatedError(alloc, str(e)) from e
        self._picked(alloc.result, layout, f"vectors over {self.kernel.num_threads} threads")


@dataclass(frozen=True)
class TirxPickLayoutsPass(ModulePass):
    """
    Chooses a layout for every tile that has none; layouts that are written stay as they are.

    Global tiles take the strides of their memref, operands in tensor memory the data path of their shape, operands in
    shared memory the cheapest canonical layout that all their products read, register operands the fragments of
    `mma.sync`, all other tiles vectors over consecutive threads. Each choice is reported as a remark, with the terms
    of its cost.
    """

    name = "tirx-pick-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                _Picker(kernel).run()
