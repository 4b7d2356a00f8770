"""`tirx-choose`: parameters of kernels get the values that the timing model ranks first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Literal, TypedDict

from xdsl.dialects.builtin import IntegerAttr

from tirx.diagnostics import LocatedError, remark
from tirx.dialects.tirx import KernelOp, Size, SizeAttr, TileType
from tirx.hw.targets import Target
from tirx.passes.ir.scheduled import STAGES
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass, Values, verify_bound
from tirx.passes.match.kernel_product import KernelProduct, product_of
from tirx.passes.match.slots import CLUSTER, PARTS, Cluster
from tirx.passes.match.tile_choice import Operands, TileChoice, rated_tile
from tirx.remarks import TilesChosen
from tirx.values import dataclass

_MOST = 1024
"""Combinations of candidates that are ranked: a fraction of a second."""


class _Together(TypedDict, total=False):
    """The blocks that load operands together, as `rated_tile` takes them."""

    shares: Literal["a", "b"]
    cluster: tuple[int, int]


_Ranked = tuple[TileChoice, Mapping[str, int | str]]


@dataclass(frozen=True)
class TirxChoosePass(TirxSpecializePass):
    """Binds parameters as `tirx-specialize` does, but those without a value as the timing model ranks their candidates.

    A kernel that multiplies tiles is rated for each combination of candidates, without compiling it: its tile, its
    threads, the slots that `tirx.stages` of a loop says, the pairs that `tirx.cluster` says and the parts of K that
    `tirx.parts` says. Sizes are those of the types of its arguments; one that only a launch knows counts as several.
    The first combination whose program verifies is bound, and a remark says why. Parameters that change none of this,
    and those of other kernels, get their defaults. Values that are given hold.
    """

    name = "tirx-choose"

    def values_for(self, kernel: KernelOp) -> Values:
        """The values of parameters of one kernel."""
        ranked = ranked_values(kernel, self.values)
        for place, (choice, values) in enumerate(ranked):
            try:
                verify_bound(kernel, values)
            except LocatedError:
                continue  # a combination that is no program
            _explain(kernel, choice, values, None if place + 1 == len(ranked) else ranked[place + 1][0])
            return values
        return self.values


def ranked_values(
    kernel: KernelOp, given: Values, shapes: Mapping[int, Sequence[int]] | None = None
) -> Sequence[_Ranked]:
    """Combinations of candidates of a kernel that multiplies tiles, the fastest one first by the timing model.

    `given` values hold; `shapes` are those of arguments, by number. Empty for another kernel, and one without a target.
    Not all of them need be programs: see `verify_bound`.
    """
    found = product_of(kernel)
    if found is None or kernel.in_clusters or kernel.target_info is None:
        return ()
    operands, target = found.of_arguments(shapes or {}), kernel.require_target()
    return sorted(_ranked(kernel, found, operands, given, target), key=lambda each: each[0].score)


def _ranked(
    kernel: KernelOp, found: KernelProduct, operands: Operands, given: Values, target: Target
) -> Iterator[_Ranked]:
    """Combinations of candidates with the tile that they make, those that the target can multiply."""
    parameters = () if kernel.params is None else kernel.params.data
    free = [each for each in parameters if each.launch is None]
    candidates = [(given[each.name],) if each.name in given else each.candidates for each in free]
    fixed = {each.name: given.get(each.name, each.candidates[0]) for each in parameters}
    a, b = (TileType.of(operand).extents for operand in (found.mma.a, found.mma.b))
    threads = kernel.threads.data if isinstance(kernel.threads, SizeAttr) else kernel.num_threads
    stages = next((op.attributes[STAGES] for op in kernel.walk() if STAGES in op.attributes), None)
    for combination in islice(product(*candidates), _MOST):
        values = fixed | dict(zip((each.name for each in free), combination, strict=True))
        rows, columns, depth, count = (_number(each, values) for each in (a[-2], b[-2], a[-1], threads))
        slots = stages.data.evaluate(values) if isinstance(stages, SizeAttr) else None
        tile, cluster, parts = (rows, columns, depth), _cluster(kernel, values), _parts(kernel, values)
        choice = rated_tile(operands, target, tile, count, slots, parts=parts, **cluster)
        if choice is not None:
            yield choice, values


def _number(size: int | Size, values: Values) -> int:
    return size if isinstance(size, int) else size.evaluate(values)


def _cluster(kernel: KernelOp, values: Values) -> _Together:
    """The operand that pairs of blocks load together, or the shape of clusters, as far as a parameter says it."""
    found = kernel.attributes.get(CLUSTER)
    words = [values.get(name) for name in found.data.names] if isinstance(found, SizeAttr) else []
    match next((each for each in Cluster if each in words), Cluster.NONE):
        case Cluster.ROWS:
            return {"shares": "b"}
        case Cluster.COLUMNS:
            return {"shares": "a"}
        case cluster:
            return {"cluster": cluster.shape}


def _parts(kernel: KernelOp, values: Values) -> int:
    """The parts of K that the blocks of a cluster multiply."""
    match kernel.attributes.get(PARTS):
        case SizeAttr(data=size):
            return size.evaluate(values)
        case IntegerAttr(value=value):
            return value.data
        case _:
            return 1


def _explain(kernel: KernelOp, choice: TileChoice, values: Values, other: TileChoice | None) -> None:
    bound = ", ".join(f"{name} = {value}" for name, value in values.items())
    tile = f"{choice} ({bound})"
    next_best = ""
    if other is not None:
        next_best = f"; {other}: {other.score / choice.score - 1:+.0%}"
    remark(kernel, TilesChosen(kernel.sym_name.data, tile, f"{choice.prediction}{next_best}"))
