"""Data movement: registers to and from tensor memory, shared memory to tensor memory, rows within tensor memory.

`tcgen05.ld`, `tcgen05.ld.red` and `tcgen05.st` on tiles are as many instructions as the tiles need; on addresses, with
`num`, they are one instruction. PTX ISA, "Tensor Memory Data Movement Instructions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, cast

from xdsl.dialects.builtin import I32, I64, IntegerAttr, StringAttr, UnitAttr, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, var_operand_def, var_result_def

from tirx.dialects.definition import i32_attr, irdl_op_definition
from tirx.dialects.ptx.base import Names, address, vector
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, MemoryAccess, SharedMatrix, TensorCells
from tirx.dialects.tcgen05.attributes import ReductionAttr
from tirx.dialects.tcgen05.common import (
    TENSOR,
    TOUCHED_LANES,
    CtaGroupOp,
    Tcgen05Op,
    expect_place,
    expect_tile,
    is_tile,
    require,
    same_registers,
    target_of,
    text,
)
from tirx.dialects.tcgen05.facts import address_operand, shared_operand, tensor_operand
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.rules import (
    ElementTypeError,
    InstructionFormError,
    InstructionNameError,
    InvalidOperation,
    OperandFormError,
    TileShapeError,
)
from tirx.tcgen05.check_memory import CP_SHAPES, SHIFT_COLUMNS, Cp, LdSt, Shift, check_memory
from tirx.tcgen05.tmem_access import LD_SHAPES, MAX_REGISTERS, TmemAccessPlan, find_ld_shape, plan_tmem_access

_COPIED_LANES = 1
"""Lanes of every 32 that every tcgen05.cp writes."""

REDUCTION_TYPES: Mapping[str, Attribute] = {"f32": f32, "u32": i32, "s32": i32}
"""How `tcgen05.ld.red` reads the columns -> the register that holds the result."""


class _AccessOp(Tcgen05Op):
    """Between tensor memory and the registers of a warp: tiles, or an address and registers."""

    ISSUE: ClassVar = Issue.WARP
    FOLLOWS_IMMEDIATES: ClassVar = True

    shape = prop_def(StringAttr)
    num = opt_prop_def(IntegerAttr[I32])
    taddr = operand_def(TENSOR)
    offset = prop_def(IntegerAttr[I32], default_value=i32_attr(0))
    half_split_offset = opt_prop_def(IntegerAttr[I32])

    @property
    def moved(self) -> Sequence[SSAValue]:
        """The registers, or the one register tile."""
        return cast("LdOp", self).res

    @property
    def packs(self) -> bool:
        """True if a register holds the 16-bit elements of two neighbouring columns."""
        return False

    def describe(self, depth: int) -> LdSt | None:
        if is_tile(self.taddr):
            return None  # as many instructions as `plan` says
        place = address_operand(self.taddr, depth, self.offset.value.data)
        return LdSt(
            self.shape.data,
            self._repeats,
            len(self.moved),
            packed=self.packs,
            split=None if self.half_split_offset is None else self.half_split_offset.value.data,
            lane=place.lane,
            column=place.column,
            allocated=place.allocated,
        )

    def verify_(self) -> None:
        if is_tile(self.taddr):
            self.verify_tiles()
            return
        if self.num is None:
            raise InstructionFormError(f"{self.name}: expected num with an address, found none")
        super().verify_()
        for value in self.moved:
            if value.type not in (i32, f32):
                raise InstructionFormError(f"{self.name}: expected registers of type i32 or f32, found {value.type}")

    def verify_tiles(self) -> TmemAccessPlan:
        """Returns the instructions. VerifyException unless they move the tile in tensor memory to the registers."""
        if self.num is not None or self.half_split_offset is not None or self.offset.value.data:
            raise InstructionFormError(f"{self.name}: expected num, offset and half_split_offset with an address only")
        if len(self.moved) != 1:
            raise InstructionFormError(f"{self.name}: expected one tile in registers, found {len(self.moved)}")
        memory = expect_tile(self.taddr, MemorySpace.TENSOR, "a tile")
        registers = expect_tile(self.moved[0], MemorySpace.REGISTER, "a tile")
        plan = self.plan()
        if (memory.dims, memory.element_type) != (registers.dims, registers.element_type):
            raise TileShapeError(f"expected tiles of one shape and element type, found {memory} and {registers}")
        assert isinstance(registers.layout, TileLayout), registers
        if not same_registers(plan.fragment, registers.layout):
            raise OperandFormError(
                f"expected registers as shape {plan.shape} moves them, {plan.fragment}, found {registers.layout}"
            )
        return plan

    def plan(self, most: int = MAX_REGISTERS) -> TmemAccessPlan:
        """The instructions that move a tile, of at most `most` registers each, and the register tile that they make.

        VerifyException, saying what is legal, for a tile that the shape does not move.
        """
        name = self.shape.data
        if name not in LD_SHAPES:
            raise InstructionNameError(
                f"expected a shape of tcgen05.ld and st ({', '.join(LD_SHAPES)}), found '{name}'"
            )
        memory, registers = TileType.of(self.taddr), TileType.of(self.moved[0])
        assert isinstance(memory.layout, TileLayout) and isinstance(registers.layout, TileLayout), (memory, registers)
        warps = "wid_in_wg" if "wid_in_wg" in registers.layout.axes else "warpid"
        bits = memory.dtype.storage_bits
        try:
            return plan_tmem_access(
                memory.layout,
                memory.dims,
                name,
                max_registers=most,
                warp_axis=warps,
                element_bits=bits,
                pack=self.packs,
            )
        except LegalityError as error:
            raise InvalidOperation(str(error)) from error

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.TENSOR_LOAD, reads=(self.cells(),)))

    def cells(self) -> TensorCells:
        """The lanes and columns that one instruction loads or stores."""
        row = find_ld_shape(self.shape.data)
        columns = row.columns * self._repeats * (2 if self.packs else 1)
        return TensorCells(self.taddr, row.lanes, columns, self.offset.value.data)

    @property
    def _repeats(self) -> int:
        return 0 if self.num is None else self.num.value.data

    def form(self, modifiers: str = "", type_: str = "b32") -> str:
        """The end of the mnemonic."""
        return f"sync.aligned.{self.shape.data}.x{self._repeats}{modifiers}.{type_}"

    def where(self, reg: Names) -> str:
        """The address with its offset."""
        return address(reg, self.taddr, self.offset.value.data)

    @property
    def split(self) -> tuple[str, ...]:
        """The operand `immHalfSplitoff`, if there is one."""
        return () if self.half_split_offset is None else (str(self.half_split_offset.value.data),)


@irdl_op_definition
class LdOp(_AccessOp):
    """`%v = tcgen05.ld "32x32b" %t : !tirx.tile<128x32xf32, tensor, L> -> !tirx.tile<128x32xf32, register, L2>`

    Tensor memory to registers, all lanes of a warp together, with the data movement of one instruction shape; they may
    be used after `tcgen05.wait ld`. `pack`: the 16-bit elements of two neighbouring columns share a register.

    `%0, %1 = tcgen05.ld "32x32b" num 2 %t offset 8 : i32 -> i32, i32` is one instruction, of the registers at the
    address `%t` plus 8 columns. PTX ISA, "tcgen05.ld".
    """

    name = "tcgen05.ld"

    pack = opt_prop_def(UnitAttr)
    res = var_result_def()

    assembly_format = """
    $shape (`num` $num^)? $taddr (`offset` $offset^)? (`pack` $pack^)? (`half_split_offset` $half_split_offset^)?
    attr-dict `:` type($taddr) `->` type($res)
    """

    @property
    def packs(self) -> bool:
        return self.pack is not None

    def emit(self, reg: Names) -> str:
        operands = (vector(reg, self.res), self.where(reg), *self.split)
        return f"tcgen05.ld.{self.form('.pack::16b' if self.packs else '')} {', '.join(operands)}"


@irdl_op_definition
class LdRedOp(_AccessOp):
    """`%m, %v = tcgen05.ld.red max "32x32b" %t : !tirx.tile<128x32xf32, tensor, L> -> !tirx.tile<128xf32, register,
    L3>, !tirx.tile<128x32xf32, register, L2>`

    `tcgen05.ld` that also gives the least or greatest element that each thread got: its tile has the layout of the
    loaded one without the registers. `abs` compares magnitudes, `nan` keeps a NaN; both for f32.

    `%m, %0, %1 = tcgen05.ld.red max "32x32b" num 2 %t as "f32" : i32 -> f32, f32, f32` is one instruction. PTX ISA,
    "tcgen05.ld.red".
    """

    name = "tcgen05.ld.red"
    NEEDS: ClassVar = ("tcgen05", "tcgen05.ld.red")

    reduction = prop_def(ReductionAttr)
    type = opt_prop_def(StringAttr)
    abs = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)
    reduced = result_def()
    res = var_result_def()

    assembly_format = """
    $reduction $shape (`num` $num^)? $taddr (`offset` $offset^)? (`as` $type^)? (`abs` $abs^)? (`nan` $nan^)?
    (`half_split_offset` $half_split_offset^)? attr-dict `:` type($taddr) `->` type($reduced) `,` type($res)
    """

    @property
    def ptx_type(self) -> str:
        """The PTX name of the type that is compared; "" if nothing says it."""
        if self.type is not None:
            return self.type.data
        return TileType.of(self.taddr).dtype.name if is_tile(self.taddr) else ""

    def _reducing(self, access: LdSt) -> LdSt:
        modified = self.abs is not None or self.nan is not None
        return replace(access, reduce=self.reduction.data.value, type=self.ptx_type, modified=modified)

    def describe(self, depth: int) -> LdSt | None:
        return None if (access := super().describe(depth)) is None else self._reducing(access)

    def verify_(self) -> None:
        if not is_tile(self.taddr) and self.type is None:
            raise InstructionFormError(f"{self.name}: expected the type that is compared, 'as', with an address")
        super().verify_()
        if not is_tile(self.taddr) and (expected := REDUCTION_TYPES[self.ptx_type]) != self.reduced.type:
            raise InstructionFormError(
                f"expected the reduction of {self.ptx_type} in a register {expected}, found {self.reduced.type}"
            )

    def verify_tiles(self) -> TmemAccessPlan:
        plan = super().verify_tiles()
        source = TileType.of(self.taddr)
        for access in plan.accesses:
            instruction = self._reducing(LdSt(access.shape, access.num, split=access.split, target=target_of(self)))
            require(lambda instruction=instruction: check_memory(instruction))
        if len({access.lane for access in plan.accesses}) > 1:
            raise OperandFormError(
                f"expected a tile in one half of the lanes of each warp for shape {plan.shape}, found both"
            )
        reduced = expect_tile(self.reduced, MemorySpace.REGISTER, "the reduction")
        held = plan.fragment
        threads = TileLayout(tuple(it for it in held.shard if it.axis != "m"), held.replica).canonicalize()
        if reduced.element_type != source.element_type:
            raise ElementTypeError(f"expected a reduction of {source.element_type}, found {reduced.element_type}")
        layout = reduced.layout
        if not isinstance(layout, TileLayout) or not same_registers(threads, layout):
            raise OperandFormError(f"expected one element of the reduction in each thread, {threads}, found {layout}")
        return plan

    def emit(self, reg: Names) -> str:
        flags = ("" if self.abs is None else ".abs") + ("" if self.nan is None else ".NaN")
        operands = (vector(reg, self.res), reg(self.reduced), self.where(reg), *self.split)
        form = self.form(f".{self.reduction.data.value}{flags}", self.ptx_type)
        return f"tcgen05.ld.red.{form} {', '.join(operands)}"


@irdl_op_definition
class LdSpcompressOp(_AccessOp):
    """`%m, %0, %1 = tcgen05.ld.spcompress max "32x32b" num 4 %t : i32 -> i32, f32, f32`

    `tcgen05.ld` that keeps two of every four f32 of a thread, the least or greatest: words of metadata (2-bit indices,
    16 in a word) and what is kept, in order. `abs` compares magnitudes. `red`: behind them, the least or greatest of
    all, which with `nan` is a NaN where one of them is.

    PTX ISA, "tcgen05.ld": `.spcompress`.
    """

    name = "tcgen05.ld.spcompress"
    NEEDS: ClassVar = ("tcgen05", "tcgen05.ld.spcompress")

    reduction = prop_def(ReductionAttr)
    abs = opt_prop_def(UnitAttr)
    red = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)
    res = var_result_def()

    assembly_format = """
    $reduction $shape (`num` $num^)? $taddr (`offset` $offset^)? (`abs` $abs^)? (`red` $red^)? (`nan` $nan^)?
    (`half_split_offset` $half_split_offset^)? attr-dict `:` type($taddr) `->` type($res)
    """

    @property
    def _words(self) -> int:
        """Registers of metadata."""
        return -(-self._repeats // 32)

    def describe(self, depth: int) -> LdSt | None:
        access = super().describe(depth)
        return None if access is None else replace(access, registers=self._repeats)

    def verify_(self) -> None:
        if is_tile(self.taddr):
            raise InstructionFormError(f"{self.name}: expected an address, found a tile")
        super().verify_()
        if self.shape.data != "32x32b" or self._repeats < 4:
            raise InstructionFormError(
                f"{self.name}: expected shape 32x32b and num of 4 or more, found {self.shape.data} and {self._repeats}"
            )
        if self.nan is not None and self.red is None:
            raise InstructionFormError(f"{self.name}: expected nan with red, found it without")
        types = [i32] * self._words + [f32] * (self._repeats // 2 + (self.red is not None))
        if list(self.res.types) != types:
            expected, found = (", ".join(map(str, each)) for each in (types, self.res.types))
            raise InstructionFormError(f"{self.name}: expected registers {expected}, found {found}")

    def emit(self, reg: Names) -> str:
        kept = self._words + self._repeats // 2
        flags = ("" if self.abs is None else ".abs") + ("" if self.nan is None else ".NaN")
        form = self.form(f".{self.reduction.data.value}.sp::2:4{flags}", "f32.b2")
        vectors = (vector(reg, self.res[: self._words]), vector(reg, self.res[self._words : kept]))
        operands = (*vectors, *map(reg, self.res[kept:]), self.where(reg))
        return f"tcgen05.ld{'' if self.red is None else '.red'}.spcompress.{form} {', '.join(operands)}"


@irdl_op_definition
class StOp(_AccessOp):
    """`tcgen05.st "32x32b" %t, %v : !tirx.tile<128x32xf32, tensor, L>, !tirx.tile<128x32xf32, register, L2>`

    Registers to tensor memory, all lanes of a warp together; complete after `tcgen05.wait st`. `unpack`: a register of
    two 16-bit elements goes to two columns.

    `tcgen05.st "32x32b" num 2 %t offset 8, %0, %1 : i32, i32, i32` is one instruction, to the address `%t` plus 8
    columns. PTX ISA, "tcgen05.st".
    """

    name = "tcgen05.st"

    data = var_operand_def()
    unpack = opt_prop_def(UnitAttr)

    assembly_format = """
    $shape (`num` $num^)? $taddr (`offset` $offset^)? (`unpack` $unpack^)? (`half_split_offset` $half_split_offset^)?
    `,` $data attr-dict `:` type($taddr) `,` type($data)
    """

    @property
    def moved(self) -> Sequence[SSAValue]:
        return self.data

    @property
    def packs(self) -> bool:
        return self.unpack is not None

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.TENSOR_STORE, writes=(self.cells(),)))

    def emit(self, reg: Names) -> str:
        operands = (self.where(reg), *self.split, vector(reg, self.data))
        return f"tcgen05.st.{self.form('.unpack::16b' if self.packs else '')} {', '.join(operands)}"


@irdl_op_definition
class CpOp(CtaGroupOp):
    """`tcgen05.cp "32x128b" %t, %desc multicast "warpx4" : !tirx.tile<128x4xf8E8M0FNU, tensor, L>`

    Shared memory, by a K-major descriptor, to the lanes and columns at the start of a tile in tensor memory, or at an
    address. One thread issues it; products of the same thread that follow see what it wrote, others wait for a commit.

    `multicast`: which warps' lanes get the rows of the shapes of 32 and 64 rows. `decompress "b4x16_p64"`: elements of
    4 bits (16 of them and 64 bits of padding) become bytes; `"b6x16_p32"`: of 6 bits. PTX ISA, "tcgen05.cp".
    """

    name = "tcgen05.cp"
    ISSUE: ClassVar = Issue.ONE_THREAD

    shape = prop_def(StringAttr)
    taddr = operand_def(TENSOR)
    source = operand_def(I64)
    multicast = opt_prop_def(StringAttr)
    decompress = opt_prop_def(StringAttr)

    assembly_format = """
    $shape $taddr `,` $source (`multicast` $multicast^)? (`decompress` $decompress^)? (`cta_group` $cta_group^)?
    attr-dict `:` type($taddr)
    """

    def verify_(self) -> None:
        expect_place(self.taddr, "a tile")
        super().verify_()

    def describe(self, depth: int) -> Cp:
        place = tensor_operand(self.taddr, depth)
        return Cp(
            self.shape.data,
            text(self.multicast),
            text(self.decompress),
            self.cta_group.value.data,
            place.lane,
            place.column,
            place.allocated,
            descriptor=shared_operand(self.source, depth).descriptor,
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
class ShiftOp(CtaGroupOp):
    """`tcgen05.shift %t : !tirx.tile<128x8xf16, tensor, L>`

    Every row of 32 bytes of the 32 lanes from the tile's first on, or from those at an address, takes the place of the
    row before, but for the last. One thread issues it. PTX ISA, "tcgen05.shift".
    """

    name = "tcgen05.shift"
    ISSUE: ClassVar = Issue.ONE_THREAD
    NEEDS: ClassVar = ("tcgen05", "tcgen05.shift")

    taddr = operand_def(TENSOR)

    assembly_format = "$taddr (`cta_group` $cta_group^)? attr-dict `:` type($taddr)"

    def verify_(self) -> None:
        expect_place(self.taddr, "a tile")
        super().verify_()

    def describe(self, depth: int) -> Shift:
        place = tensor_operand(self.taddr, depth)
        return Shift(place.lane, place.column, place.allocated, cta_group=self.cta_group.value.data)

    def effects(self) -> Effects:
        cells = TensorCells(self.taddr, TOUCHED_LANES, SHIFT_COLUMNS, all_warps=True)
        return Effects(MemoryAccess(AccessKind.TENSOR_CORE, reads=(cells,), writes=(cells,)))

    def emit(self, reg: Names) -> str:
        return f"tcgen05.shift.{self.group}.down {address(reg, self.taddr)}"
