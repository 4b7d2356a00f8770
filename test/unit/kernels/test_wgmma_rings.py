"""Warpgroup products that stay pending while rings are filled ahead of them: equal to numpy, never serialised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tirx
from tirx.ptx.ptxas import assemble

TILES = 2
"""Tiles of D, one below the other: the slots and phases of the second are not those of the first."""


@dataclass(frozen=True)
class WgmmaRing:
    """
    D = A B^T by two warpgroups, in tiles of 128 x `n`, 32 elements of K in a slot, filled by TMA.

    `roles`: other warps fill. `pending`: groups that are not awaited in a round. `half`: D is f16, written to a ring of
    one slot that bulk stores copy from while the next tile is multiplied.
    """

    n: int = 16
    trips: int = 3
    slots: int = 4
    skew: int = 2
    pending: int = 1
    roles: bool = False
    half: bool = False

    @property
    def k(self) -> int:
        return 32 * self.trips

    @property
    def text(self) -> str:
        rows, columns, k, n = 128 * TILES, self.n, self.k, self.n
        d = "f16" if self.half else "f32"
        fill = f"""
          %kk = arith.muli %k, %c32 : index
          %ga = tirx.view %a[%m, %kk] : memref<{rows}x{k}xf16> -> !tirx.tile<128x32xf16, global>
          %gb = tirx.view %b[%n, %kk] : memref<{columns}x{k}xf16> -> !tirx.tile<{n}x32xf16, global>
          %fa, %fb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %fa engine(tma) : !tirx.tile<128x32xf16, global>, !sa
          tirx.async_copy %gb, %fb engine(tma) : !tirx.tile<{n}x32xf16, global>, !sb
          tirx.release %ab at(fill) after(tma)"""
        use = f"""
          %ua, %ub = tirx.acquire %ab at(use)
          %q = tirx.async_mma %ua, %ub, %acc : !sa, !sb, !tirx.pending<!d> -> !tirx.pending<!d>
          tirx.release %ab at(use) after(wgmma)
          tirx.await wgmma pending({self.pending})
          tirx.yield %q"""
        coordinates = "%m = arith.muli %i, %c128 : index  %n = arith.muli %j, %columns : index"
        store = f"""
          %sum = tirx.await %p : !tirx.pending<!d>
          %gd = tirx.view %d[%m, %n] : memref<{rows}x{columns}xf32> -> !tirx.tile<128x{n}xf32, global>
          tirx.store %sum, %gd : !d, !tirx.tile<128x{n}xf32, global>"""
        if self.half:
            store = f"""
              %sum = tirx.await %p : !tirx.pending<!d>
              %h = tirx.map ins(%sum : !d) {{
              ^bb0(%x: f32):
                %y = arith.truncf %x : f32 to f16
                tirx.yield %y : f16
              }} -> !tirx.tile<128x{n}xf16, register>
              tirx.await store pending(0)
              %o = tirx.acquire %out at(write)
              tirx.store %h, %o : !tirx.tile<128x{n}xf16, register>, !sc
              tirx.release %out at(write)
              %s = tirx.acquire %out at(store)
              %gd = tirx.view %d[%m, %n] : memref<{rows}x{columns}xf16> -> !tirx.tile<128x{n}xf16, global>
              tirx.async_copy %s, %gd engine(tma_store) : !sc, !tirx.tile<128x{n}xf16, global>
              tirx.release %out at(store) after(store)"""
        zeros = "%zeros = tirx.splat %zero : f32 -> !d"
        skew = "" if self.roles else f"skew({self.skew})"
        loop = f"%p = tirx.for @k %k = 0 to {self.trips} {skew} iter(%acc : !tirx.pending<!d> = %zeros)"
        end = "tirx.await store pending(0)" if self.half else ""
        tiles = "tirx.tiles @tile %i, %j = order(row) of (%tiles, %one)"
        if self.roles:
            body = f"""tirx.roles {{
              tirx.role @load warps(4) {{ {tiles} {{ {coordinates} tirx.for @k %k = 0 to {self.trips} {{ {fill} }} }} }}
              tirx.role @math warps(8) {{ {tiles} {{ {coordinates} {zeros} {loop} {{ {use} }} {store} }} {end} }}
            }}"""
        else:
            parts = f"tirx.at(0) {{ {fill} }} %next = tirx.at({self.skew}) {{ {use} }} tirx.yield %next"
            body = f"{tiles} {{ {coordinates} {zeros} {loop} {{ {parts} }} {store} }}"
        ring = "%out = tirx.ring slots(1) stations(write, store) : !tirx.ring<c: !sc>" if self.half else ""
        swizzle = "#tirx.swizzle_layout<3, 2, 3>"
        return f"""
        !sa = !tirx.tile<128x32xf16, shared, #tirx.compose_layout<{swizzle}, #tirx.tile_layout<S[128, 32]>>>
        !sb = !tirx.tile<{n}x32xf16, shared, #tirx.compose_layout<{swizzle}, #tirx.tile_layout<S[{n}, 32]>>>
        !sc = !tirx.tile<128x{n}xf16, shared, #tirx.compose_layout<{swizzle}, #tirx.tile_layout<S[128, {n}]>>>
        !d = !tirx.tile<128x{n}xf32, register>
        tirx.kernel @gemm(%a: memref<{rows}x{k}xf16>, %b: memref<{columns}x{k}xf16>, %d: memref<{rows}x{columns}x{d}>)
            target("sm_90a") grid(1) threads({384 if self.roles else 256}) {{
          %c32 = arith.constant 32 : index
          %c128 = arith.constant 128 : index
          %columns = arith.constant {n} : index
          %tiles = arith.constant {TILES} : index
          %one = arith.constant 1 : index
          %zero = arith.constant 0.0 : f32
          %ab = tirx.ring slots({self.slots}) stations(fill, use) : !tirx.ring<a: !sa, b: !sb>
          {ring}
          {body}
          tirx.return
        }}"""

    def check(self, seed: int) -> None:
        """Assembles and runs the kernel on small integers, whose sums are exact."""
        program = tirx.build(self.text)
        assert ("stmatrix" in program.ptx) == self.half
        found = assemble(program.ptx, "sm_90a", verbose=True)
        assert found.ok and "C75" not in found.stderr and " 0 bytes spill stores" in found.stderr, found.stderr
        rng = np.random.default_rng(seed)
        a = rng.integers(-3, 4, (128 * TILES, self.k)).astype(np.float16)
        b = rng.integers(-3, 4, (self.n, self.k)).astype(np.float16)
        d = np.full((128 * TILES, self.n), 7, np.float16 if self.half else np.float32)
        program.kernels["gemm"].simulate(a, b, d, check="strict", seed=seed)
        np.testing.assert_array_equal(d, a.astype(np.float64) @ b.T.astype(np.float64))


@pytest.mark.parametrize(
    "kernel",
    [
        WgmmaRing(),
        WgmmaRing(trips=1, slots=1, skew=0, pending=0),
        WgmmaRing(n=24, slots=2, roles=True),
        WgmmaRing(n=32, trips=2, slots=2, roles=True, half=True),
    ],
)
@pytest.mark.sample(1)
def test_rings(kernel: WgmmaRing):
    kernel.check(seed=kernel.n)
