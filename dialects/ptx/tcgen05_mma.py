"""`tcgen05.mma` and its variants. See PTX ISA, "TensorCore 5th Generation Matrix Multiply and Accumulate".

Operands as in `tirx.dialects.ptx.tcgen05`. `ptxas` does not look at the values of descriptors and masks; the verifiers
do where they are constants, and the printer as far as their bits are known, by `tirx.tcgen05.check_mma`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, UnitAttr, i1, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import Value, int32, irdl_op_definition, string, unit
from tirx.dialects.ptx.base import Names, PTXInstruction, Register, address, vector
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, MemoryAccess, Region, SharedMatrix, TensorCells
from tirx.dialects.ptx.known_bits import EVERYTHING, IMMEDIATE, known_bits
from tirx.dialects.ptx.tcgen05 import TOUCHED_LANES, CtaGroupOp, Tcgen05Op, immediate, tmem_operand
from tirx.rules import InstructionFormError
from tirx.tcgen05 import KINDS, Mma, SmemOperand, TmemOperand
from tirx.tcgen05.mma_info import MmaInfo


class MmaKind(StrEnum):
    """`.kind::` of `tcgen05.mma`: the element types."""

    F16 = "f16"
    TF32 = "tf32"
    F8F6F4 = "f8f6f4"
    I8 = "i8"
    MXF8F6F4 = "mxf8f6f4"
    MXF4 = "mxf4"
    MXF4NVF4 = "mxf4nvf4"


@irdl_attr_definition
class MmaKindAttr(EnumAttribute[MmaKind], SpacedOpaqueSyntaxAttribute):
    """The element types of a matrix multiply."""

    name = "ptx.mma_kind"


PLAIN_KINDS = tuple(kind for kind in MmaKind if not KINDS[kind.value].block_scaled)
"""Kinds without scale factors."""

SCALED_KINDS = tuple(kind for kind in MmaKind if KINDS[kind.value].block_scaled)
"""Kinds with scale factors."""


class Collector(StrEnum):
    """What happens to the collector buffer of an operand (PTX ISA, "tcgen05.mma: .collector_usage")."""

    FILL = "fill"
    USE = "use"
    LASTUSE = "lastuse"
    DISCARD = "discard"


@irdl_attr_definition
class CollectorAttr(EnumAttribute[Collector], SpacedOpaqueSyntaxAttribute):
    """How an operand's collector buffer is used."""

    name = "ptx.collector"


def _collector(collector: Collector | str | None) -> CollectorAttr | None:
    return None if collector is None else CollectorAttr(Collector(collector))


def _check_a(op: PTXInstruction, a: SSAValue) -> None:
    if a.type not in (i32, i64):
        raise InstructionFormError(
            f"{op.name}: expected a to be a descriptor (i64) or a TMEM address (i32), found {a.type}"
        )


def _a_text(reg: Names, a: SSAValue) -> str:
    return f"[{reg(a)}]" if a.type == i32 else reg.imm(a)


def _operand(a: SSAValue, depth: int) -> SmemOperand | TmemOperand:
    return tmem_operand(a, depth) if a.type == i32 else SmemOperand(known_bits(a, depth))


def _check_kind(op: PTXInstruction, kind: MmaKind, choices: Sequence[MmaKind]) -> None:
    if kind not in choices:
        names = ", ".join(k.value for k in choices)
        raise InstructionFormError(f"{op.name}: expected kind to be one of {names}, found {kind.value}")


_METADATA_LANES = 8
"""Lanes of every 32 that hold scale factors of B, or the metadata of 16-bit types."""


def _cells(address: SSAValue, lanes: int, columns: int | None) -> TensorCells:
    """`lanes` of every 32; one column where it is not known how many."""
    return TensorCells(address, lanes, columns or 1, all_warps=True)


@lru_cache(maxsize=256)
def _form(
    kind: str, cta_group: int, ws: bool, sparse: bool, scale_vector: str | None, descriptor: int | None
) -> MmaInfo:
    """What the form of an instruction and its instruction descriptor say, whatever its operands are."""
    return MmaInfo(Mma(kind, cta_group, ws, sparse, scale_vector, descriptor=descriptor))


