"""Changes of schedules that cannot be proved are taken back, and who hears of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable
from functools import partial

import pytest
from unit.examples import EXAMPLES
from unit.passes.parsed import context, parsed
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler, in_stage, remark, warn
from tirx.dialects.tirx import ForOp, KernelOp, ReleaseOp, RingOp, kernels
from tirx.passes import lower_to_ptx_passes
from tirx.passes.ir.emitter import erase
from tirx.passes.rings import attempt as attempts
from tirx.passes.rings import next_slot
from tirx.passes.rings.attempt import STRICT, attempt, prove_together
from tirx.passes.rings.proof import proof
from tirx.passes.rings.tirx_pipeline_loops import TirxPipelineLoopsPass
from tirx.passes.rings.tirx_specialize_warps import TirxSpecializeWarpsPass
from tirx.remarks import Reason
from tirx.text.verification import run_passes

_KERNEL = """
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
tirx.kernel @k(%a: memref<64x64xf16>, %n: index) threads(128) attributes {kept = 1} {
  %c0 = arith.constant 0 : index
  %s = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @j %j = 0 to %n {
    %ga = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
    %filled = tirx.acquire %s at(fill)
    tirx.async_copy %ga, %filled engine(tma) : !tirx.tile<64x64xf16, global>, !s
    tirx.release %s at(fill) after(tma)
    %used = tirx.acquire %s at(use)
    %v = tirx.load %used : !s -> !tirx.tile<64x64xf16, register>
    tirx.release %s at(use)
  }
  tirx.return
}
"""


def _kernel() -> KernelOp:
    (kernel,) = kernels(parsed(_KERNEL))
    return kernel


def _drop(kernel: KernelOp, station: str) -> None:
    kernel.attributes.pop("kept", None)
    remark(kernel, Reason("changed"))
    for op in [op for op in kernel.walk() if isinstance(op, ReleaseOp) and op.station.data == station]:
        erase(op)


@pytest.fixture(autouse=True)
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STRICT, raising=False)


def _attempted(kernel: KernelOp, station: str, asked: bool = False) -> tuple[bool, list[Diagnostic]]:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        kept = attempt(kernel, "stays as it is", lambda: _drop(kernel, station), asked)
    return kept, said


def test_a_change_that_is_right_stays_with_its_remarks():
    kernel = _kernel()
    kept, said = _attempted(kernel, "none")
    assert kept and not kernel.attributes
    assert [diagnostic.message for diagnostic in said] == ["changed"]


def test_a_change_that_is_wrong_is_taken_back():
    kernel = _kernel()
    before = str(kernel)
    kept, (said,) = _attempted(kernel, "use")
    assert not kept and str(kernel) == before
    kernel.verify()
    assert said.severity == "remark" and said.position == ("<test>", 5, 8)
    assert said.message == (
        "@k stays as it is: expected the same number of uses of %s at all stations, found 1 by k at station fill of "
        "%s, 1 by k at station use of %s, when every loop has 1 iteration [ring-parties]"
    )


@pytest.mark.parametrize("asked", [True, False])
def test_who_wants_an_error_gets_one(monkeypatch: pytest.MonkeyPatch, asked: bool):
    kernel = _kernel()
    before = str(kernel)
    if not asked:
        monkeypatch.setenv(STRICT, "1")
    with pytest.raises(LocatedError, match="expected the same number of uses") as error:
        _attempted(kernel, "use", asked)
    assert error.value.diagnostic.rule == "ring-parties"
    assert str(kernel) == before


def test_what_was_wrong_before_is_for_the_check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(STRICT, "1")
    kernel = _kernel()
    _drop(kernel, "fill")
    assert _attempted(kernel, "use") == (False, [])


def _marked(kernel: KernelOp, name: str, station: str) -> None:
    """Attempts to set an attribute of the kernel, and to drop the releases at a station."""

    def change() -> None:
        _drop(kernel, station)
        kernel.attributes[name] = UnitAttr()

    attempt(kernel, f"is without {name}", change)


@pytest.mark.parametrize(
    ("first", "second", "proofs", "kept"),
    [
        ("none", "none", 1, ["one", "two"]),
        ("none", "use", 4, ["one"]),
        ("use", "none", 4, ["two"]),
        ("use", "fill", 5, []),
        ("fill", "use", 5, []),
    ],
)
def test_changes_of_two_passes_are_proved_at_once(
    first: str, second: str, proofs: int, kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the proof fails each change is proved by itself, and what stays is what stays without a proof of both."""
    proved: list[KernelOp] = []

    prove = proof.prove

    def counted(kernel: KernelOp) -> object:
        proved.append(kernel)
        return prove(kernel)

    monkeypatch.setattr(proof, "prove", counted)
    kernel = _kernel()
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append, remarks=False):
        with in_stage("one", "two"):
            prove_together(kernel, "one", lambda: _marked(kernel, "one", first), until="two")
        assert not proved and "one" in kernel.attributes
        with in_stage("two"):
            prove_together(kernel, "two", lambda: _marked(kernel, "two", second))
    assert len(proved) == proofs
    kernel.attributes.pop("kept", None)
    assert [*kernel.attributes] == kept
    kernel.verify()
    assert [each.stage for each in said if each.message == "changed"] == kept


