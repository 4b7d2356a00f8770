"""Shapes of programs of products, rings and roles, for `benchmarks/compiler.py scaling`."""

from __future__ import annotations

from compiler_shapes import SHAPES, kernel, parts, shape

__all__ = ["SHAPES"]

PRODUCTS = """
!a = !tirx.tile<{rows}x{depth}xf16, shared>
!b = !tirx.tile<{columns}x{depth}xf16, shared>
!sums = !tirx.tile<{rows}x{columns}xf32, {memory}>
tirx.kernel @products(
    %a: memref<{rows}x{depth}xf16>, %b: memref<{columns}x{depth}xf16>, %d: memref<{rows}x{columns}xf32>)
    target("{target}") grid(1) threads(128) {{
  %sa = tirx.alloc copy(%a[0, 0]) : memref<{rows}x{depth}xf16>, !a
  %sb = tirx.alloc copy(%b[0, 0]) : memref<{columns}x{depth}xf16>, !b
  %sums = tirx.alloc fill(0.0) : !sums
  {body}
  tirx.copy %sums, %d[0, 0] : !sums, memref<{rows}x{columns}xf32>
}}
"""


def products(size: int, **sizes: object) -> str:
    """Products into one accumulator, one after the other."""
    return PRODUCTS.format(body="tirx.mma %sa, %sb, %sums : !a, !b, !sums\n" * size, **sizes)


@shape("products by tcgen05")
def products_by_tcgen05(size: int) -> str:
    """Products into one accumulator in tensor memory."""
    return products(size, rows=128, columns=16, depth=16, memory="tensor", target="sm_100a")


@shape("products by wgmma")
def products_by_wgmma(size: int) -> str:
    """Products into one accumulator in registers of warpgroups."""
    return products(size, rows=64, columns=16, depth=16, memory="register", target="sm_90a")


MADE = """
!w = !tirx.tile<64x128xi8, register>
!a = !tirx.tile<64x128xf16, register>
!b = !tirx.tile<16x128xf16, shared>
!sums = !tirx.tile<64x16xf32, register>
"""


@shape("products by wgmma of numbers that threads make")
def products_of_made_numbers(size: int) -> str:
    """Products into one accumulator whose A threads convert in registers, while products before run."""

    def part(i: int) -> str:
        return (
            f"%w{i} = tirx.load %a[{64 * i}, 0] : memref<{64 * size}x128xi8> -> !w\n"
            f"%x{i} = tirx.map ins(%w{i} : !w) (%e) {{ f16(%e) }} -> !a\n"
            f"tirx.mma %x{i}, %s, %sums : !a, !b, !sums\n"
        )

    begin = "%s = tirx.alloc copy(%b[0, 0]) : memref<16x128xf16>, !b\n%sums = tirx.alloc fill(0.0) : !sums\n"
    return kernel(
        begin + parts(size, part) + "tirx.copy %sums, %d[0, 0] : !sums, memref<64x16xf32>\n",
        size,
        aliases=MADE,
        arguments=f"%a: memref<{64 * size}x128xi8>, %b: memref<16x128xf16>, %d: memref<64x16xf32>",
        clauses='target("sm_90a") grid(1) threads(128)',
    )


@shape("products by mma.sync")
def products_by_mma(size: int) -> str:
    """Products into one accumulator in registers of warps."""
    return products(size, rows=64, columns=16, depth=16, memory="register", target="sm_80")


LOOP = """
%sums{i} = tirx.alloc fill(0.0) : !sums
scf.for %k{i} = %c0 to %c256 step %c64 {{
  %sa{i} = tirx.alloc copy(%a[0, %k{i}]) : memref<64x256xf16>, !a
  %sb{i} = tirx.alloc copy(%b[{n}, %k{i}]) : memref<{columns}x256xf16>, !b
  tirx.mma %sa{i}, %sb{i}, %sums{i} : !a, !b, !sums
}}
tirx.copy %sums{i}, %d[0, {n}] : !sums, memref<64x{columns}xf32>
"""
OPERANDS = """
!a = !tirx.tile<64x64xf16, shared>
!b = !tirx.tile<16x64xf16, shared>
!sums = !tirx.tile<64x16xf32, accumulator>
"""
STEPS = "%c64 = arith.constant 64 : index\n%c256 = arith.constant 256 : index\n"


def pipelined(size: int, target: str, of_kernel: int) -> str:
    """Loops of products that become rings, at most so many in a kernel."""
    of_kernel = min(size, of_kernel)
    columns = 16 * of_kernel
    arguments = f"%a: memref<64x256xf16>, %b: memref<{columns}x256xf16>, %d: memref<64x{columns}xf32>"
    body = STEPS + parts(of_kernel, lambda i: LOOP.format(i=i, n=16 * i, columns=columns))
    clauses = f'target("{target}") grid(1) threads(128)'
    return OPERANDS + parts(
        size // of_kernel,
        lambda n: kernel(body, 1, aliases="", arguments=arguments, clauses=clauses, name=f"k{n}"),
    )


