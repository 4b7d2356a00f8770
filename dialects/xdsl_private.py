"""The private names of xDSL's IR that tirx uses: no other file does, so that another version of xDSL is looked at here.
Those of its parser are in `xdsl_parser.py`.

Passes read fields of IR, hash values and ask for classes hundreds of thousands of times. In xDSL each of that is a call
of a Python function, a fifth of all that a compilation makes. Importing this module lets the interpreter do the same.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from abc import ABCMeta
from collections import namedtuple
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType, NoneAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import BlockOps, IRWithUses, OpOperands, OpSuccessors, RegionBlocks, SSAValues, _IRNode
from xdsl.irdl import IRDLOperation
from xdsl.parser.generic_parser import GenericParser
from xdsl.traits import IsolatedFromAbove

_OperationT = TypeVar("_OperationT", bound=Operation)

operands_of: Callable[[Operation], SSAValues] = attrgetter("_operands")
"""The operands of an operation as a tuple: `op.operands` makes an object each time."""

successors_of: Callable[[Operation], Sequence[Block]] = attrgetter("_successors")
"""The successors of an operation, in the same way."""

type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
"""The type of a value."""

user_of: Callable[[Use], Operation] = attrgetter("_operation")
"""The operation that uses a value."""

next_use: Callable[[Use], Use | None] = attrgetter("_next_use")
"""The use of a value behind another."""

_NO_VALUES: Any = SSAValues()

FIELDS: Mapping[type, Mapping[str, str]] = {
    SSAValue: {"type": "_type"},
    OpResult: {"owner": "op"},
    BlockArgument: {"owner": "block"},
    Use: {"operation": "_operation", "index": "_index"},
    Operation: {"next_op": "_next_op", "prev_op": "_prev_op", "parent_node": "parent"},
    Block: {
        "first_op": "_first_op",
        "last_op": "_last_op",
        "next_block": "_next_block",
        "prev_block": "_prev_block",
        "args": "_args",
        "parent_node": "parent",
    },
    Region: {"first_block": "_first_block", "last_block": "_last_block", "parent_node": "parent"},
    GenericParser: {"_current_token": "_parser_state.current_token"},
}
"""Classes of IR -> their properties that return a field and do nothing else, with the field."""

VIEWS: Mapping[type, Mapping[str, type]] = {
    Operation: {"operands": OpOperands, "successors": OpSuccessors},
    Block: {"ops": BlockOps},
    Region: {"blocks": RegionBlocks},
}
"""Classes of IR -> their properties that return a view of the object and do nothing else, with the class of it."""

_Items = namedtuple("_Items", "at0 at1 at2 at3 at4 at5 at6 at7")  # pyright: ignore[reportUntypedNamedTuple]

ITEMS: Sequence[str] = _Items._fields
"""Names of the first ones of operands or results: `op.results.at0` makes no call, as `op.results[0]` does."""

IDENTIFIED = (_IRNode, IRDLOperation, SSAValue)
"""Classes that are hashed by identity."""


NOTHING_INSIDE = (IndexType, NoneAttr, UnitAttr)
"""Classes of attributes that have no parameters, of which nothing can be wrong."""


class ExactClass(ABCMeta):
    """The class of classes of IR, of which nothing is an instance but what inherits from it. `isinstance` need not look
    for classes that are registered with an abstract one.
    """

    __instancecheck__ = type.__instancecheck__


def _make_exact(cls: type) -> None:
    """Makes a class and those that inherit from it exact; those that are defined later are so by inheritance."""
    if type(cls) is ABCMeta:
        cls.__class__ = ExactClass  # pyright: ignore[reportAttributeAccessIssue]
    for inner in type.__subclasses__(cls):
        _make_exact(inner)


def _value_getter() -> Callable[..., SSAValue]:
    """Returns `SSAValue.get`, which for a value of any type makes a generic alias, for nothing but a cast."""
    get = SSAValue.get

    def get_value(arg: SSAValue | Operation, *, type: Any = Attribute) -> SSAValue:
        return arg if type is Attribute and isinstance(arg, SSAValue) else get(arg, type=type)

    return get_value


def _parent_op(op: Operation) -> Operation | None:
    """`Operation.parent_op` of xDSL, which asks for the block and the region by a call each."""
    return None if (block := op.parent) is None or (region := block.parent) is None else region.parent


def _nothing(attribute: Attribute) -> None:
    """Does what making and verifying an attribute without parameters amounts to."""


def _only(kind: type[Attribute]) -> Callable[..., Attribute]:
    """Returns the `__new__` of a class of which one object is enough."""
    only = object.__new__(kind)
    return lambda *_: only


def _quicken() -> None:
    for cls, fields in FIELDS.items():
        for name, field in fields.items():
            setattr(cls, name, property(attrgetter(field), doc=vars(cls)[name].__doc__))
    for cls, views in VIEWS.items():
        for name, view in views.items():
            known = vars(cls)[name]
            setattr(cls, name, property(view, known.fset, doc=known.__doc__))
    for name in ITEMS:
        setattr(SSAValues, name, vars(_Items)[name])
    for cls, name, by in (
        (SSAValues, "types", property(_types, doc=SSAValues.types.__doc__)),
        (Operation, "operands", property(OpOperands, _set_operands, doc=Operation.operands.__doc__)),
        (Operation, "parent_op", _parent_op),
        (OpOperands, "__setitem__", _set_operand),
        (SSAValue, "replace_all_uses_with", replace_uses),
    ):
        setattr(cls, name, by)
    for cls in NOTHING_INSIDE:
        made_at_once = {"__init__": _nothing, "__post_init__": _nothing, "__new__": staticmethod(_only(cls))}
        for name, by in made_at_once.items():
            setattr(cls, name, by)
    for cls in IDENTIFIED:
        cls.__hash__ = object.__hash__
    for cls in (_IRNode, IRWithUses, Attribute):
        _make_exact(cls)
    SSAValue.get = staticmethod(_value_getter())  # pyright: ignore[reportAttributeAccessIssue]


def signature_of(op: Operation) -> Hashable:
    """The class of an operation, identities of its types, properties and attributes, how many successors it has, and
    which regions have one block: what definitions look at. Loops take half the time of `map` here.
    """
    found: list[object] = [type(op)]
    for value in op._operands:
        found.append(id(value._type))
    found.append(None)
    for value in op.results:
        found.append(id(value._type))
    for name, attribute in op.properties.items():
        found += name, id(attribute)
    if op.attributes or op._successors:
        found.append(len(op._successors))
        for name, attribute in op.attributes.items():
            found += name, id(attribute)
    for region in op.regions:
        found.append(region._first_block is not None and region._first_block is region._last_block)
    return tuple(found)


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Gives a value another type, without another value."""
    value._type = type_


