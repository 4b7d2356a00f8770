"""
A product whose sums several devices share out, and add by rows: `python examples/reduce_scatter.py [--devices 2]`.

    D = A_0 B_0^T + A_1 B_1^T + ...     device r has columns r of A and B (of K), and keeps rows r of D

Each device multiplies the rows of the others first, and `push` stores them through peer pointers straight into the
memory of whoever keeps them: while one tile crosses NVLink, the next ones are multiplied. A flag of system scope says
that all of them are there (`post`). Then the device waits for the flags of the others (`wait`), multiplies its own rows
and adds the parts that came (`finish`), in the order of devices, so that results have the same bits in every run. Parts
are f16 and sums f32. Buffers alternate: a device that is ahead by one call writes to the other one.

`--torch` runs it on GPUs, a process for each, with torch's symmetric memory, and prints the time beside torch's own
fused product and beside NCCL behind the product. Without it the kernels run in the simulator.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np

import tirx
import tirx as tx
from tirx import f16, f32, i32
from tirx.runtime import Kernel


@dataclass(frozen=True)
class Kernels:
    """Those of one device: `post` and `finish` know its number."""

    push: Kernel
    post: Kernel
    wait: Kernel
    finish: Kernel


@cache
def kernels(rows: int, n: int, k: int, devices: int, rank: int, target: str) -> Kernels:
    """Kernels of device `rank`, which keeps `rows` rows of D and has `k` columns of A and B."""
    tile_m, tile_n, tile_k = min(rows, 128), min(n, 256), min(k, 64)
    threads = 256 if tile_m == 128 else 128

    @tx.fn
    def multiplied(a: tx.Array, b: tx.Array, tile_rows: Any, columns: Any) -> Any:
        acc = tx.zeros(f32, tile_m, tile_n)
        for at in tx.tiles(k, tile_k):
            acc += tx.shared(a[tile_rows, at]) @ tx.shared(b[columns, at]).T
        return acc

    @tx.jit(f16[rows, k], f16[n, k], f16[rows, n], threads=threads)
    def push(a: tx.Array, b: tx.Array, part: tx.Array) -> None:
        m, columns = tx.grid((rows, tile_m), (n, tile_n))
        part[m, columns] = multiplied(a, b, m, columns).to(f16)

    @tx.jit(i32[devices], i32, threads=32)
    def post(flags: tx.Array, call: tx.Scalar) -> None:
        tx.grid(1)
        tx.signal(flags[rank], call, scope="sys")

    @tx.jit(i32[devices], i32, threads=32, progress="cooperative")
    def wait(flags: tx.Array, call: tx.Scalar) -> None:
        tx.grid(1)
        for other in (r for r in range(devices) if r != rank):
            tx.wait_until(flags[other], "ge", call, scope="sys")

    @tx.jit(f16[rows, k], f16[n, k], f16[devices, rows, n], f16[rows, n], threads=threads)
    def finish(a: tx.Array, b: tx.Array, parts: tx.Array, d: tx.Array) -> None:
        m, columns = tx.grid((rows, tile_m), (n, tile_n))
        own = multiplied(a, b, m, columns)
        parts_of = [own if r == rank else parts[r, m, columns].to(f32) for r in range(devices)]
        d[m, columns] = reduce(add, parts_of).to(f16)

    programs = (tirx.build(kernel.module, target) for kernel in (push, post, wait, finish))
    return Kernels(*(next(iter(program.kernels.values())) for program in programs))


def inputs(m: int, n: int, k: int) -> tuple[Any, Any]:
    """Matrices of -1, 0 and 1, a quarter of them not 0: all sums are exact in f16."""
    rng = np.random.default_rng(0)
    a, b = ((rng.integers(-1, 2, s, np.int8) * (rng.random(s) < 0.375)).astype(np.float16) for s in ((m, k), (n, k)))
    return a, b


def simulated(m: int, n: int, k: int, devices: int, target: str) -> Any:
    """D of all devices, one behind the other in the simulator: first all parts, then all sums."""
    a, b = inputs(m, n, k)
    rows, each = m // devices, k // devices
    of = [kernels(rows, n, each, devices, r, target) for r in range(devices)]
    held = [[np.ascontiguousarray(x[:, r * each : (r + 1) * each]) for x in (a, b)] for r in range(devices)]
    parts = [np.zeros((devices, rows, n), np.float16) for _ in range(devices)]
    flags = [np.zeros(devices, np.int32) for _ in range(devices)]
    d = np.zeros((m, n), np.float16)
    for rank, (x, y) in enumerate(held):
        for to in (r for r in range(devices) if r != rank):
            of[rank].push.simulate(x[to * rows : (to + 1) * rows], y, parts[to][rank])
            of[rank].post.simulate(flags[to], 1)
    for rank, (x, y) in enumerate(held):
        of[rank].wait.simulate(flags[rank], 1)
        own = slice(rank * rows, (rank + 1) * rows)
        of[rank].finish.simulate(x[own], y, parts[rank], d[own])
    return d


def _rank(rank: int, sizes: tuple[int, int, int], devices: int, target: str, path: str) -> None:
    """One process of torch: its part of the product, compared with numpy's rows, and the times of all ways."""
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symmetric

    m, n, k = sizes
    rows, each = m // devices, k // devices
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", init_method=f"file://{path}.store", rank=rank, world_size=devices, device_id=device)
    group = dist.group.WORLD.group_name
    run = kernels(rows, n, each, devices, rank, target)
    a, b = (torch.from_numpy(x[:, rank * each : (rank + 1) * each]).to(device).contiguous() for x in inputs(m, n, k))
    d = torch.empty((rows, n), dtype=torch.float16, device=device)

    def shared(shape: tuple[int, ...], dtype: Any) -> list[Any]:
        """A tensor of zeros that all devices have, by device."""
        tensor = symmetric.empty(shape, dtype=dtype, device=device)
        tensor.zero_()
        found = symmetric.rendezvous(tensor, group)
        return [tensor if r == rank else found.get_buffer(r, shape, dtype) for r in range(devices)]

    parts = [shared((devices, rows, n), torch.float16) for _ in range(2)]
    flags = shared((devices,), torch.int32)
    others = [(rank + step) % devices for step in range(1, devices)]
    call = 0

    def overlapped() -> Any:
        nonlocal call
        call += 1
        buffers = parts[call % 2]
        for to in others:
            run.push(a[to * rows : (to + 1) * rows], b, buffers[to][rank])
            run.post(flags[to], call)
        run.wait(flags[rank], call)
        run.finish(a[rank * rows : (rank + 1) * rows], b, buffers[rank], d)
        return d

    whole, scattered = (torch.empty((size, n), dtype=torch.float16, device=device) for size in (m, rows))

    def nccl() -> Any:
        torch.matmul(a, b.T, out=whole)
        dist.reduce_scatter_tensor(scattered, whole)
        return scattered

    def fused() -> Any:
        return torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b.T, "sum", 0, group)

    def alone() -> Any:
        return torch.matmul(a, b.T, out=whole)

    torch.cuda.synchronize()
    dist.barrier()
    ways = {"overlapped": overlapped, "torch, symmetric memory": fused, "cuBLAS, then NCCL": nccl}
    results = {name: way().cpu().numpy() for name, way in ways.items()}
    ways["cuBLAS alone"] = alone
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(7):
        for name, way in ways.items():
            dist.barrier()
            seconds[name].append(_seconds(torch, way))
    np.savez(f"{path}.{rank}.npz", **results)
    with open(f"{path}.{rank}.json", "w", encoding="utf-8") as file:
        json.dump(seconds, file)
    dist.barrier()
    dist.destroy_process_group()


