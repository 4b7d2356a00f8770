"""Registers that loops need, and those that their threads have."""

from __future__ import annotations

from unit.cases import together
from xdsl.dialects import scf

from tirx.dialects.ptx.core import EntryOp
from tirx.passes.kernels.register_pressure import registers_alive, registers_of_threads
from tirx.text.parsing import parse_located
from tirx.universe import new_context


def _loop(clauses: str, body: str) -> scf.ForOp:
    module = parse_located(
        new_context(),
        f"""
        ptx.entry @k(n : u64) target("sm_90a") {clauses} {{
          %c0 = ptx.constant 0 : i64
          %c1 = ptx.constant 1 : i64
          %n = ptx.ld.param @n : i64
          %x = ptx.read_special tid.x
          scf.for %k = %c0 to %n step %c1 : i64 {{
            {body}
            scf.yield
          }}
          ptx.ret
        }}
        """,
        "kernel.mlir",
    )
    return next(op for op in module.walk() if isinstance(op, scf.ForOp))


@together(
    ("body", "registers"),
    [
        # %x from outside, and the results while something uses them.
        ("%a = ptx.add %x, %x : i32  ptx.st shared %a, %a : i32, i32", 2),
        ("%a = ptx.add %x, %x : i32  %b = ptx.add %a, %a : i32  ptx.st shared %b, %b : i32, i32", 2),
        ("%a = ptx.add %x, %x : i32  %b = ptx.add %x, %x : i32  ptx.st shared %a, %b : i32, i32", 3),
        # The index of the loop and a sum of it are two registers each.
        ("%a = ptx.add %k, %k : i64  ptx.st global %a, %x : i64, i32", 3),
        ("%a = ptx.add %k, %k : i64  ptx.st global %a, %k : i64, i64", 4),
        # Numbers are part of instructions.
        ("%c = ptx.constant 4 : i32  %a = ptx.add %x, %c : i32  ptx.st shared %a, %c : i32, i32", 2),
    ],
)
def test_registers_alive(body: str, registers: int):
    assert registers_alive(_loop("reqntid(128)", body)) == registers


@together(
    ("clauses", "registers"),
    [("", 255), ("reqntid(128)", 255), ("reqntid(288)", 168), ("reqntid(384) maxnreg(160)", 160)],
)
def test_registers_of_threads(clauses: str, registers: int):
    entry = _loop(clauses, "ptx.st shared %x, %x : i32, i32").parent_op()
    assert isinstance(entry, EntryOp)
    assert registers_of_threads(entry) == registers
