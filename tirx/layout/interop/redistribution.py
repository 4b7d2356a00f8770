"""The collectives, by name, that bring a tensor from one sharding over a mesh to another."""

from __future__ import annotations

from collections.abc import Sequence

from tirx.layout.interop.mesh import Mesh, MeshError, to_placements
from tirx.layout.shape import Shape
from tirx.layout.tile import TileLayout
from tirx.values import dataclass


@dataclass(frozen=True)
class Step:
    """One collective over one dimension of a mesh.

    `name` is `all_gather` (shards to copies), `split` (copies to shards, nothing is sent) or `all_to_all` (shards of
    one dimension to shards of another); `mesh_dim` the name of the mesh dimension, `source` and `target` the dimensions
    of the tensor that it splits before and after, None for copies.
    """

    name: str
    mesh_dim: str
    source: int | None
    target: int | None

    def __str__(self) -> str:
        match self.source, self.target:
            case None, target:
                return f"split of dimension {target} over '{self.mesh_dim}'"
            case source, None:
                return f"all_gather of dimension {source} over '{self.mesh_dim}'"
            case source, target:
                return f"all_to_all from dimension {source} to {target} over '{self.mesh_dim}'"


class RedistributionError(MeshError):
    """A tensor whose shards are not where they are needed. `steps` are the collectives that bring them there.

    >>> from tirx.layout import Mesh, TileLayout
    >>> mesh, rows = Mesh((2,), ("tp",)), TileLayout("S[(2, 4, 8) : (1@pid, 8, 1)]")
    >>> require_sharding(rows, TileLayout("S[8, 8] + R[2 : 1@pid]"), (8, 8), mesh, "B")
    Traceback (most recent call last):
    ...
    tirx.layout.interop.redistribution.RedistributionError: expected B as S[64 : 1] + R[2 : 1@pid] on mesh(tp=2), ...
    """

    def __init__(self, message: str, steps: Sequence[Step]):
        super().__init__(message)
        self.steps = tuple(steps)


def redistribution(found: TileLayout, wanted: TileLayout, shape: Shape, mesh: Mesh) -> tuple[Step, ...]:
    """The collectives that bring a tensor of that shape from the sharding `found` to the sharding `wanted`.

    Both split each dimension in the order of the mesh, as placements do, and the shards behind each step are boxes. Of
    several mesh dimensions that change, all are gathered before they split again. Raises MeshError for layouts that are
    no such shardings.

    >>> from tirx.layout import Mesh, TileLayout
    >>> mesh = Mesh((2,), ("tp",))
    >>> rows, columns = TileLayout("S[(2, 4, 8) : (1@pid, 8, 1)]"), TileLayout("S[(8, 2, 4) : (4, 1@pid, 1)]")
    >>> [str(step) for step in redistribution(rows, columns, (8, 8), mesh)]
    ["all_to_all from dimension 0 to 1 over 'tp'"]
    """
    before, after = to_placements(found, shape, mesh), to_placements(wanted, shape, mesh)
    moved = {i for i, (source, target) in enumerate(zip(before, after, strict=True)) if source != target}
    # A mesh dimension splits inside of what an earlier one does to the same dimension, and moves with it.
    for placements in (before, after):
        for i in range(len(mesh.shape)):
            if i in moved and placements[i] is not None:
                moved |= {j for j in range(i + 1, len(mesh.shape)) if placements[j] == placements[i]}
    if len(moved) == 1:
        (i,) = moved
        if before[i] is not None and after[i] is not None:
            return (Step("all_to_all", mesh.names[i], before[i], after[i]),)
    gathered = [Step("all_gather", mesh.names[i], before[i], None) for i in sorted(moved) if before[i] is not None]
    split = [Step("split", mesh.names[i], None, after[i]) for i in sorted(moved) if after[i] is not None]
    return (*reversed(gathered), *split)


def require_sharding(found: TileLayout, wanted: TileLayout, shape: Shape, mesh: Mesh, what: str) -> None:
    """Raises RedistributionError, with the collectives that help, unless a tensor lies as it is wanted.

    what: the tensor in the message.

    >>> from tirx.layout import Mesh, TileLayout
    >>> whole = TileLayout("S[8, 8] + R[2 : 1@pid]")
    >>> require_sharding(whole, whole, (8, 8), Mesh((2,)), "A")
    """
    if steps := redistribution(found, wanted, shape, mesh):
        raise RedistributionError(
            f"expected {what} as {wanted.canonicalize()} on {mesh}, found {found.canonicalize()}; "
            f"redistribute it: {', '.join(map(str, steps))}",
            steps,
        )
