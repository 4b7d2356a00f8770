"""Loads and stores of register tiles as PTX instructions of every thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from tirx.copy.access import THREAD_VARIABLE, Access, AccessPlan, Owners, plan_accesses
from tirx.copy.matrix import MatrixPlan
from tirx.dialects import ptx, tirx
from tirx.dialects.definition import built, i64_attr
from tirx.hw.targets import Target
from tirx.layout import TileLayout
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.ownership import held_elements
from tirx.passes.copies.atomic_emission import AtomicEmission
from tirx.passes.copies.clipping import NO_COORDINATES, Clip, all_of
from tirx.passes.copies.global_reductions import GlobalReduction
from tirx.passes.copies.index_tiles import IndexTiles
from tirx.passes.copies.word_loads import Word, WordLoads
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.passes.ir.index_emission import IndexEmission
from tirx.passes.ir.register_values import REGISTER_BITS, RegisterFormat, register_format, zero_register
from tirx.passes.match.product import legal
from tirx.passes.match.run_time_strides import STAND_IN_BITS, STRIDE_BYTES
from tirx.rules import PackedElementsError, RegisterLayoutError, StageError
from tirx.symbolic.index_expr import Const, IndexExpr, as_expr
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class MemoryTile:
    """
    A tile in global or shared memory: its type, the address of its base (i64 or i32) and that base's alignment (bytes).

    `strides`: number in the layout that stands for a run-time stride -> that stride (i64, bytes), the largest number
    first; the alignment is that with strides that are multiples of `STRIDE_BYTES`, as `are_multiples` says they are.
    """

    type: tirx.TileType
    base: SSAValue
    alignment: int
    strides: tuple[tuple[int, SSAValue], ...] = ()
    are_multiples: bool = True

    def by_element(self) -> MemoryTile:
        """The same tile, of which nothing but its elements is aligned."""
        return replace(self, alignment=max(1, self.type.dtype.storage_bits // 8))

    @property
    def space(self) -> str:
        return "global" if self.type.memory is tirx.MemorySpace.GLOBAL else "shared"


class Addresses:
    """The addresses of accesses to one tile; equal expressions are computed once, where `emit` is."""

    def __init__(self, emit: Emitter, memory: MemoryTile, tid: SSAValue):
        self.emit = emit
        self.memory = memory
        self.bits = memory.type.dtype.storage_bits
        self.tid = tid
        self._addresses: dict[IndexExpr, SSAValue] = {}
        self._places: dict[IndexExpr, SSAValue] = {}
        """The offset of an element -> its address."""
        self._emission: dict[Attribute, IndexEmission] = {}

    def place(self, access: Access) -> tuple[SSAValue, int]:
        """Returns the address of an access as a value and a constant number of bytes behind it."""
        if self.memory.strides:
            return self._strided(access.base, access.const)
        distance, rest = divmod(access.const * self.bits, 8)
        if rest:
            # Half a byte on, so the thread's part is another half; only together do they make whole bytes.
            return self._address(access.offset), 0
        return self._address(access.base), distance

    def _strided(self, base: IndexExpr, const: int) -> tuple[SSAValue, int]:
        """
        The address of an element of a tile with run-time strides, whose coordinates are the digits of `base + const`.

        Where the digits of a sum are the sums of digits, a constant number of rows is as many bytes in all threads.
        """
        numbers = [number for number, _ in self.memory.strides if number]
        carries = any((base % number).known.greatest + const % number >= number for number in numbers)
        rest = const % min((*numbers, 1 << STAND_IN_BITS))
        if carries or rest * self.bits % 8:
            base, const, rest = base + const, 0, 0
        first, rows = base, const - rest
        if first not in self._addresses:
            self._addresses[first] = self._by_digits(self.memory.base, first)
        if (row := first + rows) not in self._addresses:
            self._addresses[row] = self._by_digits(self._addresses[first], as_expr(rows))
        return self._addresses[row], rest * self.bits // 8

    def _by_digits(self, value: SSAValue, expr: IndexExpr) -> SSAValue:
        """The address (i64) of the element whose coordinates are digits of `expr`, from that of element 0."""
        for number, stride in self.memory.strides:
            if number:  # else the tile does not move along it
                value, expr = self._further(value, expr // number, stride), expr % number
        return self._further(value, expr * self.bits // 8)

    def _further(self, value: SSAValue, steps: IndexExpr, stride: SSAValue | None = None) -> SSAValue:
        """The address (i64) so many strides, or bytes, behind `value`."""
        if isinstance(steps, Const):
            distance = steps.value if stride is None or not steps.value else self.emit.mul(stride, steps.value)
            return self.emit.add(value, distance)
        if _is_narrow(steps):
            distance = self.emit.extend(self.emitted(steps), i64)
        else:
            distance = self.emitted(steps, i64)
        return self.emit.add(value, distance if stride is None else self.emit.mul(distance, stride))

    def emitted(self, expr: IndexExpr, type_: IntegerType = i32) -> SSAValue:
        """The value of an expression of the thread."""
        if type_ not in self._emission:
            tid = self.tid if type_ == i32 else self.emit.extend(self.tid, i64)
            self._emission[type_] = IndexEmission(self.emit, {THREAD_VARIABLE: tid}, type_)
        return self._emission[type_](expr)

    def _address(self, expr: IndexExpr) -> SSAValue:
        """The byte address of the element `expr` elements after the base of the tile."""
        if (found := self._places.get(expr)) is None:
            # Every access starts on a whole byte (see `plan_accesses`), so the division is exact.
            found = self._places[expr] = self.of_bytes(expr * self.bits // 8)
        return found

    def of_bytes(self, offset: IndexExpr) -> SSAValue:
        """The address `offset` bytes after the base of the tile."""
        if offset not in self._addresses:
            wide = self.memory.base.type == i64
            # 32-bit arithmetic is cheaper, and exact for offsets that fit: every part of a sum is 0 or more.
            type_ = i32 if not wide or (offset.known.least >= 0 and offset.known.greatest < 2**31) else i64
            value = self.emitted(offset, type_)
            if wide and type_ == i32:
                value = self.emit.extend(value, i64)
            self._addresses[offset] = self.emit.add(self.memory.base, value)
        return self._addresses[offset]


def _is_narrow(expr: IndexExpr) -> bool:
    """Returns True if 32 bits hold all that is computed of an expression."""
    return expr.known.greatest < 2**31 and all(map(_is_narrow, expr.operands))


@lru_cache(maxsize=4096)
def _behind(space: str, offset: int) -> Mapping[str, Attribute]:
    """The properties of an access `offset` bytes behind an address."""
    return {"space": ptx.SpaceAttr(ptx.Space(space)), "offset": i64_attr(offset)}


_Make = Callable[[Emitter], Sequence[SSAValue]]
"""Emits at a place, and returns what a branch yields."""


def on_owners(emit: Emitter, tid: SSAValue, owners: Owners, held: _Make, other: _Make | None) -> Sequence[SSAValue]:
    """Runs `held` on the threads that hold a part of the tile and `other` on the others."""
    warp, lane = emit.div(tid, WARP_SIZE), emit.mod(tid, WARP_SIZE)
    warps, lanes = (
        emit(arith.ShRUIOp(emit(arith.ConstantOp(bit_pattern(mask, 32))).result, index)).result
        for mask, index in ((owners.warps, warp), (owners.lanes, lane))
    )
    bit = emit.bit_and(emit.bit_and(warps, lanes), 1)
    condition = emit.compare(bit, emit.constant(0, i32), "ne")
    if owners.below is not None:
        below = emit.compare(tid, emit.constant(owners.below, i32), "ult")
        condition = emit.bit_and(condition, below)
    results = emit.either(condition, held, other)
    # Instructions of whole warps may follow.
    emit(ptx.BarWarpSyncOp())
    return results


class TileAccess:
    """Moves one register tile from or to memory: `threads` threads with the linear index `tid` (i32).

    With `once`, threads that hold only copies of what another one holds take no part (see `plan_accesses`). With `clip`
    accesses beyond the bounds are left out; what is loaded there is zero, or the elements of the register `pad`.
    """

    def __init__(
        self,
        emit: Emitter,
        memory: MemoryTile,
        register: tirx.TileType,
        threads: int,
        tid: SSAValue,
        *,
        once: bool,
        clip: Clip | None = None,
        indices: IndexTiles | None = None,
        pad: SSAValue | None = None,
    ):
        self.emit = emit
        self.memory = memory
        self.register = register
        self.format: RegisterFormat = register_format(register)
        self.bits = register.dtype.storage_bits
        self.tid = tid
        self.clip = clip
        self.indices = indices
        self.pad = pad
        self.plan = self._plan(register, threads, once)
        self.addresses = Addresses(emit, memory, tid)
        self.bounds = None if clip is None else clip.emission(emit, tid)
        self._space = memory.space

    def _plan(self, register: tirx.TileType, threads: int, once: bool) -> AccessPlan:
        layout, memory = register.layout, self.memory.type.layout
        if not isinstance(layout, TileLayout) or memory is None:
            raise StageError(self.emit.location, "expected layouts on both tiles; tirx-pick-layouts chooses them")
        aligned = self.memory.alignment
        if self.clip is not None:
            if self.clip.plan.run * self.bits % 8:
                raise PackedElementsError(
                    self.emit.location, f"expected a clipped view of whole bytes in every row, found {self.bits} bits"
                )
            aligned = min(aligned, self.clip.plan.run * self.bits // 8)
        with legal(self.emit.location):
            plan = plan_accesses(
                layout, memory, register.dims, self.bits, threads, aligned, self.memory.alignment, once=once
            )
        return plan

    def _place(self, access: Access) -> tuple[SSAValue, int]:
        """Returns the address of an access as a value and a constant number of bytes behind it."""
        if self.indices is None:
            return self.addresses.place(access)
        address, distance = self.addresses.place(access)
        return self.indices.displaced(self.emit, address, access), distance

    def _registers_of(self, access: Access) -> tuple[int, int]:
        """Returns the first register of an access and how many whole registers it fills, 0 for a part of one."""
        return access.register // self.format.packed, access.count // self.format.packed

    def load(self) -> Sequence[SSAValue]:
        """Emits the loads; returns the registers of the tile. Registers without an element are zero."""
        return self._by_owners(self._load, [self.format.type] * self.format.count)

    def store(self, registers: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Emits the stores of the registers of the tile, which give nothing."""
        return self._by_owners(lambda: self._store(registers), ())

    def reduce(self, registers: Sequence[SSAValue], operation: ptx.Red, target: Target) -> Sequence[SSAValue]:
        """Combines the registers of the tile with what the memory has; gives nothing.

        Raises LocatedError where several threads hold an element, and would all add it.
        """
        if not self._is_once():
            raise RegisterLayoutError(
                self.emit.location,
                f"expected a layout that lets one thread reduce each element to memory, found {self.register.layout}",
            )
        store = GlobalReduction(operation, self.register.element_type, target)
        return self._by_owners(lambda: self._reduce(store, registers), ())

    def atomic(self, values: Sequence[Sequence[SSAValue]], emission: AtomicEmission) -> Sequence[SSAValue]:
        """Combines registers with what memory has, element by element; returns the registers of what it had before."""
        return self._by_owners(lambda: self._atomic(values, emission), [self.format.type] * self.format.count)

    def _atomic(self, values: Sequence[Sequence[SSAValue]], emission: AtomicEmission) -> Sequence[SSAValue]:
        format_, size = self.format, self.bits // 8
        found: dict[int, SSAValue] = {}
        for access in self.plan.accesses:
            address, distance = self._place(access)
            elements = range(access.register, access.register + access.count)
            data = [[self._element(registers, each) for registers in values] for each in elements]

            def make(
                emit: Emitter, address: SSAValue = address, distance: int = distance, data: list[list[SSAValue]] = data
            ) -> Sequence[SSAValue]:
                return [emission.emit(emit, address, distance + size * i, each) for i, each in enumerate(data)]

            found.update(zip(elements, self._within(access, [each[0].type for each in data], make), strict=True))
        registers: list[SSAValue] = []
        for first in range(0, format_.slots, format_.packed):
            parts = [found.get(first + i) for i in range(format_.packed)]
            if format_.packed == 1 or parts == [None] * format_.packed:
                registers.append(parts[0] or zero_register(self.emit, format_.type))
                continue
            some = next(part for part in parts if part is not None)  # also where there is no element
            registers.append(self.emit(ptx.PackOp(*(part or some for part in parts))).result)
        return registers

    def _element(self, registers: Sequence[SSAValue], element: int) -> SSAValue:
        """The register of one element of 16 bits or more."""
        register = registers[element // self.format.packed]
        if self.format.packed == 1:
            return register
        halves = self.emit(ptx.UnpackOp(register, self.register.element_type))
        return halves.high if element % 2 else halves.low

    def _is_once(self) -> bool:
        """Returns True if the threads that take part hold every element once."""
        layout, threads = self.register.layout, self.plan.threads
        assert isinstance(layout, TileLayout)  # there is a plan
        held = held_elements(layout, self.register.dims, threads)
        if self.plan.owners is not None:
            held = held[self.plan.owners.holds(np.arange(threads, dtype=np.int64))]
        return int((held >= 0).sum()) == self.register.num_elements

    def _reduce(self, store: GlobalReduction, registers: Sequence[SSAValue]) -> Sequence[SSAValue]:
        for access in self.plan.accesses:
            self._reduce_access(store, registers, access)
        return ()

    def _reduce_access(self, store: GlobalReduction, registers: Sequence[SSAValue], access: Access) -> None:
        first, count = self._registers_of(access)
        address, distance = self._place(access)

        def make(emit: Emitter) -> Sequence[SSAValue]:
            if count:
                store.emit(emit, address, distance, registers[first : first + count])
            else:
                store.emit_half(emit, address, distance, registers[first], self._bit_of(access) // 16)
            return ()

        self._within(access, (), make)

    def _by_owners(self, move: Callable[[], Sequence[SSAValue]], types: Sequence[Attribute]) -> Sequence[SSAValue]:
        """Emits accesses, in a branch where some threads have no part in them; what they give is zero there."""
        if self.plan.owners is None:
            return move()

        def held(inside: Emitter) -> Sequence[SSAValue]:
            outside = self.emit
            self._emit_at(inside)
            made = move()
            self._emit_at(outside)
            return made

        def zeros(inside: Emitter) -> Sequence[SSAValue]:
            return [zero_register(inside, type_) for type_ in types]

        return on_owners(self.emit, self.tid, self.plan.owners, held, zeros if types else None)

    def _emit_at(self, emit: Emitter) -> None:
        self.emit = self.addresses.emit = emit
        if self.bounds is not None:
            self.bounds.emit = emit

    def _within(self, access: Access, types: Sequence[Attribute], make: _Make) -> Sequence[SSAValue]:
        """Emits an access, in a branch where it may be beyond the bounds; what it gives is the pad there."""
        if self.clip is None:
            return make(self.emit)
        assert self.bounds is not None
        coordinates = NO_COORDINATES if self.indices is None else self.indices.coordinates(self.emit, access)
        exists = self.clip.contains(self.bounds, self.plan.flat(access), coordinates=coordinates)
        return self.emit.either(
            exists, make, (lambda outside: self._outside(outside, access, types)) if types else None
        )

    def _outside(self, emit: Emitter, access: Access, types: Sequence[Attribute]) -> Sequence[SSAValue]:
        """The registers, or the part of one, that an access beyond the bounds gives."""
        if self.pad is None:
            return [zero_register(emit, type_) for type_ in types]
        if access.count >= self.format.packed:
            return [self.pad for _ in types]
        if access.count * self.bits == 8:
            return [emit.bit_and(self.pad, 0xFF)]
        return [emit(ptx.UnpackOp(self.pad, i16)).low]

    def _load(self) -> Sequence[SSAValue]:
        if self.memory.space == "shared" and self.clip is None and self.indices is None:
            if (loads := WordLoads.of(self.plan)) is not None:
                return self._load_words(loads)
        registers: list[SSAValue | None] = [None] * self.format.count
        # Parts of a register, by register: where they start (bits), and their value (i16 or, for a byte, i32).
        parts: dict[int, list[tuple[int, SSAValue]]] = {}
        for access in self.plan.accesses:
            first, count = self._registers_of(access)
            address, constant = self._place(access)
            if count:
                types = [self.format.type] * count
                registers[first : first + count] = self._read(access, address, types, constant)
                continue
            if access.count * self.bits == 8:
                load = ptx.LdU8Op(self.memory.space, address, constant)
                part = self._within(access, [i32], lambda emit, load=load: [emit(load).result])[0]
            else:
                part = self._read(access, address, [i16], constant)[0]
            parts.setdefault(first, []).append((self._bit_of(access), part))
        for register, found in parts.items():
            registers[register] = self._joined(found)
        return [zero_register(self.emit, self.format.type) if r is None else r for r in registers]

    def _load_words(self, loads: WordLoads) -> Sequence[SSAValue]:
        """Loads whole words and selects their bytes."""
        words: dict[Word, SSAValue] = {}
        bases = dict.fromkeys(base for vector in loads.vectors for base, _ in vector)
        at = {base: self.addresses.of_bytes(base // 4 * 4) for base in bases}
        for vector in loads.vectors:
            base, distance = vector[0]
            load = ptx.LdOp(self.memory.space, at[base], [i32] * len(vector), distance)
            words.update(zip(vector, self.emit(load).res, strict=True))
        firsts = {base: self.addresses.emitted(first) for base in bases if (first := base % 4).known.greatest}
        made = loads.registers_of(self.emit, words, firsts)
        return [made.get(i) or zero_register(self.emit, i32) for i in range(self.format.count)]

    def _read(self, access: Access, address: SSAValue, types: Sequence[Attribute], constant: int) -> Sequence[SSAValue]:
        load = built(ptx.LdOp, (address,), types, _behind(self._space, constant))
        return self._within(access, types, lambda emit: emit(load).results)

    def _write(self, access: Access, kind: type[ptx.StOp | ptx.StU8Op], data: Sequence[SSAValue]) -> None:
        address, constant = self._place(access)
        store = built(kind, (address, *data), (), _behind(self._space, constant))
        if self.clip is None:
            self.emit(store)
        else:
            self._within(access, (), lambda emit: emit(store).results)

    def _joined(self, parts: Sequence[tuple[int, SSAValue]]) -> SSAValue:
        """Joins the parts of one register, given by their first bits; bits without a part are zero."""
        if all(part.type == i16 for _, part in parts):
            halves = dict(parts)
            low, high = (halves.get(start) or zero_register(self.emit, i16) for start in (0, 16))
            return self.emit(ptx.PackOp(low, high)).result
        whole: SSAValue | None = None
        for start, part in parts:
            wide = self.emit.extend(part, i32) if part.type == i16 else part
            placed = self.emit.mul(wide, 1 << start)
            whole = placed if whole is None else self.emit.bit_or(whole, placed)
        return zero_register(self.emit, i32) if whole is None else whole

    def _store(self, registers: Sequence[SSAValue]) -> Sequence[SSAValue]:
        halves: dict[int, tuple[SSAValue, SSAValue]] = {}
        packed = self.format.packed
        for access in self.plan.accesses:
            first, count = access.register // packed, access.count // packed
            if access.count * self.bits == 8:
                byte = self.emit.div(registers[first], 1 << self._bit_of(access))
                self._write(access, ptx.StU8Op, (byte,))
                continue
            data = registers[first : first + count]
            if not count:
                if first not in halves:
                    unpacked = self.emit(ptx.UnpackOp(registers[first], i16))
                    halves[first] = unpacked.low, unpacked.high
                data = [halves[first][self._bit_of(access) // 16]]
            self._write(access, ptx.StOp, data)
        return ()

    def _bit_of(self, access: Access) -> int:
        return access.register * self.bits % REGISTER_BITS


class ClippedAccess:
    """Moves one register tile from or to a part of a memref, of which some elements may not exist, or whose rows may
    not be aligned for vectors.

    Where `whole` (i1) holds, which is the same in all threads, accesses are those of other tiles; None is never.
    `access` makes the accesses, those for other places with True.
    """

    def __init__(self, emit: Emitter, access: Callable[[Emitter, bool], TileAccess], whole: SSAValue | None):
        self.emit = emit
        self.access = access
        self.whole = whole

    def load(self) -> Sequence[SSAValue]:
        """Emits the loads; returns the registers of the tile. Registers without an element are zero."""
        return self._branch(lambda access: access.load())

    def store(self, registers: Sequence[SSAValue]) -> None:
        """Emits the stores of the registers of the tile."""
        self._branch(lambda access: access.store(registers))

    def reduce(self, registers: Sequence[SSAValue], operation: ptx.Red, target: Target) -> None:
        """Combines the registers of the tile with what global memory has."""
        self._branch(lambda access: access.reduce(registers, operation, target))

    def atomic(self, values: Sequence[Sequence[SSAValue]], emission: AtomicEmission) -> Sequence[SSAValue]:
        """Combines registers with what memory has, element by element; returns the registers of what it had before."""
        return self._branch(lambda access: access.atomic(values, emission))

    def _branch(self, move: Callable[[TileAccess], Sequence[SSAValue]]) -> Sequence[SSAValue]:
        """Moves the tile without a look at the bounds if they hold for all of it, access by access otherwise."""
        if self.whole is None:
            return self._move(self.emit, True, move)
        return self.emit.either(
            self.whole, lambda inside: self._move(inside, False, move), lambda inside: self._move(inside, True, move)
        )

    def _move(
        self, emit: Emitter, careful: bool, move: Callable[[TileAccess], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        registers = move(self.access(emit, careful))
        if careful:
            # Instructions of whole warps may follow.
            emit(ptx.BarWarpSyncOp())
        return registers


def is_whole(emit: Emitter, clip: Clip | None, tile: MemoryTile, as_vectors: bool) -> SSAValue | None:
    """Emits the test that all of a tile exists (i1), in rows aligned for vectors where accesses are such.

    Returns None where it never does.
    """
    if clip is not None and clip.plan.never_whole:
        return None
    conditions = [] if clip is None or not clip.bounds else [clip.contains_tile(emit)]
    for _, stride in tile.strides if as_vectors and not tile.are_multiples else ():
        rest = emit.bit_and(stride, STRIDE_BYTES - 1)
        conditions.append(emit.compare(rest, emit.constant(0, i64), "eq"))
    return all_of(emit, conditions) if conditions else None


class MatrixAccess:
    """Moves one register tile from or to shared memory by `ldmatrix` and `stmatrix`: see `plan_matrices`."""

    def __init__(self, emit: Emitter, memory: MemoryTile, plan: MatrixPlan, tid: SSAValue):
        self.emit = emit
        self.plan = plan
        self.addresses = Addresses(emit, memory, tid)

    def load(self, register: Attribute) -> Sequence[SSAValue]:
        """Emits the loads; returns the registers of the tile, which are of this type."""
        registers: list[SSAValue] = []
        for row in self.plan.rows:
            load = ptx.LdMatrixOp("m8n8", self._row(row), [i32] * self.plan.count, trans=self.plan.transposed)
            registers += self.emit(load).res
        if register == i32:
            return registers
        return [self.emit(arith.BitcastOp(value, register)).result for value in registers]

    def store(self, registers: Sequence[SSAValue]) -> None:
        """Emits the stores of the registers of the tile."""
        count = self.plan.count
        words = [r if r.type == i32 else self.emit(arith.BitcastOp(r, i32)).result for r in registers]
        for i, row in enumerate(self.plan.rows):
            data = words[i * count : (i + 1) * count]
            self.emit(ptx.StMatrixOp("m8n8", self._row(row), data, trans=self.plan.transposed))

    def _row(self, row: Access) -> SSAValue:
        """The address of the row that a lane gives, as one value."""
        address, distance = self.addresses.place(row)
        return self.emit.add(address, distance)
