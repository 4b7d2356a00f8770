"""Verification that says where: the first operation that does not verify, at its own location."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, LocationAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, ErasedSSAValue, Operation, OpResult, Region, SSAValue
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from tirx.diagnostics import Diagnostic, Errors, LocatedError, Note, each_warning_once, in_stage, position, written_at
from tirx.dialects.definition import Signatures, quicken, remember
from tirx.dialects.nesting import ancestors, operations, walk
from tirx.dialects.traits import UsableBeforeDefinition, is_terminator
from tirx.dialects.xdsl_private import blocks, operands_of, signature_of, successors_of
from tirx.passes import PASS_SUMMARIES
from tirx.passes.deferred import DeferredPass
from tirx.passes.ir.dominators import Dominators, predecessors, reverse_postorder, successors
from tirx.rules import DefinitionError, DominanceError, invalid
from tirx.text.mlir_rules import check_mlir_rules
from tirx.values import dataclass


class Dominance:
    """Answers whether a value is defined before it is used, for IR that does not change in between.

    The bodies of all operations count as ordered, also that of `builtin.module`; only results of operations with the
    trait `UsableBeforeDefinition` may be used before them.
    """

    def __init__(self) -> None:
        self._positions: dict[Block, dict[Operation, int]] = {}
        self._above: dict[Block, set[Block]] = {}
        self._trees: dict[Region, Dominators] = {}

    def _is_before(self, a: Operation, b: Operation, block: Block) -> bool:
        positions = self._positions.get(block)
        if positions is None:
            positions = self._positions[block] = {op: i for i, op in enumerate(operations(block))}
        return positions[a] < positions[b]

    def above(self, block: Block | None) -> set[Block]:
        """Other blocks of the region of a block that were found to dominate it: values of many operations come from few
        blocks.
        """
        return set() if block is None else self._above.setdefault(block, set())

    def _dominates(self, a: Block, b: Block, region: Region) -> bool:
        """Returns True if every path from the entry to `b` goes through `a`, or none leads to `b`."""
        tree = self._trees.get(region)
        if tree is None:
            entry = [region.blocks[0]]
            order = reverse_postorder(entry, successors)
            tree = self._trees[region] = Dominators(order, entry, predecessors(order))
        return b not in tree or tree.dominates(a, b)

    def is_defined_at(self, value: SSAValue, user: Operation) -> bool:
        """Returns True if `value` is defined on every path that leads to `user`."""
        here = user.parent
        if type(value) is OpResult:
            if (block := value.op.parent) is here and block is not None:
                if self._is_before(value.op, user, block):
                    return True
                return value.op.has_trait(UsableBeforeDefinition)
        elif type(value) is BlockArgument and value.block is here:
            return True
        owner = value.op if type(value) is OpResult else value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        region = None if block is None else block.parent
        around: Operation | None = user
        while around is not None and (around.parent is None or around.parent.parent is not region):
            around = around.parent_op()
        if block is None or region is None or around is None or around.parent is None:
            return False
        if around.parent is not block:
            return self._dominates(block, around.parent, region)
        if isinstance(owner, Block) or self._is_before(owner, around, block):
            return True
        return owner.has_trait(UsableBeforeDefinition)


if TYPE_CHECKING:
    from tirx.dialects.tirx import KernelOp
    from tirx.passes.kernels.stages import Stages


class InvalidPassOutputError(Exception):
    """Passes turned valid IR into IR that does not verify: a bug in one of them, not in the user's input."""

    def __init__(self, passes: Sequence[str], diagnostic: Diagnostic):
        self.culprit = f"'{passes[0]}'" if len(passes) == 1 else "one of the passes; --verify-each names it"
        who = f"pass '{passes[0]}'" if len(passes) == 1 else f"passes '{','.join(passes)}'"
        super().__init__(f"{who} produced IR that does not verify: {diagnostic}")
        self.diagnostic = diagnostic


class CheckError(Exception):
    """A launch whose PTX does not do what the program means, or a program without a launch that can be compared.

    `message` says what differs and `culprit` the first pass behind which the program differs, or after which lowering
    goes wrong; None where nothing was compared. `change` is the IR in front of that pass and behind it, as a diff, and
    `location` that of an operation which shows it.
    """

    def __init__(
        self, message: str, culprit: str | None = None, change: str = "", location: LocationAttr = UNKNOWN_LOC
    ):
        super().__init__(message if culprit is None else f"{message}; {culprit}")
        self.message = message
        self.culprit = culprit
        self.change = change
        self.location = location

    def __str__(self) -> str:
        where = position(self.location)
        return super().__str__() if where is None else f"{where[0]}:{where[1]}:{where[2]}: {super().__str__()}"


