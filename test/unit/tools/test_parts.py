"""Parts of the commands: numbers and shapes on both sides of their limits, lines for people word for word."""

from __future__ import annotations

import atexit
import gc
import json
import os
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import UnknownLoc

from tirx.diagnostics import Diagnostic
from tirx.dialects import tcgen05, wgmma
from tirx.dialects.schedule_names import RingPlace
from tirx.dialects.tirx import AllocOp, CopyOp, RingOp, kernels
from tirx.explain import explain_zero_column_mask
from tirx.layout import LayoutError
from tirx.passes.scalars.convert_scf_to_ptx import ConvertScfToPtxPass
from tirx.passes.scalars.tirx_cse import TirxCsePass
from tirx.remarks import Picked, Reason, counted
from tirx.text.source import Source, file_location
from tirx.text.verification import StepTime
from tirx.tools import decisions, predictions, process, tirx_viz
from tirx.tools.changes import ChangePrinter, _changes, closing_bracket  # pyright: ignore[reportPrivateUsage]
from tirx.tools.decisions import (
    Decision,
    DecisionRecorder,
    KernelDecisions,
    _barriers,  # pyright: ignore[reportPrivateUsage]
    _descriptor_facts,  # pyright: ignore[reportPrivateUsage]
    _Kernel,  # pyright: ignore[reportPrivateUsage]
    _read_places,  # pyright: ignore[reportPrivateUsage]
    _read_view,  # pyright: ignore[reportPrivateUsage]
    _span,  # pyright: ignore[reportPrivateUsage]
    _totals,  # pyright: ignore[reportPrivateUsage]
    copy_facts,
    other_swizzles,
)
from tirx.tools.language import Analysis
from tirx.tools.process import UsageError
from tirx.tools.times import format_times


def test_the_process_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    threshold, register, opened = Mock(), Mock(), Mock()
    monkeypatch.setattr(gc, "set_threshold", threshold)
    monkeypatch.setattr(atexit, "register", register)
    monkeypatch.setattr(process, "_open_closed_streams", opened)
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "3"})
    process.prepare_process()
    assert os.environ == {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "1"}
    threshold.assert_called_once_with(300_000, 10, 10)
    register.assert_called_once_with(gc.freeze)
    opened.assert_called_once_with()


def test_tables_of_times() -> None:
    steps = [StepTime("parse", 0.0125, 0.0), StepTime("b", 0.5, 0.2375)]
    assert format_times(steps, "text") == (
        "   run ms verify ms  share  step\n"
        "    12.50      0.00   1.7%  parse\n"
        "   500.00    237.50  98.3%  b\n"
        "   512.50    237.50 100.0%  total"
    )
    assert format_times(steps, "json") == (
        '{"steps": [{"name": "parse", "run": 0.0125, "verify": 0.0}, {"name": "b", "run": 0.5, "verify": 0.2375}], '
        '"total": 0.75}'
    )
    assert format_times([], "text").endswith("\n     0.00      0.00   0.0%  total")


@together(
    ("text", "shape"),
    [
        ("8,16", (8, 16)), (" 8 x 16 ", (8, 16)), ("(3,5)", (3, 5)), ("7", (7,)), ("99999999999", (99999999999,)),
        ("1,1", (1, 1)), (None, None), ("100000000000", None), ("8,0", None), ("8,-1", None), ("", None),
        ("8,,2", None),
    ],
)  # fmt: skip
def test_shapes_of_pictures(text: str | None, shape: tuple[int, ...] | None) -> None:
    if shape is not None or text is None:
        assert tirx_viz._shape(text) == shape  # pyright: ignore[reportPrivateUsage]
        return
    with pytest.raises(UsageError) as found:
        tirx_viz._shape(text)  # pyright: ignore[reportPrivateUsage]
    assert str(found.value) == f"--shape: expected positive integers as 8,16, found '{text}'"


@together(
    ("text", "position", "message"),
    [
        ("abc", None, "wrong"),
        ("abc", 0, "<layout>:1:1: error: wrong\nabc\n^"),
        ("abc", 2, "<layout>:1:3: error: wrong\nabc\n  ^"),
        ("abc", 9, "<layout>:1:4: error: wrong\nabc\n   ^"),
        ("\nabc", 0, "<layout>:1:1: error: wrong\n\n^"),
        ("\nabc", 1, "<layout>:2:1: error: wrong\nabc\n^"),
        ("a\nbc\nd", 3, "<layout>:2:2: error: wrong\nbc\n ^"),
        ("a\nbc\nd", 5, "<layout>:3:1: error: wrong\nd\n^"),
    ],
)
def test_where_a_layout_is_wrong(text: str, position: int | None, message: str) -> None:
    error: Any = LayoutError("wrong")
    error.position = position
    assert tirx_viz._pointed(text, error) == message  # pyright: ignore[reportPrivateUsage]


