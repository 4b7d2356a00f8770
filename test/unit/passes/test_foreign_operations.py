"""Operations of other dialects inside kernels: interfaces, what is assumed without one, and messages about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from toy_dialect import TOY, RowsOp, TwiceOp
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f64

from tirx import embed
from tirx.diagnostics import Diagnostic, LocatedError, position
from tirx.dialects.ptx import ElectSyncOp, PureInstruction
from tirx.dialects.tirx import BarrierOp, RingOp, kernels
from tirx.dialects.tirx.interface import TileEffects, errors_of_guest, tile_effects
from tirx.layout import LayoutError, TileLayout
from tirx.passes import lower_to_ptx_passes
from tirx.passes.checks.tirx_check_layouts import TirxCheckLayoutsPass
from tirx.passes.copies.tirx_insert_barriers import TirxInsertBarriersPass
from tirx.ptx.printer import print_ptx
from tirx.runtime.describe import describe
from tirx.runtime.program import Program
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context


def _context() -> Context:
    context = new_context(allow_unregistered=True)
    context.load_dialect(TOY)
    return context


def _build(text: str) -> Program:
    context = _context()
    module = parse_located(context, text, "toy.mlir")
    run_passes(context, module, lower_to_ptx_passes().passes)
    return Program(print_ptx(module), describe(module))


_R, _S, _G = (f"!tirx.tile<64x32xf32, {scope}>" for scope in ("register", "shared", "global"))


def _kernel(body: str, target: str = "sm_80", threads: int = 64) -> str:
    return f"""
