"""Numbers that are not defined, such as quotients by 0: nobody may use them, and the use and the cause are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects import func

import tirx
from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import RunError, run_function, run_kernel

_TYPES = """
!m = memref<?xi32>
!g = !tirx.tile<16xi32, global>
!t = !tirx.tile<16xi32, register>
!s = !tirx.tile<16xi32, shared>
"""
_HEAD = """tirx.kernel @k(%a: !m, %b: !m, %d: !m) target("sm_80") grid(ceildiv(size(2, 0), 16)) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %i = tirx.block_id x
  %m = arith.muli %i, %c16 : index
  %ga = tirx.view %a[%m] clipped : !m -> !g
  %gb = tirx.view %b[%m] clipped : !m -> !g
  %gd = tirx.view %d[%m] clipped : !m -> !g
  %x = tirx.load %ga : !g -> !t
  %y = tirx.load %gb : !g -> !t
"""


def _map(body: str, result: str = "!t", operands: str = "%x, %y : !t, !t") -> str:
    lines = "\n".join(f"    {line.strip()}" for line in body.strip().splitlines())
    return f"  %z = tirx.map ins({operands}) {{\n  ^bb0(%p: i32, %q: i32):\n{lines}\n  }} -> {result}\n"


_QUOTIENT = _map("%r = arith.divsi %p, %q : i32\ntirx.yield %r : i32")
_STORE = "  tirx.store %z, %gd : !t, !g\n"


def _text(body: str) -> str:
    return f"{_TYPES}{_HEAD}{body}  tirx.return\n}}"


def _run(body: str, a: Any, b: Any) -> Any:
    (kernel,) = kernels(embed.parse(_text(body), "k.mlir"))
    d = np.full(len(a), -7, np.int32)
    run_kernel(kernel, [np.asarray(a, np.int32), np.asarray(b, np.int32), d])
    return d


def _error(body: str, b: int = 0) -> str:
    with pytest.raises(RunError) as caught:
        _run(body, np.arange(20), np.full(20, b))
    assert caught.value.kind == "undefined"
    return str(caught.value)


def _down(a: int, b: int) -> int:
    return a // b


def _rest(a: int, b: int) -> int:
    return a % b


def _up(a: int, b: int) -> int:
    return -(-a // b)


@together(
    ("operation", "expected"),
    [
        *((name, _down) for name in ("divsi", "divui", "floordivsi")),
        *((name, _rest) for name in ("remsi", "remui")),
        *((name, _up) for name in ("ceildivsi", "ceildivui")),
    ],
)
def test_quotients_of_tiles_that_are_cut_off(operation: str, expected: Callable[[int, int], int]) -> None:
    """Elements beyond the arrays are 0, and so are the divisors: their quotients go nowhere."""
    a, b = np.arange(21), np.arange(21) % 5 + 1
    found = _run(_QUOTIENT.replace("divsi", operation) + _STORE, a, b)
    assert found.tolist() == [expected(p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True)]


def test_a_kernel_that_divides_is_checked() -> None:
    """The sizes are odd, too, and arrays hold no zeros where the program divides by them."""
    (checked,) = tirx.build(_text(_QUOTIENT + _STORE)).check(seconds=1, numbers=["integers"])
    assert checked.sizes >= 4 and checked.exact == checked.launches
    tirx.build(_text(_QUOTIENT + _STORE), verify=True, salt="a quotient")  # not-compared is an error in tests


def test_conversions_and_shifts_of_tiles_that_are_cut_off() -> None:
    """1 / 0 is no integer, and 1 is shifted by as many bits as it likes beyond the arrays."""
    body = _map("""
        %one = arith.constant 1 : i32
        %f = arith.sitofp %q : i32 to f32
        %g = arith.constant 1.0 : f32
        %h = arith.divf %g, %f : f32
        %n = arith.fptosi %h : f32 to i32
        %w = arith.constant 40 : i32
        %v = arith.subi %w, %p : i32
        %s = arith.shli %one, %v : i32
        %r = arith.addi %n, %s : i32
        tirx.yield %r : i32
    """)
    a = np.arange(21) % 5 + 30
    assert _run(body + _STORE, a, np.ones(21)).tolist() == [1 + (1 << 40 - n) for n in a]
    assert "found some of 'arith.fptosi' at k.mlir:23:10, which has no result: expected floats from" in _error(
        body + _STORE
    )
    assert "'arith.shli' at k.mlir:26:10, which has no result: expected shifts by 0 to 31 bits" in _error(
        body + _STORE, 1
    )


_CAUSE = "found some of 'arith.divsi' at k.mlir:19:10, which has no result: expected a divisor other than 0, found 0"


def test_a_quotient_that_is_stored() -> None:
    assert _error(_QUOTIENT + _STORE) == (
        f"k.mlir:22:3: expected numbers that are defined in what an argument gets, {_CAUSE}"
    )


def test_a_quotient_that_is_not_chosen() -> None:
    chosen = _map("""
        %zero = arith.constant 0 : i32
        %r = arith.divsi %p, %q : i32
        %is = arith.cmpi eq, %q, %zero : i32
        %c = arith.select %is, %p, %r : i32
        tirx.yield %c : i32
    """)
    a, b = np.arange(20), np.arange(20) % 3
    assert _run(chosen + _STORE, a, b).tolist() == [p // q if q else p for p, q in zip(a, b, strict=True)]
    decided = chosen.replace("eq, %q, %zero", "eq, %r, %zero")
    assert "what an argument gets, found some of 'arith.divsi' at k.mlir:20:10" in _error(decided + _STORE)


def test_a_reduction_with_a_quotient() -> None:
    total = "  %s = tirx.reduce %z dim(0) add : !t -> !tirx.tile<1xi32, register>\n"
    folded = """  %s = tirx.reduce ins(%z : !t) dim(0) {
  ^bb0(%p: i32, %q: i32):
    %n = arith.maxsi %p, %q : i32
    tirx.yield %n : i32
  } -> !tirx.tile<1xi32, register>
