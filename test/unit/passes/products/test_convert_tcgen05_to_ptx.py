"""Every modifier of every `tcgen05` operation arrives in the PTX, which `ptxas` accepts."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from unit.cases import Sampled, together
from unit.passes.parsed import parsed

import tirx
from tirx.dialects.tirx import kernels
from tirx.passes.products.convert_tcgen05_to_ptx import _most_registers  # pyright: ignore[reportPrivateUsage]
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.tcgen05.block_scale import SCALE_VECTORS
from tirx.tcgen05.check_memory import CP_SHAPES, CP_SOURCES
from tirx.tcgen05.mma_rules import ASHIFT_COLLECTOR_USAGES, COLLECTOR_BUFFERS, COLLECTOR_USAGES

TYPES = """
!d = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!a = !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>>
!m = !tirx.tile<128x2xi32, tensor, #tirx.tile_layout<S[(128, 2) : (1@TLane, 1@TCol)]>>
!s = !tirx.tile<32x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!r = !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
!row = !tirx.tile<128xf32, register, #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>>
!low = !tirx.tile<128x32xf16, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 2@TCol)]>>
!halves = !tirx.tile<128x32xf16, register, #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>>
"""

KERNEL = """
tirx.kernel @k(%b: i64, %i: i32, %w: i32, %base: i32, %other: i32, %mbar: i32) target("{target}") threads(128) {{
  %p = arith.constant true
  %ctas = arith.constant 3 : i16
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %d = tcgen05.tile %base, 0 : i32 -> !d
  %e = tcgen05.tile %base, 128 : i32 -> !d
  %a = tcgen05.tile %base, 64 : i32 -> !a
  %m = tcgen05.tile %base, 80 : i32 -> !m
  %s = tcgen05.tile %base, 84 : i32 -> !s
  %low = tcgen05.tile %base, 96 : i32 -> !low
  %some = arith.cmpi eq, %i, %w : i32
  scf.if %some {{
  {body}
  }}
  tirx.return
}}
"""

OPERANDS = {False: ("%b", "!d, i64"), True: ("%a", "!d, !a")}
"""A and the types, by whether A is in tensor memory."""

FLAG = (False, True)


@dataclass(frozen=True)
class Case:
    """One operation, and the PTX instruction that it becomes, without operands."""

    operation: str
    instruction: str


def _products(group: int) -> Iterator[Case]:
    lanes = ", ".join(["%w"] * (4 * group))
    for kind, in_tmem, sparse, ashift, collector, disabled in product(
        ("f16", "tf32", "f8f6f4", "i8"), FLAG, FLAG, FLAG, (None, *COLLECTOR_USAGES), FLAG
    ):
        if ashift and (not in_tmem or collector not in (None, *ASHIFT_COLLECTOR_USAGES)):
            continue
        a, types = OPERANDS[in_tmem]
        scale = kind in ("f16", "tf32") and disabled
        yield Case(
            f"tcgen05.mma {kind} %d, {a}, %b, %i, %p cta_group {group}"
            + (" sparse(%m : !m)" if sparse else "")
            + (f" disable_lanes({lanes})" if disabled else "")
            + (" ashift" if ashift else "")
            + (f" collector {collector}" if collector else "")
            + (" scale_d 3" if scale else "")
            + f" : {types}",
            f"tcgen05.mma{'.sp' if sparse else ''}.cta_group::{group}.kind::{kind}{'.ashift' if ashift else ''}"
            + (f".collector::a::{collector}" if collector else ""),
        )
    for row, in_tmem, sparse, collector in product(SCALE_VECTORS, FLAG, FLAG, (None, *COLLECTOR_USAGES)):
        a, types = OPERANDS[in_tmem]
        for name in (row.name, None) if row.default else (row.name,):
            yield Case(
                f"tcgen05.mma {row.kind}"
                + (f' "{name}"' if name else "")
                + f" %d, {a}, %b, %i, %p scales(%s, %s : !s, !s) cta_group {group}"
                + (" sparse(%m : !m)" if sparse else "")
                + (f" collector {collector}" if collector else "")
                + f" : {types}",
                f"tcgen05.mma{'.sp' if sparse else ''}.cta_group::{group}.kind::{row.kind}.block_scale"
                + (f".{name}" if name else "")
                + (f".collector::a::{collector}" if collector else ""),
            )


def _weight_stationary() -> Iterator[Case]:
    collectors = [None, *product(COLLECTOR_BUFFERS[True], COLLECTOR_USAGES)]
    for kind, in_tmem, masked, sparse, collector in product(
        ("f16", "tf32", "f8f6f4", "i8"), FLAG, FLAG, FLAG, collectors
    ):
        a, types = OPERANDS[in_tmem]
        yield Case(
            f"tcgen05.mma ws {kind} %d, {a}, %b, %i, %p"
            + (" zero_column_mask %b" if masked else "")
            + (" sparse(%m : !m)" if sparse else "")
            + (f' buffer "{collector[0]}" collector {collector[1]}' if collector else "")
            + f" : {types}",
            f"tcgen05.mma.ws{'.sp' if sparse else ''}.cta_group::1.kind::{kind}"
            + (f".collector::{'::'.join(collector)}" if collector else ""),
        )


def _memory(group: int) -> Iterator[Case]:
    yield Case(
        f"tcgen05.alloc %slot columns 64 cta_group {group}",
        f"tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32",
    )
    yield Case(
        f"tcgen05.relinquish_alloc_permit cta_group {group}",
        f"tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned",
    )
    for row in CP_SHAPES.values():
        for multicast, source in product(row.multicasts, (None, *CP_SOURCES)):
            yield Case(
                f'tcgen05.cp "{row.name}" %d, %b'
                + (f' multicast "{multicast}"' if multicast else "")
                + (f' decompress "{source}"' if source else "")
                + f" cta_group {group} : !d",
                f"tcgen05.cp.cta_group::{group}.{row.name}"
                + (f".{multicast}" if multicast else "")
                + (f".b8x16.{source}" if source else ""),
            )
    yield Case(f"tcgen05.shift %d cta_group {group} : !d", f"tcgen05.shift.cta_group::{group}.down")
    commit = f"tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster"
    yield Case(f"tcgen05.commit %mbar cta_group {group}", f"{commit}.b64")
    yield Case(f"tcgen05.commit %mbar multicast %ctas cta_group {group}", f"{commit}.multicast::cluster.b64")
    yield Case('%v = tcgen05.ld "32x32b" %e : !d -> !r', "tcgen05.ld.sync.aligned.32x32b.x64.b32")
    yield Case("tcgen05.wait ld", "tcgen05.wait::ld.sync.aligned")
    yield Case('tcgen05.st "32x32b" %e, %v : !d, !r', "tcgen05.st.sync.aligned.32x32b.x64.b32")
    yield Case(
        '%h = tcgen05.ld "32x32b" %low pack : !low -> !halves', "tcgen05.ld.sync.aligned.32x32b.x16.pack::16b.b32"
    )
    yield Case("tcgen05.wait ld", "tcgen05.wait::ld.sync.aligned")
    yield Case(
        'tcgen05.st "32x32b" %low unpack, %h : !low, !halves', "tcgen05.st.sync.aligned.32x32b.x16.unpack::16b.b32"
    )
    yield Case("tcgen05.wait st", "tcgen05.wait::st.sync.aligned")
    yield Case("tcgen05.fence before_thread_sync", "tcgen05.fence::before_thread_sync")
    yield Case("tcgen05.fence after_thread_sync", "tcgen05.fence::after_thread_sync")
    yield Case(
        f"tcgen05.dealloc %other columns 64 cta_group {group}", f"tcgen05.dealloc.cta_group::{group}.sync.aligned.b32"
    )


def _reductions() -> Iterator[Case]:
    for reduction, absolute, nan in product(("min", "max"), FLAG, FLAG):
        flags = (" abs" if absolute else "") + (" nan" if nan else "")
        modifiers = f"{reduction}{'.abs' if absolute else ''}{'.NaN' if nan else ''}"
        yield Case(
            f'%m_{reduction}_{absolute}_{nan}, %{reduction}_{absolute}_{nan} = tcgen05.ld.red {reduction} "32x32b" '
            f"%d{flags} : !d -> !row, !r",
            f"tcgen05.ld.red.sync.aligned.32x32b.x64.{modifiers}.f32",
        )


CASES = {
    "products": ("sm_100a", tuple(_products(1))),
    "products-of-pairs": ("sm_100a", tuple(_products(2))),
    "weight-stationary": ("sm_110a", tuple(_weight_stationary())),
    "memory": ("sm_100a", tuple(_memory(1))),
    "memory-of-pairs": ("sm_103a", tuple(_memory(2))),
    "reductions": ("sm_103a", tuple(_reductions())),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_modifiers_arrive(name: str, sampled: Sampled) -> None:
    target, every = CASES[name]
    # A collector buffer that is used has been filled.
    fills = {case.instruction.partition("collector")[2]: case for case in every if case.instruction.endswith("::fill")}
    cases = [*fills.values(), *sampled(every, 35)]
    body = "\n  ".join(case.operation for case in cases)
    text = tirx.compile(TYPES + KERNEL.format(target=target, body=body))
    instructions = [line.split()[0].rstrip(";") for line in text.splitlines() if line.startswith("  tcgen05.")]
    assert instructions == [case.instruction for case in cases]
    if find_ptxas() is not None:
        result = assemble(text, target)
        assert result.ok, result.stderr


@together(("threads", "registers"), [(32, 128), (256, 128), (288, 113), (512, 64), (640, 51), (1024, 32)])
def test_registers_of_one_instruction(threads: int, registers: int) -> None:
    """Half of what a thread has of the 65536 of a multiprocessor, and at most 128."""
    (kernel,) = kernels(parsed(f"tirx.kernel @k() threads({threads}) {{\n  tirx.return\n}}"))
    assert kernel.body.block.last_op is not None
    assert _most_registers(kernel.body.block.last_op) == registers
