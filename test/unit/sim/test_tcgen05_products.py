"""tcgen05.mma against numpy: sparse, block-scaled, pairs of CTAs, weight stationary, and what of it goes together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.sim.strict import run
from unit.sim.tensor_products import Product, Scales, build, idesc

from tirx.ptx.ptxas import assemble
from tirx.sim import Profile, SimError

_1X, _2X = Scales("scale_vec::1X", 1), Scales("scale_vec::2X", 2)
_B32 = Scales("block32", 2)
_4X = Scales("scale_vec::4X", 4, "ue4m3")
_B16, _B16_UE8M0 = Scales("block16", 4, "ue4m3"), Scales("block16", 4)


def _check(product: Product, seed: int | None = None) -> None:
    case = build(product)
    assert np.array_equal(case.run(seed=seed), case.expected)


_SCALED = [
    Product("mxf8f6f4", "e4m3", "e5m2", 128, 64, scales=_1X, steps=4),
    Product("mxf8f6f4", "e2m1", "e3m2", 128, 8, scales=Scales("", 1)),
    Product("mxf8f6f4", "e2m3", "e4m3", 128, 256, scales=Scales("block32", 1)),
    Product("mxf4", "e2m1", "e2m1", 128, 40, scales=_2X),
    Product("mxf4", "e2m1", "e2m1", 128, 128, scales=Scales("", 2), steps=3),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 104, scales=_B32),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 64, scales=_4X),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 200, scales=_B16_UE8M0),
]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("product", _SCALED, ids=str)
@pytest.mark.sample(1)
def test_block_scaled(product: Product, sparse: bool):
    _check(replace(product, sparse=sparse))


@pytest.mark.parametrize("product", [_SCALED[0], _SCALED[3], _SCALED[6]], ids=str)
def test_block_scaled_with_sparse_a_in_tensor_memory(product: Product):
    _check(replace(product, sparse=True, a_in_tensor_memory=True))


def test_block_scaled_sparse_swizzled_and_negated():
    _check(replace(_SCALED[0], sparse=True, swizzle=128, negate=1))
    _check(replace(_SCALED[6], sparse=True, swizzle=128, steps=4, negate=3))


_PAIRS = [
    Product("f16", "f16", "f16", 256, 32, ctas=2),
    Product("f16", "bf16", "bf16", 128, 48, ctas=2),
    Product("f16", "f16", "f16", 128, 64, d="f16", ctas=2, sparse=True, base_lane=16),
    Product("f16", "f16", "f16", 256, 16, ctas=2, sparse=True),
    Product("tf32", "tf32", "tf32", 256, 32, ctas=2, sparse=True),
    Product("tf32", "tf32", "tf32", 128, 16, ctas=2, sparse=True),
    Product("f8f6f4", "e4m3", "e2m1", 128, 256, ctas=2, sparse=True),
    Product("f8f6f4", "e3m2", "e5m2", 256, 80, ctas=2),
    Product("i8", "s8", "u8", 256, 64, d="s32", ctas=2, sparse=True),
    Product("i8", "u8", "s8", 128, 32, d="s32", ctas=2),
]
_SCALED_PAIRS = [
    Product("mxf8f6f4", "e4m3", "e5m2", 256, 64, scales=_1X, steps=4, ctas=2),
    Product("mxf8f6f4", "e5m2", "e2m3", 128, 176, scales=_1X, ctas=2),
    Product("mxf4", "e2m1", "e2m1", 256, 16, scales=_2X, ctas=2),
    Product("mxf4", "e2m1", "e2m1", 128, 128, scales=Scales("", 2), ctas=2),
    Product("mxf4nvf4", "e2m1", "e2m1", 256, 160, scales=_B16, ctas=2),
    Product("mxf4nvf4", "e2m1", "e2m1", 128, 96, scales=_4X, ctas=2),
]


@pytest.mark.parametrize(
    "product",
    [
        Product("f16", "f16", "f16", 128, 64, sparse=True, mn_major=3),
        Product("f16", "bf16", "bf16", 256, 128, ctas=2, sparse=True, mn_major=3),
        Product("i8", "s8", "u8", 64, 128, d="s32", sparse=True, weight_stationary=True, mn_major=3),
        Product("f8f6f4", "e4m3", "e5m2", 128, 64, ctas=2, mn_major=2),
        Product("f8f6f4", "e4m3", "e5m2", 128, 256, ctas=2, sparse=True, mn_major=1),
        replace(_SCALED[0], mn_major=3, sparse=True, n=128),
    ],
    ids=str,
)
@pytest.mark.sample(1)
def test_mn_major(product: Product):
    _check(product)


def test_columns_of_mn_major_bytes():
    """N is in steps of 16, and of 32 for pairs."""
    for product, step in ((replace(_SCALED[0], n=24), 16), (Product("f8f6f4", "e4m3", "e4m3", 128, 48, ctas=2), 32)):
        _check(product)
        with pytest.raises(SimError, match=f"there is no shape M=128, N={product.n}"):
            build(replace(product, mn_major=2)).run()
        assert product.n % step


@pytest.mark.parametrize("in_tensor", [False, True], ids=["shared", "tensor"])
@pytest.mark.parametrize("product", _PAIRS, ids=str)
@pytest.mark.sample(1)
def test_pairs(product: Product, in_tensor: bool):
    _check(replace(product, a_in_tensor_memory=in_tensor))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("product", _SCALED_PAIRS, ids=str)
@pytest.mark.sample(1)
def test_block_scaled_pairs(product: Product, sparse: bool):
    product = replace(product, sparse=sparse)
    if sparse and product.m == 128:
        with pytest.raises(SimError, match="there is no shape M=128, N=.* of cta_group::2 with a sparse A"):
            build(product).run()
        return
    _check(product)
    _check(replace(product, a_in_tensor_memory=True), seed=1)


@pytest.mark.parametrize("product", [_SCALED[5], *_SCALED_PAIRS[::2], _SCALED_PAIRS[5]], ids=str)
@pytest.mark.sample(1)
def test_factors_are_copied(product: Product):
    """tcgen05.cp and mma are in a pipeline; a pair copies what is in the shared memory of each CTA."""
    case = build(replace(product, copied=True))
    assert np.array_equal(case.run(), case.expected)
    if product.ctas == 2:
        with pytest.raises(SimError, match="never written"):
            case.run(case.text.replace("tcgen05.cp.cta_group::2", "//", 1))


def test_ids_in_addresses_of_factors():
    """Bits 30-31 of the address may say what the descriptor says."""
    case = build(_SCALED[0])
    both = "add.u32 %x3, %tm, 48; add.u32 %x4, %tm, 96;"
    assert case.text.count(both) == 4
    parts = case.text.split(both)
    ids = [f"add.u32 %x3, %tm, {48 | step << 30:#x}; add.u32 %x4, %tm, {96 | step << 30:#x};" for step in range(4)]
    text = "".join(part + following for part, following in zip(parts, [*ids, ""], strict=True))
    assert np.array_equal(case.run(text), case.expected)
    with pytest.raises(SimError, match="bits 30-31 of the address name byte 1, the descriptor byte 2"):
        case.run(text.replace(f"{48 | 2 << 30:#x}", f"{48 | 1 << 30:#x}"))


@pytest.mark.parametrize("ctas", [1, 2])
def test_disabled_lanes(ctas: int):
    """The second step adds nothing to the rows of D in disabled lanes; words 4 to 7 are of the second CTA."""
    words = (0x80000001, 0, 0xFFFF0000, 2, 0, 0x12345678, 0xFFFFFFFF, 4)[: 4 * ctas]
    product = Product("f16", "f16", "f16", 128 * ctas, 32, ctas=ctas)
    whole, masked = build(product), build(replace(product, disabled_lanes=words))
    off = np.array([words[lane // 32] >> lane % 32 & 1 for lane in range(128 * ctas)], np.bool_)
    assert np.array_equal(masked.run(), np.where(off[:, None], masked.first, whole.expected))
    wrong = masked.text.replace("%x8, %x9", "%x9, %x8")
    assert not np.array_equal(masked.run(wrong), masked.run())


def test_disabled_lanes_of_a_layout_with_halves_of_columns():
    """Layout B: lanes r and r + 64 have the halves of the columns of row r."""
    words = (1, 0, 2, 0, 0, 0, 0, 4)
    product = Product("f16", "f16", "f16", 128, 32, ctas=2)
    masked = build(replace(product, disabled_lanes=words))
    expected = masked.expected.copy()
    expected[0, :16] = masked.first[0, :16]
    expected[1, 16:] = masked.first[1, 16:]
    expected[64 + 34, 16:] = masked.first[64 + 34, 16:]
    assert np.array_equal(masked.run(), expected)


@pytest.mark.parametrize(
    ("product", "old", "new", "message"),
    [
        (Product("f16", "f16", "f16", 256, 32, ctas=2, disabled_lanes=(1,) * 8), ", %x15}", "}", "four for each CTA"),
        (Product("f16", "f16", "f16", 128, 32, disabled_lanes=(1,) * 4), ", %x11}", ", %x11, %x12}", "for each CTA"),
    ],
)
def test_number_of_disabled_lanes(product: Product, old: str, new: str, message: str):
    case = build(product)
    assert old in case.text
    with pytest.raises(SimError, match=message):
        case.run(case.text.replace(old, new))


_WEIGHT_STATIONARY = [
    Product("f16", "f16", "f16", 32, 128),
    Product("f16", "bf16", "bf16", 64, 64),
    Product("f16", "f16", "f16", 128, 128, d="f16"),
    Product("tf32", "tf32", "tf32", 32, 64),
    Product("tf32", "tf32", "tf32", 64, 128),
    Product("f8f6f4", "e2m1", "e4m3", 64, 128),
    Product("f8f6f4", "e5m2", "e2m3", 32, 64),
    Product("i8", "s8", "u8", 32, 128, d="s32"),
    Product("i8", "u8", "u8", 128, 64, d="s32"),
]


@pytest.mark.parametrize("in_tensor", [False, True], ids=["shared", "tensor"])
@pytest.mark.parametrize("product", _WEIGHT_STATIONARY, ids=str)
@pytest.mark.sample(2)
def test_weight_stationary_sparse(product: Product, in_tensor: bool):
    _check(replace(product, weight_stationary=True, sparse=True, a_in_tensor_memory=in_tensor))


@pytest.mark.parametrize("m", [32, 64, 128])
def test_weight_stationary_sparse_with_zero_columns(m: int):
    """Every sub-mask begins with two columns of B and then has three of every seven zero."""
    mask = 1 << 39 | 2 << 40 | 3 << 48 | 0x02020202
    # A sub-mask is of M columns, as N is 128.
    zero = tuple(column for column in range(128) if (column % m + 2) % 7 >= 4)
    product = Product("f16", "f16", "f16", m, 128, weight_stationary=True, sparse=True)
    _check(replace(product, zero_mask=mask, zero_columns=zero))


@pytest.mark.sample(5)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("mask", "zero"),
    [
        (0, range(0)),
        (1 << 39 | 255 << 48, range(0)),
        (1 << 39 | 1 << 32 | 255 << 40, range(128)),
        (1 << 39 | 251 | 255 << 48, range(5, 6)),
        (1 << 39 | 129 | 255 << 48, range(127, 128)),
    ],
    ids=["off", "empty", "full", "one column", "the last column"],
)
def test_weight_stationary_with_all_one_or_no_zero_column(mask: int, zero: range, sparse: bool):
    """M is 128, which has one sub-mask: `start` columns into a first run of 256 used or zeroed ones."""
    product = Product("f16", "f16", "f16", 128, 128, weight_stationary=True, sparse=sparse)
    _check(replace(product, zero_mask=mask, zero_columns=tuple(zero)))


def test_weight_stationary_sparse_has_no_256_columns():
    _check(Product("f16", "f16", "f16", 32, 256, weight_stationary=True, steps=1))
    with pytest.raises(SimError, match="no shape M=32, N=256 of .ws with a sparse A"):
        build(Product("f16", "f16", "f16", 32, 256, weight_stationary=True, sparse=True, steps=1)).run()


_PTXAS = [
    *(replace(product, sparse=True, n=64, steps=1) for product in _SCALED),
    *(replace(product, steps=1) for product in _PAIRS),
    replace(_SCALED_PAIRS[0], sparse=True),
    replace(_SCALED_PAIRS[4], sparse=True, a_in_tensor_memory=True, n=64),
    replace(_PAIRS[2], disabled_lanes=(1,) * 8),
    replace(_WEIGHT_STATIONARY[0], weight_stationary=True, sparse=True, zero_mask=1 << 39),
    replace(_WEIGHT_STATIONARY[3], weight_stationary=True, sparse=True, a_in_tensor_memory=True),
]


@pytest.mark.parametrize("product", _PTXAS, ids=str)
@pytest.mark.sample(3)
def test_ptxas_accepts(product: Product):
    result = assemble(build(product).text, product.target)
    assert result.ok, result.stderr


@pytest.mark.parametrize("m", [32, 64])
def test_shift_with_32_rows(m: int, caplog: pytest.LogCaptureFixture):
    """A shift by 4 columns of B: with M = 32 a warning names the probe that trapped on a B200."""
    product = Product("f16", "f16", "f16", m, 128, weight_stationary=True, steps=1, zero_mask=1 << 39 | 4 << 56)
    case, word = build(product), idesc(product, 0)
    # 64 columns of D only, so that the last ones have columns of B behind them; a shift of up to 8 is allowed.
    narrow = word ^ 128 >> 3 << 17 ^ 64 >> 3 << 17 | 1 << 30
    text = case.text.replace(f"{word:#010x}", f"{narrow:#010x}")
    assert text != case.text
    with caplog.at_level("WARNING", "tirx.sim"), pytest.raises(SimError, match="reads cells that were never written"):
        case.run(text)
    assert ("a B200 trapped" in caplog.text) == (m == 32)


def test_bytes_of_tensor_memory():
    """Each product writes D; all but the first read it too."""
    moved: list[dict[str, int]] = []
    for steps in (1, 2, 4):
        case, profile = build(Product("f16", "f16", "f16", 128, 16, steps=steps)), Profile()
        arguments = [case.shared, case.words, np.zeros((1, 128, case.columns), np.uint32)]
        run(case.text, "k", 1, 128, arguments, cluster=1, observer=profile)
        moved.append({way: profile.bytes["tensor", way] for way in ("read", "written")})
    size = 128 * 16 * 4
    for more, found in zip((1, 3), moved[1:], strict=True):
        assert found == {way: before + more * size for way, before in moved[0].items()}
