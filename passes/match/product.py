"""A `tirx.mma` or `tirx.async_mma` as a value that the families of tensor-core instructions match."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from tirx.diagnostics import LocatedError
from tirx.dialects.nesting import enclosing
from tirx.dialects.tirx import AsyncMmaOp, KernelOp, MmaOp, ProductPlan, TileType, ZeroColumns
from tirx.dialects.tirx.thread_sets import thread_set
from tirx.hw.errors import LegalityError
from tirx.hw.features import UnsupportedFeature
from tirx.hw.targets import Target
from tirx.layout import LayoutError
from tirx.mma.fragments import FragmentError
from tirx.values import dataclass

ILLEGAL = (LegalityError, LayoutError, FragmentError, UnsupportedFeature)
"""The errors of rules about what the hardware does."""


@contextmanager
def legal(where: Operation | LocationAttr) -> Generator[None]:
    """Raises a rule of the hardware that is broken as an error at an operation or a place."""
    try:
        yield
    except ILLEGAL as error:
        raise LocatedError(where, str(error)) from error


def kernel_around(op: Operation) -> KernelOp | None:
    """The kernel that an operation is in, None outside of kernels."""
    return enclosing(op, KernelOp)


def target_of(op: Operation) -> Target | None:
    """The target of the kernel that an operation is in, None where there is none."""
    kernel = kernel_around(op)
    return None if kernel is None else kernel.target_info


@dataclass(frozen=True)
class Product:
    """The types of a product's tiles, its clauses, and the facts about its kernel on which the instructions depend.

    `start`: the accumulator in f16, where the result is f32, of which `accumulator` then is the type. `threads`: those
    that run it together. `of_pairs`: two blocks multiply together; with `pair` the tiles are those of one of them.
    `blocks`: those of the cluster where the kernel says what each does, else 1. `plan`: the written or chosen one.
    """

    a: TileType
    b: TileType
    accumulator: TileType
    scale_a: TileType | None
    scale_b: TileType | None
    metadata: TileType | None
    zero_columns: ZeroColumns | None
    is_weight_stationary: bool
    pair: bool
    negate_a: bool
    negate_b: bool
    saturate: bool
    instruction: str | None
    plan: ProductPlan | None
    threads: int
    target: Target | None
    of_pairs: bool
    blocks: int
    start: TileType | None = None
    is_asynchronous: bool = False

    @staticmethod
    def of(mma: MmaOp | AsyncMmaOp) -> Product:
        """The product that an operation in a kernel is."""
        kernel = kernel_around(mma)
        accumulator, start = mma.accumulator_type, None
        if isinstance(mma, MmaOp) and mma.result is not None and mma.is_widening:
            accumulator, start = TileType.of(mma.result), accumulator
        return Product(
            mma.a_type,
            mma.b_type,
            accumulator,
            None if mma.scale_a is None else TileType.of(mma.scale_a),
            None if mma.scale_b is None else TileType.of(mma.scale_b),
            None if mma.metadata is None else TileType.of(mma.metadata),
            None if mma.zero_columns is None else mma.zero_columns.data,
            mma.is_weight_stationary,
            mma.pair is not None,
            mma.negate_a is not None,
            mma.negate_b is not None,
            mma.saturate is not None,
            None if mma.instruction is None else mma.instruction.data,
            None if mma.plan is None else mma.plan.data,
            thread_set(mma).count,
            target_of(mma),
            mma.pair is not None or (kernel is not None and kernel.is_whole_pair),
            1 if kernel is None or kernel.per_cta is None else kernel.cluster_size,
            start,
            isinstance(mma, AsyncMmaOp),
        )

    @property
    def is_sparse(self) -> bool:
        """Returns True if A holds only the stored half of its elements."""
        return self.metadata is not None

    @property
    def k(self) -> int:
        """Elements along K, stored or not."""
        return self.b.dims[-1]

    @property
    def is_placed(self) -> bool:
        """Returns True if all tiles but scale factors have layouts."""
        tiles = (self.a, self.b, self.accumulator, self.metadata, self.start)
        return all(tile is None or tile.layout is not None for tile in tiles)
