"""Entries, control flow, shared memory, constants and special registers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, HasFolder, IsTerminator, SymbolOpInterface
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, fill, irdl_op_definition
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.nesting import QuickWalk, operations
from tirx.dialects.ptx.base import Names, PTXTerminator, PureInstruction, Register, literal, memory_type, width
from tirx.dialects.ptx.parameters import (
    ALIGNMENT_LIMIT,
    PARAM_LIMIT,
    EntryParam,
    EntryParamAttr,
    check_identifier,
    parameter_bytes,
)
from tirx.dialects.syntax import BODY, SYMBOL, Clause, WrittenOp
from tirx.dialects.traits import Isolated
from tirx.hw.targets import Target, TargetError
from tirx.rules import EntryError, InstructionFormError, InvalidOperation

THREAD_LIMIT = 1024
"""Threads that a block may have (CUDA programming guide, "Technical Specifications per Compute Capability")."""

CLUSTER_LIMIT = 16
"""CTAs that a cluster may have on some chip; 8 work on every one (CUDA programming guide, "Thread Block Clusters")."""

REGISTER_LIMIT = 255
"""Registers of 32 bits that a thread can have (CUDA C++ Programming Guide, "Compute Capabilities")."""


@irdl_op_definition
class EntryOp(QuickWalk, WrittenOp):
    """A kernel: a control flow graph of instructions, with named parameters that `ptx.ld.param` reads.

    ```mlir
    ptx.entry @axpy(x : u64 ptr align 16, n : u32) target("sm_100a") reqntid(128) {
      ptx.ret
    }
    ```

    `reqntid` is the exact size of a block in threads (x, y, z), `cluster` that of a cluster in blocks, `dynamic_shared`
    the bytes of shared memory that a launch has to set aside. `grid(4, ceildiv(size(0, 1), 128))` are the blocks of a
    launch along x, y and z, numbers or formulas (`#ptx.formula`) of its arguments. `maxnreg` are the registers of a
    thread at the entry, which `ptx.setmaxnreg` has to know. `per_cta_memory` are the least bytes of the memory of each
    block that `ptx.per_cta_memory` finds.
    See PTX ISA, "Kernel and Function Directives: .entry" and "Performance-Tuning Directives: .reqntid".
    """

    name = "ptx.entry"

    sym_name = prop_def(SymbolNameConstraint())
    params = prop_def(ArrayAttr[EntryParamAttr])
    target = prop_def(StringAttr)
    body = region_def()
    reqntid = opt_prop_def(ArrayAttr[IntAttr])
    cluster = opt_prop_def(ArrayAttr[IntAttr])
    dynamic_shared = opt_prop_def(IntAttr)
    maxnreg = opt_prop_def(IntAttr)
    per_cta_memory = opt_prop_def(IntAttr)
    grid = opt_prop_def(ArrayAttr[FormulaAttr])

    SYNTAX: ClassVar = (
        Clause("", SYMBOL, "sym_name"),
        Clause("(*)", EntryParamAttr, "params"),
        Clause("target()", str, needed=True),
        Clause("grid(*)", FormulaAttr),
        Clause("reqntid(*)", int),
        Clause("cluster(*)", int),
        Clause("dynamic_shared()", int),
        Clause("maxnreg()", int),
        Clause("per_cta_memory()", int),
    )
    BEHIND: ClassVar = (Clause("", BODY, "body"),)

    traits = traits_def(Isolated(), SymbolOpInterface())

    @property
    def target_info(self) -> Target:
        """The target's row; TargetError if its name is unknown."""
        return Target.parse(self.target.data)

    @property
    def cluster_size(self) -> int:
        """CTAs in a cluster, 1 without the directive."""
        return math.prod(n.data for n in self.cluster or ())

    def param(self, name: str) -> EntryParam | None:
        """The parameter called `name`."""
        return next((p.data for p in self.params if p.data.name == name), None)

    def verify_(self) -> None:
        check_identifier("entry name", self.sym_name.data)
        try:
            _ = self.target_info
        except TargetError as error:
            raise InvalidOperation(str(error)) from error
        names = [p.data.name for p in self.params]
        for name in names:
            if names.count(name) > 1:
                raise EntryError(f"expected parameter names to differ, found '{name}' twice")
        if (size := parameter_bytes([p.data for p in self.params])) > PARAM_LIMIT:
            raise EntryError(f"expected at most {PARAM_LIMIT} bytes of parameters, found {size}")
        self._verify_extents()
        if self.maxnreg is not None and not 1 <= self.maxnreg.data <= REGISTER_LIMIT:
            raise EntryError(f"expected maxnreg from 1 to {REGISTER_LIMIT}, found {self.maxnreg.data}")
        if self.per_cta_memory is not None and not 0 <= self.per_cta_memory.data < 1 << 32:
            raise EntryError(f"expected per_cta_memory from 0 to {(1 << 32) - 1}, found {self.per_cta_memory.data}")
        if (first := self.body.blocks.first) is not None and first.args:
            raise EntryError(
                f"expected no arguments of the first block, as ptx.ld.param reads parameters, found {len(first.args)}"
            )
        if len(self.body.blocks) > 1 and any(block.is_empty for block in self.body.blocks):
            raise EntryError("expected blocks to end in a branch or ptx.ret, found one without operations")

    def _verify_extents(self) -> None:
        for what, extents in (("reqntid", self.reqntid), ("cluster", self.cluster)):
            if extents is not None and not (1 <= len(extents) <= 3 and all(n.data > 0 for n in extents)):
                found = ", ".join(str(n.data) for n in extents)
                raise EntryError(f"expected {what} to be one to three positive extents, found ({found})")
        if self.reqntid is not None and (threads := math.prod(n.data for n in self.reqntid)) > THREAD_LIMIT:
            raise EntryError(f"expected at most {THREAD_LIMIT} threads in a block, found {threads}")
        if self.grid is not None and not 1 <= len(self.grid) <= 3:
            raise EntryError(f"expected a grid of one to three extents, found {len(self.grid)}")
        if self.cluster_size > CLUSTER_LIMIT:
            raise EntryError(f"expected at most {CLUSTER_LIMIT} CTAs in a cluster, found {self.cluster_size}")


