"""
What ptxas makes of the main loops of the examples: `python benchmarks/main_loops.py [CASE ...] [--nvdisasm PATH]`.

The cases are those of `gpu.py`. A line counts the instructions of the loop with the most products that has no other
such loop inside: products, loads of fragments, moves between registers, waits and barriers, fences, and all others.
Padding without an effect, which ptxas puts between products of f64 and in front of cp.async, is left out.

Needs `nvdisasm`, from PATH or the package nvidia-cuda-nvdisasm.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_cases import CASES, Case, program_of

import tirx
from tirx.diagnostics import LocatedError
from tirx.ptx.ptxas import ASSEMBLED_AS, find_ptxas

SIZE = (1024, 1024, 1024)

GROUPS = {
    "products": re.compile(r"[HDIQ]MMA|[HIQ]GMMA|UTC\w*MMA"),
    "fragments": re.compile(r"LDSM|LDS"),
    "moves": re.compile(r"MOV\b|IMAD\.MOV|CS2R"),
    "waits": re.compile(r"BAR\b|SYNCS|DEPBAR|WARPGROUP\.DEPBAR"),
    "fences": re.compile(r"MEMBAR|FENCE|ERRBAR"),
}
"""Name of a column -> the instructions that it counts, by the start of their SASS."""

_PADDING = ("UIADD3 URZ, URZ, URZ, URZ", "LDS RZ, [RZ]", "NOP")


@dataclass(frozen=True)
class Loop:
    """The instructions from the target of a backward branch to the branch."""

    first: int
    last: int
    body: tuple[str, ...]

    def counts(self) -> Counter[str]:
        """Instructions by column, all of them as `instructions`."""
        found: Counter[str] = Counter()
        for text in self.body:
            if text.endswith(_PADDING):
                continue
            opcode = re.sub(r"^@!?U?P\w+ ", "", text)
            group = next((name for name, pattern in GROUPS.items() if pattern.match(opcode)), "others")
            found[group] += 1
            found["instructions"] += 1
        return found


def loops_of(sass: str) -> list[Loop]:
    """The loops of a listing of `nvdisasm -c`, in the order of their branches."""
    labels: dict[str, int] = {}
    texts: list[str] = []
    found: list[Loop] = []
    for line in sass.splitlines():
        if label := re.match(r"\s*(\.L_x?_?\w+):", line):
            labels[label[1]] = len(texts)
        if (instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", line)) is None:
            continue
        texts.append(instruction[1].strip())
        branch = re.search(r"BRA\S* .*`\((\.L\w+)\)", texts[-1])
        if branch is not None and (first := labels.get(branch[1])) is not None:
            found.append(Loop(first, len(texts) - 1, tuple(texts[first:])))
    return found


def main_loop(loops: Sequence[Loop]) -> Loop | None:
    """The loop with the most products, of those that have no loop with products inside; the longest of equal ones."""
    multiplying = [loop for loop in loops if loop.counts()["products"]]
    inner = [
        loop
        for loop in multiplying
        if not any(other is not loop and loop.first <= other.first and other.last <= loop.last for other in multiplying)
    ]
    return max(inner, key=lambda loop: (loop.counts()["products"], len(loop.body)), default=None)


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


def _line(case: Case, nvdisasm: str) -> str:
    try:
        ptx = tirx.compile(program_of(case, SIZE), case.target, case.options)
    except LocatedError as error:
        return f"{case.name:<28} {error}"
    sass, registers = disassembled(ptx, nvdisasm)
    loop = main_loop(loops_of(sass))
    if loop is None:
        return f"{case.name:<28} no loop with products"
    counts = loop.counts()
    columns = "".join(f"{counts[name]:>13}" for name in ("instructions", *GROUPS, "others"))
    return f"{case.name:<28}{columns}  {registers}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="parts of names of cases; all without any")
    parser.add_argument("--nvdisasm", default=find_nvdisasm())
    options = parser.parse_args()
    if options.nvdisasm is None:
        sys.exit("expected nvdisasm from the package nvidia-cuda-nvdisasm or on PATH, found neither")
    print(f"{'':<28}" + "".join(f"{name:>13}" for name in ("instructions", *GROUPS, "others")) + "  registers")
    for case in CASES:
        if not case.batched and (not options.cases or any(part in case.name for part in options.cases)):
            print(_line(case, options.nvdisasm), flush=True)


if __name__ == "__main__":
    main()