"""
    store = "  tirx.store %s, %d[0] : !tirx.tile<1xi32, register>, !m\n"
    for each in (total, folded):
        assert _CAUSE in _error(_QUOTIENT + each + store)
        _run(_QUOTIENT + each, np.arange(20), np.zeros(20))
    divides = folded.replace("%z : !t", "%y : !t").replace("arith.maxsi", "arith.divsi")
    assert "what an argument gets, found some of 'arith.divsi' at k.mlir:19:10" in _error(divides + store)
    ignored = divides.replace("yield %n", "yield %p")
    assert _run(ignored + store, np.arange(20), np.zeros(20))[0] == 0


def test_a_quotient_in_shared_memory() -> None:
    """The operation that has made it is named, not the one that has loaded it."""
    through = """  %s = tirx.alloc : !s
  tirx.store %z, %s : !t, !s
  tirx.barrier
  %l = tirx.load %s : !s -> !t
"""
    assert _CAUSE in _error(_QUOTIENT + through + _STORE.replace("%z", "%l"))


_NUMBER = """  %zero = arith.constant 0 : index
  %n = memref.load %b[%zero] : !m
  %w = arith.index_cast %n : i32 to index
  %k = arith.divsi %c16, %w : index
"""


@pytest.mark.parametrize(
    ("use", "where"),
    [
        ("%t = arith.cmpi eq, %k, %zero : index\n  scf.if %t {\n    tirx.barrier\n  }", "an operand of 'scf.if'"),
        ("scf.for %j = %zero to %k step %c16 {\n  }", "an operand of 'scf.for'"),
        ("tirx.for @j %j = 0 to %k {\n    tirx.barrier\n  }", "an operand of 'tirx.for'"),
        ("%u = tirx.view %a[%k] clipped : !m -> !g", "an operand of 'tirx.view'"),
        ("memref.store %n, %d[%k] : !m", "an operand of 'memref.store'"),
        ('%t = arith.cmpi eq, %k, %c1 : index\n  tirx.assert %t, "none" : i1', "a condition"),
        ("%v = arith.index_cast %k : index to i32\n  memref.store %v, %d[%zero] : !m", "what an argument gets"),
        ("%v = arith.index_cast %k : index to i32\n  tirx.fill %gd, %v : i32, !g", "what an argument gets"),
        (
            "%v = arith.index_cast %k : index to i32\n  %z = tirx.splat %v : i32 -> !t\n" + _STORE,
            "what an argument gets",
        ),
    ],
)
def test_uses_of_a_number(use: str, where: str) -> None:
    said = _error(f"{_NUMBER}  {use}\n")
    assert f": expected numbers that are defined in {where}, found some of 'arith.divsi' at k.mlir:20:8" in said
    _run(f"{_NUMBER}  {use}\n".replace("%b[", "%a["), np.full(20, 16), np.zeros(20))


def test_an_index_tile() -> None:
    """Places that are not defined are no error where a size cuts the tile off."""
    use = """  %n = memref.dim %a, %c0 : !m
  %left = arith.subi %n, %m : index
  %u = tirx.view %a[[%z]] clippedSIZES : !m, !t -> !g
  %l = tirx.load %u : !g -> !t
  tirx.store %l, %gd : !t, !g
