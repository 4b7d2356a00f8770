"""Groups of wgmma that are committed between a product and the wait for it, on the path with the fewest."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import AwaitOp
from tirx.passes.products.convert_tirx_to_wgmma import NO_GROUP, groups_since

_HEAD = """
!a = !tirx.tile<64x64xf16, shared>
!t = !tirx.tile<64x64xf32, tensor>
!d = !tirx.tile<64x64xf32, register>
!p = !tirx.pending<!d>
tirx.kernel @k(%n: index, %q: i1, %a: !a, %t: !t, %z: !d) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
"""
_PRODUCT = "= tirx.async_mma %a, %a, %z : !a, !a, !d -> !p\n"
_COMMIT = "wgmma.commit_group\n"
_MMA = "%r{} = tirx.mma %a, %a, %z{} : !a, !a, !d -> !d\n"
_PLAN = ' plan(wgmma, shapes = ["m64n64k16"], a_major = "K", b_major = "K")'
_AWAIT = "%w = tirx.await {} : !p\n"


def _loop(upper: str, body: str, step: str = "%c1", lower: str = "%c0") -> str:
    return f"scf.for %i{len(body)} = {lower} to {upper} step {step} {{\n{body}}}\n"


_CASES = {
    "at once": (f"%p {_PRODUCT}", "%p", 0),
    "behind commits": (f"%p {_PRODUCT}{_COMMIT}{_COMMIT}", "%p", 2),
    "behind another product": (f"%p {_PRODUCT}%o {_PRODUCT}", "%p", 1),
    "before it": (f"{_COMMIT}%p {_PRODUCT}", "%p", 0),
    "products that wgmma does not do": (f"%p {_PRODUCT}" + _MMA.format(1, "") + _COMMIT, "%p", 1),
    "behind a product that is awaited": (f"%p {_PRODUCT}{_COMMIT}" + _MMA.format(2, _PLAN) + _COMMIT, "%p", 1),
    "on tensor memory": (
        f"%p {_PRODUCT}tirx.async_mma %a, %a, %t : !a, !a, !t\n",
        "%p",
        0,
    ),
    "the branch with fewer": (f"%p {_PRODUCT}scf.if %q {{\n{_COMMIT * 3}}} else {{\n{_COMMIT * 2}}}\n", "%p", 2),
    "no branch": (f"%p {_PRODUCT}scf.if %q {{\n{_COMMIT}}}\n", "%p", 0),
    "a loop of unknown rounds": (f"%p {_PRODUCT}" + _loop("%n", _COMMIT), "%p", 0),
    "a loop of seven rounds": (f"%p {_PRODUCT}" + _loop("%c7", _COMMIT * 2), "%p", 14),
    "a loop of four rounds": (f"%p {_PRODUCT}" + _loop("%c7", _COMMIT, "%c2"), "%p", 4),
    "a loop of three rounds": (f"%p {_PRODUCT}" + _loop("%c7", _COMMIT, "%c2", "%c1"), "%p", 3),
    "a loop of no rounds": (f"%p {_PRODUCT}" + _loop("%c0", _COMMIT, "%c2", "%c1"), "%p", 0),
    "a loop from an unknown start": (f"%p {_PRODUCT}" + _loop("%c7", _COMMIT, "%c1", "%n"), "%p", 0),
    "steps of nothing": (f"%p {_PRODUCT}" + _loop("%c7", _COMMIT, "%c0"), "%p", 0),
    "the later of two": (
        f"%p {_PRODUCT}%o {_PRODUCT}%s = arith.select %q, %p, %o : !p\n{_COMMIT}",
        "%s",
        1,
    ),
    "the later of two, the other way round": (
        f"%p {_PRODUCT}%o {_PRODUCT}%s = arith.select %q, %o, %p : !p\n{_COMMIT}",
        "%s",
        1,
    ),
    "of both branches": (
        f"%s = scf.if %q -> (!p) {{\n%p {_PRODUCT}{_COMMIT * 2}scf.yield %p : !p\n}} else {{\n"
        f"%o {_PRODUCT}{_COMMIT}scf.yield %o : !p\n}}\n{_COMMIT * 3}",
        "%s",
        4,
    ),
    "by another name": (
        f"%p {_PRODUCT}{_COMMIT}%s = builtin.unrealized_conversion_cast %p : !p to !p\n{_COMMIT}",
        "%s",
        2,
    ),
    "of the last round": (
        f"%p {_PRODUCT}{_COMMIT * 4}%s = scf.for %i = %c0 to %n step %c1 iter_args(%c = %p) -> (!p) {{\n"
        f"%o {_PRODUCT}{_COMMIT}scf.yield %o : !p\n}}\n{_COMMIT}",
        "%s",
        2,
    ),
    "of no round": (
        f"%p {_PRODUCT}%s = scf.for %i = %c0 to %n step %c1 iter_args(%c = %p) -> (!p) {{\n"
        f"%o {_PRODUCT}{_COMMIT * 3}scf.yield %o : !p\n}}\n{_COMMIT}",
        "%s",
        1,
    ),
    "round and round": (
        f"%p {_PRODUCT}{_COMMIT}%s = scf.for %i = %c0 to %n step %c1 iter_args(%c = %p) -> (!p) {{\n"
        f"scf.yield %c : !p\n}}\n{_COMMIT}",
        "%s",
        2,
    ),
}


def _groups(text: str) -> int:
    (op,) = [op for op in parsed(text).walk() if isinstance(op, AwaitOp)]
    assert op.value is not None
    return groups_since(op.value, op)


@together(("body", "value", "expected"), _CASES.values())
def test_groups(body: str, value: str, expected: int):
    assert _groups(f"{_HEAD}{body}{_AWAIT.format(value)}tirx.return\n}}") == expected


@pytest.mark.parametrize(("value", "expected"), [("%c", 3), ("%o", 1), ("%e", 0)])
def test_groups_inside_of_loops(value: str, expected: int):
    """The tile of the round before has the commits behind it in that round, and those of this one before the wait."""
    body = f"""%p {_PRODUCT}{_COMMIT * 5}%e = "test.op"() : () -> !p
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%c = %p) -> (!p) {{
        {_COMMIT}
        %o {_PRODUCT}
        scf.if %q {{
          {_COMMIT}
          {_AWAIT.format(value)}
          {_COMMIT}
        }}
        scf.yield %o : !p
      }}
    """
    assert _groups(f"{_HEAD}{body}tirx.return\n}}") == expected


def test_tiles_that_nothing_writes():
    text = f"{_HEAD}%s = scf.for %i = %c0 to %n step %c1 iter_args(%c = %d) -> (!p) {{\nscf.yield %c : !p\n}}\n"
    text = text.replace("%z: !d", "%z: !d, %d: !p") + f"{_AWAIT.format('%s')}tirx.return\n}}"
    assert _groups(text) == 0
    assert NO_GROUP > 1_000_000