def append(block: Block, op: Operation) -> None:
    """Puts an operation, which is in no block, behind those of a block."""
    last = block._last_op
    op.parent, op._prev_op, block._last_op = block, last, op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op


def operations(block: Block) -> list[Operation]:
    """Returns the operations of a block as they are now. The iterator of `block.ops` makes several calls for each."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def blocks(region: Region) -> list[Block]:
    """Returns the blocks of a region in the same way."""
    found: list[Block] = []
    block = region._first_block
    while block is not None:
        found.append(block)
        block = block._next_block
    return found


def walk(op: Operation, *, region_first: bool = False) -> list[Operation]:
    """Returns the operations that `op.walk()` of xDSL goes through, as they are now. That has three generators for each
    level of nesting, which all operations pass.
    """
    found: list[Operation] = []
    _collect(op, region_first, found)
    return found


def _collect(op: Operation, region_first: bool, found: list[Operation]) -> None:
    if not region_first:
        found.append(op)
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                if inner.regions:
                    _collect(inner, region_first, found)
                else:
                    found.append(inner)
                inner = inner._next_op
            block = block._next_block
    if region_first:
        found.append(op)


def users_of(value: SSAValue) -> list[Operation]:
    """Returns the operations that use a value, one for each use."""
    found: list[Operation] = []
    use = value.first_use
    while use is not None:
        found.append(use._operation)
        use = use._next_use
    return found


def has_inside(op: Operation, wanted: Mapping[type[Operation], bool]) -> bool:
    """Returns True if an operation inside of `op` is of a class that is wanted."""
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                if wanted[type(inner)] or (inner.regions and has_inside(inner, wanted)):
                    return True
                inner = inner._next_op
            block = block._next_block
    return False


def fill(
    op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute], properties: dict[str, Attribute]
) -> None:
    """Does what `Operation.__init__` does, for an operation that has nothing yet and gets no regions or successors."""
    _use(op, operands)
    results: list[OpResult] = []
    new = OpResult.__new__
    for type_ in types:
        result = new(OpResult)
        result._type, result.op, result.index = type_, op, len(results)
        results.append(result)
    op.results = SSAValues(results)
    op.properties = properties
    op.attributes = {}
    op.location = UNKNOWN_LOC


def place(op: Operation, block: Block, behind: Operation | None) -> None:
    """Puts an operation without regions, which is in no block, into a block: in front of one there, or at the end."""
    if behind is None:
        before, block._last_op = block._last_op, op
    else:
        before, behind._prev_op = behind._prev_op, op
    op.parent, op._prev_op, op._next_op = block, before, behind
    if before is None:
        block._first_op = op
    else:
        before._next_op = op


def _use(op: Operation, operands: Iterable[SSAValue]) -> None:
    op._operands = values = SSAValues(operands)
    uses: list[Use] = []
    new = Use.__new__
    for value in values:
        # Without the constructor, which takes longer than all the rest; what is not set here is None in the class.
        use = new(Use)
        use._operation, use._index = op, len(uses)
        if (first := value.first_use) is not None:
            use._next_use = first
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    op._operand_uses = tuple(uses)


def move_rest(op: Operation, into: Block) -> None:
    """Moves an operation, and those behind it in its block, into a block that has none."""
    block, before = op.parent, op._prev_op
    if block is None or into._first_op is not None:
        raise ValueError(f"expected '{op.name}' in a block, and a block without operations to move it to")
    into._first_op, into._last_op, block._last_op, op._prev_op = op, block._last_op, before, None
    if before is None:
        block._first_op = None
    else:
        before._next_op = None
    moved: Operation | None = op
    while moved is not None:
        moved.parent = into
        moved = moved._next_op


def move_arguments(block: Block, into: Block) -> None:
    """Gives the arguments of a block, with their uses, to one that has none."""
    if into._args:
        raise ValueError(f"expected a block without arguments, found one with {len(into._args)}")
    into._args, block._args = block._args, ()
    for argument in into._args:
        argument.block = into


def become(op: Operation, kind: type[_OperationT], properties: dict[str, Attribute]) -> _OperationT:
    """Puts an operation of another class in the place of one, with its operands, results and uses, and its location.

    The old one, whose attributes are dropped, has nothing any more. Another one takes four times as long to build,
    insert and use instead.
    """
    new = kind.__new__(kind)
    new._operands, new._operand_uses, new.results = op._operands, op._operand_uses, op.results
    for use in new._operand_uses:
        use._operation = new
    for result in new.results:
        result.op = new
    new.properties, new.attributes, new.location = properties, {}, op.location
    block, before, behind = op.parent, op._prev_op, op._next_op
    new.parent, new._next_op, new._prev_op = block, behind, before
    if before is not None:
        before._next_op = new
    elif block is not None:
        block._first_op = new
    if behind is not None:
        behind._prev_op = new
    elif block is not None:
        block._last_op = new
    op._operands, op._operand_uses, op.results = _NO_VALUES, (), _NO_VALUES
    op.parent = op._prev_op = op._next_op = None
    return new


def add_arguments(block: Block, types: Sequence[Attribute]) -> Sequence[BlockArgument]:
    """Gives a block arguments of these types behind its own; `insert_arg` makes a copy of all of them for each."""
    made = [BlockArgument(type_, block, i) for i, type_ in enumerate(types, len(block._args))]
    block._args = (*block._args, *made)
    return made


def clone(op: _OperationT, values: dict[SSAValue, SSAValue] | None = None) -> _OperationT:
    """As `op.clone(values)`, which builds operations by their constructor and looks at all of the copy again."""
    values = {} if values is None else values
    places: dict[Block, Block] = {}
    made: list[tuple[Operation, Operation]] = []
    copy = _clone(op, values, places, made)
    for old, new in made:
        _use(new, [values.get(operand, operand) for operand in old._operands])
        if old._successors:
            new.successors = [places.get(successor, successor) for successor in old._successors]
    return copy


def _clone(
    op: _OperationT,
    values: dict[SSAValue, SSAValue],
    places: dict[Block, Block],
    made: list[tuple[Operation, Operation]],
) -> _OperationT:
    copy = type(op).__new__(type(op))
    fill(copy, (), [*map(type_of, op.results)], dict(op.properties))
    copy.attributes, copy.location = dict(op.attributes), op.location
    made.append((op, copy))
    named: list[tuple[SSAValue, SSAValue]] = [*zip(op.results, copy.results, strict=True)]
    for region in op.regions:
        copy.add_region(into := Region())
        for block in blocks(region):
            places[block] = inside = Block(arg_types=[*map(type_of, block._args)])
            into.add_block(inside)
            for argument, of_copy in zip(block._args, inside._args, strict=True):
                of_copy.location = argument.location
                named.append((argument, of_copy))
            last = None
            for inner in operations(block):
                following = _clone(inner, values, places, made)
                following.parent, following._prev_op = inside, last
                if last is None:
                    inside._first_op = following
                else:
                    last._next_op = following
                last = following
            inside._last_op = last
    for value, of_copy in named:
        values[value], of_copy._name = of_copy, value._name
    return copy


def _drop_operands(op: Operation) -> None:
    for use in op._operand_uses:
        before, behind = use._prev_use, use._next_use
        if before is None:
            op._operands[use._index].first_use = behind
        else:
            before._next_use = behind
        if behind is not None:
            behind._prev_use = before
    op._operand_uses = ()


def erase(op: Operation) -> None:
    """Takes an operation, whose results nothing uses any more, out of its block, and the results from it.

    What nothing else knows is gone at once; with its results, which know it, it would wait for the collector.
    """
    block, before, behind = op.parent, op._prev_op, op._next_op
    if block is None:
        raise ValueError(f"expected '{op.name}' in a block, found it in none")
    if before is None:
        block._first_op = behind
    else:
        before._next_op = behind
    if behind is None:
        block._last_op = before
    else:
        behind._prev_op = before
    op.parent = op._prev_op = op._next_op = None
    _drop_operands(op)
    if op._successors:
        op.successors = ()
    for region in op.regions:
        discard(region)
    for result in op.results:
        if result.first_use is not None:
            op.erase()  # which says whose results are used
    op.results = _NO_VALUES


def discard(region: Region) -> None:
    """Takes a region that nobody needs any more apart, all operations and blocks inside from one another.

    They are gone at once, as erased operations are.
    """
    owner = region.parent
    _discard(region, owner is not None and owner.has_trait(IsolatedFromAbove))


def _discard(region: Region, isolated: bool) -> None:
    """`isolated`: all that uses a value of the region, or is used in it, is in the region."""
    for block in blocks(region):
        for op in operations(block):
            for inner in op.regions:
                _discard(inner, isolated)
            if isolated:
                for use in op._operand_uses:
                    use._prev_use = use._next_use = None
                op._operand_uses = ()
            else:
                _drop_operands(op)
            for use in op._successor_uses:
                use._prev_use = use._next_use = None
            op._operands = op.results = _NO_VALUES
            op._successors = op._successor_uses = op.regions = ()
            op.parent = op._prev_op = op._next_op = None
        block._args = ()
        block.parent = block._first_op = block._last_op = block._prev_block = block._next_block = block.first_use = None
    region.parent = region._first_block = region._last_block = None


def replace_uses(value: SSAValue, by: SSAValue) -> None:
    """As `value.replace_all_uses_with(by)`, which looks at all operands of each user several times."""
    if by is value:
        return
    use, first = value.first_use, by.first_use
    while use is not None:
        op, following = use._operation, use._next_use
        operands = [*op._operands]
        operands[use._index] = by
        op._operands = SSAValues(operands)
        use._prev_use, use._next_use = None, first
        if first is not None:
            first._prev_use = use
        use, first = following, use
    value.first_use, by.first_use = None, first
    if by._name is None:
        by._name = value._name


def replace_all(pairs: Mapping[SSAValue, SSAValue]) -> None:
    """`replace_uses` of several values, by others: operations that use many of them get their operands once."""
    users: dict[Operation, None] = {}
    assert pairs.keys().isdisjoint(pairs.values()), "a value that others become is replaced itself"
    for value, by in pairs.items():
        use, first = value.first_use, by.first_use
        while use is not None:
            users[use._operation] = None
            following = use._next_use
            use._prev_use, use._next_use = None, first
            if first is not None:
                first._prev_use = use
            use, first = following, use
        value.first_use, by.first_use = None, first
        if by._name is None:
            by._name = value._name
    for op in users:
        op._operands = SSAValues([pairs.get(operand, operand) for operand in op._operands])


def _types(values: SSAValues) -> tuple[Attribute, ...]:
    return tuple(map(type_of, values))


def _set_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    _drop_operands(op)
    _use(op, operands)


def _set_operand(operands: OpOperands, index: int, value: SSAValue) -> None:
    op = operands._op
    whole = [*op._operands]
    use = op._operand_uses[index]
    whole[index].remove_use(use)
    whole[index] = value
    value.add_use(use)
    op._operands = SSAValues(whole)


_quicken()
