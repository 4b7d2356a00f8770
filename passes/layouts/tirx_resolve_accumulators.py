"""`tirx-resolve-accumulators`: accumulators become tiles in tensor memory or in registers, as the target multiplies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator

from tirx.diagnostics import LocatedError, remark, warn
from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx.product import K96_INSTRUCTION
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.hw.errors import TensorProductError
from tirx.hw.features import supports
from tirx.hw.rules import reason
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.views import clipped_view
from tirx.passes.layouts.row_blocks import block_of, has_two_blocks, split_rows
from tirx.passes.match.families import WGMMA, family_of
from tirx.passes.match.mma_product import is_emulated, product_variants
from tirx.passes.match.product import ILLEGAL, Product, kernel_around, legal
from tirx.passes.match.tcgen05_product import product_kind, product_shape
from tirx.remarks import AccumulatorPlaced
from tirx.rules import InvalidOperation, RegisterValueError, TileTypeError, WrittenChoiceError
from tirx.tcgen05.tmem import COLUMN_BITS, COLUMNS, LANES


def is_accumulator(value: SSAValue) -> bool:
    """Returns True for a tile whose memory is still to be chosen."""
    return isinstance(type_ := value.type, tirx.TileType) and type_.memory is tirx.MemorySpace.ACCUMULATOR


def _is_scaling(tile: SSAValue) -> bool:
    """Returns True for a tile of scale factors of a product."""
    return any(isinstance(op, tirx.MmaOp) and view in op.scales for op, view in tirx.views_in_use(tile))


def _why_not_tensor_memory(mma: tirx.MmaOp) -> str | None:
    """Why tcgen05 of the kernel's target does not do a product into tensor memory; None where it does."""
    try:
        _check_tensor_memory(mma)
    except (*ILLEGAL, TileTypeError) as e:  # of elements that tensor memory does not hold
        return str(e)
    return None


def _check_tensor_memory(mma: tirx.MmaOp) -> None:
    product = _with_moved_operand(Product.of(mma))
    if product.target is None:
        raise TensorProductError("expected a target, found none")
    if product.instruction not in (None, K96_INSTRUCTION):
        raise TensorProductError(f'expected no instruction of mma.sync, found "{product.instruction}"')
    product_shape(_on_tensor_memory(product))
    if product.a is not mma.a_type and (columns := _columns_with(mma)) > COLUMNS:
        raise TensorProductError(
            f"expected A in shared memory, or tiles of at most {COLUMNS} columns of tensor memory with it, found A in "
            f"registers and {columns} columns"
        )
    for name, type_, memories in (
        ("A", product.a, (tirx.MemorySpace.SHARED, tirx.MemorySpace.TENSOR)),
        ("B", product.b, (tirx.MemorySpace.SHARED,)),
    ):
        if type_.memory not in memories:
            raise TensorProductError(
                f"expected {name} in {' or '.join(memory.place for memory in memories)} for tcgen05, found it in "
                f"{type_.memory.place}"
            )
    if (threads := tirx.thread_set(mma).count) % WARPGROUP_THREADS:
        raise TensorProductError(f"expected whole warpgroups of {WARPGROUP_THREADS} threads, found {threads} threads")


def _with_moved_operand(product: Product) -> Product:
    """The product of an A in tensor memory instead of registers, where `_move_operands` puts it."""
    if product.a.memory is not tirx.MemorySpace.REGISTER:
        return product
    return replace(product, a=product.a.in_memory(tirx.MemorySpace.TENSOR))


