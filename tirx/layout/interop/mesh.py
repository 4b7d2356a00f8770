"""Device meshes: layouts over `pid` and the shardings of JAX and of PyTorch, exactly, both ways.

A mesh of shape (2, 4) numbers its devices row-major, so its dimensions have the strides 4 and 1 on the axis pid. A
sharding gives every device one box of the tensor. Its layout has, for each dimension of the tensor, the mesh dimensions
that split it, major first, and then the positions inside of the box, row-major on m; the other mesh dimensions are
replicas:

    tensor (8, 16) on a mesh x=2, y=4, dimension 0 split over x     S[(2, 4, 16) : (4@pid, 16, 1)] + R[4 : 1@pid]
    tensor (8, 16) on the same mesh, dimension 0 over y, x          S[(4, 2, 16) : (1@pid, 4@pid, 1)]

pid is the position in the mesh, not the number that a framework gives to the device that stands there.

JAX and PyTorch are imported only by the functions that make or read their objects; they are the optional extra `mesh`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import product
from math import prod
from operator import index
from typing import Any, TypeAlias

from tirx.layout.arrays import np
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, row_major
from tirx.layout.replica import MOST_COPIES
from tirx.layout.shape import Shape, check_shape, row_major_strides
from tirx.layout.tile import TileLayout
from tirx.values import dataclass

DEVICE_AXIS = "pid"

SpecEntry: TypeAlias = "None | str | Sequence[str]"
"""What splits one dimension of a tensor: nothing, one mesh dimension, or several, major first."""

_Split: TypeAlias = tuple[tuple[int, ...], ...]
"""For each dimension of the tensor, the mesh dimensions that split it, major first."""


class MeshError(LayoutError):
    """A sharding that no layout describes, or a layout that the kind of sharding asked for cannot describe.

    >>> from tirx.layout import Mesh, MeshError
    >>> try:
    ...     Mesh((0,))
    ... except MeshError as error:
    ...     print(error)
    every dimension of a mesh must have at least one device, found (0,)
    """


@dataclass(frozen=True)
class Mesh:
    """A grid of devices, numbered row-major.

    shape: devices along each dimension. names: one for each dimension; d0, d1, ... when none are given.

    Raises MeshError for sizes below 1 and for names that are not one for each dimension or not distinct.

    >>> from tirx.layout import Mesh
    >>> Mesh((2, 4), ("x", "y")).strides
    (4, 1)
    """

    shape: tuple[int, ...]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(index(size) for size in self.shape))
        names = tuple(self.names) or tuple(f"d{i}" for i in range(len(self.shape)))
        object.__setattr__(self, "names", names)
        if any(size < 1 for size in self.shape):
            raise MeshError(f"every dimension of a mesh must have at least one device, found {self.shape}")
        if len(names) != len(self.shape) or len(set(names)) != len(names):
            raise MeshError(
                f"expected {len(self.shape)} distinct names for a mesh of shape {self.shape}, found {names}"
            )

    @property
    def size(self) -> int:
        """Number of devices."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Step on pid along each dimension."""
        return row_major_strides(self.shape)

    def describe(self, dims: Sequence[int]) -> str:
        """`x, y` of some dimensions, for messages."""
        return ", ".join(f"'{self.names[i]}'" for i in dims)

    def __str__(self) -> str:
        return f"mesh({', '.join(f'{n}={s}' for n, s in zip(self.names, self.shape, strict=True))})"


# The exact core: split <-> layout.


