"""
Command lines and files: `tirx-opt`, `tirx-sim`, `tirx-explain` and `tirx-viz` with flags, arrays, launch descriptors,
layouts and PTX that are mutated.

An input is JSON: `argv`, whose first word is the program, and `files` by name, as latin-1 texts. The program must end
with exit code 0 or 1 and without a traceback.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from fuzz.engine import ACCEPTED, REFUSED, ROOT, InputClass, Problem
from fuzz.layouts import random_text
from fuzz.mutate import mutated

import tirx
from tirx.passes import PASS_SUMMARIES
from tirx.tools import tirx_explain, tirx_opt, tirx_sim, tirx_viz

_TOOLS: dict[str, Callable[[Sequence[str]], int]] = {
    "tirx-opt": tirx_opt.main,
    "tirx-sim": tirx_sim.main,
    "tirx-explain": tirx_explain.main,
    "tirx-viz": tirx_viz.main,
}
_INSTRUCTIONS = "2000"
_COPY = """tirx.kernel @copy(%a: memref<32x4xf32>, %n: index) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<32x4xf32> -> !tirx.tile<32x4xf32, global>
  %t = tirx.alloc : !tirx.tile<32x4xf32, register>
  tirx.copy %g, %t : !tirx.tile<32x4xf32, global>, !tirx.tile<32x4xf32, register>
  tirx.copy %t, %g : !tirx.tile<32x4xf32, register>, !tirx.tile<32x4xf32, global>
  tirx.return
}
"""
_BOXES = """tirx.kernel @copy(%a: memref<?x32xf32>, %b: memref<8x32xf32>) target("sm_90a") grid(ceildiv(size(0, 0), 8))
    threads(32) {
  %g = tirx.view %a[0, 0] : memref<?x32xf32> -> !tirx.tile<8x32xf32, global>
  %s = tirx.alloc : !tirx.tile<8x32xf32, shared>
  tirx.copy %g, %s engine tma : !tirx.tile<8x32xf32, global>, !tirx.tile<8x32xf32, shared>
  %t = tirx.load %s : !tirx.tile<8x32xf32, shared> -> !tirx.tile<8x32xf32, register>
  tirx.store %t, %b[0, 0] : !tirx.tile<8x32xf32, register>, memref<8x32xf32>
}
"""
_STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1.5, "", "p", [], {}, ["size", 0, 0], ["size", 9, 0], ["stride", 0, 0],
    ["mul", 2**40, ["size", 0, 0]], ["ceildiv", 8, 0], ["ceildiv", 8, ["size", 1, 1]], ["half", 1, 2],
)  # fmt: skip
"""Values of JSON that launch descriptors do not have everywhere."""
_WORDS = ("smem", "wgmma", "idesc", "mask", "tensormap")
_FIELDS = (
    "start=1024", "lbo=16", "sbo=1024", "swizzle=128B", "swizzle=none", "a=f16", "b=e4m3", "d=f32", "m=128", "n=256",
    "kind=f16", "columns=0-3,12", "columns=5", "shift=1", "skip_span=3", "use_span=7", "dims=64,64", "box=64,8",
    "strides=128", "element=f16", "address=0x1000", "a_major=MN", "scale=ue8m0", "negate_a=yes", "sparse=true",
)  # fmt: skip
_EXPLAIN_FLAGS = (
    "--kind=f16", "--kind=mxf8f6f4", "--dtype=f16", "--dtype=e2m1", "--major=K", "--major=MN", "--shape=128x64",
    "--target=sm_100a", "--target=sm_90a", "--m=128", "--n=64", "--json", "--cta-group=2", "--ws", "--fields",
)  # fmt: skip
_VIZ_FLAGS = (
    "--shape=8,16", "--shape=16,8", "--shape=128", "--dtype=e2m1", "--dtype=f64", "--target=sm_90a", "--thread-value",
)  # fmt: skip
_NOTATIONS = (
    "((8,2),(4,4)):((4,32),(1,64))", "((4,8),(2,2)):((32,1),(16,8))", "T.TileLayout(T.S[(2, 4):(4 @ Axis.wgid, 1)])",
    "#ttg.linear<{register = [[0, 1]], lane = [[0, 2]], warp = [], block = []}>",
    "ArithTuple(_0,_0) o ((_4,_8),(_2,_2)):((_2@1,_1@0),(_1@1,_8@0))", "Swizzle<3,4,3> o (8,64):(64,1)",
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
)  # fmt: skip


@cache
def _copy(text: str) -> tuple[str, str]:
    """PTX and launch descriptors, as JSON, of a kernel."""
    from tirx.runtime.launch import write_launches

    program = tirx.build(text)
    return program.ptx, write_launches([program.kernels["copy"].launch])


def _with_strange_value(text: str, rng: random.Random) -> str:
    """Another value at one place of a text of JSON, or none."""
    data = json.loads(text)
    places: list[tuple[Any, Any]] = []

    def walk(value: dict[Any, Any] | list[Any]) -> None:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(each, dict | list):
                walk(cast("dict[Any, Any]", each))

    walk(data)
    parent, key = rng.choice(places)
    if rng.random() < 0.2:
        del parent[key]
    else:
        parent[key] = rng.choice(_STRANGE)
    return json.dumps(data)


def _npy(rng: random.Random) -> str:
    dtype = rng.choice(("f4", "f8", "u1", "i8", "u2", "c8", "?", "M8[s]", "S3", ">f4"))
    shape = rng.choice(((32, 4), (128,), (0,), (), (4, 32), (2, 2, 2)))
    file = io.BytesIO()
    np.save(file, np.zeros(shape, dtype))
    return file.getvalue().decode("latin-1")


def _mutated_bytes(text: str, rng: random.Random) -> str:
    changed = mutated(text, rng) if rng.random() < 0.7 else text[: rng.randrange(len(text) + 1)]
    return changed.encode("latin-1", "replace").decode("latin-1")


class Commands(InputClass):
    """Command lines and files."""

    name = "commands"
    suffix = ".json"

    def generate(self, rng: random.Random) -> str:
        make = rng.choice((self._opt, self._sim, self._sim, self._explain, self._explain, self._viz))
        argv, files = make(rng)
        if rng.random() < 0.5:
            at = rng.randrange(1, len(argv)) if len(argv) > 1 else 0
            argv[at:at] = [mutated(argv.pop(at), rng)] if at else []
        if files and rng.random() < 0.5:
            name = rng.choice(list(files))
            files[name] = _mutated_bytes(files[name], rng)
        return json.dumps({"argv": argv, "files": files})

    def _opt(self, rng: random.Random) -> tuple[list[str], dict[str, str]]:
        flags = [
            *(f"--{name}" for name in rng.sample(list(PASS_SUMMARIES), 2)),
            *(f'--{name}="{option}=3"' for name, option in (("tirx-pipeline-loops", "stages"), ("tirx-cse", "a"))),
            "--lower-to-ptx", "--lower-to-ptx=stages=2", "--lower-to-ptx=target=sm_90a pipeline=off", "-t ptx", "-t",
            "ptx", "--launch", "l.json", "-o", "o.ptx", "--split-input-file", "--verify-diagnostics", "--time-passes",
            "--time-passes-json", "--remarks", "-Wno-race", "-p", "canonicalize,cse", "canonicalize{a=1}", "--version",
            "--print-between-passes", "--print-op-generic", "--print-debuginfo", "--allow-unregistered-dialect", "-",
            "--explain-rule", "target", "--tirx-tile-linalg=tile=64,64,32 threads=128", "--", "--verify-each",
        ]  # fmt: skip
        return ["tirx-opt", "in.mlir", *rng.sample(flags, rng.randint(0, 4))], {"in.mlir": _COPY}

    def _sim(self, rng: random.Random) -> tuple[list[str], dict[str, str]]:
        has_boxes = rng.random() < 0.5
        ptx, launches = _copy(_BOXES if has_boxes else _COPY)
        if rng.random() < 0.4:
            launches = _with_strange_value(launches, rng)
        files = {"p.ptx": ptx, "l.json": launches, "a.npy": _npy(rng)}
        how = ["--launch", "l.json"] if rng.random() < 0.6 else ["--block", rng.choice(("32", "64,2", "1024"))]
        argument = rng.choice(("--arg", "--out"))
        new = "d.npy:f32:8x32" if has_boxes else "d.npy:f32:32x4"
        right = ["--out", "e.npy:f32:8x32", "--out", new] if has_boxes else ["--out", new, "--arg", "5"]
        values = [[argument, "a.npy"], [argument, new], ["--arg", "5"], ["--arg", "-1.5e3"], []]
        others = [
            ["--grid", "2"], ["--cluster", "2,1"], ["--entry", "copy"], ["--dynamic-shared", "4096"], ["--seed", "7"],
            ["--check", "strict"], ["--no-check"], ["--arithmetic", "exact"], ["--trace"], ["--trace-values"],
            ["--trace-threads", "0-3"], ["--trace-lines", "5-20"], ["--dump", "12:registers"], ["--profile"],
        ]  # fmt: skip
        given = [right] if rng.random() < 0.5 else [rng.choice(values), rng.choice(values)]
        chosen = [*given, *rng.sample(others, rng.randint(0, 3))]
        flags = [word for group in chosen for word in group]
        return ["tirx-sim", "p.ptx", *how, *flags, "--max-instructions", _INSTRUCTIONS], files

    def _explain(self, rng: random.Random) -> tuple[list[str], dict[str, str]]:
        flags = rng.sample(_EXPLAIN_FLAGS, rng.randint(0, 3))
        if rng.random() < 0.2:
            path = rng.choice(sorted(ROOT.glob("test/unit/sim/data/gemm*.ptx")))
            return ["tirx-explain", "p.ptx", *flags], {"p.ptx": path.read_text()}
        what = rng.choice(_WORDS)
        if rng.random() < 0.5:
            words = [hex(rng.getrandbits(rng.choice((16, 32, 64, 1024)))) for _ in range(rng.randint(1, 2))]
        else:
            words = rng.sample(_FIELDS, rng.randint(1, 5))
        return ["tirx-explain", what, *words, *flags], {}

    def _viz(self, rng: random.Random) -> tuple[list[str], dict[str, str]]:
        flags = rng.sample(_VIZ_FLAGS, rng.randint(0, 2))
        shows = rng.choice(("--list", "--list", "-o=v.svg", "-o=v.html", "--terminal"))
        if rng.random() < 0.3:
            return ["tirx-viz", "in.mlir", shows, *flags], {"in.mlir": _COPY}
        layouts = rng.sample(_NOTATIONS, rng.randint(0, 1)) + [random_text(rng) for _ in range(rng.randint(1, 2))]
        return ["tirx-viz", *layouts, shows, *flags], {}

    def check(self, text: str) -> str:
        try:
            data: Any = json.loads(text)
            argv, files = [str(word) for word in data["argv"]], dict(data["files"])
            tool = _TOOLS[argv[0]]
        except (ValueError, KeyError, TypeError, IndexError):  # what minimisation has cut
            return REFUSED
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with tempfile.TemporaryDirectory(prefix="tirx-fuzz-") as directory, contextlib.chdir(directory):
            for name, content in files.items():
                Path(os.path.basename(name) or "x").write_bytes(str(content).encode("latin-1", "replace"))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _no_input():
                try:
                    status = tool(argv[1:])
                except SystemExit as stop:
                    status = stop.code or 0
        assert isinstance(err.buffer, io.BytesIO)
        shown = err.buffer.getvalue().decode()
        if "Traceback (most recent call last)" in shown or "internal error" in shown:
            lines = [line.strip() for line in shown.splitlines() if line.strip()]
            places = [line for line in lines if line.startswith('File "') and "fuzz" not in line]
            place = places[-1].rpartition("/")[2] if places else ""
            raise Problem("internal error", lines[-1] if "bug" not in lines[-1] else lines[-2], place)
        if status not in (0, 1) and not (argv[0] == "tirx-explain" and status == 2):
            raise Problem("exit code", f"{status}: {shown[:200]}", str(status))
        if status and not shown and argv[0] != "tirx-explain":
            raise Problem("no message", f"exit code {status}")
        return ACCEPTED if status == 0 else REFUSED


@contextlib.contextmanager
def _no_input() -> Generator[None]:
    old, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        yield
    finally:
        sys.stdin = old
