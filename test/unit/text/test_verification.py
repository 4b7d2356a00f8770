"""SSA dominance against the definition by paths, and verification errors at the right operation."""

from __future__ import annotations

from types import FunctionType
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, i32
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import LocatedError, nearest_location
from tirx.dialects.ptx import PTX
from tirx.dialects.ptx.base import PTXInstruction
from tirx.passes.copies.tirx_expand_exchanges import TirxExpandExchangesPass
from tirx.passes.deferred import DeferredPass, deferred
from tirx.text.parsing import parse_located
from tirx.text.verification import (
    Dominance,
    InvalidPassOutputError,
    StepTime,
    run_passes,
    verify_each_by_default,
    verify_located,
)
from tirx.universe import new_context


def _error(text: str) -> str:
    module = parse_located(new_context(), text, "f")
    with pytest.raises(LocatedError) as caught:
        verify_located(module)
    return str(caught.value)


def _reaches(edges: list[list[int]], start: int, goal: int, without: int | None) -> bool:
    """Returns True if a path leads from `start` to `goal` that does not touch the block `without`."""
    seen, stack = {without}, [start]
    while stack:
        block = stack.pop()
        if block in seen:
            continue
        seen.add(block)
        if block == goal:
            return True
        stack += edges[block]
    return False


@given(st.data())
def test_dominance_is_what_every_path_goes_through(data: st.DataObject):
    count = data.draw(st.integers(1, 7))
    # Block 0 is the entry, which nothing may branch to.
    edges = [data.draw(st.lists(st.integers(1, count - 1), max_size=3)) if count > 1 else [] for _ in range(count)]
    blocks = [Block() for _ in range(count)]
    definitions = [test.TestOp(result_types=[i32]) for _ in range(count)]
    users = [test.TestTermOp(successors=[blocks[i] for i in edges[b]]) for b in range(count)]
    for block, definition, user in zip(blocks, definitions, users, strict=True):
        block.add_ops([definition, user])
    module = ModuleOp([test.TestOp(regions=[Region(blocks)])])

    dominance = Dominance()
    for b in range(count):
        for a in range(count):
            reachable = _reaches(edges, 0, b, without=None)
            expected = not reachable or not _reaches(edges, 0, b, without=a)
            assert dominance.is_defined_at(definitions[a].results[0], users[b]) is expected
        # Inside its own block a definition is after what is before it, reachable or not.
        assert not dominance.is_defined_at(definitions[b].results[0], definitions[b])
    assert len(module.body.block.ops) == 1


@together(
    ("text", "expected"),
    [
        ('"test.op"(%x) : (i32) -> ()\n%x = "test.op"() : () -> i32', "f:1:1: error: use of %x before its definition"),
        ('"test.op"(%0) : (i32) -> ()\n%0 = "test.op"() : () -> i32', "use of operand #0 before its definition"),
        ('%x = "test.op"(%x) : (i32) -> i32', "f:1:6: error: use of %x before its definition (defined at 1:6)"),
        (
            '%x = "test.op"() ({\n  "test.op"(%x) : (i32) -> ()\n  "test.termop"() : () -> ()\n}) : () -> i32',
            "f:2:3: error: use of %x, whose definition does not dominate this use (defined at 1:6)",
        ),
        (
            '"test.op"(%x) : (i32) -> ()\n"test.op"() ({\n^bb0(%x: i32):\n}) : () -> ()',
            "use of %x, whose definition does not dominate this use (defined at 3:6)",
        ),
        (
            'func.func @f() {\n  cf.br ^a\n^a:\n  "test.op"() : () -> ()\n}',
            "f:4:3: error: Operation test.op terminates block in multi-block region but is not a terminator",
        ),
        ("func.func @f(%x: i32) {\n}", "f:1:1: error: Operation func.func contains empty block"),
    ],
)
def test_errors_are_at_the_operation(text: str, expected: str):
    assert expected in _error(text)


def test_what_rewrites_leave_without_location_gets_that_around_it():
    module = parse_located(new_context(), '\n"test.op"() ({\n  "test.op"() : () -> ()\n}) : () -> ()', "f")
    outer, inner = [op for op in module.walk() if isinstance(op, test.TestOp)]
    inner.location = UNKNOWN_LOC
    assert nearest_location(inner) == outer.location
    assert nearest_location(test.TestOp()) == UNKNOWN_LOC


class _Verifies(test.TestOp):
    """Does not verify as often as it says; `error` is what it raises."""

    def __init__(self, times: int, error: Exception):
        super().__init__()
        self.left = times
        self.error = error

    def verify_(self) -> None:
        if self.left:
            self.left -= 1
            raise self.error


