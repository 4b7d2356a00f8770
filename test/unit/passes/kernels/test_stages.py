"""Needs and results of passes: the pipeline has them in order, facts hold where stated, and gaps have a name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from unit.cases import Sampled
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import ViewOp, kernels
from tirx.passes import PASS_SUMMARIES, lower_to_ptx_passes
from tirx.passes.kernels.stages import FACTS, LEAVES, NEEDS, Stages
from tirx.ptx.printer import print_ptx
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

_EXAMPLES = Path(__file__).parents[4] / "examples"

_KERNELS = {
    "accumulators": "gemm_any_target",
    "values": "mma_m16n8k16_f16_gemm",
    "blocks": "tcgen05_2cta_gemm",
    "warpgroups": "wgmma_gemm",
    "threads": "wgmma_ring_gemm",
    "warps": "mma_m16n8k16_f16_gemm",
    "branches": "wgmma_gemm",
}
"""Fact -> the example that breaks it first; the other facts take a plain product of tcgen05."""


@cache
def _text_of(name: str) -> str:
    return (_EXAMPLES / f"{name}.mlir").read_text()


def _text(fact: str) -> str:
    return _text_of(_KERNELS.get(fact, "tcgen05_gemm"))


@cache
def _parsed(text: str) -> ModuleOp:
    return parse_located(new_context(), text)


def _run(text: str, passes: list[ModulePass]) -> ModuleOp:
    module = _parsed(text).clone()
    run_passes(new_context(), module, passes, verify_each=False)
    return module


def _pipeline() -> list[ModulePass]:
    return list(lower_to_ptx_passes(None, "pipeline=off").passes)


def test_the_table_is_about_passes_and_facts() -> None:
    assert NEEDS.keys() | LEAVES.keys() <= PASS_SUMMARIES.keys()
    assert {fact for facts in NEEDS.values() for fact in facts} == FACTS.keys()


def test_the_pipeline_leaves_what_it_needs_in_time() -> None:
    known: set[str] = set()
    for each in _pipeline():
        assert known.issuperset(NEEDS.get(each.name, ())), each.name
        known.update(LEAVES.get(each.name, ()))


@pytest.mark.parametrize("name", sorted(set(_KERNELS.values()) | {"tcgen05_gemm"}))
@pytest.mark.sample(1)
def test_facts_hold_behind_the_pass_that_leaves_them(name: str) -> None:
    """Attributes of others hold, too: what stays the operation that it was has those that it had."""
    context = new_context()
    module = parse_located(context, (_EXAMPLES / f"{name}.mlir").read_text())
    for op in module.walk():
        op.attributes["my.note"] = UnitAttr()
    for each in _pipeline():
        noted = {(op.name, op.location) for op in module.walk() if "my.note" in op.attributes}
        each.apply(context, module)
        for op in module.walk():
            lost = "my.note" not in op.attributes and (op.name, op.location) in noted
            assert not lost or isinstance(op, arith.ConstantOp), f"attributes behind {each.name}: {op}"
        for fact in LEAVES.get(each.name, ()):
            broken = [op for kernel in kernels(module) for op in kernel.walk() if FACTS[fact].breaks(op)]
            assert not broken, f"{fact} behind {each.name}: {broken[0]}"


def test_tensor_maps_have_no_layout_of_run_time_strides() -> None:
    text = """
    !g = memref<?x?xf16, strided<[?, 1]>>
    !s = !tirx.tile<64x64xf16, shared>
    tirx.kernel @k(%a: !g, %n: index) target("sm_90a") grid(1) threads(128) {
      %s = tirx.alloc : !s
      tirx.copy %a[%n, %n], %s engine tma : !g, !s
      tirx.return
    }
    """
    names = [each.name for each in _pipeline()]
    module = _run(text, _pipeline()[: names.index("tirx-pick-layouts") + 1])
    views = [op for kernel in kernels(module) for op in kernel.walk() if isinstance(op, ViewOp)]
    assert views and all(op.result.type.layout is None and not FACTS["layouts"].breaks(op) for op in views)


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.sample(4)
def test_a_pass_that_is_missing_is_named(fact: str) -> None:
    missing = FACTS[fact].left_by
    passes = [each for each in _pipeline() if each.name != missing]
    with pytest.raises(LocatedError, match=f"run {missing} first") as caught:
        _run(_text(fact), passes)
    assert caught.value.diagnostic.position is not None


@pytest.mark.parametrize("name", ["mma_m16n8k16_f16_gemm", "tcgen05_gemm", "wgmma_gemm"])
@pytest.mark.parametrize("rest", [False, True], ids=["alone", "with the passes behind it"])
@pytest.mark.sample(2)
def test_passes_without_those_before_work_or_name_a_pass(name: str, rest: bool, sampled: Sampled) -> None:
    """
    None gives other PTX: what is not lowered has no PTX form.

    `python test/sweeps/skipped_stages.py` runs every pass behind every prefix of the pipeline.
    """
    passes = _pipeline()
    expected = print_ptx(_run(_text_of(name), passes)) if rest else None
    for i in sampled(range(1, len(passes)), 12 if rest else len(passes)):
        try:
            module = _run(_text_of(name), passes[i:] if rest else [passes[i]])
        except LocatedError as error:
            assert error.diagnostic.rule == "stage-skipped", error
            assert any(each.name in error.message for each in passes), error
            continue
        try:
            assert print_ptx(module) == expected
        except LocatedError as error:
            assert error.diagnostic.rule == "no-ptx-form"


def test_a_pass_of_somebody_else_may_undo_things() -> None:
    class Undo(ModulePass):
        name = "undo"

        def apply(self, ctx: object, op: ModuleOp) -> None:
            for kernel in kernels(op):
                for inner in kernel.walk():
                    if "plan" in inner.properties:
                        del inner.properties["plan"]

    passes = _pipeline()
    at = next(i for i, each in enumerate(passes) if each.name == "tirx-lower-rings")
    with pytest.raises(LocatedError, match="run tirx-select-instructions first"):
        _run(_text("tensor"), [*passes[:at], Undo(), *passes[at:]])


_OPS = """
!t = !tirx.tile<128x64xf32, tensor>
!s = !tirx.tile<128x64xf32, shared>
!r = !tirx.tile<128x64xf32, register>
tirx.kernel @k(%f: f32) target("sm_100a") threads(128) {
  %t = tirx.alloc : !t
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  tirx.fill %t, %f : f32, !t
  tirx.fill %s, %f : f32, !s
  tirx.fill %r, %f : f32, !r
  tirx.copy %t, %s : !t, !s
  tirx.return
}
"""


def test_a_lowering_orders_accesses_of_shared_memory() -> None:
    """By barriers, or with a proof that none is missing."""
    ordering = ("tirx-insert-barriers", "tirx-check-synchronization")
    passes = [each for each in _pipeline() if each.name not in ordering]
    with pytest.raises(LocatedError, match="found neither tirx-check-synchronization nor tirx-insert-barriers"):
        _run(_text(""), passes)
    _run(_text(""), [each for each in _pipeline() if each.name != ordering[1]])


def test_what_breaks_facts() -> None:
    """Copies and fills of memory are to become loads and stores; tiles in tensor memory are to be lowered."""
    ops = [op for op in _parsed(_OPS).walk() if op.name in ("tirx.alloc", "tirx.fill", "tirx.copy")]
    assert [FACTS["loads"].breaks(op) for op in ops] == [False, False, False, True, True, False, True]
    assert [FACTS["tensor"].breaks(op) for op in ops] == [True, *[False] * 6]
    assert [FACTS["values"].breaks(op) for op in ops] == [False, False, True, *[False] * 4]


def test_facts_of_short_runs() -> None:
    """Errors of any run are raised at once; other gaps are noted."""
    stages = Stages(["tirx-copy-accumulators"])
    stages.before("tirx-copy-accumulators", _parsed(_OPS))
    assert stages.missing is not None
    assert stages.missing.message == (
        "expected kernels to be entries before tirx-copy-accumulators, found 'tirx.kernel'; "
        "run convert-tirx-to-ptx first"
    )
