"""The tcgen05 instructions other than loads, stores and multiplies: allocation, copies, completion, ordering.

See PTX ISA, "TensorCore 5th Generation Family Instructions". Tensor-memory addresses are i32 (lane << 16 | column),
matrix descriptors and zero-column masks i64, instruction descriptors i32. None of these ops has a memory-effect
trait: unknown effects keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, i16, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def

from tirx.dialects.definition import Value, int32, irdl_op_definition, string
from tirx.dialects.ptx.arith import AddOp
from tirx.dialects.ptx.base import Names, PTXInstruction, address, expect_choice
from tirx.dialects.ptx.effects import (
    NO_EFFECTS,
    AccessKind,
    Bytes,
    Effects,
    Issue,
    MemoryAccess,
    SharedMatrix,
    TensorCells,
    TensorCommit,
    TensorFence,
    WaitAll,
)
from tirx.dialects.ptx.known_bits import EVERYTHING, IMMEDIATE, known_bits
from tirx.dialects.ptx.memory import LdOp, Space, StOp
from tirx.rules import InstructionFormError, InvalidOperation
from tirx.symbolic.integers import Integers
from tirx.tcgen05 import LegalityError, TmemOperand
from tirx.tcgen05.check import Instruction, check_instruction
from tirx.tcgen05.check_memory import CP_SHAPES, Alloc, Cp, Shift
from tirx.tcgen05.tmem import CTA_GROUPS

_SLOT_BYTES = 4
"""What tcgen05.alloc stores: an address in tensor memory."""

TOUCHED_LANES = 16
"""Lanes of every 32 that all data paths put rows in."""

_COPIED_LANES = 1
"""Lanes of every 32 that every tcgen05.cp writes."""

_SHIFTED_COLUMNS = 8
"""32 bytes (PTX ISA, "tcgen05.shift")."""


def immediate(value: SSAValue | None, depth: int = IMMEDIATE) -> int | None:
    """The bits of an operand where all of them are known before the kernel runs."""
    return None if value is None else known_bits(value, depth).value


def tmem_operand(address: SSAValue, depth: int, offset: int = 0) -> TmemOperand:
    """Lane and column of an address in tensor memory, as far as they are known.

    The column counts from the start of an allocation where the address is a sum with what `tcgen05.alloc` wrote.
    """
    terms = list(_terms(address, depth - 1, set()))
    base = next((term for term in terms if depth > IMMEDIATE and allocation_of(term) is not None), None)
    if base is not None:
        terms.remove(base)
    place = Integers.of(offset, 32)
    for term in terms:
        place += known_bits(term, depth)
    column, lane = place.extend(16, signed=False).value, place.shift_right(16, signed=False).value
    if base is None or (allocation := allocation_of(base)) is None:
        return TmemOperand(column, lane, base="tensor memory")
    return TmemOperand(column, lane, allocation.describe(depth).columns, base=allocation)


def _terms(value: SSAValue, depth: int, seen: set[SSAValue]) -> Iterator[SSAValue]:
    """The values that add up to a value; a sum that comes again is a term itself, so that doublings stay short."""
    if isinstance(op := value.owner, AddOp) and depth and value not in seen:
        seen.add(value)
        yield from _terms(op.lhs, depth - 1, seen)
        yield from _terms(op.rhs, depth - 1, seen)
    else:
        yield value


def allocation_of(base: SSAValue) -> Tcgen05AllocOp | None:
    """The allocation at `base`, where that is read from the slot that one allocation, and nothing else, writes."""
    load = base.owner
    if not isinstance(load, LdOp) or load.space.data is not Space.SHARED or load.offset.value.data:
        return None
    users = [use.operation for use in load.address.uses]
    if any(isinstance(user, StOp) for user in users):
        return None
    writers = [user for user in users if isinstance(user, Tcgen05AllocOp)]
    return writers[0] if len(writers) == 1 else None


def require(check: Callable[[], None]) -> None:
    """Runs a check of `tirx.tcgen05`; VerifyException with its message if it fails."""
    try:
        check()
    except LegalityError as error:
        raise InvalidOperation(str(error)) from error


class Tcgen05Op(PTXInstruction, abc.ABC):
    """An instruction of the targets that have tensor memory.

    The rules of `tirx.tcgen05.check` hold for it. The verifier looks at immediates; the printer, with the target known,
    at all that is known of the operands.
    """

    NEEDS: ClassVar = ("tcgen05",)

    def describe(self, depth: int) -> Instruction | None:
        """The instruction as plain data, with what is known of its operands (`known_bits`); None where there are no
        rules for it."""
        return None

    @property
    def description(self) -> Instruction | None:
        """The instruction with all that is known of its operands."""
        return self.describe(EVERYTHING)

    def verify_(self) -> None:
        if (description := self.describe(IMMEDIATE)) is not None:
            require(lambda: check_instruction(description))


class CtaGroupOp(Tcgen05Op, abc.ABC):
    """`cta_group` 2 works on the tensor memories of a pair of CTAs."""

    cta_group = prop_def(IntegerAttr[I32])

    def verify_(self) -> None:
        expect_choice("cta_group", self.cta_group.value.data, CTA_GROUPS)
        super().verify_()

    @property
    def group(self) -> str:
        """The modifier's text."""
        return f"cta_group::{self.cta_group.value.data}"


