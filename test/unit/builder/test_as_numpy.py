"""Statements that mean in a kernel what they mean to numpy: elements, parts, swaps, updates in place."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

import tirx as tx
from tirx import f32, i32
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_STATEMENTS = [
    "v = f[0]; f[0] = 55.0; o[0] = v; f[0] = v",
    "def g(v):\n f[0] = 55.0\n return v\no[0] = g(f[0])",
    "vs = [f[0], f[1]]; f[0] = 9.0; f[1] = 8.0; o[0], o[1] = vs",
    "f[0], f[1] = f[1], f[0]; o[0:2] = f[0:2]",
    "a, b = f[0], f[1]; a, b = b, a; f[0] = 4.0; o[0] = a; o[1] = b",
    "p = f[0]; p += 1.0; w = p; w -= 3.0; o[0] = p; o[1] = f[0]; o[2] = w",
    "f[0] += 1.0; f[n] -= 1.0; f[2] *= f[3]; x[2] //= 2; x[3] %= 3; x[4] |= 9",
    "v = f[0]; v += 1.0; f[0] = 9.0; f[0] = v",
    "s = f[2]; f[0:4] += f[4:8]; o[0] = s",
    "i = x[8]; x[8] = 3; o[i] = 5.0",
    "l = [v for v in (f[0], f[1])]; f[0] = 9.0; o[0] = l[0]",
    "def g(v=f[0]): return v\nf[0] = 9.0; o[0] = g()",
    "v = f[0:4]; f[0:4] = f[4:8]; o[0:4] = v",
    "f[0:4], f[4:8] = f[4:8], f[0:4]",
    "v = f[0:4]; w = v * 2.0; f[0:4] = f[4:8]; o[0:4] = w",
    "a = f[0:4]; b = a; b += 1.0; a *= 2.0; b -= 3.0; o[0:4] = a",
    "a = f[0:4]; a = a + 1.0; a -= 3.0; o[0:4] = a",
    "f[1:5] -= f[0:4]; f[0:4] /= 2.0",
    "f[x[0:4] + 8] += 1.0; f[x[4:8] + 8] *= 2.0",
    "v = f[x[0:4] + 8]; v -= 1.0; o[0:4] = v",
    "o[0] = f[-1]; o[1:5] = f[-4:]; o[5:7] = f[-4:-2]; o[-1] = 3.0",
    "o[0] = f[1] if n in (3, 4) else f[0]; o[1] = f[1] if n in {3, 5} else f[2]; o[2] = f[3] if n not in [] else f[2]",
    "o[0] = f[1] if 3 in [n, 7] and n is not None else f[2]; o[1] = f[4] if n not in range(3) else f[2]",
    "o[0] = f[1] if 1 < n < 5 > 4 else f[2]; o[1] = f[1] if 1 < n < 4 else f[2]",
    "v = f[0]\nfor k in tx.range(3): f[0] = f[0] + v\no[1] = v",
    "v, k = f[0], 0\nwhile k < n: f[0] = f[0] + v; k = k + 1",
    "v = f[0]\nif n > 3: f[0] = 7.0; o[1] = v\no[0] = v",
    "v = f[0:4]\nfor k in tx.range(3): f[0:4] = v + 1.0\no[0:4] = v",
    "p = f[0:4]\nfor k in tx.range(3): p *= 2.0\no[0:4] = p",
    "s = f[0]\nfor k in tx.range(1, 4): s = max(s, f[k])\no[0] = s",
    "for k in tx.range(3): f[k], f[k + 1] = f[k + 1], f[k]",
    "k = 5\nfor j in range(2): q = [(k := k + c) for c in range(3)][1]\no[0] = 1.0 * k; o[1] = 1.0 * q",
    "r = f[:].reshape(4, 4); q = r.T; f[0:4] = 0.0; o[:] = q.reshape(16); r *= 2.0",
    "v = f[0:8]; w = v[2:6]; u = w[1:3]; y = w * 2.0; f[2:8] = 9.0; o[0:2] = u; o[4:8] = y; v[:] = 3.0",
    "t = tx.shared(f[:]); v = t[3]; t[3] = 9.0; t[3] += 1.0; t[-1] = v; o[4:8] = t[0:4]; t[3] = v; o[1] = t[3]",
    "t = tx.shared(f[:]); s = t; t -= 1.0; p = t[0:4]; p *= 3.0; t[0:4], t[4:8] = t[4:8], t[0:4]; o[:] = s",
    "t = tx.shared(f[:]); v = t[2]\nfor k in tx.range(3): t[2] = t[2] + v; t[k] *= 2.0\no[:] = t",
    "for v in [f[0], f[1]]: f[1] = 5.0; o[0] = v",
    "k = 0\nwhile f[k] < 0.0: f[k] = f[k] * -1.0; k = k + 1",
    "v = f[0] if n > 3 else f[1]; f[0] = 5.0; o[0] = v",
    "t = tx.shared(f[:].reshape(4, 4)); p = t[0]; p += 1.; t[n - 2] = p; q = t[n - 1]; q *= 3.; t[3] = q; f[:4] = t[3]",
    "t = tx.shared(f[:].reshape(4, 4)); u = t.T[0:2, :]; t[:] = t * 2.0; o[0:8] = u.reshape(8)",
    "t = tx.shared(f[:].reshape(2, 2, 4)); u = t.transpose(1, 0, 2); t[:] = t * 2.0; o[:] = u.reshape(16)",
    "v = f[0:8]; p = v[0:8]\nfor k in tx.range(3): f[k] *= 2.0; o[0:8] = p",
    "v = f[0:4]; v += f[8]; f[1:5] = f[0:4]; f[0:4] = f[2:6]; o[0:4] = v",
    "t = tx.shared(f[:].reshape(4, 4)); o[0] = t[x[10], 1]; t[x[9], x[11]] = 4.0;t[x[9]] += 3.0; o[:] = t.reshape(16)",
    "t = tx.shared(f[:]); o[0] = t[x[10]]; t[x[11]] += 1.0; v = t[x[10]]; t[2] = 3.0; o[1] = v; o[2] = t[x[11]]",
    "v = f[0:8] * 1.0; w = f[0:8]; u = w[x[10]]; f[2] = 8.0; o[0] = v[x[10]]; o[1] = u; o[4:8] = w.reshape(2, 4)[x[9]]",
    "v = f[0:4]\nfor k in tx.range(1, 4): v = v + f[k]\nf[0:4] = 0.0; v += 1.0; o[0:4] = v",
    "v = f[0:4]; w = v\nfor k in tx.range(n): w = w + 1.0; v = w\no[0:4] = v + w",
    "v = f[0:4]\nfor k in tx.range(n): v = f[k:k + 4]; v += 1.0",
    "t = tx.shared(f[:]); t[::2] = t[1::2]; t[0:4:3] += 1.0; t[::-2] = f[0:8]; o[0:8] = t[::-2]; o[8:16] = t[::2]",
    "for i in range(2):\n a = tx.zeros(f32, 4)\n for k in tx.range(2):\n  if i: a = a + f[k:k + 4]\n o[i:i + 4] += a",
    "a, b = 0, 16\nwhile a < b:\n m = (a + b) // 2\n if f[m] < 0.5: a = m + 1\n else: b = m\no[0] = 1.0 * a",
    "k = 0\nwhile k < 3 if k < 1 else n > k: k = k + 1; o[k] = 1.0 * k\no[0] = 1.0 * k",
    "t = tx.shared(f[:].reshape(2, 8)); v = t[:, 2:6]; w = v[::-1, ::2]; w *= 3.0; f[:] = t.reshape(16)",
    "if n < 3: v = f[x[8]]\nelse: f[0] = 9.0\no[0] = f[0]",
    "if n < 4:\n q = tx.zeros(f32, 4)\n o[0:4] = q - 1.0\nelse:\n q = tx.zeros(f32, 2)\n o[4:6] = q + 2.0",
    "for j in range(3):\n match j:\n  case z: import math as m\no[1] = m.floor(1.0 * z)",
]


def _zeros(dtype: Any, extent: int) -> Any:
    return np.zeros(extent, np.float32)


_NUMPY = SimpleNamespace(range=range, shared=np.copy, zeros=_zeros)


def _numbers() -> list[Any]:
    x, f = np.arange(-8, 8, dtype=np.int32), np.linspace(-2, 2, 16).astype(np.float32)
    return [x, f, np.zeros(16, np.float32), np.int32(4)]


def test_statements_mean_what_they_mean_to_numpy(tmp_path: Path) -> None:
    functions = [f"def k{i}(x, f, o, n):\n " + each.replace("\n", "\n ") for i, each in enumerate(_STATEMENTS)]
    path = tmp_path / "as_numpy.py"
    path.write_text("\n".join(["import tirx as tx\nfrom tirx import f32", *functions, ""]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for i, statement in enumerate(_STATEMENTS):
        function: FunctionType = getattr(module, f"k{i}")
        expected, found = _numbers(), _numbers()
        FunctionType(function.__code__, {"tx": _NUMPY, "f32": f32}, "numpy")(*expected)
        kernel = tx.jit(i32[16], f32[16], f32[16], i32, threads=32, target="sm_80", grid=[1])(function)
        run_kernel(next(iter(kernels(kernel.module))), [*found[:3], 4])
        assert all(map(np.array_equal, found[:3], expected[:3])), statement


def _elements(x: tx.Array, f: tx.Array, o: tx.Array) -> None:
    v = f[0]
    f[0] += 3.0
    f[x[0]] += f[0] + v
    o[0], o[1] = v, tx.atomic(x[1], "add", 5).to(f32)
    flag = x[3]
    tx.signal(flag, 7)
    o[2] = flag.to(f32)


def test_elements_are_added_to_once() -> None:
    x, f, o, _ = _numbers()
    x[0] = 5
    kernel = tx.jit(i32[16], f32[16], f32[16], threads=64, target="sm_80", grid=[1])(_elements)
    before = f.copy()
    tx.build(kernel.module).kernels["_elements"].simulate(x, f, o)
    assert f[0] == before[0] + 3 and np.isclose(f[5], before[5] + f[0] + before[0])
    assert o[:3].tolist() == [before[0], -7, -5] and x[[1, 3]].tolist() == [-2, 7]