# Decisions


def test_decisions_for_people() -> None:
    tile = Decision(7, "%a: a tile", (("layout", "S"), ("slots", "2")), ("since", "and"))
    bare = Decision(None, "role load", (("warps", "4-5"),))
    kernel = KernelDecisions("k", "@k: sm_80", (tile,), (), (bare,), (), (), ((None, "a note"), (3, "another")))
    assert kernel.text() == (
        "@k: sm_80\ntiles\n  line 7: %a: a tile\n      layout: S\n      slots: 2\n      why: since\n      why: and\n"
        "products\n  role load\n      warps: 4-5\nnotes\n  a note\n  line 3: another"
    )
    assert KernelDecisions("k", "@k", (), (), (), (), (), ()).text() == "@k"
    found = kernel.json()
    assert found["tiles"][0]["facts"] == {"layout": "S", "slots": "2"} and found["products"][0]["line"] is None


def test_numbers_for_people() -> None:
    assert [_span(4, 1), _span(4, 3), counted(1, "slot"), counted(0, "slot"), counted(2, "slot")] == [
        "4", "4-6", "1 slot", "0 slots", "2 slots"
    ]  # fmt: skip
    assert _totals(None) == (("shared", "bytes", 0), ("tensor", "columns", 0))
    plans: list[Any] = [SimpleNamespace(shared=7, columns=9, dynamic=dynamic) for dynamic in (False, True)]
    assert [_totals(plan) for plan in plans] == [
        (("shared", kind, 7), ("tensor", "columns", 9)) for kind in ("bytes", "bytes, dynamic")
    ]


def test_remarks_go_to_what_they_are_about() -> None:
    """Remarks about a tile go to its layout, others at its place to the copy, the rest to the notes of the kernel."""
    recorder = DecisionRecorder()
    for line, column, remark in (
        (3, 5, Picked("S", "a K-major operand, read by a product", is_operand=True)),
        (3, 5, Picked("T", "for another")),
        (4, 1, Reason("threads copy")),
        (4, 1, Reason("threads copy")),
        (4, 2, Reason("left")),
        (2, 1, Reason("first")),
        (9, 1, Reason("of the second kernel")),
        (1, 1, Reason("in front of all")),
    ):
        recorder.hear(Diagnostic("remark", str(remark), file_location("k", line, column), decision=remark))
    recorder.hear(Diagnostic("warning", "no remark", file_location("k", 4, 2)))
    recorder.hear(Diagnostic("remark", "nowhere", UnknownLoc()))
    first = _Kernel("@a", (2, 3))
    first.tiles["%s: tile", "S"] = (3, 5), [("layout", "S")]
    first.tiles["%r: tile", "T"] = (2, 9), [("layout", "T")]
    first.copies += [((4, 1), "copy", [("engine", "e")]), (None, "somewhere", [])]
    first.others[(3, 5), "S"] = "other swizzles: none"
    first.others[(2, 9), "T"] = "not said"
    first.products += [((5, 1), "product", [("plan", "p")])]
    first.descriptors[5, 1] = [("A", "d")]
    second = _Kernel("@b", (9, 1))
    recorder._kernels |= {"a": first, "b": second}  # pyright: ignore[reportPrivateUsage]
    a, b = recorder.kernels()
    assert a == KernelDecisions(
        "a",
        "@a",
        (
            Decision(2, "%r: tile", (("layout", "T"),)),
            Decision(
                3, "%s: tile", (("layout", "S"),), ("a K-major operand, read by a product", "other swizzles: none")
            ),
        ),
        (Decision(None, "somewhere", (), ("nowhere",)), Decision(4, "copy", (("engine", "e"),), ("threads copy",))),
        (Decision(5, "product", (("plan", "p"), ("A", "d"))),),
        (),
        (),
        ((2, "first"), (3, "picked T: for another"), (4, "left")),
    )
    assert (b.name, b.head, b.notes) == ("b", "@b", ((9, "of the second kernel"),))
    assert recorder.report("text") == f"{a.text()}\n\n{b.text()}\n"
    assert recorder.report("json") == json.dumps({"kernels": [a.json(), b.json()]}, indent=1) + "\n"


