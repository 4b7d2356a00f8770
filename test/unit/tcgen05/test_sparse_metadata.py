"""Sparsity metadata in tensor memory against the figures of the PTX ISA, code by code."""

from collections.abc import Callable

import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.tcgen05.kinds import KINDS, find_kind
from tirx.tcgen05.sparse_metadata import SPARSE_METADATA, sparse_metadata_layout

# (m, cta_group, ws) -> lane of row i in each group of lanes that holds it, for base lane 0
LANES: dict[tuple[int, int, bool], Callable[[int], list[int]]] = {
    (128, 1, False): lambda i: [i],
    (128, 1, True): lambda i: [i],
    (256, 2, False): lambda i: [i % 128],
    (64, 1, True): lambda i: [i, i + 64],
    (32, 1, True): lambda i: [i, i + 32, i + 64, i + 96],
    (64, 1, False): lambda i: [32 * (i // 16) + i % 16],
    (128, 2, False): lambda i: [32 * (i % 64 // 16) + i % 16],
}
# kind -> elements of K: of one code, of one instruction
ELEMENTS = {
    "tf32": (2, 16),
    "f16": (4, 32),
    "ti16": (4, 32),
    "f8f6f4": (4, 64),
    "i8": (4, 64),
    "mxf8f6f4": (4, 64),
    "mxf4": (8, 128),
    "mxf4nvf4": (8, 128),
}


CASES = [
    (kind, *instruction)
    for kind in ELEMENTS
    for instruction in LANES
    if not kind.startswith("mx") or instruction in ((128, 1, False), (256, 2, False))
]


@pytest.mark.parametrize(("kind", "m", "cta_group", "ws"), CASES)
@pytest.mark.parametrize("instructions", [1, 3])
@pytest.mark.sample(20)
def test_every_code(kind: str, m: int, cta_group: int, ws: bool, instructions: int):
    """f16 and tf32: chunk c of row r at lane (row of r % 8) + 8 * (c / 4), nibble 4 * (r / 8) + c % 4; others: row and
    chunk."""
    elements, k_instr = ELEMENTS[kind]
    k, codes = instructions * k_instr, instructions * k_instr // elements
    for base_lane in (0, 16) if (m, cta_group, ws) in ((64, 1, False), (128, 2, False)) else (0,):
        layout = sparse_metadata_layout(kind, m, k, cta_group, ws, base_lane=base_lane)
        for i in (*range(0, m, 5), m - 1):
            for code in range(codes):
                step, c = divmod(code, k_instr // elements)
                if kind in ("f16", "tf32", "ti16"):
                    lanes = [lane + 8 * (c // 4) for lane in LANES[m, cta_group, ws](i - i % 16 + i % 8)]
                    nibble = 8 * step + 4 * (i % 16 // 8) + c % 4
                else:
                    lanes, nibble = LANES[m, cta_group, ws](i), code
                places = {(o.get("cbx", 0), o["TLane"], o["TCol"]) for o in layout.owners((i, code), (m, codes))}
                assert places == {(i // (m // cta_group), lane + base_lane, nibble) for lane in lanes}
        assert layout.is_injective()
        layout.check_bounds(4)
        columns = {"f16": 1, "tf32": 1, "ti16": 1}.get(kind, 2)
        assert layout.footprint()["TCol"] == (0, instructions * columns * 8 - 1)


def test_every_kind_has_metadata():
    assert list(SPARSE_METADATA) == list(ELEMENTS) and set(SPARSE_METADATA) == set(KINDS)
    for name, (elements, k) in ELEMENTS.items():
        assert SPARSE_METADATA[name].elements == elements
        assert find_kind(name).instruction_k(sparse=True) == k


def test_notation():
    assert str(sparse_metadata_layout("f8f6f4", 128, 64)) == "S[(128, 16) : (1@TLane, 1@TCol)]"
    assert str(sparse_metadata_layout("f16", 128, 64)) == (
        "S[(8, 2, 8, 2, 2, 4) : (16@TLane, 4@TCol, 1@TLane, 8@TCol, 8@TLane, 1@TCol)]"
    )


@together(
    ("arguments", "base_lane", "message"),
    [
        (("f17", 128, 64), 0, "f17"),
        (("f16", 128, 48), 0, "sparse kind f16: expected K in steps of 32 elements, up to 16384, found 48; .* 64"),
        (("i8", 128, 32768), 0, "steps of 64 elements, up to 16384, found 32768; nearest is 16384"),
        (("f16", 96, 32), 0, r"kind::f16, cta_group 1, sparse: expected M in \{64, 128\}, found 96"),
        (("mxf4", 64, 128), 0, r"expected M in \{128\}, found 64"),
        (("f16", 128, 32), 16, "data path D: expected base lane 0, found 16"),
    ],
)
def test_metadata_that_do_not_exist(arguments: tuple[str, int, int], base_lane: int, message: str):
    with pytest.raises(LegalityError, match=message):
        sparse_metadata_layout(*arguments, base_lane=base_lane)
