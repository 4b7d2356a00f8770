"""The lowering of one kernel to an entry: what its operations share, and where each of them is lowered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntAttr, IntegerType, i32, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.matrix import MatrixPlan
from tirx.diagnostics import LocatedError, operation_name
from tirx.dialects import tirx
from tirx.dialects.nesting import Listed, operations, walk
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import EntryOp, ReadSpecialOp, SharedAllocOp
from tirx.dialects.ptx.parameters import PARAM_LIMIT, RESERVED_NAMES, check_identifier
from tirx.dialects.xdsl_private import operands_of, replace_all, type_of
from tirx.layout import ComposeLayout, TileLayout
from tirx.passes.checks.feature_checks import check_features
from tirx.passes.copies.clipping import Clip
from tirx.passes.copies.index_tiles import IndexTiles
from tirx.passes.copies.memory_access import ClippedAccess, MatrixAccess, MemoryTile, TileAccess, is_whole
from tirx.passes.copies.tensor_map_parameters import TensorMapParameters
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.index_analysis import forget_ranges, ranges_found_once
from tirx.passes.ir.register_values import held_tile, no_register
from tirx.passes.ir.rule_tables import Rules
from tirx.passes.ir.scheduled import require_lowered
from tirx.passes.ir.views import NO_ARGUMENT, Origin, clipped_view, plan_clip
from tirx.passes.kernels.entry_parameters import Parameters
from tirx.passes.kernels.guest_operations import lower_scalars, lower_tiles
from tirx.passes.kernels.roles import bound_registers
from tirx.passes.kernels.stages import missing_pass
from tirx.passes.match.computed_parts import displaced
from tirx.passes.match.copy_engines import beyond_threads
from tirx.passes.match.narrow_places import mark_narrow_views, require_narrow
from tirx.passes.match.product import legal
from tirx.passes.match.run_time_strides import STRIDE_BYTES, are_multiples, placed, run_time_strides
from tirx.rules import KernelArgumentError, PackedElementsError, ParameterError, RegisterLayoutError, StageError
from tirx.values import dataclass, replace

DYNAMIC_SHARED = "dynamic_shared"
"""The name of the shared memory that launches set aside, the same for all kernels of a module."""

OpT = TypeVar("OpT", bound=Operation)

Registers = Sequence[SSAValue]
"""The registers of a value: one of a scalar, those of a thread of a register tile, none of what needs none."""


class _NewNames:
    """Gives PTX names that nothing else in an entry has; `taken` are those that it has already."""

    def __init__(self, taken: set[str]):
        self._taken = taken

    def __call__(self, hint: str | None, default: str) -> str:
        """Returns a new name, like `hint` where there is one."""
        # SSA names may have characters that PTX names do not.
        stem = default if hint is None else re.sub(r"\W", "_", hint, flags=re.ASCII)
        if not stem[0].isalpha():
            stem = f"{default}{stem}"
        name, i = stem, 0
        while name in self._taken:
            i += 1
            name = f"{stem}_{i}"
        self._taken.add(name)
        return name


class KernelLowering:
    """Lowers one kernel to an entry, by `rules`.

    A rule emits what stands for an operation and returns the registers of each result, or None to leave the operation
    as it is. Operations without a rule are lowered by their method `lower` (`TileOpInterface`).
    """

    def __init__(self, kernel: tirx.KernelOp, rules: Rules[Sequence[Registers] | None]):
        self.kernel = kernel
        self.rules = rules
        self.bases: dict[SSAValue, tuple[SSAValue, int]] = {}  # tile in memory -> its address and alignment
        self.registers: dict[SSAValue, Registers] = {}  # register tile -> the registers of one thread
        self.lowered: list[Operation | BlockArgument] = []
        self.parameters: Parameters
        self.maps: TensorMapParameters
        self.shared: SSAValue | None = None
        self.maxnreg: IntAttr | None = None
        self.ops = walk(kernel)
        self.plain = {kind for kind in {*map(type, self.ops)} if kind not in rules and _is_plain(kind)}
        names = {op.symbol.data for op in self.ops if type(op) is SharedAllocOp} | RESERVED_NAMES
        self.name = _NewNames(
            {*names, DYNAMIC_SHARED} if kernel.memory is not None and kernel.memory.data.dynamic else names
        )

    @ranges_found_once()
    def run(self) -> None:
        """Puts the entry in the place of the kernel."""
        kernel = self.kernel
        require_lowered(self.ops)
        target = kernel.require_target()
        mark_narrow_views([op for op in self.ops if type(op) is tirx.ViewOp and op.clipped is not None])
        lower_scalars(self.ops, target)
        if kernel.is_whole_pair:
            raise StageError(kernel, "expected what one block of a pair does; run tirx-split-pairs first")
        try:
            check_identifier("the name of a kernel", kernel.sym_name.data)
        except ParameterError as e:
            raise LocatedError(kernel, str(e)) from e
        block = kernel.body.block
        emit = Emitter(InsertPoint.at_start(block), kernel.location)
        self.parameters = Parameters(kernel, emit, self.name)
        thread = emit(ReadSpecialOp("tid.x")).result
        plan = tirx.MemoryPlan() if kernel.memory is None else kernel.memory.data
        if plan.shared:
            name = DYNAMIC_SHARED if plan.dynamic else self.name(None, "shared")
            self.shared = emit(SharedAllocOp(name, plan.shared, plan.alignment, dynamic=plan.dynamic)).result
        self.maps = TensorMapParameters(kernel, emit, self.name)
        everyone = tirx.thread_set(kernel)
        Place(thread, everyone.count, target, self, emit, everyone).block(block)
        self.maps.prefetch(thread)
        parameters = [*self.parameters.declared, *self.maps.parameters]
        if (size := sum(parameter.size for parameter in parameters)) > PARAM_LIMIT:
            raise KernelArgumentError(kernel, f"expected at most {PARAM_LIMIT} bytes of parameters, found {size}")
        self._erase_lowered()
        for argument in reversed(block.args):
            if (use := argument.first_use) is not None:
                raise KernelArgumentError(
                    use.operation,
                    "expected only 'tirx.view', 'memref.load' and 'memref.store' on a memref argument, found "
                    f"'{operation_name(use.operation)}'",
                )
            block.erase_arg(argument)
        body = kernel.detach_region(kernel.body)
        cluster = (kernel.cluster_size, 1, 1) if kernel.in_clusters else None
        threads = (kernel.num_threads, 1, 1)
        dynamic = plan.shared if plan.dynamic else None
        name, grid = kernel.sym_name.data, kernel.launch_grid
        entry = EntryOp(name, parameters, target.name, body, threads, cluster, dynamic, grid=grid)
        ops = walk(entry)
        bound_registers(entry, ops, kernel.num_threads, self.maxnreg, plan.shared)
        entry.attributes.update(kernel.attributes)
        Emitter.before(kernel)(entry)
        check_features(Listed(ops), target)
        erase(kernel)

    def _erase_lowered(self) -> None:
        """Erases what has been lowered, users first. Raises LocatedError for a user that is not lowered."""
        for old in reversed(self.lowered):
            if isinstance(old, Operation):
                for result in old.results:
                    if (use := result.first_use) is not None:
                        raise no_register(use.operation, result.type)
                erase(old)
            else:
                old.block.erase_arg(old)

    def stride(self, tile: SSAValue, dimension: int) -> SSAValue:
        """Returns the run-time stride (i64, bytes) of the argument that a tile is a part of."""
        origin = Origin.of(tile)
        assert origin is not None
        return self.parameters.stride(origin.view.source, dimension)


@dataclass(frozen=True)
class Place(tirx.ThreadLowering):
    """The place where operations of a kernel are lowered: in front of which, and for which threads.

    Regions that other threads run have another place. `group` are the threads of this one.
    """

    kernel: KernelLowering
    emit: Emitter
    group: tirx.ThreadSet

    def insert(self, op: OpT) -> OpT:
        return self.emit(op)

    def registers(self, tile: SSAValue) -> Registers:
        return self.kernel.registers[tile]

    def address(self, tile: SSAValue) -> SSAValue:
        return self._base(tile)[0]

    def of(self, group: tirx.ThreadSet, thread: SSAValue) -> Place:
        """Returns the place of a region that other threads run; `thread` (i32) is the index of one among them."""
        return replace(self, group=group, threads=group.count, thread=thread)

    def _before(self, op: Operation) -> Place:
        return Place(self.thread, self.threads, self.target, self.kernel, Emitter.before(op), self.group)

    def block(self, block: Block) -> None:
        """Lowers the operations of a block, which the threads of this place run."""
        lowering = self.kernel
        for op in operations(block):
            if type(op) in lowering.plain:
                continue
            rule = lowering.rules.get(type(op)) or (lower_tiles if isinstance(op, tirx.TileOpInterface) else None)
            if rule is not None and (made := rule(op, self._before(op))) is not None:
                self.bind(op.results, made)
                lowering.lowered.append(op)
                continue
            if op.name.startswith("tirx."):
                raise StageError(op, f"expected '{op.name}' to be lowered by an earlier pass{missing_pass(op)}")
            if type(op) not in (scf.YieldOp, scf.ConditionOp):  # whose operands are expanded with the loop or branch
                _require_no_tiles(op)
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)

    def bind(self, values: Sequence[SSAValue], made: Sequence[Registers]) -> None:
        """Notes the registers of tiles, and replaces other values by theirs."""
        replaced: dict[SSAValue, SSAValue] = {}
        for old, registers in zip(values, made, strict=True):
            if not registers:
                continue
            if held_tile(old.type) is not None:
                self.kernel.registers[old] = registers
            else:
                (replaced[old],) = registers
        if replaced:
            forget_ranges(*replaced)
            replace_all(replaced)

    def expanded(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns the values with every register tile replaced by its registers."""
        return [
            each
            for value in values
            for each in ((value,) if held_tile(value.type) is None else self.kernel.registers[value])
        ]

    def declare(self, tile: SSAValue, base: SSAValue, alignment: int) -> Sequence[Registers]:
        """Notes where a tile in memory is. Returns its registers, which are none."""
        self.kernel.bases[tile] = base, alignment
        return [()]

    def memory(self, tile: SSAValue) -> MemoryTile:
        """Returns the address and alignment of a tile of global or shared memory, with its type."""
        numbers = sorted(run_time_strides(tile).items())
        strides = tuple((number, self.kernel.stride(tile, dimension)) for dimension, number in numbers)
        return MemoryTile(placed(tile), *self._base(tile), strides, not numbers or are_multiples(tile))

    def _base(self, tile: SSAValue) -> tuple[SSAValue, int]:
        """Returns the address and alignment of a tile of global or shared memory."""
        root = tile
        while isinstance(op := root.owner, tirx.PartOp):
            root = op.source
        if (base := self.kernel.bases.get(root)) is None:
            wanted = f"expected a tile of global or shared memory, found {tile.type}"
            raise RegisterLayoutError(self.emit.location, beyond_threads(tile) or wanted)
        return base if root is tile else displaced(self.emit, tile, *base)

    def access(
        self, memory: SSAValue, register: tirx.TileType, *, once: bool, pad: SSAValue | None = None
    ) -> TileAccess | ClippedAccess:
        """Returns the accesses of a tile in memory that threads with the registers of `register` make.

        `pad` is a register of elements outside of the tile.
        """
        tile, clip, indices = self.memory(memory), self.clip(memory), self.index_tiles(memory, register.layout)
        if tile.strides and tile.are_multiples:  # sizes say so of arrays without gaps; a launch may give others
            self.require_vectors(memory, "vectors")

        def access(emit: Emitter, careful: bool = False) -> TileAccess:
            end = tile.by_element() if careful and not tile.are_multiples else tile
            bounds = clip if careful or clip is None else clip.of_index_tiles()
            return TileAccess(
                emit, end, register, self.threads, self.thread, once=once, clip=bounds, indices=indices, pad=pad
            )

        if clip is None and tile.are_multiples:
            return access(self.emit)
        careful = access(self.emit, True).plan.accesses
        if len(careful) <= _FEW:
            return ClippedAccess(self.emit, access, None)
        as_vectors = access(self.emit).plan.accesses != careful
        return ClippedAccess(self.emit, access, is_whole(self.emit, clip, tile, as_vectors))

    def index_tiles(self, memory: SSAValue, moved: TileLayout | ComposeLayout | None) -> IndexTiles | None:
        """Returns the index tiles of a view, for threads that move its elements as `moved` says; None without any."""
        if (view := tirx.indexed_view(memory)) is None:
            return None
        strides, parameters, type_ = (
            view.source_type.get_strides() or (),
            self.kernel.parameters,
            tirx.TileType.of(memory),
        )

        def stride(d: int) -> SSAValue:
            if (known := strides[d]) is None:
                return parameters.stride(view.source, d)
            return self.emit.constant(known * type_.dtype.storage_bits // 8, i64 if view.is_global else i32)

        if type_.dtype.bits % 8:
            raise PackedElementsError(
                self.emit.location, f"expected elements of whole bytes in a view with index tiles, found {type_}"
            )
        assert isinstance(moved, TileLayout)
        with legal(self.emit.location):
            return IndexTiles(view, moved, self.threads, self.registers, stride)

    def require_vectors(self, memory: SSAValue, what: str) -> None:
        """Lets launches check that run-time strides are multiples of what `what` move at a time."""
        if (origin := Origin.of(memory)) is not None:
            for dimension in run_time_strides(memory):
                self.kernel.parameters.require_vectors(origin.view.source, dimension, STRIDE_BYTES, what)

    def clip(self, memory: SSAValue) -> Clip | None:
        """Returns the bounds of a tile in memory, None where all of it exists."""
        with legal(self.emit.location):
            plan = plan_clip(memory)
        if plan is None:
            return None
        kernel, view = self.kernel, clipped_view(memory)
        assert view is not None, "of which there is a plan"

        def size(argument: int, dimension: int, type_: IntegerType) -> SSAValue:
            if argument == NO_ARGUMENT:
                return self.emit.constant(view.source_type.get_shape()[dimension], type_)
            return kernel.parameters.size(argument, dimension, type_)

        return Clip(self.emit, plan, size, lambda bound: require_narrow(kernel.kernel, view, bound))

    def matrix_access(self, memory: SSAValue, plan: MatrixPlan | None) -> MatrixAccess:
        """Returns the accesses of a tile in shared memory by `ldmatrix` or `stmatrix`."""
        if plan is None:
            raise StageError(
                self.emit.location, "expected layouts that matrix instructions move; run tirx-select-copies"
            )
        return MatrixAccess(self.emit, self.memory(memory), plan, self.thread)


def _is_plain(kind: type[Operation]) -> bool:
    """Returns True for operations without tiles and regions."""
    return issubclass(kind, PTXInstruction) or kind.name.startswith("arith.")


_FEW = 2
"""Accesses of a thread that look at their own bounds in fewer instructions than a look at those of the tile takes."""


def _require_no_tiles(op: Operation) -> None:
    for value in operands_of(op) + op.results:
        if type(type_of(value)) is tirx.TileType:
            name = operation_name(op)
            hint = "; lower it before convert-tirx-to-ptx, or give it a TileOpInterface" if tirx.is_foreign(op) else ""
            raise StageError(op, f"expected no tiles after lowering, found {value.type} on '{name}'{hint}")
