"""The builder gives the IR that text gives, with Python's lines."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntegerType
from xdsl.ir import SSAValue

import tirx
from tirx.builder import (
    BuildError,
    KernelBuilder,
    apply,
    e4m3,
    exp,
    f16,
    f32,
    kernel,
    maximum,
    module,
)
from tirx.builder.dtypes import dtype_of
from tirx.builder.tiles import Array, Scalar
from tirx.diagnostics import LocatedError
from tirx.dialects.formula import Call
from tirx.layout import TileLayout


@pytest.fixture(autouse=True)
def _verify_once(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """What passes leave is verified by the tests of passes."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")


def test_operations_know_their_python_line() -> None:
    @kernel(f32[64, 64], threads=128, target="sm_80")
    def twice(k: KernelBuilder, a: Array) -> None:
        x = k.load(a[:, :])
        a[:, :] = 2.0 * x

    here = inspect.currentframe()
    assert here is not None
    line = here.f_lineno
    found = {
        op.name: op.location.line.data
        for op in twice.op.walk()
        if isinstance(op.location, FileLineColLoc) and op.location.filename.data == __file__
    }
    assert found.keys() == {op.name for op in twice.op.walk()}
    assert found["tirx.map"] == found["tirx.copy"] == found["tirx.alloc"] + 1
    assert line - found["tirx.map"] == 4
    places = [op.location for op in twice.op.walk() if isinstance(op.location, FileLineColLoc)]
    assert {place.column.data for place in places} == {1}


def test_blocks_end() -> None:
    """Loops and branches have terminators, at the place of what they are about."""

    @kernel(f32[64], threads=32, target="sm_80")
    def nested(k: KernelBuilder, a: Array) -> None:
        with k.loop(0, 4) as i, k.when(i < 2):
            pass

    names = [op.name for op in nested.op.walk() if op.name.startswith("scf.")]
    assert names == ["scf.for", "scf.if", "scf.yield", "scf.yield"]
    nested.module.verify()


def test_element_types_of_the_ir() -> None:
    assert dtype_of(e4m3.attribute) is e4m3 and dtype_of(f16.attribute) is f16
    found = dtype_of(IntegerType(16))
    assert (found.name, found.attribute) == ("i16", IntegerType(16))


def test_errors_of_the_compiler_point_at_python() -> None:
    @kernel(f32[64, 64], threads=128, target="sm_80")
    def wrong(k: KernelBuilder, a: Array) -> None:
        k.shared(f32[512, 512])[:] = 0.0

    with pytest.raises(LocatedError, match=f"{__file__}:.*expected at most .* bytes of shared memory"):
        tirx.compile(wrong.module)


def test_arithmetic_reductions_and_branches() -> None:
    @kernel(f32[None, 64], f16[None, 64], f32[1, 64], threads=64, grid=(Call("size", (0, 0)),), target="sm_80")
    def softmax(k: KernelBuilder, a: Array, d: Array, bias: Array) -> None:
        row = k.block.x
        with k.when((row < a.shape[0]) & (row >= 0)):
            x = k.load(a[row : row + 1, :]) + k.load(bias[:, :])
            shifted = exp(x - x.max(1))
            d[row : row + 1, :] = (shifted / shifted.sum(1)).to(f16)

    rng = np.random.default_rng(0)
    a, bias = rng.normal(size=(5, 64)).astype(np.float32), rng.normal(size=(1, 64)).astype(np.float32)
    d = np.zeros((5, 64), np.float16)
    tirx.build(softmax.module).kernels["softmax"].simulate(a, d, bias)
    expected = np.exp(a + bias)
    assert np.allclose(d, expected / expected.sum(1, keepdims=True), atol=2e-3)


def _several(e: Scalar) -> Scalar:
    return 1.0 - 2.0 * maximum(e, 0.5) / 4.0