def _columns_with(mma: tirx.MmaOp) -> int:
    """The columns of all accumulators and tiles in tensor memory of a kernel, and of A of a product."""
    kernel = kernel_around(mma)
    allocs = [] if kernel is None else [op.result.type for op in kernel.walk() if isinstance(op, tirx.AllocOp)]
    held = [mma.a_type, *(t for t in allocs if t.memory in (tirx.MemorySpace.TENSOR, tirx.MemorySpace.ACCUMULATOR))]
    return sum(-(-t.dims[-1] * t.dtype.storage_bits // COLUMN_BITS) * -(-t.dims[0] // LANES) for t in held)


def _move_operands(mma: tirx.MmaOp) -> None:
    """Stores A and metadata that are in registers to tiles of tensor memory, from which tcgen05 reads them."""
    start = kernel_around(mma)
    if start is None or (first := start.body.block.first_op) is None:
        return
    for i, operand in enumerate(mma.operands):
        if operand in (mma.a, mma.metadata) and (of := tirx.TileType.of(operand)).memory is tirx.MemorySpace.REGISTER:
            type_ = tirx.TileType.get(of.dims, of.element_type, tirx.MemorySpace.TENSOR)
            moved = Emitter.before(first)(tirx.AllocOp(type_)).result
            moved.owner.location = mma.location
            moved.name_hint = operand.name_hint
            Emitter.before(mma)(tirx.CopyOp(operand, moved))
            mma.operands[i] = moved


_CODE = IntegerType(4)
_LEGAL_CODE = 0b0100
"""A code of metadata that says the places of elements of every type (PTX ISA, "Sparse matrix storage")."""


def _pad_metadata(codes: SSAValue) -> None:
    """Lets metadata that are read outside of their memref be a legal code; the elements that it places are zeros.

    Metadata of another type than i4 stay as they are: the product refuses them.
    """
    if tirx.TileType.of(codes).element_type != _CODE:
        return
    if isinstance(load := codes.owner, tirx.LoadOp):
        if load.pad is None and clipped_view(load.source) is not None:
            load.operands = (load.source, Emitter.before(load).constant(_LEGAL_CODE, _CODE))
        return
    for op, tile in list(tirx.views_in_use(tirx.base_allocation(codes))):
        if isinstance(op, tirx.CopyOp) and op.destination is tile and clipped_view(op.source) is not None:
            loaded = Emitter.before(op)(tirx.LoadOp(op.source, _registers(op.source))).result
            op.operands[0] = loaded
            _pad_metadata(loaded)
        elif isinstance(op, tirx.StoreOp) and op.destination is tile:
            _pad_metadata(op.value)


def _on_tensor_memory(product: Product) -> Product:
    """The product as tcgen05 does it, or that of the first rows where two instructions do it."""
    product = block_of(product) if has_two_blocks(product) else product
    return replace(product, accumulator=product.accumulator.in_memory(tirx.MemorySpace.TENSOR))


def _place(tile: SSAValue, memory: tirx.MemorySpace) -> None:
    value = Rewriter.replace_value_with_new_type(tile, tirx.TileType.of(tile).in_memory(memory))
    for op in [use.operation for use in value.uses]:
        if isinstance(op, tirx.SubviewOp | tirx.ReshapeOp):
            _place(op.result, memory)


def _registers(tile: SSAValue) -> tirx.TileType:
    return tirx.TileType.of(tile).in_memory(tirx.MemorySpace.REGISTER)


def _read_into_registers(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Loads the tiles that `op` reads from tensor memory, in front of it."""
    for tile in dict.fromkeys(operands):
        loaded = Emitter.before(op)(tirx.LoadOp(tile, _registers(tile))).result
        loaded.name_hint = tile.name_hint
        for i, operand in enumerate(op.operands):
            if operand is tile:
                op.operands[i] = loaded


def _written_from_registers(op: tirx.MapOp, tile: SSAValue) -> None:
    """Lets a map write a tile of registers, which is copied to tensor memory."""
    written = Emitter.before(op)(tirx.AllocOp(_registers(tile))).result
    for i, operand in enumerate(op.operands):
        if operand is tile and i >= len(op.ins):
            op.operands[i] = written
    Emitter.after(op)(tirx.CopyOp(written, tile))


def _in_tensor_memory(op: Operation, tile: SSAValue) -> None:
    """Moves a tile in tensor memory to registers and back where `op` computes with it."""
    if isinstance(op, tirx.MapOp) and tile in op.outs:
        _written_from_registers(op, tile)
    if isinstance(op, tirx.TileOpInterface) and tile in op.operands and _is_constrained(op, tile):
        _read_into_registers(op, [tile])


def _is_constrained(op: tirx.TileOpInterface, tile: SSAValue) -> bool:
    """Returns True if an operation states something about the layout of a tile, which is that of a register tile."""
    parts = [value for found in op.reductions() for value in (found.whole, found.part)]
    return isinstance(op, tirx.ConvertOp) or any(tile in group for group in (*op.same_layout(), parts))


def in_registers(op: Operation, tile: SSAValue) -> None:
    """Replaces loads and stores of a tile that is itself in registers."""
    match op:
        case tirx.LoadOp():
            made = Emitter.before(op)(tirx.ConvertOp(tile, op.result.type))
            op.result.replace_all_uses_with(made.result)
        case tirx.StoreOp() if op.destination is tile:
            Emitter.before(op)(tirx.CopyOp(op.value, tile))
        case _:
            return
    erase(op)


def _resolve(alloc: tirx.AllocOp) -> None:
    """Chooses the memory of an accumulator, and moves it where operations need it in registers."""
    for op, tile in tirx.views_in_use(alloc.result):
        if op.name.startswith(("scf.", "arith.")):
            around = next(ancestors(op)) if op.has_trait(IsTerminator) else op
            raise RegisterValueError(
                around, f"expected {around.name} on register tiles, which are values, found {tile.type}"
            )
    products = [
        op for op, tile in tirx.views_in_use(alloc.result) if isinstance(op, tirx.MmaOp) and op.accumulator is tile
    ]
    whys = [why for mma in products if (why := _why_not_tensor_memory(mma)) is not None]
    why = "no product adds to it" if not products else whys[0] if whys else None
    families = dict.fromkeys(_family(mma, why) for mma in products)
    _place(alloc.result, tirx.MemorySpace.TENSOR if why is None else tirx.MemorySpace.REGISTER)
    for around in dict.fromkeys(parent for op, _ in tirx.views_in_use(alloc.result) for parent in ancestors(op)):
        if isinstance(around, tirx.RolesOp):
            try:
                around.verify_()  # tiles in registers do not cross roles
            except InvalidOperation as e:
                raise LocatedError(alloc, f"{e} (not in tensor memory: {why})") from e
    for mma in products:
        if why is None:
            _move_operands(mma)
        elif (slower := _why_slower(mma)) is not None:
            if not _is_done_by_mma_sync(mma):
                with legal(mma):
                    _check_tensor_memory(mma)
            warn(mma, f"multiplied by {_family(mma, why)} instead of tcgen05: {slower}", "slower-product")
        try:
            mma.verify_()  # clauses that accumulators in registers do not have
        except InvalidOperation as e:
            raise LocatedError(mma, f"{e} (not in tensor memory: {why})") from e
    move = _in_tensor_memory if why is None else in_registers
    for op, tile in dict.fromkeys(tirx.views_in_use(alloc.result)):
        move(op, tile)
    remark(alloc, AccumulatorPlaced(alloc.result.type.memory.place, tuple(families), why))


def _why_slower(mma: tirx.MmaOp) -> str | None:
    """Why a product of a kind that tcgen05 of the target has is not done by it; None elsewhere."""
    target = Product.of(mma).target
    if target is None or not supports(target, "tcgen05") or mma.instruction is not None:
        return None
    return None if reason(lambda: product_kind(mma.a_type, mma.b_type)) else _why_not_tensor_memory(mma)


def _is_done_by_mma_sync(mma: tirx.MmaOp) -> bool:
    """Returns True if mma.sync of the target multiplies the types of a product, in whatever shapes."""
    product = Product.of(mma)
    try:
        variants = product_variants(product, product.target)
    except ILLEGAL:
        return False
    return product.target is None or any(
        supports(product.target, each.feature) or is_emulated(each, product.target) for each in variants
    )


def _resolve_factors(alloc: tirx.AllocOp) -> None:
    """Puts scale factors into the memory of the accumulators of their products."""
    uses = list(tirx.views_in_use(alloc.result))
    products = [op for op, tile in uses if isinstance(op, tirx.MmaOp) and tile in op.scales]
    memories = {mma.accumulator_type.memory for mma in products}
    if len(memories) > 1:
        raise WrittenChoiceError(
            alloc,
            "expected scale factors of products that all accumulate in one memory, found some in "
            f"{' and some in '.join(sorted(memory.place for memory in memories))}",
        )
    _place(alloc.result, memories.pop())
    for mma in products:
        mma.verify_()
    remark(alloc, AccumulatorPlaced(alloc.result.type.memory.place, ("the factors of its products",), None))


def _family(mma: tirx.MmaOp, why_not_tensor_memory: str | None) -> str:
    """The name of the instructions that do a product, in tensor memory or, where there is a reason, in registers."""
    product = _with_moved_operand(Product.of(mma)) if why_not_tensor_memory is None else Product.of(mma)
    if why_not_tensor_memory is None:
        return f"tcgen05.mma of kind {product_shape(_on_tensor_memory(product)).kind}"
    kept = replace(product, accumulator=product.accumulator.in_memory(tirx.MemorySpace.REGISTER))
    return "wgmma" if family_of(kept) is WGMMA else "mma.sync"


class TirxResolveAccumulatorsPass(ModulePass):
    """Chooses the memory of every accumulator: tensor memory where tcgen05 does all its products on the kernel's
    target, registers otherwise, for wgmma or mma.sync. Scale factors of its products go with it.

    In registers an accumulator is computed with where it is; from tensor memory it is loaded where an operation needs
    it in registers, and stored again where one writes it. Each choice is reported as a remark, with the reason.
    Metadata outside of a clipped view become a code that the hardware has. Products with 256 rows in tensor memory
    become two of 128 rows; those of a pair of blocks are one product.
    """

    name = "tirx-resolve-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            for mma in [inner for inner in kernel.walk() if isinstance(inner, tirx.MmaOp)]:
                if mma.metadata is not None:
                    _pad_metadata(mma.metadata)
            allocs = [op for op in kernel.walk() if isinstance(op, tirx.AllocOp) and is_accumulator(op.result)]
            factors = [alloc for alloc in allocs if _is_scaling(alloc.result)]
            for alloc in allocs:
                if alloc not in factors:
                    _resolve(alloc)
            for alloc in factors:
                _resolve_factors(alloc)
            for mma in [inner for inner in kernel.walk() if isinstance(inner, tirx.MmaOp)]:
                split_rows(mma)