_VERIFIED: Signatures = {}
"""Those of operations with `FOLLOWS_TYPES` or `FOLLOWS_IMMEDIATES` that verify."""


def _verify_structure(op: Operation) -> None:
    """Verifies `op` itself; the operations inside of it are somebody else's turn."""
    for region in op.regions:
        for block in blocks(region):
            if block.first_op is None:
                block.verify()
    quicken(type(op))
    block, following = op.parent, successors_of(op)
    region = None if block is None else block.parent
    if region is not None and block is not None and block.last_op is op:
        is_placed = is_terminator(op) and all(each.parent is region for each in following)
    else:
        is_placed = not following
    if is_placed:
        op.verify_()
    else:
        op.verify(verify_nested_ops=False)  # which says what is wrong with its place, if anything is


def _definition(value: SSAValue) -> FileLineColLoc | None:
    """The place where a value is defined, None if its definition has no location."""
    match value:
        case OpResult(op=Operation(location=location)) | BlockArgument(location=location):
            return written_at(location)
        case _:
            return None


def _verify_operands(op: Operation, dominance: Dominance, defined: set[SSAValue]) -> None:
    """Verifies that operands are `defined` in front of an operation of a block, to which others are added that are."""
    here = op.parent
    above = dominance.above(here)
    for index, operand in enumerate(operands_of(op)):
        if operand in defined:
            continue
        if type(operand) is ForwardDeclaredValue or type(operand) is ErasedSSAValue:
            raise DominanceError(op, f"use of operand #{index}, which no definition reaches")
        block = operand.op.parent if type(operand) is OpResult else operand.owner
        if block in above:
            continue
        if dominance.is_defined_at(operand, op):
            defined.add(operand)
            if block is not here and isinstance(block, Block) and here is not None and block.parent is here.parent:
                above.add(block)
            continue
        name = f"operand #{index}" if operand.name_hint is None else f"%{operand.name_hint}"
        owner = operand.owner
        if isinstance(owner, Operation) and owner.parent is op.parent:
            problem = f"use of {name} before its definition"
        else:
            problem = f"use of {name}, whose definition does not dominate this use"
        definition = _definition(operand)
        if definition is None:
            raise DominanceError(op, problem)
        problem += f" (defined at {definition.line.data}:{definition.column.data})"
        raise DominanceError(op, problem, [Note("defined here", definition)])


def verify_located(module: Operation) -> None:
    """Verifies every operation of `module`, innermost first, and that values are defined before they are used.

    Raises LocatedError at the first operation that does not verify, with those behind it as its `others`.
    """
    dominance = Dominance()
    try:
        _verify_operation(module, dominance, set())
        _verify_inside(module, dominance)
        return
    except Exception as error:  # any but LocatedError: of a verifier that counts on an operation that does not verify
        first = error
    # Outside of the handler: errors that are raised in it would have the facts of the first one.
    _raise_all(module, dominance)
    raise first


def _verify_inside(op: Operation, dominance: Dominance) -> None:
    for region in op.regions:
        for block in blocks(region):
            defined = set[SSAValue](block.args)
            for inner in operations(block):
                # Most operations are as one before, and use what is in front of them.
                if not _follows_types(type(inner)) or signature_of(inner) not in _VERIFIED or inner.next_op is None:
                    _verify_alone(inner)
                if not defined.issuperset(operands_of(inner)):
                    _verify_operands(inner, dominance, defined)
                defined.update(inner.results)
                if inner.regions:
                    _verify_inside(inner, dominance)


def _verify_operation(op: Operation, dominance: Dominance, defined: set[SSAValue]) -> None:
    """Verifies an operation and the places of its operands. `defined` are values that are in front of it."""
    _verify_alone(op)
    if not defined.issuperset(operands_of(op)):
        _verify_operands(op, dominance, defined)


@cache
def _follows_types(kind: type[Operation]) -> bool:
    return getattr(kind, "FOLLOWS_TYPES", False)


def _verify_alone(op: Operation) -> None:
    """Verifies an operation, but for the places of its operands."""
    signature = None
    if op.next_op is not None:
        if _follows_types(type(op)):
            signature = signature_of(op)
        elif getattr(op, "FOLLOWS_IMMEDIATES", False):
            from tirx.dialects.ptx.known_bits import immediates_of  # no operation of other dialects follows them

            if (immediates := immediates_of(op)) is not None:
                signature = signature_of(op), *immediates
    if signature is None:
        _verify_itself(op)
    elif signature not in _VERIFIED:
        _verify_itself(op)
        remember(_VERIFIED, signature, op)
    if op.regions and op.properties.get("params") is not None and op.name == "tirx.kernel":
        from tirx.passes.kernels.tirx_specialize import verify_bound  # few kernels have parameters

        verify_bound(cast("KernelOp", op), {})


