"""Views of parts of arguments (`memref.subview`) and accesses to them become those of the arguments."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import context, parsed

from tirx.diagnostics import LocatedError
from tirx.passes.copies.tirx_fold_subviews import TirxFoldSubviewsPass

_KERNEL = """
!i = !tirx.tile<8xi32, register>
!v = !tirx.tile<8x8xf32, global>
tirx.kernel @k(%a: memref<ARGUMENT>, %n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c60 = arith.constant 60 : index
  %below = arith.constant -1 : index
  %t = tirx.zero : !i
  %p = memref.subview %aPART : memref<ARGUMENT> to memref<RESULT>
  USE
  tirx.return
}
"""
_ARGUMENT = "64x48xf32"
_ROWS = "[8, 0][16, 48][1, 1]", "16x48xf32, strided<[48, 1], offset: 384>"
_EVEN = "[0, 0][32, 48][2, 1]", "32x48xf32, strided<[96, 1]>"


def _folded(part: tuple[str, str], use: str, argument: str = _ARGUMENT) -> list[str]:
    """The operations that a use of a part becomes, or the message."""
    text = _KERNEL.replace("USE", use).replace("PART", part[0]).replace("RESULT", part[1]).replace("ARGUMENT", argument)
    module = parsed(text)
    try:
        TirxFoldSubviewsPass().apply(context(), module)
    except LocatedError as error:
        return [error.diagnostic.message]
    lines = [line.strip() for line in str(module).splitlines()]
    return [
        line.partition(" : ")[0] for line in lines[lines.index("%t = tirx.zero : !tirx.tile<8xi32, register>") + 1 : -3]
    ]


_LOAD = "%e = memref.load %p[%c4, %c0] : memref<RESULT>"
_DIM = '%d = memref.dim %p, {} : memref<RESULT>\n  "test.op"(%d) : (index) -> ()'
_VIEW = "%v = tirx.view %p[{}]{} : memref<RESULT> -> !v"
_LINE = "%v = tirx.view %p[{}]{} : memref<RESULT> -> !tirx.tile<8xf32, global>"
_INDEXED = "%v = tirx.view %p[{}] clipped : memref<RESULT>, !i -> !v"
_OTHERS = (
    "expected 'tirx.view', 'memref.load', 'memref.store', 'memref.dim', 'memref.subview' or a flag on a part of an "
    "argument, found 'memref.dim'"
)
_INSIDE = "expected a clipped view that begins inside of the part along dimension 0, found an index"
_WITHIN = "expected a part within 64 elements along dimension 0 of memref<64x48xf32>"
_STEPS = "expected offsets and sizes of memref<64x48xf32>, and constant steps, found others"
_WHOLE = "expected index tiles along dimensions of which the part is all, found 0"


@together(
    ("part", "use", "expected"),
    [
        (_ROWS, _LOAD, ["%0 = arith.constant 8", "%1 = arith.addi %c4, %0", "%e = memref.load %a[%1, %c0]"]),
        (("[8, 0][16, 48][0, 1]", "16x48xf32, strided<[0, 1], offset: 384>"), _LOAD, [_STEPS]),
        (("[8, 0][16, 48][-1, 1]", "16x48xf32, strided<[-48, 1], offset: 384>"), _LOAD, [_STEPS]),
        (("[49, 0][16, 48][1, 1]", "16x48xf32, strided<[48, 1], offset: 2352>"), _LOAD, [_WITHIN]),
        (
            ("[48, 0][16, 48][1, 1]", "16x48xf32, strided<[48, 1], offset: 2304>"),
            _LOAD,
            ["%0 = arith.constant 48", "%1 = arith.addi %c4, %0", "%e = memref.load %a[%1, %c0]"],
        ),
        (
            ("[1, 0][32, 48][2, 1]", "32x48xf32, strided<[96, 1], offset: 48>"),
            _LOAD,
            [
                "%0 = arith.constant 1",
                "%1 = arith.shli %c4, %0",
                "%2 = arith.constant 1",
                "%3 = arith.addi %1, %2",
                "%e = memref.load %a[%3, %c0]",
            ],
        ),
        (("[2, 0][32, 48][2, 1]", "32x48xf32, strided<[96, 1], offset: 96>"), _LOAD, [_WITHIN]),
        (_ROWS, _DIM.format("%n"), [_OTHERS]),
        (_ROWS, _DIM.format("%c2"), [_OTHERS]),
        (_ROWS, _DIM.format("%below"), [_OTHERS]),
        (_ROWS, _DIM.format("%c0"), ["%d = arith.constant 16", '"test.op"(%d)']),
        (
            _ROWS,
            _VIEW.format("%c4, %c0", ""),
            ["%0 = arith.constant 8", "%1 = arith.addi %c4, %0", "%v = tirx.view %a[%1, %c0]"],
        ),
        (
            _ROWS,
            _VIEW.format("%c60, %c0", ""),
            ["expected a view within 16 elements along dimension 0 of the part, found one from 60 to 67"],
        ),
        (
            _ROWS,
            _VIEW.format("%n, %c0", ""),
            ["%0 = arith.constant 8", "%1 = arith.addi %n, %0", "%v = tirx.view %a[%1, %c0]"],
        ),
        (
            _ROWS,
            _VIEW.format("%c4, %c0", " clipped"),
            ["%0 = arith.constant 8", "%1 = arith.addi %c4, %0", "%v = tirx.view %a[%1, %c0] clipped"],
        ),
        (
            ("[8, 0][10, 48][1, 1]", "10x48xf32, strided<[48, 1], offset: 384>"),
            _VIEW.format("%c4, %c0", " clipped"),
            [
                "%0 = arith.constant 8",
                "%1 = arith.addi %c4, %0",
                "%2 = arith.constant 10",
                "%3 = arith.subi %2, %c4",
                "%v = tirx.view %a[%1, %c0] clipped to [%3, *]",
            ],
        ),
        (_ROWS, _VIEW.format("%n, %c0", " clipped"), [_INSIDE]),
        (_ROWS, _VIEW.format("%below, %c0", " clipped"), [_INSIDE]),
        (
            ("[8, 0][%n, 48][1, 1]", "?x48xf32, strided<[48, 1], offset: 384>"),
            _VIEW.format("%c4, %c0", " clipped"),
            [
                "%0 = arith.constant 8",
                "%1 = arith.addi %c4, %0",
                "%2 = arith.subi %n, %c4",
                "%v = tirx.view %a[%1, %c0] clipped to [%2, *]",
            ],
        ),
        (
            _ROWS,
            _INDEXED.format("%c0, [%t]"),
            ["%0 = arith.constant 8", "%1 = arith.addi %c0, %0", "%v = tirx.view %a[%1, [%t]] clipped"],
        ),
        (_ROWS, _INDEXED.format("[%t], %c0"), [_WHOLE]),
        (
            ("[0, 8][64, 16][1, 1]", "64x16xf32, strided<[48, 1], offset: 8>"),
            _INDEXED.format("[%t], %c0"),
            ["%0 = arith.constant 8", "%1 = arith.addi %c0, %0", "%v = tirx.view %a[[%t], %1] clipped"],
        ),
        (_ROWS, _LINE.format("%n, %c0", " clipped"), [_INSIDE]),
        (
            ("[8, 0][16, 24][1, 1]", "16x24xf32, strided<[48, 1], offset: 384>"),
            _LINE.format("%c0, %c4", " clipped dims(0)"),
            ["%0 = arith.constant 8", "%1 = arith.addi %c0, %0", "%v = tirx.view %a[%1, %c4] dims(0) clipped"],
        ),
        (
            ("[8, 0][16, 24][1, 1]", "16x24xf32, strided<[48, 1], offset: 384>"),
            _LINE.format("%c0, %c4", " dims(0)"),
            ["%0 = arith.constant 8", "%1 = arith.addi %c0, %0", "%v = tirx.view %a[%1, %c4] dims(0)"],
        ),
        (
            _EVEN,
            _VIEW.format("%c4, %c0", " clipped"),
            ["%0 = arith.constant 1", "%1 = arith.shli %c4, %0", "%v = tirx.view %a[%1, %c0] steps [2, 1] clipped"],
        ),
        (
            ("[0, 0][32, 24][2, 2]", "32x24xf32, strided<[96, 2]>"),
            _LINE.format("%c0, %c4", " dims(0)"),
            [
                "%0 = arith.constant 1",
                "%1 = arith.shli %c0, %0",
                "%2 = arith.constant 1",
                "%3 = arith.shli %c4, %2",
                "%v = tirx.view %a[%1, %3] dims(0) steps [2, 1]",
            ],
        ),
        (
            ("[0, 0][64, 24][1, 2]", "64x24xf32, strided<[48, 2]>"),
            _INDEXED.format("[%t], %c0"),
            ["%0 = arith.constant 1", "%1 = arith.shli %c0, %0", "%v = tirx.view %a[[%t], %1] steps [1, 2] clipped"],
        ),
    ],
)
def test_uses_of_parts(part: tuple[str, str], use: str, expected: list[str]) -> None:
    assert _folded(part, use) == expected


def test_parts_of_arguments_of_any_size() -> None:
    part = "[100, 0][16, 48][1, 1]", "16x48xf32, strided<[48, 1], offset: 4800>"
    assert _folded(part, _LOAD, "?x48xf32") == [
        "%0 = arith.constant 100",
        "%1 = arith.addi %c4, %0",
        "%e = memref.load %a[%1, %c0]",
    ]
