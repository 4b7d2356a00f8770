"""
Mutated PTX for `tirx.sim` and `tirx-explain`.

An input is PTX whose first line says how it is launched: `// sim: ENTRY GRID BLOCK SHARED ARGUMENT...`, where an
argument is a number of bytes as `p256`, or a number. It must be refused with a SimError, or run within its limit of
instructions; `explain_ptx` must read or refuse it.
"""

from __future__ import annotations

import contextlib
import random
import re
from functools import cache
from typing import Any

import numpy as np
from fuzz.engine import ACCEPTED, REFUSED, ROOT, InputClass
from fuzz.mutate import mutated

import tirx
from tirx.diagnostics import diagnostic_handler
from tirx.explain import explain_ptx
from tirx.sim import SimError, SimWarning, run

_INSTRUCTIONS = 3000
_LARGEST = 9_000
_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+\w+(?:\[(\d+)\])?")
_EXAMPLES = ("mma_m8n8k4_f16_gemm", "tcgen05_gemm")
_ENDLESS = "{ .reg .u32 %turns; $again: add.u32 %turns, %turns, 1; bra $again; }"
_SNIPPETS = (
    "mov.u32 %r1, %tid.x;", "bar.sync 0;", "@%p1 bra $L1;", "ld.global.u32 %r1, [%rd1+4];", "st.shared.u32 [0], %r1;",
    "mbarrier.init.shared::cta.b64 [16], 1;", "bfi.b32 %r1, %r2, %r3, 32, 8;", "shl.b32 %r1, %r2, 40;",
    "div.s32 %r1, %r2, 0;", "cvt.rni.s32.f32 %r1, 0f7FC00000;", "shfl.sync.idx.b32 %r1, %r2, 33, 31, -1;",
    "redux.sync.add.s32 %r1, %r2, 0xffffffff;", "vote.sync.ballot.b32 %r1, %p1, 0xffffffff;", "exit;", "ret;", "trap;",
    "atom.global.add.u32 %r1, [%rd1], 1;", "rem.u32 %r1, %r2, 0;", "cp.async.wait_all;", ".reg .b32 %r<9>;",
    ".local .align 4 .b8 buf[64];", "setmaxnreg.inc.sync.aligned.u32 240;", "prmt.b32 %r1, %r2, %r3, 0x7654;",
)  # fmt: skip


def _launch(ptx: str) -> str | None:
    """The first line of an input: how to launch the first entry."""
    entry = _ENTRY.search(ptx)
    if entry is None:
        return None
    arguments = [
        f"b{count}" if count else "p4096" if kind in ("u64", "b64", "s64") else "16"
        for kind, count in _PARAMETER.findall(entry[2])
    ]
    required = re.search(r"\.reqntid\s+(\d+)", ptx)
    block = required[1] if required else "32"
    return f"// sim: {entry[1]} 1 {block} 32768 {' '.join(arguments)}"


@cache
def seeds() -> tuple[str, ...]:
    """PTX files of the tests, and PTX of some examples and tests, each behind its first line."""
    with diagnostic_handler(lambda _: None):
        found = ((_launch(text), text) for text in _texts())
        return tuple(f"{line}\n{text}" for line, text in found if line is not None and len(text) < _LARGEST)


def _texts() -> list[str]:
    texts = [path.read_text() for path in sorted(ROOT.glob("test/**/*.ptx")) if "fuzz" not in path.parts]
    for name in _EXAMPLES:
        texts.append(tirx.compile((ROOT / "examples" / f"{name}.mlir").read_text(), options="pipeline=off"))
    return texts


def _arguments(words: list[str]) -> list[Any]:
    numbers = np.random.default_rng(0)
    values: list[Any] = []
    for word in words:
        if word.startswith("p"):
            values.append(numbers.integers(0, 4, min(int(word[1:]), 1 << 16)).astype(np.uint8))
        elif word.startswith("b"):
            values.append(bytes(min(int(word[1:]), 1 << 16)))
        else:
            values.append(int(word))
    return values


class Kernels(InputClass):
    """Mutated PTX in the simulator."""

    name = "kernels"
    suffix = ".ptx"

    def generate(self, rng: random.Random) -> str:
        line, _, ptx = rng.choice(seeds()).partition("\n")
        if rng.random() < 0.2:
            line = mutated(line, rng)
        if inserted := rng.random() < 0.4:
            lines = ptx.split("\n")
            labels = [match[1] for line in lines if (match := re.match(r"\s*(\$?[\w$]+):", line))]
            jumps = [f"bra {rng.choice(labels)};"] * 6 if labels else []
            lines.insert(rng.randint(0, len(lines)), rng.choice([*_SNIPPETS, *jumps, *[_ENDLESS] * 6]))
            ptx = "\n".join(lines)
        if not inserted or rng.random() < 0.5:
            ptx = mutated(ptx, rng, ["\n".join(_SNIPPETS)])
        return f"{line}\n{ptx}"

    def check(self, text: str) -> str:
        first, _, ptx = text.partition("\n")
        words = first.removeprefix("// sim:").split()
        try:
            entry, grid, block, shared, *rest = words
            launch = entry, int(grid), int(block), _arguments(rest), int(shared)
        except ValueError:  # a line that is no launch
            return REFUSED
        if len(ptx) % 4 == 0:
            with contextlib.suppress(SimError):
                explain_ptx(ptx)
        level = ("hardware", "strict", False)[len(ptx) % 3]
        warnings: list[SimWarning] = []
        try:
            run(ptx, *launch, check=level, max_instructions=_INSTRUCTIONS, report=warnings.append)
        except SimError:
            return REFUSED
        return ACCEPTED
