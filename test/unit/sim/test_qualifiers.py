"""Modifiers of loads and stores about order and caches: those are refused that ptxas refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import pytest
from unit.cases import together

from tirx.ptx.ptxas import assemble
from tirx.sim import SimError
from tirx.sim.program.linker import link
from tirx.sim.reader import parse

_BEFORE = ("mmio", "weak", "volatile", "relaxed", "acquire", "release", "cta", "cluster", "gpu", "sys")  # the space
_BEHIND = (
    *("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"),
    *("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"),
    *("L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"),
)
_COMPLETED = {"relaxed": "gpu", "acquire": "cluster", "release": "cta"}
_PLACES = {
    "global": "%d0",
    "": "%d0",
    "shared::cta": "s",
    "shared::cluster": "s",
    "local": "l",
    "const": "c",
    "param": "x",
}
_WIDTHS = {"b32": 1, "v2.b32": 2, "v4.f32": 4, "v8.b32": 8}


def _instruction(root: str, chosen: tuple[str, ...], space: str, width: str) -> str:
    names = {*chosen, *(("relaxed", "sys") if "mmio" in chosen else ())}
    if not names.intersection(_BEFORE[-4:]):
        names |= {_COMPLETED[each] for each in names & set(_COMPLETED)}
    ordered = [each for each in (*_BEFORE, "", *_BEHIND) if each in names or not each]
    ordered[ordered.index("")] = space
    count = _WIDTHS[width]
    values = ", ".join(f"%{'f' if 'f32' in width else 'r'}{index}" for index in range(count))
    operands = [f"{{{values}}}" if count > 1 else values, f"[{_PLACES[space]}]"]
    operands = operands if root != "st" else operands[::-1]
    hint = [", %d1"] if "L2::cache_hint" in names else []
    return f"{'.'.join(each for each in (root, *ordered, width) if each)} {', '.join(operands)}{''.join(hint)};"


def _instructions(root: str) -> Iterator[str]:
    everything = (*_BEFORE, *_BEHIND)
    for pair in combinations(everything, 2):
        yield _instruction(root, pair, "global", "b32")
    spaces = [each for each in _PLACES if root == "ld" or each not in ("const", "param")]
    for chosen in ((), *((each,) for each in everything)):
        for space in spaces:
            for width in _WIDTHS:
                if width != "v8.b32" or space in ("global", ""):  # what ptxas says to those is another matter
                    yield _instruction(root, chosen, space, width)


@pytest.mark.parametrize("root", ["ld", "ldu", "st"])
def test_what_goes_together(root: str) -> None:
    lines = list(_instructions(root)) if root != "ldu" else [
        _instruction(root, (each,), "global", "b32") for each in (*_BEFORE, *_BEHIND)
    ]  # fmt: skip
    head = (
        ".version 9.3\n.target sm_100a\n.address_size 64\n.const .align 16 .b8 c[64];\n"
        ".visible .entry k{}(.param .align 16 .b8 x[64]) {{ .reg .b64 %d<2>; .reg .b32 %r<8>; .reg .f32 %f<8>;"
        " .shared .align 16 .b8 s[64]; .local .align 16 .b8 l[64]; mov.b64 %d0, 0; mov.b64 %d1, 0;\n"
    )
    whole = head.format("") + "\n".join(lines) + "\nret; }"
    said = assemble(whole, "sm_100a").stderr
    refused = {int(each) - head.count("\n") - 1 for each in re.findall(r"line (\d+); (?:error|fatal)", said)}
    assert "Parsing error" not in said
    first, entry = head.split("\n.visible")
    module = parse(
        first + "".join(f"\n.visible{entry}".format(index) + each + "ret; }" for index, each in enumerate(lines))
    )
    for index, line in enumerate(lines):
        try:
            link(module, f"k{index}")
        except SimError as error:
            assert index in refused, (line, str(error))
            assert error.line is not None and error.text
        else:
            assert index not in refused, line


@together(
    ("line", "message"),
    [
        ("ld.global.cg.L1::evict_first.L2::cache_hint.b32 %r0, [%d0], %d1;", ".cg and .L1::evict_first cannot be comb"),
        ("ld.global.wb.b32 %r0, [%d0];", "ld has no modifier .wb"),
        ("ld.relaxed.global.b32 %r0, [%d0];", "expected one of .relaxed, .acquire, .release and one of .cta, .cluster"),
        ("ld.nc.b32 %r0, [%d0];", "expected an access to global memory with .nc, found .generic"),
        ("ld.global.L2::evict_last.b32 %r0, [%d0];", "expected an access of 32 bytes with .L2::evict_last, found 4"),
        ("ld.mmio.relaxed.gpu.global.b32 %r0, [%d0];", "expected .relaxed.sys with .mmio"),
        ("ld.mmio.relaxed.sys.global.v2.b32 {%r0, %r1}, [%d0];", "expected a single element with .mmio, found 2"),
    ],
)
def test_messages(line: str, message: str) -> None:
    head = ".version 9.3\n.target sm_100a\n.address_size 64\n.visible .entry k() { .reg .b64 %d<2>; .reg .b32 %r<8>;\n"
    with pytest.raises(SimError) as caught:
        link(parse(f"{head}{line} ret; }}"), "k")
    assert message in caught.value.message and caught.value.line == 5
