"""Products of matrices with rings, for every engine, family, number of slots and role split, and what numpy says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product as combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from unit.sim.assembled import assembled_well

import tirx
from tirx.runtime.program import Kernel, Program
from tirx.sim import SimError, SimWarning

Array = npt.NDArray[Any]

AS_WRITTEN = "pipeline=off"
"""Options of the pipeline: kernels keep the roles and loops that they have."""

STEP = 16
"""Elements along K of a slot."""

FRAGMENTS = ", #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>"
"""A 64x64 accumulator of wgmma."""

TYPES = f"""
!s = !tirx.tile<64x{STEP}xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, {STEP}) : ({STEP}, 1)]>>>
!h0 = !tirx.tile<32x{STEP}xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(32, {STEP}) : ({STEP}, 1)]>>>
!h32 = !tirx.tile<32x{STEP}xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(32, {STEP}) : ({STEP}, 1)] + {32 * STEP}>>>
!q0 = !tirx.tile<16x{STEP}xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(16, {STEP}) : ({STEP}, 1)]>>>
!q16 = !tirx.tile<16x{STEP}xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(16, {STEP}) : ({STEP}, 1)] + {16 * STEP}>>>
!g = !tirx.tile<64x{STEP}xf16, global>
!qg = !tirx.tile<16x{STEP}xf16, global>
!hg = !tirx.tile<32x{STEP}xf16, global>
!f = !tirx.tile<64x{STEP}xf16, register>
!gd = !tirx.tile<64x64xf32, global>
!o = !tirx.tile<64x64xf32, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!t = !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)]>>
!u = !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)]>>
"""

ASK = "tirx.acquire %clc at(ask) tirx.async_next %clc engine(clc) tirx.release %clc at(ask) after(tma)"
"""Operations that ask for the next tile."""


@dataclass(frozen=True)
class RingKernel:
    """
    D = A B^T of 64x64 tiles, `STEP` elements of K in a slot, by `family` (mma, wgmma or tcgen05).

    `engine` fills slots: ld_st, cp_async or tma. `skew`: rounds that the fill runs ahead where the same threads fill
    and multiply. `roles`: the fill has warps of its own, without a skew; always so for tcgen05. `pending`: products of
    wgmma that stay pending. `tiles`: the blocks go through all tiles of D, otherwise there is one. `use_first`: the
    slot that is read is acquired in front of the fill of the same round. `registers`: those of each thread in the role
    that fills and in the one that multiplies. `output`: slots of a ring through which D is stored by TMA; 0 for stores
    from registers. `cluster`: two blocks share B, of which each loads a half for both; `square`: four of
    them have 2 x 2 tiles, whose rows share A, too; `pairs`: two pairs of blocks, which multiply together, share B, of
    which each block loads a quarter. `launched`: cluster launch
    control gives the tiles of D, for which a role of its own asks where there are roles. `apart`: A and B have rings of
    their own, and slots of A come back early, on sm_107a.
    """

    slots: int = 3
    skew: int = 2
    roles: bool = False
    tiles: bool = False
    engine: str = "ld_st"
    family: str = "mma"
    pending: int = 0
    use_first: bool = False
    output: int = 0
    registers: tuple[int, int] | None = None
    cluster: bool = False
    launched: bool = False
    apart: bool = False
    square: bool = False
    pairs: bool = False

    @property
    def is_legal(self) -> bool:
        """True if there is such a kernel, and `tirx-check-rings` accepts it."""
        if self.family == "tcgen05" and not self.roles:
            return False
        if self.roles:
            ahead = self.skew == 0 and not self.use_first
        else:
            ahead = self.skew <= self.slots - 1 - self.pending and not self.registers
            ahead = ahead and not (self.use_first and (self.skew == 0 or self.family != "mma"))
        stays = self.pending == 0 or (self.family == "wgmma" and self.slots > self.pending)
        shared = not self.cluster or (
            self.roles and self.engine == "tma" and (self.square or self.pairs or self.family != "tcgen05")
        )
        # Copies that wgmma and tcgen05 read are awaited by the threads that made them: in a role of their own here.
        awaited = self.engine != "cp_async" or self.family == "mma" or self.roles
        given = not self.launched or (self.tiles and self.family != "wgmma" and not self.registers)
        return ahead and stays and shared and awaited and given and (not self.apart or self.family == "tcgen05")

    @property
    def target(self) -> str:
        if self.apart:
            return "sm_107a"
        if self.family == "tcgen05" or self.launched:
            return "sm_100a"
        modern = self.engine == "tma" or self.output or self.registers or self.family == "wgmma"
        return "sm_90a" if modern else "sm_80"

    @property
    def threads(self) -> int:
        threads = 288 if self.family == "tcgen05" else 256 if self.roles else 128
        return threads + 32 if self.launched and self.roles else threads

    @property
    def least_trips(self) -> int:
        """Without an iteration a sum in tensor memory is undefined; `strict` refuses to load it, even if not used."""
        return 1 if self.family == "tcgen05" else 0

    @property
    def blocks(self) -> tuple[int, int]:
        """The rows and columns of tiles of a cluster."""
        return (4, 1) if self.pairs else (2, 2) if self.square else (2, 1) if self.cluster else (1, 1)

    @property
    def coordinates(self) -> str:
        """The first row and column of a tile."""
        if not self.cluster:
            return "%m = arith.muli %i, %c64 : index %n = arith.muli %j, %c64 : index"
        if self.pairs:
            return """
          %rank = tirx.cta_rank
          %two = arith.constant 2 : index
          %pair = arith.divui %rank, %two : index
          %place = arith.remui %rank, %two : index
          %even = arith.addi %i, %i : index
          %four = arith.addi %even, %even : index
          %row = arith.addi %four, %rank : index
          %m = arith.muli %row, %c64 : index
          %n = arith.muli %j, %c64 : index
          %beside = arith.muli %place, %c32 : index
          %own = arith.addi %n, %beside : index
          %above = arith.muli %pair, %step : index
          %half = arith.addi %own, %above : index
          %first = arith.cmpi eq, %pair, %zero : index"""
        if self.square:
            return """
          %rank = tirx.cta_rank
          %two = arith.constant 2 : index
          %down = arith.divui %rank, %two : index
          %right = arith.remui %rank, %two : index
          %even = arith.addi %i, %i : index
          %row = arith.addi %even, %down : index
          %m = arith.muli %row, %c64 : index
          %even_column = arith.addi %j, %j : index
          %column = arith.addi %even_column, %right : index
          %n = arith.muli %column, %c64 : index
          %above = arith.muli %down, %c32 : index
          %half = arith.addi %n, %above : index
          %first = arith.cmpi eq, %down, %zero : index
          %beside = arith.muli %right, %c32 : index
          %half_a = arith.addi %m, %beside : index
          %first_a = arith.cmpi eq, %right, %zero : index"""
        return """
          %rank = tirx.cta_rank
          %even = arith.addi %i, %i : index
          %row = arith.addi %even, %rank : index
          %m = arith.muli %row, %c64 : index
          %n = arith.muli %j, %c64 : index
          %above = arith.muli %rank, %c32 : index
          %half = arith.addi %n, %above : index
          %first = arith.cmpi eq, %rank, %zero : index"""

    @property
    def fill(self) -> str:
        """One iteration of what fills the slots."""
        copy = "tirx.copy %{0}, %{1} : {2}, {3}"
        after = wait = ""
        if self.engine != "ld_st":
            copy = f"tirx.async_copy %{{0}}, %{{1}} engine({self.engine}) : {{2}}, {{3}}"
            after = f"after({self.engine})"
        if self.engine == "cp_async" and self.family != "mma":
            wait = "tirx.await cp_async pending(0)"

        def halves(name: str, first: str, among: str, slot: str = "!s", half: str = "h") -> str:
            """The copy of the own half to all blocks that need it."""
            multicast = copy.replace("(tma)", f"(tma_multicast) {among}")
            own, other = (
                f"%h{name}{i} = tirx.subview %f{name}[{i}, 0] : {slot} -> !{half}{i} "
                + multicast.format(f"g{name}", f"h{name}{i}", f"!{half}g", f"!{half}{i}")
                for i in (0, 32 if half == "h" else 16)
            )
            return f"scf.if {first} {{ {own} }} else {{ {other} }}"

        first, second = copy.format("ga", "fa", "!g", "!s"), copy.format("gb", "fb", "!g", "!s")
        rows_a, type_a, rows, type_ = "%m", "!g", "%n", "!g"
        if self.cluster:
            second = halves("b", "%first", "among(2 : 2)" if self.square else "")
            rows, type_ = "%half", "!hg"
        if self.pairs:
            second, type_ = halves("b", "%first", "among(2 : 2)", "!h0", "q"), "!qg"
        if self.square:
            first = halves("a", "%first_a", "among(2 : 1)")
            rows_a, type_a = "%half_a", "!hg"
        return f"""
          %kk = arith.muli %k, %step : index
          %ga = tirx.view %a[{rows_a}, %kk] : memref<?x128xf16> -> {type_a}
          %gb = tirx.view %b[{rows}, %kk] : memref<?x128xf16> -> {type_}
          %fa, %fb = tirx.acquire %ab at(fill)
          {first}
          {second}
          tirx.release %ab at(fill) {after}
          {wait}"""

    @property
    def use(self) -> str:
        """One iteration of the products, behind the acquire of the slot."""
        match self.family:
            case "mma":
                return """
          %xa = tirx.load %ua : !s -> !f
          %xb = tirx.load %ub : !s -> !f
          %next = tirx.mma %xa, %xb, %acc : !f, !f, !acc -> !acc
          tirx.release %ab at(use)
          tirx.yield %next"""
            case "wgmma":
                return f"""
          %next = tirx.async_mma %ua, %ub, %acc : !s, !s, !p -> !p
          tirx.release %ab at(use) after(wgmma)
          tirx.await wgmma pending({self.pending})
          tirx.yield %next"""
            case _:
                pair, b = ("pair ", "!h0") if self.pairs else ("", "!s")
                return f"""
          %more = arith.cmpi ne, %k, %zero : index
          tirx.async_mma %ua, %ub, %t {pair}accumulate(%more) : !s, {b}, !t
          tirx.release %ab at(use) after(tcgen05)"""

    @property
    def store(self) -> str:
        """Text that stores the sum of a tile."""
        view = "%gd = tirx.view %d[%m, %n] : memref<?x128xf32> -> !gd"
        if not self.output:
            return f"""
          %twice = tirx.map ins(%sum : !acc) {{
          ^bb0(%x: f32):
            %y = arith.addf %x, %x : f32
            tirx.yield %y : f32
          }} -> !acc
          {view}
          tirx.store %twice, %gd : !acc, !gd"""
        return f"""
          {view}
          %o = tirx.acquire %out at(write)
          tirx.store %sum, %o : !acc, !o
          tirx.release %out at(write)
          %full = tirx.acquire %out at(store)
          tirx.async_copy %full, %gd engine(tma_store) : !o, !gd
          tirx.release %out at(store) after(store)
          tirx.await store pending({self.output - 1})"""

    @property
    def body(self) -> str:
        """All that a block does."""
        acquire = "%ua, %ub = tirx.acquire %ab at(use)"
        end = "tirx.await store pending(0)" if self.output > 1 else ""
        skew = f"skew({self.skew})" if self.skew else ""
        carried = "%acc : !p = %zeros" if self.family == "wgmma" else "%acc = %zeros"
        start = f"{self.coordinates} %zeros = tirx.zero : !acc %sums = tirx.for @k %k = 0 to %nk {skew} iter({carried})"
        summed = "%sum = tirx.await %sums : !p" if self.family == "wgmma" else ""
        behind = f"{summed} {self.store}".replace("%sum ", "%sum " if summed else "%sums ")
        if not summed:
            behind = re.sub(r"%sum\b", "%sums", behind)
        load = self._tiles(f"{self.coordinates} tirx.for @k %k = 0 to %nk {{ {self.fill} }}")
        asks = f"tirx.role @sched warps(1) {{ {self._tiles(ASK)} }}" if self.launched else ""
        if self.family == "tcgen05":
            multiply = f"""%t = tirx.acquire %sums at(sum)
              tirx.for @k %k = 0 to %nk {{ {acquire} {self.use} }}
              tirx.release %sums at(sum) after(tcgen05)"""
            read = f"""{self.coordinates} %t = tirx.acquire %sums at(read)
              %loaded = tirx.load %t : !t -> !acc
              tirx.release %sums at(read)
              %zeros = tirx.zero : !acc
              %none = arith.cmpi eq, %nk, %zero : index
              %sum = arith.select %none, %zeros, %loaded : !acc
              {self.store}"""
            return f"""tirx.roles {{
              tirx.role @epilogue warps(4) {{ {self._tiles(read)} {end} }}
              tirx.role @load warps(4) {{ {load} }}
              tirx.role @mma warps(1) {{ {self._tiles(multiply)} }}
              {asks}
            }}"""
        if self.roles:
            registers = ("", "") if self.registers is None else tuple(f"registers({n})" for n in self.registers)
            math = self._tiles(f"{start} {{ {acquire} {self.use} }} {behind}")
            return f"""tirx.roles {{
              tirx.role @load warps(4) {registers[0]} {{ {load} }}
              tirx.role @math warps(4) {registers[1]} {{ {math} {end} }}
              {asks}
            }}"""
        if not self.skew:
            return self._tiles(f"{start} {{ {self.fill} {acquire} {self.use} }} {behind}") + end
        first = f"%ua, %ub = tirx.at({self.skew}) {{ {acquire} tirx.yield %ua, %ub }}" if self.use_first else ""
        use = self.use if self.use_first else f"{acquire} {self.use}"
        parts = f"{first} tirx.at(0) {{ {self.fill} }} %product = tirx.at({self.skew}) {{ {use} }} tirx.yield %product"
        return self._tiles(f"{start} {{ {parts} }} {behind}") + end

    def _tiles(self, body: str) -> str:
        if not self.tiles:
            return body
        inner = re.sub(r"%(i|j)\b", r"%t\1", body)
        if self.launched:
            return f"tirx.tiles @tile %ti, %tj = hardware(%clc, read) {{ {'' if self.roles else ASK} {inner} }}"
        return f"tirx.tiles @tile %ti, %tj = order(group 2) of (%tm, %tn) {{ {inner} }}"

    @property
    def text(self) -> str:
        """The kernel. The number of iterations along K and those of tiles are arguments."""
        layout = FRAGMENTS if self.family == "wgmma" else ""
        cluster = f"cluster({prod(self.blocks)}) per_cta" if self.cluster else ""
        clauses = f'target("{self.target}") {cluster} threads({self.threads})'
        rings = ""
        if self.output:
            rings += f"%out = tirx.ring slots({self.output}) stations(write, store) : !tirx.ring<!o>\n"
        if self.family == "tcgen05":
            of_pair = "across(pair) " if self.pairs else ""
            rings += f"%sums = tirx.ring slots(2) stations(sum, read) {of_pair}: !tirx.ring<!t>\n"
        across = "across(pairs)" if self.pairs else "across(cluster)" if self.cluster else ""
        slot = f"<a: !s, b: {'!h0' if self.pairs else '!s'}>"
        if self.launched:
            rings += f"%clc = tirx.ring slots({self.slots}) stations(ask, read) {across} : !tirx.ring<tile_id>\n"
        text = f"""{TYPES}
        !acc = !tirx.tile<64x64xf32, register{layout}>
        !p = !tirx.pending<!acc>
        tirx.kernel @product(%a: memref<?x128xf16>, %b: memref<?x128xf16>, %d: memref<?x128xf32>, %nk: index,
            %tm: index, %tn: index) {clauses} {{
          %step = arith.constant {STEP} : index
          %c64 = arith.constant 64 : index
          %c32 = arith.constant 32 : index
          %zero = arith.constant 0 : index
          %i = arith.constant 0 : index
          %j = arith.constant 0 : index
          %ab = tirx.ring slots({self.slots}) stations(fill, use) {across} : !tirx.ring{slot}
          {rings}
          {self.body}
          tirx.return
        }}
        """
        if self.pairs:
            text = re.sub(r"!t\b(?! =)", "!u", text)
        return _apart(text) if self.apart else text


def _apart(text: str) -> str:
    """The kernel with a ring of A and one of B in place of one of both. A is filled before the slot of B is free."""
    text = text.replace("%fa, %fb = tirx.acquire %ab at(fill)", "%fa = tirx.acquire %ra at(fill)")
    text = text.replace("tirx.async_copy %gb", "%fb = tirx.acquire %rb at(fill) tirx.async_copy %gb")
    text = re.sub(r"%ab = (.*)<a: !s, b: !s>", r"%ra = \1<!s>\n%rb = \1<!s>", text)
    text = text.replace("%ua, %ub = tirx.acquire %ab", "%ua = tirx.acquire %ra at(use) %ub = tirx.acquire %rb")
    text = re.sub(r"tirx.release %ab (at\(\w+\) *(?:after\(\w+\))?)", r"tirx.release %ra \1 tirx.release %rb \1", text)
    return re.sub(r"tirx.release %ra at\(use\) after\(tcgen05\)", r"\g<0> early", text)


def all_kernels() -> Iterator[RingKernel]:
    """Every legal combination."""
    for family, engine, slots, skew, roles, tiles, pending, output, cluster, use_first in combinations(
        ("mma", "wgmma", "tcgen05"),
        ("ld_st", "cp_async", "tma"),
        range(1, 7),
        range(4),
        (False, True),
        (False, True),
        (0, 1),
        (0, 1, 2),
        (False, True),
        (False, True),
    ):
        kernel = RingKernel(slots, skew, roles, tiles, engine, family, pending, use_first, output, None, cluster)
        for given in (kernel, replace(kernel, launched=True)):
            if given.is_legal:
                yield given


@lru_cache(maxsize=64)
def kernel_of(kernel: RingKernel) -> Kernel:
    """The compiled kernel, whose PTX ptxas has assembled well."""
    program = tirx.build(kernel.text, options=AS_WRITTEN)
    assembled_well(program.ptx)
    return program.kernels["product"]


class Warned(SimError):
    """A warning of the simulator."""


def refuse(warning: SimWarning) -> None:
    """Makes an error of what only the letter of the ISA forbids, such as `.aligned` behind a branch of some lanes. Sums
    of small integers are exact, in whatever order."""
    if warning.rule != "order of a sum":
        raise Warned(str(warning))


def check(
    kernel: RingKernel,
    trips: int,
    blocks: int = 1,
    seed: int | None = 0,
    extents: tuple[int, int] = (1, 1),
    ptx: str | None = None,
) -> None:
    """
    Runs a kernel with `trips` iterations along K on `blocks` blocks, or clusters, and compares it with numpy. Where the
    hardware gives the tiles there are as many blocks as tiles, of which those that run take over others.

    `extents` are the tiles of D of a block or cluster along both dimensions. `ptx` stands for what the kernel is
    compiled to.
    """
    rng = np.random.default_rng(seed or 0)
    size = prod(kernel.blocks)
    rows, columns = (64 * of_block * of_cluster for of_block, of_cluster in zip(kernel.blocks, extents, strict=True))
    a = rng.integers(-3, 4, (rows, 128)).astype(np.float16)
    b = rng.integers(-3, 4, (columns, 128)).astype(np.float16)
    d: Array = np.full((rows, 128), 7, np.float32)
    expected = d.copy()
    k = STEP * trips
    product = a[:, :k].astype(np.float32) @ b[:, :k].astype(np.float32).T
    expected[:, :columns] = product if kernel.output else 2 * product
    compiled = kernel_of(kernel)
    if ptx is not None:
        compiled = Program(ptx, [compiled.launch]).kernels["product"]
    grid = (size * extents[1], extents[0], 1) if kernel.launched else (size * blocks, 1, 1)
    compiled.simulate(a, b, d, trips, *extents, grid=grid, check="strict", seed=seed, report=refuse)
    np.testing.assert_array_equal(d, expected)
