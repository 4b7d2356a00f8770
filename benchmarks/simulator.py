"""
Speed of the simulator: a product of f16 matrices by tcgen05, by wgmma and by mma.sync, and cost by the size.

    python benchmarks/simulator.py [--size 1024] [--baseline COMMIT] [--rounds 3] [--jobs 8]
    python benchmarks/simulator.py --against TREE [--rounds 3] [--only NAME]

Every kernel computes size x size x size with small integers, which numpy checks. Seconds are CPU time of a process that
has imported the simulator, without and with checks; the least of `--rounds`. `--baseline` runs the simulator of another
commit of this repository, or of a folder that holds its files, on the same PTX, in the same run, and shows the ratio.
The next table shows how the cost of the tcgen05 kernel grows with its blocks, the last one wall time by `--jobs`.

`--against` prints one table of another kind: the kernels of the examples with checks, by another checkout and by this
one, on the same PTX and arguments. Each round runs both of them, one after the other, and the results must be the same
bits. The ratio is the median of those of the rounds. `atomics.py` measures kernels whose blocks depend on each other.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from time import perf_counter, process_time
from typing import Any, TypeAlias

import numpy as np

_SM_COUNT = 148  # of a B200
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

_EMPTY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }"


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


# A parameter: the name of a matrix, a number, or a tensor map: the name of a matrix, box and swizzle.
Parameter: TypeAlias = "str | int | tuple[str, Sequence[int], str]"


@dataclass(frozen=True)
class Kernel:
    """A kernel on A (size, size), B and D, and how it is launched. `transposed`: B is N x K."""

    ptx: str
    entry: str
    grid: Sequence[int]
    block: Sequence[int]
    dynamic_shared: int
    parameters: Sequence[Parameter]
    transposed: bool = True


def kernels(size: int) -> dict[str, Callable[[], Kernel]]:
    """
    The kernels that are measured, each when it is called.

    Copies and products of the first three come after each other: `tirx` compiles the first one, Triton has the second.
    The others are what `tirx` compiles by default, with bulk copies in rings and warps that have roles.
    """
    tiles = size // 128
    tcgen05, wgmma = (
        text.format(m=size, n=size, k=size, rows=tiles, columns=tiles) for text in (_TCGEN05, _of_hopper(_TCGEN05))
    )
    sizes: list[Parameter] = ["a", "b", "d", size, size, size, "none", "none"]
    triton = (size // 128, size // 64, 1)
    plain = (size // 64, size // 64, 1)
    return {
        "tcgen05": lambda: _compiled(tcgen05, "pipeline=off"),
        "wgmma": lambda: Kernel(_TRITON.read_text(), "matmul", triton, (128, 1, 1), 73744, sizes, transposed=False),
        "mma.sync": lambda: Kernel(_mma_sync(size), "gemm", plain, (128, 1, 1), 0, ["a", "b", "d"]),
        "tcgen05, pipelined": lambda: _compiled(tcgen05, ""),
        "wgmma, pipelined": lambda: _compiled(wgmma, ""),
    }


def _of_hopper(text: str) -> str:
    return (
        text.replace("sm_100a", "sm_90a")
        .replace("128x128xf32, tensor", "128x128xf32, register")
        .replace("threads(128)", "threads(256)")
    )


def _compiled(text: str, options: str) -> Kernel:
    """Compiles a kernel with `tirx`, and returns it with its launch."""
    import tirx
    from tirx.runtime.launch import LaunchSizes, PointerArgument, TensorMapArgument

    program = tirx.build(text, options=options)
    launch = program.kernels["gemm"].launch
    parameters: list[Parameter] = []
    for argument in launch.arguments:
        if isinstance(argument, TensorMapArgument):
            parameters.append((launch.arguments[argument.argument].name, argument.box, argument.swizzle))
        elif isinstance(argument, PointerArgument):
            parameters.append(argument.name)
        else:
            raise SystemExit(f"error: expected matrices and tensor maps as arguments, found {argument}")
    assert launch.grid is not None and launch.block is not None, "the kernel says them"
    sizes = LaunchSizes([], [], _SM_COUNT)
    grid = [sizes.evaluate(count) for count in launch.grid]
    return Kernel(program.ptx, "gemm", grid, launch.block, launch.dynamic_shared, parameters)


def seconds(
    kernel: Kernel, size: int, check: bool, clock: Callable[[], float] = process_time, jobs: int | None = None
) -> float:
    """Seconds of a run, by default of CPU time of this process. The result must be that of numpy."""
    from tirx.sim import TensorMap, run

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (size, size)).astype(np.float16) for _ in range(2))
    d = np.zeros((size, size), np.float32)
    matrices: dict[str, Any] = {"a": a, "b": b, "d": d, "none": np.zeros(1, np.uint8)}

    def value(parameter: Parameter) -> Any:
        if isinstance(parameter, int):
            return parameter
        if isinstance(parameter, str):
            return matrices[parameter]
        name, box, swizzle = parameter
        return TensorMap(matrices[name], box, swizzle)  # type: ignore[arg-type]

    arguments = [value(each) for each in kernel.parameters]
    options: dict[str, Any] = {} if jobs is None else {"jobs": jobs}  # others know nothing of jobs
    start = clock()
    run(
        kernel.ptx, kernel.entry, kernel.grid, kernel.block, arguments,
        dynamic_shared=kernel.dynamic_shared, check=check, **options,
    )  # fmt: skip
    found = clock() - start
    expected = a.astype(np.float32) @ (b.T if kernel.transposed else b).astype(np.float32)
    if not np.array_equal(d, expected):
        raise SystemExit("error: the simulator and numpy differ")
    return found


def _measure(path: str) -> None:
    """Measures a kernel of a file with the simulator that is imported; prints its seconds and MiB of memory."""
    from tirx.sim import run

    size, kernel, levels = json.loads(Path(path).read_text())
    run(_EMPTY, "k", 1, 1, [])  # imports what runs import
    found = [seconds(Kernel(**kernel), size, check) for check in levels]
    print(*found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


@dataclass(frozen=True)
class Cost:
    """CPU seconds without and with checks, and the most memory of the process, in MiB."""

    without: float
    checked: float
    memory: float


def _measured(root: Path, size: int, kernel: Kernel, levels: Sequence[bool]) -> list[float] | str:
    """
    Costs of runs with the simulator of a checkout, in a process of its own, or its error: CPU seconds at each of the
    `levels` (with checks or not), and the most memory in MiB.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([size, asdict(kernel), list(levels)], file)
        file.flush()
        command = [sys.executable, __file__, "--measure", file.name]
        path = os.pathsep.join((str(root), *sys.path[1:]))
        found = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    if found.returncode:
        return found.stderr
    return [float(each) for each in found.stdout.split()]