def _check_columns(op: CtaGroupOp, columns: IntegerAttr[I32] | None, register: SSAValue | None) -> None:
    if (columns is None) == (register is None):
        found = "none" if columns is None else "both"
        raise InstructionFormError(f"{op.name}: expected one of columns and columns_in, found {found}")


def _allocation(op: Tcgen05AllocOp | Tcgen05DeallocOp, depth: int) -> Alloc:
    columns = immediate(op.columns_register, depth) if op.columns is None else op.columns.value.data
    return Alloc(columns, op.cta_group.value.data)


def _columns(reg: Names, columns: IntegerAttr[I32] | None, register: SSAValue | None) -> str:
    if columns is not None:
        return str(columns.value.data)
    return "" if register is None else reg(register)


@irdl_op_definition
class Tcgen05AllocOp(CtaGroupOp):
    """Allocates `columns` columns of tensor memory and stores their address at a shared address; executed by one warp.

    ```mlir
    ptx.tcgen05.alloc %slot columns 128 cta_group 1
    ptx.tcgen05.alloc %slot columns_in %n cta_group 2
    ```
    See PTX ISA, "tcgen05.alloc".
    """

    name = "ptx.tcgen05.alloc"
    ISSUE: ClassVar = Issue.ONE_WARP

    dst = operand_def(i32)
    columns_register = opt_operand_def(i32)
    columns = opt_prop_def(IntegerAttr[I32])

    assembly_format = "$dst (`columns` $columns^)? (`columns_in` $columns_register^)? `cta_group` $cta_group attr-dict"

    def __init__(self, dst: Value, columns: int | Value, cta_group: int = 1):
        """`columns` is a number or an i32 register."""
        count = columns if isinstance(columns, int) else None
        register = None if isinstance(columns, int) else columns
        super().__init__(operands=[dst, register], properties={"columns": int32(count), "cta_group": int32(cta_group)})

    def describe(self, depth: int) -> Alloc:
        return _allocation(self, depth)

    def verify_(self) -> None:
        _check_columns(self, self.columns, self.columns_register)
        super().verify_()

    def effects(self) -> Effects:
        slot = Bytes(self.dst, _SLOT_BYTES)
        return Effects(MemoryAccess(AccessKind.GENERIC, writes=(slot,), warp_wide=True))

    def emit(self, reg: Names) -> str:
        columns = _columns(reg, self.columns, self.columns_register)
        where = address(reg, self.dst)
        return f"tcgen05.alloc.{self.group}.sync.aligned.shared::cta.b32 {where}, {columns}"


@irdl_op_definition
class Tcgen05DeallocOp(CtaGroupOp):
    """Frees what `tcgen05.alloc` gave; executed by one warp, before the kernel ends. See PTX ISA, "tcgen05.dealloc"."""

    name = "ptx.tcgen05.dealloc"
    ISSUE: ClassVar = Issue.ONE_WARP
    EFFECTS: ClassVar = NO_EFFECTS

    taddr = operand_def(i32)
    columns_register = opt_operand_def(i32)
    columns = opt_prop_def(IntegerAttr[I32])

    assembly_format = (
        "$taddr (`columns` $columns^)? (`columns_in` $columns_register^)? `cta_group` $cta_group attr-dict"
    )

    def __init__(self, taddr: Value, columns: int | Value, cta_group: int = 1):
        """`columns` is a number or an i32 register."""
        count = columns if isinstance(columns, int) else None
        register = None if isinstance(columns, int) else columns
        super().__init__(
            operands=[taddr, register], properties={"columns": int32(count), "cta_group": int32(cta_group)}
        )

    def describe(self, depth: int) -> Alloc:
        return _allocation(self, depth)

    def verify_(self) -> None:
        _check_columns(self, self.columns, self.columns_register)
        super().verify_()

    def emit(self, reg: Names) -> str:
        columns = _columns(reg, self.columns, self.columns_register)
        return f"tcgen05.dealloc.{self.group}.sync.aligned.b32 {reg(self.taddr)}, {columns}"