@shape("rings of TMA")
def rings(size: int) -> str:
    """Loops of products, four in a kernel, each of which becomes a ring of TMA and wgmma."""
    return pipelined(size, "sm_90a", 4)


@shape("rings of `cp.async`")
def rings_of_cp_async(size: int) -> str:
    """Loops of products, four in a kernel, each of which becomes a ring of cp.async and mma.sync."""
    return pipelined(size, "sm_80", 4)


@shape("loops of products")
def loops_of_products(size: int) -> str:
    """Loops of products one after the other. Those for whose rings shared memory has no room stay sequential."""
    return pipelined(size, "sm_90a", size)


@shape("kernels with roles")
def kernels_with_roles(size: int) -> str:
    """Kernels of one product for sm_100a, each with roles that load, multiply and store."""
    return pipelined(size, "sm_100a", 1)


ROLES = """
!a = !tirx.tile<64x64xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @roles(%a: memref<?x64xf16>, %d: memref<?x64xf16>, %n: index) target("sm_90a") grid(1) threads(256) {{
  %c64 = arith.constant 64 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a>
  tirx.roles {{
    tirx.role @math warps(4) {{
{uses}
    }}
    tirx.role @load warps(4) {{
{fills}
    }}
  }}
}}
"""
FILL = """
tirx.for @k{i} %k{i} = 0 to %n {{
  %m{i} = arith.muli %k{i}, %c64 : index
  %g{i} = tirx.view %a[%m{i}, 0] : memref<?x64xf16> -> !tirx.tile<64x64xf16, global>
  %s{i} = tirx.acquire %ring at(fill)
  tirx.async_copy %g{i}, %s{i} engine(tma) : !tirx.tile<64x64xf16, global>, !a
  tirx.release %ring at(fill) after(tma)
}}
"""
USE = """
tirx.for @k{i} %k{i} = 0 to %n {{
  %m{i} = arith.muli %k{i}, %c64 : index
  %s{i} = tirx.acquire %ring at(use)
  %x{i} = tirx.load %s{i} : !a -> !r
  tirx.release %ring at(use)
  tirx.store %x{i}, %d[%m{i}, 0] : !r, memref<?x64xf16>
}}
"""


@shape("loops of two roles")
def roles(size: int) -> str:
    """Loops one after the other of a role that loads and of one that stores, all through one ring."""
    return (
        ROLES.format(uses=parts(size, lambda i: USE.format(i=i)), fills=parts(size, lambda i: FILL.format(i=i)))
        .replace(", 0] : memref<?x64xf16> -> ", ", %c0] : memref<?x64xf16> -> ")
        .replace("  %c64 =", "  %c0 = arith.constant 0 : index\n  %c64 =", 1)
    )


HEADS = """
!s = !tirx.tile<64x64xf16, shared>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!row = !tirx.tile<64x1xf32, register>
tirx.kernel @heads(%q: memref<{n}x64xf16>, %k: memref<{n}x64xf16>, %v: memref<{n}x64xf16>, %d: memref<{n}x64xf16>)
    target("sm_90a") grid(1) threads(128) {{
  {body}
}}
"""
ONE_HEAD = """
%q{i} = tirx.alloc copy(%q[{m}, 0]) : memref<{n}x64xf16>, !s
%k{i} = tirx.alloc copy(%k[{m}, 0]) : memref<{n}x64xf16>, !s
%v{i} = tirx.alloc copy(%v[{m}, 0]) : memref<{n}x64xf16>, !s
%scores{i} = tirx.alloc fill(0.0) : !f
tirx.mma %q{i}, %k{i}, %scores{i} : !s, !s, !f
%most{i} = tirx.reduce %scores{i} dim(1) max : !f -> !row
%weights{i} = tirx.map ins(%scores{i}, %most{i} : !f, !row) (%e, %m) {{ exp(%e - %m) }} -> !f
%total{i} = tirx.reduce %weights{i} dim(1) add : !f -> !row
%rounded{i} = tirx.map ins(%weights{i} : !f) (%e) {{ f16(%e) }} -> !h
%sums{i} = tirx.alloc fill(0.0) : !f
tirx.mma %rounded{i}, %v{i}, %sums{i} : !h, !s, !f
%out{i} = tirx.map ins(%sums{i}, %total{i} : !f, !row) (%e, %t) {{ f16(%e / %t) }} -> !h
tirx.store %out{i}, %d[{m}, 0] : !h, memref<{n}x64xf16>
"""


@shape("unrolled heads")
def heads(size: int) -> str:
    """Heads of attention one after the other, without a loop."""
    n = 64 * size
    return HEADS.format(n=n, body=parts(size, lambda i: ONE_HEAD.format(i=i, m=64 * i, n=n)))