def test_parts_of_tiles_and_maps_of_several_operations() -> None:
    @kernel(f32[64, 64], f32[2, 64, 64], threads=128, grid=(1,), target="sm_80")
    def parts(k: KernelBuilder, a: Array, d: Array) -> None:
        staged = k.shared(f32[64, 64])
        staged[:] = a[...]
        x = k.load(staged)
        d[0, :, :] = apply(_several, x)
        low = k.registers(f32[32, 64])
        low[:] = staged[32:64, :]
        d[1, 0:32, :] = low
        d.clipped[1, 32:96, :] = -1.0 * x

    rng = np.random.default_rng(1)
    a, d = rng.normal(size=(64, 64)).astype(np.float32), np.zeros((2, 64, 64), np.float32)
    tirx.build(parts.module).kernels["parts"].simulate(a, d)
    assert np.allclose(d[0], 1 - np.maximum(a, 0.5) / 2)
    assert np.array_equal(d[1, :32], a[32:])
    assert np.array_equal(d[1, 32:], -a[:32])


def test_slices_around_an_ellipsis() -> None:
    @kernel(f32[4, 3, 32], f32[32], threads=32, target="sm_80")
    def sliced(k: KernelBuilder, a: Array, d: Array) -> None:
        assert k.load(a[...]).shape == (4, 3, 32) and k.load(a[1, ...]).shape == (3, 32)
        assert k.load(a[..., 8:]).shape == (4, 3, 24) and k.load(a[0:2, ..., 8:16]).shape == (2, 3, 8)
        d[:] = k.load(a[3, 2, :])

    values, result = np.arange(4 * 3 * 32, dtype=np.float32).reshape(4, 3, 32), np.zeros(32, np.float32)
    tirx.build(sliced.module).kernels["sliced"].simulate(values, result, grid=(1, 1, 1))
    assert np.array_equal(result, values[3, 2])


def test_two_kernels_in_a_module() -> None:
    @kernel(f32[64], threads=32, target="sm_80")
    def first(k: KernelBuilder, a: Array) -> None:
        a[:] = 1.0 * k.load(a[:])

    @kernel(f32[64], threads=32, target="sm_80", name="second")
    def other(k: KernelBuilder, a: Array) -> None:
        a[:] = 2.0 * k.load(a[:])

    assert list(tirx.build(module(first, other)).kernels) == ["first", "second"]


def _no_arguments(k: KernelBuilder) -> None:
    pass


def _scalar(k: KernelBuilder, a: Array, n: SSAValue) -> None:
    pass


def _unknown_extent(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[None, 64])


def _loop(k: KernelBuilder, a: Array) -> None:
    with k.loop(0, 2) as i:
        if i:
            pass


def _condition(k: KernelBuilder, a: Array) -> None:
    if k.block.x < 2:
        pass


def _unknown(k: KernelBuilder, a: Array) -> None:
    a[0 : k.block.x, :]


def _strided(k: KernelBuilder, a: Array) -> None:
    a[0:64:2, :]


def _product(k: KernelBuilder, a: Array) -> None:
    k.shared(f16[64, 64]) @ k.shared(f16[64, 64])  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def _assigned(k: KernelBuilder, a: Array) -> None:
    k.accumulator(f32[64, 64])[:] = k.shared(f16[64, 64]) @ k.shared(f16[64, 64]).T


def _in_shared(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[64, 64]) + 1.0  # pyright: ignore[reportUnusedExpression]


def _outside(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[64, 64])[0:65, :]


def _too_many(k: KernelBuilder, a: Array) -> None:
    a[:, :, :]


def _no_dimension(k: KernelBuilder, a: Array) -> None:
    k.load(a[:, :]).sum(2)


def _equality(k: KernelBuilder, a: Array) -> None:
    with k.when(k.block.x == 0):  # pyright: ignore[reportArgumentType, reportUnnecessaryComparison]
        pass


