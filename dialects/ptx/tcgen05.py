"""The tcgen05 instructions: tensor memory and its matrix multiply.

See PTX ISA, "TensorCore 5th Generation Family Instructions". Tensor-memory addresses are i32 (lane << 16 | column),
matrix descriptors and zero-column masks i64, instruction descriptors i32. None of these ops has a memory-effect
trait: unknown effects keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, UnitAttr, f32, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.ptx.base import Names, PTXInstruction, Register, address, expect_choice, values, vector
from tirx.tcgen05 import LD_SHAPES
from tirx.tcgen05.tmem import ALLOCATION_SIZES

Value = SSAValue | Operation


def int32(value: int | None) -> IntegerAttr[I32] | None:
    """A property, absent for None."""
    return None if value is None else IntegerAttr(value, i32)


def unit(flag: bool) -> UnitAttr | None:
    """A flag property, absent for False."""
    return UnitAttr() if flag else None


class Tcgen05Op(PTXInstruction, abc.ABC):
    """An instruction of the targets that have tensor memory."""

    def features(self) -> tuple[str, ...]:
        return ("tcgen05",)


class CtaGroupOp(Tcgen05Op, abc.ABC):
    """`cta_group` 2 works on the tensor memories of a pair of CTAs."""

    cta_group = prop_def(IntegerAttr[I32])

    def verify_(self) -> None:
        expect_choice("cta_group", self.cta_group.value.data, (1, 2))

    @property
    def group(self) -> str:
        """The modifier's text."""
        return f"cta_group::{self.cta_group.value.data}"


@irdl_op_definition
class Tcgen05AllocOp(CtaGroupOp):
    """Allocates `columns` columns of tensor memory and stores their address at a shared address; executed by one warp.

    ```mlir
    ptx.tcgen05.alloc %slot columns 128 cta_group 1
    ```
    """

    name = "ptx.tcgen05.alloc"

    dst = operand_def(i32)
    columns = prop_def(IntegerAttr[I32])

    assembly_format = "$dst `columns` $columns `cta_group` $cta_group attr-dict"

    def __init__(self, dst: Value, columns: int, cta_group: int = 1):
        super().__init__(operands=[dst], properties={"columns": int32(columns), "cta_group": int32(cta_group)})

    def verify_(self) -> None:
        super().verify_()
        expect_choice("number of columns", self.columns.value.data, ALLOCATION_SIZES)

    def emit(self, reg: Names) -> str:
        where, columns = address(reg, self.dst), self.columns.value.data
        return f"tcgen05.alloc.{self.group}.sync.aligned.shared::cta.b32 {where}, {columns}"


@irdl_op_definition
class Tcgen05DeallocOp(CtaGroupOp):
    """Frees what `tcgen05.alloc` gave; executed by one warp, before the kernel ends."""

    name = "ptx.tcgen05.dealloc"

    taddr = operand_def(i32)
    columns = prop_def(IntegerAttr[I32])

    assembly_format = "$taddr `columns` $columns `cta_group` $cta_group attr-dict"

    def __init__(self, taddr: Value, columns: int, cta_group: int = 1):
        super().__init__(operands=[taddr], properties={"columns": int32(columns), "cta_group": int32(cta_group)})

    def verify_(self) -> None:
        super().verify_()
        expect_choice("number of columns", self.columns.value.data, ALLOCATION_SIZES)

    def emit(self, reg: Names) -> str:
        return f"tcgen05.dealloc.{self.group}.sync.aligned.b32 {reg(self.taddr)}, {self.columns.value.data}"


