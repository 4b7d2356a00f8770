"""Views of register tiles that threads take from the registers of their warp, and those that go through memory."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import ViewOp
from tirx.passes.match.register_gathers import register_gather

_VIEW = """
!i = !tirx.tile<{extent}xi32, register, #tirx.tile_layout<S[{extent} : 1] + R[32 : 1@laneid]>>
!j = !tirx.tile<32xi32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!x = !tirx.tile<{source}>
!r = !tirx.tile<{result}>
tirx.kernel @k(%n: index) grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.zero : !x
  %i = tirx.zero : !i
  %j = tirx.zero : !j
  %v = tirx.view %x{places} : !x, !i{more} -> !r
  tirx.return
}}
"""


def _tile(dims: str, layout: str | None) -> str:
    return f"{dims}, register" + ("" if layout is None else f", #tirx.tile_layout<{layout}>")


def _lines(rows: int, vector: int, type_: str) -> str:
    """A tile whose rows 32 lanes share out, with so many neighbours in the registers of each."""
    return _tile(f"{rows}x{32 * vector}x{type_}", f"S[({rows}, 32, {vector}) : ({vector}, 1@laneid, 1)]")


@together(
    ("options", "expected"),
    [
        ({}, True),
        ({"places": "[[%i], [%j]] clipped", "more": ", !j"}, False),
        ({"places": "[[%i], %c0] dims(0, 1) clipped"}, False),
        ({"places": "[[%i], %c0] steps [1, 1] clipped"}, False),
        ({"places": "[[%i], %c0] clipped to [%n, *]"}, False),
        ({"places": "[[%i], %c1] clipped"}, False),
        ({"source": _lines(8, 1, "i16"), "result": _lines(4, 1, "i16")}, True),
        ({"source": _lines(8, 1, "i8"), "result": _lines(4, 1, "i8")}, False),
        ({"result": _tile("4xf32", "S[4 : 1] + R[32 : 1@laneid]")}, False),
        ({"source": _lines(8, 2, "f32")}, False),
        ({"source": _tile("8x32xf32", None)}, False),
        ({"result": _tile("4x32xf32", None)}, False),
        # Loads of vectors are cheaper than selections.
        ({"source": _lines(4, 4, "f32"), "result": _lines(4, 4, "f32")}, False),
        ({"source": _lines(4, 2, "f32"), "result": _lines(4, 2, "f32")}, True),
        ({"source": _lines(2, 4, "f16"), "result": _lines(4, 4, "f16")}, True),
        ({"source": _lines(4, 4, "f16"), "result": _lines(4, 4, "f16")}, False),
        # Vectors have at most 16 bytes.
        ({"source": _lines(4, 4, "i64"), "result": _lines(5, 4, "i64"), "extent": "5"}, True),
    ],
)
def test_views(options: dict[str, str], expected: bool) -> None:
    given = {"source": _lines(8, 1, "f32"), "result": _lines(4, 1, "f32"), "places": "[[%i], %c0] clipped", "more": ""}
    given["extent"] = "4"
    (view,) = (op for op in parsed(_VIEW.format(**(given | options))).walk() if isinstance(op, ViewOp))
    assert (register_gather(view, 32) is not None) is expected
