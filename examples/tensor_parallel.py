"""
Two products on several devices: `python examples/tensor_parallel.py [--framework jax|torch] [--devices 2]`.

    H = A B^T       B is split by rows (of N), and so H by columns: no device needs another one
    D = H W^T       W is split by columns (of N): each device has a part of every sum, and all parts are added

Layouts over the axis `pid` say which device holds which shard. `to_jax` and `to_dtensor` make placements of them,
by which the framework moves the data (NCCL on GPUs); tirx kernels do the products on what each device holds. What lies
elsewhere than a product needs it is an error that names the collective. The inputs are small integers, so that all
sums are exact and the result is that of one device, bit by bit.

Without GPUs the kernels run in the simulator: torch talks by gloo between processes, jax over the CPU's host devices
(XLA_FLAGS=--xla_force_host_platform_device_count=2, which this program sets).
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import tirx
import tirx as tx
from tirx import f16, f32
from tirx.layout import Mesh, R, S, TileLayout
from tirx.layout.axes import pid
from tirx.layout.interop.mesh import from_dtensor, from_jax, to_dtensor, to_jax
from tirx.layout.interop.redistribution import require_sharding
from tirx.runtime import Kernel

Array = npt.NDArray[Any]


@cache
def product(m: int, n: int, k: int, half: bool, target: str) -> Kernel:
    """The kernel of `D = A B^T` for A of m x k and B of n x k elements, with f16 or f32 results."""
    tile_m, tile_n, tile_k = min(m, 128), min(n, 256), min(k, 64)
    threads = 256 if tile_m == 128 else 128

    @tx.jit(f16[m, k], f16[n, k], (f16 if half else f32)[m, n], threads=threads)
    def gemm(a: tx.Array, b: tx.Array, d: tx.Array) -> None:
        rows, columns = tx.grid((m, tile_m), (n, tile_n))
        acc = tx.zeros(f32, tile_m, tile_n)
        for at in tx.tiles(k, tile_k):
            acc += tx.shared(a[rows, at]) @ tx.shared(b[columns, at]).T
        d[rows, columns] = acc.to(f16) if half else acc

    return tirx.build(gemm.module, target).kernels["gemm"]


def shardings(m: int, n: int, k: int, p: int, devices: int) -> dict[str, tuple[tuple[int, int], TileLayout]]:
    """Tensor -> its shape, and which device (`pid`) holds which part of it at which position."""
    return {
        "A": ((m, k), TileLayout(S[m, k] + R[devices : 1 @ pid])),
        "B": ((n, k), TileLayout(S[(devices, n // devices * k) : (1 @ pid, 1)])),
        "H": ((m, n), TileLayout(S[(m, devices, n // devices) : (n // devices, 1 @ pid, 1)])),
        "W": ((p, n), TileLayout(S[(p, devices, n // devices) : (n // devices, 1 @ pid, 1)])),
    }


def inputs(m: int, n: int, k: int, p: int) -> tuple[Array, Array, Array]:
    """Matrices of -1, 0 and 1: all sums are exact in the types that hold them."""
    rng = np.random.default_rng(0)
    a, b, w = (rng.integers(-1, 2, size, np.int8).astype(np.float16) for size in ((m, k), (n, k), (p, n)))
    return a, b, w


def simulated(run: Kernel, a: Array, b: Array, dtype: Any) -> Array:
    """One product in the simulator."""
    d = np.zeros((a.shape[0], b.shape[0]), dtype)
    run.simulate(a, b, d)
    return d


def with_jax(m: int, n: int, k: int, p: int, devices: int, target: str) -> Array:
    """Both products, with JAX's arrays."""
    import jax
    from jax.sharding import PartitionSpec

    mesh = Mesh((devices,), ("tp",))
    known = shardings(m, n, k, p, devices)
    matrices = zip(("A", "B", "W"), inputs(m, n, k, p), strict=True)
    held = {x: jax.device_put(array, to_jax(known[x][1], known[x][0], mesh)) for x, array in matrices}

    def local(run: Kernel, x: Any, y: Any, dtype: Any) -> list[Any]:
        parts = [(np.asarray(s.data), np.asarray(t.data)) for s, t in zip(x, y, strict=True)]
        return [simulated(run, a, b, dtype) for a, b in parts]

    def check(name: str, array: Any, wanted: str) -> Any:
        shape, layout = known[wanted]
        require_sharding(from_jax(array.sharding, array.shape), layout, shape, mesh, name)
        return array.addressable_shards

    each = n // devices
    parts = local(product(m, each, k, True, target), check("A", held["A"], "A"), check("B", held["B"], "B"), np.float16)
    shape, layout = known["H"]
    on = [shard.device for shard in held["B"].addressable_shards]
    hidden = jax.make_array_from_single_device_arrays(
        shape, to_jax(layout, shape, mesh), [jax.device_put(x, device) for x, device in zip(parts, on, strict=True)]
    )
    sums = local(product(m, p, each, False, target), check("H", hidden, "H"), check("W", held["W"], "W"), np.float32)
    grid = held["B"].sharding.mesh
    split = jax.sharding.NamedSharding(grid, PartitionSpec("tp"))
    stacked = jax.make_array_from_single_device_arrays(
        (devices, m, p), split, [jax.device_put(x[None], device) for x, device in zip(sums, on, strict=True)]
    )
    add = jax.shard_map(
        lambda x: jax.lax.psum(x, "tp")[0], mesh=grid, in_specs=PartitionSpec("tp"), out_specs=PartitionSpec()
    )
    return np.asarray(jax.jit(add)(stacked))


