"""
Instructions that ptxas makes of the main loops of the examples, beside Triton's kernels of the same tile.

    python benchmarks/main_loops.py [--triton PYTHON] [--conflicts] [--nvdisasm PATH] [CASE ...]

The cases are those of `gpu.py`, and one of tcgen05. A line counts the instructions of the loop with the most products
that has no other such loop inside: products, loads of fragments, moves between registers, waits, arrivals, barriers,
fences, and all others. Padding without an effect, which ptxas puts between products of f64 and in front of cp.async, is
left out. `ahead` are the bytes that copies run ahead of the products. `conflicts` are the wavefronts that conflicts of
banks cost in a stage, as `tirx.sim` counts them, which takes half a minute for a kernel.

Needs `nvdisasm`, from PATH or the package nvidia-cuda-nvdisasm, and for Triton's kernels an interpreter that has the
package triton, which may be another one. The same ptxas assembles all.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gpu_cases import CASES, Case, program_of

import tirx
from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler
from tirx.ptx.ptxas import ASSEMBLED_AS, find_ptxas
from tirx.sim import Profile
from tirx.sim import run as simulate

SIZE = (1024, 1024, 1024)

GROUPS = {
    "products": re.compile(r"[HDIQ]MMA|[HIQ]GMMA|UTC\w*MMA"),
    "fragments": re.compile(r"LDSM|LDS"),
    "moves": re.compile(r"MOV\b|IMAD\.MOV|CS2R"),
    "waits": re.compile(r"SYNCS\S*PHASECHK|\w*\.?DEPBAR|WARPGROUP\.DEPBAR"),
    "arrivals": re.compile(r"SYNCS|UTCBAR|ARRIVES"),
    "barriers": re.compile(r"BAR\b|WARPSYNC|WARPGROUP\.ARRIVE"),
    "fences": re.compile(r"MEMBAR|FENCE|ERRBAR"),
}
"""Name of a column -> the instructions that it counts, by the start of their SASS."""

_PADDING = ("UIADD3 URZ, URZ, URZ, URZ", "LDS RZ, [RZ]", "NOP")


@dataclass(frozen=True)
class Loop:
    """The instructions on all ways from a label to a branch back to it, by their numbers in the listing."""

    body: Mapping[int, str]

    def counts(self) -> Counter[str]:
        """Instructions by column, all of them as `instructions`."""
        found: Counter[str] = Counter()
        for text in self.body.values():
            if text.endswith(_PADDING):
                continue
            opcode = re.sub(r"^@!?U?P\w+ ", "", text)
            group = next((name for name, pattern in GROUPS.items() if pattern.match(opcode)), "others")
            found[group] += 1
            found["instructions"] += 1
        return found


_JUMP = re.compile(r"(@!?U?P\w+ )?(?:BRA|CALL\.REL\.NOINC)\S* .*`\((\.L\w+)\)")
"""A jump, whether it has a condition, and its target; ptxas also uses a call that does not return."""


def loops_of(sass: str) -> list[Loop]:
    """The loops of a listing of `nvdisasm -c`. ptxas may put parts of a loop behind its last branch."""
    labels: dict[str, int] = {}
    texts: list[str] = []
    for line in sass.splitlines():
        if label := re.match(r"\s*(\.L_x?_?\w+):", line):
            labels[label[1]] = len(texts)
        if (instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", line)) is not None:
            texts.append(instruction[1].strip())
    before: dict[int, list[int]] = {}
    back: dict[int, list[int]] = {}
    for at, text in enumerate(texts):
        jump = _JUMP.match(text)
        if jump is not None and (target := labels.get(jump[2])) is not None:
            before.setdefault(target, []).append(at)
            if target <= at:
                back.setdefault(target, []).append(at)
        if not (text.startswith("EXIT") or (jump is not None and jump[1] is None)):
            before.setdefault(at + 1, []).append(at)
    found: list[Loop] = []
    for first, latches in back.items():
        inside = {first}
        work = list(latches)
        while work:
            if (at := work.pop()) not in inside:
                inside.add(at)
                work += before.get(at, ())
        found.append(Loop({at: texts[at] for at in sorted(inside)}))
    return found


def main_loop(loops: Sequence[Loop]) -> Loop | None:
    """
    The loop with the most products, of those that have no loop with products inside.

    Of equal ones it is the first: behind the rounds in which all parts run stand those of the end.
    """
    multiplying = [loop for loop in loops if loop.counts()["products"]]
    inner = [loop for loop in multiplying if not any(other.body.keys() < loop.body.keys() for other in multiplying)]
    return max(inner, key=lambda loop: (loop.counts()["products"], -min(loop.body)), default=None)


def disassembled(ptx: str, nvdisasm: str) -> tuple[str, str]:
    """SASS of a module, and what ptxas says of its registers."""
    target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    if target is None or (ptxas := find_ptxas()) is None:
        raise SystemExit("expected a PTX module, and ptxas from the package nvidia-cuda-nvcc or on PATH")
    with tempfile.TemporaryDirectory(prefix="tirx-loops-") as directory:
        source, cubin = Path(directory, "m.ptx"), Path(directory, "m.cubin")
        source.write_text(ptx)
        arch = f"-arch={ASSEMBLED_AS.get(target[1], target[1])}"
        command = [str(ptxas), "-v", arch, str(source), "-o", str(cubin)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        listing = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True, check=True)
    words = re.findall(r"Used (\d+) registers|(\d+) bytes spill stores", said.stdout + said.stderr)
    registers = max((int(used) for used, _ in words if used), default=0)
    spilled = sum(int(spill) for _, spill in words if spill)
    return listing.stdout, f"{registers}{f' ({spilled} bytes spilled)' if spilled else ''}"


def find_nvdisasm() -> str | None:
    """`nvdisasm` of an installed package, else the one on PATH."""
    spec = importlib.util.find_spec("nvidia")
    roots = () if spec is None else spec.submodule_search_locations or ()
    candidates = (Path(root, "cu13/bin/nvdisasm") for root in roots)
    return next((str(path) for path in candidates if path.is_file()), None) or shutil.which("nvdisasm")


@dataclass(frozen=True)
class Row:
    """A kernel of the table. `ahead`: bytes in flight; `run` simulates `steps` stages of it, if it can be."""

    name: str
    ptx: str
    ahead: int
    run: Callable[[int, Profile], None] | None = None

    def line(self, nvdisasm: str, conflicts: bool) -> str:
        """The counts of the main loop, in columns."""
        sass, registers = disassembled(self.ptx, nvdisasm)
        loop = main_loop(loops_of(sass))
        if loop is None:
            return f"{self.name:<32} no loop with products"
        counts = loop.counts()
        columns = "".join(f"{counts[name]:>13}" for name in COLUMNS)
        found = ""
        if conflicts and not counts["fragments"]:
            found = "0"
        elif conflicts and self.run is not None:
            found = str(_conflicts_of_a_stage(self.run))
        return f"{self.name:<32}{columns}{self.ahead:>10}{found:>10}  {registers}"


COLUMNS = ("instructions", *GROUPS, "others")

TCGEN05 = Case("f16 tcgen05", "tcgen05_gemm.mlir", "float16", "float32", 2e-3, "", "sm_100a")


def _conflicts_of_a_stage(run: Callable[[int, Profile], None]) -> int:
    """Wavefronts that bank conflicts cost in one stage: those of two more stages, halved."""
    found: list[int] = []
    for steps in (4, 6):
        profile = Profile()
        run(steps, profile)
        found.append(profile.conflicts)
    return (found[1] - found[0]) // 2


def _row(case: Case) -> Row | str:
    """The kernel of a case, or why there is none."""
    said: list[Diagnostic] = []
    try:
        with diagnostic_handler(said.append):
            ptx = tirx.compile(program_of(case, SIZE), case.target, case.options)
    except LocatedError as error:
        return f"{case.name:<32} {error}"
    rings = [re.search(r"slots? of (\d+) bytes for .* filled (\d+) iteration", each.message) for each in said]
    ahead = sum(int(ring[1]) * int(ring[2]) for ring in rings if ring is not None)
    depth = 128 // np.dtype(case.a if case.a in ("float16", "float64") else "float16").itemsize

    def run(steps: int, profile: Profile) -> None:
        shape = 128, 256 if case.a == "float16" else 128, depth * steps
        kernel = next(iter(tirx.build(program_of(case, shape), case.target, case.options).kernels.values()))
        a, b = (np.zeros((rows, shape[2]), case.a) for rows in shape[:2])
        kernel.simulate(a, b, np.zeros(shape[:2], case.d), observer=profile)

    return Row(case.name, ptx, ahead, run)


def _triton_rows(python: str) -> Iterator[Row]:
    """Triton's kernels, which another interpreter may compile."""
    script = Path(__file__).with_name("main_loops_triton.py")
    done = subprocess.run([python, str(script)], capture_output=True, text=True, check=True)
    for found in json.loads(done.stdout):

        def run(steps: int, profile: Profile, found: Mapping[str, Any] = found) -> None:
            a, b = (np.zeros((rows, 64 * steps), np.float16) for rows in (128, 256))
            arguments = [a, b, np.zeros((128, 256), np.float32), 256, 64 * steps, 0, 0]
            ptx, entry, threads = found["ptx"], found["entry"], found["threads"]
            simulate(ptx, entry, (1, 1), threads, arguments, dynamic_shared=found["shared"], observer=profile)

        by_pointers = "bulk.tensor" not in found["ptx"]
        yield Row(f"Triton: {found['name']}", found["ptx"], found["in_flight"], run if by_pointers else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="parts of names of cases; all without any")
    parser.add_argument("--triton", metavar="PYTHON", help="an interpreter that has the package triton")
    parser.add_argument("--conflicts", action="store_true", help="simulate kernels that load fragments")
    parser.add_argument("--nvdisasm", default=find_nvdisasm())
    options = parser.parse_args()
    if options.nvdisasm is None:
        sys.exit("expected nvdisasm from the package nvidia-cuda-nvdisasm or on PATH, found neither")
    print(f"{'':<32}" + "".join(f"{name:>13}" for name in COLUMNS) + f"{'ahead':>10}{'conflicts':>10}  registers")
    for case in (*CASES, TCGEN05):
        if not case.only and (not options.cases or any(part in case.name for part in options.cases)):
            row = _row(case)
            print(row if isinstance(row, str) else row.line(options.nvdisasm, options.conflicts), flush=True)
    for row in () if options.triton is None else _triton_rows(options.triton):
        print(row.line(options.nvdisasm, options.conflicts), flush=True)


if __name__ == "__main__":
    main()
