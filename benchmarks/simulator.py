"""
How fast the simulator is: a product of f16 matrices by tcgen05, by wgmma and by mma.sync, and cost by the size.

    python benchmarks/simulator.py [--size 1024] [--baseline COMMIT]

Every kernel computes size x size x size with small integers, which numpy checks. Seconds are CPU time of this process,
without and with checks. `--baseline` runs the simulator of another commit of this repository on the same PTX, in the
same run, and shows the ratio. The last table shows how the cost of the tcgen05 kernel grows with its blocks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
_TRITON = ROOT / "test" / "unit" / "sim" / "triton" / "matmul_sm90.ptx"
_TCGEN05 = """
!operand = !tirx.tile<128x64xf16, shared>
!accumulator = !tirx.tile<128x128xf32, tensor>

tirx.kernel @gemm(%a: memref<{m}x{k}xf16>, %b: memref<{n}x{k}xf16>, %d: memref<{m}x{n}xf32>)
    target("sm_100a") grid({columns}, {rows}) threads(128) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %depth = arith.constant {k} : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index
  %sa = tirx.alloc : !operand
  %sb = tirx.alloc : !operand
  %acc = tirx.alloc : !accumulator
  tirx.fill %acc, %zero : f32, !accumulator
  scf.for %k = %c0 to %depth step %c64 {{
    %ga = tirx.view %a[%m, %k] : memref<{m}x{k}xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<{n}x{k}xf16> -> !tirx.tile<128x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !operand
    tirx.copy %gb, %sb : !tirx.tile<128x64xf16, global>, !operand
    tirx.mma %sa, %sb, %acc : !operand, !operand, !accumulator
  }}
  %gd = tirx.view %d[%m, %n] : memref<{m}x{n}xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !accumulator, !tirx.tile<128x128xf32, global>
  tirx.return
}}
"""


def _mma_sync(size: int) -> str:
    """Blocks of four warps, each 16 x 64 of D, with fragments straight from global memory."""
    row = 2 * size  # bytes of a row of A and B
    lines = [
        ".version 8.0\n.target sm_80\n.address_size 64",
        ".visible .entry gemm(.param .u64 a, .param .u64 b, .param .u64 d) .reqntid 128 {",
        ".reg .b32 %t<16>, %a<4>, %b<2>; .reg .b64 %p<4>, %q; .reg .f32 %d<32>; .reg .pred %more;",
        "mov.u32 %t0, %tid.x; shr.u32 %t1, %t0, 5; and.b32 %t2, %t0, 31; shr.u32 %t3, %t2, 2; and.b32 %t4, %t2, 3;",
        "mov.u32 %t5, %ctaid.y; mov.u32 %t6, %ctaid.x; shl.b32 %t5, %t5, 6; shl.b32 %t6, %t6, 6;",
        "shl.b32 %t7, %t1, 4; add.u32 %t5, %t5, %t7; add.u32 %t5, %t5, %t3; add.u32 %t8, %t6, %t3;",
        f"shl.b32 %t9, %t4, 2; mad.lo.u32 %t10, %t5, {row}, %t9; mad.lo.u32 %t11, %t8, {row}, %t9;",
        "ld.param.u64 %p0, [a]; cvt.u64.u32 %q, %t10; add.u64 %p0, %p0, %q;",
        "ld.param.u64 %p1, [b]; cvt.u64.u32 %q, %t11; add.u64 %p1, %p1, %q;",
        *(f"mov.f32 %d{index}, 0f00000000;" for index in range(32)),
        "mov.u32 %t12, 0;",
        "NEXT:",
        *(
            f"ld.global.b32 %a{index}, [%p0+{8 * row * (index % 2) + 16 * (index // 2)}];" for index in range(4)
        ),
    ]  # fmt: skip
    for tile in range(8):
        d = ", ".join(f"%d{4 * tile + index}" for index in range(4))
        lines += [f"ld.global.b32 %b{index}, [%p1+{8 * row * tile + 16 * index}];" for index in range(2)]
        lines.append(
            f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{d}}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{{d}}};"
        )
    lines += [
        "add.u64 %p0, %p0, 32; add.u64 %p1, %p1, 32; add.u32 %t12, %t12, 16;",
        f"setp.lt.u32 %more, %t12, {size}; @%more bra NEXT;",
        f"mad.lo.u32 %t13, %t5, {size}, %t6; shl.b32 %t14, %t4, 1; add.u32 %t13, %t13, %t14;",
        "ld.param.u64 %p2, [d]; mul.wide.u32 %q, %t13, 4; add.u64 %p2, %p2, %q;",
    ]
    for index in range(32):
        tile, element = divmod(index, 4)
        offset = 4 * (8 * size * (element // 2) + 8 * tile + element % 2)
        lines.append(f"st.global.f32 [%p2+{offset}], %d{index};")
    return "\n".join((*lines, "ret; }"))


@dataclass(frozen=True)
class Launch:
    """A kernel on A (size, size), B and D; `transposed`: B is N x K."""

    ptx: str
    entry: str
    grid: Sequence[int]
    dynamic_shared: int
    transposed: bool
    sizes: bool  # M, N, K and two pointers follow the matrices


def launches(size: int) -> dict[str, Launch]:
    """The three kernels. `tirx` compiles the first one, Triton has the second."""
    import tirx

    tiles = size // 128
    tcgen05 = tirx.compile(_TCGEN05.format(m=size, n=size, k=size, rows=tiles, columns=tiles))
    return {
        "tcgen05": Launch(tcgen05, "gemm", (tiles, tiles), 0, True, False),
        "wgmma": Launch(_TRITON.read_text(), "matmul", (size // 128, size // 64), 73744, False, True),
        "mma.sync": Launch(_mma_sync(size), "gemm", (size // 64, size // 64), 0, True, False),
    }


def seconds(run: Callable[..., None], launch: Launch, size: int, check: bool) -> float:
    """CPU seconds of a run, whose result must be that of numpy."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (size, size)).astype(np.float16) for _ in range(2))
    d = np.zeros((size, size), np.float32)
    arguments: list[Any] = [a, b, d]
    if launch.sizes:
        arguments += [size, size, size, np.zeros(1, np.uint8), np.zeros(1, np.uint8)]
    start = process_time()
    run(launch.ptx, launch.entry, launch.grid, 128, arguments, dynamic_shared=launch.dynamic_shared, check=check)
    found = process_time() - start
    expected = a.astype(np.float32) @ (b.T if launch.transposed else b).astype(np.float32)
    if not np.array_equal(d, expected):
        raise SystemExit("error: the simulator and numpy differ")
    return found