@irdl_op_definition
class Tcgen05RelinquishAllocPermitOp(CtaGroupOp):
    """Promises that this CTA allocates no more tensor memory; executed by one warp."""

    name = "ptx.tcgen05.relinquish_alloc_permit"
    ISSUE: ClassVar = Issue.ONE_WARP
    EFFECTS: ClassVar = NO_EFFECTS

    assembly_format = "`cta_group` $cta_group attr-dict"

    def __init__(self, cta_group: int = 1):
        super().__init__(properties={"cta_group": int32(cta_group)})

    def emit(self, reg: Names) -> str:
        return f"tcgen05.relinquish_alloc_permit.{self.group}.sync.aligned"


@irdl_op_definition
class Tcgen05CommitOp(CtaGroupOp):
    """Makes an mbarrier track the completion of all asynchronous tcgen05 work that this thread issued so far.

    `multicast` (i16) signals the mbarriers at the same offset of those CTAs of the cluster.
    """

    name = "ptx.tcgen05.commit"
    ISSUE: ClassVar = Issue.ONE_THREAD

    barrier = operand_def(i32)
    multicast = opt_operand_def(i16)

    assembly_format = "$barrier (`multicast` $multicast^)? `cta_group` $cta_group attr-dict"

    def __init__(self, barrier: Value, cta_group: int = 1, multicast: Value | None = None):
        super().__init__(operands=[barrier, multicast], properties={"cta_group": int32(cta_group)})

    def effects(self) -> Effects:
        return Effects(synchronization=TensorCommit(self.barrier))

    def emit(self, reg: Names) -> str:
        multicast = "" if self.multicast is None else ".multicast::cluster"
        mask = "" if self.multicast is None else f", {reg(self.multicast)}"
        where = address(reg, self.barrier)
        return f"tcgen05.commit.{self.group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 {where}{mask}"


@irdl_op_definition
class Tcgen05CpOp(CtaGroupOp):
    """Starts a copy from shared memory (a K-major matrix descriptor) to tensor memory; one thread issues it.

    `multicast` says which warps' lanes get the rows of the shapes of 32 and 64 rows, `decompress` the packing of the
    source, whose elements become bytes.

    ```mlir
    ptx.tcgen05.cp "32x128b" %taddr, %desc multicast "warpx4" cta_group 1
    ptx.tcgen05.cp "128x256b" %taddr, %desc decompress "b4x16_p64" cta_group 1
    ```
    See PTX ISA, "tcgen05.cp".
    """

    name = "ptx.tcgen05.cp"
    ISSUE: ClassVar = Issue.ONE_THREAD

    taddr = operand_def(i32)
    source = operand_def(i64)
    shape = prop_def(StringAttr)
    multicast = opt_prop_def(StringAttr)
    decompress = opt_prop_def(StringAttr)

    assembly_format = """
    $shape $taddr `,` $source (`multicast` $multicast^)? (`decompress` $decompress^)? `cta_group` $cta_group attr-dict
    """

    def __init__(
        self,
        taddr: Value,
        source: Value,
        shape: str,
        *,
        multicast: str | None = None,
        decompress: str | None = None,
        cta_group: int = 1,
    ):
        super().__init__(
            operands=[taddr, source],
            properties={
                "shape": StringAttr(shape),
                "multicast": string(multicast),
                "decompress": string(decompress),
                "cta_group": int32(cta_group),
            },
        )

    def describe(self, depth: int) -> Cp:
        place = tmem_operand(self.taddr, depth)
        return Cp(
            self.shape.data,
            None if self.multicast is None else self.multicast.data,
            None if self.decompress is None else self.decompress.data,
            self.cta_group.value.data,
            place.lane,
            place.column,
            place.allocated,
            descriptor=known_bits(self.source, depth),
        )

    def effects(self) -> Effects:
        shape = CP_SHAPES[self.shape.data]
        source = SharedMatrix(self.source, "K", (shape.rows, shape.row_bytes), 8)
        written = TensorCells(self.taddr, _COPIED_LANES, shape.columns, all_warps=True)
        return Effects(MemoryAccess(AccessKind.TENSOR_CORE, reads=(source,), writes=(written,)))

    def emit(self, reg: Names) -> str:
        multicast = "" if self.multicast is None else f".{self.multicast.data}"
        formats = "" if self.decompress is None else f".b8x16.{self.decompress.data}"
        form = f"{self.group}.{self.shape.data}{multicast}{formats}"
        return f"tcgen05.cp.{form} {address(reg, self.taddr)}, {reg.imm(self.source)}"


