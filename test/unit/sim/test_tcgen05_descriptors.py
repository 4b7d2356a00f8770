"""Descriptors of tcgen05.mma that few kernels have: base offsets, K = 96, absolute leading dimensions; collectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.cases import together
from unit.sim.tensor_products import Product, Scales, build

from tirx.ptx.ptxas import assemble
from tirx.sim import SimError


@pytest.mark.parametrize("base", range(1, 8))
@pytest.mark.parametrize("swizzle", [32, 64, 128])
@pytest.mark.sample(4)
def test_base_offset(swizzle: int, base: int):
    """The pattern is counted from where it starts, which is not a multiple of its size."""
    case = build(Product("f16", "f16", "f16", 64, 16, swizzle=swizzle, steps=swizzle // 32, base_offset=base))
    assert np.array_equal(case.run(), case.expected)


def test_wrong_base_offsets():
    case = build(Product("f16", "f16", "f16", 64, 16, swizzle=128, steps=4, base_offset=3))
    for wrong in (0, 2, 6):  # 7 would exchange the halves of K, of A and of B
        text = case.text.replace("0x4006", f"0x{0x4000 | wrong << 1:x}")
        assert text != case.text
        assert not np.array_equal(case.run(text), case.expected)
    # A pattern of 64B is 512 bytes: base offsets that differ by that are the same.
    case = build(Product("f16", "f16", "f16", 64, 16, swizzle=64, base_offset=1))
    assert np.array_equal(case.run(case.text.replace("0x8002", "0x800a")), case.expected)


def test_base_offsets_without_a_swizzle():
    """They are ignored, wherever the operand starts: there is no pattern."""
    for base in (1, 7):
        case = build(Product("f16", "f16", "f16", 64, 16, base_offset=base))
        assert np.array_equal(case.run(), case.expected)


_DEPTH_96 = [
    Product("mxf4", "e2m1", "e2m1", 128, 64, scales=Scales("block32", 3), steps=4),
    Product("mxf4", "e2m1", "e2m1", 128, 136, scales=Scales("", 3), steps=4),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 128, scales=Scales("block16", 6, "ue4m3"), steps=3),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 192, scales=Scales("block16", 6), steps=2),
    Product("mxf4nvf4", "e2m1", "e2m1", 256, 144, scales=Scales("block32", 3), steps=2, ctas=2),
]
_LONG = [replace(product, long=True, target="sm_103a") for product in _DEPTH_96]


@pytest.mark.parametrize("product", _LONG, ids=str)
@pytest.mark.sample(1)
def test_long_k(product: Product):
    case = build(product)
    assert np.array_equal(case.run(), case.expected)
    assert assemble(case.text, "sm_103a").ok
    with pytest.raises(SimError, match="K = 96 .* exists on sm_103a, sm_107a, not on sm_100a"):
        case.run(case.text.replace(".target sm_103a", ".target sm_100a"))


def test_long_k_in_tensor_memory():
    case = build(replace(_LONG[0], a_in_tensor_memory=True, steps=2))
    assert np.array_equal(case.run(), case.expected)


def test_long_k_names_its_blocks():
    with pytest.raises(SimError, match="expected .block16 or .block32 with K = 96, found .scale_vec"):
        build(replace(_LONG[0], scales=Scales("scale_vec::2X", 3), steps=1)).run()


def test_long_k_of_a_pair():
    with pytest.raises(SimError, match="there is no shape M=128, N=64 of cta_group::2"):
        build(replace(_LONG[0], ctas=2)).run()


@pytest.mark.parametrize("product", [_LONG[0], _LONG[2], _LONG[4]], ids=str)
@pytest.mark.sample(1)
def test_absolute_leading_dimension(product: Product):
    """Eight products of 48 bytes are in three rows of 128; one that passes the end of a row goes on in the next."""
    product = replace(product, steps=8, swizzle=128)
    case = build(replace(product, absolute=True))
    assert np.array_equal(case.run(), case.expected)


def test_faults_of_absolute_leading_dimensions():
    product = replace(_LONG[0], steps=8, swizzle=128)
    with pytest.raises(SimError, match="48 bytes of K from byte 96 leave the swizzle row"):
        build(product).run()
    case = build(replace(product, absolute=True))
    for old, new, message in (
        (".target sm_103a", ".target sm_100a", "K = 96"),
        ("shl.b64 %y2", "or.b64 %y0, %y0, 0x2000000000000; shl.b64 %y2", "need 128B swizzle and base offset 0"),
        (
            "shl.b64 %y2, %desc, 16; ",
            "shl.b64 %y2, %desc, 16; add.s64 %y2, %y2, 0x80000; ",
            "not where a pattern starts",
        ),
    ):
        assert old in case.text
        with pytest.raises(SimError, match=message):
            case.run(case.text.replace(old, new))


_PAIR = Product("f16", "f16", "f16", 256, 32, ctas=2, steps=1)
_COLLECTING = [
    (Product("f16", "f16", "f16", 128, 32, steps=1), "a"),
    (Product("f16", "f16", "f16", 64, 32, steps=1, sparse=True), "a"),
    (Product("f16", "f16", "f16", 128, 32, steps=1, a_in_tensor_memory=True), "a"),
    (Product("mxf4", "e2m1", "e2m1", 128, 32, steps=1, scales=Scales("block32", 2)), "a"),
    (Product("f8f6f4", "e4m3", "e5m2", 256, 32, ctas=2, steps=1), "a"),
    (Product("f16", "f16", "f16", 32, 64, weight_stationary=True, steps=1), "b0"),
    (Product("tf32", "tf32", "tf32", 64, 64, weight_stationary=True, steps=1, sparse=True), "b3"),
    (Product("f16", "f16", "f16", 128, 32, steps=1, target="sm_107a"), "b"),
    (Product("f8f6f4", "e4m3", "e5m2", 256, 32, ctas=2, steps=1, target="sm_107a"), "b"),
]


@pytest.mark.parametrize(
    ("product", "target", "message"),
    [
        (Product("i8", "s8", "s8", 128, 16, d="s32"), "sm_103a", "kind::i8 does not exist on sm_103a"),
        (_COLLECTING[0][0], "sm_90a", "tcgen05 does not exist on sm_90a; supported on sm_100a, sm_100f"),
        (_COLLECTING[0][0], "sm_100", "tcgen05 does not exist on sm_100; "),
        (replace(_COLLECTING[3][0], scales=Scales("scale_vec::2X", 2)), "sm_100f", "scale_vec::2X does not exist"),
        (replace(_COLLECTING[3][0], sparse=True), "sm_100f", "sparse_mxf4 does not exist on sm_100f"),
        (_COLLECTING[0][0], "sm_101a", ""),
        (_COLLECTING[3][0], "sm_103f", ""),
    ],
)
def test_targets(product: Product, target: str, message: str):
    case = build(replace(product, target=target))
    if not message:
        assert np.array_equal(case.run(), case.expected)
        return
    with pytest.raises(SimError, match=message):
        case.run()


def _sequence(text: str, *usages: str) -> str:
    """The product of `text` again and again, each added to those before, with these modifiers ("" for none)."""
    first = next(line for line in text.splitlines() if line.startswith("tcgen05.mma"))
    name, _, operands = first.partition(" ")
    adding = operands.removesuffix(" 0;") + " 1;"
    lines = [
        f"{name}{f'.collector::{usage}' if usage else ''} {adding if index else operands}"
        for index, usage in enumerate(usages)
    ]
    return text.replace(first, "\n".join(lines))


@pytest.mark.parametrize(("product", "buffer"), _COLLECTING, ids=str)
@pytest.mark.sample(1)
def test_collectors(product: Product, buffer: str):
    """A collector buffer never changes a result; what is not in it cannot be used."""
    case = build(product)

    def text(*usages: str) -> str:
        return _sequence(case.text, *(f"{buffer}::{usage}" if usage else "" for usage in usages))

    good = text("fill", "use", "lastuse", "fill", "use", "discard")
    assert assemble(good.replace(".version 8.8", ".version 9.4"), product.target).ok
    assert np.array_equal(case.run(good), 6 * case.expected)
    for usages in (("use",), ("fill", "lastuse", "use"), ("fill", "discard", "lastuse"), ("discard", "use")):
        with pytest.raises(SimError, match=f"collector::{buffer}::(last)?use: expected a fill of the buffer before"):
            case.run(text(*usages))


def test_no_modifier_discards():
    case = build(_COLLECTING[0][0])
    with pytest.raises(SimError, match="expected a fill of the buffer before, and no discard since"):
        case.run(_sequence(case.text, "a::fill", "", "a::use"))
    # Without .ws it is buffer b0 that nothing says anything about.
    case = build(_COLLECTING[5][0])
    assert np.array_equal(case.run(_sequence(case.text, "b1::fill", "", "b1::use")), 3 * case.expected)


def test_another_operand_is_not_in_the_collector():
    case = build(_COLLECTING[0][0])
    text = _sequence(case.text, "a::fill", "a::use")
    last = text.rindex("tcgen05.mma")
    with pytest.raises(SimError, match="the buffer was filled with another operand"):
        case.run(text[:last] + "add.s64 %y0, %y0, 8;\n" + text[last:])
    # Another B does no harm.
    assert case.run(text[:last] + text[last:].replace("%y1", "%y0", 1)).shape == case.expected.shape


def test_collectors_of_a_and_b_are_apart():
    """On targets that have both: each keeps its operand, whatever the other one does."""
    case = build(_COLLECTING[7][0])
    text = _sequence(case.text, "a::fill.collector::b::fill", "a::discard.collector::b::use", "b::lastuse")
    assert assemble(text.replace(".version 8.8", ".version 9.4"), "sm_107a").ok
    assert np.array_equal(case.run(text), 3 * case.expected)
    last = text.rindex("tcgen05.mma")
    with pytest.raises(SimError, match="collector::b::lastuse: the buffer was filled with another operand"):
        case.run(text[:last] + "add.s64 %y1, %y1, -8;\n" + text[last:])
    with pytest.raises(SimError, match="tcgen05.collector::b does not exist on sm_100a; supported on sm_107a"):
        case.run(text.replace("sm_107a", "sm_100a"))


def test_an_operand_that_changes_is_not_in_the_collector():
    case = build(_COLLECTING[2][0])
    text = _sequence(case.text, "a::fill", "a::use")
    last = text.rindex("tcgen05.mma")
    with pytest.raises(SimError, match="the operand has changed in memory since the buffer was filled"):
        case.run(text[:last] + "tcgen05.shift.cta_group::1.down [%x1];\n" + text[last:])


@together(
    ("product", "old", "new", "message"),
    [
        (_COLLECTING[0][0], "kind::f16", "kind::f16.collector::b0::fill", "unknown modifier .collector::b0::fill"),
        (_COLLECTING[5][0], "kind::f16", "kind::f16.collector::a::fill", "unknown modifier .collector::a::fill"),
        (_COLLECTING[5][0], "kind::f16", "kind::f16.collector::b4::fill", "unknown modifier .collector::b4::fill"),
        (_COLLECTING[0][0], "kind::f16", "kind::f16.collector::a::keep", "unknown modifier .collector::a::keep"),
        (_COLLECTING[2][0], "kind::f16", "kind::f16.ashift.collector::a::use", "cannot be combined"),
        (_COLLECTING[2][0], "kind::f16", "kind::f16.ashift.collector::a::fill", "cannot be combined"),
        (_COLLECTING[0][0], "kind::f16", "kind::f16.ashift", "expected A in tensor memory with .ashift"),
        (_COLLECTING[5][0], "kind::f16", "kind::f16.ashift", "unknown modifier .ashift"),
        (_COLLECTING[3][0], "kind::mxf4", "kind::mxf4.ashift", "unknown modifier .ashift"),
        (_COLLECTING[1][0], "mma.sp", "mma.sp.ws", "unknown modifier .ws"),
        (_COLLECTING[3][0], "mma.cta", "mma.ws.cta", "there is no tcgen05.mma.ws of kind::mxf4"),
        (_PAIR, "mma.cta", "mma.ws.cta", "there is no tcgen05.mma.ws of cta_group::2"),
        (_COLLECTING[1][0], "mma.sp", "mma", "expected 5 or 6 or 7 operands|bit 2 is 1|expected"),
        (_COLLECTING[0][0], "mma.cta", "mma.sp.cta", "expected 6 or 7 or 8 operands, found 5"),
    ],
)
def test_modifiers_that_do_not_exist(product: Product, old: str, new: str, message: str):
    case = build(product)
    first = next(line for line in case.text.splitlines() if line.startswith("tcgen05.mma"))
    with pytest.raises(SimError, match=message) as caught:
        case.run(case.text.replace(first, first.replace(old, new, 1)))
    assert caught.value.line is not None