def _verify_itself(op: Operation) -> None:
    try:
        check_mlir_rules(op)
        _verify_structure(op)
    except VerifyException as error:
        raise invalid(op, error) from error
    except NotImplementedError as error:  # of the message: xDSL prints no numbers of f80 and f128
        raise invalid(
            op, DefinitionError("expected attributes that have a text, found a number of f80 or f128")
        ) from error
    except Exception as error:
        if type(error) is not Exception:  # which verifiers of xDSL raise for what they call an error
            raise
        raise invalid(op, DefinitionError(str(error))) from error


def _raise_all(module: Operation, dominance: Dominance) -> None:
    """Verifies once more, going on behind errors; operations around one that does not verify are left out."""
    errors = Errors()
    around: set[Operation] = set()
    for op in walk(module, region_first=True):
        if op in around:
            continue
        with in_stage("verify"), errors.attempt():
            try:
                _verify_operation(op, dominance, set())
            except LocatedError:
                around.update(ancestors(op))
                raise
            except Exception:
                # It counts on another operation that does not verify, where what is wrong is reported.
                around.update(ancestors(op))
    errors.raise_all()


def verify_each_by_default() -> bool:
    """Returns True if the environment variable `TIRX_VERIFY_EACH` asks to verify after every pass, as tests do."""
    return os.environ.get("TIRX_VERIFY_EACH", "0") not in ("", "0")


@dataclass(frozen=True)
class StepTime:
    """The wall time of one step of a compilation in seconds: of the step itself and of verifying its output."""

    name: str
    run: float
    verify: float = 0.0


def _stages(names: Collection[str]) -> Stages | None:
    """Returns the needs of the passes `names` of one another; None if none of them is of tirx."""
    if PASS_SUMMARIES.keys().isdisjoint(names):
        return None
    from tirx.passes.kernels.stages import Stages  # imports the dialects of kernels, which other passes do not need

    return Stages(names)


IN_PASS = "in the pass "
"""The note of what a pass of another package raises begins so."""


@each_warning_once()
def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Iterable[ModulePass],
    after_each: Callable[[ModulePass, ModuleOp], None] | None = None,
    *,
    verify_each: bool | None = None,
    before_each: Callable[[ModulePass, ModuleOp], None] | None = None,
) -> list[StepTime]:
    """Verifies `module`, applies the passes to it in order and verifies the result. Returns the times of all steps.

    With `verify_each` (None: as `verify_each_by_default` says), the module is verified after every pass, else
    before and after those of other packages than tirx and xDSL.
    Raises LocatedError when the module does not verify at first, InvalidPassOutputError when it does not verify
    afterwards, and whatever a pass raises: LocatedError or PassFailedException for input that it cannot handle. Other
    errors of passes of other packages have a note with the name of the pass and its package.
    """
    verify_each = verify_each_by_default() if verify_each is None else verify_each
    remaining = deque(passes)
    unverified: list[str] = []
    start = perf_counter()
    verify_located(module)
    times = [StepTime("input", 0.0, perf_counter() - start)]
    stages = _stages([each.name for each in remaining])

    def verify_output() -> None:
        try:
            verify_located(module)
        except LocatedError as error:
            if stages is not None and stages.missing is not None:
                raise stages.missing from error
            raise InvalidPassOutputError(unverified, error.diagnostic) from error
        unverified.clear()

    while remaining:
        module_pass = remaining.popleft()
        if before_each is not None:
            before_each(module_pass, module)
        running = module_pass.needed(module) if isinstance(module_pass, DeferredPass) else module_pass
        is_own = running is None or type(running).__module__.partition(".")[0] in ("tirx", "xdsl")
        if unverified and not is_own:
            verify_output()
        start = perf_counter()
        # What comes next may finish what this pass leaves undone, unless somebody looks at it in between.
        is_seen = after_each is not None or before_each is not None
        with in_stage(module_pass.name, None if is_seen or not remaining else remaining[0].name):
            if stages is not None:
                stages.before(module_pass.name, module)
            try:
                if running is not None:
                    running.apply(ctx, module)
            except (LocatedError, PassFailedException):
                raise
            except Exception as error:
                if stages is not None and stages.missing is not None:
                    raise stages.missing from error
                if not is_own:
                    error.add_note(f"{IN_PASS}'{module_pass.name}' of {type(running).__module__.partition('.')[0]}")
                raise
        if stages is not None:
            stages.after(module_pass.name, PASS_SUMMARIES)
        end = perf_counter()
        if running is not None:
            unverified.append(module_pass.name)
        if unverified and (verify_each or not is_own or not remaining):
            verify_output()
        times.append(StepTime(module_pass.name, end - start, perf_counter() - end))
        if after_each is not None:
            after_each(module_pass, module)
    return times