@pytest.mark.parametrize("is_wrong", [False, True])
def test_fragments_are_proved_with_the_rings_that_they_come_from(is_wrong: bool, monkeypatch: pytest.MonkeyPatch):
    """One proof; where it fails the rings stay, and the fragments of the next slot are not loaded ahead."""
    proved: list[KernelOp] = []
    prove, ahead = proof.prove, next_slot.prefetch_next_slots

    def counted(kernel: KernelOp) -> object:
        proved.append(kernel)
        return prove(kernel)

    def changed(loops: Iterable[ForOp]) -> None:
        first, *_ = found = list(loops)
        ahead(found)
        if is_wrong:
            erase(next(op for op in first.walk() if isinstance(op, ReleaseOp)))

    monkeypatch.setattr(proof, "prove", counted)
    monkeypatch.setattr(next_slot, "prefetch_next_slots", changed)
    passes = lower_to_ptx_passes().passes
    last = [each.name for each in passes].index("tirx-prefetch-fragments")
    skews: list[list[int]] = []
    for end in (last + 1, last):  # without the pass that comes last the one before it proves the rings
        proved.clear()
        module = parsed((EXAMPLES / "mma_m16n8k16_f16_gemm.mlir").read_text())
        run_passes(context(), module, passes[:end])
        assert (len(proved) == 1) == (end == last or not is_wrong)
        (kernel,) = kernels(module)
        assert any(isinstance(op, RingOp) for op in kernel.walk())
        prove(kernel)
        skews.append([op.rounds_ahead for op in kernel.walk() if isinstance(op, ForOp)])
    assert (skews[0] == skews[1]) == is_wrong


def test_changes_are_proved_by_the_pass_that_nobody_follows():
    kernel = _kernel()
    before = str(kernel)
    with in_stage("one", "three"):
        prove_together(kernel, "one", lambda: _marked(kernel, "one", "use"), until="two")
    assert str(kernel) == before


@pytest.mark.parametrize("is_behind", [True, False])
def test_who_looks_between_passes_sees_no_change_that_is_taken_back(is_behind: bool, monkeypatch: pytest.MonkeyPatch):
    """The first of two passes proves what it has made, as the second one would otherwise."""

    def fails(kernel: KernelOp) -> None:
        if any(isinstance(op, RingOp) for op in kernel.walk()):
            raise LocatedError(kernel, "no proof")

    def look(step: ModulePass, module: ModuleOp) -> None:
        seen.append(any(isinstance(op, RingOp) for op in module.walk()))

    monkeypatch.setattr(attempts, "_require_right", fails)
    seen: list[bool] = []
    passes = [TirxPipelineLoopsPass(), TirxSpecializeWarpsPass()]
    with diagnostic_handler(lambda _: None, remarks=False):
        behind, before = (look, None) if is_behind else (None, look)
        run_passes(context(), parsed(_LOOP), passes, behind, before_each=before)
    assert seen == [False, False]


def test_changes_that_nobody_proves_do_not_keep_kernels():
    kernel = _kernel()
    with in_stage("one", "two"):
        prove_together(kernel, "one", partial(_marked, kernel, "one", "none"), until="two")
    gone = weakref.ref(kernel)
    del kernel
    gc.collect(1)  # a whole collection looks at all that the process has
    assert gone() is None


