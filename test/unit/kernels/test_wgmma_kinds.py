"""Every kind of wgmma from a tile program without layouts: assembled, and equal to numpy in the simulator."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.kernels.product_kernels import Kernel, products

import tirx
from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler

E4, E5 = "f8E4M3FN", "f8E5M2"


def _kernel(
    m: int,
    n: int,
    k: int,
    a: str,
    b: str,
    d: str = "f32",
    *,
    sparse: int = 0,
    a_memory: str = "shared",
    threads: int = 128,
) -> Kernel:
    return Kernel(
        *(m, n, k, a, b, d), sparse=sparse, a_memory=a_memory, target="sm_90a", memory="register", threads=threads
    )


MN_MAJOR = replace(_kernel(64, 64, 32, "f16", "f16"), a_major="MN", b_major="MN")


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (_kernel(64, 24, 32, "f16", "f16", "f16"), "m64n24k16.f16.f16.f16"),
        (_kernel(64, 272, 16, "f16", "f16"), "m64n136k16.f32.f16.f16"),
        (_kernel(64, 32, 32, "bf16", "bf16", a_memory="register", threads=256), "m64n16k16.f32.bf16.bf16"),
        (_kernel(128, 32, 16, "f16", "f16", threads=512), "m64n16k16.f32.f16.f16"),
        (MN_MAJOR, "m64n64k16.f32.f16.f16"),
        (_kernel(64, 8, 16, "tf32", "tf32", a_memory="register"), "m64n8k8.f32.tf32.tf32"),
        (_kernel(64, 16, 64, E4, E5, "f16"), "m64n16k32.f16.e4m3.e5m2"),
        (_kernel(128, 8, 32, E5, E5, a_memory="register"), "m64n8k32.f32.e5m2.e5m2"),
        (_kernel(64, 16, 64, "si8", "ui8", "i32"), "m64n16k32.s32.s8.u8"),
        (_kernel(64, 16, 64, "f16", "f16", sparse=4), "m64n16k32.f32.f16.f16"),
        (_kernel(128, 8, 64, "bf16", "bf16", sparse=4, a_memory="register", threads=256), "m64n8k32.f32.bf16.bf16"),
        (_kernel(64, 16, 32, "tf32", "tf32", sparse=2), "m64n16k16.f32.tf32.tf32"),
        (_kernel(64, 8, 128, E4, E4, sparse=4), "m64n8k64.f32.e4m3.e4m3"),
        (_kernel(64, 16, 64, "ui8", "si8", "i32", sparse=4, a_memory="register"), "m64n16k64.s32.u8.s8"),
    ],
    ids=lambda value: value.replace(".", "_") if isinstance(value, str) else "",
)
@pytest.mark.sample(1)
def test_kinds(kernel: Kernel, expected: str):
    ptx = kernel.compile()
    sparse = ".sp" if kernel.sparse else ""
    assert set(products(ptx)) == {f"wgmma.mma_async{sparse}.sync.aligned.{expected}"}
    kernel.check(ptx)


@pytest.mark.parametrize(
    ("kernel", "clause", "message"),
    [
        (_kernel(96, 16, 32, "f16", "f16"), "negate_a", "expected M in steps of 64, found 96; nearest is 128"),
        (_kernel(64, 16, 24, "f16", "f16"), "negate_b", "expected K in steps of 16, found 24"),
        (_kernel(64, 16, 32, "si8", "ui8", "i32"), "negate_a", "expected no negated operand, found one"),
        (_kernel(64, 16, 32, "f16", "f16", threads=96), "negate_a", "whole warpgroups of 128 threads"),
        (
            replace(_kernel(64, 16, 32, "f16", "f16"), target="sm_80"),
            "negate_a",
            (
                r"^<string>:16:3: error: expected no clause 'negate_a' on a product by mma\.sync, found it; "
                r"wgmma \(sm_90a\) and tcgen05 have it \[product-clauses\]$"
            ),
        ),
    ],
)
def test_illegal_products(kernel: Kernel, clause: str, message: str):
    """Clauses that mma.sync does not have, where the target, types or sizes leave nothing else."""
    text = kernel.text().replace("tirx.mma %ta, %tb, %td ", f"tirx.mma %ta, %tb, %td {clause} ")
    with pytest.raises(LocatedError, match=message):
        tirx.compile(text)


def test_other_sizes_are_of_mma_sync():
    reported: list[Diagnostic] = []
    with diagnostic_handler(reported.append):
        ptx = tirx.compile(_kernel(96, 16, 32, "f16", "f16").text())
    assert "mma.sync" in ptx and "wgmma" not in ptx
    assert any(
        "multiplied by mma.sync instead of wgmma: expected M in steps of 64" in each.message for each in reported
    )
