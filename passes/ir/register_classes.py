"""Register tiles that must have one type, because loops carry them, branches merge them or products update them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tirx.dialects import tirx
from tirx.dialects.tcgen05 import same_registers
from tirx.dialects.tirx.interface import is_register_tile
from tirx.layout import ComposeLayout, TileLayout
from tirx.values import dataclass, field

_Group = Sequence[SSAValue]


@dataclass(eq=False)
class RegisterClass:
    """Register tiles that are the same registers, or copies of them: `values` in the order of the text.

    `transfers` are the copies, loads and stores between them and tiles in memory.
    """

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    transfers: list[Operation] = field(default_factory=list[Operation])

    @property
    def memory(self) -> list[SSAValue]:
        """The tiles in memory that the values come from or go to, in the order of the text."""
        ends = (end for op in self.transfers for end in tirx.transfer(op) or ())
        return [tile for tile in ends if not is_register_tile(tile)]

    @property
    def type(self) -> tirx.TileType:
        """The type of the first value."""
        return tirx.PendingType.tile_of(self.values[0])

    @property
    def first_op(self) -> Operation:
        """The operation that the first value is a result of, or an argument of a block inside."""
        owner = self.values[0].owner
        if isinstance(owner, Operation):
            return owner
        around = owner.parent_op()
        if around is None:
            raise AssertionError(f"expected a register tile inside an operation, found {self.type} in none")
        return around


class RegisterClasses:
    """The classes of all register tiles of a kernel, in the order of their first values."""

    def __init__(self, classes: Iterable[RegisterClass]):
        self._classes = list(classes)
        self._of = {value: class_ for class_ in self._classes for value in class_.values}

    def __iter__(self) -> Iterator[RegisterClass]:
        return iter(self._classes)

    def of(self, value: SSAValue) -> RegisterClass:
        """The class of a register tile."""
        return self._of[value]

    def retype(self, registers: RegisterClass, new_type: Callable[[tirx.TileType], tirx.TileType]) -> None:
        """Gives every value of a class a new type."""
        for i, value in enumerate(registers.values):
            tile = new_type(tirx.PendingType.tile_of(value))
            type_ = tirx.PendingType(tile) if isinstance(value.type, tirx.PendingType) else tile
            if type_ != value.type:
                del self._of[value]
                registers.values[i] = value = Rewriter.replace_value_with_new_type(value, type_)
                self._of[value] = registers


def _yielded(region: Region) -> _Group:
    """Returns the operands that a region of a loop or branch yields; none if it has no block."""
    last = region.blocks.last.last_op if region.blocks.last is not None else None
    return last.operands if isinstance(last, scf.YieldOp) else ()


def _for(op: scf.ForOp) -> Iterable[_Group]:
    return zip(op.iter_args, op.body.block.args[1:], _yielded(op.body), op.results, strict=True)


def _while(op: scf.WhileOp) -> Iterable[_Group]:
    before, after = op.before_region.block, op.after_region.block
    yield from zip(op.arguments, before.args, _yielded(op.after_region), strict=True)
    if isinstance(condition := before.last_op, scf.ConditionOp):
        yield from zip(condition.args, after.args, op.results, strict=True)


def _if(op: scf.IfOp) -> Iterable[_Group]:
    return zip(op.results, _yielded(op.true_region), _yielded(op.false_region), strict=True) if op.results else ()


def _scheduled_for(op: tirx.ForOp) -> Iterable[_Group]:
    return zip(op.inits, op.carried, _last_operands(op.body), op.finals, strict=True)


def _last_operands(region: Region) -> _Group:
    return () if region.block.last_op is None else region.block.last_op.operands


_TIES: dict[type[Operation], Callable[[Any], Iterable[_Group]]] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    tirx.ForOp: _scheduled_for,
    tirx.AtOp: lambda op: zip(op.values, _last_operands(op.body), strict=True),
    arith.SelectOp: lambda op: [(op.lhs, op.rhs, op.result)],
    tirx.CopyOp: lambda op: [(op.source, op.destination)],
    tirx.MmaOp: lambda op: [] if op.is_widening else [(op.accumulator, *op.results)],
    tirx.AsyncMmaOp: lambda op: [(op.accumulator, *op.results)],
    tirx.AwaitOp: lambda op: [tuple(each for each in (op.value, op.result) if each is not None)],
    UnrealizedConversionCastOp: lambda op: [(*op.inputs, *op.outputs)],
}
"""Operation -> groups of values of one type, of which those that are register tiles are one class."""


def same_layout(a: TileLayout | ComposeLayout, b: TileLayout | ComposeLayout) -> bool:
    """Returns True if two layouts give every thread the same elements in the same registers."""
    return isinstance(a, TileLayout) and isinstance(b, TileLayout) and same_registers(a, b)


def _is_held(value: SSAValue) -> bool:
    return is_register_tile(value) or isinstance(value.type, tirx.PendingType)


def register_classes(kernel: tirx.KernelOp) -> RegisterClasses:
    """Finds the classes of all register tiles of a kernel."""
    parents: dict[SSAValue, SSAValue] = {}

    def root(value: SSAValue) -> SSAValue:
        while (parent := parents.setdefault(value, value)) is not value:
            parents[value] = value = parents[parent]
        return value

    order: list[SSAValue] = []
    transfers: list[tuple[SSAValue, Operation]] = []
    for op in kernel.walk():
        order += filter(_is_held, op.results)
        for region in op.regions:
            for block in region.blocks:
                order += filter(_is_held, block.args)
        if (ties := _TIES.get(type(op))) is not None:
            for group in ties(op):
                tied = list(filter(_is_held, group))
                for value in tied[1:]:
                    parents[root(value)] = root(tied[0])
        if (ends := tirx.transfer(op)) is not None:
            registers = list(filter(_is_held, ends))
            if len(registers) == 1:
                transfers.append((registers[0], op))
    classes: dict[SSAValue, RegisterClass] = {}
    for value in order:
        classes.setdefault(root(value), RegisterClass()).values.append(value)
    for register, op in transfers:
        classes[root(register)].transfers.append(op)
    return RegisterClasses(classes.values())