def test_verifiers_that_change_their_minds():
    with pytest.raises(LocatedError, match="not now"):
        verify_located(ModuleOp([_Verifies(1, VerifyException("not now"))]))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Exception("neither here nor there"), "neither here nor there"),
        (NotImplementedError(), "expected attributes that have a text, found a number of f80 or f128"),
    ],
)
def test_errors_of_verifiers_that_are_none_of_xdsl(error: Exception, message: str):
    with pytest.raises(LocatedError) as caught:
        verify_located(ModuleOp([_Verifies(2, error)]))
    assert caught.value.message == message


def test_verifiers_with_a_fault():
    """A fault beside an error may be its consequence; alone it is one of the compiler."""
    faulty = _Verifies(2, TypeError("a fault"))
    with pytest.raises(TypeError, match="a fault"):
        verify_located(ModuleOp([faulty]))
    for behind in (False, True):
        ops = [_Verifies(2, VerifyException("wrong")), _Verifies(2, TypeError("a fault"))]
        with pytest.raises(LocatedError) as caught:
            verify_located(ModuleOp(ops if behind else ops[::-1]))
        assert caught.value.message == "wrong" and not caught.value.others


def test_values_and_blocks_of_other_regions():
    inner = test.TestOp(result_types=[i32])
    user = test.TestOp(operands=[inner.res[0]])
    module = ModuleOp([test.TestOp(regions=[Region(Block([inner, test.TestTermOp()]))]), user])
    with pytest.raises(LocatedError, match="use of operand #0, whose definition does not dominate this use"):
        verify_located(module)
    blocks = [Block([test.TestTermOp()]) for _ in range(3)]
    first, second = Region([Block([test.TestTermOp(successors=[blocks[2]])]), blocks[0]]), Region(blocks[1:])
    with pytest.raises(LocatedError, match="Operation test.termop is branching to a block of a different region"):
        verify_located(ModuleOp([test.TestOp(regions=[first]), test.TestOp(regions=[second])]))


class _BreakingPass(ModulePass):
    name = "breaking"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.body.block.add_op(_Verifies(2, VerifyException("broken")))


def test_output_that_does_not_verify_where_a_pass_is_missing():
    text = 'tirx.kernel @k() target("sm_90a") threads(32) { %a = tirx.alloc : !tirx.tile<4xf32, shared> tirx.return }'
    context = new_context()
    passes = (TirxExpandExchangesPass(), _BreakingPass())
    with pytest.raises(LocatedError, match="expected a layout on every tile before tirx-expand-exchanges"):
        run_passes(context, parse_located(context, text), passes)


class _Nothing(ModulePass):
    name = "nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@pytest.mark.parametrize(
    ("each", "packages", "culprit", "who"),
    [
        (True, "tirx tirx", "'breaking'", "pass 'breaking'"),
        (False, "tirx tirx", "one of the passes; --verify-each names it", "passes 'nothing,breaking'"),
        (False, "other tirx", "'breaking'", "pass 'breaking'"),
        (False, "tirx other", "'breaking'", "pass 'breaking'"),
    ],
)
def test_passes_whose_output_does_not_verify(
    each: bool, packages: str, culprit: str, who: str, monkeypatch: pytest.MonkeyPatch
):
    """Passes of other packages are always verified, and have no part in what others do."""
    for kind, package in zip((_Nothing, _BreakingPass), packages.split(), strict=True):
        monkeypatch.setattr(kind, "__module__", f"{package}.passes")
    seen: list[str] = []
    with pytest.raises(InvalidPassOutputError) as caught:
        run_passes(
            Context(), ModuleOp([]), [_Nothing(), _BreakingPass()], lambda p, _: seen.append(p.name), verify_each=each
        )
    assert caught.value.culprit == culprit and seen == ["nothing"]
    assert str(caught.value).startswith(f"{who} produced IR that does not verify: ")


def test_steps_and_what_watches_them(monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(100))
    monkeypatch.setattr("tirx.text.verification.perf_counter", lambda: 2.0 ** next(clock))
    seen: list[str] = []
    steps = run_passes(Context(), ModuleOp([]), [_Nothing()], lambda p, _: seen.append(p.name), verify_each=False)
    assert steps == [StepTime("input", 0.0, 1.0), StepTime("nothing", 4.0, 8.0)] and seen == ["nothing"]


class _FaultyPass(ModulePass):
    name = "faulty"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("a fault")


def test_passes_with_a_fault():
    with pytest.raises(KeyError, match="a fault"):
        run_passes(Context(), ModuleOp([]), [_FaultyPass()])


def test_ends_of_blocks_are_verified():
    class End(test.TestTermOp):
        def verify_(self) -> None:
            raise VerifyException("the end")

    region = Region([Block([End()]), Block([test.TestTermOp()])])
    with pytest.raises(LocatedError, match="the end"):
        verify_located(ModuleOp([test.TestOp(regions=[region])]))


