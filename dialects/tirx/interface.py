"""Interfaces of operations on tiles and of scalar guests: effects, constraints on layouts, and how they are lowered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import MemRefType, UnregisteredOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import LocatedError, operation_name
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.traits import is_pure, is_terminator
from tirx.frames import place_in
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.reduction import reduced
from tirx.rules import ForeignOperationError
from tirx.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

OpT = TypeVar("OpT", bound=Operation)

_OWN = frozenset({"tirx", "tcgen05", "wgmma", "ptx", "arith", "math", "scf", "memref", "builtin", "cf"})
"""Dialects whose operations passes know."""


@dataclass(frozen=True)
class ThreadLowering(ABC):
    """Says where an operation on tiles becomes what each thread does: the place, and the registers of its operands.

    `thread` (i32) is the index of a thread among the `threads` that run the operation, `target` the GPU.

    >>> from tirx.embed import ThreadLowering
    >>> def lower(self, threads: ThreadLowering):  # a method of a TileOpInterface
    ...     return [threads.registers(self.source)]
    """

    thread: SSAValue
    threads: int
    target: Target

    @abstractmethod
    def insert(self, op: OpT) -> OpT:
        """Inserts `op` in front of the operation that is lowered, at its location, and returns it."""

    @abstractmethod
    def registers(self, tile: SSAValue) -> Sequence[SSAValue]:
        """The registers of one thread that hold a register tile, in the order of the layout's memory axis.

        Elements of f32 and f64 have registers of these types, integers of 64 bits those of i64. All others are packed
        into registers of i32, the first element in the low bits: two of f16, four of i8.
        """

    @abstractmethod
    def address(self, tile: SSAValue) -> SSAValue:
        """The address of the first element of a tile in shared (i32) or global (i64) memory. Arguments are memrefs: an
        operation takes a `tirx.view` of one."""


@dataclass(frozen=True)
class Reduced:
    """`part` has one element where `whole` has several along `dims`: its layout follows from that of `whole`."""

    whole: SSAValue
    part: SSAValue
    dims: tuple[int, ...]

    def layout(self, whole: TileLayout) -> TileLayout:
        """Returns the layout of the part. Raises LayoutError if there is none."""
        return reduced(whole, TileType.of(self.whole).dims, self.dims)


class TileOpInterface:
    """Tells passes what an operation does with tiles; a base class beside IRDLOperation, for tirx and other dialects.

    `same_layout`, `reductions` and `wanted_layouts` are constraints. `tirx-pick-layouts` gives tiles without a layout
    one that meets them; where layouts are given that do not, it converts operands and results.

    Without the interface, an operation of another dialect is taken to read and write every tile and memref that it is
    given, and whoever wrote it lowers it before `convert-tirx-to-ptx`. Register tiles are values, which nothing writes:
    an operation returns new ones. An operation that is `Pure` reads its operands only.

    ```python
    @irdl_op_definition
    class ReluOp(IRDLOperation, TileOpInterface):
        name = "toy.relu"
        source = operand_def(TileType)
        result = result_def(TileType)
        traits = traits_def(Pure())

        def same_layout(self):
            return [(self.source, self.result)]

        def lower(self, threads):
            zero = threads.insert(arith.ConstantOp(FloatAttr(0.0, f32))).result
            relu = [threads.insert(arith.MaximumfOp(x, zero)).result for x in threads.registers(self.source)]
            return [relu]
    ```

    >>> from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
    >>> from xdsl.traits import Pure
    >>> from tirx.dialects.tirx import TileType
    >>> from tirx.embed import TileOpInterface
    >>> @irdl_op_definition
    ... class SameOp(IRDLOperation, TileOpInterface):
    ...     name = "toy.same"
    ...     source, result = operand_def(TileType), result_def(TileType)
    ...     traits = traits_def(Pure())
    ...     def same_layout(self):
    ...         return [(self.source, self.result)]
    ...     def lower(self, threads):
    ...         return [threads.registers(self.source)]
    """

    def tile_reads(self) -> Sequence[SSAValue]:
        """The tiles and memrefs that the operation reads; all operands unless it says otherwise."""
        assert isinstance(self, Operation)
        return _memory_of(self)

    def tile_writes(self) -> Sequence[SSAValue]:
        """The tiles and memrefs in memory that the operation writes; unless it is pure, all operands."""
        assert isinstance(self, Operation)
        return () if is_pure(self) else [value for value in _memory_of(self) if not is_register_tile(value)]

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        """Groups of register tiles, operands and results, that must have one layout."""
        return ()

    def reductions(self) -> Sequence[Reduced]:
        """The register tiles with one element for several of another one, whose layout follows from that one's."""
        return ()

    def wanted_layouts(self, target: Target | None) -> Mapping[SSAValue, TileLayout | ComposeLayout]:
        """The layouts that operands and results must have."""
        return {}

    def check_layouts(self) -> None:
        """Raises ValueError, such as `tirx.layout.LayoutError`, for layouts that the operation cannot work on."""

    def evaluate(self, *operands: Any) -> Sequence[NDArray[Any] | tuple[NDArray[Any], NDArray[Any] | float]]:
        """Computes the results of whole tiles in numpy: the meaning that `tirx-check`, `--verify-lowering`,
        `Program.check` and `tirx.interp.run_kernel` compare `lower` with, bit for bit.

        Tiles and memrefs are arrays of their shape and of the dtype of their elements (`ml_dtypes` has narrow ones),
        numbers are numpy scalars. A result is such an array, of floats also a wider one, which is rounded, or a pair
        of an array and the largest absolute errors that `lower` may make. Operands that `tile_writes` names are
        changed in place; one that `tile_reads` does not name is all zeros before. Results of inexact operands are not
        compared.
        """
        raise NotImplementedError

    def lower(self, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]]:
        """Emits what each thread does, in `arith`, `math`, `scf` and `ptx`; returns the registers of each result, as
        many and of the types that `threads.registers` would give for it.

        `convert-tirx-to-ptx` calls it for operations that are still there.
        """
        assert isinstance(self, Operation)
        raise ForeignOperationError(
            self,
            f"expected '{operation_name(self)}' to be lowered before convert-tirx-to-ptx, or by its method 'lower'",
        )