def _of_this_checkout(size: int, kernel: Kernel, rounds: int = 1) -> Cost:
    """The least of several rounds."""
    found = [_measured(ROOT, size, kernel, (False, True)) for _ in range(rounds)]
    costs: list[Cost] = []
    for each in found:
        if isinstance(each, str):
            raise SystemExit(each)
        costs.append(Cost(*each))
    return Cost(*(min(each) for each in zip(*(astuple(cost) for cost in costs), strict=True)))


_RUNS = 5  # of an example in a process; the least counts
_EXAMPLES = (
    *("tcgen05_gemm", "tcgen05_2cta_gemm", "tcgen05_gemm_gelu", "grouped_gemm", "wgmma_gemm", "wgmma_ring_gemm"),
    *("wgmma_split_k_gemm", "split_k_gemm", "mma_m16n8k16_f16_gemm", "mma_m8n8k4_f16_gemm", "attention"),
    *("flash_attention", "tcgen05_attention", "softmax", "norms", "transpose"),
)


def _compare(other: Path, rounds: int, only: Sequence[str] | None) -> None:
    """Prints what examples cost with checks by another checkout and by this one."""
    import tirx

    launches = _launches()
    print("| example, with checks | before | now | ratio |\n|---|---:|---:|---:|")
    ratios: list[float] = []
    for file in _EXAMPLES:
        if only and file not in only:
            continue
        for name, kernel in tirx.build((ROOT / "examples" / f"{file}.mlir").read_text()).kernels.items():
            example = launches[name]
            x, y, z = (*example.some, 1)[:3]
            launch = replace(kernel.launch, grid=None).to_json()
            grid = [x * kernel.launch.cluster[0], y, z]
            made = example.make(np.random.default_rng(0), "normal").arguments
            arguments = pickle.dumps([_in_order(np.asarray(each)) for each in made])
            with tempfile.NamedTemporaryFile(suffix=".pickle") as task:
                pickle.dump((kernel.program.ptx, launch, grid, arguments), task)
                task.flush()
                pairs = [[_example_by(root, task.name) for root in (other, ROOT)] for _ in range(rounds)]
            label = file if name in file else f"{file}: {name}"
            errors = [each for pair in pairs for each in pair if isinstance(each, str)]
            if errors:
                print(f"| {label} | {errors[0].strip().splitlines()[-1]} | | |")
                continue
            if len({each[1] for pair in pairs for each in pair}) > 1:
                raise SystemExit(f"error: the two simulators differ in {label}")
            before, now = ([float(pair[index][0]) for pair in pairs] for index in (0, 1))
            ratio = median(new / old for old, new in zip(before, now, strict=True))
            ratios.append(ratio)
            print(f"| {label} | {min(before):.3f} s | {min(now):.3f} s | {ratio:.2f} |", flush=True)
    print(f"| mean, most | | | {fmean(ratios):.2f}, {max(ratios):.2f} |")