def _no_number(k: KernelBuilder, a: Array) -> None:
    a[:, :] = None  # pyright: ignore[reportArgumentType]


def _index_behind(k: KernelBuilder, a: Array) -> None:
    a[0:8, 0]


def _tile_index(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[64, 64])[0, :]


def _half_a_byte(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[64, 64])[::2, :]


def _added(k: KernelBuilder, a: Array) -> None:
    x: Any = k.accumulator(f32[64, 64])
    x += a


def _of_numbers(k: KernelBuilder, a: Array) -> None:
    apply(max, 1.0)


def _index_and_text(k: KernelBuilder, a: Array) -> None:
    k.block.x + "1"  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def _slice_of_a_computed_extent(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[64, 64])[k.block.x : k.block.y, :]


def _slice_from_a_number(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[64, 64])[0 : k.block.y, :]


def test_slices_at_computed_places() -> None:
    @kernel(f32[64, 32], f32[16, 32], grid=(4,), threads=128, target="sm_80")
    def summed(k: KernelBuilder, a: Array, b: Array) -> None:
        staged, total = k.shared(f32[64, 32]), k.registers(f32[16, 32])
        staged[:] = a[:, :]
        total[:] = 0.0
        with k.loop(0, 64, 16) as i:
            total[:] = total + k.load(staged[i : i + 16, 0:32])
        b[:, :] = total

    a, b = np.arange(64 * 32, dtype=np.float32).reshape(64, 32), np.zeros((16, 32), np.float32)
    tirx.build(summed.module).kernels["summed"].simulate(a, b)
    np.testing.assert_array_equal(b, a.reshape(4, 16, 32).sum(0))


