"""tcgen05.mma against numpy: sparse, block-scaled, pairs of CTAs, weight stationary, and what of it goes together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.sim.tensor_products import Product, Scales, build

from tirx.ptx.ptxas import assemble

_1X, _2X = Scales("scale_vec::1X", 1), Scales("scale_vec::2X", 2)
_B32 = Scales("block32", 2)
_4X = Scales("scale_vec::4X", 4, "ue4m3")
_B16, _B16_UE8M0 = Scales("block16", 4, "ue4m3"), Scales("block16", 4)


def _check(product: Product, seed: int | None = None) -> None:
    case = build(product)
    assert np.array_equal(case.run(seed=seed), case.expected)


_SCALED = [
    Product("mxf8f6f4", "e4m3", "e5m2", 128, 64, scales=_1X, steps=4),
    Product("mxf8f6f4", "e2m1", "e3m2", 128, 8, scales=Scales("", 1)),
    Product("mxf8f6f4", "e2m3", "e4m3", 128, 256, scales=Scales("block32", 1)),
    Product("mxf4", "e2m1", "e2m1", 128, 40, scales=_2X),
    Product("mxf4", "e2m1", "e2m1", 128, 128, scales=Scales("", 2), steps=3),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 104, scales=_B32),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 64, scales=_4X),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 200, scales=_B16_UE8M0),
]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("product", _SCALED, ids=str)
def test_block_scaled(product: Product, sparse: bool):
    _check(replace(product, sparse=sparse))


@pytest.mark.parametrize("product", [_SCALED[0], _SCALED[3], _SCALED[6]], ids=str)
def test_block_scaled_with_sparse_a_in_tensor_memory(product: Product):
    _check(replace(product, sparse=True, a_in_tensor_memory=True))


def test_block_scaled_sparse_swizzled_and_negated():
    _check(replace(_SCALED[0], sparse=True, swizzled=True, negate=1))
    _check(replace(_SCALED[6], sparse=True, swizzled=True, steps=4, negate=3))


_FORMS = [
    *(replace(product, sparse=True, n=64, steps=1) for product in _SCALED),
]


@pytest.mark.parametrize("product", _FORMS, ids=str)
def test_ptxas_accepts(product: Product):
    result = assemble(build(product).text, product.target)
    assert result.ok, result.stderr
