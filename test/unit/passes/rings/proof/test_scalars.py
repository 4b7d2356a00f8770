"""Numbers of scalars: equal terms have equal numbers, in time that grows with the number of operations."""

from __future__ import annotations

from collections import defaultdict

from unit.passes.parsed import parsed
from xdsl.dialects import scf
from xdsl.dialects.arith import AddiOp, CmpiOp, ConstantOp, MuliOp
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.dialects.test import TestPureOp as PureOp
from xdsl.ir import Block, Region, SSAValue

from tirx.dialects.tirx import ForOp
from tirx.passes.rings.proof.scalars import ScalarNames


def zero() -> SSAValue:
    return ConstantOp.from_int_and_width(0, IndexType()).result


def doubled(value: SSAValue, times: int) -> SSAValue:
    for _ in range(times):
        value = AddiOp(value, value).result
    return value


def test_equal_terms_are_equal():
    x, y = Block(arg_types=[IndexType(), IndexType()]).args
    name = ScalarNames()
    assert name(AddiOp(x, y).result) == name(AddiOp(x, y).result)
    assert len({name(v) for v in (x, y, AddiOp(x, y).result, AddiOp(y, x).result, MuliOp(x, y).result)}) == 5


def test_iterations_of_copies_of_a_loop_are_equal():
    bodies = [Block(arg_types=[IndexType()]) for _ in range(3)]
    for symbol, body in zip("kkl", bodies, strict=True):
        ForOp(symbol, 4, Region(body))
    name = ScalarNames()
    first, second, other = (name(AddiOp(body.args[0], body.args[0]).result) for body in bodies)
    assert first == second != other


def test_values_that_are_no_pure_terms_differ():
    """They have the next number, and what they are computed from has none."""
    name = ScalarNames()
    first, second = (AnyOp(operands, [IndexType()]).results[0] for operands in ([], [zero()]))
    assert [name(first), name(second), name(first), name(zero()), name(zero())] == [0, 1, 0, 2, 2]


def test_results_and_attributes_are_parts_of_terms():
    def terms(**attributes: str) -> list[SSAValue]:
        found = {name: StringAttr(value) for name, value in attributes.items()}
        return list(PureOp.create(result_types=[IndexType()] * 2, attributes=dict(found)).results)

    name = ScalarNames()
    numbers = [
        [name(value) for value in terms(**each)]
        for each in ({}, {"a": "x", "b": "y"}, {"b": "y", "a": "x"}, {"a": "y"})
    ]
    assert numbers == [[0, 1], [2, 3], [2, 3], [4, 5]]


_ROLES = """
tirx.kernel @k(%n: index, %m: index) target("sm_90a") threads(256) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %once = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index, m: index>
  %twice = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  %other = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  %t = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  tirx.roles {
    tirx.role @a warps(4) {
      scf.for %i = %0 to %n step %1 iter_args(%x = %0) -> (index) {
        %o0, %o1 = tirx.acquire %once at(read)
        %w = tirx.acquire %twice at(read)
        tirx.acquire %once at(write)
        %unlike = tirx.acquire %other at(read)
        "probe"(%i, %x, %o0, %o1, %w, %unlike) {as = "i,a.x,once.0,once.1,twice,other.a"}
            : (index, index, index, index, index, index) -> ()
        scf.yield %i : index
      }
      scf.for %i = %0 to %m step %1 {
        "probe"(%i) {as = "to m"} : (index) -> ()
      }
      scf.for %i = %0 to %n step %1 {
        "probe"(%i) {as = "again"} : (index) -> ()
      }
      tirx.tiles @tiles %i, %j = order(row) of (%n, %m) {
        %w = tirx.acquire %t at(read)
        "probe"(%i, %j, %w) {as = "tile.0,tile.1,t"} : (index, index, index) -> ()
      }
      tirx.for @rounds %k = 0 to %n iter(%x: index = %0) {
        "probe"(%k, %x) {as = "round,a.carried"} : (index, index) -> ()
        tirx.yield %x
      }
    }
    tirx.role @b warps(4) {
      scf.for %i = %0 to %n step %1 iter_args(%x = %0) -> (index) {
        %o0, %o1 = tirx.acquire %once at(read)
        %w = tirx.acquire %twice at(read)
        %v = tirx.acquire %twice at(read)
        "probe"(%i, %x, %o0, %o1, %w, %v) {as = "i,b.x,once.0,once.1,first of two,second of two"}
            : (index, index, index, index, index, index) -> ()
        scf.yield %i : index
      }
      scf.for %i = %0 to %n step %1 {
        %unlike = tirx.acquire %other at(read)
        "probe"(%i, %unlike) {as = "again,other.b"} : (index, index) -> ()
      }
      scf.for %i = %0 to %m step %1 {
        "probe"(%i) {as = "to m"} : (index) -> ()
      }
      tirx.tiles @tiles %i, %j = order(row) of (%n, %m) {
        %w = tirx.acquire %t at(read)
        "probe"(%i, %j, %w) {as = "tile.0,tile.1,t"} : (index, index, index) -> ()
      }
      tirx.for @rounds %k = 0 to %n iter(%x: index = %0) {
        "probe"(%k, %x) {as = "round,b.carried"} : (index, index) -> ()
        tirx.yield %x
      }
    }
  }
  tirx.return
}
"""


def test_what_two_roles_know_alike():
    """Each value with what it is: loops, tiles and what a ring hands on are one for both roles."""
    name, classes = ScalarNames(), defaultdict[str, set[int]](set)
    for op in parsed(_ROLES).walk():
        if isinstance(op, scf.ForOp):
            name.name_loop(op)
        elif isinstance(labels := op.attributes.get("as"), StringAttr):
            for value, label in zip(op.operands, labels.data.split(","), strict=True):
                classes[label].add(name(value))
    numbers = [number for found in classes.values() for number in found]
    assert len(numbers) == len(classes) == len(set(numbers)) == 18
    loops = [op for op in parsed(_ROLES).walk() if isinstance(op, scf.ForOp)]
    unnamed = ScalarNames()
    assert len({unnamed(loop.body.block.args[0]) for loop in loops}) == len(loops)
    assert [unnamed.name_loop(loop) for loop in loops] == [f"scf.for {i}" for i in (0, 1, 2, 0, 2, 1)]


def test_shared_and_deep_terms_are_cheap():
    x = Block(arg_types=[IndexType()]).args[0]
    name = ScalarNames()
    assert name(doubled(x, 1500)) == name(doubled(x, 1500)) != name(doubled(x, 1499))


def test_comparisons_with_zero():
    n = Block(arg_types=[IndexType()]).args[0]
    zero, one = (ConstantOp.from_int_and_width(value, IndexType()).result for value in (0, 1))
    name = ScalarNames()
    found = {predicate: name.zero_test(CmpiOp(n, zero, predicate).result) for predicate in ("eq", "ne", "sgt", "slt")}
    assert found == {"eq": (name(n), True), "ne": (name(n), False), "sgt": (name(n), False), "slt": None}
    assert [name.zero_test(x) for x in (CmpiOp(n, one, "eq").result, CmpiOp(zero, n, "eq").result, n, zero)] == [
        None
    ] * 4
