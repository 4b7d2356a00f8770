"""Data movement: registers to and from tensor memory, shared memory to tensor memory, rows within tensor memory."""

from __future__ import annotations

from xdsl.dialects.builtin import I32, I64, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)

from tirx.dialects.definition import DirectOperation, i32_attr, irdl_op_definition, string, unit
from tirx.dialects.ptx.tcgen05 import require
from tirx.dialects.tcgen05.attributes import Reduction, ReductionAttr
from tirx.dialects.tcgen05.common import (
    EFFECTS,
    ONE_CTA,
    expect_tensor_tile,
    expect_tile,
    same_registers,
    target_of,
    text,
)
from tirx.dialects.tcgen05.facts import shared_operand, tensor_operand
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.layout import TileLayout
from tirx.rules import ElementTypeError, InstructionNameError, InvalidOperation, OperandFormError, TileShapeError
from tirx.tcgen05 import LD_SHAPES, LegalityError, TmemAccessPlan, plan_tmem_access
from tirx.tcgen05.check_memory import Cp, LdSt, Shift, check_memory
from tirx.tcgen05.tmem_access import MAX_REGISTERS


def _check_ld_shape(name: str) -> None:
    if name not in LD_SHAPES:
        raise InstructionNameError(f"expected a shape of tcgen05.ld and st ({', '.join(LD_SHAPES)}), found '{name}'")


def _plan(name: str, memory: TileType, registers: TileType, pack: bool, most: int = MAX_REGISTERS) -> TmemAccessPlan:
    """The instructions for a tensor tile, of at most `most` registers each, and the register tile that they make of it.

    VerifyException, saying what is legal, for a tile that the shape does not move.
    """
    _check_ld_shape(name)
    assert isinstance(memory.layout, TileLayout) and isinstance(registers.layout, TileLayout), (memory, registers)
    warps = "wid_in_wg" if "wid_in_wg" in registers.layout.axes else "warpid"
    bits = memory.dtype.storage_bits
    try:
        return plan_tmem_access(
            memory.layout, memory.dims, name, max_registers=most, warp_axis=warps, element_bits=bits, pack=pack
        )
    except LegalityError as error:
        raise InvalidOperation(str(error)) from error


def _check_access(plan: TmemAccessPlan, memory: TileType, registers: TileType) -> None:
    if (memory.dims, memory.element_type) != (registers.dims, registers.element_type):
        raise TileShapeError(f"expected tiles of one shape and element type, found {memory} and {registers}")
    assert isinstance(registers.layout, TileLayout), registers
    if not same_registers(plan.fragment, registers.layout):
        raise OperandFormError(
            f"expected registers as shape {plan.shape} moves them, {plan.fragment}, found {registers.layout}"
        )


@irdl_op_definition
class LdOp(DirectOperation):
    """
    `%v = tcgen05.ld "32x32b" %t : !tirx.tile<128x32xf32, tensor, L> -> !tirx.tile<128x32xf32, register, L2>`

    Tensor memory to registers, with the data movement of one instruction shape. `pack`: the 16-bit elements of two
    neighbouring columns share a register. PTX ISA, "tcgen05.ld".
    """

    name = "tcgen05.ld"

    ld_shape = prop_def(StringAttr)
    source = operand_def(TileType)
    pack = opt_prop_def(UnitAttr)
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ld_shape $source (`pack` $pack^)? attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(*EFFECTS)

    def __init__(self, shape: str, source: SSAValue, type_: TileType, *, pack: bool = False):
        super().__init__(
            operands=[source], properties={"ld_shape": StringAttr(shape), "pack": unit(pack)}, result_types=[type_]
        )

    def verify_(self) -> None:
        source = expect_tile(self.source, MemorySpace.TENSOR, "a tile")
        result = expect_tile(self.result, MemorySpace.REGISTER, "a tile")
        _check_access(self.plan(), source, result)

    def plan(self, most: int = MAX_REGISTERS) -> TmemAccessPlan:
        """Instructions of at most `most` registers each; VerifyException where the shape does not move the tile."""
        return _plan(self.ld_shape.data, TileType.of(self.source), self.result.type, self.pack is not None, most)


@irdl_op_definition
class LdRedOp(DirectOperation):
    """
    `%v, %m = tcgen05.ld.red max "32x32b" %t : !tirx.tile<128x32xf32, tensor, L> -> !tirx.tile<128x32xf32, register,
    L2>, !tirx.tile<128xf32, register, L3>`

    `tcgen05.ld` that also gives the least or greatest element that each thread got: its tile has the layout of the
    loaded one without the registers. `abs` compares magnitudes, `nan` keeps a NaN; both for f32. PTX ISA,
    "tcgen05.ld.red".
    """

    name = "tcgen05.ld.red"

    reduction = prop_def(ReductionAttr)
    ld_shape = prop_def(StringAttr)
    source = operand_def(TileType)
    abs = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)
    result = result_def(TileType)
    reduced = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$reduction $ld_shape $source (`abs` $abs^)? (`nan` $nan^)? attr-dict "
        "`:` type($source) `->` type($result) `,` type($reduced)"
    )
    traits = traits_def(*EFFECTS)

    def __init__(
        self,
        reduction: Reduction | str,
        shape: str,
        source: SSAValue,
        type_: TileType,
        reduced: TileType,
        *,
        abs: bool = False,
        nan: bool = False,
    ):
        super().__init__(
            operands=[source],
            properties={
                "reduction": ReductionAttr(Reduction(reduction)),
                "ld_shape": StringAttr(shape),
                "abs": unit(abs),
                "nan": unit(nan),
            },
            result_types=[type_, reduced],
        )

    @property
    def ptx_type(self) -> str:
        """The PTX name of the type that is compared."""
        return TileType.of(self.source).dtype.name

    def verify_(self) -> None:
        source = expect_tile(self.source, MemorySpace.TENSOR, "a tile")
        result = expect_tile(self.result, MemorySpace.REGISTER, "a tile")
        plan = self.plan()
        _check_access(plan, source, result)
        for access in plan.accesses:
            instruction = LdSt(
                access.shape,
                access.num,
                split=access.split,
                reduce=self.reduction.data.value,
                type=source.dtype.name,
                modified=self.abs is not None or self.nan is not None,
                target=target_of(self),
            )
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

    def plan(self, most: int = MAX_REGISTERS) -> TmemAccessPlan:
        """Instructions of at most `most` registers each; VerifyException where the shape does not move the tile."""
        return _plan(self.ld_shape.data, TileType.of(self.source), self.result.type, False, most)