def test_when_operations_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices up to the last pass that chooses, also where one comes again; places and descriptors behind it."""
    module = parsed('tirx.kernel @k() target("sm_80") threads(32) { tirx.return }')
    read: list[str] = []
    for name in ("other_layouts", "places", "descriptors"):
        monkeypatch.setattr(decisions, f"_read_{name}", lambda _, found, name=name: read.append(name))  # pyright: ignore
    recorder = DecisionRecorder()
    monkeypatch.setattr(recorder, "_read_choices", lambda _, found: read.append("choices"))  # pyright: ignore
    deciding = ("tirx-set-target", "tirx-pick-layouts", "tirx-multicast-copies", "canonicalize", "of-somebody")
    for name, expected in (
        *((name, ["choices"]) for name in deciding if name != "tirx-pick-layouts"),
        ("tirx-pick-layouts", ["other_layouts", "choices"]),
        ("convert-tirx-to-wgmma", ["descriptors"]),
        ("convert-tirx-to-tcgen05", ["descriptors"]),
        ("tirx-allocate-memory", ["places"]),
        ("convert-tirx-to-ptx", []),
        ("tirx-pick-layouts", ["other_layouts"]),
        ("tirx-set-target", []),
    ):
        read.clear()
        recorder.after(SimpleNamespace(name=name), module)  # pyright: ignore[reportArgumentType]
        assert read == expected, name


def test_views_of_slots() -> None:
    """Views that are tiles with a layout; a tile that was there before keeps its line."""
    layout = "#tirx.tile_layout<S[(8, 4) : (4, 1)]>"
    module = parsed(
        "%clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<!tirx.tile_id>\n"
        "%r = tirx.ring slots(3) stations(fill, use) : !tirx.ring<!tirx.tile<8x4xf16, shared>, "
        f"a: !tirx.tile<8x4xf16, shared, {layout}>, !tirx.tile<8x4xf32, shared, {layout}>>"
    )
    found = _Kernel()
    found.tiles["%a: 8x4 f16, shared", layout] = (7, 5), [("layout", layout)]
    for ring in (op for op in module.walk() if isinstance(op, RingOp)):
        for view in (view for tile in ring.result.type.contents for view in tile):
            _read_view(ring, view, found)
    facts = [("layout", layout), ("slots", "3, in the ring %r")]
    assert found.tiles == {
        ("%a: 8x4 f16, shared", layout): ((7, 5), facts),
        ("a tile: 8x4 f32, shared", layout): ((2, 6), facts),
    }
    assert _barriers(RingPlace("r", 3, ("fill", "use", "free"), (-1, 0, 24), ())) == (
        "behind 'use' at byte 0; behind 'free' at byte 24"
    )
    assert _barriers(RingPlace("r", 1, ("fill",), (-1,), ())) == "none"


def test_descriptors_of_warpgroup_products() -> None:
    """A is one descriptor, or in registers."""
    tile = "#tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>"
    fragment = "#tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>"
    sums = "#tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>"
    a, r, d = (
        f"!tirx.tile<128x64xf16, shared, {tile}>",
        *(f"!tirx.tile<64x{n}, register, {layout}>" for n, layout in (("16xf16", fragment), ("64xf32", sums))),
    )
    module = parsed(f"""func.func @f(%a: {a}, %r: {r}, %d: {d}) {{
  %x = wgmma.smem_descriptor %a, 1 of 16 rows 64 from [0] : {a} -> i64
  %y = wgmma.smem_descriptor %a, 2 of 16 rows 64 from [64] : {a} -> i64
  %1 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%y) c(%d : {d}) at 0 -> !tirx.pending<{d}>
  %2 = wgmma.mma_async "f16" "f16" n 64 a(%r : {r}) b(%y) c(%1 : !tirx.pending<{d}>) at 0 a_at 0 -> !tirx.pending<{d}>
  func.return
}}""")
    first, second = (dict(_descriptor_facts(op)) for op in module.walk() if isinstance(op, wgmma.MmaAsyncOp))
    assert first.keys() == {"A, descriptor", "B, descriptor"} and second.keys() == {"A", "B, descriptor"}
    assert "swizzle 128B" in first["A, descriptor"] and first["A, descriptor"].endswith("the address of %a is added")
    assert second["A"] == "%r in register memory, no descriptor"


def test_zero_column_masks_are_explained() -> None:
    module = parsed("func.func @f(%x: i64) {\n  %z = tcgen05.zero_column_mask <0> : i64\n  func.return\n}")
    (mask,) = (op for op in module.walk() if isinstance(op, tcgen05.ZeroColumnMaskOp))
    block = mask.parent_block()
    assert block is not None
    x = block.args[0]
    product: Any = SimpleNamespace(a=[x], b=x, operands=[x, mask.result])
    ((name, text),) = _descriptor_facts(product)
    assert name == "zero-column mask" and text == explain_zero_column_mask(0).brief()


def test_products_that_are_predicted() -> None:
    """Of elements of 8 bits and more, on GPUs that have the instructions."""
    for family, bits, said in (
        (None, 16, "its products are of a kind that the model does not know"),
        ("wgmma", 4, "its products are of a kind that the model does not know"),
        ("wgmma", 8, "expected a GPU with wgmma, found x; name another in --predict="),
    ):
        operands = SimpleNamespace(dtypes=[SimpleNamespace(bits=16), SimpleNamespace(bits=bits)])
        tiles: Any = SimpleNamespace(operands=operands, tile=(64, 64, 64), family=family)
        gpu: Any = SimpleNamespace(tensor={}, name="x")
        with pytest.raises(predictions._UnpredictedError, match=f"^{said}$"):  # pyright: ignore[reportPrivateUsage]
            predictions._work(Mock(), tiles, (1, 1, 1), Mock(), gpu)  # pyright: ignore[reportPrivateUsage]


def test_sizes_that_are_predicted() -> None:
    """Sizes of `--size` where the types do not say them, of the product that was written."""
    for given, own, exchanged, expected in (
        ((1, 2, 3), (None, None, None), False, (1, 2, 3)),
        ((1, 2, 3), (None, None, None), True, (2, 1, 3)),
        ((1, 2, 3), (7, None, 9), False, (7, 2, 9)),
        (None, (7, 8, 9), False, (7, 8, 9)),
        *((None, tuple(None if i == d else 8 for i in range(3)), False, None) for d in range(3)),
    ):
        predictor: Any = SimpleNamespace(_size=given)
        operands: Any = SimpleNamespace(size=own, exchanged=exchanged)
        if expected is None:
            with pytest.raises(predictions._UnpredictedError, match="^expected --size MxNxK"):  # pyright: ignore[reportPrivateUsage]
                predictions.Predictor._sized(predictor, operands)  # pyright: ignore[reportPrivateUsage]
        else:
            assert predictions.Predictor._sized(predictor, operands) == expected  # pyright: ignore[reportPrivateUsage]


def test_facts_of_copies() -> None:
    """Boxes of bulk copies; nothing of tiles without a layout, of an engine that is not chosen, or within a memory."""
    plain, outside = "!tirx.tile<64x32xf16, shared>", "!tirx.tile<64x32xf16, global>"
    tile = plain.replace(">", ", #tirx.tile_layout<S[(64, 32) : (32, 1)]>>")
    copies = [
        (f"%g, %s engine tma : {outside}, {tile}", True),
        (f"%s, %g engine tma_store : {tile}, {outside}", True),
        (f"%g, %s engine ld_st : {outside}, {tile}", False),
        (f"%g, %s : {outside}, {tile}", False),
        (f"%g, %t engine tma : {outside}, {plain}", False),
        (f"%s, %t engine ld_st : {tile}, {plain}", False),
    ]
    module = parsed(
        'tirx.kernel @k(%a: memref<64x32xf16>) target("sm_90a") grid(1) threads(128) {\n'
        f"%c0 = arith.constant 0 : index\n%s = tirx.alloc : {tile}\n%t = tirx.alloc : {plain}\n"
        f"%g = tirx.view %a[%c0, %c0] : memref<64x32xf16> -> {outside}\n"
        + "".join(f"tirx.copy {text}\n" for text, _ in copies)
        + "tirx.return\n}"
    )
    found = [copy_facts(op) for op in module.walk() if isinstance(op, CopyOp)]
    boxes = [("boxes", "1 of 64x32 f16, 4096 bytes, swizzle none")]
    assert found == [boxes if is_bulk else [] for _, is_bulk in copies]


_OPERAND = "(64, 4, 8) : (8, 512, 1)"


@together(
    ("type_", "layout", "copied", "expected"),
    [
        ("64x32xf16, shared", _OPERAND, True, "other swizzles: 32B 112 cycles, 64B 112 cycles"),
        ("64x32xf16, shared", _OPERAND, False, None),
        ("64x32xf16, shared", None, True, None),
        ("64x32xf16, register", _OPERAND, True, None),
        ("64x4x8xf16, shared", _OPERAND, True, None),
        ("64x32xi16, shared", _OPERAND, True, None),
        ("64x32xf16, shared", "(64, 32) : (32, 1)", True, None),
    ],
)
def test_other_swizzles_of_an_operand(type_: str, layout: str | None, copied: bool, expected: str | None) -> None:
    """Only a shared matrix that a product can read as it lies, and that threads copy, has others."""
    dims, element = type_.partition(",")[0].rsplit("x", 1)
    tile = f"!tirx.tile<{type_}{'' if layout is None else f', #tirx.tile_layout<S[{layout}]>'}>"
    zeros = ", ".join(["%c0"] * (dims.count("x") + 1))
    outside = f"!tirx.tile<{dims}x{element}, global, #tirx.tile_layout<S[{dims.replace('x', ', ')}]>>"
    module = parsed(
        f'tirx.kernel @k(%a: memref<{dims}x{element}>) target("sm_100a") grid(1) threads(128) {{\n'
        f"%c0 = arith.constant 0 : index\n%s = tirx.alloc : {tile}\n"
        f"%g = tirx.view %a[{zeros}] : memref<{dims}x{element}> -> {outside}\n"
        + (f"tirx.copy %g, %s : {outside}, {tile}\n" if copied else "")
        + "tirx.return\n}"
    )
    (alloc,) = (op for op in module.walk() if isinstance(op, AllocOp))
    assert other_swizzles(alloc, 128) == expected


def test_places_of_tiles() -> None:
    """A 16-bit accumulator takes a column for each element, other narrow tiles share them."""
    tensor = "!tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, {}@TCol)]>>"
    (kernel,) = kernels(
        parsed(
            'tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 1024, columns = 128) {\n'
            "  %s = tirx.alloc at 512 : !tirx.tile<32x8xf16, shared, #tirx.tile_layout<S[(32, 8) : (8, 1)]>>\n"
            f"  %d = tirx.alloc at 0 : {tensor.format(2)}\n  %a = tirx.alloc at 64 : {tensor.format(1)}\n"
            "  tirx.return\n}"
        )
    )
    found = _Kernel()
    _read_places(kernel, found)
    assert found.memory == [
        Decision(None, "shared memory: 1024 bytes", (("512-1023", "%s, line 2"),)),
        Decision(None, "tensor memory: 128 columns", (("0-63", "%d, line 3"), ("64-95", "%a, line 4"))),
    ]


# Changes


def test_brackets() -> None:
    text = "a<b<c>d>e<f>"
    assert [closing_bracket(text, 2), closing_bracket(text, 4), closing_bracket(text, 10)] == [8, 6, 12]


def test_names_of_layouts() -> None:
    printer: Any = ChangePrinter(print)

    def aliased(text: str) -> str:
        return "".join(printer._aliased(text))

    layout = "#tirx.tile_layout<S[(8, 2) : (2, 1)]>"
    tile = f"!tirx.tile<8x2xf16, {{}}, {layout}>"
    plain = "!tirx.tile<8x2xf16, shared>"
    assert aliased(f"x {tile.format('shared')} y {tile.format('tensor')} z") == "x !shared0 y !tensor0 z"
    assert aliased(f"{layout}, {plain}, {tile.format('shared')}") == f"#layout0, {plain}, !shared0"
    other = "#tirx.compose_layout<Swizzle(1, 3, 3), S[(8, 2) : (2, 1)]>"
    assert (
        aliased(f"{other}{other}{layout}{tile.replace('8x', '4x').format('shared')}")
        == "#layout1#layout1#layout0!shared1"
    )


def test_which_passes_are_printed() -> None:
    """All with the input, some without it, or whole modules, each with its definitions."""
    tile = "!tirx.tile<8x4xf16, shared, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>"
    before, after = (parsed(f"%{name} = tirx.alloc : {tile}") for name in "ab")
    alias = "!shared0 = " + tile
    module, changed = (f"builtin.module {{\n  %{name} = tirx.alloc : !shared0\n}}\n" for name in "ab")

    def printed(only: tuple[str, ...], whole: bool) -> str:
        texts: list[str] = []
        printer = ChangePrinter(texts.append, only, whole=whole)
        printer.start(before)
        printer.after(TirxCsePass(), after)
        printer.after(ConvertScfToPtxPass(), after)
        return "".join(texts)

    head = {name: f"// -----// {name} //----- //\n" for name in ("input", "IR after tirx-cse")}
    same = "// -----// IR after convert-scf-to-ptx: no change //----- //\n"
    lines = "@@ line 1 @@\n  builtin.module {\n-   %a = tirx.alloc : !shared0\n+   %b = tirx.alloc : !shared0\n  }\n"
    assert printed((), whole=False) == f"{head['input']}{alias}\n{module}{head['IR after tirx-cse']}{lines}{same}"
    assert printed(("convert-scf-to-ptx",), whole=False) == same
    assert printed(("tirx-cse",), whole=True) == f"{head['IR after tirx-cse']}{alias}\n{changed}"
    scf = "// -----// IR after convert-scf-to-ptx //----- //\n"
    assert printed((), whole=True) == f"{head['IR after tirx-cse']}{alias}\n{changed}{scf}{alias}\n{changed}"


def test_changed_lines() -> None:
    before = [f"%{n} = a{n}" for n in range(20)]
    after = [*before[:5], "new", *(f"%{n + 1} = a{n}" for n in range(5, 19)), "last"]
    assert [*_changes(before, after)] == [
        "@@ line 3 @@", "  %2 = a2", "  %3 = a3", "  %4 = a4", "+ new", "  %6 = a5", "  %7 = a6", "  %8 = a7",
        "@@ line 18 @@", "  %17 = a16", "  %18 = a17", "  %19 = a18", "- %19 = a19", "+ last",
    ]  # fmt: skip


# Words


def test_words_at_a_place() -> None:
    text = "%ab, @f = tirx.copy\n\n ^bb0 %"
    analysis = Analysis(Source("k", text))
    expected = {
        (0, 0): ("%ab", 0), (0, 3): ("%ab", 0), (0, 4): None, (0, 5): ("@f", 5), (0, 7): ("@f", 5), (0, 8): None,
        (0, 10): ("tirx.copy", 10), (0, 19): ("tirx.copy", 10), (0, 20): None, (1, 0): None, (2, 0): None,
        (2, 1): ("^bb0", 1), (2, 6): ("%", 6), (2, 7): ("%", 6), (3, 0): None, (-1, 0): None, (-1, 2): None,
    }  # fmt: skip
    assert {place: analysis.word(*place) for place in expected} == expected


def test_places_of_definitions() -> None:
    text = "%a, %b = f(%a)\n%a = g(%b) // %c = h\n!t = i32\n^bb0(%d: i32):\n  x %a, %d, !t, ^bb0 %c %b#1"
    analysis = Analysis(Source("k", text))
    places = {
        (0, 1): (0, 0),
        (0, 11): (0, 0), (1, 8): (0, 4), (4, 4): (1, 0), (4, 8): (3, 5), (4, 12): (2, 0), (4, 16): (3, 0),
        (4, 21): None,
        (4, 24): (0, 4), (4, 2): None, (1, 1): (1, 0), (3, 6): (3, 5),
    }  # fmt: skip
    assert {place: analysis.definition(*place) for place in places} == places
    assert analysis.hover(4, 12) == "```mlir\n!t = i32\n```"


def test_tiles_of_one_line() -> None:
    """A tile is the one of its line and its name."""
    analysis = Analysis(Source("k", "\n\n%a, %b = x : t\n%c = y"))
    layout = "#tirx.tile_layout<S[(1, 2) : (2, 1)]>"
    tiles = [
        Decision(line, f"{name}: 1x2 f16, shared", (("layout", layout), ("slots", str(n))))
        for n, (line, name) in enumerate([(3, "%a"), (3, "%b"), (4, "%a"), (4, "%b")])
    ]
    analysis.kernels.append(KernelDecisions("k", "", tuple(tiles), (), (), (), (), ()))
    table = "m of the first elements of 1x2:\n\n| | 0 | 1 |\n|---|---|---|\n| **0** | 0 | 1 |"
    assert analysis.hover(2, 6) == (
        f"```mlir\n%a, %b = x : t\n```\n\n**%b: 1x2 f16, shared**\n- layout: {layout}\n- slots: 1\n\n{table}"
    )
    assert analysis.hover(3, 1) == "```mlir\n%c = y\n```"