LINES = "ptx.lines"
"""The attribute of entries whose PTX says the lines of the source."""


def entries(op: Operation) -> Iterator[EntryOp]:
    """The entries inside of `op`, without a look into entries."""
    for region in op.regions:
        for block in region.blocks:
            for inner in tuple(operations(block)):
                if isinstance(inner, EntryOp):
                    yield inner
                else:
                    yield from entries(inner)


def _check_edge(op: Operation, successor: Block, arguments: Sequence[SSAValue]) -> None:
    expected = [arg.type for arg in successor.args]
    found = [arg.type for arg in arguments]
    if expected != found:
        raise InstructionFormError(
            f"{op.name}: expected block arguments of types ({', '.join(map(str, expected))}), "
            f"found ({', '.join(map(str, found))})"
        )


@irdl_op_definition
class BraOp(PTXTerminator):
    """Jumps to a block; its arguments are copied in parallel. See PTX ISA, "Control Flow Instructions: bra"."""

    name = "ptx.bra"

    dest = successor_def()
    arguments = var_operand_def()

    traits = traits_def(IsTerminator())
    assembly_format = "$dest (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"

    def verify_(self) -> None:
        _check_edge(self, self.dest, self.arguments)


@irdl_op_definition
class CondBraOp(PTXTerminator):
    """Jumps to one of two blocks: `@%p bra`. See PTX ISA, "Control Flow Instructions: bra"."""

    name = "ptx.cond_bra"

    condition = operand_def(i1)
    then_dest = successor_def()
    else_dest = successor_def()
    then_arguments = var_operand_def()
    else_arguments = var_operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())
    assembly_format = """
    $condition `,`
    $then_dest (`(` $then_arguments^ `:` type($then_arguments) `)`)? `,`
    $else_dest (`(` $else_arguments^ `:` type($else_arguments) `)`)?
    attr-dict
    """

    def verify_(self) -> None:
        _check_edge(self, self.then_dest, self.then_arguments)
        _check_edge(self, self.else_dest, self.else_arguments)


@irdl_op_definition
class RetOp(PTXTerminator):
    """Ends the thread. See PTX ISA, "Control Flow Instructions: ret"."""

    name = "ptx.ret"

    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


def integer_attr(value: int, type_: Attribute) -> IntegerAttr:
    """The low bits of `value` as an integer of a register type."""
    return _integer_attr(value, width(type_))


@lru_cache(maxsize=4096)
def _integer_attr(value: int, bits: int) -> IntegerAttr:
    unsigned = value & (1 << bits) - 1
    if bits == 1:
        return BoolAttr.from_bool(bool(unsigned))
    return IntegerAttr(unsigned - (1 << bits) if unsigned >> bits - 1 else unsigned, bits)


class _IsItsValue(HasFolder):
    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        return [op.properties["value"]]