def _effects(op: Tcgen05MmaOp | Tcgen05MmaBlockScaleOp | Tcgen05MmaWsOp) -> Effects:
    """The operands in shared and tensor memory, as far as the instruction descriptor is known."""
    group = 1 if isinstance(op, Tcgen05MmaWsOp) else op.cta_group.value.data
    form = op.kind.data.value, group, isinstance(op, Tcgen05MmaWsOp), op.sparse_metadata is not None
    scale_vector = op.scale_vector if isinstance(op, Tcgen05MmaBlockScaleOp) else None
    info = _form(*form, None if scale_vector is None else scale_vector.data, immediate(op.idesc, EVERYTHING))
    idesc, bits = info.idesc, 256 // info.kind.k
    a, b = SharedMatrix(op.a), SharedMatrix(op.b)
    if idesc is not None:
        stored = idesc.k // 2 if idesc.sparse else idesc.k
        a = SharedMatrix(op.a, idesc.a_major, (idesc.m // group, stored), bits)
        b = SharedMatrix(op.b, idesc.b_major, (idesc.n // group, idesc.k), bits)
    reads: list[Region] = [b, _cells(op.a, TOUCHED_LANES, info.a_columns) if op.a.type == i32 else a]
    if op.sparse_metadata is not None:
        reads.append(_cells(op.sparse_metadata, _METADATA_LANES, 1))
    if isinstance(op, Tcgen05MmaBlockScaleOp):
        reads.append(_cells(op.scale_a, TOUCHED_LANES, info.sfa_columns))
        reads.append(_cells(op.scale_b, _METADATA_LANES, 1))
    written = _cells(op.d, TOUCHED_LANES, info.d_columns)
    return Effects(MemoryAccess(AccessKind.TENSOR_CORE, tuple(reads), (written,), shape=(info.m, info.n)))


class _ProductOp(Tcgen05Op, abc.ABC):
    ISSUE: ClassVar = Issue.ONE_THREAD

    @abc.abstractmethod
    def describe(self, depth: int) -> Mma:
        raise NotImplementedError

    @property
    def description(self) -> Mma:
        return self.describe(EVERYTHING)

    def features(self) -> tuple[str, ...]:
        return MmaInfo(self.describe(IMMEDIATE)).features


@irdl_op_definition
class Tcgen05MmaOp(_ProductOp, CtaGroupOp):
    """D = A * B (+ D if `enable_d`), asynchronously; one thread of the CTA (pair) issues it.

    `a` is a matrix descriptor (i64) or a tensor-memory address (i32). `disable_lanes` are four (cta_group 1) or eight
    (cta_group 2) i32 registers: bit set = lane of D not written. `scale_d` s makes the sum A * B + D * 2^-s.
    `sparse_metadata` (a tensor-memory address) makes A sparse.
    """

    name = "ptx.tcgen05.mma"

    d = operand_def(i32)
    a = operand_def(Register)
    b = operand_def(i64)
    idesc = operand_def(i32)
    enable_d = operand_def(i1)
    sparse_metadata = opt_operand_def(i32)
    disable_lanes = var_operand_def(i32)
    kind = prop_def(MmaKindAttr)
    collector = opt_prop_def(CollectorAttr)
    ashift = opt_prop_def(UnitAttr)
    scale_d = opt_prop_def(IntegerAttr[I32])

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    $kind $d `,` $a `,` $b `,` $idesc `,` $enable_d `cta_group` $cta_group
    (`sparse_metadata` $sparse_metadata^)? (`disable_lanes` `(` $disable_lanes^ `)`)? (`ashift` $ashift^)?
    (`collector_a` $collector^)? (`scale_d` $scale_d^)? attr-dict `:` type($a)
    """

    def __init__(
        self,
        d: Value,
        a: Value,
        b: Value,
        idesc: Value,
        enable_d: Value,
        *,
        kind: MmaKind | str,
        cta_group: int = 1,
        collector: Collector | str | None = None,
        ashift: bool = False,
        disable_lanes: Sequence[Value] = (),
        scale_d: int | None = None,
        sparse_metadata: Value | None = None,
    ):
        super().__init__(
            operands=[d, a, b, idesc, enable_d, sparse_metadata, disable_lanes],
            properties={
                "kind": MmaKindAttr(MmaKind(kind)),
                "cta_group": int32(cta_group),
                "collector": _collector(collector),
                "ashift": unit(ashift),
                "scale_d": int32(scale_d),
            },
        )

    def verify_(self) -> None:
        _check_a(self, self.a)
        _check_kind(self, self.kind.data, PLAIN_KINDS)
        super().verify_()

    def effects(self) -> Effects:
        return _effects(self)

    def describe(self, depth: int) -> Mma:
        return Mma(
            self.kind.data.value,
            self.cta_group.value.data,
            sparse=self.sparse_metadata is not None,
            a=_operand(self.a, depth),
            b=SmemOperand(known_bits(self.b, depth)),
            d=tmem_operand(self.d, depth),
            descriptor=immediate(self.idesc, depth),
            sparse_metadata=None if self.sparse_metadata is None else tmem_operand(self.sparse_metadata, depth),
            collector_buffer=None if self.collector is None else "a",
            collector_usage=None if self.collector is None else self.collector.data.value,
            ashift=self.ashift is not None,
            disable_output_lane=len(self.disable_lanes) or None,
            scale_input_d=None if self.scale_d is None else self.scale_d.value.data,
        )

    def emit(self, reg: Names) -> str:
        sparse = ".sp" if self.sparse_metadata is not None else ""
        ashift = ".ashift" if self.ashift is not None else ""
        collector = "" if self.collector is None else f".collector::a::{self.collector.data.value}"
        operands = [address(reg, self.d), _a_text(reg, self.a), reg.imm(self.b)]
        if self.sparse_metadata is not None:
            operands.append(address(reg, self.sparse_metadata))
        operands.append(reg.imm(self.idesc))
        if self.disable_lanes:
            operands.append(vector(reg, self.disable_lanes))
        operands.append(reg.imm(self.enable_d))
        if self.scale_d is not None:
            operands.append(str(self.scale_d.value.data))
        kind = f"{self.group}.kind::{self.kind.data.value}"
        return f"tcgen05.mma{sparse}.{kind}{ashift}{collector} {', '.join(operands)}"


@irdl_op_definition
class Tcgen05MmaBlockScaleOp(_ProductOp, CtaGroupOp):
    """`tcgen05.mma` with scale factors of A and B in tensor memory: kinds mxf8f6f4, mxf4, mxf4nvf4.

    `scale_vector` says how many elements along K share a factor; the kinds that have only one size may leave it out.

    ```mlir
    ptx.tcgen05.mma.block_scale mxf4nvf4 "block16" %d, %a, %b, %idesc, %sa, %sb, %p cta_group 1 : i64
    ```
    """

    name = "ptx.tcgen05.mma.block_scale"

    d = operand_def(i32)
    a = operand_def(Register)
    b = operand_def(i64)
    idesc = operand_def(i32)
    scale_a = operand_def(i32)
    scale_b = operand_def(i32)
    enable_d = operand_def(i1)
    sparse_metadata = opt_operand_def(i32)
    kind = prop_def(MmaKindAttr)
    scale_vector = opt_prop_def(StringAttr)
    collector = opt_prop_def(CollectorAttr)

    assembly_format = """
    $kind ($scale_vector^)? $d `,` $a `,` $b `,` $idesc `,` $scale_a `,` $scale_b `,` $enable_d `cta_group` $cta_group
    (`sparse_metadata` $sparse_metadata^)? (`collector_a` $collector^)? attr-dict `:` type($a)
    """

    def __init__(
        self,
        d: Value,
        a: Value,
        b: Value,
        idesc: Value,
        scale_a: Value,
        scale_b: Value,
        enable_d: Value,
        *,
        kind: MmaKind | str,
        scale_vector: str | None = None,
        cta_group: int = 1,
        collector: Collector | str | None = None,
        sparse_metadata: Value | None = None,
    ):
        super().__init__(
            operands=[d, a, b, idesc, scale_a, scale_b, enable_d, sparse_metadata],
            properties={
                "kind": MmaKindAttr(MmaKind(kind)),
                "scale_vector": string(scale_vector),
                "cta_group": int32(cta_group),
                "collector": _collector(collector),
            },
        )

    def verify_(self) -> None:
        _check_a(self, self.a)
        _check_kind(self, self.kind.data, SCALED_KINDS)
        super().verify_()

    def effects(self) -> Effects:
        return _effects(self)

    def describe(self, depth: int) -> Mma:
        return Mma(
            self.kind.data.value,
            self.cta_group.value.data,
            sparse=self.sparse_metadata is not None,
            scale_vector=None if self.scale_vector is None else self.scale_vector.data,
            a=_operand(self.a, depth),
            b=SmemOperand(known_bits(self.b, depth)),
            d=tmem_operand(self.d, depth),
            descriptor=immediate(self.idesc, depth),
            sparse_metadata=None if self.sparse_metadata is None else tmem_operand(self.sparse_metadata, depth),
            scale_a=tmem_operand(self.scale_a, depth),
            scale_b=tmem_operand(self.scale_b, depth),
            collector_buffer=None if self.collector is None else "a",
            collector_usage=None if self.collector is None else self.collector.data.value,
        )

    def emit(self, reg: Names) -> str:
        sparse = ".sp" if self.sparse_metadata is not None else ""
        collector = "" if self.collector is None else f".collector::a::{self.collector.data.value}"
        operands = [address(reg, self.d), _a_text(reg, self.a), reg.imm(self.b)]
        if self.sparse_metadata is not None:
            operands.append(address(reg, self.sparse_metadata))
        operands.append(reg.imm(self.idesc))
        operands += [address(reg, self.scale_a), address(reg, self.scale_b), reg.imm(self.enable_d)]
        vector_size = "" if self.scale_vector is None else f".{self.scale_vector.data}"
        kind = f"{self.group}.kind::{self.kind.data.value}.block_scale{vector_size}"
        return f"tcgen05.mma{sparse}.{kind}{collector} {', '.join(operands)}"


@irdl_op_definition
class Tcgen05MmaWsOp(_ProductOp):
    """The weight-stationary multiply: as `ptx.tcgen05.mma`, B stays in a collector buffer; always cta_group 1.

    `zero_column_mask` (i64) says which columns of B count as zero. See PTX ISA, "tcgen05.mma.ws" and "Zero-Column
    Mask Descriptor".
    """

    name = "ptx.tcgen05.mma.ws"

    d = operand_def(i32)
    a = operand_def(Register)
    b = operand_def(i64)
    idesc = operand_def(i32)
    enable_d = operand_def(i1)
    zero_column_mask = opt_operand_def(i64)
    sparse_metadata = opt_operand_def(i32)
    kind = prop_def(MmaKindAttr)
    buffer = opt_prop_def(StringAttr)
    collector = opt_prop_def(CollectorAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    $kind $d `,` $a `,` $b `,` $idesc `,` $enable_d (`zero_column_mask` $zero_column_mask^)?
    (`sparse_metadata` $sparse_metadata^)? (`buffer` $buffer^)? (`collector` $collector^)? attr-dict `:` type($a)
    """

    def __init__(
        self,
        d: Value,
        a: Value,
        b: Value,
        idesc: Value,
        enable_d: Value,
        *,
        kind: MmaKind | str,
        buffer: str | None = None,
        collector: Collector | str | None = None,
        zero_column_mask: Value | None = None,
        sparse_metadata: Value | None = None,
    ):
        """`buffer` and `collector` are given together or not at all (`b0`, `discard`)."""
        super().__init__(
            operands=[d, a, b, idesc, enable_d, zero_column_mask, sparse_metadata],
            properties={
                "kind": MmaKindAttr(MmaKind(kind)),
                "buffer": string(buffer),
                "collector": _collector(collector),
            },
        )

    @property
    def group(self) -> str:
        """The modifier's text: weight-stationary multiplies have one CTA only."""
        return "cta_group::1"

    def verify_(self) -> None:
        _check_a(self, self.a)
        _check_kind(self, self.kind.data, PLAIN_KINDS)
        if (self.buffer is None) != (self.collector is None):
            raise InstructionFormError("expected both or neither of buffer and collector, found one")
        super().verify_()

    def effects(self) -> Effects:
        return _effects(self)

    def describe(self, depth: int) -> Mma:
        mask = self.zero_column_mask
        return Mma(
            self.kind.data.value,
            ws=True,
            sparse=self.sparse_metadata is not None,
            a=_operand(self.a, depth),
            b=SmemOperand(known_bits(self.b, depth)),
            d=tmem_operand(self.d, depth),
            descriptor=immediate(self.idesc, depth),
            masked=mask is not None,
            mask=immediate(mask, depth),
            sparse_metadata=None if self.sparse_metadata is None else tmem_operand(self.sparse_metadata, depth),
            collector_buffer=None if self.buffer is None else self.buffer.data,
            collector_usage=None if self.collector is None else self.collector.data.value,
        )

    def emit(self, reg: Names) -> str:
        sparse = ".sp" if self.sparse_metadata is not None else ""
        collector = ""
        if self.buffer is not None:
            assert self.collector is not None
            collector = f".collector::{self.buffer.data}::{self.collector.data.value}"
        operands = [address(reg, self.d), _a_text(reg, self.a), reg.imm(self.b)]
        if self.sparse_metadata is not None:
            operands.append(address(reg, self.sparse_metadata))
        operands += [reg.imm(self.idesc), reg.imm(self.enable_d)]
        if self.zero_column_mask is not None:
            operands.append(reg.imm(self.zero_column_mask))
        kind = f"{self.group}.kind::{self.kind.data.value}"
        return f"tcgen05.mma.ws{sparse}.{kind}{collector} {', '.join(operands)}"
