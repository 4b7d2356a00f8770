"""Programs of parties that are read from kernels: the simulator runs every kernel that the check accepts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from unit.kernels.ring_kernels import RingKernel
from unit.passes.parsed import parsed
from unit.passes.rings.proof.test_progress import witness
from xdsl.dialects import scf, test

from tirx.dialects.tirx import AcquireOp, KernelOp
from tirx.passes.rings.proof.errors import PartyError
from tirx.passes.rings.proof.extraction import Extraction
from tirx.passes.rings.proof.model import Kernel
from tirx.passes.rings.proof.progress import check
from tirx.passes.rings.proof.tile_accesses import (
    _may_be_skipped,  # pyright: ignore[reportPrivateUsage]
    tile_accesses,
)

FILES = Path(__file__).parents[4] / "passes"
"""The FileCheck tests of passes."""


def kernels(file: str) -> list[Kernel]:
    """The kernels of a file whose chunks are all accepted."""
    found: list[Kernel] = []
    for chunk in (FILES / file).read_text().split("// -----\n"):
        module = parsed(chunk)
        for op in module.ops:
            if isinstance(op, KernelOp):
                extracted = Extraction(op).model
                assert extracted is not None
                found.append(extracted)
    return found


@cache
def accepted() -> list[Kernel]:
    """Read when a test asks, as every worker imports this file."""
    return [*kernels("tirx-check-rings.mlir"), *kernels("tirx-check-rings-tcgen05.mlir")]


@pytest.mark.parametrize("index", range(7))
@pytest.mark.sample(1)
def test_the_simulator_runs_what_is_accepted(index: int):
    kernel = accepted()[index]
    check(kernel)
    witness(kernel, (0, 1, 2, 4), runs=2)


def test_parties_follow_from_operations():
    wgmma, cluster, fragments, copies, attention, pair, _ = accepted()
    assert list(wgmma.roles) == ["wgmma.wg0", "wgmma.wg1"]
    assert wgmma.rings["%ab"].stations == (("wgmma.wg0",), ("wgmma.wg0", "wgmma.wg1"))
    assert " ".join(sorted(cluster.roles)) == "load@0 load@1 math.wg0@0 math.wg0@1 math.wg1@0 math.wg1@1"
    assert cluster.rings["%ab"].multicast and set(cluster.rings) == {"%ab", "%out@0", "%out@1"}
    assert list(fragments.roles) == ["load", "math.w0", "math.w1"]
    assert copies.rings["%ab"].stations == (("cp_async.w0", "cp_async.w1"),) * 2
    assert attention.rings["%turn"].stations == (("math.wg0",), ("math.wg1",))
    assert list(pair.roles) == ["sched@0", "load@0", "load@1", "mma@0", "epilogue@0", "epilogue@1"]
    assert pair.rings["%clc"].stations == (("sched@0",), tuple(pair.roles))


def test_bytes_follow_from_copies():
    wgmma, cluster, *_ = accepted()
    size = (128 + 256) * 64 * 2
    assert (wgmma.rings["%ab"].bytes, wgmma.rings["%ab"].shares) == (size, (size,))
    assert (cluster.rings["%ab"].bytes, cluster.rings["%ab"].shares) == (2 * size, (size, size))


_SQUARE = RingKernel(slots=2, skew=0, roles=True, engine="tma", cluster=True, square=True).text


def test_blocks_of_a_row_and_a_column_share_slots():
    """Blocks of a cluster of 2 x 2 share them but the one across."""
    (kernel,) = parsed(_SQUARE).ops
    assert isinstance(kernel, KernelOp)
    extracted = Extraction(kernel).model
    assert extracted is not None
    (ring,) = extracted.rings.values()
    assert ring.differences == frozenset((0, 1, 2))
    check(extracted)


@pytest.mark.parametrize(("across", "found"), [("", "none"), ("across(pair)", "across(pair)")])
def test_slots_that_are_filled_in_several_blocks_are_shared(across: str, found: str):
    (kernel,) = parsed(_SQUARE.replace("across(cluster)", across)).ops
    assert isinstance(kernel, KernelOp)
    with pytest.raises(PartyError) as error:
        _ = Extraction(kernel).model
    assert error.value.message == (
        "expected across(cluster) or across(pairs) of a ring whose slots are filled in several blocks by one copy, "
        f"found {found}"
    )


def test_what_operations_of_others_do_with_slots():
    """Operations that only read say so; others may write as well."""
    text = """
    !s = !tirx.tile<64x64xf16, shared>
    tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
      %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
      %s = tirx.acquire %ab at(use)
      tirx.release %ab at(use)
      tirx.return
    }"""
    (acquire,) = [op for op in parsed(text).walk() if isinstance(op, AcquireOp)]
    tile = acquire.results[0]
    found = {
        kind.name: [(access.station, access.mode.name) for access in tile_accesses(kind.create(operands=[tile]))]
        for kind in (test.TestReadOp, test.TestWriteOp, test.TestOp, test.TestPureOp)
    }
    assert found == {
        test.TestReadOp.name: [("use", "READ")],
        test.TestWriteOp.name: [("use", "READ"), ("use", "WRITE")],
        test.TestOp.name: [("use", "READ"), ("use", "WRITE")],
        test.TestPureOp.name: [],
    }
    assert list(tile_accesses(test.TestOp.create())) == []


def test_loops_that_may_not_run() -> None:
    text = """tirx.kernel @k(%n: index) threads(32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c0 step %c1 { }
      scf.for %i = %c0 to %c1 step %c1 { }
      scf.for %i = %c1 to %c0 step %c1 { }
      scf.for %i = %c0 to %n step %c1 { }
      scf.for %i = %n to %c1 step %c1 { }
      tirx.return
    }"""
    loops = [op for op in parsed(text).walk() if isinstance(op, scf.ForOp)]
    assert [_may_be_skipped(loop) for loop in loops] == [True, False, True, True, True]
