"""Compares layouts with the real `NamedSharding.devices_indices_map`, every element on 8 devices of the CPU.

A program of its own, because the number of devices is fixed when JAX starts.
"""

from importlib import import_module
from itertools import permutations, product
from typing import Any

import numpy as np
from unit.layout.interop.mesh_model import Boxes, holders, owners

from tirx.layout import MeshError, TileLayout
from tirx.layout.interop.mesh import Mesh, from_jax, from_partition_spec, to_jax

jax: Any = import_module("jax")
P: Any = jax.sharding.PartitionSpec


def boxes(sharding: Any, devices: list[Any], shape: tuple[int, ...]) -> Boxes:
    """Boxes by JAX, in the order of these devices."""
    found = sharding.devices_indices_map(shape)
    return [found[device] for device in devices if device in found]


def specs(names: tuple[str, ...], rank: int) -> list[tuple[tuple[str, ...], ...]]:
    """Every way to hand the names out to the dimensions, in every order, some names left over."""
    found: list[tuple[tuple[str, ...], ...]] = []
    for places in product(range(rank + 1), repeat=len(names)):
        groups = [[n for n, place in zip(names, places, strict=True) if place == d] for d in range(rank)]
        found += product(*(permutations(group) for group in groups))
    return found


def main() -> None:
    devices: list[Any] = jax.devices()
    compared = 0
    for mesh_shape, names, shape, order in (
        ((2, 4), ("x", "y"), (8, 16), range(8)),
        ((4, 2), ("x", "y"), (8, 8), (3, 1, 4, 0, 5, 7, 2, 6)),
        ((2, 2, 2), ("a", "b", "c"), (8, 8), range(8)),
        ((2, 1, 4), ("a", "b", "c"), (8, 1, 8), range(8)),
        ((8,), ("x",), (16,), range(8)),
        ((2, 2), ("x", "y"), (4, 4, 4), range(4)),
    ):
        ordered = [devices[i] for i in order]
        mesh = jax.sharding.Mesh(np.array(ordered, dtype=object).reshape(mesh_shape), names)
        for spec in specs(names, len(shape)):
            sharding = jax.sharding.NamedSharding(mesh, P(*spec))
            try:
                layout = from_jax(sharding, shape)
            except MeshError as error:
                assert "splits evenly" in str(error)
                try:
                    sharding.devices_indices_map(shape)
                except ValueError:
                    continue
                raise AssertionError(f"JAX splits {shape} by {spec}") from error
            assert owners(layout, shape) == holders(boxes(sharding, ordered, shape), shape), (
                mesh_shape,
                spec,
                str(layout),
            )
            again = to_jax(layout.canonicalize(), shape, mesh)
            assert again.is_equivalent_to(sharding, len(shape)), (spec, again)
            ours = to_jax(layout, shape, Mesh(mesh_shape, names))
            assert owners(layout, shape) == holders(boxes(ours, devices, shape), shape)
            assert from_jax(ours, shape) == from_partition_spec(shape, Mesh(mesh_shape, names), spec) == layout
            compared += 1
    explicit = (jax.sharding.AxisType.Explicit,) * 2
    grid = np.array(devices, dtype=object).reshape(2, 4)
    mesh = jax.sharding.Mesh(grid, ("x", "y"))
    typed = jax.sharding.Mesh(grid, ("x", "y"), explicit)
    for sharding, message in (
        (jax.sharding.NamedSharding(mesh, P(P.UNCONSTRAINED, "x")), "UNCONSTRAINED"),
        (jax.sharding.NamedSharding(typed, P("x", unreduced={"y"})), "unreduced"),
        (jax.sharding.SingleDeviceSharding(devices[0]), "expected a jax.sharding.NamedSharding"),
        (jax.sharding.NamedSharding(mesh, P("x", None, "y")), "at most 2 entries"),
    ):
        try:
            from_jax(sharding, (8, 8))
        except MeshError as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"{sharding} was read")
    try:
        to_jax(TileLayout.row_major((9,), "pid"), (9,), Mesh((9,)))
    except MeshError as error:
        assert "expected 9 devices" in str(error), error
    abstract = jax.sharding.AbstractMesh((2, 4), ("x", "y"))
    layout = from_jax(jax.sharding.NamedSharding(abstract, P("y", "x")), (8, 8))
    assert to_jax(layout, (8, 8), abstract).spec == P("y", "x")
    print(f"compared {compared} shardings")


if __name__ == "__main__":
    main()
