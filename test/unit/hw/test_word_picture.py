"""Descriptors, canonical layouts, fragments and explanations as notebooks show them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from unit.cases import together

from tirx.explain import explain_matrix_descriptor, explain_ptx, explain_tensor_map
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.mma.fragments import VARIANTS
from tirx.smem.canonical import canonical_layout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.zero_column_mask import ZeroColumnMask

_SVG = "{http://www.w3.org/2000/svg}"


def _root(value: object) -> ElementTree.Element:
    return ElementTree.fromstring(value._repr_html_().replace("&nbsp;", " ").replace("<br>", ""))  # type: ignore[attr-defined]


@together(
    "value",
    [
        SmemDescriptor(1024, None, 1024, "128B"),
        WgmmaDescriptor(0, 4096, 512, "64B", 3),
        InstructionDescriptor("mxf8f6f4", "e4m3", "e2m1", "f32", scale="ue8m0"),
        ZeroColumnMask((0, 1, 2, 1), (1, 1, 0, 0), 2, 3, 2),
    ],
)
def test_descriptors(value: SmemDescriptor | WgmmaDescriptor | InstructionDescriptor | ZeroColumnMask) -> None:
    """Rows in the order of the bits; rows and strip both say the word."""
    root, word = _root(value), value.encode()
    rows = [[cell.text or "" for cell in row] for row in root.findall(".//tbody/tr")]
    places = [[int(bit) for bit in re.findall(r"\d+", row[1])] for row in rows]
    assert places == sorted(places)
    assert sum(int(row[3], 16) << place[0] for row, place in zip(rows, places, strict=True)) == word
    strip = "".join(each.text or "" for each in root.findall(f".//{_SVG}text"))
    assert int(strip, 2) == word and len(strip) in (32, 64)
    assert f"{type(value).__name__} 0x" in (root.findtext("code") or "")


def test_values_of_fields() -> None:
    rows = {row[2].text: row[4].text for row in _root(SmemDescriptor(0, None, 1024, "128B")).findall(".//tbody/tr")}
    assert (rows["lbo"], rows["sbo"], rows["swizzle"]) == ("not read", "1024", "128B")
    mask = _root(ZeroColumnMask((0, 0, 0, 0), (1, 1, 0, 0), 2, 3, 20))
    assert [row[4].text for row in mask.findall(".//tbody/tr")][4:8] == ["1", "1", "0", "0"]
    assert [(each.text or "").partition(":")[0] for each in mask.findall("div")] == [
        "M = 128, N = 64",
        "M = 64, N = 64",
    ]
    assert (mask.findtext("div") or "").endswith(": " + ("0001111" * 10)[:64])
    without = InstructionDescriptor(m=100)
    assert without._repr_html_().startswith("<code>InstructionDescriptor(")  # pyright: ignore[reportPrivateUsage]


def test_canonical_layouts() -> None:
    """Each element of the operand has its place in memory."""
    operand = ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), TileLayout("S[(16, 64) : (64, 1)]"))
    shown = _root(canonical_layout(operand, shape=(16, 64), dtype="f16"))
    texts = [each.text for each in shown.findall(f"{_SVG}text")]
    assert (
        texts[0] == "K-major, swizzle 128B, LBO None, SBO 1024 bytes, Swizzle<3,4,3> o ((8,2),(8,8)):((64,512),(1,8))"
    )
    rows = [str(operand.apply((i, j), shape=(16, 64))["m"]) for i in range(16) for j in range(32)]
    assert texts[-512:] == rows


def test_fragments() -> None:
    fragment = VARIANTS["m16n8k16.row.col.f32.f16"].c
    cells = [each.text for each in _root(fragment).findall(f"{_SVG}text")]
    found = fragment.layout.owners((0, 3, 1), shape=fragment.shape)[0]
    assert cells[-256 + 3 * 16 + 8 + 1] == str(found["laneid"]) and cells[0] == f"f32 {fragment.layout}"


def test_explanations() -> None:
    """With what is wrong; words of tensor maps have no strip."""
    found = explain_matrix_descriptor(0x4040404000010000, major="K", dtype="f16")
    shown = _root(found)
    assert [each.text for each in shown.findall("div")] == found.text().split("\n")[9:]
    assert any("wrong" in (each.text or "") for each in shown.findall("div"))
    assert _root(explain_tensor_map(bytes(128))).find(f".//{_SVG}svg") is None
    text = explain_ptx(".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry f() { ret; }")
    assert text._repr_html_() == "<pre></pre>"  # pyright: ignore[reportPrivateUsage]