def test_what_is_said_of_changes_that_are_proved_at_once():
    """Once, in the order of the passes, with their names; an error of the second one is one."""

    def speaks(name: str) -> None:
        warn(kernel, f"of {name}", "register-spills")
        _marked(kernel, name, "none")

    def fails() -> None:
        raise LocatedError(kernel, "expected another option")

    said: list[Diagnostic] = []
    for second in (lambda: speaks("two"), fails):
        kernel = _kernel()
        said.clear()
        with diagnostic_handler(said.append, remarks=False):
            with in_stage("one", "two"):
                prove_together(kernel, "one", lambda: speaks("one"), until="two")
            assert said == []
            with in_stage("two"):
                if second is fails:
                    with pytest.raises(LocatedError, match="expected another option"):
                        prove_together(kernel, "two", second)
                else:
                    prove_together(kernel, "two", second)
        wanted = ["one"] if second is fails else ["one", "two"]
        assert [each.stage for each in said if each.severity == "warning"] == wanted and "one" in kernel.attributes


def _drop_release(kernel: KernelOp) -> None:
    erase(next(op for op in kernel.walk() if isinstance(op, ReleaseOp)))


def _swap(kernel: KernelOp) -> None:
    first, second = [op for op in kernel.walk() if isinstance(op, ReleaseOp)][-2:]
    first.properties, second.properties = second.properties, first.properties


def _move_out_of_the_loop(kernel: KernelOp) -> None:
    release = next(op for op in kernel.walk() if isinstance(op, ReleaseOp))
    release.detach()
    last = kernel.body.block.last_op
    assert last is not None
    kernel.body.block.insert_op_before(release, last)


@pytest.mark.parametrize("change", [_drop_release, _swap, _move_out_of_the_loop])
def test_a_kernel_is_proved_once_and_again_when_it_has_changed(
    change: Callable[[KernelOp], None], monkeypatch: pytest.MonkeyPatch
):
    proved: list[KernelOp] = []
    monkeypatch.setattr(proof, "_prove", proved.append)
    kernel = _kernel()
    for times in (1, 2):
        for _ in range(2):
            proof.prove(kernel)
        assert len(proved) == times
        change(kernel)


def test_programs_are_those_of_the_kernel_as_it_is():
    """Who lowers a kernel takes the programs that were proved, once, unless the kernel has changed since."""
    for change in (None, _drop_release):
        kernel = _kernel()
        assert proof.take_programs(kernel) is None
        programs = proof.prove(kernel)
        assert programs is not None and proof.prove(kernel) is programs
        if change is not None:
            change(kernel)
        assert proof.take_programs(kernel) is (None if change else programs)
        assert proof.take_programs(kernel) is None


def test_what_was_proved_does_not_keep_kernels():
    kernel = _kernel()
    proof.prove(kernel)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect(1)  # a whole collection looks at all that the process has
    assert gone() is None


_LOOP = """
!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @k(%a: memref<128x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !t
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !s
    tirx.mma %sa, %sa, %acc : !s, !s, !t
  }
  tirx.return
}
"""
_STORES = """
!s = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<64x64xf16, register>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%d: memref<?x64xf16>, %n: index) target("sm_90") threads(128) {
  %out = tirx.alloc : !s
  tirx.tiles @tile %i, %j = order(row) of (%n, %n) {
    %v = "test.op"(%i) : (index) -> !d
    tirx.store %v, %out : !d, !s
    %gd = tirx.view %d[%i, %j] : memref<?x64xf16> -> !g
    tirx.copy %out, %gd engine tma_store : !s, !g
  }
  tirx.return
}
"""


@pytest.mark.parametrize(("text", "kept"), [(_LOOP, "keeps its loops"), (_STORES, "waits for its bulk stores")])
def test_what_is_kept_instead(text: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of which no ring is proved, and stores that threads wait for."""

    def fails(kernel: KernelOp) -> None:
        if any(isinstance(op, RingOp) for op in kernel.walk()):
            raise LocatedError(kernel, "no proof")

    monkeypatch.setattr(attempts, "_require_right", fails)
    said: list[str] = []
    with diagnostic_handler(lambda diagnostic: said.append(diagnostic.message)):
        TirxPipelineLoopsPass().apply(context(), parsed(text))
    assert any(message.startswith(f"@k {kept}: no proof") for message in said), said
