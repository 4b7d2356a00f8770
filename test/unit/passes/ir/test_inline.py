"""Loops that become their iterations, or several of them one, and calls of functions: limits, and refusals."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import context, parsed

from tirx.diagnostics import LocatedError
from tirx.passes.ir.tirx_inline import TirxInlinePass

_LOOP = """
tirx.kernel @k(%n: index, %m: i32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c1024 = arith.constant 1024 : index
  %c1025 = arith.constant 1025 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  scf.for %i = LOOP {
    "test.op"(%i) : (TYPE) -> ()
  } {tirx.unrollHOW}
  tirx.return
}
"""
_WHOLE = "expected constant bounds and a positive step of a loop that becomes its iterations"
_PARTS = "expected a counter of type index and a constant positive step of a loop to unroll"


@together(
    ("loop", "how", "expected"),
    [
        ("%c0 to %c1024 step %c1", "", (1024, 0)),
        ("%c0 to %c1025 step %c1", "", "expected at most 1024 iterations, found 1025"),
        ("%c1 to %c1 step %c1", "", (0, 0)),
        ("%n to %c3 step %c1", "", _WHOLE),
        ("%c0 to %n step %c1", "", _WHOLE),
        ("%c0 to %c3 step %n", "", _WHOLE),
        ("%c0 to %c3 step %c0", "", _WHOLE),
        ("%c0 to %c3 step %c1", " = 3", (3, 1)),
        ("%c0 to %c2 step %c1", " = 3", (1, 1)),
        ("%c0 to %c3 step %c1", " = 2", (3, 2)),
        ("%c0 to %n step %c1", " = 2", (3, 2)),
        ("%c0 to %n step %n", " = 2", _PARTS),
        ("%c0 to %n step %c0", " = 2", _PARTS),
        ("%i0 to %m step %i1 : i32", " = 2", _PARTS),
    ],
)
def test_loops(loop: str, how: str, expected: tuple[int, int] | str) -> None:
    """The operations that one in the body becomes, and the loops."""
    how += " : i64" * bool(how)
    text = _LOOP.replace("LOOP", loop).replace("HOW", how).replace("TYPE", "i32" if "i32" in loop else "index")
    module = parsed(text)
    try:
        TirxInlinePass().apply(context(), module)
    except LocatedError as error:
        assert error.diagnostic.message == expected
        return
    names = [op.name if op.name != "builtin.unregistered" else "test.op" for op in module.walk()]
    assert (names.count("test.op"), names.count("scf.for")) == expected


@together("callee", ["g", "k", "two"])
def test_calls(callee: str) -> None:
    module = parsed(f"""
    func.func @two() {{
      "test.termop"() [^a] : () -> ()
    ^a:
      func.return
    }}
    tirx.kernel @k() target("sm_80") threads(32) {{
      func.call @{callee}() : () -> ()
      tirx.return
    }}""")
    try:
        TirxInlinePass().apply(context(), module)
    except LocatedError as error:
        assert error.diagnostic.message == f"expected a function of one block in this module, found @{callee}"
    else:
        raise AssertionError("a function of one block")
