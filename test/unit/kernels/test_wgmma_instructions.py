"""A kernel of ptx operations from a plan: assembled, and equal to numpy in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import tirx
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.sim import run
from tirx.smem.pick import pick_operand_layout
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.wgmma.fragments import Warpgroups, accumulator_layout
from tirx.wgmma.match import Product, Tile, match

M, N, K, TRIPS = 128, 24, 64, 3
GRID = Warpgroups(2)
BYTES = 2 * (M + N) * K


def _module(a_major: Major, b_major: Major) -> tuple[str, Tile, Tile]:
    """TRIPS tiles of A and B, one behind the other in `image`, are added up; accumulators start at zero."""
    a = Tile(pick_operand_layout((M, K), "f16", a_major, family=WGMMA_OPERANDS), (M, K), "f16")
    b = Tile(pick_operand_layout((N, K), "f16", b_major, family=WGMMA_OPERANDS), (N, K), "f16")
    plan = match(Product(a, b, Tile(accumulator_layout(M, N, GRID), (M, N), "f32", True), 128 * GRID.count))
    assert plan.a_read is not None
    count = plan.steps[0].form.d_registers
    types = ", ".join(["f32"] * count)
    flags = "".join(f" {flag}" for flag, on in zip(("transpose_a", "transpose_b"), plan.transposes, strict=True) if on)
    current = [f"%c{i}" for i in range(count)]
    body: list[str] = []
    for number, step in enumerate(plan.steps):
        for name, read, base, offset in (("a", plan.a_read, 0, step.a), ("b", plan.b_read, 2 * M * K, step.b)):
            word = read.descriptor(base, 0, offset).encode()
            signed = word - (1 << 64) if word >> 63 else word
            body.append(f"%w{name}{number} = ptx.constant {signed} : i64")
            body.append(f"%{name}{number} = ptx.add %{name}_base, %w{name}{number} : i64")
        results = [f"%d{number}_{i}" for i in range(count)]
        body.append(
            f'{", ".join(results)} = wgmma.mma_async "f16" "f16" a(%a{number} : i64) b(%b{number}) '
            f"c({', '.join(current)} : {types}){flags} -> {types}"
        )
        current = results
    lines = "\n".join(f"  {line}" for line in body)
    stores = "\n".join(
        f"  %s{i} = ptx.add %to, %offset{i} : i64\n  ptx.st global %s{i}, {value} : i64, f32"
        for i, value in enumerate(current)
    )
    offsets = "\n".join(f"  %offset{i} = ptx.constant {4 * i} : i64" for i in range(count))
    step_m = (plan.a_read.bases[1] - plan.a_read.bases[0]) >> 4
    assert plan.b_read.bases == (0, 0)
    arguments = ", ".join(f"%c{i} : f32" for i in range(count))
    text = f"""
ptx.entry @k(image : u64, out : u64) target("sm_90a") reqntid(256) {{
  %image = ptx.ld.param @image : i64
  %out = ptx.ld.param @out : i64
  %tile = ptx.shared_alloc @tile bytes {BYTES} align 1024
  %tid = ptx.read_special tid.x
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i32
  %one = ptx.constant 1 : i32
  %four = ptx.constant 4 : i32
  %seven = ptx.constant 7 : i32
  %stride = ptx.constant 1024 : i32
  %trips = ptx.constant {TRIPS} : i32
  %bytes = ptx.constant {BYTES} : i32
  %step_m = ptx.constant {step_m} : i32
  %size = ptx.constant {4 * count} : i32
{offsets}
  %row = ptx.shr unsigned %tile, %four : i32
  %group = ptx.shr unsigned %tid, %seven : i32
  %moved = ptx.mad.lo %group, %step_m, %row : i32
  %a_base = ptx.cvt unsigned %moved : i32 -> i64
  %b_base = ptx.cvt unsigned %row : i32 -> i64
  %own = ptx.mul.wide unsigned %tid, %size : i32 -> i64
  %to = ptx.add %out, %own : i64
  %first = ptx.shl %tid, %two : i32
  ptx.bra ^turn(%none, {", ".join(["%zero"] * count)} : i32, {types})
^turn(%k : i32, {arguments}):
  ptx.bra ^copy(%first : i32)
^copy(%at : i32):
  %begin = ptx.mad.lo %k, %bytes, %at : i32
  %far = ptx.cvt unsigned %begin : i32 -> i64
  %from = ptx.add %image, %far : i64
  %near = ptx.add %tile, %at : i32
  %v = ptx.ld global %from : i64 -> i32
  ptx.st shared %near, %v : i32, i32
  %next = ptx.add %at, %stride : i32
  %more = ptx.setp lt %next, %bytes : i32
  ptx.cond_bra %more, ^copy(%next : i32), ^multiply
^multiply:
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  wgmma.fence
{lines}
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.bar.sync 0
  %i = ptx.add %k, %one : i32
  %again = ptx.setp lt %i, %trips : i32
  ptx.cond_bra %again, ^turn(%i, {", ".join(current)} : i32, {types}), ^exit
^exit:
{stores}
  ptx.ret
}}
"""
    return text.replace("%seven = ", "%two = ptx.constant 2 : i32\n  %seven = "), a, b


@pytest.mark.parametrize(("a_major", "b_major"), [("K", "K"), ("MN", "K")])
@pytest.mark.sample(1)
def test_accumulators_round_a_loop(a_major: Major, b_major: Major):
    text, a_tile, b_tile = _module(a_major, b_major)
    ptx = tirx.compile(text)
    count = N // 2
    assert ptx.count("{%f0, ") == len([line for line in ptx.split("\n") if "wgmma.mma_async" in line])
    if find_ptxas() is not None:
        found = assemble(ptx, "sm_90a", verbose=True)
        assert found.ok and "C75" not in found.stderr and "spill" not in found.stderr.replace("0 bytes spill", "")
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (TRIPS, M, K)), rng.integers(-3, 4, (TRIPS, N, K))
    image = np.zeros((TRIPS, BYTES // 2), np.float16)
    for trip in range(TRIPS):
        image[trip, a_tile.layout.table((M, K))["m"]] = a[trip]
        image[trip, M * K + b_tile.layout.table((N, K))["m"]] = b[trip]
    out = np.zeros((256, count), np.float32)
    run(ptx, "k", 1, 256, [image, out])
    table = accumulator_layout(M, N, GRID).table((M, N))
    found_d = out[table["warpid"] * 32 + table["laneid"], table["m"]]
    np.testing.assert_array_equal(found_d, np.einsum("tmk,tnk->mn", a, b))