def _rank(rank: int, sizes: tuple[int, int, int, int], devices: int, target: str, path: str) -> None:
    """One process of torch: both products on its shards, and the sum over all processes."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, distribute_tensor

    m, n, k, p = sizes
    on_gpu = torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    if on_gpu:
        torch.cuda.set_device(rank)
    store = f"file://{path}.store"
    own = {"device_id": torch.device(device, rank)} if on_gpu else {}
    dist.init_process_group("nccl" if on_gpu else "gloo", init_method=store, rank=rank, world_size=devices, **own)
    grid = init_device_mesh(device, (devices,), mesh_dim_names=("tp",))
    mesh = Mesh((devices,), ("tp",))
    known = shardings(m, n, k, p, devices)
    given = zip(("A", "B", "W"), inputs(m, n, k, p), strict=True)
    a, b, w = (
        distribute_tensor(torch.from_numpy(x).to(device), grid, to_dtensor(known[name][1], known[name][0], mesh))
        for name, x in given
    )
    first, second = product(m, n // devices, k, True, target), product(m, p, n // devices, False, target)

    def local(name: str, tensor: DTensor) -> Any:
        shape, layout = known[name]
        require_sharding(from_dtensor(tensor.placements, mesh, tuple(tensor.shape)), layout, shape, mesh, name)
        return tensor.to_local().contiguous()

    def multiply(run: Kernel, x: Any, y: Any, dtype: Any) -> Any:
        d = torch.empty((x.shape[0], y.shape[0]), dtype=dtype, device=device)
        if on_gpu:
            run(x, y, d)
        else:
            run.simulate(x.numpy(), y.numpy(), d.numpy())
        return d

    def both() -> DTensor:
        parts = multiply(first, local("A", a), local("B", b), torch.float16)
        hidden = DTensor.from_local(parts, grid, to_dtensor(known["H"][1], known["H"][0], mesh))
        sums = multiply(second, local("H", hidden), local("W", w), torch.float32)
        return DTensor.from_local(sums, grid, [Partial()]).redistribute(placements=[Replicate()])

    result = both().to_local().cpu().numpy()
    seconds: list[float] = []
    if on_gpu:
        # What is held where has been checked: the shards themselves and results that are there, so that launches with
        # the same arguments are prepared once.
        x, y, z = (tensor.to_local() for tensor in (a, b, w))
        between = torch.empty((x.shape[0], y.shape[0]), dtype=torch.float16, device=device)
        sums = torch.empty((x.shape[0], z.shape[0]), dtype=torch.float32, device=device)

        def products() -> None:
            first(x, y, between)
            second(between, z, sums)

        def all_() -> None:
            products()
            dist.all_reduce(sums)

        own_rows = torch.empty((m // devices, z.shape[0]), dtype=torch.float32, device=device)

        def scattered() -> None:
            products()
            dist.reduce_scatter_tensor(own_rows, sums)

        seconds = [_seconds(torch, run) for run in (products, all_, scattered)]
    if rank == 0:
        np.save(f"{path}.npy", result)
        with open(f"{path}.json", "w", encoding="utf-8") as file:
            json.dump(seconds, file)
    dist.barrier()
    dist.destroy_process_group()


def _seconds(torch: Any, run: Callable[[], object], rounds: int = 20) -> float:
    """Seconds that this device works on one call, between two events in its stream, after three calls to warm up."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    start.record()
    for _ in range(rounds):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / rounds


def with_torch(m: int, n: int, k: int, p: int, devices: int, target: str) -> tuple[Array, list[float]]:
    """
    Both products, with torch's DTensor in a process for each device.

    On GPUs also the seconds of one call: of the products alone, with the sum over all devices, and with the sum of
    which each device keeps its rows.
    """
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "tensor_parallel")
        mp.spawn(_rank, args=((m, n, k, p), devices, target, path), nprocs=devices)
        with open(f"{path}.json", encoding="utf-8") as file:
            return np.load(f"{path}.npy"), json.load(file)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=("jax", "torch"), default="jax")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--sizes", default="64,128,64,64", help="M,N,K,P of A (MxK), B (NxK) and W (PxN)")
    parser.add_argument("--target", default="sm_80", help="the GPU to compile for, such as sm_90a")
    args = parser.parse_args(argv)
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={args.devices}")  # before JAX starts
    m, n, k, p = map(int, args.sizes.split(","))
    seconds: dict[int, list[float]] = {}
    results: dict[int, Array] = {}
    for devices in (1, args.devices):
        if args.framework == "jax":
            results[devices] = with_jax(m, n, k, p, devices, args.target)
        else:
            results[devices], seconds[devices] = with_torch(m, n, k, p, devices, args.target)
    a, b, w = inputs(m, n, k, p)
    rows = slice(0, 128)  # numpy is slow
    expected = (a[rows].astype(np.float32) @ b.T.astype(np.float32)) @ w.T.astype(np.float32)
    is_right = all(np.array_equal(each[rows], expected) for each in results.values())
    print(f"{args.devices} devices equal one: {np.array_equal(results[1], results[args.devices])}, numpy: {is_right}")
    flops = 2.0 * m * n * (k + p) / 1e12
    what = ("the products", "with the sum on all devices", "with the sum by rows")
    for devices, found in seconds.items():
        for name, each in zip(what, found, strict=False):
            print(f"{devices} device(s), {name}: {each * 1e3:.3f} ms, {flops / each:.0f} TFLOP/s")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
