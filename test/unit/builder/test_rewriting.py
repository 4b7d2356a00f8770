"""Kernels in Python that mean the same, what is bound where, and what loops keep: the builder at its edges."""

# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import ast
import functools
import importlib.util
import operator
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.builtin import f32 as f32_of_ir

import tirx as tx
from tirx import bf16, f16, f32, i32, index
from tirx.builder import calls, carried, rewrite
from tirx.builder.functions import conversion
from tirx.builder.operations import array_type
from tirx.builder.scalars import OPERATORS
from tirx.builder.views import _is_same_place
from tirx.dialects.tirx import MapOp

_HEAD = "import numpy as np\nimport tirx as tx\nfrom tirx import f16, f32, i32, index\nkept = []\n"

_COUNTED = ("tirx.map", "tirx.fill", "scf.for", "scf.while")
_SAME: list[tuple[str, str]] = [
    ("b[:, :] = tx.indices(0, 64, 64).reshape(64, 64).to(f32)",
     "b[:, :] = tx.indices(0, 64, 64).to(i32).reshape(64, 64).to(f32)"),
    ("m = a[:, :] > tx.full(f32, 0.5, 64, 64)\na[:, :] = 0.0\nb[:, :] = m.to(f32)",
     "x = a[:, :].load()\na[:, :] = 0.0\nb[:, :] = (x > 0.5).to(f32)"),
    ("x = a[0:1, :].load()\nb[0:1, :] = x[::2, :]", "x = a[0:1, :].load()\nb[0:1, :] = x"),
    ("x = a[:, :].load()\nb[0:1, :] = x[0, None, :]", "x = a[:, :].load()\nb[0:1, :] = x[0:1, :].reshape(1, 64)"),
    ("c[-1, :] = a[0, :]", "c[c.shape[0] + -1, :] = a[0, :]"),
    ("b[0:8, :] = a[0:8, :][:, :]", "b[0:8, :] = a[0:8, :].load()"),
    ("x = a[:, :].load()\nb[:, 0:1] = tx.op.tirx.reduce([x], combination='add', dims=[1], to=f32[64, 1].register)",
     "x = a[:, :].load()\nb[:, 0:1] = x.sum(1)"),
    ("k = max([1, 2])\nb[k, :] = a[0, :]", "b[2, :] = a[0, :]"),
    ("k = max(n, 2, 3)\nb[k, :] = a[0, :]", "k = tx.maximum(tx.maximum(n, 2), 3)\nb[k, :] = a[0, :]"),
    ("def min(x, y):\n    return x\nk = min(n, 3)\nb[k, :] = a[0, :]", "b[n, :] = a[0, :]"),
    ("for k in tx.tiles(64, 16):\n    b[k, :] = a[k, :]",
     "for i in tx.range(0, 64, 16):\n    k = tx.tile(i, 16)\n    b[k, :] = a[k, :]"),
    ("for k in tx.tiles(60, 16):\n    b[k, :] = a[k, :]",
     "for i in tx.range(0, 60, 16):\n    k = tx.tile(i, 16, end=60)\n    b[k, :] = a[k, :]"),
    ("for k in tx.tiles(n, 1):\n    b[k, :] = a[k, :]", "for k in tx.tiles(0, n, 1):\n    b[k, :] = a[k, :]"),
    ("for i in tx.range(n):\n    for f in [lambda x: x + 1.0]:\n        b[i, :] = f(a[i, :])",
     "for i in tx.range(n):\n    b[i, :] = a[i, :] + 1.0"),
    ("for i in tx.range(n):\n    fs = []\n    fs.append(lambda x: x + 1.0)\n    b[i, :] = fs[0](a[i, :])",
     "for i in tx.range(n):\n    b[i, :] = a[i, :] + 1.0"),
    ("d = {}\nfor i, d['j'] in [(0, 1), (2, 3)]:\n    b[i, :] = a[d['j'], :]",
     "b[0, :] = a[1, :]\nb[2, :] = a[3, :]"),
]  # fmt: skip
"""Statements of a kernel that make the same operations."""

