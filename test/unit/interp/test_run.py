"""
Kernels that are run: what has no result and where, orders of blocks, and bounds of errors.

`test_language.py` runs the programs of the page of the language, which has every operation of the tile level.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.interpreter import Interpreter
from xdsl.tools.xdsl_run import xDSLRunMain
from xdsl.utils.exceptions import InterpretationError

from tirx import embed
from tirx.dialects.formula import Call
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.dialects.tirx import KernelOp, kernels
from tirx.interp import KernelFunctions, Ran, RunError, can_run, run_kernel
from tirx.interp.numbers import UndefinedValue
from tirx.interp.products import SPARSE_CODES, expanded

_TILE = "!tirx.tile<4xf32, global>"
_REGISTERS = "!tirx.tile<4xf32, register>"


def kernel_of(body: str, arguments: str = "%a: memref<8xf32>, %d: memref<8xf32>", clauses: str = "grid(2)") -> KernelOp:
    lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
    constants = "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c4 = arith.constant 4 : index\n"
    text = f"tirx.kernel @k({arguments}) {clauses} threads(32) {{\n{constants}{lines}\n  tirx.return\n}}"
    (found,) = kernels(embed.parse(text, "k.mlir"))
    return found


_OWN = f"""
%i = tirx.block_id x
%m = arith.muli %i, %c4 : index
%ga = tirx.view %a[%m] : memref<8xf32> -> {_TILE}
%gd = tirx.view %d[%m] : memref<8xf32> -> {_TILE}
"""
"""The tiles of a block of four elements."""

_LOAD = f"%x = tirx.load %ga : {_TILE} -> {_REGISTERS}\n"
_STORE = f"tirx.store %x, %gd : {_REGISTERS}, {_TILE}\n"
_FIRST = _OWN.replace("%d[%m]", "%d[%c0]")


def run_on(kernel: KernelOp, *arguments: Any, **options: Any) -> Ran:
    return run_kernel(kernel, arguments, **options)


def error_of(kernel: KernelOp, *arguments: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(RunError) as caught:
        run_on(kernel, *(arguments or (np.arange(8, dtype=np.float32), np.zeros(8, np.float32))), **options)
    return caught.value.kind, str(caught.value)


def test_blocks_write_their_tiles() -> None:
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    for seed in (None, 1, 2):
        d[...] = 0
        assert run_on(kernel_of(_OWN + _LOAD + _STORE), a, d, seed=seed).exact
        np.testing.assert_array_equal(d, a)


def test_casts_keep_the_order_of_elements() -> None:
    """Behind passes that see a tile in other extents, what follows has those."""
    wide = "!tirx.tile<1x2x2xf32, register>"
    kernel = kernel_of(f"""
    {_OWN}{_LOAD}%y = builtin.unrealized_conversion_cast %x : {_REGISTERS} to {wide}
    %z = tirx.scan ins(%y : {wide}) dim(1) (%p, %q) {{ %p + %q }} -> {wide}
    %w = builtin.unrealized_conversion_cast %z : {wide} to {_REGISTERS}
    tirx.store %w, %gd : {_REGISTERS}, {_TILE}
    """)
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run_on(kernel, a, d)
    np.testing.assert_array_equal(d.reshape(2, 2, 2), np.cumsum(a.reshape(2, 2, 2), axis=1))


def test_blocks_that_disagree() -> None:
    kind, message = error_of(kernel_of(_FIRST + _LOAD + _STORE))
    assert kind == "conflict"
    assert message.startswith("k.mlir:10:3: expected blocks that write one element to write the same number, found")
    a, d = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel = kernel_of(_FIRST + _LOAD + _STORE)
    run_on(kernel, a, d)
    assert d.tolist() == [1.0] * 4 + [0.0] * 4
    for op in (kernel.parent_op(), *kernel.walk()):
        assert op is not None
        op.location = UnknownLoc()
    assert error_of(kernel)[1].startswith("expected blocks that write one element to write the same number, found")


def test_blocks_that_read_what_others_write() -> None:
    read = f"%gr = tirx.view %d[%c4] : memref<8xf32> -> {_TILE}\n%y = tirx.load %gr : {_TILE} -> {_REGISTERS}\n"
    assert error_of(kernel_of(_OWN + _LOAD + _STORE + read))[0] == "conflict"


def test_outside_of_a_memref() -> None:
    kind, message = error_of(kernel_of(_OWN, clauses="grid(3)"))
    assert kind == "bounds"
    assert message == ("k.mlir:7:9: expected a tile inside of 8 elements along dimension 0, found elements 8 to 11")


def test_clipped_tiles_read_zeros_and_drop_what_is_outside() -> None:
    text = (_OWN + _LOAD + _STORE).replace("%a[%m]", "%a[%n] clipped").replace("%d[%m]", "%d[%p] clipped")
    offsets = "%n = arith.addi %m, %c1 : index\n%p = arith.subi %m, %c1 : index\n"
    a, d = np.arange(8, dtype=np.float32), np.full(8, 9.0, np.float32)
    run_on(kernel_of(text.replace("%ga =", f"{offsets}%ga =")), a, d)
    assert d.tolist() == [2, 3, 4, 5, 6, 7, 0, 9]


@together(
    ("start", "part", "expected"), [(4, 2, [6, 7, 0, 0]), (-2, 1, [0, 0, 1, 2]), (4, 4, [0] * 4), (-6, 1, [0] * 4)]
)
def test_parts_of_clipped_tiles(start: int, part: int, expected: list[int]) -> None:
    body = f"""
        %n = arith.constant {start} : index
        %t = tirx.view %a[%n] clipped : memref<8xf32> -> !tirx.tile<8xf32, global>
        %u = tirx.subview %t[{part}] : !tirx.tile<8xf32, global> -> {_TILE}
        %x = tirx.load %u : {_TILE} -> {_REGISTERS}
        %gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
    """
    d = np.full(8, 9.0, np.float32)
    run_on(kernel_of(body + _STORE, clauses="grid(1)"), np.arange(8, dtype=np.float32), d)
    assert d[:4].tolist() == expected


_HANDED_ON = f"""
%i = tirx.block_id x
%one = arith.constant 1 : i32
%first = arith.cmpi eq, %i, %c0 : index
scf.if %first {{
  %ga = tirx.view %a[%c0] : memref<8xf32> -> {_TILE}
  %gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
  {_LOAD}  tirx.store %x, %gd : {_REGISTERS}, {_TILE}
  tirx.signal %flags[%c0], %one : memref<?xi32>
}} else {{
  %seen = tirx.wait_until %flags[%c0] sge, %one : memref<?xi32>
  %gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
  %y = tirx.load %gd : {_TILE} -> {_REGISTERS}
  %ge = tirx.view %d[%c4] : memref<8xf32> -> {_TILE}
  tirx.store %y, %ge : {_REGISTERS}, {_TILE}
}}
"""
"""The second block hands on what the first one has written, behind a flag."""


def test_flags_order_blocks() -> None:
    """A wait is over once another block has posted, whichever begins; without, the blocks clash, or wait for ever."""
    arguments = "%a: memref<8xf32>, %d: memref<8xf32>, %flags: memref<?xi32>"
    for seed in (None, 0, 1, 2):
        a, d, flags = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
        assert run_on(kernel_of(_HANDED_ON, arguments, "grid(2) in_order"), a, d, flags, seed=seed).exact
        assert d.tolist() == [0, 1, 2, 3, 0, 1, 2, 3] and flags.tolist() == [1]
    post = "  tirx.signal %flags[%c0], %one : memref<?xi32>\n"
    wait = "  %seen = tirx.wait_until %flags[%c0] sge, %one : memref<?xi32>\n"
    for line, kind in ((wait, "conflict"), (post, "wait")):
        given = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
        assert error_of(kernel_of(_HANDED_ON.replace(line, ""), arguments, "grid(2) in_order"), *given)[0] == kind
    early = _HANDED_ON.replace(post, "").replace("  tirx.store %x", f"{post}  tirx.store %x")
    given = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
    assert error_of(kernel_of(early, arguments, "grid(2) in_order"), *given)[0] == "conflict"


_TOGETHER = f"""
%i = tirx.block_id x
%one = arith.constant 1 : i32
%three = arith.constant 3 : i32
%ga = tirx.view %a[%c0] : memref<8xf32> -> {_TILE}
%gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
{_LOAD}tirx.store %x, %gd reduce(add) : {_REGISTERS}, {_TILE}
tirx.signal add %flags[%c0], %one : memref<?xi32>
%seen = tirx.wait_until %flags[%c0] sge, %three : memref<?xi32>
%y = tirx.load %gd : {_REGISTERS.replace("register", "global")} -> {_REGISTERS}
%last = arith.cmpi eq, %i, %c1 : index
scf.if %last {{
  tirx.store %y, %ga : {_REGISTERS}, {_TILE}
}}
"""
"""Three blocks read a tile and add to another one; behind a barrier they read the sums; one writes what all read."""


def test_flags_order_all_blocks() -> None:
    """Accesses of several blocks are ordered behind a barrier of all of them, and only there."""
    arguments = "%a: memref<8xf32>, %d: memref<8xf32>, %flags: memref<?xi32>"
    for seed in (None, 0, 1, 2):
        a, d, flags = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
        run_on(kernel_of(_TOGETHER, arguments, "grid(3) cooperative"), a, d, flags, seed=seed)
        assert a.tolist() == [0, 3, 6, 9, 4, 5, 6, 7] and d.tolist() == [0, 3, 6, 9, 0, 0, 0, 0]
    early = _TOGETHER.replace("constant 3", "constant 2")  # leaves out the third
    given = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
    assert error_of(kernel_of(early, arguments, "grid(3) cooperative"), *given)[0] == "conflict"


def test_flags_wrap() -> None:
    flags = np.full(1, 2**31 - 1, np.int32)
    body = "%two = arith.constant 2 : i32\ntirx.signal add %flags[%c0], %two : memref<?xi32>\n"
    run_on(kernel_of(body, "%flags: memref<?xi32>", "grid(1)"), flags)
    assert flags.tolist() == [1 - 2**31]


def test_what_was_never_written() -> None:
    """The operation that reads it is named, where it comes to an argument, and not where it is left out."""
    slot = "!tirx.tile<4xf32, shared>"
    load = f"%s = tirx.alloc : {slot}\n%x = tirx.load %s : {slot} -> {_REGISTERS}\n"
    kind, message = error_of(kernel_of(_OWN + load + _STORE))
    assert kind == "never-written" and message.startswith("k.mlir:10:8: expected elements that have been written")
    a, d = np.ones(8, np.float32), np.zeros(8, np.float32)
    run_on(kernel_of(_OWN + load), a, d)
    chosen = f"%t = arith.constant true\n%z = tirx.zero : {_REGISTERS}\n%y = arith.select %t, %z, %x : {_REGISTERS}\n"
    run_on(kernel_of(_OWN + load + chosen + _STORE.replace("%x", "%y")), a, d)


@pytest.mark.parametrize(("lost", "kind"), [("a", "f16"), ("b", "f16"), ("c", "f32")])
def test_products_of_what_was_never_written(lost: str, kind: str) -> None:
    """Rows of A, rows of B (columns of the result) and sums that are unknown stay so in what is computed of them."""
    shared, known = f"!tirx.tile<16x16x{kind}, shared>", f"!tirx.tile<8x16x{kind}, shared>"
    loaded = {name: f"%{name} = tirx.zero : !{name}" for name in "abc"}
    loaded[lost] = f"%{lost} = tirx.load %s : {shared} -> !{lost}"
    part, second = ("16x8", "%c0, %c8") if lost == "b" else ("8x16", "%c8, %c0")

    def run(at: str) -> Sequence[Any]:
        text = f"""
          !a = !tirx.tile<16x16xf16, register>
          !b = !tirx.tile<16x16xf16, register>
          !c = !tirx.tile<16x16xf32, register>
          tirx.kernel @k(%d: memref<16x16xf32>) target("sm_80") grid(1) threads(32) {{
            %c0 = arith.constant 0 : index
            %c8 = arith.constant 8 : index
            %zero = arith.constant 0.0 : {kind}
            %s = tirx.alloc : {shared}
            %half = tirx.subview %s[%c0, %c0] : {shared} -> {known}
            tirx.fill %half, %zero : {kind}, {known}
            {loaded["a"]}
            {loaded["b"]}
            {loaded["c"]}
            %r = tirx.mma %a, %b, %c : !a, !b, !c -> !c
            %p = tirx.subview %r[{at}] : !c -> !tirx.tile<{part}xf32, register>
            %g = tirx.view %d[{at}] : memref<16x16xf32> -> !tirx.tile<{part}xf32, global>
            tirx.store %p, %g : !tirx.tile<{part}xf32, register>, !tirx.tile<{part}xf32, global>
            tirx.return
          }}"""
        (kernel,) = kernels(embed.parse(text, "k.mlir"))
        return kernel, np.ones((16, 16), np.float32)

    run_on(*run("%c0, %c0"))
    assert error_of(*run(second))[0] == "never-written"


def test_arguments() -> None:
    whole = np.zeros(16, np.float32)
    kernel = kernel_of(_OWN + _LOAD + _STORE)
    assert error_of(kernel, whole[:8], whole[4:12]) == (
        "overlap", "k.mlir:1:1: expected arguments that do not overlap, found %a and %d in one memory"
    )  # fmt: skip
    for given, said in (
        ([np.zeros(7, np.float32)], "an array of float32 for memref<8xf32>, found float32 of shape (7,)"),
        ([np.zeros(8, np.float64)], "an array of float32 for memref<8xf32>, found float64 of shape (8,)"),
        ([np.zeros((2, 4), np.float32)], "an array of float32 for memref<8xf32>, found float32 of shape (2, 4)"),
        ([], "2 arguments, found 1"),
        ([1.0], "an array for memref<8xf32>, found float"),
    ):
        assert error_of(kernel, whole[:8], *given) == ("arguments", f"k.mlir:1:1: expected {said}")
    assert error_of(kernel_of(_OWN, clauses=""))[1] == (
        "k.mlir:1:1: expected a grid of clusters for a kernel without one, found None"
    )


def test_integers_stand_for_formats_that_numpy_lacks() -> None:
    """Bytes hold packed elements, and words those of bf16."""
    body = """
        %ga = tirx.view %a[%c0] : memref<8xf4E2M1FN> -> !tirx.tile<4xf4E2M1FN, global>
        %gd = tirx.view %a[%c4] : memref<8xf4E2M1FN> -> !tirx.tile<4xf4E2M1FN, global>
        tirx.copy %ga, %gd : !tirx.tile<4xf4E2M1FN, global>, !tirx.tile<4xf4E2M1FN, global>
        %w = tirx.view %b[%c0] : memref<4xbf16> -> !tirx.tile<4xbf16, global>
        %one = arith.constant 1.0 : bf16
        tirx.fill %w, %one : bf16, !tirx.tile<4xbf16, global>
    """
    memory, words = np.array([0x21, 0x43, 0, 0], np.uint8), np.zeros(4, np.uint16)
    kernel = kernel_of(body, "%a: memref<8xf4E2M1FN>, %b: memref<4xbf16>", "grid(1)")
    run_on(kernel, memory, words)
    kind, message = error_of(kernel, memory.astype(np.uint16), words)
    assert kind == "arguments" and message.endswith("for memref<8xf4E2M1FN>, found uint16 of shape (4,)")
    assert memory.tolist() == [0x21, 0x43, 0x21, 0x43]
    assert (words.view(ml_dtypes.bfloat16) == 1).all()


def test_a_loop_without_an_end() -> None:
    forever = """
        %t = arith.constant true
        %n = scf.while (%i = %c0) : (index) -> index {
          scf.condition(%t) %i : index
        } do {
        ^bb0(%j: index):
          scf.yield %j : index
        }
    """
    kind, message = error_of(kernel_of(forever), max_operations=100)
    assert kind == "too-long"
    assert message.endswith("expected at most 100 operations, found more, in a loop that may have no end")


def test_a_loop_whose_step_is_zero() -> None:
    stays = """
        scf.for %i = %c0 to %c4 step %c0 {
        }"""
    assert error_of(kernel_of(stays)) == ("undefined", "k.mlir:5:3: expected a step of 1 or more, found 0")


def test_an_operation_of_another_level() -> None:
    kernel = kernel_of("%t = ptx.read_special tid.x")
    assert not can_run(kernel) and can_run(kernel_of(_OWN))
    kind, message = error_of(kernel)
    assert kind == "unsupported" and message.endswith("rings of them, found 'ptx.read_special'")


@together("order", ["row", "group 2", "hilbert", "table %t : memref<?xi32>", "items"])
def test_every_tile_is_of_one_block(order: str) -> None:
    """3 x 4 tiles and two blocks; the table leaves out three tiles and has each of the first three twice."""
    tiles = f"%i, %j = order({order}) of (%c3, %c4)"
    if order == "items":
        tiles = "%i, %j, %k0, %k1 = items(%t : memref<?x4xi32>)"
    body = f"""
        %c3 = arith.constant 3 : index
        tirx.tiles @tile {tiles} {{
          %f = arith.muli %i, %c4 : index
          %at = arith.addi %f, %j : index
          %w = arith.index_cast %at : index to i32
          %v = arith.sitofp %w : i32 to f32
          %gd = tirx.view %d[%at] : memref<12xf32> -> !tirx.tile<1xf32, global>
          tirx.fill %gd, %v : f32, !tirx.tile<1xf32, global>
        }}
    """
    numbers = np.array([*range(9), 0, 1, 2], np.int32)
    table = np.stack([*np.divmod(numbers, 4), numbers, numbers], axis=1) if order == "items" else numbers
    d, all_tiles = np.full(12, -1, np.float32), np.arange(12)
    type_ = "memref<?x4xi32>" if order == "items" else "memref<?xi32>"
    run_on(kernel_of(body, f"%t: {type_}, %n: index, %d: memref<12xf32>"), table, 12, d)
    given = order in ("items", "table %t : memref<?xi32>")
    assert d.tolist() == (np.where(all_tiles < 9, all_tiles, -1) if given else all_tiles).tolist()


def test_bounds_of_a_sum_in_any_order() -> None:
    """Small integers are exact, and other numbers within bounds of each other whichever block is first."""
    reduce = _FIRST + _LOAD + _STORE.replace("%gd :", "%gd reduce(add) :")
    a = np.arange(8, dtype=np.float32)
    assert run_on(kernel_of(reduce), a, np.zeros(8, np.float32)).exact
    for seed in range(30):
        a = np.random.default_rng(seed).standard_normal(8).astype(np.float32)
        first, second = np.ones(8, np.float32), np.ones(8, np.float32)
        ran = run_on(kernel_of(reduce), a, first, bounds=True)
        run_on(kernel_of(reduce), np.roll(a, 4), second)
        error = ran.errors[1]
        assert not ran.exact and error is not None and 0 < error.max() < 4e-6
        assert (np.abs(first - second) <= error).all()


@pytest.mark.parametrize("codes", [SPARSE_CODES["f16"], SPARSE_CODES["tf32"]])
def test_sparse_operands(codes: tuple[int, ...]) -> None:
    """A code has two bits for each stored element, its place among four; that of tf32 is the higher pair."""
    element = "tf32" if len(codes) == 2 else "f16"
    stored = np.arange(1, 2 * len(codes) + 1, dtype=np.float32)[None]
    if element == "tf32":
        stored = stored[:, : len(codes)]
    whole = expanded(stored, np.array([codes]), element)[0]
    for i, code in enumerate(codes):
        if element == "tf32":
            assert whole[2 * i + (code >> 3)] == stored[0, i] and np.count_nonzero(whole[2 * i : 2 * i + 2]) == 1
        else:
            places = code & 3, code >> 2
            assert [whole[4 * i + place] for place in places] == stored[0, 2 * i : 2 * i + 2].tolist()
    assert all(low < high for low, high in pairwise(sorted(codes)))
    assert not expanded(np.zeros_like(stored[:, :2]), np.zeros((1, 1)), "f16").any()
    with pytest.raises(UndefinedValue, match=r"^expected metadata of codes \(4, 8, 12, 9, 13, 14\), found others$"):
        expanded(stored[:, :2], np.zeros((1, 1)), "f16")


def test_a_module_in_xdsl_s_interpreter() -> None:
    kernel = kernel_of(_OWN + _LOAD + _STORE)
    module = kernel.parent_op()
    assert isinstance(module, ModuleOp)
    interpreter = Interpreter(module)
    interpreter.register_implementations(KernelFunctions())
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpreter.call_op("k", (a, d))
    assert d.tolist() == a.tolist()


class _Run(xDSLRunMain):
    def register_implementations(self, interpreter: Interpreter) -> None:
        super().register_implementations(interpreter)
        interpreter.register_implementations(KernelFunctions(), override=True)


def test_xdsl_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command that xDSL has runs a tile program, with arrays and numbers from its command line."""
    shown = (
        _OWN
        + _LOAD
        + """%y = tirx.map ins(%x : !tirx.tile<4xf32, register>) {
    ^bb0(%e: f32):
      %p = arith.mulf %e, %s : f32
      tirx.yield %p : f32
    } -> !tirx.tile<4xf32, register>
    tirx.print "block", %i, %y : index, !tirx.tile<4xf32, register>"""
    )
    module = kernel_of(shown, "%a: memref<8xf32>, %d: memref<8xf32>, %s: f32").parent_op()
    path = tmp_path / "k.mlir"
    path.write_text(str(module))
    numbers = "dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : memref<8xf32>, dense<0.0> : memref<8xf32>, 3.0 : f32"
    with pytest.raises((KeyError, InterpretationError), match=r"tirx\.kernel|KernelOp"):
        xDSLRunMain(args=[str(path), "--symbol", "k", "--args", numbers]).run()  # it has no place for other rules
    _Run(args=[str(path), "--symbol", "k", "--args", numbers]).run()
    assert capsys.readouterr().out.splitlines() == ["block 0", " 0 3 6 9", "block 1", " 12 15 18 21"]


