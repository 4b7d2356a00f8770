"""Roles as branches: the registers that they ask for, and the parts of loops that one of them runs."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import test
from xdsl.ir import Operation

from tirx.dialects.ptx.sync import SetMaxNRegOp
from tirx.dialects.tirx import ForOp, RolesOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.kernels.roles import _by_rank, role_branches  # pyright: ignore[reportPrivateUsage]
from tirx.passes.rings.role_bodies import copied_part


@together(
    ("registers", "changes"),
    [
        # 8 warps have 248 registers each at the entry, in eights.
        ((248, 40), [None, ("dec", 40)]),
        ((240, 248), [("dec", 240), None]),
        ((248, 248), [None, None]),
        ((232, 256), [("dec", 232), ("inc", 256)]),
    ],
)
def test_registers_of_roles(registers: tuple[int, int], changes: list[tuple[str, int] | None]) -> None:
    roles = "\n".join(f"tirx.role @r{i} warps(4) registers({count}) {{ }}" for i, count in enumerate(registers))
    text = f"""tirx.kernel @k() target("sm_90a") threads(256) {{
  %thread = arith.constant 0 : i32
  tirx.roles {{
    {roles}
  }}
  tirx.return
}}"""
    op = next(op for op in parsed(text).walk() if isinstance(op, RolesOp))
    thread = op.prev_op
    assert thread is not None
    found: list[tuple[str, int] | None] = []
    for role, block, _ in role_branches(op, Emitter.before(op), thread.results[0]):
        assert role.body.block is block
        asked = [each for each in block.ops if isinstance(each, SetMaxNRegOp)]
        found += [(each.change.data.value, each.count.value.data) for each in asked] or [None]
    assert found == changes


@together(
    ("kept", "offsets", "skew"),
    [("abc", [0, 1, 4], 4), ("bc", [0, 3], 3), ("ac", [0, 4], 4), ("c", [], 0), ("b", [], 0)],
)
def test_offsets_count_from_the_first_part(kept: str, offsets: list[int], skew: int) -> None:
    text = """tirx.kernel @k() target("sm_90a") threads(32) {
  tirx.for @k %k = 0 to 9 skew(4) {
    tirx.at(0) { "test.op"() {a} : () -> () }
    tirx.at(1) { "test.op"() {b} : () -> () }
    tirx.at(4) { "test.op"() {c} : () -> () }
  }
  tirx.return
}"""
    loop = next(op for op in parsed(text).walk() if isinstance(op, ForOp))

    def keep(op: Operation) -> bool:
        return any(name in op.attributes for name in kept)

    (found,) = copied_part([loop], keep).ops
    assert isinstance(found, ForOp)
    assert ([part.offset for part in found.parts], found.rounds_ahead) == (offsets, skew)
    assert [name for op in found.walk() for name in op.attributes if name in "abc"] == list(kept)


_RANK = "%r = tirx.cta_rank"
_SPECIAL = "%s = ptx.read_special cluster_ctarank\n%r = arith.index_cast %s : i32 to index"


@together(
    ("before", "around", "expected"),
    [
        (_RANK, "scf.for %i = %c0 to %r step %c1 {", True),
        (_SPECIAL, "scf.for %i = %c0 to %r step %c1 {", True),
        (_RANK, "scf.for %i = %c0 to %n step %c1 {", False),
        ("%r = tirx.block_id x", "scf.for %i = %c0 to %r step %c1 {", False),
        (f"{_RANK}\n%p = arith.cmpi eq, %r, %c1 : index", "scf.if %p {", True),
        # The end of another loop, and the number that one carries.
        (
            f"{_RANK}\n%e = scf.for %j = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {{\n"
            "scf.yield %r : index\n}",
            "scf.for %i = %c0 to %e step %c1 {",
            True,
        ),
        (
            f"{_RANK}\nscf.for %j = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {{",
            'scf.for %i = %c0 to %x step %c1 {\n  "test.op"() : () -> ()\n}\nscf.yield %r : index',
            True,
        ),
        (
            f"{_RANK}\nscf.for %j = %c0 to %n step %c1 iter_args(%x = %r) -> (index) {{",
            'scf.for %i = %c0 to %x step %c1 {\n  "test.op"() : () -> ()\n}\nscf.yield %x : index',
            True,
        ),
    ],
)
def test_loops_that_blocks_run_differently(before: str, around: str, expected: bool) -> None:
    inside = "" if "test.op" in around else '"test.op"() : () -> ()'
    text = f"""tirx.kernel @k(%n: index) target("sm_100a") cluster(2) per_cta threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {before}
  {around}
  {inside}
  }}
  tirx.return
}}"""
    op = next(op for op in parsed(text).walk() if isinstance(op, test.TestOp))
    assert _by_rank(op) is expected