class ScalarOpInterface:
    """An operation of another dialect on scalars, as they are in kernels and in the bodies of `tirx.map`.

    It has one result and no regions, and is `Pure`. `convert-tirx-to-ptx` replaces it by what `lower_scalar` returns.

    >>> from xdsl.dialects import arith
    >>> from xdsl.dialects.builtin import f32
    >>> from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
    >>> from xdsl.traits import Pure
    >>> from tirx.embed import ScalarOpInterface
    >>> @irdl_op_definition
    ... class TwiceOp(IRDLOperation, ScalarOpInterface):
    ...     name = "toy.twice"
    ...     operand, result = operand_def(f32), result_def(f32)
    ...     traits = traits_def(Pure())
    ...     def lower_scalar(self, target):
    ...         twice = arith.AddfOp(self.operand, self.operand)
    ...         return [twice], twice.result
    """

    def lower_scalar(self, target: Target) -> tuple[Sequence[Operation], SSAValue]:
        """The operations of `arith`, `math` and `ptx` in its place, in order, and the value that is the result."""
        raise NotImplementedError


@dataclass(frozen=True)
class TileEffects:
    """The tiles and memrefs that an operation reads and writes."""

    reads: tuple[SSAValue, ...]
    writes: tuple[SSAValue, ...]


def is_foreign(op: Operation) -> bool:
    """Returns True for operations of dialects that passes know nothing of."""
    return is_foreign_class(type(op))


@contextmanager
def errors_of_guest(op: Operation, method: str) -> Generator[None]:
    """Makes what a method of an operation of another dialect raises an error at the operation.

    Errors that are of tirx, which the method calls, stay as they are, unless they are about a value that it was given.
    """
    try:
        yield
    except LocatedError:
        raise
    except Exception as error:
        place, is_last = place_in(error, {type(op).__module__.partition(".")[0]})
        if not is_foreign(op) or not (is_last or isinstance(error, ValueError | VerifyException)):
            raise
        message = f"'{method}' of '{operation_name(op)}' raised {type(error).__name__}: {error} ({place})"
        raise ForeignOperationError(op, message) from error


@lru_cache(maxsize=1024)
def is_foreign_class(kind: type[Operation]) -> bool:
    """The same for a class of operations."""
    known = kind.name.partition(".")[0] in _OWN or issubclass(kind, PTXInstruction)
    return issubclass(kind, UnregisteredOp) or not known


def tile_effects(op: Operation) -> TileEffects:
    """Returns what an operation does to the tiles and memrefs that it is given.

    `TileOpInterface` says it; otherwise a pure operation reads them all, and any other reads and writes them all.
    """
    if isinstance(op, TileOpInterface):
        return TileEffects(tuple(op.tile_reads()), tuple(op.tile_writes()))
    given = tuple(_memory_of(op))
    return TileEffects(given, () if is_pure(op) or is_terminator(op) else given)


def _memory_of(op: Operation) -> list[SSAValue]:
    return [value for value in op.operands if isinstance(value.type, TileType | MemRefType)]


def is_register_tile(value: SSAValue) -> bool:
    """Returns True if a value is a tile in registers."""
    return isinstance(type_ := value.type, TileType) and type_.memory is MemorySpace.REGISTER