@irdl_op_definition
class StOp(DirectOperation):
    """
    `tcgen05.st "32x32b" %v, %t : !tirx.tile<128x32xf32, register, L2>, !tirx.tile<128x32xf32, tensor, L>`

    Registers to tensor memory. `unpack`: a register of two 16-bit elements goes to two columns. PTX ISA, "tcgen05.st".
    """

    name = "tcgen05.st"

    st_shape = prop_def(StringAttr)
    value = operand_def(TileType)
    destination = operand_def(TileType)
    unpack = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$st_shape $value `,` $destination (`unpack` $unpack^)? attr-dict `:` type($value) `,` type($destination)"
    )
    traits = traits_def(*EFFECTS)

    def __init__(self, shape: str, value: SSAValue, destination: SSAValue, *, unpack: bool = False):
        super().__init__(
            operands=[value, destination], properties={"st_shape": StringAttr(shape), "unpack": unit(unpack)}
        )

    def verify_(self) -> None:
        value = expect_tile(self.value, MemorySpace.REGISTER, "a tile")
        destination = expect_tile(self.destination, MemorySpace.TENSOR, "a tile")
        _check_access(self.plan(), destination, value)

    def plan(self, most: int = MAX_REGISTERS) -> TmemAccessPlan:
        """Instructions of at most `most` registers each; VerifyException where the shape does not move the tile."""
        destination, value = TileType.of(self.destination), TileType.of(self.value)
        return _plan(self.st_shape.data, destination, value, self.unpack is not None, most)


@irdl_op_definition
class CpOp(DirectOperation):
    """
    `tcgen05.cp "32x128b" %desc, %t multicast "warpx4" : !tirx.tile<128x4xf8E8M0FNU, tensor, L>`

    Shared memory, by a K-major descriptor, to the lanes and columns at the start of a tile in tensor memory. One thread
    issues it; products of the same thread that follow see what it wrote, others wait for a commit.

    `multicast`: which warps' lanes get the rows of the shapes of 32 and 64 rows. `decompress "b4x16_p64"`: elements of
    4 bits (16 of them and 64 bits of padding) become bytes; `"b6x16_p32"`: of 6 bits. PTX ISA, "tcgen05.cp".
    """

    name = "tcgen05.cp"

    cp_shape = prop_def(StringAttr)
    source = operand_def(I64)
    destination = operand_def(TileType)
    multicast = opt_prop_def(StringAttr)
    decompress = opt_prop_def(StringAttr)
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$cp_shape $source `,` $destination (`multicast` $multicast^)? (`decompress` $decompress^)? "
        "(`cta_group` $cta_group^)? attr-dict `:` type($destination)"
    )
    traits = traits_def(*EFFECTS)

    def __init__(
        self,
        shape: str,
        source: SSAValue,
        destination: SSAValue,
        *,
        multicast: str | None = None,
        decompress: str | None = None,
        cta_group: int = 1,
    ):
        super().__init__(
            operands=[source, destination],
            properties={
                "cp_shape": StringAttr(shape),
                "multicast": string(multicast),
                "decompress": string(decompress),
                "cta_group": i32_attr(cta_group),
            },
        )

    def verify_(self) -> None:
        expect_tensor_tile(self.destination, "a tile")
        place = tensor_operand(self.destination)
        instruction = Cp(
            self.cp_shape.data,
            text(self.multicast),
            text(self.decompress),
            self.cta_group.value.data,
            place.lane,
            place.column,
            place.allocated,
            target=target_of(self),
            descriptor=shared_operand(self.source).descriptor,
        )
        require(lambda: check_memory(instruction))


@irdl_op_definition
class ShiftOp(DirectOperation):
    """
    `tcgen05.shift %t : !tirx.tile<128x8xf16, tensor, L>`

    Every row of 32 bytes of the 32 lanes from the tile's first on takes the place of the row before, but for the last.
    One thread issues it. PTX ISA, "tcgen05.shift".
    """

    name = "tcgen05.shift"

    tile = operand_def(TileType)
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile (`cta_group` $cta_group^)? attr-dict `:` type($tile)"
    traits = traits_def(*EFFECTS)

    def __init__(self, tile: SSAValue, cta_group: int = 1):
        super().__init__(operands=[tile], properties={"cta_group": i32_attr(cta_group)})

    def verify_(self) -> None:
        expect_tensor_tile(self.tile, "a tile")
        place = tensor_operand(self.tile)
        instruction = Shift(place.lane, place.column, place.allocated, self.cta_group.value.data, target_of(self))
        require(lambda: check_memory(instruction))