def _seconds(torch: Any, run: Callable[[], object], calls: int = 20) -> float:
    """Seconds that this device works on one call, between two events in its stream, after two calls to warm up."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    start.record()
    for _ in range(calls):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / calls


def with_torch(m: int, n: int, k: int, devices: int, target: str) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """D by each way, and the seconds of a call in each round: the slowest device's."""
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "reduce_scatter")
        mp.spawn(_rank, args=((m, n, k), devices, target, path), nprocs=devices)
        found = [np.load(f"{path}.{r}.npz") for r in range(devices)]
        seconds: list[dict[str, list[float]]] = []
        for r in range(devices):
            with open(f"{path}.{r}.json", encoding="utf-8") as file:
                seconds.append(json.load(file))
        results = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
    slowest = {name: [max(each) for each in zip(*(s[name] for s in seconds), strict=True)] for name in seconds[0]}
    return results, slowest


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true", help="on GPUs, with torch")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--sizes", default="128,128,128", help="M,N,K of A (MxK) and B (NxK); devices divide M and K")
    parser.add_argument("--target", default="sm_90a", help="the GPU to compile for")
    parser.add_argument("--json", help="a file for the seconds of all rounds")
    args = parser.parse_args(argv)
    m, n, k = map(int, args.sizes.split(","))
    if m % args.devices or k % args.devices:
        parser.error(f"expected M and K that {args.devices} devices divide, found M = {m}, K = {k}")
    if args.torch:
        results, seconds = with_torch(m, n, k, args.devices, args.target)
    else:
        results, seconds = {"simulated": simulated(m, n, k, args.devices, args.target)}, {}
    a, b = (x.astype(np.float32) for x in inputs(m, n, k))
    some = np.linspace(0, m - 1, min(m, 256)).astype(int)  # numpy is slow
    expected = a[some] @ b.T
    right = {name: bool(np.array_equal(d[some], expected)) for name, d in results.items()}
    print(f"{m}x{n}x{k} on {args.devices} devices, equal to numpy:", ", ".join(f"{x}: {y}" for x, y in right.items()))
    flops = 2.0 * m * n * k / args.devices / 1e12
    for name, found in seconds.items():
        each = statistics.median(found)
        print(f"{name}: {each * 1e3:.3f} ms, {flops / each:.0f} TFLOP/s a device")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"sizes": [m, n, k], "devices": args.devices, "seconds": seconds}, file)
    return 0 if all(right.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
