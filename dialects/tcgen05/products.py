"""`tcgen05.mma` in all its forms, over tiles or, once those have their places, over addresses.

PTX ISA, "TensorCore 5th Generation Matrix Multiply and Accumulate Operations". `ptxas` does not look at the values of
descriptors and masks: the verifier does where they are constants, and the printer as far as their bits are known.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, I64, IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def, opt_prop_def, prop_def, var_operand_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, address, vector
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, MemoryAccess, Region, SharedMatrix, TensorCells
from tirx.dialects.ptx.known_bits import EVERYTHING, IMMEDIATE
from tirx.dialects.tcgen05.attributes import CollectorAttr, MmaKindAttr
from tirx.dialects.tcgen05.common import (
    TENSOR,
    TOUCHED_LANES,
    CtaGroupOp,
    expect_place,
    immediate,
    is_tile,
    target_of,
    text,
)
from tirx.dialects.tcgen05.facts import (
    check_product,
    instruction_descriptor,
    operand,
    shared_operand,
    tensor_operand,
    zero_column_mask,
)
from tirx.rules import InstructionFormError, InstructionNameError, ProductClauseError
from tirx.smem.smem_descriptor import SEGMENTED_BYTES
from tirx.tcgen05.check import Mma
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.mma_info import FORM_FEATURES, K_BITS, TABLE_COLUMNS, MmaInfo, needed_features

_METADATA_LANES = 8
"""Lanes of every 32 that hold scale factors of B, or the metadata of 16-bit types."""


def _cells(place: SSAValue, lanes: int, columns: int | None) -> TensorCells:
    """`lanes` of every 32; one column where it is not known how many."""
    return TensorCells(place, lanes, columns or 1, all_warps=True)


@lru_cache(maxsize=256)
def _form(
    kind: str, cta_group: int, ws: bool, sparse: bool, scale_vector: str | None, descriptor: int | None
) -> MmaInfo:
    """Returns the form of an instruction and its instruction descriptor, whatever its operands are."""
    return MmaInfo(Mma(kind, cta_group, ws, sparse, scale_vector, descriptor=descriptor))


@irdl_op_definition
class MmaOp(CtaGroupOp):
    """`tcgen05.mma f16 %d, %a, %b, %idesc, %enable : !tirx.tile<128x256xf32, tensor, L>, i64`

    `d = a * b + d`, or `a * b` where `%enable` is false, over one K of the instruction. One thread issues it; it runs
    asynchronously until a commit. D is a tile in tensor memory, or its address (i32); A is a matrix descriptor (i64),
    or in tensor memory as D is. Clauses, in their order:

    - `ws`: the weight-stationary product, of one CTA: `buffer "b0" collector fill` keeps B in one of four buffers;
    - `mxf4nvf4 "block16" ... scales(%sa, %sb : T, T)`: scale factors of A and of B, in tensor memory; the string says
      how many elements along K share one, and may be left out where the kind has one size only;
    - `cta_group 2`: a pair of CTAs multiplies, each with half of the rows of A and half of the columns of B;
    - `zero_column_mask %mask`: columns of B that count as zero, with `ws`;
    - `sparse(%meta : T)`: half of the elements of A are stored, the metadata in tensor memory says which;
    - `table(%table : T)`: B has indices of 3 bits into a table of eight e4m3 for each eight rows (sm_107a,
      sm_107f);
    - `disable_lanes(%0, %1, %2, %3)`: one bit for each lane of D, set where it stays as it is; eight registers for a
      pair;
    - `ashift`: the rows of A, in tensor memory, are moved by one;
    - `collector fill`: keeps A for the next products (`use`, `lastuse`); `collector_b fill`: B (sm_107a, sm_107f);
    - `scale_d 3`: `d = a * b + d * 2^-3`.

    PTX ISA, "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp".
    """

    name = "tcgen05.mma"
    ISSUE: ClassVar = Issue.ONE_THREAD
    FOLLOWS_IMMEDIATES: ClassVar = True

    kind = prop_def(MmaKindAttr)
    d = operand_def(TENSOR)
    a = operand_def()
    b = operand_def(I64)
    idesc = operand_def(I32)
    enable_d = operand_def(I1)
    ws = opt_prop_def(UnitAttr)
    scale_vector = opt_prop_def(StringAttr)
    scales = var_operand_def(TENSOR)
    zero_column_mask = opt_operand_def(I64)
    sparse_metadata = opt_operand_def(TENSOR)
    table = opt_operand_def(TENSOR)
    disable_lanes = var_operand_def(I32)
    ashift = opt_prop_def(UnitAttr)
    buffer = opt_prop_def(StringAttr)
    collector = opt_prop_def(CollectorAttr)
    collector_b = opt_prop_def(CollectorAttr)
    scale_d = opt_prop_def(IntegerAttr[I32])

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    (`ws` $ws^)? $kind ($scale_vector^)? $d `,` $a `,` $b `,` $idesc `,` $enable_d
    (`scales` `(` $scales^ `:` type($scales) `)`)? (`cta_group` $cta_group^)?
    (`zero_column_mask` $zero_column_mask^)? (`sparse` `(` $sparse_metadata^ `:` type($sparse_metadata) `)`)?
    (`table` `(` $table^ `:` type($table) `)`)? (`disable_lanes` `(` $disable_lanes^ `)`)? (`ashift` $ashift^)?
    (`buffer` $buffer^)? (`collector` $collector^)? (`collector_b` $collector_b^)?
    (`scale_d` $scale_d^)? attr-dict `:` type($d) `,` type($a)
    """

    def verify_(self) -> None:
        expect_place(self.d, "the accumulator")
        expect_place(self.a, "A")
        expect_place(self.sparse_metadata, "the sparsity metadata")
        expect_place(self.table, "the table of B")
        for name, scale in zip("AB", self.scales, strict=False):
            expect_place(scale, f"the scale factors of {name}")
        if self.a.type not in (i32, i64) and not is_tile(self.a):
            raise InstructionFormError(
                f"expected A as a descriptor (i64), an address (i32) or a tile, found {self.a.type}"
            )
        scaled = bool(self.scales)
        kinds = [kind.name for kind in KINDS.values() if kind.block_scaled is scaled]
        if self.kind.data.value not in kinds:
            scales = "with" if scaled else "without"
            raise InstructionNameError(
                f"expected a kind {scales} scale factors ({', '.join(kinds)}), found '{self.kind.data.value}'"
            )
        if len(self.scales) not in (0, 2):
            raise ProductClauseError(f"expected scale factors of A and of B, found {len(self.scales)}")
        if self.ws is not None and (self.buffer is None) != (self.collector is None):
            raise ProductClauseError("expected both or neither of buffer and collector, found one")
        if self.ws is None and self.buffer is not None:
            raise ProductClauseError("expected 'buffer' with 'ws' only: other products keep A, in its one buffer")
        check_product(replace(self.describe(IMMEDIATE), target=target_of(self)), self.d)

    def describe(self, depth: int) -> Mma:
        return Mma(
            self.kind.data.value,
            self.cta_group.value.data,
            ws=self.ws is not None,
            sparse=self.sparse_metadata is not None,
            scale_vector=text(self.scale_vector),
            a=operand(self.a, depth),
            b=shared_operand(self.b, depth),
            d=tensor_operand(self.d, depth),
            descriptor=instruction_descriptor(self.idesc, depth),
            masked=self.zero_column_mask is not None,
            mask=zero_column_mask(self.zero_column_mask, depth),
            sparse_metadata=None if self.sparse_metadata is None else tensor_operand(self.sparse_metadata, depth),
            lut_b=None if self.table is None else tensor_operand(self.table, depth),
            scale_a=tensor_operand(self.scales[0], depth) if self.scales else None,
            scale_b=tensor_operand(self.scales[1], depth) if self.scales else None,
            collector_buffer=None if self.collector is None else self._buffer,
            collector_usage=None if self.collector is None else self.collector.data.value,
            collector_b=None if self.collector_b is None else self.collector_b.data.value,
            ashift=self.ashift is not None,
            disable_output_lane=len(self.disable_lanes) or None,
            scale_input_d=None if self.scale_d is None else self.scale_d.value.data,
        )

    @property
    def _buffer(self) -> str:
        return "a" if self.buffer is None else self.buffer.data

    @property
    def description(self) -> Mma:
        return self.describe(EVERYTHING)

    FORMS_NEED: ClassVar = FORM_FEATURES

    def features(self) -> tuple[str, ...]:
        return needed_features(
            self.kind.data.value,
            text(self.scale_vector),
            sparse=self.sparse_metadata is not None,
            scaled_d=self.scale_d is not None,
            collected_b=self.collector_b is not None,
            has_table=self.table is not None,
        )

    def effects(self) -> Effects:
        """The operands in shared and tensor memory, as far as the instruction descriptor is known."""
        group, sparse = self.cta_group.value.data, self.sparse_metadata is not None
        idesc = immediate(self.idesc, EVERYTHING)
        info = _form(self.kind.data.value, group, self.ws is not None, sparse, text(self.scale_vector), idesc)
        bits = K_BITS // info.kind.k
        is_a = self.ws is None
        a, b = SharedMatrix(self.a, is_a=is_a), SharedMatrix(self.b)
        if (fields := info.idesc) is not None:
            stored = fields.k // 2 if fields.sparse else fields.k
            a = SharedMatrix(self.a, fields.a_major, (fields.m // group, stored), bits, is_a=is_a)
            k, bits = (fields.k, bits) if self.table is None else (SEGMENTED_BYTES, 8)
            b = SharedMatrix(self.b, fields.b_major, (fields.n // group, k), bits)
        reads: list[Region] = [b, a if self.a.type == i64 else _cells(self.a, TOUCHED_LANES, info.a_columns)]
        if self.sparse_metadata is not None:
            reads.append(_cells(self.sparse_metadata, _METADATA_LANES, 1))
        if self.table is not None:
            reads.append(TensorCells(self.table, 1, TABLE_COLUMNS))
        if self.scales:
            reads.append(_cells(self.scales[0], TOUCHED_LANES, info.sfa_columns))
            reads.append(_cells(self.scales[1], _METADATA_LANES, 1))
        written = _cells(self.d, TOUCHED_LANES, info.d_columns)
        return Effects(MemoryAccess(AccessKind.TENSOR_CORE, tuple(reads), (written,), shape=(info.m, info.n)))

    def emit(self, reg: Names) -> str:
        vector_size = "" if self.scale_vector is None else f".{self.scale_vector.data}"
        scaling = "" if not self.scales else ".block_scale"
        table = "" if self.table is None else ".decompress::lut::b"
        opcode = (
            f"tcgen05.mma{'' if self.ws is None else '.ws'}{'' if self.sparse_metadata is None else '.sp'}",
            f".{self.group}.kind::{self.kind.data.value}{scaling}{table}{vector_size}",
            "" if self.ashift is None else ".ashift",
            "" if self.collector is None else f".collector::{self._buffer}::{self.collector.data.value}",
            "" if self.collector_b is None else f".collector::b::{self.collector_b.data.value}",
        )
        operands = [address(reg, self.d), reg.imm(self.a) if self.a.type == i64 else address(reg, self.a)]
        operands.append(reg.imm(self.b))
        if self.sparse_metadata is not None:
            operands.append(address(reg, self.sparse_metadata))
        if self.table is not None:
            operands.append(address(reg, self.table))
        operands += [reg.imm(self.idesc), *(address(reg, scale) for scale in self.scales)]
        if self.disable_lanes:
            operands.append(vector(reg, self.disable_lanes))
        operands.append(reg.imm(self.enable_d))
        if self.scale_d is not None:
            operands.append(str(self.scale_d.value.data))
        if self.zero_column_mask is not None:
            operands.append(reg.imm(self.zero_column_mask))
        return f"{''.join(opcode)} {', '.join(operands)}"
