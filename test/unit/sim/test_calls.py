"""Recursion, calls by address, other names of functions, and memory of the stack."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from unit.sim.assembled import assembled
from unit.sim.kernels import HEADER
from unit.sim.strict import run

from tirx.sim import SimError

_SEEDS = [None, 1, 2]
_ENTRY = """
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %r<8>; .reg .b64 %d, %f; .reg .pred %p<4>;
  mov.u32 %t, %tid.x; ld.param.u64 %d, [out]; mad.wide.u32 %d, %t, 4, %d;
  BODY
  st.global.u32 [%d], %r0; ret;
}
"""


def _run(functions: str, body: str, threads: int = 64, seed: int | None = None) -> list[int]:
    out = np.zeros(threads, np.uint32)
    run(assembled(HEADER + functions + _ENTRY.replace("BODY", body)), "k", 1, threads, [out], seed=seed)
    return out.tolist()


_FIBONACCI = """
.func (.param .b32 result) fibonacci(.param .b32 n) {
  .reg .b32 %n, %m, %x, %y; .reg .pred %p; .param .b32 argument; .param .b32 back;
  ld.param.b32 %n, [n]; setp.lt.u32 %p, %n, 2; @%p bra SMALL;
  sub.u32 %m, %n, 1; st.param.b32 [argument], %m; call (back), fibonacci, (argument); ld.param.b32 %x, [back];
  sub.u32 %m, %n, 2; call (%y), fibonacci, (%m);
  add.u32 %x, %x, %y; st.param.b32 [result], %x; ret;
SMALL:
  st.param.b32 [result], %n; ret;
}
"""


@pytest.mark.parametrize("seed", _SEEDS)
def test_recursion(seed: int | None):
    """Threads recurse to different depths; registers and parameters are those of each call."""
    numbers = [0, 1]
    while len(numbers) < 9:
        numbers.append(numbers[-1] + numbers[-2])
    found = _run(_FIBONACCI, "rem.u32 %r1, %t, 9; call (%r0), fibonacci, (%r1);", seed=seed)
    assert found == [numbers[t % 9] for t in range(64)]


_MUTUAL = """
.func (.param .b32 result) odd(.param .b32 n);
.func (.param .b32 result) even(.param .b32 n) {
  .reg .b32 %n, %x; .reg .pred %p;
  ld.param.b32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra YES;
  sub.u32 %n, %n, 1; call (%x), odd, (%n); ld.param.b32 %n, [n]; mad.lo.u32 %x, %n, 100, %x;
  st.param.b32 [result], %x; ret;
YES: mov.u32 %x, 1; st.param.b32 [result], %x; ret;
}
.func (.param .b32 result) odd(.param .b32 n) {
  .reg .b32 %n, %x; .reg .pred %p;
  ld.param.b32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra NO;
  sub.u32 %n, %n, 1; call (%x), even, (%n); st.param.b32 [result], %x; ret;
NO: mov.u32 %x, 0; st.param.b32 [result], %x; ret;
}
"""


@pytest.mark.parametrize("seed", _SEEDS)
def test_functions_that_call_each_other(seed: int | None):
    found = _run(_MUTUAL, "and.b32 %r1, %t, 15; call (%r0), even, (%r1);", seed=seed)
    assert found == [100 * sum(range(t % 16, 0, -2)) + (t % 2 == 0) for t in range(64)]


def test_recursion_without_an_end():
    text = HEADER + ".func f() { call f; ret; }" + _ENTRY.replace("BODY", "mov.u32 %r0, 0; call f;")
    with pytest.raises(SimError, match="a recursion without an end") as caught:
        run(text, "k", 1, 32, [np.zeros(32, np.uint32)])
    assert caught.value.text == "call f;"


def test_recursion_with_local_variables():
    """Every call would need variables at addresses of its own."""
    functions = ".func f() { .local .b32 x[4]; call f; ret; }"
    text = HEADER + functions + _ENTRY.replace("BODY", "mov.u32 %r0, 0; call f;")
    with pytest.raises(SimError, match="function f may call itself and has the .local variable x"):
        run(text, "k", 1, 32, [np.zeros(32, np.uint32)])


_FUNCTIONS = """
.func (.param .b32 result) plus(.param .b32 x, .param .b32 y) {
  .reg .b32 %a, %b; ld.param.b32 %a, [x]; ld.param.b32 %b, [y]; add.u32 %a, %a, %b; st.param.b32 [result], %a; ret;
}
.func (.param .b32 result) times(.param .b32 x, .param .b32 y) {
  .reg .b32 %a, %b; ld.param.b32 %a, [x]; ld.param.b32 %b, [y]; mul.lo.u32 %a, %a, %b; st.param.b32 [result], %a; ret;
}
.func (.param .b32 result) other(.param .b64 x) {
  .reg .b32 %a; mov.u32 %a, 5; st.param.b32 [result], %a; ret;
}
"""
_TABLE = ".global .u64 table[2] = { plus, times };\n"
_PROTOTYPE = "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);"
_BY_PROTOTYPE = f"""
  and.b32 %r1, %t, 1; cvt.u64.u32 %f, %r1; shl.b64 %f, %f, 3; {{ .reg .b64 %x; mov.u64 %x, table; add.u64 %f, %f, %x; }}
  ld.global.u64 %f, [%f]; mov.u32 %r2, 10;
  {_PROTOTYPE}
  call (%r0), %f, (%t, %r2), P;