def test_quotients_of_negative_indices_are_those_of_python() -> None:
    @kernel(f32[5, 4], f32[5, 4], grid=(5,), threads=32, target="sm_80")
    def moved(k: KernelBuilder, a: Array, b: Array) -> None:
        i = (k.block.x - 1) % 5
        j = (k.block.x - 3) // 3 + 1
        b[i : i + 1, :] = k.load(a[j : j + 1, :])

    a, b = np.arange(20, dtype=np.float32).reshape(5, 4), np.zeros((5, 4), np.float32)
    tirx.build(moved.module).kernels["moved"].simulate(a, b)
    want = np.zeros_like(b)
    for block in range(5):
        want[(block - 1) % 5] = a[(block - 3) // 3 + 1]
    np.testing.assert_array_equal(b, want)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_no_dimension, r"expected a dimension of a tile f32\[64, 64\] in registers, found 2"),
        (_equality, "expected a condition such as i < n or i.equals"),
        (_no_number, "expected a tile or a number, found None"),
        (_loop, "expected a condition that is known in Python, found an index; use k.when and k.loop"),
        (_condition, "expected a condition that is known in Python, found one of the kernel; use k.when"),
        (_unknown, "expected slices of fixed extents within .*, found one whose extent depends on the launch"),
        (_strided, "expected slices without a step, found 2"),
        (_product, "expected a @ b.T, with B of N x K elements, found a @ b"),
        (_assigned, r"expected a product to be added with \+=, found an assignment"),
        (_in_shared, "expected tiles in registers, found a tile .* in shared memory; k.load copies one"),
        (_outside, "expected slices within 64 elements, found 0:65"),
        (
            _slice_of_a_computed_extent,
            "expected slices of a fixed extent of 1 to 64 elements, found one whose extent the",
        ),
        (_slice_from_a_number, "expected slices of a fixed extent of 1 to 64 elements, found one whose extent the"),
        (_too_many, "expected at most 2 slices, found 3"),
        (_index_behind, "expected indices in front of slices, found one behind"),
        (_tile_index, "expected slices without a step of a tile, found 0"),
        (_half_a_byte, "expected slices without a step of a tile, found one with step 2"),
        (_added, r"expected a product a @ b.T behind \+=, found another value"),
        (_of_numbers, "expected a tile among the operands, found numbers alone"),
        (_index_and_text, "expected an index as an integer, found '1'"),
        (_no_arguments, "expected a function of the kernel and 1 arguments, found 0"),
    ],
)
def test_what_no_kernel_can_say(function: object, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        kernel(f32[64, 64], threads=128)(function)  # pyright: ignore[reportArgumentType]


def _floats(k: KernelBuilder, a: Array) -> None:
    a[0.5:2, :]


def _iterated(k: KernelBuilder, a: Array) -> None:
    list(a)


def _untyped(k: KernelBuilder, a: Array) -> None:
    k.shared("f32")  # pyright: ignore[reportArgumentType]


def _not_a_tile(k: KernelBuilder, a: Array) -> None:
    k.load(a)  # pyright: ignore[reportArgumentType]


def _iterated_tile(k: KernelBuilder, a: Array) -> None:
    list(k.load(a[:, :]))


def _tile_as_condition(k: KernelBuilder, a: Array) -> None:
    bool(k.load(a[:, :]))


def _unsliceable(k: KernelBuilder, a: Array) -> None:
    k.shared(f16[64, 64], layout=TileLayout.parse("S[(64, 2, 32) : (32, 2048, 1)]"))[1:34, 1:34]


def _exponential_of_text(k: KernelBuilder, a: Array) -> None:
    apply(lambda x: exp("x"), k.load(a[:, :]))  # pyright: ignore


def _no_extent(k: KernelBuilder, a: Array) -> None:
    k.shared(f32[0, 64])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_floats, "expected an index as an integer, found 0.5"),
        (_iterated, "expected slices of an array, found a Python loop over it"),
        (_untyped, "expected the type of a tile such as .*, found 'f32'"),
        (_not_a_tile, "expected a tile, such as a.* of an array, found"),
        (_iterated_tile, "expected slices of a tile, found a Python loop over it"),
        (_tile_as_condition, "expected a condition that is known in Python, found a tile"),
        (_unsliceable, r"no tile layout describes \[1, 34\) of dimension"),
        (_exponential_of_text, "expected a tile in registers, or an element of one, found 'x'"),
        (_no_extent, r"expected positive extents, found f32\[0, 64\]"),
    ],
)
def test_what_is_no_tile_and_no_index(function: Any, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        kernel(f32[64, 64], threads=128)(function)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": "x"}, "expected threads as an integer, found 'x'"),
        ({"threads": 32, "grid": 2}, "expected the blocks along x, y and z as a tuple such as"),
        ({"threads": 32, "grid": ("x",)}, "expected the blocks of a grid as an integer, found 'x'"),
        ({"threads": 32, "cluster": 1.5}, "expected cluster as an integer, found 1.5"),
        ({"threads": True}, "expected threads as an integer, found True"),
        ({"threads": False}, "expected threads as an integer, found False"),
        ({"threads": 32, "target": 80}, "expected target as a string, found 80"),
    ],
)
def test_options_of_kernels(options: Any, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        kernel(f32[64, 64], **options)

    def nothing(k: KernelBuilder) -> None:
        pass

    made = kernel(threads=np.int64(64), cluster=2)(nothing).op  # pyright: ignore[reportArgumentType]
    assert (made.num_threads, made.cluster and made.cluster.value.data) == (64, 2)


def test_types_of_arguments() -> None:
    with pytest.raises(BuildError, match="expected a function that writes the kernel, found 3"):
        kernel(threads=128)(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(BuildError, match="expected types of arguments such as"):
        kernel("f32", threads=128)  # pyright: ignore[reportArgumentType]
    assert str(kernel(e4m3[16, 16], f32, threads=32)(_scalar).op.function_type.inputs.data[1]) == "f32"
    with pytest.raises(TypeError, match="expected the extents of a tile as integers"):
        kernel(f32[None, 64], threads=128)(_unknown_extent)
