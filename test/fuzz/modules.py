"""
Mutations of all MLIR files of tests and examples.

An input is a module whose first line says how `tirx-opt` is called: `// RUN: tirx-opt FLAGS`. It must be refused with
a located error or compiled; PTX must be assembled, and IR must be read again as it was printed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import random
import re
import shlex
import sys
from collections.abc import Generator
from functools import cache, lru_cache
from typing import ClassVar

from fuzz.engine import ACCEPTED, REFUSED, ROOT, InputClass, Problem, words_of
from fuzz.mutate import mutated

from tirx.passes import PASS_SUMMARIES
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.tools.flags import OptFlags, parse_flags
from tirx.tools.tirx_opt import TirxOpt

RUN = "// RUN: tirx-opt"
_LOCATED = re.compile(r"^<input>:\d+:\d+: error: |^error: |: error: ", re.MULTILINE)
_IGNORED_FLAGS = ("--split-input-file", "--verify-diagnostics")
_LOWERING = (
    "--lower-to-ptx", "--lower-to-ptx", "--lower-to-ptx", '--lower-to-ptx="pipeline=off"', '--lower-to-ptx="stages=2"',
    '--lower-to-ptx="stages=3 roles=load"', '--lower-to-ptx="target=sm_80"', '--lower-to-ptx="target=sm_90a"',
    '--lower-to-ptx="target=sm_100a"', '--lower-to-ptx="order=group"', '--lower-to-ptx="cluster=2"',
    "--lower-to-ptx --explain", "--lower-to-ptx --explain-json", "--lower-to-ptx --remarks",
)  # fmt: skip
_TILING = tuple(
    f'--tirx-tile-linalg="tile={tile} threads={threads} target={target}" --lower-to-ptx'
    for tile in ("32,32,16", "16,64,32", "64", "32,16")
    for threads, target in ((32, "sm_80"), (128, "sm_90a"), (128, "sm_100a"))
)
"""Flags for functions of linalg."""
_UNKNOWN_LAST = re.compile(r'^ *(?:%.* = )?"[^"]*"\(.*\n *}', re.MULTILINE)
_LARGEST = 7_000
"""Characters of a chunk that is mutated: larger ones take too long."""


@cache
def seeds() -> tuple[tuple[str, str], ...]:
    """The flags and the text of every module in the files of tests and examples; right ones several times."""
    found: list[tuple[str, str]] = []
    for path in sorted([*ROOT.glob("test/**/*.mlir"), *ROOT.glob("examples/**/*.mlir")]):
        if "fuzz" in path.parts or ".lit" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        run = re.search(r"RUN: (?:not )?tirx-opt(.*?)(?:\||2>|$)", text, re.MULTILINE)
        words = _words(run[1]) if run is not None and "%t" not in run[1] else []
        flags = shlex.join(word for word in words if word not in _IGNORED_FLAGS and word not in ("%s", "<"))
        weight = 1 if "invalid" in path.name else 6 if "examples" in path.parts else 3
        for chunk in re.split(r"^// -----$", text, flags=re.MULTILINE):
            code = "\n".join(line for line in chunk.splitlines() if not line.lstrip().startswith("//")).strip()
            if code and len(code) < _LARGEST:
                found += [(flags, code)] * weight
    return tuple(found)


@cache
def _texts() -> tuple[str, ...]:
    return tuple(text for _, text in seeds())


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


@lru_cache(maxsize=512)
def _flags(line: str) -> OptFlags:
    return parse_flags([*shlex.split(line), "-"])


def compiled(flags: OptFlags, text: str) -> str | None:
    """Returns the output of `tirx-opt`, None if it refuses the text with an error that says where."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    shown = io.StringIO()
    source = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")), "utf-8")
    with _input(source), contextlib.redirect_stdout(out), contextlib.redirect_stderr(shown):
        succeeded = TirxOpt(flags).run()
    if not succeeded:
        if "error: " not in shown.getvalue():
            raise Problem("no message", shown.getvalue())
        if re.search(r"^error: ", shown.getvalue(), re.MULTILINE):
            raise Problem("error without a place", shown.getvalue(), words_of(shown.getvalue()))
        return None
    assert isinstance(out.buffer, io.BytesIO)
    return out.buffer.getvalue().decode()


