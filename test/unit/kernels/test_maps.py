"""Maps over register tiles compute what numpy does, whatever the layout, the types and the shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from unit.sim.assembled import assembled

import tirx
from tirx.sim import run

Matrix = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "i8": np.int8,
    "i32": np.int32,
}
"""Element types of numpy."""


def small_integers(shape: tuple[int, ...], dtype: str, seed: int) -> Matrix:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(DTYPES[dtype])


def map_kernel(
    ins: list[tuple[tuple[int, ...], str]], out: tuple[tuple[int, ...], str], body: str, target: str, threads: int
) -> str:
    """Loads the tiles of `ins`, maps them to one tile `out` and stores it; `body` computes %r of %x0, %x1, ..."""
    types = ["x".join(map(str, shape)) + f"x{dtype}" for shape, dtype in (*ins, out)]
    zeros = [", ".join(["%c0"] * len(shape)) for shape, _ in (*ins, out)]
    loads = "".join(
        f"%g{i} = tirx.view %p{i}[{zeros[i]}] : memref<{types[i]}> -> !tirx.tile<{types[i]}, global>\n"
        f"%t{i} = tirx.load %g{i} : !tirx.tile<{types[i]}, global> -> !tirx.tile<{types[i]}, register>\n"
        for i in range(len(ins))
    )
    operands = ", ".join(f"%t{i}" for i in range(len(ins)))
    arguments = ", ".join(f"%x{i}: {dtype}" for i, (_, dtype) in enumerate(ins))
    given = f"ins({operands} : {', '.join(f'!tirx.tile<{t}, register>' for t in types[:-1])})" if ins else ""
    return f"""
    tirx.kernel @k({", ".join(f"%p{i}: memref<{t}>" for i, t in enumerate(types[:-1]))}{", " if ins else ""}
        %d: memref<{types[-1]}>, %s: f32) target("{target}") threads({threads}) {{
      %c0 = arith.constant 0 : index
      {loads}
      %y = tirx.map {given} {{
      ^bb0({arguments}):
        {body}
        tirx.yield %r : {out[1]}
      }} -> !tirx.tile<{types[-1]}, register>
      %gd = tirx.view %d[{zeros[-1]}] : memref<{types[-1]}> -> !tirx.tile<{types[-1]}, global>
      tirx.copy %y, %gd : !tirx.tile<{types[-1]}, register>, !tirx.tile<{types[-1]}, global>
      tirx.return
    }}
    """


def computed(
    ins: list[Matrix],
    types: list[str],
    out: tuple[tuple[int, ...], str],
    body: str,
    target: str = "sm_90a",
    threads: int = 64,
    scalar: float = 2.0,
) -> Matrix:
    """Runs the kernel on the inputs, and returns the result."""
    ptx = tirx.compile(map_kernel([(x.shape, t) for x, t in zip(ins, types, strict=True)], out, body, target, threads))
    result = np.zeros(out[0], DTYPES[out[1]])
    run(assembled(ptx), "k", (1, 1, 1), (threads, 1, 1), [*ins, result, scalar], check="strict")
    return result


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_scaled_and_rounded_to_half(target: str) -> None:
    x = small_integers((16, 24), "f32", 0)
    body = """
      %zero = arith.constant 0.0 : f32
      %a = arith.mulf %x0, %s : f32
      %b = arith.maxnumf %a, %zero : f32
      %r = arith.truncf %b : f32 to f16
    """
    result = computed([x], ["f32"], ((16, 24), "f16"), body, target)
    np.testing.assert_array_equal(result, np.maximum(2 * x, 0).astype(np.float16))


@pytest.mark.parametrize(("dtype", "target"), [("f16", "sm_75"), ("f16", "sm_80"), ("bf16", "sm_90a")])
def test_bias_of_columns_and_scale_of_rows(dtype: str, target: str) -> None:
    """Operands with an extent of 1, on packed pairs."""
    x, bias, scale = (small_integers(shape, dtype, i) for i, shape in enumerate([(32, 16), (1, 16), (32, 1)]))
    body = f"""
      %a = arith.addf %x0, %x1 : {dtype}
      %r = arith.mulf %a, %x2 : {dtype}
    """
    result = computed([x, bias, scale], [dtype] * 3, ((32, 16), dtype), body, target)
    expected = (x.astype(np.float32) + bias.astype(np.float32)) * scale.astype(np.float32)
    np.testing.assert_array_equal(result.astype(np.float32), expected)


def test_indices_mask_what_lies_above_the_diagonal() -> None:
    x = small_integers((24, 40), "f32", 1)
    body = """
      %i = tirx.index 0
      %j = tirx.index 1
      %p = arith.cmpi uge, %i, %j : index
      %r = arith.select %p, %x0, %s : f32
    """
    result = computed([x], ["f32"], ((24, 40), "f32"), body, scalar=-7.0, threads=96)
    np.testing.assert_array_equal(result, np.where(np.tri(24, 40, dtype=bool), x, -7.0))


def test_a_map_of_nothing_counts() -> None:
    body = """
      %i = tirx.index 0
      %a = arith.index_cast %i : index to i32
      %r = arith.muli %a, %a : i32
    """
    result = computed([], [], ((48,), "i32"), body, threads=32)
    np.testing.assert_array_equal(result, np.arange(48) ** 2)


@pytest.mark.parametrize("dtype", ["f8E4M3FN", "f8E5M2"])
def test_eight_bit_floats_saturate_and_come_back(dtype: str) -> None:
    x = np.random.default_rng(3).normal(0, 100, (16, 32)).astype(np.float32)
    x[0, :4] = [1e6, -1e6, 0.0, -0.0]
    narrow = computed([x], ["f32"], ((16, 32), dtype), f"%r = arith.truncf %x0 : f32 to {dtype}")
    largest = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}[dtype]
    expected = np.clip(x, -largest, largest).astype(DTYPES[dtype])
    np.testing.assert_array_equal(narrow.view(np.uint8), expected.view(np.uint8))
    wide = computed([expected], [dtype], ((16, 32), "f32"), f"%r = arith.extf %x0 : {dtype} to f32")
    np.testing.assert_array_equal(wide, expected.astype(np.float32))


def test_buffers_in_a_loop() -> None:
    """`outs` writes an allocation: a map that doubles in every round."""
    tile = "!tirx.tile<8x32xf32, register>"
    ptx = tirx.compile(f"""
    tirx.kernel @k(%p: memref<8x32xf32>, %n: index) target("sm_80") threads(32) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %g = tirx.view %p[%c0, %c0] : memref<8x32xf32> -> !tirx.tile<8x32xf32, global>
      %x = tirx.alloc : {tile}
      tirx.copy %g, %x : !tirx.tile<8x32xf32, global>, {tile}
      scf.for %i = %c0 to %n step %c1 {{
        tirx.map ins(%x : {tile}) outs(%x : {tile}) {{
        ^bb0(%a: f32):
          %b = arith.addf %a, %a : f32
          tirx.yield %b : f32
        }}
      }}
      tirx.copy %x, %g : {tile}, !tirx.tile<8x32xf32, global>
      tirx.return
    }}
    """)
    x = small_integers((8, 32), "f32", 5)
    for rounds in (0, 3):
        result = x.copy()
        run(assembled(ptx), "k", (1, 1, 1), (32, 1, 1), [result, rounds], check="strict")
        np.testing.assert_array_equal(result, x * 2**rounds)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_bf16_arithmetic_is_rounded_once(target: str) -> None:
    rng = np.random.default_rng(7)
    x: Matrix = rng.normal(0, 1, (16, 16)).astype(ml_dtypes.bfloat16)
    y: Matrix = rng.normal(0, 1, (16, 16)).astype(ml_dtypes.bfloat16)
    body = """
      %a = arith.addf %x0, %x1 : bf16
      %b = arith.subf %x0, %x1 : bf16
      %c = arith.mulf %a, %b : bf16
      %p = arith.cmpf olt, %c, %x0 : bf16
      %q = arith.select %p, %c, %x0 : bf16
      %r = arith.maximumf %q, %x1 : bf16
    """
    result = computed([x, y], ["bf16", "bf16"], ((16, 16), "bf16"), body, target)
    c = ((x + y) * (x - y)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(result, np.maximum(np.minimum(c, x), y))


def test_bytes_have_a_sign_or_none() -> None:
    x = np.random.default_rng(8).integers(-128, 128, (16, 32), np.int8)
    body = """
      %three = arith.constant 3 : i8
      %a = arith.addi %x0, %three : i8
      %b = arith.shrsi %a, %three : i8
      %c = arith.divui %x0, %three : i8
      %p = arith.cmpi slt, %b, %c : i8
      %s8 = arith.select %p, %b, %c : i8
      %w = arith.sitofp %s8 : i8 to f32
      %u = arith.uitofp %c : i8 to f32
      %f = arith.addf %w, %u : f32
      %r = arith.fptosi %f : f32 to i8
    """
    result = computed([x], ["i8"], ((16, 32), "i8"), body, "sm_80")
    a = x + np.int8(3)
    b, c = a >> 3, (x.view(np.uint8) // 3)
    least = np.minimum(b, c.view(np.int8))
    np.testing.assert_array_equal(result, (least.astype(np.int32) + c).astype(np.int8))


@pytest.mark.parametrize(("dtype", "value"), [("i8", "-3 : i8"), ("f8E4M3FN", "1.5 : f8E4M3FN"), ("f8E5M2", None)])
def test_fills_of_bytes(dtype: str, value: str | None) -> None:
    """In registers and in shared memory; a value that is no constant is rounded from f32."""
    made = "arith.truncf %s : f32 to f8E5M2" if value is None else f"arith.constant {value}"
    register, shared = (f"!tirx.tile<32x16x{dtype}, {memory}>" for memory in ("register", "shared"))
    ptx = tirx.compile(f"""
    tirx.kernel @k(%p: memref<32x16x{dtype}>, %q: memref<32x16x{dtype}>, %s: f32) target("sm_90a") threads(32) {{
      %c0 = arith.constant 0 : index
      %v = {made}
      %gp = tirx.view %p[%c0, %c0] : memref<32x16x{dtype}> -> !tirx.tile<32x16x{dtype}, global>
      %gq = tirx.view %q[%c0, %c0] : memref<32x16x{dtype}> -> !tirx.tile<32x16x{dtype}, global>
      %r = tirx.alloc : {register}
      %t = tirx.alloc : {shared}
      tirx.fill %r, %v : {dtype}, {register}
      tirx.fill %t, %v : {dtype}, {shared}
      tirx.copy %r, %gp : {register}, !tirx.tile<32x16x{dtype}, global>
      tirx.copy %t, %gq : {shared}, !tirx.tile<32x16x{dtype}, global>
      tirx.return
    }}
    """)
    results = [np.zeros((32, 16), DTYPES[dtype]) for _ in range(2)]
    run(assembled(ptx), "k", (1, 1, 1), (32, 1, 1), [*results, 1.75], check="strict")
    expected = {"i8": -3, "f8E4M3FN": 1.5, "f8E5M2": 1.75}[dtype]
    for result in results:
        assert (result.astype(np.float32) == expected).all()


REDUCED = [
    ("f32", "add", "sm_80", "red.global.add.f32"),
    ("f32", "add", "sm_90a", "red.global.add.v4.f32"),
    ("bf16", "add", "sm_90a", "red.global.add.noftz.v4.bf16x2"),
    ("f64", "add", "sm_80", "red.global.add.f64"),
    ("i32", "max", "sm_80", "red.global.max.s32"),
]


@pytest.mark.parametrize(("dtype", "operation", "target", "instruction"), REDUCED)
@pytest.mark.sample(3)
def test_copies_that_reduce(dtype: str, operation: str, target: str, instruction: str) -> None:
    """Two blocks combine the same tile with what is in memory."""
    tile, memory = f"!tirx.tile<16x32x{dtype}, register>", f"!tirx.tile<16x32x{dtype}, global>"
    ptx = tirx.compile(f"""
    tirx.kernel @k(%p: memref<16x32x{dtype}>, %o: memref<16x32x{dtype}>) target("{target}") grid(2) threads(64) {{
      %c0 = arith.constant 0 : index
      %g = tirx.view %p[%c0, %c0] : memref<16x32x{dtype}> -> {memory}
      %w = tirx.view %o[%c0, %c0] : memref<16x32x{dtype}> -> {memory}
      %x = tirx.alloc : {tile}
      tirx.copy %g, %x : {memory}, {tile}
      tirx.copy %x, %w reduce({operation}) : {tile}, {memory}
      tirx.return
    }}
    """)
    assert instruction in ptx
    x, before = small_integers((16, 32), dtype, 9), small_integers((16, 32), dtype, 10)
    result = before.copy()
    run(assembled(ptx), "k", (2, 1, 1), (64, 1, 1), [x, result], check="strict")
    expected = before + x + x if operation == "add" else np.maximum(before, x)
    np.testing.assert_array_equal(result, expected)


def test_copies_that_reduce_take_each_element_once() -> None:
    """The sums of columns are in every warp, and added to memory once."""
    ptx = tirx.compile("""
    tirx.kernel @k(%p: memref<64x32xf32>, %o: memref<1x32xf32>) target("sm_80") threads(128) {
      %c0 = arith.constant 0 : index
      %g = tirx.view %p[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global>
      %w = tirx.view %o[%c0, %c0] : memref<1x32xf32> -> !tirx.tile<1x32xf32, global>
      %x = tirx.load %g : !tirx.tile<64x32xf32, global> -> !tirx.tile<64x32xf32, register>
      %s = tirx.reduce %x dim(0) add : !tirx.tile<64x32xf32, register> -> !tirx.tile<1x32xf32, register>
      tirx.copy %s, %w reduce(add) : !tirx.tile<1x32xf32, register>, !tirx.tile<1x32xf32, global>
      tirx.return
    }
    """)
    x = small_integers((64, 32), "f32", 11)
    result = np.ones((1, 32), np.float32)
    run(assembled(ptx), "k", (1, 1, 1), (128, 1, 1), [x, result], check="strict")
    np.testing.assert_array_equal(result, 1 + x.sum(0, keepdims=True))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["sm_70", "sm_80", "sm_100a"])
@pytest.mark.parametrize("operation", ["add", "max"])
def test_reductions_of_tf32_are_those_of_floats(operation: str, target: str) -> None:
    """Also across all lanes, where bits that are taken for integers have instructions of their own."""
    tile, total = "!tirx.tile<32x4xtf32, register>", "!tirx.tile<1x4xtf32, register>"
    ptx = tirx.compile(f"""
    tirx.kernel @k(%p: memref<32x4xtf32>, %o: memref<1x4xtf32>) target("{target}") threads(32) {{
      %c0 = arith.constant 0 : index
      %g = tirx.view %p[%c0, %c0] : memref<32x4xtf32> -> !tirx.tile<32x4xtf32, global>
      %w = tirx.view %o[%c0, %c0] : memref<1x4xtf32> -> !tirx.tile<1x4xtf32, global>
      %x = tirx.load %g : !tirx.tile<32x4xtf32, global> -> {tile}
      %s = tirx.reduce %x dim(0) {operation} : {tile} -> {total}
      tirx.copy %s, %w : {total}, !tirx.tile<1x4xtf32, global>
      tirx.return
    }}
    """)
    x = small_integers((32, 4), "f32", 12) - 20
    result = np.zeros((1, 4), np.float32)
    run(assembled(ptx), "k", (1, 1, 1), (32, 1, 1), [x, result], check="strict")
    expected = x.sum(0, keepdims=True) if operation == "add" else x.max(0, keepdims=True)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("bits", [8, 16, 64])
def test_halves_of_products(bits: int) -> None:
    """Both halves of products of numbers with a sign and without one; those of 64 bits are sums of parts."""
    tile = f"!tirx.tile<64xi{bits}, register>"
    stores = "\n".join(f"tirx.store %{name}, %{name}o[0] : {tile}, memref<64xi{bits}>" for name in "lhmn")
    arguments = ", ".join(f"%{name}: memref<64xi{bits}>" for name in ("a", "b", "lo", "ho", "mo", "no"))
    kernel = tirx.build(f"""
    tirx.kernel @k({arguments}) target("sm_75") grid(1) threads(64) {{
      %x = tirx.load %a[0] : memref<64xi{bits}> -> {tile}
      %y = tirx.load %b[0] : memref<64xi{bits}> -> {tile}
      %l, %h, %m, %n = tirx.map ins(%x, %y : {tile}, {tile}) {{
      ^bb0(%p: i{bits}, %q: i{bits}):
        %0, %1 = arith.mului_extended %p, %q : i{bits}
        %2, %3 = arith.mulsi_extended %p, %q : i{bits}
        tirx.yield %0, %1, %2, %3 : i{bits}, i{bits}, i{bits}, i{bits}
      }} -> {tile}, {tile}, {tile}, {tile}
      {stores}
    }}
    """).kernels["k"]
    a, b = np.random.default_rng(0).integers(
        -(1 << bits - 1), (1 << bits - 1) - 1, (2, 64), f"int{bits}", endpoint=True
    )
    a[:2], b[1] = -(1 << bits - 1), -(1 << bits - 1)
    results = [np.zeros_like(a) for _ in range(4)]
    assert kernel.check(a, b, *results).exact == 1
    kernel.simulate(a, b, *results)
    for found, shift, is_signed in zip(results, (0, bits, 0, bits), (False, False, True, True), strict=True):
        x, y = ([int(n) if is_signed else int(n) % (1 << bits) for n in each] for each in (a, b))
        wanted = [(p * q >> shift) % (1 << bits) for p, q in zip(x, y, strict=True)]
        assert [int(n) % (1 << bits) for n in found] == wanted


def test_branches_of_bodies_choose() -> None:
    """Both ways are computed; what one of them has no number for, as a quotient by 0, is not chosen."""
    kernel = tirx.build("""
    !t = !tirx.tile<16x32xi32, register>
    tirx.kernel @k(%a: memref<16x32xi32>, %n: index, %d: memref<16x32xi32>) target("sm_75") grid(1) threads(64) {
      %zero = arith.constant 0 : i32
      %seven = arith.constant 7 : i32
      %m = affine.apply affine_map<(d0) -> (d0 mod 8 - d0 floordiv 2)> (%n)
      %x = tirx.load %a[0, 0] : memref<16x32xi32> -> !t
      %y = tirx.map ins(%x : !t) {
      ^bb0(%v: i32):
        %i = tirx.index 1
        %j = affine.apply affine_map<(d0)[s0] -> (d0 * 3 + s0 + d0 ceildiv 4)> (%i)[%m]
        %c = arith.cmpi ne, %v, %zero : i32
        %r, %s = scf.if %c -> (i32, i32) {
          %q = arith.divsi %seven, %v : i32
          %w = arith.index_cast %j : index to i32
          %p = arith.cmpi sgt, %q, %w : i32
          %u = scf.if %p -> (i32) {
            scf.yield %q : i32
          } else {
            scf.yield %w : i32
          }
          scf.yield %q, %u : i32, i32
        } else {
          scf.yield %v, %zero : i32, i32
        }
        %t = arith.addi %r, %s : i32
        tirx.yield %t : i32
      } -> !t
      tirx.store %y, %d[0, 0] : !t, memref<16x32xi32>
    }
    """).kernels["k"]
    a = np.random.default_rng(0).integers(-9, 10, (16, 32)).astype(np.int32)
    d = np.zeros_like(a)
    assert kernel.check(a, 13, d).exact == 1
    kernel.simulate(a, 13, d)
    j, q = (
        np.arange(32) * 3 + 13 % 8 - 6 + -(-np.arange(32) // 4),
        np.trunc(7 / np.where(a == 0, 1, a)).astype(np.int32),
    )
    np.testing.assert_array_equal(d, np.where(a != 0, q + np.maximum(q, j), 0))