"""
_BY_TARGETS = """
  mov.u64 %f, plus; setp.ge.u32 %p0, %t, 40; @%p0 mov.u64 %f, times; mov.u32 %r2, 10; mov.u32 %r0, 3;
  T: .calltargets plus, times;
  setp.ne.u32 %p1, %t, 7; @%p1 call (%r0), %f, (%t, %r2), T;
"""


@pytest.mark.parametrize("seed", _SEEDS)
def test_calls_by_address(seed: int | None):
    found = _run(_FUNCTIONS + _TABLE, _BY_PROTOTYPE, seed=seed)
    assert found == [10 * t if t & 1 else t + 10 for t in range(64)]
    found = _run(_FUNCTIONS, _BY_TARGETS, seed=seed)
    assert found == [3 if t == 7 else 10 * t if t >= 40 else t + 10 for t in range(64)]


@together(
    ("body", "message"),
    [
        (_BY_TARGETS.replace("mov.u64 %f, plus", "mov.u64 %f, 4096"), "address of a function that the call may reach"),
        (_BY_TARGETS.replace("plus, times;", "plus;"), "address of a function that the call may reach"),
        (_BY_PROTOTYPE.replace("ld.global.u64 %f, [%f];", "mov.u64 %f, other;"), "that the call may reach, found"),
        (_BY_PROTOTYPE.replace(", P;", ";"), "expected a label of .calltargets or .callprototype"),
        (_BY_PROTOTYPE.replace("(%t, %r2)", "(%t)"), "expected 2 arguments and 1 results, found 1 and 1"),
        (_BY_TARGETS.replace("plus, times;", "plus, nobody;"), "functions that are defined in .calltargets"),
        ("call (%r0), plus, (%t);", "expected 2 arguments and 1 results for plus, found 1 and 1"),
        ("call plus, (%t, %t);", "expected 2 arguments and 1 results for plus, found 2 and 0"),
        (_BY_TARGETS.replace("plus, times;", "plus, k;"), "functions that are defined in .calltargets"),
        ("call (%r0);", r"expected call \(results\), function, \(arguments\)"),
        ("call (%r0), plus, (%t, %t), 5;", r"expected call \(results\), function, \(arguments\)"),
        ("call (%r0), plus, (%t, %t), P, P;", r"expected call \(results\), function, \(arguments\)"),
        ("call (%r0), plus, (%t, %t), P;", "expected a function of this module, or a register, found 'plus'"),
        ("call (%r0), nobody, (%t, %t);", "expected a function of this module, or a register, found 'nobody'"),
    ],
)
def test_wrong_calls(body: str, message: str):
    with pytest.raises(SimError, match=message) as caught:
        run(HEADER + _FUNCTIONS + _TABLE + _ENTRY.replace("BODY", body), "k", 1, 64, [np.zeros(64, np.uint32)])
    assert "call" in caught.value.text


@pytest.mark.parametrize("seed", _SEEDS)
def test_recursion_by_address(seed: int | None):
    """A function that is given the address of another one, or its own."""
    functions = """
.func (.param .b32 result) down(.param .b32 n, .param .b64 f);
.func (.param .b32 result) stop(.param .b32 n, .param .b64 f) {
  .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, 500; st.param.b32 [result], %a; ret;
}
.func (.param .b32 result) down(.param .b32 n, .param .b64 f) {
  .reg .b32 %n, %m; .reg .b64 %f, %g; .reg .pred %p;
  ld.param.b32 %n, [n]; ld.param.b64 %f, [f]; sub.u32 %m, %n, 1; setp.gt.u32 %p, %n, 3; mov.u64 %g, stop;
  @%p mov.u64 %g, %f;
  P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
  call (%m), %g, (%m, %f), P;
  add.u32 %m, %m, %n; st.param.b32 [result], %m; ret;
}
"""
    found = _run(functions, "mov.u64 %f, down; and.b32 %r1, %t, 7; add.u32 %r1, %r1, 1; call (%r0), down, (%r1, %f);",
                 seed=seed)  # fmt: skip

    def down(n: int) -> int:
        return n + (down(n - 1) if n > 3 else n - 1 + 500)

    assert found == [down(t % 8 + 1) for t in range(64)]


def test_other_names():
    """.alias, .weak, .common, and variables of linking that are defined later."""
    functions = """
