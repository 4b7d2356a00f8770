"""Descriptors of tcgen05.mma that few kernels have: base offsets, K = 96, absolute leading dimensions; collectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.sim.tensor_products import Product, Scales, build

from tirx.ptx.ptxas import assemble
from tirx.sim import SimError


@pytest.mark.parametrize("base", range(1, 8))
@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_base_offset(swizzle: int, base: int):
    """The pattern is counted from where it starts, which is not a multiple of its size."""
    case = build(Product("f16", "f16", "f16", 64, 16, swizzle=swizzle, steps=swizzle // 32, base_offset=base))
    assert np.array_equal(case.run(), case.expected)


def test_wrong_base_offsets():
    case = build(Product("f16", "f16", "f16", 64, 16, swizzle=128, steps=4, base_offset=3))
    for wrong in (0, 2, 7):
        text = case.text.replace("0x4006", f"0x{0x4000 | wrong << 1:x}")
        assert text != case.text
        with pytest.raises(SimError, match="is not in the first row of a 128B pattern"):
            case.run(text)
    # A pattern of 64B is 512 bytes: base offsets that differ by that are the same.
    case = build(Product("f16", "f16", "f16", 64, 16, swizzle=64, base_offset=1))
    assert np.array_equal(case.run(case.text.replace("0x8002", "0x800a")), case.expected)
    with pytest.raises(SimError, match="base offset 1 without a swizzle"):
        build(Product("f16", "f16", "f16", 64, 16, base_offset=1)).run()


_LONG = [
    Product("mxf4", "e2m1", "e2m1", 128, 64, scales=Scales("block32", 3), steps=4),
    Product("mxf4", "e2m1", "e2m1", 128, 136, scales=Scales("", 3), steps=4),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 128, scales=Scales("block16", 6, "ue4m3"), steps=3),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 192, scales=Scales("block16", 6), steps=2),
    Product("mxf4nvf4", "e2m1", "e2m1", 256, 144, scales=Scales("block32", 3), steps=2, ctas=2),
]
_LONG = [replace(product, long=True, target="sm_103a") for product in _LONG]


@pytest.mark.parametrize("product", _LONG, ids=str)
def test_long_k(product: Product):
    case = build(product)
    assert np.array_equal(case.run(), case.expected)
    assert assemble(case.text, "sm_103a").ok
    with pytest.raises(SimError, match="K = 96 .* exists on sm_103a, not on sm_100a"):
        case.run(case.text.replace(".target sm_103a", ".target sm_100a"))


def test_long_k_in_tensor_memory():
    case = build(replace(_LONG[0], a_in_tensor_memory=True, steps=2))
    assert np.array_equal(case.run(), case.expected)


def test_long_k_is_dense():
    with pytest.raises(SimError, match="K = 96 is for dense 4-bit kinds"):
        build(replace(_LONG[0], sparse=True, steps=1)).run()
    with pytest.raises(SimError, match="there is no shape M=128, N=64 of cta_group::2"):
        build(replace(_LONG[0], ctas=2)).run()


@pytest.mark.parametrize("product", [_LONG[0], _LONG[2], _LONG[4]], ids=str)
def test_absolute_leading_dimension(product: Product):
    """Eight products of 48 bytes are in three rows of 128; one that passes the end of a row goes on in the next."""
    product = replace(product, steps=8, swizzle=128)
    case = build(replace(product, absolute=True))
    assert np.array_equal(case.run(), case.expected)


def test_faults_of_absolute_leading_dimensions():
    product = replace(_LONG[0], steps=8, swizzle=128)
    with pytest.raises(SimError, match="48 bytes of K from byte 96 leave the swizzle row"):
        build(product).run()
    case = build(replace(product, absolute=True))
    for old, new, message in (
        (".target sm_103a", ".target sm_100a", "K = 96"),
        ("shl.b64 %y2", "or.b64 %y0, %y0, 0x2000000000000; shl.b64 %y2", "need 128B swizzle and base offset 0"),
        (
            "shl.b64 %y2, %desc, 16; ",
            "shl.b64 %y2, %desc, 16; add.s64 %y2, %y2, 0x80000; ",
            "not where a pattern starts",
        ),
    ):
        assert old in case.text
        with pytest.raises(SimError, match=message):
            case.run(case.text.replace(old, new))
