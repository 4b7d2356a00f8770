"""Compares layouts with the local tensors of real DTensors, every element on every rank of a fake process group.

A program of its own, because a process group belongs to its process.
"""

from importlib import import_module
from itertools import product
from math import prod
from typing import Any

from tirx.layout import MeshError
from tirx.layout.interop.mesh import Mesh, from_dtensor, from_partition_spec, to_dtensor, to_placements

torch: Any = import_module("torch")
dist: Any = import_module("torch.distributed")
tensor: Any = import_module("torch.distributed.tensor")
placement_types: Any = import_module("torch.distributed.tensor.placement_types")
fake: Any = import_module("torch.testing._internal.distributed.fake_pg")


def check_rank(rank: int) -> int:
    compared = 0
    for mesh_shape, shape in (((2, 4), (8, 16)), ((2, 2, 2), (8, 8)), ((8,), (16,)), ((2, 1, 4), (8, 4, 1))):
        mesh = dist.device_mesh.init_device_mesh("cpu", mesh_shape)
        data = torch.arange(prod(shape)).reshape(shape)
        choices = [tensor.Replicate(), *(tensor.Shard(d) for d in range(len(shape)))]
        for placements in product(choices, repeat=len(mesh_shape)):
            try:
                layout = from_dtensor(placements, mesh, shape)
            except MeshError as error:
                assert "splits evenly" in str(error)
                continue
            local = tensor.distribute_tensor(data, mesh, placements, src_data_rank=None).to_local()
            held: dict[int, int] = {}
            for element in range(prod(shape)):
                for owner in layout.owners(element, shape):
                    if owner.get("pid", 0) == rank:
                        held[owner.get("m", 0)] = element
            assert [held[at] for at in range(len(held))] == local.ravel().tolist(), (rank, placements, str(layout))
            again = to_dtensor(layout.canonicalize(), shape, mesh)
            assert again == tuple(
                p if size > 1 else tensor.Replicate() for p, size in zip(placements, mesh_shape, strict=True)
            )
            assert from_dtensor(again, mesh_shape, shape) == layout
            compared += 1
    return compared


def check_refusals() -> None:
    for placement in (tensor.Partial(), placement_types._StridedShard(0, split_factor=2)):
        try:
            from_dtensor((placement, tensor.Shard(0)), (2, 2), (8, 8))
        except MeshError as error:
            assert "expected Shard(...) or Replicate() placements" in str(error), error
        else:
            raise AssertionError(f"{placement} was read")
    mesh = Mesh((2, 2), ("dp", "tp"))
    crossed = from_partition_spec((8, 8), mesh, [("tp", "dp")])
    try:
        to_placements(crossed, (8, 8), mesh)
    except MeshError as error:
        assert "split in the order of the mesh, 'dp', 'tp'" in str(error), error
    else:
        raise AssertionError("an order that Shard cannot say was printed")


def main() -> None:
    compared = 0
    for rank in range(8):
        dist.init_process_group(backend="fake", rank=rank, world_size=8, store=fake.FakeStore())
        compared += check_rank(rank)
        dist.destroy_process_group()
    check_refusals()
    print(f"compared {compared} tensors")


if __name__ == "__main__":
    main()