.extern .global .b32 later;
.common .global .align 4 .b32 shared_by_modules[2];
.weak .global .b32 weak_one = 3;
.func (.param .b32 r) nickname(.param .b32 x);
.weak .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret;
}
.alias nickname, twice;
.visible .global .b32 later = 1000;
"""
    body = """call (%r0), nickname, (%t); ld.global.u32 %r1, [weak_one]; add.u32 %r0, %r0, %r1;
  ld.global.u32 %r1, [shared_by_modules+4]; add.u32 %r0, %r0, %r1; ld.global.u32 %r1, [later]; add.u32 %r0, %r0, %r1;"""
    out = np.zeros(64, np.uint32)
    run(HEADER + functions + _ENTRY.replace("BODY", body), "k", 1, 64, [out])
    assert out.tolist() == [2 * t + 1003 for t in range(64)]
    with pytest.raises(SimError, match="expected a function that is defined as what nickname stands for"):
        run(HEADER + functions.replace(", twice", ", nobody") + _ENTRY.replace("BODY", body), "k", 1, 64, [out])


@pytest.mark.parametrize("variable", (".extern .global .b8 zzz[]", ".extern .const .b8 zzz[]", ".local .b32 zzz"))
def test_variables_without_memory(variable: str):
    """Variables that another module defines, as ptxas says, and those that exist in functions only."""
    text = HEADER + variable + ";\n" + _ENTRY.replace("BODY", "mov.b64 %d, zzz;")
    with pytest.raises(SimError, match=r"zzz \(\.\w+\) has no definition in this module"):
        run(text, "k", 1, 64, [np.zeros(64, np.uint32)])


# Thread t writes 1, 2, ..., t + 1 to memory that it allocates in pieces, and adds them up.
_ALLOCATE = """
  .reg .b64 %a<4>; .reg .b32 %n, %s;
  mov.u32 %r0, 0; stacksave.u64 %a0; mov.u32 %n, 0;
AGAIN:
  add.u32 %n, %n, 1; mul.wide.u32 %a1, %n, 4; alloca.u64 %a2, %a1, 16;
  and.b64 %a3, %a2, 15; setp.ne.u64 %p0, %a3, 0; @%p0 trap;
  st.local.u32 [%a2], %n; add.u64 %a3, %a2, %a1; sub.u64 %a3, %a3, 4; st.local.u32 [%a3], %n;
  ld.local.u32 %s, [%a2]; add.u32 %r0, %r0, %s;
  RESTORE
  setp.le.u32 %p1, %n, %t; @%p1 bra AGAIN;
"""


def test_stack():
    found = _run("", _ALLOCATE.replace("RESTORE", ""), 32)
    assert found == [sum(range(1, t + 2)) for t in range(32)]
    # Restored, the stack is never full.
    found = _run("", _ALLOCATE.replace("RESTORE", "stackrestore.u64 %a0;"), 160)
    assert found == [sum(range(1, t + 2)) for t in range(160)]
    with pytest.raises(SimError, match="the stack of 4096 is full"):
        _run("", _ALLOCATE.replace("RESTORE", ""), 160)
    with pytest.raises(SimError, match="expected a value of stacksave"):
        _run("", _ALLOCATE.replace("RESTORE", "stackrestore.u64 %d;"), 32)


def test_functions_give_back_what_they_allocate():
    functions = """
.func (.param .b32 result) sum(.param .b32 n) {
  .reg .b64 %a; .reg .b32 %x, %m; .reg .pred %p;
  alloca.u64 %a, 256; ld.param.b32 %x, [n]; st.local.b32 [%a+252], %x;
  setp.eq.u32 %p, %x, 0; @%p bra END;
  sub.u32 %m, %x, 1; call (%m), sum, (%m); ld.local.b32 %x, [%a+252]; add.u32 %x, %x, %m;
END:
  st.param.b32 [result], %x; ret;
}
"""
    body = """mov.u32 %r0, 0; mov.u32 %r1, 0;
AGAIN: and.b32 %r3, %t, 7; call (%r2), sum, (%r3); add.u32 %r0, %r0, %r2; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 9;
  @%p0 bra AGAIN;"""
    assert _run(functions, body, 32) == [9 * sum(range(t % 8 + 1)) for t in range(32)]