tirx.kernel @k(%a: memref<64x32xf32>, %d: memref<64x32xf32>) target("{target}") grid(1) threads({threads}) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x32xf32> -> {_G}
  %gd = tirx.view %d[%c0, %c0] : memref<64x32xf32> -> {_G}
{body}
  tirx.return
}}
"""


def _run(body: str, threads: int = 64) -> tuple[np.ndarray, np.ndarray]:
    a = np.arange(-1024, 1024, dtype=np.float32).reshape(64, 32)
    d = np.zeros_like(a)
    _build(_kernel(body, threads=threads)).kernels["k"].simulate(a, d, check="strict")
    return a, d


def test_a_value_of_registers() -> None:
    a, d = _run(f"""
  %x = tirx.alloc : {_R}
  tirx.copy %ga, %x : {_G}, {_R}
  %y = toy.relu %x : {_R} -> {_R}
  tirx.copy %y, %gd : {_R}, {_G}""")
    assert np.array_equal(d, np.maximum(a, 0))


def test_layouts_that_an_operation_asks_for() -> None:
    a, d = _run(f"""
  %x = tirx.alloc : {_R}
  tirx.copy %ga, %x : {_G}, {_R}
  %z = toy.relu %x : {_R} -> {_R}
  %y = toy.rows %z : {_R} -> {_R}
  tirx.copy %y, %gd : {_R}, {_G}""")
    assert np.array_equal(d, np.maximum(a, 0) + np.arange(64, dtype=np.float32)[:, None])


def test_a_layout_that_is_not_the_one_asked_for_is_changed() -> None:
    other = "!tirx.tile<64x32xf32, register, #tirx.tile_layout<S[(8, 8, 8, 4) : (4, 8@tx, 1@tx, 1)]>>"
    body = f"""
  %x = tirx.alloc : {other}
  tirx.copy %ga, %x : {_G}, {other}
  %y = toy.rows %x : {other} -> {_R}
  tirx.copy %y, %gd : {_R}, {_G}"""
    a, d = _run(body)
    assert np.array_equal(d, a + np.arange(64, dtype=np.float32)[:, None])


def test_layouts_of_what_a_loop_carries() -> None:
    """Operand and result are of one class, which gets its layout at once."""
    a, d = _run(f"""
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %x = tirx.load %ga : {_G} -> {_R}
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%z = %x) -> ({_R}) {{
    %w = toy.rows %z : {_R} -> {_R}
    scf.yield %w : {_R}
  }}
  tirx.copy %y, %gd : {_R}, {_G}""")
    assert np.array_equal(d, a + 3 * np.arange(64)[:, None])


def _nothing(op: Any, threads: Any) -> Any:
    return []


def _forgotten(op: Any, threads: Any) -> Any:
    return None


def _names(op: Any, threads: Any) -> Any:
    return [["x"]]


def _too_few(op: Any, threads: Any) -> Any:
    return [threads.registers(op.source)[1:]]


def _integers(op: Any, threads: Any) -> Any:
    return [[threads.thread] * 32]


def _faulty(op: Any, threads: Any) -> Any:
    raise KeyError("mine")


def _no_layout(op: Any, target: Any) -> Any:
    return {op.source: TileLayout.parse("S[(64, 32) : (1@nowhere, 1)]")}


def _half(op: Any, target: Any) -> Any:
    return {op.source: TileLayout("S[(64, 16) : (1@tx, 1)]")}


def _wide(op: Any, target: Any) -> Any:
    wide = arith.ExtFOp(op.operand, f64)
    return [wide], wide.result


def test_a_note_says_who_asks_for_a_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = TileLayout.parse("S[(64, 32) : (1@tx, 1)]")
    monkeypatch.setattr(RowsOp, "wanted_layouts", lambda op, target: {op.source: layout, op.result: layout})  # pyright: ignore
    text = f"""
  %x = tirx.load %ga : {_G} -> {_R}
  %y = toy.rows %x : {_R} -> {_R}
  tirx.copy %y, %gd : {_R}, {_G}"""
    with pytest.raises(LocatedError, match="expected a register tile within the 32 threads") as found:
        _build(_kernel(text, threads=32))
    (note,) = found.value.notes
    assert note.message == "'toy.rows' asks for its layout" and position(note.location) == ("toy.mlir", 8, 8)


def test_what_an_instruction_needs_exists() -> None:
    with pytest.raises(TypeError, match=r"Own: expected rows of tirx\.hw\.features\.FEATURES, found 'warp\.core'"):
        type("Own", (PureInstruction,), {"name": "own.i", "NEEDS": ("warp.core",)})


def test_what_an_instruction_needs_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline says it, not only who prints PTX."""

    def elected(op: RowsOp, threads: Any) -> Any:
        threads.insert(ElectSyncOp())
        return [threads.registers(op.source)]

    monkeypatch.setattr(RowsOp, "lower", elected)
    text = f"""
  %x = tirx.load %ga : {_G} -> {_R}
  %y = toy.rows %x : {_R} -> {_R}
  %z = tirx.map ins(%y : {_R}) {{
  ^bb0(%e: f32):
    %s = ptx.inline "tanh.approx.f32 $0, $1;" (%e) needs ["f32.tanh"] : (f32) -> f32
    %t = ptx.inline "tanh.approx.f32 $0, $1;" (%s) needs ["cluster"] : (f32) -> f32
    tirx.yield %t : f32
  }} -> {_R}
  tirx.copy %z, %gd : {_R}, {_G}"""
    context = _context()
    module, found = parse_located(context, _kernel(text), "toy.mlir"), list[Diagnostic]()
    assert not embed.run(module, lower_to_ptx_passes().passes, context=context, on_diagnostic=found.append)
    errors = [each for each in found if each.severity == "error"]
    assert [(each.position, each.rule, each.message.partition(";")[0]) for each in errors] == [
        (("toy.mlir", 8, 8), "target-feature", "'ptx.elect.sync' needs elect.sync, which sm_80 lacks"),
        (("toy.mlir", 12, 10), "target-feature", "'ptx.inline' needs cluster, which sm_80 lacks"),
    ]


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("lower", _nothing, "expected the registers of 1 results of 'lower' of 'toy.rows', found 0"),
        (
            "lower",
            _forgotten,
            "expected 'lower' of 'toy.rows' to return a list of the registers of each result, found None",
        ),
        ("lower", _faulty, r"'lower' of 'toy.rows' raised KeyError: 'mine' \(.*test_foreign_operations.py:\d+\)"),
        ("lower_scalar", _faulty, "'lower_scalar' of 'toy.twice' raised KeyError: 'mine'"),
        ("wanted_layouts", _no_layout, "'wanted_layouts' of 'toy.rows' raised LayoutError: .*nowhere"),
        ("lower", _names, "expected 'lower' of 'toy.rows' to return 32 of f32 for result 0, found 1 of str"),
        (
            "lower_scalar",
            _forgotten,
            "'lower_scalar' of 'toy.twice' to return a list of operations and a value, found None",
        ),
        ("lower", _too_few, "expected 'lower' of 'toy.rows' to return 32 of f32 for result 0, found 31 of f32"),
        ("lower", _integers, "expected 'lower' of 'toy.rows' to return 32 of f32 for result 0, found 32 of i32"),
        ("wanted_layouts", _half, "'toy.rows': expected a layout of 2048 elements for a 64x32 tile, found one of 1024"),
        ("lower_scalar", _nothing, "'lower_scalar' of 'toy.twice' to return a list of operations and a value, found"),
        ("lower_scalar", _wide, "expected 'lower_scalar' of 'toy.twice' to return 1 of f32 .*, found 1 of f64"),
    ],
)
def test_answers_that_are_no_answers(
    method: str, answer: Callable[[Any, Any], Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = TwiceOp if method == "lower_scalar" else RowsOp
    monkeypatch.setattr(kind, method, answer)
    monkeypatch.setattr(kind, "__module__", answer.__module__)
    text = f"""
  %x = tirx.load %ga : {_G} -> {_R}
  %y = toy.rows %x : {_R} -> {_R}
  %z = tirx.map ins(%y : {_R}) {{
  ^bb0(%e: f32):
    %s = toy.twice %e : f32
    tirx.yield %s : f32
  }} -> {_R}
  tirx.copy %z, %gd : {_R}, {_G}"""
    with pytest.raises(LocatedError, match=f"toy.mlir:.*{message}"):
        _build(_kernel(text))


def test_an_operation_in_shared_memory_is_synchronised() -> None:
    a, d = _run(f"""
  %x = tirx.alloc : {_S}
  tirx.copy %ga, %x : {_G}, {_S}
  toy.negate %x : {_S}
  tirx.copy %x, %gd : {_S}, {_G}""")
    assert np.array_equal(d, -a)


def test_a_scalar_in_a_map() -> None:
    a, d = _run(f"""
  %x = tirx.alloc : {_R}
  tirx.copy %ga, %x : {_G}, {_R}
  %y = tirx.map ins(%x : {_R}) {{
  ^bb0(%e: f32):
    %t = toy.twice %e : f32
    %u = toy.twice %t : f32
    tirx.yield %u : f32
  }} -> {_R}
  tirx.copy %y, %gd : {_R}, {_G}""")
    assert np.array_equal(d, 4 * a)


def _after(name: str, text: str) -> ModuleOp:
    context = _context()
    module = parse_located(context, text, "toy.mlir")
    names = [p.name for p in lower_to_ptx_passes().passes]
    run_passes(context, module, lower_to_ptx_passes().passes[: names.index(name) + 1])
    return module


def _barriers(module: ModuleOp) -> int:
    return sum(isinstance(op, BarrierOp) for kernel in kernels(module) for op in kernel.walk())


@pytest.mark.parametrize(
    ("operation", "barriers"),
    [
        (f'"their.op"(%x) : ({_S}) -> ()', 2),
        (f'"their.op"(%x) ({{ "their.inner"() : () -> () }}) : ({_S}) -> ()', 2),
        (f'"their.op"() ({{ "their.inner"(%x) : ({_S}) -> () }}) : () -> ()', 2),
        ('"their.op"() : () -> ()', 1),
        (f"tirx.copy %x, %gd : {_S}, {_G}", 2),
        (f'tirx.copy %x, %gd : {_S}, {_G}\n  "their.op"(%d) : (memref<64x32xf32>) -> ()', 3),
    ],
)
def test_unknown_operations_read_and_write_all_that_they_are_given(operation: str, barriers: int) -> None:
    """One barrier stands between the two copies in any case."""
    module = _after(
        "tirx-insert-barriers",
        _kernel(f"""
  %x = tirx.alloc : {_S}
  tirx.copy %ga, %x : {_G}, {_S}
  {operation}
  tirx.copy %x, %gd : {_S}, {_G}"""),
    )
    assert _barriers(module) == barriers


@pytest.mark.parametrize(("operation", "barriers"), [("", 0), ("toy.clear %d : memref<?x512xf32>", 2)])
def test_a_tile_loop_writes_more_than_its_views(operation: str, barriers: int) -> None:
    """Iterations that write other views need no barrier between them, unless something else writes the memref."""
    module = parse_located(
        _context(),
        f"""
tirx.kernel @k(%d: memref<?x512xf32>, %n: index) target("sm_90") grid(1) threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = tirx.zero : !tirx.tile<64x64xf32, register>
  scf.for %t = %c0 to %n step %c1 {{
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {{tirx.tile_coordinate = 0 : i32}} : i32 to index
    %j = arith.index_cast %t32 {{tirx.tile_coordinate = 1 : i32}} : i32 to index
    %m = arith.muli %i, %c64 : index
    %at = arith.muli %j, %c64 : index
    %g = tirx.view %d[%m, %at] : memref<?x512xf32> -> !tirx.tile<64x64xf32, global>
    tirx.store %v, %g : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, global>
    {operation}
  }}
  tirx.return
}}
""",
    )
    TirxInsertBarriersPass().apply(_context(), module)
    assert _barriers(module) == barriers


def test_a_loop_with_an_unknown_operation_stays_sequential() -> None:
    def rings(inside: str) -> int:
        text = f"""
tirx.kernel @k(%a: memref<64x256xf32>, %d: memref<64x32xf32>) target("sm_80") grid(1) threads(64) {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %gd = tirx.view %d[%c0, %c0] : memref<64x32xf32> -> {_G}
  %s = tirx.alloc : {_S}
  scf.for %i = %c0 to %c256 step %c32 {{
    %ga = tirx.view %a[%c0, %i] : memref<64x256xf32> -> {_G}
    tirx.copy %ga, %s : {_G}, {_S}
    {inside}
    tirx.copy %s, %gd : {_S}, {_G}
  }}
  tirx.return
}}"""
        module = _after("tirx-pipeline-loops", text)
        return sum(isinstance(op, RingOp) for kernel in kernels(module) for op in kernel.walk())

    assert rings("") == 1
    assert rings(f'"their.op"(%s) : ({_S}) -> ()') == 0
    assert rings('"their.op"(%a) : (memref<64x256xf32>) -> ()') == 0
    assert rings('"their.op"() ({ "their.inner"(%a) : (memref<64x256xf32>) -> () }) : () -> ()') == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            f'"their.op"(%x) : ({_R}) -> ()',
            (
                r"^toy\.mlir:9:3: error: expected 'their\.op' not to write !tirx\.tile<64x32xf32, register>: "
                "register tiles are values; let it return a new one and be Pure, give it a TileOpInterface, "
                r"or lower it before tirx-mem2reg \[foreign-operation\]$"
            ),
        ),
        (
            f'%y = "their.op"() : () -> {_S}',
            (
                r"^toy\.mlir:9:8: error: expected tiles in memory of tirx\.alloc, tirx\.view and views of "
                r"these, found !tirx\.tile<64x32xf32, shared> of 'their\.op'; give it the tile as an operand "
                r"\[foreign-operation\]$"
            ),
        ),
        (
            f'"their.op"(%ga) : ({_G}) -> ()',
            (
                r"^toy\.mlir:9:3: error: expected no tiles after lowering, found !tirx\.tile<64x32xf32, "
                r"global, #tirx\.tile_layout<S\[\(64, 32\) : \(32, 1\)\]>> on 'their\.op'; lower it before "
                r"convert-tirx-to-ptx, or give it a TileOpInterface \[stage-skipped\]$"
            ),
        ),
        (
            '"their.op"(%a) : (memref<64x32xf32>) -> ()',
            "expected only 'tirx.view', 'memref.load' and 'memref.store' on a memref argument, found 'their.op'",
        ),
        ('%y = "their.op"(%c0) : (index) -> index', "no PTX form for 'their.op'"),
        ('%y = "their.op"(%c0) : (index) -> !their.type', "no PTX form for 'their.op'"),
    ],
)
def test_errors_name_the_operation_that_was_written(line: str, message: str) -> None:
    text = _kernel(f"""
  %x = tirx.alloc : {_R}
  tirx.copy %ga, %x : {_G}, {_R}
  {line}
  tirx.copy %x, %gd : {_R}, {_G}""")
    with pytest.raises(LocatedError, match=message) as caught:
        _build(text)
    at = caught.value.diagnostic.position
    assert at is not None and at[1] == 1 + text[: text.index(line)].count("\n")