def _measure(path: str) -> None:
    """Measures the kernels of a file with the simulator that is imported, and prints their seconds."""
    from tirx.sim import run

    size, kernels = json.loads(Path(path).read_text())
    for kernel in kernels:
        launch = Launch(**kernel)
        print(*(seconds(run, launch, size, check) for check in (False, True)), flush=True)


def _measured(root: Path, size: int, kernels: list[Launch]) -> list[tuple[float, float]]:
    """Seconds without and with checks of the simulator in a checkout, in a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([size, [asdict(kernel) for kernel in kernels]], file)
        file.flush()
        command = [sys.executable, __file__, "--measure", file.name]
        found = subprocess.run(command, env={"PYTHONPATH": str(root)}, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stderr)
    rows = [[float(word) for word in line.split()] for line in found.stdout.splitlines()]
    return [(without, checked) for without, checked in rows]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024, help="a multiple of 128 (default: 1024)")
    parser.add_argument("--baseline", metavar="COMMIT", help="a commit to compare with")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        _measure(flags.measure)
        return
    kernels = launches(flags.size)
    new = _measured(ROOT, flags.size, list(kernels.values()))
    old = None
    if flags.baseline:
        with tempfile.TemporaryDirectory() as directory:
            archive = subprocess.run(["git", "archive", flags.baseline], cwd=ROOT, capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
            old = _measured(Path(directory), flags.size, list(kernels.values()))
    print(
        f"| {flags.size}^3, f16 | without checks | with checks | checks cost |"
        + (" before | times as fast |" if old else "")
    )
    print("|---|---:|---:|---:|" + ("---:|---:|" if old else ""))
    for index, name in enumerate(kernels):
        without, checked = new[index]
        cells = [f"{without:.2f} s", f"{checked:.2f} s", f"{checked / without:.1f} x"]
        if old:
            cells += [f"{old[index][0]:.2f} s", f"{old[index][0] / without:.1f}"]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\n| tcgen05, size | blocks | seconds | for each block and step of K |\n|---:|---:|---:|---:|")
    for size in (128, 256, 512):
        ((without, _),) = _measured(ROOT, size, [launches(size)["tcgen05"]])
        steps = (size // 128) ** 2 * (size // 64)
        print(f"| {size} | {(size // 128) ** 2} | {without:.3f} | {1e3 * without / steps:.2f} ms |")


if __name__ == "__main__":
    main()