def test_grids_of_clusters() -> None:
    """One to three numbers, the first a multiple of the cluster; those that are missing are 1."""
    kernel = kernel_of(_OWN + _LOAD + _STORE, clauses="cluster(2)")
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run_on(kernel, a, d, grid=(4,))
    assert d.tolist() == a.tolist()
    for grid in ((), (2, 1, 1, 1), (3,), (3, 2)):
        assert error_of(kernel, grid=grid) == (
            "arguments", f"k.mlir:1:1: expected a grid of clusters for a kernel without one, found {grid}"
        )  # fmt: skip


def test_a_clipped_tile_that_begins_inside_does_so() -> None:
    body = "%s = arith.constant -1 : index\n%ga = tirx.view %a[%s] clipped begins_inside : memref<8xf32> -> "
    kind, message = error_of(kernel_of(body + _TILE, clauses="grid(1)"))
    assert kind == "bounds" and message.endswith("expected a tile that begins inside, found it at -1")


_CALL = """tirx.kernel @k(%a: memref<8xf32>, %d: memref<8xf32>) grid(1) threads(32) {
  func.call @f() : () -> ()
  tirx.return
}
func.func private @f() -> ()
"""


@together(
    ("body", "kind", "said"),
    [
        ("%n = memref.load %a[%at] : memref<8xf32>", "bounds",
         "expected a number inside of 8 elements along dimension 0, found element 8"),
        ("%n = memref.load %a[%below] : memref<8xf32>", "bounds",
         "expected a number inside of 8 elements along dimension 0, found element -1"),
        ("%n = memref.load %a[%c0] : memref<8xf32>\nmemref.store %n, %d[%at] : memref<8xf32>", "bounds",
         "expected a number inside of 8 elements along dimension 0, found element 8"),
        ("%n = memref.load %a[%c0] : memref<8xf32>\nmemref.store %n, %d[%below] : memref<8xf32>", "bounds",
         "expected a number inside of 8 elements along dimension 0, found element -1"),
    ],
)  # fmt: skip
def test_kernels_without_a_result(body: str, kind: str, said: str) -> None:
    places = "%at = arith.constant 8 : index\n%below = arith.constant -1 : index\n"
    found = error_of(kernel_of(places + body, clauses="grid(1)"))
    assert found[0] == kind and found[1].endswith(said)


