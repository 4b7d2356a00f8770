"""Errors of the builder, in full: a statement of a kernel each, `a` and `b` of f32[64, 64], `n` a number."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tirx as tx
from tirx import f32, i32

_SAID = [
    ("tx.signal(a[:, :], 1)", "expected one element of an array as a flag, found a view f32[64, 64]"),
    ('tx.wait_until(b[0, 0], "above", 3)', "expected a comparison of ge, gt, le, lt, eq and ne, found 'above'"),
    ('tx.atomic(a[:, :].load(), "add", 1.0)', "expected a place in memory to combine with, found a tile f32[64, 64]"),
    ("(n + 1).bitcast(f16)", "expected element types of the same bits for .bitcast, found i32 and f16"),
    ('tx.exp("a")', "expected tiles, scalars or numbers for exp, found 'a'"),
    ("tx.exp(1.0)", "expected a tile or a scalar for exp, found numbers alone; .to(...) gives one a type"),
    ("tx.exp(n)", "expected floats for exp, found i32; .to(f32) converts"),
    *((f"n ** {power}", "expected floats for pow, found i32; .to(f32) converts") for power in (0, 5)),
    *((f"tx.tile(0, {n})", f"expected a number of indices of a span, found {n}") for n in (0, 2.0)),
    *(
        (f"tx.tiles({ends})", f"expected tx.tiles(n, extent) or tx.tiles(start, stop, extent), found ({shown})")
        for ends, shown in [("n, 0", "a scalar i32, 0"), ("n, 1.5", "a scalar i32, 1.5"), ("4", "4,")]
    ),
    *((f"f32[{n}]", f"expected positive extents, or None, found f32[{n}]") for n in (0, True, -1)),
    *((f'i32(float("{n}"))', f"expected an integer for i32, found {n}") for n in ("nan", "inf", "-inf")),
    *((f"tx.i8({n})", f"expected a number that fits into i8, found {n}") for n in (-129, 128)),
    *((f"tx.u8({n})", f"expected a number of 0 to 255, found {n}") for n in (-1, 256)),
    ("tx.signal(3, 1)", "expected one element of an array as a flag, found 3"),
    ('tx.atomic(3, "add", 1.0)', "expected a place in memory to combine with, found 3"),
    (
        "x = a[:, :].load()\nfor i in tx.range(n):\n    x = 3",
        "expected `x` to keep its type in a loop, found 64x64xf32 and 3",
    ),
    *(
        (
            f"while n > 0:\n    {word}",
            f"expected a condition of Python around {word}, found one that the kernel computes",
        )
        for word in ("break", "continue")
    ),
    *(
        (
            f"if n > 0:\n    {statement}",
            "expected a condition of Python around global, nonlocal or del, found one that the kernel computes",
        )
        for statement in ("del b", "global other")
    ),
    *(
        (
            f"for i in tx.range({n}):\n    last = i > 3\n{use}",
            "expected `last` to be bound in front of the loop, found it bound inside only",
        )
        for n, use in [("n", "if last:\n    b[0, :] = 0.0"), ("n", "last.T"), ("0, 0", "last & last")]
    ),
    (
        "for i in tx.range(n):\n    for j in range(3):\n        pass\n    else:\n        break",
        "expected a loop of the kernel without break, found one with it; carry a condition in a while",
    ),
    ("tx.where(n, n, 2)", "expected a comparison as the condition of where, found i32"),
    (
        'b[:, :] = tx.exp(a[:, :], fastmath="quick")',
        "expected a flag of reassoc, nnan, ninf, nsz, arcp, contract, afn, found 'quick'",
    ),
    ("b[:, :] = a[:, :] // 2.0", "expected integers for //, found f32; tx.floor(x / y) is that of floats"),
    ("(a[:, :] > 0.0) + (a[:, :] < 3.0)", "expected numbers for +, found truths; .to(i32) has 0 and 1"),
    ("(a[:, :] > 0.0).sum(1)", "expected numbers, found a tile of truths; .to(i32) has 0 and 1"),
    ("(a[:, :] > 0.0).bitcast(tx.i8)", "expected numbers for .bitcast, found truths; .to(i32) has 0 and 1"),
    ("n.to(tx.u32) > -1", "expected a number of 0 to 4294967295, found -1"),
    ("tx.shared(3)", "expected a tile, a view such as a[m, k], or an element type and extents, found 3"),
    ("tx.shared(f32)", "expected extents of a tile, found none"),
    (
        "tx.zeros(f32, (64, 64))",
        "expected positive extents of a tile, found (64, 64)",
    ),
    ("tx.zeros((64, 64), f32)", "expected an element type in front, such as tx.f32, found (64, 64)"),
    (
        "tx.allocate(f32[64, 64])",
        "expected the type of a tile in a memory, such as f32[64, 64].shared, found f32[64, 64]",
    ),
    ('a[:, :].map("a")', "expected a function of elements, found 'a'"),
    (
        "a[:, :].map(lambda x, y: x)",
        "expected a function of 1 elements, found another one: missing a required argument: 'y'",
    ),
    (
        "a[:, :].map(lambda x: x if x > 0.0 else -x)",
        "expected tx.where(condition, x, y) in a function of elements, found a branch",
    ),
    ("a[:, :].map(lambda x, y: x, 2.0)", "expected a tile, found 2.0"),
    ("a[:, :].load().reshape(3, 5)", "expected extents of 4096 elements, those of a tile f32[64, 64], found (3, 5)"),
    ("a[:, :].reshape(3, 5)", "expected extents of 4096 elements, those of a view f32[64, 64], found (3, 5)"),
    ("a[:, :].transpose(0, 0)", "expected the dimensions of a view f32[64, 64] in another order, found (0, 0)"),
    ("a[::-1, :]", "expected a positive step of a view, found -1; .load()[::-1] turns a tile around"),
    ('a[:, :].sum("1")', "expected a dimension of 2, found '1'"),
    ("a[:, :].sum(1, -1)", "expected different dimensions, found (1, -1)"),
    ("tx.concat([a[:, 0:32], a[:, 32:64]], 2)", "expected a dimension of 2, found 2"),
    ("tx.full(f32, a[0, :], 64)", "expected one number, found a view f32[64]; .broadcast(64) repeats a tile"),
    ("a[:, 0:3].load().bitcast(tx.f64)", "expected a last extent of whole f64 for .bitcast, found a tile f32[64, 3]"),
    ("tx.concat([], 0)", "expected tiles to stand behind each other, found none"),
    (
        "a[:, :].load()[0:1] = 0.0",
        "expected a tile in memory to store to, found the value a tile f32[64, 64]; tx.where gives another value, and "
        "tx.shared(t) is written in place",
    ),
    ("for row in a: pass", "expected a view of an array such as a[m, k], found a Python loop over it; tx.range counts"),
    ("for i in tx.range(4, 0, -1): pass", "expected a positive step, found -1"),
    ("a + 1.0", "unsupported operand type(s) for +: 'Array' and 'float'; a[m, k] is a tile of an array"),
    ("a[:, :].astype(f16)", "'View' object has no attribute 'astype'; t.to(dtype) is"),
    ("tx.sum(a[:, :], 1)", "module 'tirx' has no attribute 'sum'; t.sum(dim) is"),
    ("a[:, :].transposed()", "'View' object has no attribute 'transposed'; transpose is"),
    ("tx.maximum(a, b)", "expected tiles, scalars or numbers for maximum, found an array f32[64, 64]"),
    ("return a[:, :]", "expected a kernel that stores its results, d[...] = t, found one that returns"),
    (
        "i = 0\nfor i in tx.range(n): pass\nb[i, :] = 0.0",
        "expected a span, an index, a slice or a tile of indices, found `i`, which is bound inside of a loop or branch "
        "only; tx.tile makes a span",
    ),
    (
        "def count():\n    nonlocal n\n    n = n + 1",
        "expected functions of a kernel that return what they compute, found nonlocal",
    ),
    *(
        (
            text,
            f"expected `t` to stay as it is in a loop or branch of the kernel, which is written once, found a change "
            f"inside of {kind}; a name or a tuple that is bound anew is carried",
        )
        for text, kind in (
            ("t = [0]\nfor i in tx.range(n):\n    t[0] += 1", "list"),
            ("t = {'n': [1]}\nif n > 3:\n    t['n'].append(2)", "dict"),
            ("t = set()\nwhile n > 3:\n    n = n - 1\n    t.add(3)", "set"),
        )
    ),
    *(
        (text, f"expected truths for `{name}` of tiles, found {found}: write x != 0, or {sign} for bits")
        for text, name, found, sign in (
            ("a[:, :] and a[:, :]", "and", "a view f32[64, 64]", "&"),
            ("(a[:, :] > 0.0) or a[:, :]", "or", "a view f32[64, 64]", "|"),
            ("n and (a[:, :] > 0.0)", "and", "a scalar i32", "&"),
        )
    ),
    ("n and n.to(tx.i64)", "expected one element type for and, found i32 and i64; convert one with .to(i32)"),
    ("n + n.to(tx.i64)", "expected one element type for +, found i32 and i64; convert one with .to(i32)"),
    ("tx.map(lambda p: 1.0, a[:, :])", "expected a function that returns elements, found 1.0; .to(...) types a number"),
    (
        'tx.reduce(a[:, :], 1, "median")',
        "expected a combination of add, mul, max, min, or a function, found 'median'",
    ),
    ("tx.store(1.0, 3)", "expected a view of an array or a tile in memory, found 3"),
    ('tx.grid("a")', "expected blocks that the launch can count, by shapes of arrays and numbers, found 'a'"),
    (
        "tx.grid(a[:, :])",
        "expected blocks that the launch can count, by shapes of arrays and numbers, found a view f32[64, 64]",
    ),
    ('tx.block_id("w")', "expected an axis of x, y and z, found 'w'"),
    ("tx.param()", "expected candidates of a parameter, found none"),
    (
        "a[:, :].load() @ 3",
        "expected matrices as operands of a product, found a tile f32[64, 64] and 3",
    ),
    ('tx.zeros(f32, 64, 64) + tx.store("a", b[:, :])', "expected a tile or a number to store, found 'a'"),
    ('b[0, 0] = "a"', "expected a tile or a number, found 'a'"),
    ("b[:, :] = [1, 2]", "expected a tile or a number to store, found [1, 2]"),
    ('tx.op.tirx.copy("a", "b")', "expected a tile, a scalar or an array as an operand, found 'a'"),
    ("tx.op.tirx.nothing(a[:, :])", "expected an operation of a dialect, found tirx.nothing"),
    (
        'tx.op.tirx.copy(a[:, :], b[:, :], engine="(")',
        "expected another value of the clause engine of tirx.copy, found '('",
    ),
    ('tx.attribute("memref<")', "expected an attribute or a type in MLIR, found 'memref<': <unknown>:1:8"),
    ("tx.tile(0, 0)", "expected a number of indices of a span, found 0"),
    ("tx.tile(0, 64) // 3", "expected a span whose extent 3 divides, found a span of 64 indices"),
    (
        "[each for each in a[:, :].load()]",
        "expected slices of a tile, found a Python loop over it; .map works on its elements",
    ),
    ("len(a[:, :].load())", "expected .shape of a tile, found len()"),
    ('a[:, :].load()["a"]', "expected a slice, an index or a span, found 'a'"),
    ("a[:, :].load()[::n]", "expected a step that is a number, found a scalar i32"),
    ("a[:, :].load()[64, 0]", "expected an index of 0 to 63, found 64"),
    ("a[64, 0]", "expected an index of 0 to 63, found 64"),
    ('a["a", 0]', "expected a span, an index, a slice or a tile of indices, found 'a'; tx.tile makes a span"),
    (
        "a[tx.tile(0, 64).index, tx.tile(0, 32).index]",
        "expected tiles of indices of one extent, found 64 and 32",
    ),
    ("n + (1 << 31)", "expected a number that fits into i32, found 2147483648"),
    ("(tx.tile(0, 8) * 2) // 2", "expected a span whose extent 2 divides, found a span of 8 indices"),
    ("tx.tiles(n)", "expected tx.tiles(n, extent) or tx.tiles(start, stop, extent), found (a scalar i32,)"),
    ("f32[-1, 2]", "expected positive extents, or None, found f32[-1, 2]"),
    ('f32[None].tile("register")', "expected the extents of a tile as integers, found f32[None]"),
    ('f32[4].tile("cache")', "expected a memory of global, shared, tensor, register, accumulator, found 'cache'"),
    *(
        (
            f"for k in tx.range(3):\n    {body}",
            f"expected a loop of the kernel without {what}, found one with it; carry a condition in a while",
        )
        for body, what in (
            ("if n > k:\n        break", "break"),
            ("try:\n        n\n    except ValueError:\n        break", "break"),
            ("return", "return"),
            ("del n", "global, nonlocal or del"),
        )
    ),
    ("b[:, :] = a[:, :].load() + 1e300", "expected a number that fits into f32, found 1e+300"),
    ("b[:, :] = a[:, :].load() ** 'x'", "expected tiles, scalars or numbers for pow, found 'x'"),
    (
        "for k in [1, 2]:\n    if n > k:\n        break",
        "expected a condition of Python around break, found one that the kernel computes",
    ),
    ("tx.full(f32, 1.0, 0)", "expected positive extents of a tile, found 0"),
    ("tx.indices(2, 4, 4)", "expected a dimension of 2, found 2"),
    *(
        (
            text,
            "expected a[m, k] += x of the array, or v += x of a view, found an update of a part of one: "
            f"a {what} f32[64, {n}]",
        )
        for text, what, n in (
            ("v = a[:, :]\nw = v[:, 0:8]\nw -= 1.0", "part", 8),
            ("v = a[:, :].reshape(64, 64).T\nv += 1.0", "part", 64),
            ("v = tx.shared(a[:, :]).T\nv *= 2.0", "transposed", 64),
        )
    ),
    *(
        (text, "expected a[m, k] += x of the array, found an update of a name that has one of several views")
        for text in (
            "v = a[0:2, :]\nif n > 3:\n    v = a[2:4, :]\nv -= 1.0",
            "v, w = a[0:2, :], a[2:4, :]\nfor _ in tx.range(n):\n    v, w = w, v\nv += 1.0",
            "v = a[0:2, :] * 2.0\nfor _ in tx.range(3):\n    v += 1.0\n    v = a[2:4, :]",
            "v, w = a[0:2, :] * 2.0, a[4:6, :] * 2.0\nfor _ in tx.range(3):\n    w += 1.0\n    w, v = v, a[2:4, :]",
            "v = a[0:2, :]\nfor _ in tx.range(n):\n    v = v * 2.0\nv += 1.0",
            "v, i = a[0:2, :] * 2.0, n\nwhile i < 9:\n    i, v = i + 1, a[2:4, :]\nv *= 2.0",
        )
    ),
    (
        "v = a[:, :]\nif n > 3:\n    v = v + 1.0\na[:, :] = 0.0\nb[:, :] = v",
        "expected what tiles of indices name, or one of several views, to be read before the array is written, "
        "found it read behind that; .load() reads it where it gets its name",
    ),
    *(
        (
            text,
            "expected what tiles of indices name, or one of several views, to be read before the array is written, "
            "found it read behind that; .load() reads it where it gets its name",
        )
        for text in (
            "v = a[:, :] * 2.0\nfor _ in tx.range(n):\n    a[:, :] = 0.0\n    b[:, :] = v\n    v = a[:, :]",
            "v = a[0:9, :] if n > 3 else a[9:18, :]\nfor _ in tx.range(n):\n    b[0:9, :] += v\n    a[:, :] = 0.0",
        )
    ),
    (
        "v = a[b[:, 0].to(i32), :]\na[:, :] = 0.0\nb[:, :] = v",
        "expected what tiles of indices name, or one of several views, to be read before the array is written, "
        "found it read behind that; "
        ".load() reads it where it gets its name",
    ),
    (
        "v = a[b[:, 0].to(i32), :].T\nfor _ in tx.range(n):\n    b[:, :] = v + 1.0\n    a[:, :] = 0.0",
        "expected what tiles of indices name, or one of several views, to be read before the array is written, "
        "found it read behind that; "
        ".load() reads it where it gets its name",
    ),
    (
        "v = a[b[:, 0].to(i32), :]\nv += 1.0\nb[:, :] = v + 1.0",
        "expected a[ids] += x, which adds to what tiles of indices name, found += of a name: it has a copy in numpy",
    ),
    (
        "k = 0\ndef f(): return k\nfor k in range(3):\n    b[f(), :] = 0.0",
        "expected `k` as an argument of `f`, which has the one from before the loop or branch, found it bound inside",
    ),
    (
        "k = 0\nf = lambda: k\ndef g(): return f()\nif n > 3:\n    k = 2\n    b[g(), :] = 0.0",
        "expected `k` as an argument of `g`, which has the one from before the loop or branch, found it bound inside",
    ),
    (
        "fs = []\nfor k in range(3):\n    fs.append(lambda: k)",
        "expected `lambda k=k: ...`, found a function that Python calls with a later `k`",
    ),
    *(
        (text, "expected an assignment in front, found := in what is evaluated only where Python would")
        for text in ("k = 0\nwhile (k := k + 1) < 5: pass", "k = (k := 5) > 3 and k > 4", "k = 1 < (k := 3) < 4")
    ),
    *(
        (
            f"for _ in tx.range(n):\n    q = 3\n{text}",
            "expected `q` to be bound in front of the loop, found it bound inside only",
        )
        for text in ("q == 3", "q is None", "-q", "q in (3, 4)")
    ),
    (
        "{3: 1}.get(n)",
        "expected a number of Python for a key, found a scalar i32: its value is known when the kernel runs; tx.range "
        "counts in the kernel, and its `if` and `while` are those of functions below @tx.jit and @tx.fn",
    ),
    ("b[:, :] = tx.where(3, a[:, :], 1.0)", "expected a comparison as the condition of where, found 3"),
    ("a[True, 0]", "expected a span, an index, a slice or a tile of indices, found True; tx.tile makes a span"),
    (
        "v = a[0:4, :]\nv[0:2, :] = 0.0",
        "expected a[m, k] = x of the array, or v[:] = x of a whole view, found a part of a view f32[4, 64]",
    ),
    ("a[0, 0, 0]", "expected at most 2 places, found 3"),
    ("a[:, :].load()[0, 0, 0]", "expected at most 2 slices of a tile f32[64, 64], found 3"),
    ("tx.tile(1.5, 4)", "expected an integer, found 1.5"),
    ("a[:, :].load().sum(2)", "expected a dimension of 2, found 2"),
    (
        "np.exp(n)",
        "expected a function of tirx on a scalar i32, found numpy's exp; tx.exp or an operator computes in the kernel",
    ),
    ("a[5:3, :]", "expected a slice within 64 elements, found 5:3"),
    (
        "a[:, 0:n]",
        "expected a slice whose extent is a number, such as i : i + 64, found one that the kernel computes; "
        "tx.tile(start, 64, end=stop) has the elements up to an end",
    ),
    ("tx.map(lambda p: p, 3)", "expected a tile, found 3"),
    (
        "a[:, :].load() @ b[:, :].load()[0, :]",
        "expected matrices as operands of a product, found a tile f32[64, 64] and a tile f32[64]",
    ),
    (
        "tx.exp(a[:, :]) if a[:, :].load() > 0.0 else b",
        "expected a condition that is one truth, found a tile i1[64, 64]: use tx.where(condition, x, y) for each "
        "element, or a reduction for all",
    ),
    (
        "x = tx.zeros(f32, 4)\nfor _ in tx.range(n):\n    x = tx.zeros(f32, 5)",
        "expected `x` to keep its type in a loop, found 4xf32 and 5xf32",
    ),
    (
        "x = 1\nif n > 3:\n    x = 1.5",
        "expected `x` with a type behind an if, found a number of Python; f32(1.5) gives it one",
    ),
    (
        "x = tx.tile(0, 4)\nif n > 3:\n    x = tx.tile(4, 4)",
        "expected tiles and scalars as results of an if, found a span in `x`; carry its start",
    ),
    (
        "if n > 3:\n    x = tx.tile(4, 4)\nelse:\n    x = tx.tile(8, 4)\nx.start",
        "expected tiles and scalars as results of an if, found a span in `x`; carry its start",
    ),
    ("x = 1\nif n > 3:\n    x = (1, 2)", "expected `x` to have one structure behind an if, found two"),
    (
        "x = (tx.tile(0, 4), 1)\nif n > 3:\n    x = (tx.tile(0, 2), 1)",
        "expected `x` to have one structure behind an if, found two; keys, and extents and steps of spans, are part of "
        "it",
    ),
    (
        'x = {"a": n, "b": 1}\nif n > 3:\n    x = {"b": 1, "a": n}',
        "expected `x` to have one structure behind an if, found two; keys, and extents and steps of spans, are part of "
        "it",
    ),
    (
        "x = tx.tile(0, 4)\nfor _ in tx.range(n):\n    x = tx.tile(0, 4, end=n)",
        "expected `x` to keep its structure in a loop, found another one at its end",
    ),
    (
        "x = tx.tile(0, 4)\nfor _ in tx.range(n):\n    x = x * 2",
        "expected `x` to keep its structure in a loop, found another one at its end; keys, and extents and steps of "
        "spans, are part of it",
    ),
    (
        "x = 1\nfor _ in tx.range(n):\n    x = 0.5",
        "expected `x` with a type in a loop, found a number of Python; f32(0.5) gives it one",
    ),
    ("if n > 3:\n    y = 1\ny + n", "expected `y` to be bound in front of the if, found it bound inside only"),
    ("tx.op.tirx.copy(a[:, :], b[:, :], a[:, :])", "expected 2 operands of tirx.copy, found 3"),
    ("tx.op.tirx.copy(a[:, :])", "expected the operand destination of tirx.copy, found none"),
    ("tx.op.tirx.copy(a[:, :], b[:, :], nothing=3)", "expected clauses of tirx.copy (engine, reduce), found nothing"),
    ("tx.op.tirx.copy(a[:, :], b[:, :], regions=[])", "expected clauses of tirx.copy (engine, reduce), found regions"),
    ("tx.block_id(3)", "expected an axis of x, y and z, found 3"),
    ("tx.shared(3)", "expected a tile, a view such as a[m, k], or an element type and extents, found 3"),
    ("tx.scan(a[:, :], 2)", "expected a dimension of 2, found 2"),
    ("a[:, :].load().reshape(3, 5)", "expected extents of 4096 elements, those of a tile f32[64, 64], found (3, 5)"),
    ("a[:, :].load().transpose(0, 0)", "expected the dimensions of a tile f32[64, 64] in another order, found (0, 0)"),
    ("a[:, 0:3].load().bitcast(tx.f64)", "expected a last extent of whole f64 for .bitcast, found a tile f32[64, 3]"),
    ("tx.concat([], 0)", "expected tiles to stand behind each other, found none"),
    ("b[:, 0:32] = a[:, :]", "expected a tile of 64x32 to store, found 64x64"),
    ("assert n > 3", "expected a condition that Python knows for assert, found one of the kernel"),
    ('assert not a, "of an array"', "expected what `assert` says: of an array"),
    (
        "[1 for each in (2, 3) if n > each]",
        "expected a number of Python for a condition, found a scalar i1: its value is known when the kernel "
        "runs; tx.range counts in the kernel, and its `if` and `while` are those of functions below @tx.jit and @tx.fn",
    ),
    (
        "x = a[:, :].load() if n > 3 else (a[:, :].load(), n)",
        "expected `the expression` to have one structure behind an if, found two",
    ),
    (
        "x = tx.tile(n, 4) if n > 3 else tx.tile(0, 4)",
        "expected tiles and scalars as results of an if, found a span in `the expression`; carry its start",
    ),
    (
        'x = "a" if n > 3 else "b"',
        "expected tiles and scalars as results of an if, found 'a' and 'b' in `the expression`",
    ),
    (
        "x = 1.0 if a[:, :] > 0 else 2.0",
        "expected a condition that is one truth, found a tile i1[64, 64]: use tx.where(condition, x, y) "
        "for each element, or a reduction for all",
    ),
    ('x = "a"\nfor _ in tx.range(n):\n    x = "b"', "expected `x` to stay 'a' in a loop, found 'b' at its end"),
    (
        "tx.shared(a[:, :]).load(pad=1.0)",
        "expected a pad of a view of an array, found one of a tile, of which nothing is outside",
    ),
    (
        "tx.accumulator(f32, (64, 64)).accumulate(a[:, :].load())",
        "expected a product x @ y.T to add, found a tile f32[64, 64]; t[:] = t + x adds another tile",
    ),
    ("tx.where(n > 3, n, 1.5)", "expected an integer for i32, found 1.5"),
    (
        "x = (1, 2)\nfor _ in tx.range(n):\n    x = (1, 2, 3)",
        "expected `x` to keep its structure in a loop, found another one at its end",
    ),
    ("tx.module(lambda: tx.grid(3))", "expected tx.grid in a kernel, found it in a function"),
    ("a[:, :, :]", "expected at most 2 places, found 3"),
    *(
        (
            f"for i in tx.range(n):\n    kept.append({made})\nb[:, :] = kept[-1]",
            f"expected {found} of a loop or branch that has ended",
        )
        for made, found in (
            ("a[:, :].load()", "a tile of this place, found a tile f32[64, 64]"),
            ("i.to(f32)", "values of this place, found one"),
        )
    ),
    *(
        (
            f"a[:, :].load()[{part}, :]",
            "expected a slice whose extent is a number, such as i : i + 64, found one that the kernel computes; "
            "tx.tile(start, 64, end=stop) has the elements up to an end",
        )
        for part in ("n : n", "n : n - 1", "n : n + 8 : 2", "n : 2 * n")
    ),
    ("tx.indices(0.0, 4, 4)", "expected a dimension of 2, found 0.0"),
    (
        "b[:, :] = tx.indices(1, 64, 64).bitcast(f16).to(f32)",
        "expected element types of the same bits for .bitcast, found index and f16",
    ),
    ("n.to(index).bitcast(tx.i64)", "expected element types of the same bits for .bitcast, found index and i64"),
    ("v = b[0:8, :]\nv += 1.0\nb[0:9, :] = v", "expected a tile of 9x64 to store, found 8x64"),
    ("v = b[0:64:2, :]\nv += 1.0\nb[0:64, :] = v", "expected a tile of 64x64 to store, found 32x64"),
    ("tx.tile(a[0, 0], 4)", "expected an integer, found a scalar f32"),
    (
        "tx.shared(a[:, :], 4)",
        "expected a tile, a view such as a[m, k], or an element type and extents, found a view "
        "f32[64, 64] with extents",
    ),
    ("raise AttributeError('mine')", "mine"),
    *(
        (f"tx.{name}(a)", f"module 'tirx' has no attribute '{name}'; {way_out} is")
        for name, way_out in (
            ("arange", "tx.indices(0, n), or .index of a span"),
            ("argmin", "(-t).argmax(dim)"),
            ("astype", "t.to(dtype)"),
            ("barrier", "nothing: barriers are derived"),
            ("cdiv", "tx.ceildiv(a, b)"),
            ("dot", "x @ y.T"),
            ("load", "a[m, k], which is a view and is read where it is used"),
            ("mean", "t.sum(dim) / n"),
            ("permute", "t.transpose(1, 0)"),
            ("program_id", 'tx.grid((extent, size)), or tx.block_id("x")'),
            ("size", ".shape"),
            ("sum", "t.sum(dim)"),
            ("syncthreads", "nothing: barriers are derived"),
            ("view", "t.reshape(...), or t.bitcast(dtype)"),
        )
    ),
    ("tx.reduce(a[:, :], 0, lambda x, y: (x, y))", "expected a function that returns 1 accumulators, found 2"),
    (
        'tx.op.arith.cmpi(n, n, predicate="x")',
        "expected another value of the clause predicate of arith.cmpi, found 'x'",
    ),
    ("TileLayout.row_major((0,))", "every extent of a shape must be positive, found (0,)"),
]


def test_errors_say(tmp_path: Path) -> None:
    functions = [
        f"def k{i}(a, b, n):\n    " + statement.replace("\n", "\n    ") for i, (statement, _) in enumerate(_SAID)
    ]
    path = tmp_path / "said_by_the_builder.py"
    imports = [
        "import numpy as np",
        "import tirx as tx",
        "from tirx import f16, f32, i32, index",
        "from tirx.layout import TileLayout",
        "kept = []",
    ]
    path.write_text("\n".join([*imports, *functions, ""]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for i, (statement, said) in enumerate(_SAID):
        kernel = tx.jit(f32[64, 64], f32[64, 64], i32, threads=128, target="sm_80")(getattr(module, f"k{i}"))
        with pytest.raises(tx.BuildError) as caught:
            _ = kernel.module
        assert str(caught.value).partition("error: ")[2].splitlines()[0] == said, statement
        assert caught.value.place[0] == f"{path}", statement


def _kept_in_a_loop(a: Any, n: Any) -> None:
    x, i = tx.zeros(f32, 64, 64), n * 0
    while i < n:
        i = i + 1
        if n is None:
            x = x + 1.0
    a[:, :] = x + i.to(f32)


def test_loops_do_not_carry_what_stays() -> None:
    text = str(tx.jit(f32[64, 64], i32, threads=32)(_kept_in_a_loop).module)
    assert re.search(r"scf\.while \(%\w+ = %\w+\) : \(i32\) -> i32", text), text


def _broadcast(a: Any, n: Any) -> None:
    a[:, :] = tx.zeros(f32, 1, 64).broadcast(64, 64)


def test_a_kernel_is_at_the_line_of_its_function() -> None:
    (kernel,) = tx.jit(f32[64, 64], i32, threads=32)(_broadcast).module.ops
    line = _broadcast.__code__.co_firstlineno
    assert str(kernel.location) == f'loc("{__file__}":{line}:1)'


def test_faults_of_the_library_are_none_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tirx.builder.tiles"], "extents_of", None)
    with pytest.raises(TypeError, match="'NoneType' object is not callable") as caught:
        _ = tx.jit(f32[64, 64], i32, threads=32)(_broadcast).module
    assert not isinstance(caught.value, tx.BuildError)


def test_names_of_python_are_no_dialects() -> None:
    with pytest.raises(AttributeError, match="^__wrapped__$"):
        _ = tx.op.__wrapped__
    with pytest.raises(AttributeError, match="^__wrapped__$"):
        _ = tx.op.tirx.__wrapped__
