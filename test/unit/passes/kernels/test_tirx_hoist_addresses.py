"""Addresses that are computed in front of loops, as far as there are registers."""

from __future__ import annotations

import pytest
from unit.passes.parsed import context, parsed
from xdsl.dialects import scf

from tirx.dialects.ptx.arith import XorOp
from tirx.passes.kernels import tirx_hoist_addresses
from tirx.passes.kernels.tirx_hoist_addresses import TirxHoistAddressesPass

ALIVE = 100


def _left(free: int, chains: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, before: str = "") -> list[int]:
    """
    Counts operations of each chain that stay in the loop. A chain is a type, and how many operations are in a row;
    the eight registers that are to spare are not `free`.
    """

    def registers_of_threads(_entry: object) -> int:
        return ALIVE + 8 + free

    def registers_alive(_loop: object) -> int:
        return ALIVE

    monkeypatch.setattr(tirx_hoist_addresses, "registers_of_threads", registers_of_threads)
    monkeypatch.setattr(tirx_hoist_addresses, "registers_alive", registers_alive)
    lines: list[str] = []
    for number, (type_, length) in enumerate(chains):
        source = f"%{type_}"
        lines.append(f"%c{number} = ptx.constant 7 : {type_}")
        for step in range(length):
            lines.append(f"%v{number}_{step} = ptx.xor {source}, %c{number} : {type_}")
            source = f"%v{number}_{step}"
        wide = f"%w{number} = ptx.cvt {source} : i64 -> i32" if type_ == "i64" else ""
        lines.append(f"{wide} ptx.st shared %i32, {source} : i32, {type_}")
    text = """ptx.entry @k(a : u64) target("sm_90") reqntid(128) {
      %zero = ptx.constant 0 : i64
      %one = ptx.constant 1 : i64
      %i64 = ptx.ld.param @a : i64
      %i32 = ptx.read_special tid.x
      BEFORE
      scf.for %k = %zero to %i64 step %one : i64 {
        LINES
        scf.yield
      }
      ptx.ret
    }""".replace("LINES", "\n".join(lines)).replace("BEFORE", before)
    module = parsed(text)
    TirxHoistAddressesPass().apply(context(), module)
    *_, loop = (op for op in module.walk() if isinstance(op, scf.ForOp))
    left = [str(op.operands[0].type) for op in loop.walk() if isinstance(op, XorOp)]
    return [left.count(type_) for type_, _ in chains]


def test_roles_have_the_registers_that_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _left(0, [("i32", 4)], monkeypatch) == [4]
    assert _left(0, [("i32", 4)], monkeypatch, "ptx.setmaxnreg inc 232") == [0]
    within = "scf.for %i = %zero to %i64 step %one : i64 { ptx.setmaxnreg inc 232  scf.yield }"
    assert _left(0, [("i32", 4)], monkeypatch, within) == [4]


@pytest.mark.parametrize(
    ("chains", "left"),
    [
        # A register for three instructions or more, two for six or more; 64 bits take two each. In their order.
        ([("i32", 4), ("i64", 8)], {-1: [4, 8], 0: [4, 8], 1: [0, 8], 2: [0, 8], 3: [0, 0]}),
        ([("i64", 8), ("i32", 4)], {-1: [8, 4], 0: [8, 4], 1: [8, 4], 2: [0, 4], 3: [0, 0]}),
        ([("i32", 2), ("i64", 3)], {1: [2, 3], 2: [2, 0], 9: [2, 0]}),
        ([("i32", 3), ("i64", 2)], {0: [3, 2], 1: [0, 2], 9: [0, 2]}),
    ],
)
def test_as_far_as_there_are_registers(
    chains: list[tuple[str, int]], left: dict[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {free: _left(free, chains, monkeypatch) for free in left} == left