"""
    assert "defined in an index tile, found some of 'arith.divsi'" in _error(_QUOTIENT + use.replace("SIZES", ""))
    a = np.arange(20)[::-1]
    found = _run(_QUOTIENT + use.replace("SIZES", " to [%left]"), a, np.ones(20))
    assert found.tolist() == np.arange(20).tolist()


def test_a_tile_of_conditions() -> None:
    assert "a condition, found some of 'arith.divsi'" in _error(
        _map(
            "%r = arith.divsi %p, %q : i32\n%c = arith.cmpi eq, %r, %p : i32\ntirx.yield %c : i1",
            "!tirx.tile<16xi1, register>",
        )
        + '  tirx.assert %z, "equal" : !tirx.tile<16xi1, register>\n'
    )


_INEXACT = """tirx.kernel @k(%a: memref<32xf32>, %d: memref<32xf32>) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %limit = arith.constant LIMIT : f32
  %x = tirx.load %a[0] : memref<32xf32> -> !tirx.tile<32xf32, register>
  %r = tirx.reduce %x dim(0) add : !tirx.tile<32xf32, register> -> !tirx.tile<1xf32, register>
  %s = tirx.element %r : !tirx.tile<1xf32, register> -> f32
  %t = arith.cmpf ogt, %s, %limit : f32
  scf.if %t {
    memref.store %s, %d[%c0] : memref<32xf32>
  }
  tirx.return
}"""


@pytest.mark.parametrize("limit", ["1.0", "100.0", "sum"])
def test_branches_by_sums_that_are_not_exact(limit: str) -> None:
    """A branch that every order of the additions takes is taken; of another one nobody knows."""
    a, d = np.random.default_rng(0).random(32, np.float32), np.zeros(32, np.float32)
    text = _INEXACT.replace("LIMIT", f"{a.sum():.9}" if limit == "sum" else limit)
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    if limit == "sum":
        with pytest.raises(RunError, match="^k.mlir:8:3: expected operands of 'scf.if' that every order of additions"):
            run_kernel(kernel, [a, d], bounds=True)
        return
    run_kernel(kernel, [a, d], bounds=True)
    assert (d[0] > 0) is np.bool_(limit == "1.0")


_SHARED = "  %s = tirx.alloc : !s\nFIRST  USE\n  %l = tirx.load %s : !s -> !t\n" + _STORE.replace("%z", "%l")


@pytest.mark.parametrize(
    "use",
    [
        "%o = tirx.atomic add %x, %s : !t, !s -> !t",
        "%o = tirx.atomic cas(%x) %y, %s : !t, !s -> !t",
        "tirx.copy %x, %s reduce(add) : !t, !s",
    ],
)
def test_combined_with_what_is_not_defined(use: str) -> None:
    """Sums with elements that nobody wrote, or with a quotient by 0, are not defined, either."""
    body = _SHARED.replace("USE", use)
    with pytest.raises(RunError) as caught:
        _run(body.replace("FIRST", ""), np.arange(20), np.ones(20))
    assert caught.value.kind == "never-written"
    quotient = _QUOTIENT + body.replace("FIRST", "  tirx.store %z, %s : !t, !s\n")
    assert _CAUSE in _error(quotient)
    _run(quotient, np.arange(16), np.ones(16))


def test_quotients_that_are_compared_and_swapped() -> None:
    """A store depends on what `cas` compares with, too, in an argument and in shared memory."""
    swapped = "tirx.atomic cas(%z) %y, {} : !t, {} -> !t"
    stored = _SHARED.replace("FIRST", "  tirx.store %x, %s : !t, !s\n").replace("USE", "%o = " + swapped)
    assert _CAUSE in _error(_QUOTIENT + "  %o = " + swapped.format("%gd", "!g") + "\n")
    assert _CAUSE in _error(_QUOTIENT + stored.format("%s", "!s"))
    assert _run(_QUOTIENT + stored.format("%s", "!s"), np.arange(16), np.full(16, 2)).tolist() == [2, *range(1, 16)]
    replaced = _SHARED.replace("FIRST", "  tirx.store %z, %s : !t, !s\n").replace(
        "USE", "%o = tirx.atomic exch %x, %s : !t, !s -> !t"
    )
    assert _run(_QUOTIENT + replaced, np.arange(16), np.zeros(16)).tolist() == [*range(16)]


@pytest.mark.parametrize(
    "use", ["memref.store %o, %d[%c0] : !m", "%e = arith.cmpi eq, %o, %o : i32\n  scf.if %e {\n  }"]
)
def test_old_values_that_nobody_has_written(use: str) -> None:
    with pytest.raises(RunError, match="^k.mlir:19:8: expected elements that have been written") as caught:
        _run(
            "  %s = tirx.alloc : !tirx.tile<1xi32, shared>\n  %n = arith.constant 1 : i32\n"
            f"  %o = tirx.atomic add %n, %s : i32, !tirx.tile<1xi32, shared> -> i32\n  {use}\n",
            np.arange(20),
            np.ones(20),
        )
    assert caught.value.kind == "never-written"


@pytest.mark.parametrize(
    "store",
    [
        "tirx.store %z, %u : !t, !g",
        "tirx.store %z, %u reduce(add) : !t, !g",
        "%o = tirx.atomic add %z, %u : !t, !g -> !t",
    ],
)
def test_quotients_that_are_scattered_to_nowhere(store: str) -> None:
    """Elements whose index is outside of the argument are stored nowhere."""
    body = f"""  %w = tirx.map ins(%x : !t) {{
  ^bb0(%p: i32):
    %n = arith.constant 1 : i32
    %r = arith.subi %p, %n : i32
    tirx.yield %r : i32
  }} -> !t
  %u = tirx.view %d[[%w]] clipped : !m, !t -> !g
  {store}
