"""Products by tcgen05.mma with one thing wrong: each mutant gives wrong numbers or is refused, and none passes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from unit.sim.tensor_products import Case, Product, Scales, build

from tirx.sim import SimError

_WRONG = "wrong numbers"
_PRODUCTS = {
    "sparse scaled": Product("mxf8f6f4", "e4m3", "e5m2", 128, 64, scales=Scales("scale_vec::1X", 1), sparse=True),
    "sparse nvf4": Product("mxf4nvf4", "e2m1", "e2m1", 128, 64, scales=Scales("block16", 4, "ue4m3"), sparse=True),
    "sparse mxf4": Product("mxf4", "e2m1", "e2m1", 128, 64, scales=Scales("block32", 2), sparse=True),
    "sparse": Product("f16", "f16", "f16", 128, 64, sparse=True),
    "half": Product("f16", "f16", "f16", 128, 64, sparse=True, ctas=2, base_lane=16),
    "stationary": Product("f16", "f16", "f16", 32, 64, sparse=True, weight_stationary=True, a_in_tensor_memory=True),
    "pair": Product("f16", "f16", "f16", 256, 64, ctas=2),
    "pair in tensor memory": Product("tf32", "tf32", "tf32", 128, 64, ctas=2, a_in_tensor_memory=True),
    "scaled pair": Product("mxf8f6f4", "e4m3", "e4m3", 256, 64, scales=Scales("scale_vec::1X", 1), ctas=2),
    "scaled halves": Product("mxf4", "e2m1", "e2m1", 128, 64, scales=Scales("block32", 2), ctas=2),
    "masked pair": Product("f16", "f16", "f16", 256, 32, ctas=2, disabled_lanes=(3, 0, 0, 0, 0, 5, 0, 0)),
    "long": Product("mxf4", "e2m1", "e2m1", 128, 64, scales=Scales("block32", 3), long=True, target="sm_103a", steps=4),
    "base offset": Product("f16", "f16", "f16", 128, 64, swizzle=64, base_offset=2),
}  # fmt: skip


@cache
def _case(name: str) -> Case:
    return build(_PRODUCTS[name])


@dataclass(frozen=True)
class _Mutant:
    """
    The kernel `of` with the regular expression `old` replaced by `new`: the first of its places, or the `which`th.

    `finding` is what the simulator says (a regular expression), or `_WRONG` if the kernel runs.
    """

    name: str
    of: str
    old: str
    new: str
    finding: str
    which: int = 0

    def text(self) -> str:
        source = _case(self.of).text
        place = list(re.finditer(self.old, source))[self.which]
        changed = source[: place.start()] + place.expand(self.new) + source[place.end() :]
        assert changed != source
        return changed


_META, _SFA, _SFB = r"(add\.u32 %x2, %tm, )(\w+)", r"(add\.u32 %x3, %tm, )(\d+)", r"(add\.u32 %x4, %tm, )(\d+)"
_COMMIT = r"tcgen05\.commit\S+ \[%r4\], %h0;"
_MUTANTS = (
    # Metadata
    _Mutant("selector 0 for 1", "sparse", "0x08100015", "0x08100014", _WRONG),
    _Mutant("selector 1 for 0", "sparse", "0x08100014", "0x08100015", _WRONG),
    _Mutant("selector 2", "sparse", "0x08100014", "0x08100016", "code 0b0000|never written"),
    _Mutant("selector of kinds without", "sparse scaled", "0x08900404", "0x08900405", "sparsity selector 1"),
    _Mutant("metadata of the other step", "sparse scaled", _META, r"\g<1>0x22", _WRONG),
    _Mutant("metadata at an odd column", "sparse", _META, r"\g<1>0x21", "expected an even column, found"),
    _Mutant("metadata at another column", "sparse nvf4", _META, r"\g<1>0x21", _WRONG),
    _Mutant("metadata never written", "sparse nvf4", _META, r"\g<1>0x100", "metadata .* never written"),
    _Mutant("metadata are the factors", "sparse mxf4", _META, r"\g<1>0x30", "expected one of 0b0100"),
    _Mutant("metadata one lane on", "sparse", _META, r"\g<1>0x10020", "expected lane 0, like D, found lane 1"),
    _Mutant("metadata at lane 0 for 16", "half", _META, r"\g<1>0x20", "expected lane 16, like D, found lane 0"),
    _Mutant("D at lane 0 for 16", "half", r"(add\.u32 %x0, %tm, )0x100100", r"\g<1>0x100", "expected lane 0, like D"),
    _Mutant("dense instruction", "sparse", r"(mma)\.sp(\S+ .*), \[%x2\]", r"\1\2", "the instruction is dense"),
    _Mutant("dense descriptor", "sparse", "0x08100014", "0x08100010", "the instruction is sparse"),
    _Mutant("A of .ws one column on", "stationary", r"(add\.u32 %x1, %tm, )0x0", r"\g<1>0x1", _WRONG),
    _Mutant(
        "metadata of .ws two columns on",
        "stationary",
        r"(add\.u32 %x2, %tm, )0x20",
        r"\g<1>0x22",
        "code 0b0000|never written|needs the same in every group",
    ),
    # Scale factors
    _Mutant("SFA of another byte", "sparse scaled", "0x28900414", "0x08900414", _WRONG),
    _Mutant("SFB of another byte", "sparse scaled", "0x28900414", "0x28900404", _WRONG),
    _Mutant("SFA of an odd byte", "sparse mxf4", "0x489004a4", "0x289004a4", "cannot start at byte 1"),
    _Mutant("SFB start beyond the word", "sparse nvf4", "0x08100484", "0x081004a4", "cannot start at byte 2"),
    _Mutant("SFA is SFB", "sparse scaled", _SFA, r"\g<1>96", _WRONG),
    _Mutant("factors never written", "sparse scaled", _SFB, r"\g<1>200", "SFB .* never written"),
    _Mutant("factors are metadata", "sparse nvf4", _SFA, r"\g<1>32", "no sign, but|expected the same factors"),
    _Mutant("factors at lane 32", "sparse nvf4", _SFA, r"\g<1>2097200", "expected lane 0, found lane 32"),
    _Mutant(
        "factors in a column too late", "scaled pair", _SFB, r"\g<1>97", "same factors|never written|wrong numbers"
    ),
    _Mutant("type of the factors", "sparse nvf4", "0x08100484", "0x08900484", _WRONG),
    _Mutant("blocks of 32", "sparse nvf4", "block16", "block32", "expected factors of type ue8m0"),
    _Mutant("no vector size", "sparse nvf4", r"\.block16", "", "must say how many elements"),
    _Mutant(
        "vector size of another kind", "sparse mxf4", "block32", "scale_vec::4X", "unknown modifier .scale_vec::4X"
    ),
    _Mutant("halves of SFB a column on", "scaled halves", _SFB, r"\g<1>97", _WRONG),
    _Mutant("K = 64 for 96", "long", "0x88900480", "0x08900480", _WRONG),
    _Mutant("third factor of another word", "long", _SFA, r"\g<1>49", _WRONG, 1),
    # Pairs
    _Mutant(
        "the second CTA issues", "pair", r"(setp\.eq\.and\.u32 %p3, %cta, )0", r"\g<1>1", "expected the CTA of even"
    ),
    _Mutant(
        "both CTAs issue",
        "pair",
        r"setp\.eq\.and\.u32 %p3, %cta, 0, %p1;",
        "setp.eq.u32 %p3, %r0, 0;",
        "expected the CTA of even|only 0 more",
    ),
    _Mutant(
        "commit for one CTA",
        "pair",
        _COMMIT,
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%r4];",
        "deadlock",
    ),
    _Mutant("commit for the other CTA", "pair", r"mov\.b16 %h0, 3", "mov.b16 %h0, 2", "deadlock"),
    _Mutant(
        "commit for a third CTA",
        "pair",
        r"mov\.b16 %h0, 3",
        "mov.b16 %h0, 7",
        "expected a mask of the 2 CTAs .* found 0x7",
    ),
    _Mutant("M of one CTA", "pair", "0x10100010", "0x08100010", "never written"),
    _Mutant("N of one CTA", "pair", "0x10100010", "0x10080010", "never written"),
    _Mutant("rank of the inputs", "pair", r"mad\.wide\.u32 %rd0, %cta", "mad.wide.u32 %rd0, 0", _WRONG),
    _Mutant(
        "A of the first CTA in both", "pair in tensor memory", r"mad\.lo\.u32 %r5, %cta", "mad.lo.u32 %r5, 0", _WRONG
    ),
    _Mutant("A one column on", "pair in tensor memory", r"(add\.u32 %x1, %tm, )0x0", r"\g<1>0x1", _WRONG),
    _Mutant(
        "A at lane 64", "pair in tensor memory", r"(add\.u32 %x1, %tm, )0x0", r"\g<1>0x400000", "expected A at lane 0"
    ),
    _Mutant(
        "D at lane 16", "pair", r"(add\.u32 %x0, %tm, )0x100", r"\g<1>0x100100", "expected D at lane 0 in layout A"
    ),
    _Mutant("other lanes disabled", "masked pair", r"(mov\.b32 %x13, )0x5", r"\g<1>0x6", _WRONG),
    _Mutant(
        "lanes of the other CTA disabled",
        "masked pair",
        "%x8, %x9, %x10, %x11, %x12, %x13",
        "%x12, %x13, %x10, %x11, %x8, %x9",
        _WRONG,
    ),
    # Descriptors
    _Mutant("no base offset", "base offset", "0x8004", "0x8000", _WRONG),
    _Mutant("base offset of the first step", "base offset", "0x8004", "0x8006", _WRONG),
)


def _finding(mutant: _Mutant, seed: int | None) -> str:
    case = _case(mutant.of)
    try:
        return "" if np.array_equal(case.run(mutant.text(), seed), _expected(mutant.of)) else _WRONG
    except SimError as error:
        return str(error)


@cache
def _expected(name: str):
    return _case(name).run()


@pytest.mark.parametrize("name", _PRODUCTS)
@pytest.mark.sample(1)
def test_products_are_right(name: str):
    case = _case(name)
    expected = case.expected.copy()
    for lane in range(256 if case.product.disabled_lanes else 0):
        if case.product.disabled_lanes[lane // 32] >> lane % 32 & 1:
            expected[lane] = case.first[lane]
    for seed in (None, 1):
        assert np.array_equal(case.run(seed=seed), expected)


@pytest.mark.parametrize("mutant", _MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
@pytest.mark.sample(5)
def test_no_mutant_passes(mutant: _Mutant):
    found = _finding(mutant, None)
    assert found, "a wrong kernel passes"
    assert re.search(mutant.finding, found), found


def test_names_are_unique():
    assert len({mutant.name for mutant in _MUTANTS}) == len(_MUTANTS)