@contextlib.contextmanager
def _input(stream: io.TextIOWrapper) -> Generator[None]:
    old, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = old


def _misprinted(flags: OptFlags, output: str) -> bool:
    """
    Returns True for what xDSL does not read as it prints it: a region of scf.execute_region is without its scf.yield,
    the location of scf.while stands in front of its regions, and the terminator behind an unknown operation, which
    could be one itself, is left out.
    """
    if flags.allow_unregistered_dialect and _UNKNOWN_LAST.search(output):
        return True
    located = getattr(flags.target, "print_debuginfo", False)
    return "scf.execute_region" in output or (located and "scf.while" in output)


class Assembler:
    """Assembles PTX, each text once."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def check(self, ptx: str) -> None:
        """Raises Problem for PTX that `ptxas` rejects."""
        key = hashlib.sha256(ptx.encode()).digest()
        if key in self._known or find_ptxas() is None:
            return
        target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
        if target is not None and ".entry" in ptx:
            result = assemble(ptx, target[1], warnings_as_errors=False)
            if not result.ok:
                line = next((line for line in result.stderr.splitlines() if "error" in line or "fatal" in line), "")
                message = line.partition(":")[2] or result.stderr[:200]
                raise Problem("rejected by ptxas", result.stderr[:400], re.sub(r"'[^']*'|%?\w*\d+", "", message)[:80])
        self._known.add(key)


class Modules(InputClass):
    """Mutated modules of tests and examples."""

    name = "modules"
    suffix = ".mlir"
    environment: ClassVar = {"TIRX_VERIFY_EACH": "1"}

    def __init__(self) -> None:
        self._assembler = Assembler()

    def generate(self, rng: random.Random) -> str:
        flags, text = rng.choice(seeds())
        kind = rng.random()
        if kind < 0.8 and "linalg." in text:
            flags = rng.choice(_TILING)
        elif kind < 0.5:
            flags = rng.choice(_LOWERING)
        elif kind < 0.55:
            flags = " ".join(f"--{name}" for name in rng.sample(list(PASS_SUMMARIES), rng.randint(1, 4)))
        elif kind < 0.65:
            flags = rng.choice(("", "--print-op-generic", "--canonicalize", "--print-debuginfo"))
        return f"{RUN} {flags}\n{mutated(text, rng, _texts())}\n"

    def check(self, text: str) -> str:
        first, _, rest = text.partition("\n")
        if not first.startswith(RUN):
            return REFUSED
        try:
            flags = _flags(first.removeprefix(RUN))
        except Exception:  # a line that minimisation has cut
            return REFUSED
        if flags.output_path != "-":  # of a mutated line
            return REFUSED
        output = compiled(flags, rest)
        if output is None:
            return REFUSED
        if flags.target.name == "ptx":
            if "ptx.inline" not in rest:  # whose text, mutated here, only ptxas reads
                self._assembler.check(output)
        elif not flags.print_between_passes and not flags.explain and not _misprinted(flags, output):
            self._round_trip(flags, output)
        return ACCEPTED

    def _round_trip(self, flags: OptFlags, output: str) -> None:
        line = " ".join(
            name
            for name, is_set in (
                ("--print-op-generic", getattr(flags.target, "print_generic_format", False)),
                ("--print-debuginfo", getattr(flags.target, "print_debuginfo", False)),
                ("--allow-unregistered-dialect", flags.allow_unregistered_dialect),
            )
            if is_set
        )
        again = compiled(_flags(line), output)
        if again is None:
            raise Problem("printed text is refused", output[:400])
        if again != output:
            different = next(
                (pair for pair in zip(output.splitlines(), again.splitlines(), strict=False) if pair[0] != pair[1]),
                ("", ""),
            )
            raise Problem("printed text is read as another", f"{different[0]!r} -> {different[1]!r}")