"""
    added = 0 if store.endswith("%u : !t, !g") else 7
    assert _run(_QUOTIENT + body, np.arange(20) + 1, np.ones(20)).tolist() == [n + 1 - added for n in range(20)]
    assert _CAUSE in _error(_QUOTIENT + body.replace("constant 1", "constant 0"))


def test_quotients_of_structured_operations() -> None:
    """They are named behind another memref, too."""
    text = """func.func @f(%a: memref<4xi32>, %b: memref<4xi32>, %d: memref<4xi32>) {
  %t = memref.alloc() : memref<4xi32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]} ins(%a, %b : memref<4xi32>, memref<4xi32>) outs(%t : memref<4xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %r = arith.divsi %p, %q : i32
    linalg.yield %r : i32
  }
  "memref.copy"(%t, %d) : (memref<4xi32>, memref<4xi32>) -> ()
  func.return
}"""
    function = embed.parse(text, "f.mlir").body.block.first_op
    assert isinstance(function, func.FuncOp)
    a, b = np.arange(4, dtype=np.int32), np.array([1, 0, 1, 1], np.int32)
    with pytest.raises(
        RunError, match="^f.mlir:9:3: .* found some of 'arith.divsi' at f.mlir:6:10, which has no result"
    ):
        run_function(function, [a, b, np.zeros(4, np.int32)])
    run_function(function, [a, np.ones(4, np.int32), d := np.zeros(4, np.int32)])
    assert d.tolist() == [0, 1, 2, 3]


def test_compared_with_sums_that_are_not_exact() -> None:
    """`cas` of a float by one that another order of additions may give is either of both."""
    text = """tirx.kernel @k(%a: memref<32xf32>, %d: memref<1xf32>) target("sm_80") grid(1) threads(32) {
  %n = arith.constant 2.0 : f32
  %x = tirx.load %a[0] : memref<32xf32> -> !tirx.tile<32xf32, register>
  %r = tirx.reduce %x dim(0) add : !tirx.tile<32xf32, register> -> !tirx.tile<1xf32, register>
  %s = tirx.element %r : !tirx.tile<1xf32, register> -> f32
  %g = tirx.view %d[0] : memref<1xf32> -> !tirx.tile<1xf32, global>
  %o = tirx.atomic cas(%s) %n, %g : f32, !tirx.tile<1xf32, global> -> f32
  tirx.return
}"""
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    for a, is_sure in ((np.ones(32, np.float32), True), (np.random.default_rng(0).random(32, np.float32), False)):
        d = np.array([a.sum()])
        ran = run_kernel(kernel, [a, d], bounds=True)
        assert ran.errors[1] is not None and (ran.errors[1][0] == 0) is np.bool_(is_sure)