@irdl_op_definition
class ConstantOp(PureInstruction):
    """A literal: printed in place where the using instruction takes one, by a `mov` otherwise.

    ```mlir
    %c = ptx.constant 128 : i32
    ```
    """

    name = "ptx.constant"
    FOLLOWS_TYPES: ClassVar = True

    value = prop_def(IntegerAttr | FloatAttr)
    result = result_def(Register)

    traits = traits_def(ConstantLike(), _IsItsValue())

    def __init__(self, value: IntegerAttr | FloatAttr):
        fill(self, (), [value.type], {"value": value})

    @staticmethod
    def integer(value: int, type_: Attribute = i32) -> ConstantOp:
        """An integer of a register type; both the signed and the unsigned reading of the bits are accepted."""
        return ConstantOp(integer_attr(value, type_))

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise InstructionFormError(f"expected a value of type {self.result.type}, found {self.value.type}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, IntegerAttr | FloatAttr):
            parser.raise_error("expected an integer or float literal", start, parser.pos)
        op = cls(cast(IntegerAttr | FloatAttr, value))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def emit(self, reg: Names) -> str:
        return f"mov.{memory_type(self.result.type)} {reg(self.result)}, {literal(self.value)}"


def integer_of(value: SSAValue) -> int | None:
    """Returns the number of a constant of an integer type; None for another value."""
    constant = op.value if type(op := value.owner) is ConstantOp else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None


class SpecialRegister(StrEnum):
    """Special registers whose value is the same all over a thread's life (PTX ISA, "Special Registers")."""

    TID_X = "tid.x"
    TID_Y = "tid.y"
    TID_Z = "tid.z"
    NTID_X = "ntid.x"
    NTID_Y = "ntid.y"
    NTID_Z = "ntid.z"
    CTAID_X = "ctaid.x"
    CTAID_Y = "ctaid.y"
    CTAID_Z = "ctaid.z"
    NCTAID_X = "nctaid.x"
    NCTAID_Y = "nctaid.y"
    NCTAID_Z = "nctaid.z"
    LANEID = "laneid"
    CLUSTER_CTAID_X = "cluster_ctaid.x"
    CLUSTER_CTAID_Y = "cluster_ctaid.y"
    CLUSTER_CTAID_Z = "cluster_ctaid.z"
    CLUSTER_CTARANK = "cluster_ctarank"


SpecialRegisterAttr = enum_attribute("ptx.special_register", SpecialRegister)


@irdl_op_definition
class ReadSpecialOp(PureInstruction):
    """`%t = ptx.read_special tid.x` is `mov.u32 %r0, %tid.x;`. See PTX ISA, "Special Registers"."""

    name = "ptx.read_special"
    FOLLOWS_TYPES: ClassVar = True

    register = prop_def(SpecialRegisterAttr)
    result = result_def(i32)

    assembly_format = "$register attr-dict"

    FORMS_NEED: ClassVar = ("cluster",)

    def features(self) -> tuple[str, ...]:
        return ("cluster",) if self.register.data.value.startswith("cluster") else ()

    def emit(self, reg: Names) -> str:
        return f"mov.u32 {reg(self.result)}, %{self.register.data.value}"


@irdl_op_definition
class PerCtaMemoryOp(PureInstruction):
    """`%offset, %size = ptx.per_cta_memory`: the memory that `per_cta_memory` of the entry asks for.

    `mov.u64 %rd0, %perctamemoryoffset; mov.u32 %r0, %perctamemorysize`. See PTX ISA,
    "Performance-Tuning Directives: .minperctamemory".
    """

    name = "ptx.per_cta_memory"
    NEEDS: ClassVar = ("per_cta_memory",)

    offset = result_def(i64)
    size = result_def(i32)

    assembly_format = "attr-dict"

    def emit(self, reg: Names) -> str:
        return f"mov.u64 {reg(self.offset)}, %perctamemoryoffset\nmov.u32 {reg(self.size)}, %perctamemorysize"


@irdl_op_definition
class SharedAllocOp(WrittenOp, PureInstruction):
    """Declares `bytes` of static shared memory, aligned to `align` bytes, and gives its shared-window address.

    ```mlir
    %a = ptx.shared_alloc @tile_a bytes 16384 align 1024
    ```
    With `dynamic` at the end the launch sets the bytes aside, as `dynamic_shared` on the entry says.
    See PTX ISA, "Shared State Space".
    """

    name = "ptx.shared_alloc"

    symbol = prop_def(SymbolNameConstraint())
    bytes = prop_def(IntAttr)
    align = prop_def(IntAttr)
    dynamic = opt_prop_def(UnitAttr)
    result = result_def(i32)

    SYNTAX: ClassVar = (
        Clause("", SYMBOL, "symbol"),
        Clause("bytes ", int, needed=True),
        Clause("align ", int, needed=True),
        Clause("dynamic"),
    )

    def verify_(self) -> None:
        check_identifier("shared memory name", self.symbol.data)
        if self.bytes.data < 1:
            raise InstructionFormError(f"expected a positive number of bytes, found {self.bytes.data}")
        if self.align.data < 1 or self.align.data & self.align.data - 1:
            raise InstructionFormError(f"expected alignment to be a power of two, found {self.align.data}")
        if self.align.data > ALIGNMENT_LIMIT:
            raise InstructionFormError(
                f"expected alignment to at most {ALIGNMENT_LIMIT} bytes, found {self.align.data}"
            )

    def declaration(self) -> str:
        """The PTX text, without semicolon."""
        return f".shared .align {self.align.data} .b8 {self.symbol.data}[{self.bytes.data}]"

    def emit(self, reg: Names) -> str:
        return f"mov.b32 {reg(self.result)}, {self.symbol.data}"