def test_sizes_that_a_kernel_requires() -> None:
    kernel = kernel_of(_OWN)
    add_requirement(kernel, Requirement(Call("stride", (0, 0)), "equal", 1, "expected neighbours"))
    add_requirement(kernel, Requirement(Call("size", (0, 0)), "equal", 9, "expected nine elements"))
    assert error_of(kernel) == ("arguments", "k.mlir:1:1: expected nine elements")


def test_a_function_of_another_module() -> None:
    for text, name in ((_CALL, "f"), (_CALL.replace("@f() : ", "@g() : "), "g"), (_CALL.replace("@f", "@k", 1), "k")):
        (kernel,) = kernels(embed.parse(text, "k.mlir"))
        kind, message = error_of(kernel)
        assert kind == "unsupported" and message.endswith(f"expected a function of this module, found @{name}")


@pytest.mark.parametrize(
    ("start", "found"), [(-1, "elements -1 to 2"), (5, "elements 5 to 8"), (9, "elements 9 to 12")]
)
def test_parts_at_computed_places(start: int, found: str) -> None:
    """They lie inside of the tile, from the first element to the last."""
    part = f"""
%at = arith.constant {start} : index
%s = tirx.alloc : !tirx.tile<8xf32, shared>
%p = tirx.subview %s[%at] : !tirx.tile<8xf32, shared> -> !tirx.tile<4xf32, shared>
"""
    kind, message = error_of(kernel_of(_OWN + part))
    assert kind == "bounds" and message.endswith(f"inside of 8 elements along dimension 0, found {found}")


