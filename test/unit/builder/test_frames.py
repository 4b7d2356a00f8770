"""Tracebacks that Python prints: lines of the user's files, the innermost of which is at fault, and none of tirx."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pytest

from tirx.builder import kernels

_KERNELS = """
import numpy as np
import tirx, tirx as tx

@tx.fn
def product(t):
    return t @ t

def kernel(*types, target="sm_90a"):
    @tx.jit(*types, threads=128, target=target)
    def at_fault(a: tx.Array) -> None:
        for i in tx.range(4):
            if i > 2:
                a[:, :] = product(a[:, :])

    return at_fault

@tx.jit(tx.f32[64, 64], threads=128, target="sm_90a")
def fine(a: tx.Array) -> None:
    a[:, :] = a[:, :] + 1.0

@tx.jit(tx.f32[64, 64], threads=128, target="sm_80")
def unread(a: tx.Array) -> None:
    t = tx.allocate(tx.f32[64, 64].shared)
    a[:, :] = t

x = np.zeros((64, 32), np.float32)
typed, called = kernel(tx.f32[64, 32]), kernel()
"""

_TRACED = [
    "typed.module",
    "typed.ir()",
    "called.ir(tx.f32[64, 32])",
    "called.ir(x)",
    "tirx.build(typed.module)",
    "typed.ptx()",
    "typed.explain()",
    "typed.simulate(x)",
    "typed.debug(x, see=print)",
    "called(x)",
    "called.simulate(x, trace=print)",
]
_OTHERS = [
    ("fine(x)", "ArgumentError: argument 'a': expected shape (64, 64), found (64, 32)"),
    ("tirx.build(fine.module).kernels['fine'].simulate()", "ArgumentError: 'fine': expected 1 arguments (a), found 0"),
    ("fine.ptx(target='sm_1')", "TargetError: unknown target 'sm_1'"),
    ("fine.ir(BM=64)", "BuildError: script.py:{line}:13: error: expected a constant of none, found BM"),
    ("tx.exp(1.0)", "BuildError: script.py:{line}:13: error: expected a tile or a scalar for exp"),
    ("tx.zeros(tx.f32, 4)", "BuildError: script.py:{line}:13: error: expected a function that @tx.jit traces around"),
    *(
        (way, "BuildError: script.py:{line}:13: error: expected a function that @tx.jit traces around, found none")
        for way in ("tx.tile(3, 4)", "tx.shared(tx.f32, 3)", "tx.sm_count()", "tx.region(tx.f32)(len)", "tx.insert(3)")
    ),
    ("list(tx.range(3))", "BuildError: script.py:{line}:13: error: expected a loop of a function below @tx.jit"),
    ("tx.f32[-1]", "BuildError: script.py:{line}:13: error: expected positive extents, or None, found f32[-1]"),
    ("tx.attribute('(')", "BuildError: script.py:{line}:13: error: expected an attribute or a type in MLIR, found '('"),
    ("tx.op.tirx.mma()", "BuildError: script.py:{line}:13: error: expected the operand a of tirx.mma, found none"),
    ("tx.zeros()", "TypeError: zeros() missing 1 required positional argument: 'dtype'"),
    ("fine.debug(x)", "TypeError: Kernel.debug() missing 1 required keyword-only argument: 'see'"),
    ("tirx.compile('tirx.kernel @k(')", "TextError: "),
    ("tirx.compile(unread.module)", "UnwrittenError: script.py:25:5:"),
]


_WHOLE = [
    ("(setattr(tirx.builder.kernels, 'drop_unused', None), fine.module)", "kernels.py"),
    ("(os.environ.setdefault('TIRX_FULL_TRACEBACK', 'yes'), typed.module)", "loops.py"),
]
"""A fault of the library, and the switch of its developers."""

_EACH = """
import os, sys, traceback, tirx.builder.kernels
for way in ways:
    try:
        way()
    except Exception:
        traceback.print_exc()
    print("=" * 8, file=sys.stderr)
"""


def _frames(printed: str) -> list[tuple[str, str]]:
    assert "direct cause" not in printed and "During handling" not in printed
    return re.findall(r'^  File "(.+)", line \d+, in (\w+|<\w+>)$', printed, re.MULTILINE)


def test_printed_tracebacks_have_frames_of_users_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = [*_TRACED, *(way for way, _ in [*_OTHERS, *_WHOLE])]
    lines = "\n".join(f"    lambda: {way}," for way in ways)
    (tmp_path / "script.py").write_text(f"{_KERNELS}ways = [\n{lines}\n]{_EACH}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIRX_FULL_TRACEBACK", "")
    monkeypatch.delenv("TIRX_FULL_TRACEBACK")
    monkeypatch.setattr(kernels, "drop_unused", kernels.drop_unused)  # pyright: ignore[reportPrivateImportUsage]
    run_path("script.py")
    parts = iter(capsys.readouterr().err.split(f"{'=' * 8}\n"))
    first = _KERNELS.count("\n") + 2
    for way in _TRACED:
        printed = next(parts)
        names = ["<module>", "<lambda>", "at_fault", "at_fault", "at_fault", "product"]
        assert _frames(printed) == [("script.py", name) for name in names], (way, printed)
        assert printed.endswith(
            "BuildError: script.py:7:12: error: expected x @ y.T of two tiles with one K, their last dimension, found "
            "64x32 and 32x64\n    return t @ t\n           ^^^^^\n"
        ), (way, printed)
    for line, (way, error) in enumerate(_OTHERS, first + len(_TRACED)):
        printed = next(parts)
        assert _frames(printed) == [("script.py", "<module>"), ("script.py", "<lambda>")], (way, printed)
        assert error.format(line=line) in printed, (way, printed)
    for way, file in _WHOLE:
        printed = next(parts)
        assert f'{file}", line' in printed, (way, printed)
