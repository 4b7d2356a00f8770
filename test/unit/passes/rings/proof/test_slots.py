"""Slots of tiles, products of pending tiles, and executions between the two, counted event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from unit.passes.parsed import parsed
from xdsl.ir import Operation

from tirx.dialects.tirx import AcquireOp
from tirx.passes.rings.proof.errors import UndecidedError
from tirx.passes.rings.proof.model import Rotation
from tirx.passes.rings.proof.slots import SlotTile, executions_since, pending_product, slot_tile

_ITERATIONS = 6


def named(text: str) -> dict[str, Operation]:
    """The operations of a text that have a name, by it."""
    return {op.attributes["as"].data: op for op in parsed(text).walk() if "as" in op.attributes}  # pyright: ignore


_OP = {
    "P": '"test.op"() {as = "P"} : () -> ()',
    "U": '"test.op"() {as = "U"} : () -> ()',
    "-": '"test.op"() : () -> ()',
}
_OP["?"] = f"scf.if %c {{\n{_OP['U']}\n}}"


_LOOP = """
tirx.kernel @k(%n: index, %c: i1) threads(32) {
  tirx.for @k %k = 0 to %n skew(3) {
    BODY
  }
  tirx.return
}
"""


def _events(parts: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int, int]]:
    """Events in the rounds of a loop: an operation, its iteration, and the round."""
    for round_ in range(_ITERATIONS + 9):
        for offset, ops in parts:
            if 0 <= round_ - offset < _ITERATIONS:
                yield from ((op.replace("?", "U"), round_ - offset, round_) for op in ops)


@pytest.mark.parametrize("iterations", [0, 1, 2])
def test_executions_since(iterations: int):
    """Of `P` since that of the iteration of `U`, or of some before it."""
    split = [[(a, "-P"), (b, "U")][::order] for a, b, order in product((0, 1, 3), (0, 2), (1, -1))]
    orders = ("PU", "UP", "-P?", "?P-")
    for parts in [*split, *([(0, ops)] for ops in orders), *([(2, ops), (0, "-")] for ops in orders)]:
        bodies = [(offset, "\n".join(map(_OP.__getitem__, ops))) for offset, ops in parts]
        body = "\n".join(f"tirx.at({offset}) {{\n{body}\n}}" if len(parts) > 1 else body for offset, body in bodies)
        ops = named(_LOOP.replace("BODY", body))
        found = executions_since(ops["P"], ops["U"], iterations)
        executed = 0
        for op, iteration, round_ in _events(parts):
            executed += op == "P"
            if op == "U" and iteration >= iterations:
                since = executed - 1 - (iteration - iterations)
                if isinstance(found, Rotation):
                    assert found.loop == "k" and found.rounds != 0
                    lag = min(found.rounds, _ITERATIONS - 1 - round_ + found.left)
                else:
                    lag = found
                assert lag == since or max(lag, since) < 0, (parts, iteration)  # below 0: not executed yet


def test_executions_of_inner_loops():
    """A user behind a loop means its last iteration, in the same round of the loops around both."""

    def text(offset: int) -> str:
        return f"""tirx.kernel @k(%n: index) threads(32) {{
          "test.op"() {{as = "first"}} : () -> ()
          tirx.for @outer %k = 0 to %n skew(2) {{
            tirx.at(1) {{
              tirx.for @inner %l = 0 to %n {{
                tirx.for @innermost %m = 0 to %n {{
                  "test.op"() {{as = "inside"}} : () -> ()
                }}
              }}
            }}
            tirx.at({offset}) {{
              "test.op"() {{as = "behind"}} : () -> ()
            }}
          }}
          "test.op"() {{as = "last"}} : () -> ()
          tirx.return
        }}"""

    ops = named(text(1))
    pairs = [("first", "last"), ("first", "inside"), ("inside", "behind"), ("inside", "last"), ("behind", "last")]
    assert [executions_since(ops[a], ops[b], 3) for a, b in pairs] == [3] * 5
    assert executions_since(ops["inside"], ops["inside"], 3) == Rotation("innermost", 2, 3)
    ops = named(text(2))
    with pytest.raises(UndecidedError, match="^cannot decide: how often 'test.op' has run before this round$") as error:
        executions_since(ops["inside"], ops["behind"])
    assert error.value.origin is ops["behind"]
    assert executions_since(ops["inside"], ops["last"], 3) == 3


_PRODUCTS = """
!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf32, register>
!p = !tirx.pending<!r>
tirx.kernel @k(%n: index, %s: !s, %z: !r, %given: !p) target("sm_90a") threads(128) {
  %direct = tirx.async_mma %s, %s, %z : !s, !s, !r -> !p
  "ask"(%direct) {as = "direct"} : (!p) -> ()
  "ask"(%given) {as = "given"} : (!p) -> ()
  %other = "test.op"() {as = "op"} : () -> !p
  "ask"(%other) {as = "other"} : (!p) -> ()
  %a, %b, %same, %from = tirx.for @k %k = 0 to %n skew(2)
      iter(%x: !p = %z, %y: !p = %z, %w: !p = %z, %v: !p = %direct) {
    %first, %second = tirx.at(1) {
      %d = tirx.async_mma %s, %s, %z : !s, !s, !r -> !p
      %e = tirx.async_mma %s, %s, %z : !s, !s, !r -> !p
      tirx.yield %e, %d
    }
    "ask"(%second) {as = "part"} : (!p) -> ()
    "ask"(%x) {as = "one before"} : (!p) -> ()
    "ask"(%y) {as = "two before"} : (!p) -> ()
    "ask"(%w) {as = "itself"} : (!p) -> ()
    "ask"(%v) {as = "from before"} : (!p) -> ()
    tirx.yield %first, %x, %w, %second
  }
  "ask"(%a) {as = "loop"} : (!p) -> ()
  "ask"(%b) {as = "before last"} : (!p) -> ()
  tirx.return
}
"""


def test_products_of_pending_tiles():
    ops = named(_PRODUCTS)
    products = {op.results[0].name_hint: op for op in parsed(_PRODUCTS).walk() if op.name == "tirx.async_mma"}
    assert list(products) == ["direct", "d", "e"]
    found: dict[str, object] = {}
    for name, op in ops.items():
        try:
            found[name] = (pending := pending_product(op.operands[0]))[0].results[0].name_hint, pending[1]
        except UndecidedError as error:
            assert isinstance(error.origin, Operation)
            found[name] = error.message, error.origin.name
        except IndexError:
            assert name == "op"
    unknown = "cannot decide: which product a pending tile waits for"
    before = "cannot decide: which product a tile pending from before the loop waits for"
    assert found == {
        "direct": ("direct", 0),
        "given": (unknown, "tirx.kernel"),
        "other": (unknown, "test.op"),
        "part": ("d", 0),
        "one before": ("e", 1),
        "two before": ("e", 2),
        "itself": (unknown, "tirx.for"),
        "from before": (before, "tirx.for"),
        "loop": ("e", 0),
        "before last": ("e", 1),
    }


_SLOTS = """
!a = !tirx.tile<64x64xf16, shared>
!b = !tirx.tile<64x32xf16, shared>
!t = !tirx.tile<128x64xf32, tensor>
!u = !tirx.tile<128x64xf16, tensor>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @k(%n: index, %c: i1, %given: !a) target("sm_100a") threads(128) {
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<a: !a | b: !b, c: !a>
  %acc = tirx.ring slots(1) stations(fill, use) : !tirx.ring<u: !u | t: !t>
  %a, %b, %second = tirx.acquire %ab at(use)
  %u, %t = tirx.acquire %acc at(use)
  %part = tirx.subview %second[0, 32] : !a -> !b
  %pure = "test.pureop"(%n, %part) : (index, !b) -> !b
  %from = tirx.at(0) {
    tirx.yield %second
  }
  %one, %two = tirx.at(0) {
    tirx.yield %given, %b
  }
  %r = tirx.load %a : !a -> !r
  %nothing = "test.pureop"() : () -> !a
  %write = "test.op"(%a) : (!a) -> !a
  %both = "test.pureop"(%a, %second) : (!a, !a) -> !a
  %twice = "test.pureop"(%a, %b) : (!a, !b) -> !a
  %branch = scf.if %c -> (!a) {
    scf.yield %a : !a
  } else {
    scf.yield %given : !a
  }
  %plain = scf.if %c -> (!a) {
    scf.yield %given : !a
  } else {
    scf.yield %given : !a
  }
  "ask"(%a, %b, %second, %u, %t, %part, %pure, %from, %one, %two, %r, %nothing, %write, %both, %twice, %branch, %plain,
        %given, %n)
    : (!a, !b, !a, !u, !t, !b, !b, !a, !a, !b, !r, !a, !a, !a, !a, !a, !a, !a, index) -> ()
  tirx.return
}
"""


def test_slots_of_tiles():
    ops = list(parsed(_SLOTS).walk())
    ask = ops[-2]
    ab, acc = [op for op in ops if isinstance(op, AcquireOp)]
    found: dict[str | None, object] = {}
    for value in ask.operands:
        try:
            found[value.name_hint] = slot_tile(value)
        except UndecidedError as error:
            assert error.origin is value.owner
            found[value.name_hint] = error.message
    first, second = SlotTile(ab, 0), SlotTile(ab, 1)
    parts = {"part": second, "pure": second, "from": second, "two": first, "twice": first}
    none = dict.fromkeys(("one", "r", "nothing", "write", "plain", "given", "n"))
    unknown = "cannot decide: which slot '{}' gives"
    undecided = {"both": unknown.format("test.pureop"), "branch": unknown.format("scf.if")}
    tiles = {"a": first, "b": first, "second": second, "u": SlotTile(acc, 0), "t": SlotTile(acc, 0)}
    assert found == tiles | parts | none | undecided
    assert [slot.num_bytes for slot in (first, second, tiles["t"])] == [8192, 8192, 128 * 64 * 4]
    assert first.ring.station_names == ("fill", "use") and first.ring.num_slots == 2