_COUNTS: list[tuple[str, dict[str, int]]] = [
    ("b[:, :] = tx.where(a[:, 0:1] > 0.0, a[:, :], 0.0)", {"tirx.map": 1}),
    ("x = a[:, 0:1].load() + 1.0\nb[:, :] = a[:, :] + x", {"tirx.map": 2}),
    ("x = (a[:, :] + 1.0).load()\nb[:, :] = x + x", {"tirx.map": 2}),
    ("x = n\nfor i in tx.range(4):\n    x = x + 1\nb[x, :] = 1.0", {"scf.for": 1}),
    ("acc = tx.zeros(f32, 64, 64)\nfor i in tx.range(n):\n    acc += a[:, :] @ a[:, :].T\nb[:, :] = acc",
     {"scf.for": 1, "tirx.fill": 1}),
    ("acc = tx.zeros(f32, 64, 64)\ni = 0\nwhile i < 2:\n    acc += a[:, :] @ a[:, :].T\n    i += 1\nb[:, :] = acc",
     {"tirx.fill": 1}),
    ("acc = tx.zeros(f32, 64, 64)\nwhile n > 2:\n    acc += a[:, :] @ a[:, :].T\n    n -= 1\nb[:, :] = acc",
     {"tirx.fill": 1, "scf.while": 1}),
]  # fmt: skip
"""Statements, and how many maps, loops and fills they make."""