@pytest.mark.parametrize(("value", "each"), [(None, False), ("", False), ("0", False), ("1", True), ("no", True)])
def test_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, value: str | None, each: bool):
    monkeypatch.delenv("TIRX_VERIFY_EACH", raising=False)
    if value is not None:
        monkeypatch.setenv("TIRX_VERIFY_EACH", value)
    assert verify_each_by_default() is each


_ACQUIRE = '"tirx.acquire"(%r) : (!tirx.ring<>) -> ()'


@pytest.mark.parametrize("lines", [(_ACQUIRE, "tirx.release %r at(fill)"), ("tirx.release %r at(fill)", _ACQUIRE)])
def test_verifiers_may_count_on_operations_that_do_not_verify(lines: tuple[str, str]):
    ring = "tirx.ring slots(2) stations(fill) : !tirx.ring<>"
    text = "\n".join(["tirx.kernel @k() threads(32) {", f"%r = {ring}", *lines, "tirx.return", "}"])
    line = 3 + lines.index(_ACQUIRE)
    assert f"f:{line}:1: error: property 'station' expected in operation 'tirx.acquire'" in _error(text)


def test_steps_are_needed_for_the_module_that_hooks_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def needed(step: DeferredPass, module: ModuleOp) -> None:
        order.append("needed")

    def hook(step: ModulePass, module: ModuleOp) -> None:
        order.append("hook")

    monkeypatch.setattr(DeferredPass, "needed", needed)
    step = deferred(ArgSpec("tirx-release-early", {}))
    assert step is not None
    run_passes(Context(), ModuleOp([]), [step], before_each=hook)
    assert order == ["hook", "needed"]


def test_instructions_of_the_same_types_are_verified_once_those_of_others_again():
    text = """ptx.entry @k() target("sm_90") {{
  %c = ptx.constant 1 : i32
  %f = ptx.constant 1.0 : f32
  %a = ptx.add %c, %c : i32
  {}
  %b = ptx.add %a, %c : i32
  ptx.ret
}}"""
    verify_located(parse_located(new_context(), text.format("%x = ptx.min %f, %f : f32"), "f"))
    for line, said in {
        "%x = ptx.mul %c, %c : i32": "5:8: error: ptx.mul: expected",
        "%x = ptx.min unsigned %f, %f : f32": "5:8: error: ptx.min: expected",
        '%x = "ptx.constant"() <{value = 1 : i32}> : () -> i64': "5:8: error: expected a value of type i64, found i32",
    }.items():
        assert said in _error(text.format(line)), line


def test_instructions_with_the_same_literals_are_verified_once_those_with_others_again():
    text = """ptx.entry @k() target("sm_100a") {{
  %p = ptx.constant true
  %m = ptx.constant {} : i64
  %i = ptx.constant {} : i32
  %t = ptx.constant 0 : i32
  tcgen05.mma f16 %t, %m, %m, %i, %p : i32, i64
  ptx.ret
}}"""
    matrix, product = 1 << 46 | 8 << 32 | 8 << 16, 1 << 4 | 128 >> 3 << 17 | 128 >> 4 << 24
    verify_located(parse_located(new_context(), text.format(matrix, product), "f"))
    for wrong, said in (
        ((matrix, product | 1 << 5), "6:3: error: instruction descriptor"),
        ((8, product), "6:3: error: descriptor of A: bits 46-48"),
    ):
        assert said in _error(text.format(*wrong))


def _names_in(function: FunctionType, seen: set[FunctionType]) -> set[str]:
    """All names in the code of a function, and of the functions of dialects that it calls by name."""
    seen.add(function)
    names = set(function.__code__.co_names)
    called = [function.__globals__.get(name) for name in names]
    called += [cell.cell_contents for cell in function.__closure__ or ()]
    for each in called:
        if isinstance(each, FunctionType) and each.__module__.startswith("tirx.dialects.ptx") and each not in seen:
            names |= _names_in(each, seen)
    return names


def test_verifiers_that_follow_types_look_at_no_other_operation():
    around = {
        "owner",
        "op",
        "parent",
        "parent_op",
        "uses",
        "first_use",
        "block",
        "next_op",
        "prev_op",
        "enclosing",
        "ancestors",
    }
    entry_of: list[str] = []
    for cls in PTX.operations:
        if not issubclass(cls, PTXInstruction):
            continue
        read = _names_in(cast(FunctionType, cls.verify_), set())
        assert not (cls.FOLLOWS_TYPES and read & around), cls
        entry_of += [cls.name] if read & around else []
    assert {"ptx.ld.param", "ptx.param_address"} <= set(entry_of)
