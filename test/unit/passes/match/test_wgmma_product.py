"""Products of warpgroups: which tiles need layouts, and when."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import MmaOp
from tirx.hw.errors import MissingLayoutError
from tirx.passes.match import wgmma_product
from tirx.passes.match.product import Product

A, B = (f"#tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[{n}, 32]>>" for n in (64, 128))
SUMS = "#tirx.tile_layout<S[(4, 2, 8, 16, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>"


@together(
    ("a", "b", "d", "missing"),
    [
        ("", "", "", "A"),
        (A, "", "", "B"),
        ("", B, SUMS, "A"),
        (A, B, "", "the accumulator"),
        (A, B, SUMS, None),
    ],
)
def test_instructions_need_layouts(a: str, b: str, d: str, missing: str | None) -> None:
    """Sizes and types are checked without them."""
    types = ", ".join(
        f"!tirx.tile<{shape}, {memory}{', ' * bool(layout)}{layout}>"
        for shape, memory, layout in (
            ("64x32xf16", "shared", a),
            ("128x32xf16", "shared", b),
            ("64x128xf32", "register", d),
        )
    )
    text = f"""tirx.kernel @k() target("sm_90a") threads(128) {{
      %a, %b, %d = "test.op"() : () -> ({types})
      %e = tirx.mma %a, %b, %d : {types} -> {types.split(", !")[-1].join(["!", ""])}
      tirx.return
    }}"""
    product = Product.of(next(op for op in parsed(text).walk() if isinstance(op, MmaOp)))
    wgmma_product.check(product)
    if missing is None:
        assert [step.form.shape for step in wgmma_product.instructions(product).steps] == ["m64n128k16"] * 2
    else:
        with pytest.raises(MissingLayoutError) as error:
            wgmma_product.instructions(product)
        assert str(error.value) == f"expected a layout on {missing}; tirx-pick-layouts chooses one"