def _functions(path: Path, statements: list[str], arguments: str) -> ModuleType:
    functions = [
        f"def k{i}({arguments}):\n    " + statement.replace("\n", "\n    ") for i, statement in enumerate(statements)
    ]
    path.write_text(_HEAD + "\n".join([*functions, ""]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def _module(function: Any) -> Any:
    types = f32[64, 64], f32[64, 64], f32[None, 64], i32
    made = tx.jit(*types, threads=128, target="sm_80", name="k")(function).module
    made.verify()
    return made


def test_statements_that_are_the_same(tmp_path: Path) -> None:
    found = _functions(tmp_path / "same_for_the_builder.py", [each for pair in _SAME for each in pair], "a, b, c, n")
    for i, pair in enumerate(_SAME):
        one, other = (_module(getattr(found, f"k{2 * i + j}")) for j in range(2))
        assert one.is_structurally_equivalent(other), f"{pair[0]}\n{one}\n{other}"


def test_operations_of_statements(tmp_path: Path) -> None:
    found = _functions(tmp_path / "counts_of_the_builder.py", [row[0] for row in _COUNTS], "a, b, c, n")
    for i, (statement, counts) in enumerate(_COUNTS):
        names = Counter(op.name for op in _module(getattr(found, f"k{i}")).walk())
        assert {name: names[name] for name in _COUNTED if names[name]} == counts, statement


def test_functions_that_stand_indented() -> None:
    """Their lines are those of the file, as of others."""
    if True:

        def kernel(a: Any) -> None:
            a[:, :] = a[:, :] + 1.0

    module = tx.jit(f32[64, 64], threads=32, target="sm_80")(kernel).module
    lines = {op.location.line.data for op in module.walk() if isinstance(op, MapOp)}
    assert lines == {kernel.__code__.co_firstlineno + 1}


def test_names_of_what_loops_carry() -> None:
    def kernel(a: Any, n: Any) -> None:
        total = a[0, :].load()
        größe = n
        for i in tx.range(n):
            total = total + a[i, :]
            größe = größe + 1
        a[größe, :] = total

    module = tx.jit(f32[64, 64], i32, threads=32, target="sm_80")(kernel).module
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    assert [each.name_hint for each in loop.body.block.args[1:]] in (["total", None], [None, "total"])


@together(
    ("source", "stored"),
    [
        ("a = b", "a"),
        ("a, (b, *c) = d", "a b c"),
        ("a[b] = c.d = e", ""),
        ("def f(x):\n    y = 1", "f"),
        ("try:\n    a = 1\nexcept E as e:\n    b = 2", "a e b"),
        ("match x:\n    case [a, *b]:\n        pass\n    case {'k': c, **d}:\n        pass", "a b c d"),
        ("match x:\n    case int() as e:\n        pass", "e"),
        ("import a.b, c as d\nfrom e import f as g, h", "a d g h"),
        ("x = [a for a in (b := c)]", "x b"),
        ("x = {a: 1 for a in c if (d := a)}", "x d"),
        ("a = 1\na = 2", "a"),
        ("for a, b in c:\n    d = lambda e: (f := e)", "a b d"),
        ("with a as b:\n    c += 1", "b c"),
    ],
)  # fmt: skip
def test_names_that_statements_bind(source: str, stored: str) -> None:
    assert sorted(rewrite._stored(ast.parse(source).body)) == sorted(stored.split())


@together(
    ("source", "in_loop", "word"),
    [
        ("return 1", False, "return"),
        ("x = 1\nif a:\n    return", True, "return"),
        ("break", True, "break"),
        ("continue", True, "continue"),
        ("break", False, None),
        ("for a in b:\n    break", True, None),
        ("for a in b:\n    pass\nelse:\n    break", True, "break"),
        ("while a:\n    return", True, "return"),
        ("try:\n    pass\nexcept E:\n    break\n", True, "break"),
        ("try:\n    pass\nfinally:\n    continue\n", True, "continue"),
        ("global a", True, "global, nonlocal or del"),
        ("nonlocal a", True, "global, nonlocal or del"),
        ("del a", True, "global, nonlocal or del"),
        ("x = yield 1", True, "yield"),
        ("yield from a", True, "yield"),
        ("await a", True, "yield"),
        ("def f():\n    return 1", True, None),
        ("def f():\n    yield 1", True, None),
        ("class A:\n    break", True, None),
        ("x = lambda: (yield)", True, None),
        ("with a:\n    break", True, "break"),
        ("pass", True, None),
    ],
)
def test_statements_that_leave_a_body(source: str, in_loop: bool, word: str | None) -> None:
    assert rewrite._leaves(ast.parse(source).body, in_loop) == word


@together(
    ("source", "free"),
    [("lambda x: x + y", "y"), ("lambda: f(x, y=z)", "f x z"), ("lambda x: (lambda y: x + y + z)", "z"),
     ("lambda x=y: x", "y")],
)  # fmt: skip
def test_names_that_functions_read(source: str, free: str) -> None:
    function = ast.parse(source, mode="eval").body
    assert isinstance(function, ast.Lambda) and rewrite._free(function) == set(free.split())


@together(
    ("before", "after", "kind"),
    [
        (i32, tx.i1, None), (index, tx.i1, None), (f32, tx.i1, None), (f32, index, None), (tx.i1, index, None),
        (tx.u32, index, None), (index, f32, None), (i32, index, arith.IndexCastOp), (index, i32, arith.IndexCastOp),
        (f16, f32, arith.ExtFOp), (f32, bf16, arith.TruncFOp), (f32, i32, arith.FPToSIOp),
        (f32, tx.u32, arith.FPToUIOp),
        (i32, f32, arith.SIToFPOp), (tx.u32, f32, arith.UIToFPOp), (tx.i1, f32, arith.UIToFPOp),
        (i32, tx.i8, arith.TruncIOp), (tx.i8, i32, arith.ExtSIOp), (tx.u8, i32, arith.ExtUIOp),
        (tx.i1, i32, arith.ExtUIOp), (i32, tx.u32, arith.ExtSIOp),
    ],
)  # fmt: skip
def test_conversions(before: Any, after: Any, kind: Any) -> None:
    """Of one size nothing is converted: no operation has that kind then."""
    assert conversion(before, after) is kind


class _Object:
    def __init__(self, value: object):
        self.value = value


def test_what_a_loop_must_leave_as_it_is() -> None:
    one, circle = _Object(1), list[Any]()
    circle.append(circle)
    tile: Any = object()

    def same(before: Any, change: Any) -> bool:
        state = carried._state(before, {})
        change(before)
        return carried._stays(state, carried._state(before, {}))

    for value, change, stays in (
        ([1, [2, tile]], lambda x: None, True),
        ([1, [2]], lambda x: x[1].append(3), False),
        ([1, [2]], lambda x: x[1].__setitem__(0, 3), False),
        ({"a": [1]}, lambda x: x["a"].append(2), False),
        ({"a": 1}, lambda x: x.update(b=2), False),
        ({"a": 1, "b": 2}, lambda x: (x.pop("b"), x.update(c=2)), False),
        ({"a": 1}, lambda x: x.update(a=1), True),
        ({1}, lambda x: x.add(2), False),
        (_Object([1]), lambda x: x.value.append(2), False),
        (_Object([1]), lambda x: setattr(x, "more", 2), False),
        (_Object([1]), lambda x: None, True),
        ([_Object(1)], lambda x: setattr(x[0], "value", [1]), False),
        ([{"a": 1}], lambda x: x.__setitem__(0, [1]), False),
        ([[1]], lambda x: x.__setitem__(0, {"a": 1}), False),
        (circle, lambda x: None, True),
        ((1, 2), lambda x: None, True),
        ([same], lambda x: None, True),
        ([np.zeros(2)], lambda x: x[0].fill(1), True),
        (one, lambda x: None, True),
    ):
        assert same(value, change) is stays, value


def test_places_that_are_the_same() -> None:
    large, i = int("1000000"), object()
    assert _is_same_place(large, int("1000000")) and _is_same_place(i, i) and _is_same_place(3, 3)
    for a, b in ((3, 4), (large, float(large)), (i, object()), (slice(None), 3), (3, slice(None))):
        assert not _is_same_place(a, b)
    for place in (slice(1, 2, 3), slice(None), slice(i, None)):
        assert _is_same_place(place, slice(place.start, place.stop, place.step))
    for place in (slice(1, 2), slice(1, 3, 3), slice(0, 2, 3)):
        assert not _is_same_place(slice(1, 2, 3), place)


def test_types_of_arguments() -> None:
    array = np.zeros((4, 8, 1), np.float32)
    for given, expected in (
        (3, i32), (True, i32), (0.5, f32), (np.float16(2), f16), (np.zeros(()), tx.f64),
        (array, f32[None, None, None]), (array[:, ::2], f32[None, None, None].strided(None, None, 1)),
        (array[:1], f32[None, None, None]), (array.transpose(1, 0, 2), f32[None, None, None].strided(1, None, 1)),
    ):  # fmt: skip
        assert calls.type_of_array(given) == expected
    for given in (object(), "x", Counter(shape=3)):
        with pytest.raises(tx.BuildError, match="^.*expected an array or a number as an argument, found "):
            calls.type_of_array(given)
    assert array_type(MemRefType(f32_of_ir, [0, -1, 2])).shape == (0, None, 2)


def test_located_errors_keep_the_innermost_place() -> None:
    def kernel(a: Any) -> None:
        with tx.located("outer.toy", 1):
            a[:, :] = a[:, :] + 1.0
            with tx.located("inner.toy", 2):
                a[:, :] = a[:, 0:3]

    with pytest.raises(tx.BuildError) as caught:
        _ = tx.jit(f32[64, 64], threads=32, target="sm_80")(kernel).module
    assert caught.value.location is not None and "inner.toy" in str(caught.value.location)


def test_signs_of_functions() -> None:
    for name, sign in OPERATORS.items():
        function = getattr(operator, name, None) or getattr(operator, f"{name}_")
        for x, y in ((7, 2), (2, 7), (3, 3)):
            assert eval(f"{x} {sign} {y}") == function(x, y)


def test_launches_that_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of too many kinds of calls are forgotten at once; one whose arguments have no key is not kept."""
    monkeypatch.setattr(calls, "READY_LIMIT", 2)
    monkeypatch.setattr(calls, "device_target", lambda: "sm_90a")
    made = calls.Calls(Mock(), ["n"], [i32], None, "", None, {"K": [4], "M": [1, 2]})
    assert made._candidates.keys() == {"M"}
    launcher = SimpleNamespace(keys={int: lambda x: x}, ready={(None, n): f"launch {n}" for n in (1, 2, 3)})
    compiled = Mock(return_value="result", launcher=launcher)
    monkeypatch.setattr(made, "compiled", Mock(return_value=compiled))
    for given, constants, ready in (
        (1, {}, {(1,): "launch 1"}),
        (2, {"K": 8}, {(1,): "launch 1", (2, "K", 8): "launch 2"}),
        (0.5, {}, {(1,): "launch 1", (2, "K", 8): "launch 2"}),
        (3, {}, {(3,): "launch 3"}),
        (4, {}, {(3,): "launch 3"}),
    ):
        assert made([given], constants, 7) == "result" and made.ready == ready
    compiled.assert_called_with(4, stream=7)


def test_functions_that_are_renamed_or_wrapped() -> None:
    """The source is that of the code which runs, and the kernel has the name that the function has now."""

    def doubled(a: tx.Array) -> None:
        for i in tx.tiles(64, 16):
            a[i, :] = a[i, :] * 2.0

    @functools.wraps(doubled)
    def around(a: tx.Array) -> None:
        for i in tx.tiles(32, 16):
            a[i, :] = 1.0
        tx.fn(doubled)(a)

    assert str(tx.jit(f32[64, 64], threads=32)(around).module).count("scf.for") == 2
    doubled.__name__ = "doubled_f32"
    assert "tirx.kernel @doubled_f32(" in str(tx.jit(f32[64, 64], threads=32)(doubled).module)
