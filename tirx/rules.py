"""The rules of the language that operations and passes break: one class of exceptions for each.

A rule is a sentence of the language, not a line of the compiler: many checks may raise one. Its name is stable;
`tirx/text/rules.md` says what each of them means, with a program that breaks it. Errors of the hardware's tables have
their rules in `tirx.hw.errors`, those of rings in `tirx.passes.rings.proof.errors`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import Facts, HasRule, LocatedError


class InvalidOperation(HasRule, VerifyException):
    """An operation, attribute or type that is not what its definition says, found by its verifier."""


class DefinitionError(InvalidOperation, rule="operation-definition"): ...


class DescriptorSliceError(InvalidOperation, rule="descriptor-slice"): ...


class DimensionError(InvalidOperation, rule="dimension"): ...


class ElementTypeError(InvalidOperation, rule="element-types"): ...


class EngineError(InvalidOperation, rule="engine"): ...


class EntryError(InvalidOperation, rule="entry"): ...


class InstructionFormError(InvalidOperation, rule="instruction-form"): ...


class InstructionNameError(InvalidOperation, rule="instruction-name"): ...


class KernelError(InvalidOperation, rule="kernel"): ...


class KernelParameterError(InvalidOperation, rule="kernel-parameter"): ...


class LaunchValueError(InvalidOperation, rule="launch-value"): ...


class LoopError(InvalidOperation, rule="loop"): ...


class LoopPartError(InvalidOperation, rule="loop-parts"): ...


class MapBodyError(InvalidOperation, rule="map-body"): ...


class OperandFormError(InvalidOperation, rule="operand-form"): ...


class ParameterError(InvalidOperation, rule="entry-parameter"): ...


class PartError(InvalidOperation, rule="part-of-tile"): ...


class PlaceError(InvalidOperation, rule="memory-place"): ...


class ProductClauseError(InvalidOperation, rule="product-clauses"): ...


class ProductShapeError(InvalidOperation, rule="product-shapes"): ...


class AtomicError(InvalidOperation, rule="atomic"): ...


class FlagError(InvalidOperation, rule="flag"): ...


class QueueError(InvalidOperation, rule="queue"): ...


class RingOpError(InvalidOperation, rule="ring"): ...


class RoleCrossingError(InvalidOperation, rule="role-crossing"): ...


class RoleError(InvalidOperation, rule="role"): ...


class SlotTypeError(InvalidOperation, rule="ring-slot"): ...


class StationError(InvalidOperation, rule="ring-station"): ...


class SymbolTableError(InvalidOperation, rule="symbol-table"): ...


class TileMemoryError(InvalidOperation, rule="tile-memory"): ...


class TileOrderError(InvalidOperation, rule="tile-order"): ...


class TileShapeError(InvalidOperation, rule="tile-shapes"): ...


class TileTypeError(InvalidOperation, rule="tile-type"): ...


class ViewError(InvalidOperation, rule="view"): ...


class ViewLayoutError(InvalidOperation, rule="view-layout"): ...


class UnboundParameterError(InvalidOperation, rule="unbound-parameter"):
    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> UnboundParameterError:
        """Returns the error of a size that depends on parameters without a value."""
        error = cls(f"expected a number, found the parameter {', '.join(names)}; run tirx-specialize first")
        error.names = tuple(names)
        return error


class WarpgroupTilesError(InvalidOperation, rule="warpgroup-tiles"): ...


class AllocationError(LocatedError, rule="tensor-allocation"): ...


class CollectorError(LocatedError, rule="collector-contents"): ...


class CtaGroupError(LocatedError, rule="kernel-cta-group"): ...


class DominanceError(LocatedError, rule="value-not-defined"): ...


class FamilyClauseError(LocatedError, rule="product-clauses"): ...


class ForeignOperationError(LocatedError, rule="foreign-operation"): ...


class InjectiveError(LocatedError, rule="layout-not-injective"): ...


class InlineError(LocatedError, rule="inline"): ...


class IssueError(LocatedError, rule="issuing-threads"): ...


class KernelArgumentError(LocatedError, rule="kernel-arguments"): ...


class LaunchParameterError(LocatedError, rule="launch-parameter"): ...


class LayoutChoiceError(LocatedError, rule="layout-choice"): ...


class LinalgError(LocatedError, rule="linalg-form"): ...


class MemoryRoomError(LocatedError, rule="memory-room"): ...


class NoFormError(LocatedError, rule="no-ptx-form"): ...


class NoTargetError(LocatedError, rule="target-missing"): ...


class NumberRangeError(LocatedError, rule="number-range"): ...


class OperandStepError(LocatedError, rule="descriptor-slice"): ...


class OperationError(LocatedError, rule="operation-definition"): ...


class PackedElementsError(LocatedError, rule="packed-elements"): ...


class PairError(LocatedError, rule="pair-tiles"): ...


class ParameterValueError(LocatedError, rule="parameter-value"): ...


class PtxModuleError(LocatedError, rule="ptx-module"): ...


class ReductionTypeError(LocatedError, rule="global-reduction"): ...


class RegisterLayoutError(LocatedError, rule="register-layout"): ...


class RegisterSumError(LocatedError, rule="role"): ...


class RegisterValueError(LocatedError, rule="register-values"): ...


class RoleBarrierError(LocatedError, rule="role"): ...


class RingLoweringError(LocatedError, rule="ring-lowering"): ...


class RoleMemoryError(LocatedError, rule="role-crossing"): ...


class ScheduleOptionError(LocatedError, rule="schedule-option"): ...


class StageError(LocatedError, rule="stage-skipped"): ...


class SynchronizationError(LocatedError, rule="synchronization"): ...


class TextError(LocatedError, rule="syntax"): ...


class ThreadRangeError(LocatedError, rule="register-threads"): ...


class TileOverlapError(LocatedError, rule="tile-overlap"): ...


class TilingError(LocatedError, rule="linalg-tiling"): ...


class UnwrittenError(LocatedError, rule="read-before-write"): ...


class ViewBoundsError(LocatedError, rule="view-bounds"): ...


class ViewShapeError(LocatedError, rule="view-layout"): ...


class WholeWarpsError(LocatedError, rule="whole-warps"): ...


class WrittenChoiceError(LocatedError, rule="written-choice"): ...


def invalid(op: Operation, error: VerifyException) -> LocatedError:
    """The error of an operation that does not verify; its rule is that of the verifier if it has one."""
    kind = OperationError if Facts.of(error).rule is None else LocatedError
    return kind(op, str(error))
