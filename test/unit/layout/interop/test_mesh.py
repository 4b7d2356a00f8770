"""Device meshes: shardings against models of what JAX and PyTorch document, and against both where installed."""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from itertools import permutations, product
from math import prod
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together
from unit.layout.interop.mesh_model import boxes_of_placements, boxes_of_spec, holders, owners

from tirx.layout import Iter, MeshError, TileLayout
from tirx.layout.interop.mesh import (
    Mesh,
    from_dtensor,
    from_jax,
    from_partition_spec,
    from_placements,
    to_dtensor,
    to_jax,
    to_partition_spec,
    to_placements,
)

ROOT = Path(__file__).parents[4]
PATHS = f"{ROOT}{os.pathsep}{ROOT / 'test'}"


@st.composite
def shardings(draw: st.DrawFn) -> tuple[tuple[int, ...], Mesh, tuple[tuple[str, ...], ...]]:
    """A shape, a mesh, and for each dimension of the shape the names that split it, in any order."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=3))
    mesh = Mesh(tuple(sizes), tuple("abc"[: len(sizes)]))
    rank = draw(st.integers(1, 3))
    spec: list[list[str]] = [[] for _ in range(rank)]
    for name in draw(st.permutations(mesh.names)):
        place = draw(st.integers(0, rank))
        if place < rank:
            spec[place].append(name)
    size_of = dict(zip(mesh.names, mesh.shape, strict=True))
    shape = tuple(prod(size_of[n] for n in names) * draw(st.integers(1, 3)) for names in spec)
    return shape, mesh, tuple(tuple(names) for names in spec)


def without_single_devices(mesh: Mesh, spec: tuple[tuple[str, ...], ...]) -> tuple[None | str | tuple[str, ...], ...]:
    big = {name for name, size in zip(mesh.names, mesh.shape, strict=True) if size > 1}
    kept = [tuple(name for name in names if name in big) for names in spec]
    return tuple(None if not names else names[0] if len(names) == 1 else names for names in kept)


@given(shardings())
def test_partition_specs_mean_what_jax_documents(
    case: tuple[tuple[int, ...], Mesh, tuple[tuple[str, ...], ...]],
) -> None:
    shape, mesh, spec = case
    layout = from_partition_spec(shape, mesh, spec)
    boxes = boxes_of_spec(shape, dict(zip(mesh.names, mesh.shape, strict=True)), spec)
    assert owners(layout, shape) == holders(boxes, shape)


@given(shardings())
def test_partition_specs_round_trip(case: tuple[tuple[int, ...], Mesh, tuple[tuple[str, ...], ...]]) -> None:
    shape, mesh, spec = case
    layout = from_partition_spec(shape, mesh, spec)
    for same in (layout, layout.canonicalize(), TileLayout.parse(str(layout))):
        assert to_partition_spec(same, shape, mesh) == without_single_devices(mesh, spec)


@given(shardings())
def test_placements_mean_what_pytorch_documents(
    case: tuple[tuple[int, ...], Mesh, tuple[tuple[str, ...], ...]],
) -> None:
    shape, mesh, spec = case
    place = {name: d for d, names in enumerate(spec) for name in names}
    placements = tuple(place.get(name) for name in mesh.names)
    layout = from_placements(placements, mesh, shape)
    assert owners(layout, shape) == holders(boxes_of_placements(shape, mesh.shape, placements), shape)
    read = to_placements(layout.canonicalize(), shape, mesh)
    assert read == tuple(d if size > 1 else None for d, size in zip(placements, mesh.shape, strict=True))
    assert layout.equivalent(from_partition_spec(shape, mesh, [sorted(names) for names in spec]))


@given(shardings())
def test_placements_refuse_the_orders_that_they_cannot_say(
    case: tuple[tuple[int, ...], Mesh, tuple[tuple[str, ...], ...]],
) -> None:
    shape, mesh, spec = case
    layout = from_partition_spec(shape, mesh, spec)
    orders = [names for names in without_single_devices(mesh, spec) if isinstance(names, tuple)]
    if all(names == tuple(sorted(names)) for names in orders):
        assert from_placements(to_placements(layout, shape, mesh), mesh, shape).equivalent(layout)
    else:
        with pytest.raises(MeshError, match="split in the order of the mesh"):
            to_placements(layout, shape, mesh)


def test_placements_are_in_the_order_of_the_mesh() -> None:
    mesh = Mesh((2, 3), ("x", "y"))
    layout = from_partition_spec((12,), mesh, [("y", "x")])
    with pytest.raises(
        MeshError,
        match=("^expected dimension 0 split in the order of the mesh, 'x', 'y', as placements do it, found 'y', 'x'$"),
    ):
        to_placements(layout, (12,), mesh)


MESH = Mesh((2, 2), ("x", "y"))
SHAPE = (4, 4)
ALL_SPECS = [
    tuple(tuple(names) for names in order)
    for places in product(range(3), repeat=2)
    for order in product(*(permutations([n for n, p in zip("xy", places, strict=True) if p == d]) for d in range(2)))
]
pieces = st.builds(Iter, st.just(2), st.sampled_from([1, 2, 4, 8, -1]), st.sampled_from(["pid", "m"]))
copies = st.builds(Iter, st.sampled_from([2, 4]), st.sampled_from([1, 2, -1]), st.just("pid"))


@given(
    st.one_of(
        st.builds(TileLayout, st.lists(pieces, min_size=4, max_size=4), st.lists(copies, max_size=2)),
        st.sampled_from(ALL_SPECS).map(lambda spec: from_partition_spec(SHAPE, MESH, spec)),
    ),
    st.integers(-1, 1).map(lambda at: {"pid": at}),
)
def test_a_spec_is_found_exactly_when_there_is_one(layout: TileLayout, offset: dict[str, int]) -> None:
    layout = TileLayout(layout.shard, layout.replica, offset)
    wanted = [spec for spec in ALL_SPECS if from_partition_spec(SHAPE, MESH, spec).equivalent(layout)]
    try:
        found = to_partition_spec(layout, SHAPE, MESH)
    except MeshError:
        assert not wanted
    else:
        assert [found] == [without_single_devices(MESH, spec) for spec in wanted]


@together(
    ("spec", "notation"),
    [
        ((), "S[(8, 16) : (16, 1)] + R[(2, 4) : (4@pid, 1@pid)]"),
        (("x",), "S[(2, 4, 16) : (4@pid, 16, 1)] + R[4 : 1@pid]"),
        ((None, "y"), "S[(8, 4, 4) : (4, 1@pid, 1)] + R[2 : 4@pid]"),
        (("x", "y"), "S[(2, 4, 4, 4) : (4@pid, 4, 1@pid, 1)]"),
        ((("x", "y"),), "S[(2, 4, 16) : (4@pid, 1@pid, 1)]"),
        ((("y", "x"), None), "S[(4, 2, 16) : (1@pid, 4@pid, 1)]"),
    ],
)
def test_worked_examples(spec: tuple[Any, ...], notation: str) -> None:
    mesh = Mesh((2, 4), ("x", "y"))
    layout = from_partition_spec((8, 16), mesh, spec)
    assert str(layout) == notation
    assert from_partition_spec((8, 16), mesh, to_partition_spec(layout, (8, 16), mesh)) == layout


@together(
    ("notation", "message"),
    [
        ("S[(2, 4, 16) : (4@pid, 16, 1)] + R[4 : 1@pid] + 1@pid", "found the offset 1@pid"),
        ("S[(2, 4, 16) : (4@pid, 16, 1)] + R[4 : 1@pid] + 64", "found the offset 64@m"),
        ("S[(2, 4, 16) : (3@pid, 16, 1)] + R[4 : 1@pid]", "found 3@pid; strides are 4 of 'x', 1 of 'y'"),
        ("S[(2, 4, 16) : (-4@pid, 16, 1)] + R[4 : 1@pid] + 4@pid", "found the offset 4@pid"),
        ("S[(2, 4, 16) : (1@pid, 16, 1)] + R[2 : 4@pid]", "over all 4 devices along 'y', found 2 at stride 1@pid"),
        ("S[(2, 4, 16) : (4@pid, 16, 1)]", "copies of every shard on all devices along 'y' of mesh(x=2, y=4)"),
        ("S[(2, 4, 16) : (4@pid, 16, 1)] + R[2 : 1@pid]", "found the replicas of S[] + R[2 : 1@pid]"),
        ("S[(2, 4, 16) : (4@pid, 16, 1)] + R[4 : 1@pid] + R[2 : 64]", "expected copies of every shard"),
        ("S[(2, 4, 4, 4) : (4@pid, 4, 1@pid, 1)] + R[2 : 8@pid]", "expected copies of every shard on a single device"),
        ("S[(4, 2, 16) : (16, 4@pid, 1)] + R[4 : 1@pid]", "found blocks dealt out in turn: 4@pid is inside"),
        ("S[(2, 4, 16) : (4@pid, 1, 4)] + R[4 : 1@pid]", "expected row-major local shards, as in S[(2, 4, 16)"),
        ("S[(2, 4, 2, 8) : (4@pid, 8, 4@pid, 1)] + R[4 : 1@pid]", "at most once, found 'x' twice"),
        ("S[(2, 4, 16) : (4@pid, 16@F, 1)] + R[4 : 1@pid]", "expected a layout on pid and m only, found F"),
        ("S[128 : 1@pid]", "found 16@pid; strides are 4 of 'x', 1 of 'y'"),
        ("S[(3, 43) : (4@pid, 1)]", "129 elements"),
    ],
)
def test_refusals(notation: str, message: str) -> None:
    with pytest.raises(MeshError, match=re.escape(message)):
        to_partition_spec(TileLayout.parse(notation), (8, 16), Mesh((2, 4), ("x", "y")))


def test_uneven_shards_have_no_layout() -> None:
    """JAX refuses them too; PyTorch gives the last devices less."""
    mesh = Mesh((2, 4), ("x", "y"))
    with pytest.raises(MeshError, match="over 'y', 'x', 8 devices, found 20: .* nearest is 16 or 24"):
        from_partition_spec((20, 4), mesh, [("y", "x")])
    with pytest.raises(MeshError, match="dimension 1 that splits evenly over 'y', 4 devices, found 3: .* nearest is 4"):
        from_placements((None, -1), mesh, (2, 3))


def test_dimensions_are_counted_from_the_end_too() -> None:
    mesh = Mesh((2, 4), ("x", "y"))
    assert from_placements((-2, -1), mesh, (4, 8)) == from_placements((0, 1), mesh, (4, 8))
    with pytest.raises(MeshError, match=r"^expected a dimension of shape \(4, 8\) to split, found -3$"):
        from_placements((-3, None), mesh, (4, 8))


def test_bad_arguments() -> None:
    with pytest.raises(MeshError, match=r"expected names of mesh\(d0=2, d1=4\) in a partition spec, found 'x'"):
        from_partition_spec((8,), Mesh((2, 4)), ("x",))
    with pytest.raises(MeshError, match="at most once, found 'd0' twice"):
        from_partition_spec((8, 8), Mesh((2, 4)), ("d0", "d0"))
    with pytest.raises(MeshError, match="expected at most 1 entries"):
        from_partition_spec((8,), Mesh((2, 4)), (None, "d0"))
    with pytest.raises(MeshError, match=r"^expected 2 placements for mesh\(d0=2, d1=4\), found 1$"):
        from_placements((0,), Mesh((2, 4)), (8,))
    with pytest.raises(MeshError, match="expected a dimension of shape .8,. to split, found 1"):
        from_placements((1, None), Mesh((2, 4)), (8,))
    with pytest.raises(MeshError, match=r"^every dimension of a mesh must have at least one device, found \(2, 0\)$"):
        Mesh((2, 0))
    with pytest.raises(
        MeshError, match=r"^expected 2 distinct names for a mesh of shape \(2, 2\), found \('x', 'x'\)$"
    ):
        Mesh((2, 2), ("x", "x"))
    with pytest.raises(MeshError, match=r"^expected 2 distinct names for a mesh of shape \(2, 2\), found \('x',\)$"):
        Mesh((2, 2), ("x",))


@pytest.mark.parametrize("module", ["jax", "torch"])
def test_without_the_frameworks(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`import tirx.layout` loads neither, and each function says which extra it needs."""
    code = "import sys, tirx.layout, tirx.layout.interop.mesh; assert not {'jax', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    layout = TileLayout.row_major((2,), "pid")
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)

    class Nowhere:
        """As if it were not installed."""

        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name == module:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Nowhere(), *sys.meta_path])
    for call in (
        (lambda: to_jax(layout, (2,), Mesh((2,))), lambda: from_jax(None, (2,)))
        if module == "jax"
        else (lambda: to_dtensor(layout, (2,), (2,)), lambda: from_dtensor((None,), (2,), (2,)))
    ):
        with pytest.raises(ModuleNotFoundError, match=rf"needs {module}: pip install 'tirx-compiler\[{module}\]'"):
            call()


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
def test_against_jax() -> None:
    env = os.environ | {
        "PYTHONPATH": PATHS,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }
    script = Path(__file__).parent / "jax_mesh_check.py"
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r"compared (\d+) shardings", done.stdout)[0]) > 80


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_against_torch() -> None:
    script = Path(__file__).parent / "torch_mesh_check.py"
    env = os.environ | {"PYTHONPATH": PATHS}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r"compared (\d+) tensors", done.stdout)[0]) > 80