@irdl_op_definition
class Tcgen05RelinquishAllocPermitOp(CtaGroupOp):
    """Promises that this CTA allocates no more tensor memory; executed by one warp."""

    name = "ptx.tcgen05.relinquish_alloc_permit"

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

    barrier = operand_def(i32)
    multicast = opt_operand_def(i16)

    assembly_format = "$barrier (`multicast` $multicast^)? `cta_group` $cta_group attr-dict"

    def __init__(self, barrier: Value, cta_group: int = 1, multicast: Value | None = None):
        super().__init__(operands=[barrier, multicast], properties={"cta_group": int32(cta_group)})

    def emit(self, reg: Names) -> str:
        multicast = "" if self.multicast is None else ".multicast::cluster"
        mask = "" if self.multicast is None else f", {reg(self.multicast)}"
        where = address(reg, self.barrier)
        return f"tcgen05.commit.{self.group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 {where}{mask}"


LD_ST_SHAPES: Mapping[str, tuple[int, int]] = {
    shape.name: (shape.registers_per_repeat, shape.max_num) for shape in LD_SHAPES.values()
}
"""Shape of `tcgen05.ld`/`st` -> (registers for `.x1`, largest `.x`)."""

_SPLIT_SHAPE = "16x32bx2"
"""The one shape with a second half at a column offset of its own."""


def _check_ld_st(op: PTXInstruction, shape: str, count: int, split: bool, types: Sequence[Attribute]) -> None:
    expect_choice("shape", shape, tuple(LD_ST_SHAPES))
    per, largest = LD_ST_SHAPES[shape]
    if count < 1 or count & count - 1 or count > largest:
        raise VerifyException(f"expected num to be a power of two up to {largest} for shape {shape}, got {count}")
    if len(types) != per * count:
        raise VerifyException(f"{op.name}: expected {per * count} registers for {shape}.x{count}, got {len(types)}")
    if (shape == _SPLIT_SHAPE) != split:
        found = "one" if split else "none"
        raise VerifyException(f"expected a half_split_offset for shape {_SPLIT_SHAPE} only, got {found} for {shape}")
    for type_ in types:
        if type_ not in (i32, f32):
            raise VerifyException(f"{op.name}: expected registers of type i32 or f32, got {type_}")


@irdl_op_definition
class Tcgen05LdOp(Tcgen05Op):
    """Starts to load registers from tensor memory at `taddr + offset` (columns), all lanes of a warp together.

    The registers may be used after `ptx.tcgen05.wait.ld`. See PTX ISA, "tcgen05.ld".
    """

    name = "ptx.tcgen05.ld"

    taddr = operand_def(i32)
    shape = prop_def(StringAttr)
    num = prop_def(IntegerAttr[I32])
    offset = prop_def(IntegerAttr[I32], default_value=IntegerAttr(0, 32))
    pack = opt_prop_def(UnitAttr)
    half_split_offset = opt_prop_def(IntegerAttr[I32])
    res = var_result_def(Register)

    assembly_format = """
    $shape `num` $num $taddr (`offset` $offset^)? (`pack` $pack^)? (`half_split_offset` $half_split_offset^)?
    attr-dict `->` type($res)
    """

    def __init__(
        self,
        taddr: Value,
        shape: str,
        num: int,
        *,
        result_type: Attribute = i32,
        offset: int = 0,
        pack: bool = False,
        half_split_offset: int | None = None,
    ):
        """`pack` joins two 16-bit columns in one register (`.pack::16b`)."""
        per = LD_ST_SHAPES[shape][0] if shape in LD_ST_SHAPES else 1
        super().__init__(
            operands=[taddr],
            properties={
                "shape": StringAttr(shape),
                "num": int32(num),
                "offset": int32(offset),
                "pack": unit(pack),
                "half_split_offset": int32(half_split_offset),
            },
            result_types=[[result_type] * (per * num)],
        )

    def verify_(self) -> None:
        split = self.half_split_offset is not None
        _check_ld_st(self, self.shape.data, self.num.value.data, split, self.res.types)

    def emit(self, reg: Names) -> str:
        pack = "" if self.pack is None else ".pack::16b"
        split = "" if self.half_split_offset is None else f", {self.half_split_offset.value.data}"
        where = address(reg, self.taddr, self.offset.value.data)
        form = f"{self.shape.data}.x{self.num.value.data}{pack}"
        return f"tcgen05.ld.sync.aligned.{form}.b32 {vector(reg, self.res)}, {where}{split}"


