"""
Random programs on tiles against numpy: products, arithmetic and copies, over shapes, layouts, edges and targets.

    python test/sweeps/programs.py [--jobs N] [--seconds S] [--gpu] [--options WORDS] [COUNT [FIRST]]

compiles and simulates COUNT programs (100), with all checks of synchronisation, assembles them 25 at a time, and prints
how many were right. Every program is a function of its seed; FIRST (0) is the first one.
Every third one is one of `random_arithmetic`; every twelfth one rounds to 4, 6 or 8 bits and back, every twelfth one
adds products to sums in f16 for results in f32 (`narrow_programs`). The others multiply two matrices of which the tiles
may reach beyond the edges, staged in shared memory or held in registers, do arithmetic on the sums and store what comes
of it. Values are small integers, or halves and quarters of them: all sums are exact.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sweeps.narrow_programs import Case, quantised, widened
from sweeps.random_arithmetic import DTYPES, Program, random_program

import tirx
from tirx.diagnostics import LocatedError
from tirx.ptx.ptxas import assemble, find_ptxas

Array = NDArray[Any]

BATCH = 25
"""Programs that are assembled together."""

TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
OPERANDS: dict[str, tuple[Any, str, int]] = {
    "f16": (np.float16, "f32", 16),
    "bf16": (ml_dtypes.bfloat16, "f32", 16),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, "f32", 32),
    "si8": (np.int8, "i32", 32),
    "f64": (np.float64, "f64", 8),
}
"""Element type of A and B -> that of numpy, that of the sums, and what K is a multiple of."""

SINCE = {"bf16": 80, "f8E4M3FN": 89, "f64": 80, "si8": 80}
"""The first target with products of a type, where not all have them."""


def _arithmetic(seed: int) -> Case:
    program = random_program(seed)
    results = [value for _, _, value in program.values[-2:]]
    arguments = [*(value.copy() for _, value in program.inputs), *(np.zeros_like(value) for value in results)]
    text = program.text().replace(" threads(", " grid(1) threads(", 1)
    return Case(text, program.target, program.threads, arguments, results)


@dataclass
class _Matrix:
    """An argument: a matrix whose rows or columns lie together in memory."""

    name: str
    value: Array
    dtype: str
    columns: bool
    dynamic: bool
    any_strides: bool
    """Strides need not be multiples of 16 bytes: no engine asks for these."""

    @property
    def type(self) -> str:
        rows, columns = self.value.shape
        run_time = self.dynamic and (self.any_strides or self.array.strides[self.columns] % 16 == 0)
        if self.columns:
            return f"memref<{rows}x{columns}x{self.dtype}, strided<[1, {'?' if run_time else rows}]>>"
        return f"memref<{'?' if self.dynamic else rows}x{'?' if run_time else columns}x{self.dtype}>"

    @property
    def array(self) -> Array:
        return np.asfortranarray(self.value) if self.columns else np.ascontiguousarray(self.value)


def _tile(shape: tuple[int, ...], dtype: str, memory: str) -> str:
    return f"!tirx.tile<{'x'.join(map(str, shape))}x{dtype}, {memory}>"


def _product(seed: int) -> Case:
    rng = random.Random(seed)
    target = rng.choice(TARGETS)
    cc = int(re.sub(r"\D", "", target))
    dtype = rng.choice([name for name in OPERANDS if cc >= SINCE.get(name, 0)])
    number, sums, unit = OPERANDS[dtype]
    threads = rng.choice((32, 64, 128, 128, 128, 256))
    of_warpgroups = cc in (90, 100) and threads % 128 == 0
    rows_of_tiles = (64, 128, 256) if cc == 100 else (64, 128)
    m, n = rng.choice(rows_of_tiles if of_warpgroups else (16, 16, 32)), rng.choice((8, 16, 16, 32))
    k = unit * rng.choice((1, 1, 2, 3))
    steps = rng.choice((1, 2, 2, 3))
    edges = rng.random() < 0.5

    def size(tiles: int, tile: int) -> int:
        return max(1, tiles * tile - (rng.randrange(tile) if edges else 0))

    tiles = (rng.randint(1, 2), m), (rng.randint(1, 2), n), (steps, k)
    rows, columns, depth = (size(count, tile) for count, tile in tiles)
    numbers = np.random.default_rng(seed)

    def matrix(name: str, shape: tuple[int, int], dtype: str, kind: Any, high: int) -> _Matrix:
        value = numbers.integers(-high, high + 1, shape).astype(kind)
        return _Matrix(name, value, dtype, rng.random() < 0.25, rng.random() < 0.3, cc < 80)

    a, b = matrix("a", (rows, depth), dtype, number, 1), matrix("b", (columns, depth), dtype, number, 1)
    staged = rng.random() < 0.8
    memory = "shared" if staged else "register"
    accumulator = rng.choice(("accumulator", "accumulator", "register"))
    clipped = " clipped" if edges else ""

    # Arithmetic on the sums of the first tile, with a matrix as it is in memory.
    program = Program(rng, threads, target, (m, n))
    total = a.value.astype(np.float64) @ b.value.astype(np.float64).T
    padded = np.zeros((-(-rows // m) * m, -(-columns // n) * n))
    padded[:rows, :columns] = total
    i, j = rng.randrange(padded.shape[0] // m), rng.randrange(padded.shape[1] // n)
    tile = padded[i * m : (i + 1) * m, j * n : (j + 1) * n].astype(DTYPES[sums])
    program.values.append(("%sums", sums, tile))
    if rng.random() < 0.8:
        program.clamp()
        actions = [Program.reduce, Program.cast, Program.combine, Program.combine, Program.broadcast, Program.convert]
        for _ in range(rng.randint(0, 4)):
            rng.choice(actions)(program)
    name, result_type, value = program.values[-1]
    # Where the rows or columns of the result are reduced to one, the matrix has one.
    reduced = value.shape[0] != m, value.shape[1] != n
    stored = np.full((1 if reduced[0] else rows, 1 if reduced[1] else columns), 7).astype(DTYPES[result_type])
    starts = (0 if reduced[0] else i * m), (0 if reduced[1] else j * n)
    expected = stored.copy()
    part = expected[starts[0] : starts[0] + value.shape[0], starts[1] : starts[1] + value.shape[1]]
    part[...] = value[: part.shape[0], : part.shape[1]]
    d = _Matrix("d", stored, result_type, rng.random() < 0.25, rng.random() < 0.3, cc < 80)

    (ga, sa), (gb, sb) = ([_tile((extent, k), dtype, place) for place in ("global", memory)] for extent in (m, n))
    zero = "0" if sums == "i32" else "0.0"
    acc = _tile((m, n), sums, accumulator)
    out = _tile(value.shape, result_type, "global")
    register = _tile((m, n), sums, "register")
    load = f"%sums = tirx.{'load' if accumulator == 'accumulator' else 'convert'} %total : {acc} -> {register}"
    text = f"""tirx.kernel @k(%ma: {a.type}, %mb: {b.type}, %md: {d.type})
      target("{target}") grid(1) threads({threads}) {{
  %c0 = arith.constant 0 : index
  %ck = arith.constant {k} : index
  %depth = arith.constant {depth} : index
  %row = arith.constant {i * m} : index
  %column = arith.constant {j * n} : index
  %oi = arith.constant {starts[0]} : index
  %oj = arith.constant {starts[1]} : index
  %nothing = arith.constant {zero} : {sums}
  %sa = tirx.alloc : {sa}
  %sb = tirx.alloc : {sb}
  %total = tirx.alloc : {acc}
  tirx.fill %total, %nothing : {sums}, {acc}
  scf.for %step = %c0 to %depth step %ck {{
    %ga = tirx.view %ma[%row, %step]{clipped} : {a.type} -> {ga}
    %gb = tirx.view %mb[%column, %step]{clipped} : {b.type} -> {gb}
    tirx.copy %ga, %sa : {ga}, {sa}
    tirx.copy %gb, %sb : {gb}, {sb}
    tirx.mma %sa, %sb, %total : {sa}, {sb}, {acc}
  }}
  {load}
  {chr(10).join(program.lines)}
  %gd = tirx.view %md[%oi, %oj]{clipped} : {d.type} -> {out}
  tirx.copy {name}, %gd : {_tile(value.shape, result_type, "register")}, {out}
  tirx.return
}}
"""
    return Case(text, target, threads, [a.array, b.array, d.array], [expected])


def random_case(seed: int) -> Case:
    """The program of a seed."""
    if seed % 12 == 2:
        return quantised(seed)
    if seed % 12 == 5:
        return widened(seed)
    return _arithmetic(seed) if seed % 3 == 0 else _product(seed)


def check(seed: int, options: str = "") -> tuple[str | None, str]:
    """Why the program of a seed is wrong, None if it is right, and its PTX. A refusal is reported as one."""
    case = random_case(seed)
    try:
        program = tirx.build(case.text, options=options)
    except LocatedError as e:
        return f"refused ({case.target}, {case.threads}): {e}", ""
    program.kernels["k"].simulate(*case.arguments, check="strict")
    return _difference(case), program.ptx


def _difference(case: Case) -> str | None:
    for expected, found in zip(reversed(case.expected), reversed(case.arguments), strict=False):
        if not (np.asarray(found) == expected).all():
            return f"{int((np.asarray(found) != expected).sum())} of {expected.size} elements differ"
    return None


def joined(ptxs: list[str]) -> str:
    """One PTX module of several for one target: entries get numbers, headers are written once."""
    versions = re.findall(r"^\.version (\d+)\.(\d+)$", "\n".join(ptxs), re.MULTILINE)
    version = ".".join(map(str, max((int(major), int(minor)) for major, minor in versions)))
    bodies: list[str] = []
    heads: dict[str, None] = {}
    for number, ptx in enumerate(ptxs):
        head, entry = ptx.split(".visible .entry k(", 1)
        lines = (line for line in head.splitlines() if line.startswith((".extern", ".target", ".address")))
        heads.update(dict.fromkeys(lines))
        bodies.append(f".visible .entry k{number}({entry}")
    return "\n".join([f".version {version}", *sorted(heads, key=lambda line: line.startswith(".extern")), *bodies])


def _on_gpu(seed: int, options: str) -> str | None:
    case = random_case(seed)
    try:
        kernel = tirx.build(case.text, options=options).kernels["k"]
    except LocatedError as e:
        return f"refused ({case.target}, {case.threads}): {e}"
    kernel(*case.arguments)
    return _difference(case)


@dataclass(frozen=True)
class _Share:
    """The programs of one process: their seeds, where they run, and the `time.time()` after which none begins."""

    seeds: Iterable[int]
    on_gpu: bool
    options: str
    end: float


def _check_share(share: _Share) -> tuple[Counter[str], float]:
    """Checks the programs of a share, prints what is wrong, and returns the outcomes and the seconds of CPU time."""
    outcomes: Counter[str] = Counter()
    waiting: dict[str, list[tuple[int, str]]] = {}
    start = time.process_time()

    def assemble_all(target: str) -> None:
        batch = waiting.pop(target, [])
        if not batch or find_ptxas() is None:
            return
        if not assemble(joined([ptx for _, ptx in batch]), target, warnings_as_errors=False).ok:
            for seed, ptx in batch:
                if not (result := assemble(ptx, target, warnings_as_errors=False)).ok:
                    outcomes["not assembled"] += 1
                    print(seed, "PTXAS", result.stderr, flush=True)

    for seed in share.seeds:
        if time.time() > share.end:
            break
        target = random_case(seed).target
        if share.on_gpu and target.startswith("sm_1"):
            continue
        try:
            problem, ptx = (_on_gpu(seed, share.options), "") if share.on_gpu else check(seed, share.options)
        except Exception as e:  # any other exception is a bug: the sweep counts it and goes on
            problem, ptx = f"{type(e).__name__}: {e}", ""
        kind = "right" if problem is None else "refused" if problem.startswith("refused") else "WRONG"
        outcomes[kind] += 1
        if problem is not None:
            print(seed, kind, problem.splitlines()[0], flush=True)
        if ptx:
            waiting.setdefault(target, []).append((seed, ptx))
            if len(waiting[target]) == BATCH:
                assemble_all(target)
        if (done := outcomes["right"] + outcomes["refused"] + outcomes["WRONG"]) % 50 == 0:
            print(f"{done} programs up to seed {seed}: {dict(outcomes)}", flush=True)
    for target in list(waiting):
        assemble_all(target)
    return outcomes, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no program begins")
    parser.add_argument("--gpu", action="store_true", help="run on the GPU what it can run, instead of simulating")
    parser.add_argument("--options", default="", help="of the pipeline, for all programs")
    parser.add_argument("count", nargs="?", type=int, default=100, metavar="COUNT", help="how many programs")
    parser.add_argument("first", nargs="?", type=int, default=0, metavar="FIRST", help="the first seed")
    flags = parser.parse_args()
    end, last = time.time() + flags.seconds, flags.first + flags.count
    shares = [
        _Share(range(flags.first + k, last, flags.jobs), flags.gpu, flags.options, end) for k in range(flags.jobs)
    ]
    if flags.jobs == 1:
        done = [_check_share(shares[0])]
    else:
        with multiprocessing.get_context("spawn").Pool(flags.jobs) as pool:
            done = pool.map(_check_share, shares, chunksize=1)
    outcomes = sum((found for found, _ in done), Counter[str]())
    programs = sum(outcomes[kind] for kind in ("right", "refused", "WRONG"))
    seconds = sum(used for _, used in done)
    print(f"{programs} programs of {flags.count}: {dict(outcomes)}, {seconds:.0f} s of CPU")
    sys.exit(any(outcomes[kind] for kind in ("WRONG", "not assembled")))


if __name__ == "__main__":
    main()
