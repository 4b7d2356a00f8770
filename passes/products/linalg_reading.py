"""Reads functions of structured operations: the dimensions that blocks share out, and the forms of arguments."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from tirx.diagnostics import operation_name
from tirx.dialects.formula import Call, Formula
from tirx.dialects.requirements import Requirement
from tirx.dialects.structured import Form, Structured, is_structured, memref_type, structured
from tirx.dialects.tirx.places import memory_problem
from tirx.passes.products.linalg_steps import factors_of, needs_nothing, needs_value
from tirx.rules import LinalgError
from tirx.values import dataclass


@dataclass
class Reading:
    """One function. After `read`, `rank` parallel dimensions are those of tiles, and `batch` in front of them count.

    `requirements` then say which sizes that only the launch knows have to be one size.
    """

    function: func.FuncOp

    def read(self) -> list[Structured]:
        """Returns the operations; `forms` then has the form in which the kernel has each argument."""
        steps = [structured(op) for op in self._operations()]
        if not steps:
            raise LinalgError(self.function, "expected operations of linalg or memref.copy in a kernel, found none")
        parallel = len(steps[0].parallel)
        reduces = any(step.reduction and factors_of(step) is None for step in steps)
        self.rank = min(parallel, 1 if reduces and not any(map(factors_of, steps)) else 2)
        self.batch = parallel - self.rank
        self.has_reduction = any(step.reduction for step in steps)
        self._check(steps)
        self.forms = self._forms(steps)
        self.requirements = self._agreements(steps)
        return steps

    def _operations(self) -> list[Operation]:
        blocks = self.function.body.blocks
        if len(blocks) != 1:
            raise LinalgError(self.function, f"expected a function of one block, found {len(blocks)}")
        found: list[Operation] = []
        for op in self.function.body.block.ops:
            if is_structured(op):
                found.append(op)
            elif not needs_nothing(op):
                raise LinalgError(
                    op,
                    "expected operations of linalg, memref.copy, constants and memref.alloc in a function that becomes "
                    f"a kernel, found '{operation_name(op)}'{' with operands' if op.name == 'func.return' else ''}",
                )
        return found

    def _check(self, steps: Sequence[Structured]) -> None:
        """Raises LocatedError for operations that blocks cannot do one after the other, each on its own tile."""
        written = {output: step.op for step in steps for output in step.outputs}
        known = set[SSAValue](self.function.body.block.args)
        for step in steps:
            count, first = len(step.parallel), len(steps[0].parallel)
            if count not in (1, 2, 3) or count != first:
                wanted = "one to three" if count == first else str(first)
                like = "" if count == first else ", as the first operation of the function has"
                raise LinalgError(step.op, f"expected {wanted} parallel dimensions{like}, found {count}")
            if step.reduction and set(step.inputs).intersection(step.outputs):
                raise LinalgError(step.op, "expected a reduction of other memrefs than it writes, found one of both")
            for number, (operand, dims) in enumerate(zip(step.operands, step.dims, strict=True)):
                if not isinstance(operand.type, MemRefType):
                    continue
                if 0 in memref_type(operand).get_shape():
                    raise LinalgError(step.op, f"expected extents of 1 or more, found {memref_type(operand)}")
                if operand not in known and needs_value(step, number):
                    raise LinalgError(
                        step.op, "expected a memref.alloc that is written before it is read, found one without values"
                    )
                if number >= len(step.inputs) and dims != step.parallel:
                    raise LinalgError(
                        step.op, f"expected outputs indexed by the parallel dimensions in order, found {dims}"
                    )
                if operand in written and dims != step.parallel:
                    raise LinalgError(
                        step.op,
                        f"expected what this function writes to be read where it is written, found it read by {dims}; "
                        "blocks do not wait for each other: make two functions of it",
                    )
            known.update(step.outputs)

    def _forms(self, steps: Sequence[Structured]) -> dict[SSAValue, Form]:
        """Returns the form in which the kernel has each argument."""
        found: dict[SSAValue, Form] = {}
        tile_rank = 2 if self.has_reduction else self.rank
        for step in steps:
            for operand, dims in zip(step.operands, step.dims, strict=True):
                if not isinstance(operand.type, MemRefType) or not isinstance(operand, BlockArgument):
                    continue
                order = self.order(step, dims)
                inside = self.inside(step, dims)
                units: tuple[int, ...] = ()
                before, missing = len(order) - len(inside), tile_rank - len(inside)
                if missing > 0:
                    is_column = inside == (step.parallel[self.batch],)
                    units = (before + 1,) if is_column else tuple(range(before, before + missing))
                form = Form(tuple(dims.index(d) for d in order), units)
                if (problem := memory_problem(memref_type(operand))) is not None:
                    raise LinalgError(step.op, problem)
                if found.setdefault(operand, form) != form:
                    ways = f"as {found[operand]} and as {form}"
                    raise LinalgError(step.op, f"expected an argument to be indexed in one way, found it {ways}")
        return found

    def _agreements(self, steps: Sequence[Structured]) -> list[Requirement]:
        """Returns what a launch checks so that each dimension has one size. Raises LocatedError for two that differ."""
        sizes: dict[tuple[int, int], list[tuple[Formula, str, Operation]]] = {}
        """A dimension, by its position among the parallel ones or by its step -> its size in each operand."""
        for number, step in enumerate(steps):
            for operand, dims in zip(step.operands, step.dims, strict=True):
                for i, d in enumerate(dims):
                    if (size := self.size(step, operand, dims, i)) is not None:
                        key = (-1, step.parallel.index(d)) if d in step.parallel else (number, d)
                        which = f"dimension {i} of '{operand.name_hint or 'an operand'}'"
                        sizes.setdefault(key, []).append((size, which, step.op))
        requirements: list[Requirement] = []
        for found in sizes.values():
            known = [each for each in found if isinstance(each[0], int)]
            first, place, _ = (known or found)[0]
            for size, which, op in found:
                if isinstance(size, int) and size != first:
                    raise LinalgError(
                        op,
                        f"expected {first} elements along {which}, as along {place}, found {size}; "
                        "operations of other sizes need a function of their own",
                    )
                if size != first:
                    words = f"expected as many elements along {which} as along {place}, {{bound}}, found {{value}}"
                    requirements.append(Requirement(size, "equal", first, words))
        return requirements

    def size(self, step: Structured, operand: SSAValue, dims: Sequence[int], position: int) -> Formula | None:
        """The size of a dimension of an operand, None where the function itself allocates it at run time."""
        if not isinstance(operand.type, MemRefType):
            return None
        if (known := memref_type(operand).get_shape()[position]) != DYNAMIC_INDEX:
            return known
        if not isinstance(operand, BlockArgument):
            return None
        places = self.forms[operand].inserted(self.order(step, dims), -1)
        return Call("size", (operand.index, places.index(dims[position])))

    @staticmethod
    def order(step: Structured, dims: Sequence[int]) -> tuple[int, ...]:
        """The dimensions in the order of tiles: parallel ones, then that of the reduction."""
        return tuple(d for d in (*step.parallel, *step.reduction) if d in dims)

    def inside(self, step: Structured, dims: Sequence[int]) -> tuple[int, ...]:
        """The dimensions that a tile has, in order: those that count no batch."""
        return tuple(d for d in self.order(step, dims) if d not in step.parallel[: self.batch])


def argument_forms(function: func.FuncOp) -> list[Form | None]:
    """Returns the form in which a kernel has each argument of the function that becomes it; None: as it is."""
    reading = Reading(function)
    reading.read()
    return [reading.forms.get(each) for each in function.body.block.args]