def _in_order(array: np.ndarray) -> tuple[np.ndarray, Sequence[int]]:
    """Returns an array with its dimensions in the order of memory, which pickling keeps, and the way back."""
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    return array.transpose(order).copy(), [order.index(d) for d in range(array.ndim)]


def _launches() -> dict[str, Any]:
    """Returns how the tests launch the kernels of the examples."""
    sys.path.insert(0, str(ROOT / "test"))
    from unit.sim.example_launches import LAUNCHES

    return LAUNCHES  # type: ignore[return-value]


def _example_by(root: Path, task: str) -> tuple[str, str] | str:
    """Returns the seconds and a digest of the results of an example by the simulator of a checkout, or its error."""
    path = os.pathsep.join((str(root), *sys.path[1:]))
    command = [sys.executable, __file__, "--measure-example", task]
    found = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    if found.returncode:
        return found.stderr
    cost, digest = found.stdout.split()
    return cost, digest


def _measure_example(path: str) -> None:
    """Runs an example of a file with the simulator that is imported; prints its least seconds, and a digest."""
    from tirx.runtime.launch import Launch
    from tirx.runtime.simulation import simulate

    ptx, data, grid, made = pickle.loads(Path(path).read_bytes())
    launch = Launch.from_json(data)
    costs, digest = list[float](), sha256()
    for _ in range(_RUNS):
        # Numbers are arrays without a dimension.
        arguments = [array.transpose(order) if array.ndim else array.item() for array, order in pickle.loads(made)]
        start = process_time()
        simulate(ptx, launch, arguments, grid=grid)
        costs.append(process_time() - start)
        for array in arguments:
            digest.update(np.asarray(array).tobytes())
    print(min(costs), digest.hexdigest())


def _files_of(commit: str, directory: str) -> Path:
    """Returns the folder of a checkout, or `directory` with the files of a commit."""
    if Path(commit).is_dir():
        return Path(commit).resolve()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
    return Path(directory)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024, help="a multiple of 128 (default: 1024)")
    parser.add_argument("--baseline", metavar="COMMIT", help="a commit to compare with, or a folder with its files")
    parser.add_argument(
        "--against", metavar="TREE", help="the examples by another checkout, or commit, and by this one"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each kernel (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="the most processes of the table of wall time")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this kernel")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--measure-example", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        _measure(flags.measure)
        return
    if flags.measure_example:
        _measure_example(flags.measure_example)
        return
    if flags.against:
        with tempfile.TemporaryDirectory() as directory:
            _compare(_files_of(flags.against, directory), flags.rounds, flags.only)
        return
    chosen = {name: each() for name, each in kernels(flags.size).items() if not flags.only or name in flags.only}
    with tempfile.TemporaryDirectory() as directory:
        baseline = _files_of(flags.baseline, directory) if flags.baseline else Path(directory)
        print(
            f"| {flags.size}^3, f16 | without checks | with checks | checks cost | memory |"
            + (" before | times as fast |" if flags.baseline else "")
        )
        print("|---|---:|---:|---:|---:|" + ("---:|---:|" if flags.baseline else ""))
        for name, kernel in chosen.items():
            new = _of_this_checkout(flags.size, kernel, flags.rounds)
            cells = [f"{new.without:.2f} s", f"{new.checked:.2f} s", f"{new.checked / new.without:.1f} x"]
            cells.append(f"{new.memory:.0f} MiB")
            if flags.baseline:
                old = _measured(baseline, flags.size, kernel, (False,))
                cells += (
                    ["refused", "-"] if isinstance(old, str) else [f"{old[0]:.2f} s", f"{old[0] / new.without:.1f}"]
                )
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\n| tcgen05, size | blocks | seconds | for each block and step of K |\n|---:|---:|---:|---:|")
    for size in (128, 256, 512):
        without = _of_this_checkout(size, kernels(size)["tcgen05"](), flags.rounds).without
        steps = (size // 128) ** 2 * (size // 64)
        print(f"| {size} | {(size // 128) ** 2} | {without:.3f} | {1e3 * without / steps:.2f} ms |", flush=True)
    if flags.jobs > 1:
        counts = [1 << each for each in range(flags.jobs.bit_length())]
        print(f"\n| {flags.size}^3, wall time with checks, by processes | {' | '.join(map(str, counts))} |")
        print("|---|" + "---:|" * len(counts))
        for name, kernel in chosen.items():
            found = [seconds(kernel, flags.size, True, perf_counter, jobs=jobs) for jobs in counts]
            print(f"| {name} | {' | '.join(f'{each:.2f} s' for each in found)} |", flush=True)


if __name__ == "__main__":
    main()