def test_layouts_that_operations_of_others_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = f"{_R[:-1]}, #tirx.tile_layout<S[(2, 32, 32) : (1@warpid, 1@laneid, 1)]>>"
    rows = _kernel(f"%x = tirx.zero : {columns}\n%y = toy.rows %x : {columns} -> {columns}")

    def refuse(op: RowsOp) -> None:
        raise LayoutError("expected another layout")

    monkeypatch.setattr(RowsOp, "check_layouts", refuse)
    with pytest.raises(LocatedError, match="'toy.rows': expected another layout"):
        _build(rows)
    monkeypatch.undo()
    turned = rows.replace("1@warpid, 1@laneid", "1@laneid, 1@warpid").replace("(2, 32, 32)", "(32, 2, 32)")
    assert _build(turned)  # tirx-pick-layouts converts
    module = parse_located(_context(), turned, "toy.mlir")
    with pytest.raises(LocatedError, match="expected a tile of layout .* for 'toy.rows', found S"):
        TirxCheckLayoutsPass().apply(_context(), module)


def test_a_pure_operation_writes_nothing() -> None:
    module = parse_located(
        _context(),
        """
func.func @f(%p: i1, %a: memref<4xf32>, %b: memref<4xf32>) {
  %s = arith.select %p, %a, %b : memref<4xf32>
  "other.op"(%a, %p) : (memref<4xf32>, i1) -> ()
  func.return
}""",
        "f.mlir",
    )
    select, other = (
        next(op for op in module.walk() if op.name == name) for name in ("arith.select", "builtin.unregistered")
    )
    assert tile_effects(select) == TileEffects(tuple(select.operands[1:]), ())
    assert tile_effects(other) == TileEffects(tuple(other.operands[:1]), tuple(other.operands[:1]))


def test_errors_that_are_not_of_the_guest() -> None:
    """Errors that own operations raise are internal, and so are those that no line of the guest raises."""
    own, guest = BarrierOp(), RowsOp.create()
    for op, error in ((own, ValueError("odd")), (own, KeyError("odd")), (guest, KeyError("odd"))):
        with pytest.raises(type(error)) as caught, errors_of_guest(op, "lower"):
            raise error
        assert caught.value is error
    with (
        pytest.raises(LocatedError, match="'lower' of 'toy.rows' raised ValueError: odd "),
        errors_of_guest(guest, "lower"),
    ):
        raise ValueError("odd")