@pytest.mark.parametrize("shift", [0, 4])
def test_parts_up_to_the_end(shift: int) -> None:
    part = f"""
%at = arith.constant {shift} : index
%gw = tirx.view %a[%c0] : memref<8xf32> -> !tirx.tile<8xf32, global>
%s = tirx.alloc : !tirx.tile<8xf32, shared>
tirx.copy %gw, %s : !tirx.tile<8xf32, global>, !tirx.tile<8xf32, shared>
%p = tirx.subview %s[%at] : !tirx.tile<8xf32, shared> -> !tirx.tile<4xf32, shared>
%gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
tirx.copy %p, %gd : !tirx.tile<4xf32, shared>, {_TILE}
"""
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run_on(kernel_of(part, clauses="grid(1)"), a, d)
    assert d[:4].tolist() == a[shift : shift + 4].tolist()


@together("n", [0, 1, 7, 23])
def test_places_are_computed(n: int) -> None:
    """Products, quotients and remainders come before sums, from the left."""
    place = "%n floordiv 3 * 2 + 2 * %n - %n ceildiv 4 + %n mod 5 - 1 + 2"
    body = f"""
%x = tirx.load %a[{place}] : memref<99xf32> -> !tirx.tile<1xf32, register>
tirx.store %x, %d[0] : !tirx.tile<1xf32, register>, memref<1xf32>
"""
    d = np.zeros(1, np.float32)
    run_on(
        kernel_of(body, "%a: memref<99xf32>, %n: index, %d: memref<1xf32>", "grid(1)"),
        np.arange(99, dtype=np.float32),
        n,
        d,
    )
    assert d[0] == n // 3 * 2 + 2 * n - -(-n // 4) + n % 5 + 1