class _Spec(tuple[Any, ...]):
    unreduced: frozenset[str] = frozenset()
    UNCONSTRAINED = object()

    def __new__(cls, *entries: Any) -> Any:
        return super().__new__(cls, entries)


@dataclass
class _Grid:
    devices: Any
    names: tuple[str, ...]


@dataclass
class _Named:
    mesh: Any
    spec: Any


@dataclass
class _Shard:
    dim: int


@dataclass
class _Replicate:
    pass


def test_what_frameworks_have_and_meshes_have_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for JAX and PyTorch, as far as they are asked."""
    devices = ["cpu:0"]
    sharding = SimpleNamespace(NamedSharding=_Named, PartitionSpec=_Spec, Mesh=_Grid)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(sharding=sharding, devices=lambda: devices))  # pyright: ignore
    mesh = SimpleNamespace(axis_names=("a",), axis_sizes=(2,))
    open_, unreduced = _Spec(_Spec.UNCONSTRAINED), _Spec(None)
    unreduced.unreduced = frozenset("a")
    other = SimpleNamespace(axis_names=(1,), axis_sizes=(2,))
    for wrong, message in (
        ("x", "expected a jax.sharding.NamedSharding, found str"),
        (_Named(mesh, open_), "expected a mesh dimension or None for each dimension, found UNCONSTRAINED"),
        (_Named(mesh, unreduced), r"expected a tensor whose sums are done, found unreduced \['a'\]"),
        (
            _Named(other, _Spec(None)),
            r"expected strings as names .* \(1,\)",
        ),
    ):
        with pytest.raises(MeshError, match=message):
            from_jax(wrong, (8,))
    with pytest.raises(MeshError, match=r"expected 2 devices for mesh\(a=2\), found 1; the CPU stands in for so many"):
        to_jax(TileLayout("S[(2, 4) : (1@pid, 1)]"), (8,), Mesh((2,), ("a",)))
    for more in ("cpu:1", "cpu:2"):
        devices.append(more)
        found = to_jax(TileLayout("S[(2, 4) : (1@pid, 1)]"), (8,), Mesh((2,), ("a",)))
        found.mesh.devices = found.mesh.devices.tolist()
        assert found == _Named(_Grid(["cpu:0", "cpu:1"], ("a",)), _Spec("a"))
    tensor = SimpleNamespace(Shard=_Shard, Replicate=_Replicate)
    for name in ("torch", "torch.distributed"):
        package = ModuleType(name)
        package.__path__, package.__spec__ = [], ModuleSpec(name, None, is_package=True)
        monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.setitem(sys.modules, "torch.distributed.tensor", tensor)  # pyright: ignore[reportArgumentType]
    with pytest.raises(MeshError, match=r"expected Shard\(...\) or Replicate\(\) placements, found 'Partial'"):
        from_dtensor(["Partial"], (2,), (8,))
    placements = _Shard(1), _Replicate()
    for of_torch in (SimpleNamespace(shape=(4, 3), mesh_dim_names=names) for names in (("a", "b"), None)):
        found = from_dtensor(placements, of_torch, (2, 4))
        assert found == from_dtensor(placements, (4, 3), (2, 4)) == from_placements((1, None), Mesh((4, 3)), (2, 4))
        assert to_dtensor(found, (2, 4), of_torch) == placements
    monkeypatch.delitem(sys.modules, "torch.distributed.tensor")
    with pytest.raises(ModuleNotFoundError, match="torch.distributed.tensor"):  # there is a torch, without it
        from_dtensor([], (2,), (8,))