@irdl_op_definition
class Tcgen05ShiftOp(CtaGroupOp):
    """Starts to move rows of 32 bytes down by one lane, but for the last of each 32; one thread issues it.

    The lane of `taddr` is a multiple of 32. See PTX ISA, "tcgen05.shift".
    """

    name = "ptx.tcgen05.shift"
    ISSUE: ClassVar = Issue.ONE_THREAD
    NEEDS: ClassVar = ("tcgen05", "tcgen05.shift")

    taddr = operand_def(i32)

    assembly_format = "$taddr `cta_group` $cta_group attr-dict"

    def __init__(self, taddr: Value, cta_group: int = 1):
        super().__init__(operands=[taddr], properties={"cta_group": int32(cta_group)})

    def effects(self) -> Effects:
        cells = TensorCells(self.taddr, TOUCHED_LANES, _SHIFTED_COLUMNS, all_warps=True)
        return Effects(MemoryAccess(AccessKind.TENSOR_CORE, reads=(cells,), writes=(cells,)))

    def describe(self, depth: int) -> Shift:
        place = tmem_operand(self.taddr, depth)
        return Shift(place.lane, place.column, place.allocated, cta_group=self.cta_group.value.data)

    def emit(self, reg: Names) -> str:
        return f"tcgen05.shift.{self.group}.down {address(reg, self.taddr)}"


class _PlainOp(Tcgen05Op, abc.ABC):
    """An instruction without operands and modifiers."""

    assembly_format = "attr-dict"


@irdl_op_definition
class Tcgen05WaitLdOp(_PlainOp):
    """Waits for all `tcgen05.ld` of this thread."""

    name = "ptx.tcgen05.wait.ld"
    ISSUE: ClassVar = Issue.WARP
    EFFECTS: ClassVar = Effects(synchronization=WaitAll(AccessKind.TENSOR_LOAD))

    def emit(self, reg: Names) -> str:
        return "tcgen05.wait::ld.sync.aligned"


@irdl_op_definition
class Tcgen05WaitStOp(_PlainOp):
    """Waits for all `tcgen05.st` of this thread."""

    name = "ptx.tcgen05.wait.st"
    ISSUE: ClassVar = Issue.WARP
    EFFECTS: ClassVar = Effects(synchronization=WaitAll(AccessKind.TENSOR_STORE))

    def emit(self, reg: Names) -> str:
        return "tcgen05.wait::st.sync.aligned"


@irdl_op_definition
class Tcgen05FenceBeforeThreadSyncOp(_PlainOp):
    """Orders this thread's earlier asynchronous tcgen05 work before a barrier that follows."""

    name = "ptx.tcgen05.fence.before_thread_sync"
    ISSUE: ClassVar = Issue.THREAD
    EFFECTS: ClassVar = Effects(synchronization=TensorFence(after=False))

    def emit(self, reg: Names) -> str:
        return "tcgen05.fence::before_thread_sync"


@irdl_op_definition
class Tcgen05FenceAfterThreadSyncOp(_PlainOp):
    """Orders this thread's later asynchronous tcgen05 work after a barrier that precedes."""

    name = "ptx.tcgen05.fence.after_thread_sync"
    ISSUE: ClassVar = Issue.THREAD
    EFFECTS: ClassVar = Effects(synchronization=TensorFence(after=True))

    def emit(self, reg: Names) -> str:
        return "tcgen05.fence::after_thread_sync"
