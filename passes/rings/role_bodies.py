"""Splits the body of a kernel: the copy of the loops that one role runs, and what is left without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.definition import i32_attr
from tirx.dialects.nesting import ancestors, operations, walk
from tirx.dialects.tirx import AtOp, ForOp, TilesOp, YieldOp
from tirx.dialects.traits import is_pure, is_terminator
from tirx.dialects.xdsl_private import blocks, clone
from tirx.passes.ir.emitter import Emitter, erase, take_over
from tirx.passes.match.pipelining import NotApplicable, needed_values

_Known = dict[SSAValue, SSAValue]
_Keep = Callable[[Operation], bool]


def copied_part(ops: Sequence[Operation], keep: _Keep) -> Block:
    """
    A copy of some operations: those for which `keep` is true, the loops and conditions around them, and pure scalars.

    Loops keep their symbols and lose what they carry; one whose parts all run in the same round loses its skew. Raises
    NotApplicable for an operation that needs a value that only other operations can give.
    """
    block = Block()
    inside = {inner for op in ops for inner in walk(op)}
    _Copier(inside, set(filter(keep, inside))).copy(ops, block, {})
    return block


class _Copier:
    def __init__(self, inside: set[Operation], kept: set[Operation]):
        self.inside = inside
        self.kept = kept
        self.having: set[Operation] = set()
        """The operations around those that are kept."""
        for op in kept:
            for around in ancestors(op):
                if around in self.having or around not in inside:
                    break
                self.having.add(around)

    def copy(self, ops: Sequence[Operation], block: Block, known: _Known) -> None:
        for op in ops:
            if op in self.kept:
                for operand in needed_values(op):
                    self._value(operand, op, block, known)
                block.add_op(clone(op, known))
            elif op in self.having:
                self._region(op, block, known)

    def _value(self, value: SSAValue, user: Operation, block: Block, known: _Known) -> None:
        """Makes a value known in the block, by a copy of the pure operations that compute it."""
        if value in known:
            return
        if not isinstance(value, OpResult):
            around = value.owner.parent_op() if isinstance(value.owner, Block) else None
            if around in self.inside:
                raise NotApplicable(user, f"'{user.name}' needs a value that '{_name(around)}' carries")
            return
        op = value.op
        if op not in self.inside:
            return
        if not is_pure(op) or op.regions:
            raise NotApplicable(op, f"'{user.name}' in another role needs the result of '{op.name}'")
        for operand in op.operands:
            self._value(operand, op, block, known)
        block.add_op(clone(op, known))

    def _region(self, op: Operation, block: Block, known: _Known) -> None:
        match op:
            case ForOp():
                self._for(op, block, known)
            case TilesOp() | scf.ForOp() | scf.IfOp():
                operands = (op.lb, op.ub, op.step) if isinstance(op, scf.ForOp) else op.operands
                for operand in operands:
                    self._value(operand, op, block, known)
                clone = type(op).create(
                    operands=[known.get(value, value) for value in operands],
                    properties=op.properties,
                    attributes=op.attributes,
                    regions=[self._copied_region(region, op, known) for region in op.regions],
                )
                clone.location = op.location
                block.add_op(clone)
            case _:
                raise NotApplicable(op, f"'{op.name}' is around operations of several roles")

    def _copied_region(self, region: Region, op: Operation, known: _Known) -> Region:
        if not region.blocks:
            return Region()
        carried = 1 if isinstance(op, scf.ForOp) else len(region.block.args)
        block = self._inner(region.block, carried, known)
        if isinstance(op, scf.ForOp | scf.IfOp):
            block.add_op(scf.YieldOp())
        return Region(block)

    def _inner(self, source: Block, args: int, known: _Known) -> Block:
        block = Block(arg_types=[arg.type for arg in source.args[:args]])
        scope = dict(known)
        for old, new in zip(source.args, block.args, strict=False):
            new.name_hint = old.name_hint
            scope[old] = new
        self.copy(operations(source), block, scope)
        return block

    def _for(self, op: ForOp, block: Block, known: _Known) -> None:
        trips = op.iterations
        if isinstance(trips, SSAValue):
            self._value(trips, op, block, known)
            trips = known.get(trips, trips)
        parts = [part for part in op.parts if part in self.having]
        body = Block(arg_types=[op.index.type])
        body.args[0].name_hint = op.index.name_hint
        scope = {**known, op.index: body.args[0]}
        stages = {part.offset for part in parts}
        if len(stages) <= 1:
            for source in [part.body.block for part in parts] or [op.body.block]:
                self.copy(operations(source), body, scope)
        if len(stages) > 1:
            copies = {part: self._part(part, min(stages), parts, scope) for part in sorted(parts, key=_offset)}
            body.add_ops(copies[part] for part in parts)
        skew = max(stages) - min(stages) if stages else 0
        loop = ForOp(op.loop.data, trips, Region(body), (), skew)
        loop.attributes.update(op.attributes)
        loop.location = op.location
        block.add_op(loop)

    def _part(self, part: AtOp, first: int, parts: Sequence[AtOp], scope: _Known) -> AtOp:
        """A copy of a part, which gives the values that other parts of the role use; `scope` knows them then."""
        inner, known = Block(), dict(scope)
        self.copy(operations(part.body.block), inner, known)
        last = part.body.block.last_op
        assert last is not None
        others = [other for other in parts if other is not part]
        given = [
            (result, known[value])
            for result, value in zip(part.values, last.operands, strict=True)
            if value in known and any(other.is_ancestor(use.operation) for use in result.uses for other in others)
        ]
        inner.add_op(YieldOp(*(value for _, value in given)))
        copy = AtOp(part.offset - first, Region(inner))
        copy.location = part.location
        for (result, _), value in zip(given, copy.values, strict=True):
            value.name_hint = result.name_hint
            scope[result] = value
        return copy


def _offset(part: AtOp) -> int:
    return part.offset


def _name(op: Operation | None) -> str:
    return "a block" if op is None else op.name


def remove_part(block: Block, gone: _Keep) -> None:
    """Erases the operations for which `gone` is true, and the loops and pure operations that are then without effect.

    A loop whose parts all run in the same round loses its skew.
    """
    for op in reversed(operations(block)):
        if gone(op) and not _is_used(op):
            erase(op)
            continue
        for region in op.regions:
            for inner in blocks(region):
                remove_part(inner, gone)
        if isinstance(op, ForOp):
            while _drop_unused_values(op):
                remove_part(op.body.block, gone)
            _merge_parts(op)
        if is_terminator(op) or _is_used(op):
            continue
        if is_pure(op) or (isinstance(op, ForOp | TilesOp | scf.ForOp | scf.IfOp) and _is_empty(op)):
            erase(op)
    assert not any(map(gone, operations(block))), "a value that another role needs"


def _is_used(op: Operation) -> bool:
    return any(result.first_use is not None for result in op.results)


def _is_empty(op: Operation) -> bool:
    return all(is_terminator(inner) for region in op.regions for block in blocks(region) for inner in operations(block))


def _drop_unused_values(loop: ForOp) -> bool:
    """Lets parts give only the values that something uses. Returns True if one has given others."""
    found = [part for part in loop.parts if any(value.first_use is None for value in part.values)]
    for part in found:
        used = [value for value in part.values if value.first_use is not None]
        last = part.body.block.last_op
        assert last is not None
        kept = [last.operands[value.index] for value in used]
        erase(last)
        Emitter(InsertPoint.at_end(part.body.block), part.location)(YieldOp(*kept))
        new = Emitter.before(part)(AtOp(part.offset, part.detach_region(part.body)))
        for old, value in zip(used, new.values, strict=True):
            take_over(old, value)
        erase(part)
    return bool(found)


def _merge_parts(loop: ForOp) -> None:
    """Drops parts without operations, and the skew if the others all run in the same round, the first one."""
    for part in loop.parts:
        if _is_empty(part) and not part.values:
            erase(part)
    parts = loop.parts
    if not parts:
        loop.skew = None
        return
    if (unused := min(part.offset for part in parts)) > 0:
        for part in parts:
            part.stage = i32_attr(part.offset - unused)
        loop.skew = i32_attr(loop.rounds_ahead - unused)
    if len({part.offset for part in parts}) > 1:
        return
    for part in parts:
        last = part.body.block.last_op
        assert isinstance(last, YieldOp)
        for result, value in zip(part.values, last.values, strict=True):
            result.replace_all_uses_with(value)
        erase(last)
        for op in tuple(part.body.block.ops):
            op.detach()
            loop.body.block.insert_op_before(op, part)
        erase(part)
    loop.skew = None