def _layout_of(shape: Shape, mesh: Mesh, split: _Split) -> TileLayout:
    dims = check_shape(shape, None)
    used = [i for over in split for i in over]
    for i in used:
        if used.count(i) > 1:
            raise MeshError(f"expected every mesh dimension at most once, found {mesh.describe([i])} twice")
    local: list[int] = []
    for d, (extent, over) in enumerate(zip(dims, split, strict=True)):
        parts = prod(mesh.shape[i] for i in over)
        if extent % parts:
            below = extent // parts * parts
            near = f"{below} or {below + parts}" if below else str(parts)
            raise MeshError(
                f"expected an extent of dimension {d} that splits evenly over {mesh.describe(over)}, {parts} devices, "
                f"found {extent}: only equal shards have a layout; nearest is {near}"
            )
        local.append(extent // parts)
    shard: list[Iter] = []
    for over, inner in zip(split, row_major(local), strict=True):
        shard += [Iter(mesh.shape[i], mesh.strides[i], DEVICE_AXIS) for i in over]
        shard.append(inner)
    replica = [Iter(mesh.shape[i], mesh.strides[i], DEVICE_AXIS) for i in range(len(mesh.shape)) if i not in used]
    return TileLayout((it for it in shard if it.extent > 1), (it for it in replica if it.extent > 1))


def _mesh_dims_of(it: Iter, d: int, mesh: Mesh) -> list[int]:
    """The mesh dimensions, major first, that an iter on pid walks over."""
    by_stride = {stride: i for i, (size, stride) in enumerate(zip(mesh.shape, mesh.strides, strict=True)) if size > 1}
    found: list[int] = []
    extent, stride = it.extent, it.stride
    while extent > 1:
        i = by_stride.get(stride)
        if i is None:
            known = ", ".join(f"{step} of {mesh.describe([k])}" for step, k in by_stride.items()) or "none"
            raise MeshError(
                f"expected a stride of {mesh} for dimension {d}, found {stride}@{DEVICE_AXIS}; strides are {known}"
            )
        if extent % mesh.shape[i]:
            raise MeshError(
                f"expected dimension {d} to split over all {mesh.shape[i]} devices along {mesh.describe([i])}, "
                f"found {extent} at stride {stride}@{DEVICE_AXIS}"
            )
        found.insert(0, i)
        extent //= mesh.shape[i]
        stride *= mesh.shape[i]
    return found


def _split_of(layout: TileLayout, shape: Shape, mesh: Mesh) -> _Split:
    """The split whose layout this is. MeshError when there is none."""
    normal = layout.canonicalize()
    others = [name for name in normal.axes if name not in (DEVICE_AXIS, "m")]
    if others:
        raise MeshError(f"expected a layout on {DEVICE_AXIS} and m only, found {', '.join(others)} in {layout}")
    for name, count in normal.offset:
        raise MeshError(f"expected shards from {name} = 0 on, found the offset {count}@{name} in {layout}")
    try:
        grouped, seps = normal.group(shape)
    except LayoutError as error:
        raise MeshError(str(error)) from None
    split: list[tuple[int, ...]] = []
    for d, (begin, end) in enumerate(zip(seps, seps[1:], strict=False)):
        over: list[int] = []
        inside = False
        for it in grouped.shard[begin:end]:
            if it.axis == DEVICE_AXIS:
                if inside:
                    raise MeshError(
                        f"expected one contiguous block of dimension {d} on each device, found blocks dealt out in "
                        f"turn: {it.stride}@{DEVICE_AXIS} is inside of a stride on m in {layout}"
                    )
                over += _mesh_dims_of(it, d, mesh)
            else:
                inside = True
        split.append(tuple(over))
    _check_replicas(normal, mesh, split)
    result = tuple(split)
    expected = _layout_of(shape, mesh, result)
    if not expected.equivalent(normal):
        raise MeshError(f"expected row-major local shards, as in {expected}, found {layout}")
    return result


def _check_replicas(normal: TileLayout, mesh: Mesh, split: Sequence[Sequence[int]]) -> None:
    """The copies must be on all devices along every mesh dimension that splits nothing, and nowhere else."""
    used = {i for over in split for i in over}
    free = [i for i, size in enumerate(mesh.shape) if i not in used and size > 1]
    if (copies := prod(mesh.shape[i] for i in free)) > MOST_COPIES:
        raise MeshError(f"expected at most {MOST_COPIES} copies of a shard, found {copies} on {mesh}")
    steps = [range(0, mesh.shape[i] * mesh.strides[i], mesh.strides[i]) for i in free]
    wanted = {sum(step) for step in product(*steps)}
    # No more copies than devices, before they are counted one by one.
    few = all(it.axis == DEVICE_AXIS for it in normal.replica) and prod(it.extent for it in normal.replica) <= mesh.size
    if not few or {step.get(DEVICE_AXIS, 0) for step in normal.replicas()} != wanted:
        along = f"all devices along {mesh.describe(free)}" if free else "a single device"
        found = TileLayout((), normal.replica)
        raise MeshError(f"expected copies of every shard on {along} of {mesh}, found the replicas of {found}")


# Plain data.


def from_partition_spec(shape: Shape, mesh: Mesh, spec: Sequence[SpecEntry]) -> TileLayout:
    """The layout of a tensor that is split as a partition spec says.

    spec: for each dimension of the tensor None, a name of a mesh dimension, or several, major first. A shorter spec
        leaves the last dimensions whole. Mesh dimensions that it does not name hold copies.

    Raises MeshError for names that the mesh lacks or that are used twice, and for extents that do not split evenly.
    """
    if len(spec) > len(shape):
        raise MeshError(f"expected at most {len(shape)} entries for shape {tuple(shape)}, found {len(spec)}")
    split: list[tuple[int, ...]] = []
    for entry in spec:
        names: Sequence[str] = () if entry is None else (entry,) if isinstance(entry, str) else entry
        for name in names:
            if name not in mesh.names:
                raise MeshError(f"expected names of {mesh} in a partition spec, found {name!r}")
        split.append(tuple(mesh.names.index(name) for name in names))
    return _layout_of(shape, mesh, (*split, *((),) * (len(shape) - len(spec))))


def to_partition_spec(layout: TileLayout, shape: Shape, mesh: Mesh) -> tuple[None | str | tuple[str, ...], ...]:
    """The partition spec of a layout: one entry for each dimension of `shape`, see `from_partition_spec`.

    Mesh dimensions of one device are never named. Raises MeshError when the layout is no such sharding: other axes, an
    offset, a stride or a part of a mesh dimension that the mesh does not have, blocks dealt out in turn, copies on only
    some devices, or local shards that are not row-major.
    """
    named = (tuple(mesh.names[i] for i in over) for over in _split_of(layout, shape, mesh))
    return tuple(None if not names else names[0] if len(names) == 1 else names for names in named)


def from_placements(placements: Sequence[int | None], mesh: Mesh, shape: Shape) -> TileLayout:
    """The layout of a tensor that the mesh dimensions split one after the other.

    placements: for each mesh dimension the dimension of the tensor that it splits, negative ones counted from the end,
        or None for copies. Of two that split the same dimension the first is the major one.

    Raises MeshError for dimensions that the tensor lacks, and for extents that do not split evenly.
    """
    if len(placements) != len(mesh.shape):
        raise MeshError(f"expected {len(mesh.shape)} placements for {mesh}, found {len(placements)}")
    split: list[list[int]] = [[] for _ in shape]
    for i, d in enumerate(placements):
        if d is None:
            continue
        if not -len(split) <= d < len(split):
            raise MeshError(f"expected a dimension of shape {tuple(shape)} to split, found {d}")
        split[d].append(i)
    return _layout_of(shape, mesh, tuple(tuple(over) for over in split))


def to_placements(layout: TileLayout, shape: Shape, mesh: Mesh) -> tuple[int | None, ...]:
    """The placements of a layout, see `from_placements`.

    Mesh dimensions of one device split nothing. Raises MeshError when the layout is no sharding over the mesh (see
    `to_partition_spec`), or splits a dimension in another order than that of the mesh.
    """
    placements: list[int | None] = [None] * len(mesh.shape)
    for d, over in enumerate(_split_of(layout, shape, mesh)):
        if list(over) != sorted(over):
            raise MeshError(
                f"expected dimension {d} split in the order of the mesh, {mesh.describe(sorted(over))}, as placements "
                f"do it, found {mesh.describe(over)}"
            )
        for i in over:
            placements[i] = d
    return tuple(placements)


# Objects of the frameworks. They are untyped here, because neither framework has to be installed.


def _framework(module: str, caller: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        root = module.partition(".")[0]
        if error.name != root:
            raise
        raise ModuleNotFoundError(f"{caller} needs {root}: pip install 'tirx-compiler[{root}]'", name=root) from None


def _jax_mesh(mesh: Any) -> Mesh:
    names = tuple(mesh.axis_names)
    if not all(isinstance(name, str) for name in names):
        raise MeshError(f"expected strings as names of the mesh, found {names}")
    return Mesh(tuple(mesh.axis_sizes), names)


def to_jax(layout: TileLayout, shape: Shape, mesh: Mesh | Any) -> Any:
    """The `jax.sharding.NamedSharding` of a layout of a tensor of that shape.

    mesh: a JAX mesh, or a `Mesh`, which takes the first devices that JAX has, in their order.

    Raises MeshError as `to_partition_spec` does, and when JAX has too few devices.
    """
    jax = _framework("jax", "to_jax")
    if not isinstance(mesh, Mesh):
        spec = to_partition_spec(layout, shape, _jax_mesh(mesh))
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
    spec = to_partition_spec(layout, shape, mesh)
    devices = jax.devices()
    if len(devices) < mesh.size:
        raise MeshError(
            f"expected {mesh.size} devices for {mesh}, found {len(devices)}; the CPU stands in for so many with "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={mesh.size}"
        )
    grid = np.array(devices[: mesh.size], dtype=object).reshape(mesh.shape)
    return jax.sharding.NamedSharding(jax.sharding.Mesh(grid, mesh.names), jax.sharding.PartitionSpec(*spec))


def from_jax(sharding: Any, shape: Shape) -> TileLayout:
    """The layout of a tensor of that shape under a `jax.sharding.NamedSharding`; pid counts `mesh.devices` row-major.

    Raises MeshError for other kinds of sharding, for dimensions left to the compiler, for sums that are not yet done
    (unreduced), and as `from_partition_spec` does.
    """
    jax = _framework("jax", "from_jax")
    if not isinstance(sharding, jax.sharding.NamedSharding):
        raise MeshError(f"expected a jax.sharding.NamedSharding, found {type(sharding).__name__}")
    spec: Any = sharding.spec
    if getattr(spec, "unreduced", None):
        raise MeshError(f"expected a tensor whose sums are done, found unreduced {sorted(spec.unreduced)} in {spec}")
    if any(entry is jax.sharding.PartitionSpec.UNCONSTRAINED for entry in spec):
        raise MeshError(f"expected a mesh dimension or None for each dimension, found UNCONSTRAINED in {spec}")
    return from_partition_spec(shape, _jax_mesh(sharding.mesh), tuple(spec))


def _torch_mesh(mesh: Mesh | Sequence[int] | Any) -> Mesh:
    """A Mesh, a shape, or a DeviceMesh, which has a shape."""
    if isinstance(mesh, Mesh):
        return mesh
    return Mesh(tuple(getattr(mesh, "shape", mesh)), tuple(getattr(mesh, "mesh_dim_names", None) or ()))


def to_dtensor(layout: TileLayout, shape: Shape, mesh: Mesh | Sequence[int] | Any) -> tuple[Any, ...]:
    """The placements, Shard(d) or Replicate(), of a DTensor of that shape: one for each dimension of the mesh.

    mesh: a `Mesh`, its shape, or a `torch.distributed.device_mesh.DeviceMesh`.

    Raises MeshError as `to_placements` does.
    """
    tensor = _framework("torch.distributed.tensor", "to_dtensor")
    found = to_placements(layout, shape, _torch_mesh(mesh))
    return tuple(tensor.Replicate() if d is None else tensor.Shard(d) for d in found)


def from_dtensor(placements: Sequence[Any], mesh_shape: Mesh | Sequence[int] | Any, shape: Shape) -> TileLayout:
    """The layout of a DTensor of that shape from its placements; pid counts the ranks of the mesh row-major.

    mesh_shape: a `Mesh`, its shape, or a `torch.distributed.device_mesh.DeviceMesh`.

    Raises MeshError for placements other than Shard and Replicate (a Partial one is a sum not yet done), and as
    `from_placements` does.
    """
    tensor = _framework("torch.distributed.tensor", "from_dtensor")
    plain: list[int | None] = []
    for placement in placements:
        # The type itself: in some versions a strided shard, which splits in another order, is a subclass of Shard.
        if type(placement) is tensor.Shard:
            plain.append(int(placement.dim))
        elif isinstance(placement, tensor.Replicate):
            plain.append(None)
        else:
            raise MeshError(f"expected Shard(...) or Replicate() placements, found {placement!r}")
    return from_placements(plain, _torch_mesh(mesh_shape), shape)