@irdl_op_definition
class Tcgen05StOp(Tcgen05Op):
    """Starts to store registers to tensor memory at `taddr + offset` (columns), all lanes of a warp together.

    Complete after `ptx.tcgen05.wait.st`. See PTX ISA, "tcgen05.st".
    """

    name = "ptx.tcgen05.st"

    taddr = operand_def(i32)
    data = var_operand_def(Register)
    shape = prop_def(StringAttr)
    num = prop_def(IntegerAttr[I32])
    offset = prop_def(IntegerAttr[I32], default_value=IntegerAttr(0, 32))
    unpack = opt_prop_def(UnitAttr)
    half_split_offset = opt_prop_def(IntegerAttr[I32])

    assembly_format = """
    $shape `num` $num $taddr (`offset` $offset^)? (`unpack` $unpack^)? (`half_split_offset` $half_split_offset^)?
    `,` $data attr-dict `:` type($data)
    """

    def __init__(
        self,
        taddr: Value,
        data: Sequence[Value],
        shape: str,
        num: int,
        *,
        offset: int = 0,
        unpack: bool = False,
        half_split_offset: int | None = None,
    ):
        """`unpack` spreads a register over two 16-bit columns (`.unpack::16b`)."""
        super().__init__(
            operands=[taddr, values(data)],
            properties={
                "shape": StringAttr(shape),
                "num": int32(num),
                "offset": int32(offset),
                "unpack": unit(unpack),
                "half_split_offset": int32(half_split_offset),
            },
        )

    def verify_(self) -> None:
        split = self.half_split_offset is not None
        _check_ld_st(self, self.shape.data, self.num.value.data, split, self.data.types)

    def emit(self, reg: Names) -> str:
        unpack = "" if self.unpack is None else ".unpack::16b"
        split = "" if self.half_split_offset is None else f"{self.half_split_offset.value.data}, "
        where = address(reg, self.taddr, self.offset.value.data)
        form = f"{self.shape.data}.x{self.num.value.data}{unpack}"
        return f"tcgen05.st.sync.aligned.{form}.b32 {where}, {split}{vector(reg, self.data)}"


class _PlainOp(Tcgen05Op, abc.ABC):
    """An instruction without operands and modifiers."""

    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__()

    @abc.abstractmethod
    def emit(self, reg: Names) -> str: ...


@irdl_op_definition
class Tcgen05WaitLdOp(_PlainOp):
    """Waits for all `tcgen05.ld` of this thread."""

    name = "ptx.tcgen05.wait.ld"

    def emit(self, reg: Names) -> str:
        return "tcgen05.wait::ld.sync.aligned"


@irdl_op_definition
class Tcgen05WaitStOp(_PlainOp):
    """Waits for all `tcgen05.st` of this thread."""

    name = "ptx.tcgen05.wait.st"

    def emit(self, reg: Names) -> str:
        return "tcgen05.wait::st.sync.aligned"


@irdl_op_definition
class Tcgen05FenceBeforeThreadSyncOp(_PlainOp):
    """Orders this thread's earlier asynchronous tcgen05 work before a barrier that follows."""

    name = "ptx.tcgen05.fence.before_thread_sync"

    def emit(self, reg: Names) -> str:
        return "tcgen05.fence::before_thread_sync"


@irdl_op_definition
class Tcgen05FenceAfterThreadSyncOp(_PlainOp):
    """Orders this thread's later asynchronous tcgen05 work after a barrier that precedes."""

    name = "ptx.tcgen05.fence.after_thread_sync"

    def emit(self, reg: Names) -> str:
        return "tcgen05.fence::after_thread_sync"
