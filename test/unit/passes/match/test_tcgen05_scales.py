"""Layouts of scale factors in tensor memory, with stages."""

from __future__ import annotations

from math import prod

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import MmaOp
from tirx.passes.match import tcgen05_product
from tirx.passes.match.product import Product
from tirx.passes.match.tcgen05_product import product_shape
from tirx.passes.match.tcgen05_scales import scale_tmem_layout


@together(
    ("dims", "halves"), [((128, 8), 1), ((3, 128, 8), 1), ((5, 3, 128, 8), 1), ((256, 8), 2), ((5, 3, 256, 8), 2)]
)
def test_stages_follow_each_other(dims: tuple[int, ...], halves: int) -> None:
    """Each stage begins behind the columns of the one before."""
    layout, stages = scale_tmem_layout(dims, halves), prod(dims[:-2])
    one = scale_tmem_layout(dims[-2:], halves)
    assert layout.size() == prod(dims) and one.size() == prod(dims[-2:])
    columns = one.footprint()["TCol"][1] + 1
    assert layout.footprint()["TCol"][1] + 1 == stages * columns
    places = layout.axis_table("TCol", (stages, prod(dims[-2:])))
    assert [int(row.min()) for row in places.reshape(stages, -1)] == [columns * i for i in range(stages)]


def _pair(m: int) -> Product:
    text = f"""
!a = !tirx.tile<{m}x128xf8E4M3FN, shared>
!b = !tirx.tile<128x128xf8E4M3FN, shared>
!d = !tirx.tile<{m}x128xf32, tensor>
!sa = !tirx.tile<{m}x4xf8E8M0FNU, tensor>
!sb = !tirx.tile<128x4xf8E8M0FNU, tensor>
tirx.kernel @k() target("sm_100a") cluster(2) threads(128) {{
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  tirx.mma %a, %b, %d scales(%sa, %sb) : !a, !b, !d, !sa, !sb
  tirx.return
}}
"""
    return Product.of(next(op for op in parsed(text).walk() if isinstance(op, MmaOp)))


def test_scale_factors_of_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block has the factors of its half of the rows of A, and of all of B."""
    asked: list[tuple[int, int]] = []

    def check(_product: Product, _scaling: object, m: int, n: int) -> None:
        asked.append((m, n))

    monkeypatch.setattr(tcgen05_product, "check_scale_shapes", check)
    shapes = [product_shape.__wrapped__(_pair(m)) for m in (128, 256)]
    assert asked == [(64, 128), (128, 128)]
    assert [(each.m, each.n, each.k, each.cta_group) for each in shapes] == [(128, 128, 32, 2), (256, 128, 32, 2)]
