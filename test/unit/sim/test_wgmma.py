"""wgmma: every type and canonical layout of the operands equals numpy (PTX ISA, section 9.7.15)."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled
from unit.sim.strict import run
from unit.sim.wgmma_kernels import A_BYTES, RESULTS, ROWS, TYPES, fragment_places, kernel, lay_out

from tirx.sim import SimError

_CODES = np.zeros(128, np.uint32)


def _check(
    a_type: str, b_type: str, result: str, n: int, *, a_mode: int, b_mode: int, a_major: str = "K", b_major: str = "K",
    accumulate: bool = True, negative: bool = False, registers: bool = False, seed: int | None = None,
    start: int = 0, base_offset: int = 0,
) -> None:  # fmt: skip
    rng = np.random.default_rng(n)
    depth = 32 // np.dtype(TYPES[a_type]).itemsize
    low = 0 if "u8" in (a_type, b_type) else -3
    a, b = (
        rng.integers(low, 4, (64, depth)).astype(TYPES[a_type]),
        rng.integers(low, 4, (n, depth)).astype(TYPES[b_type]),
    )
    c = rng.integers(-9, 9, (64, n))
    images = [lay_out(a, a_mode, a_major, A_BYTES, start, base_offset), lay_out(b, b_mode, b_major, A_BYTES)]
    rows, columns = fragment_places(n)
    fragment = np.ascontiguousarray(c.astype(RESULTS[result])[rows, columns].T).view(np.uint32)
    fragments = np.zeros((128, 4), np.uint32)
    if registers:
        # Threads hold 32 bits of rows g and g + 8, at the start and in the middle of the 32 bytes of K.
        words = np.ascontiguousarray(a).view(np.uint32)
        thread, item = np.arange(128)[:, None], np.arange(4)[None, :]
        fragments = words[16 * (thread // 32) + thread % 32 // 4 + 8 * (item % 2), thread % 4 + 4 * (item // 2)].copy()
    signs = ""
    if result != "s32":
        signs = f", {-1 if negative else 1}, 1"
        if a_type in ("f16", "bf16"):
            signs += ("" if registers else f", {int(a_major == 'MN')}") + f", {int(b_major == 'MN')}"
    operand = "{%a0, %a1, %a2, %a3}" if registers else "%x"
    text = kernel(f"m64n{n}k{depth}", result, f"{a_type}.{b_type}", n, signs, a=operand, accumulate=accumulate)
    arguments = [
        np.concatenate([image for image, _ in images]),
        fragment,
        images[0][1],
        images[1][1],
        fragments,
        _CODES,
    ]
    run(assembled(text), "k", 1, 128, arguments, seed=seed)
    found = np.zeros((64, n))
    found[rows, columns] = fragment.view(RESULTS[result]).reshape(128, -1).T
    wanted = a.astype(np.float64) @ b.T.astype(np.float64) * (-1 if negative else 1) + (c if accumulate else 0)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("row", [1, 3, 7])
@pytest.mark.parametrize("moved", [False, True])
def test_operands_that_start_in_another_row(row: int, moved: bool) -> None:
    """The pattern lies at multiples of 1024 bytes, or starts where the operand does; an H100 computes both."""
    _check("f16", "f16", "f32", 24, a_mode=1, b_mode=1, start=128 * row, base_offset=row if moved else 0)


@pytest.mark.parametrize(
    ("mode", "n", "byte"),
    [(1, 32, 64), (1, 8, 112), (2, 16, 32), (3, 8, 16), (1, 40, 64), (1, 64, 16), (1, 72, 16), (2, 24, 32)],
)
def test_mn_major_operands_that_start_inside_of_a_row(mode: int, n: int, byte: int) -> None:
    """The addresses go on through rows of the 128B swizzle; other operands that leave their row are refused."""
    row, a = ROWS[mode], np.eye(64, 16, dtype=np.float16)
    columns = np.random.default_rng(n).integers(-3, 4, (row // 2, 32)).astype(np.float16)
    (a_image, a_desc), (b_image, b_desc) = lay_out(a, 0, "K", A_BYTES), lay_out(columns, mode, "MN", A_BYTES)
    text = kernel(f"m64n{n}k16", "f32", "f16.f16", n, ", 1, 1, 0, 1", a="%x", accumulate=False)
    d = np.zeros((128, n // 2), np.float32)
    arguments = [
        np.concatenate([a_image, b_image]),
        d,
        a_desc,
        b_desc + byte // 16,
        np.zeros((128, 4), np.uint32),
        _CODES,
    ]
    if byte + 2 * n > row and (mode != 1 or 2 * n > row):
        with pytest.raises(SimError, match=f"bytes of MN from byte {byte} leave the swizzle row of {row} bytes"):
            run(text, "k", 1, 128, arguments)
        return
    run(assembled(text), "k", 1, 128, arguments)
    found = np.zeros((64, n))
    found[fragment_places(n)] = d.T
    # Rows of the pattern, one for each k, lie behind each other.
    expected = np.array([columns.T.ravel()[k * row // 2 + byte // 2 :][:n] for k in range(16)])
    assert np.array_equal(found[:16], expected) and not found[16:].any()


@pytest.mark.parametrize(
    ("a_type", "b_type", "result"),
    [
        ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
        ("e4m3", "e5m2", "f32"), ("e5m2", "e4m3", "f16"), ("s8", "u8", "s32"), ("u8", "s8", "s32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.sample(4)
def test_types(a_type: str, b_type: str, result: str, registers: bool) -> None:
    _check(a_type, b_type, result, 24, a_mode=3, b_mode=1, registers=registers)


@pytest.mark.parametrize("a_mode", list(ROWS))
@pytest.mark.parametrize("next_mode", [0, 1])
@pytest.mark.parametrize(("a_major", "b_major"), [("K", "K"), ("MN", "K"), ("K", "MN"), ("MN", "MN")])
@pytest.mark.sample(6)
def test_layouts(a_mode: int, next_mode: int, a_major: str, b_major: str) -> None:
    b_mode = (a_mode + next_mode) % len(ROWS)
    _check("f16", "f16", "f32", 64, a_mode=a_mode, b_mode=b_mode, a_major=a_major, b_major=b_major)


@pytest.mark.parametrize("n", [8, 16, 136, 256])
@pytest.mark.parametrize("accumulate", [True, False])
@pytest.mark.sample(2)
def test_widths_and_signs(n: int, accumulate: bool) -> None:
    _check("f16", "f16", "f32", n, a_mode=1, b_mode=0, accumulate=accumulate, negative=n == 16, seed=1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fence.proxy.async.shared::cta;", "", "through the generic proxy"),
        ("wgmma.wait_group.sync.aligned 0;", "", "register %c0 is read before wgmma.wait_group"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", "is read before wgmma.wait_group"),
        ("wgmma.wait_group.sync.aligned 0;", "st.shared.b32 [tile], %w;", "while wgmma may still read it"),
        ("or.b64 %x, %x, %v;", "or.b64 %x, %x, 0x4000;", "bits 14-15 must be zero"),
        ("wgmma.fence.sync.aligned;", "", "but no wgmma.fence follows"),
        ("wgmma.mma_async", "mov.b32 %c3, 0; wgmma.mma_async", "register %c3 is accessed by wgmma.mma_async"),
        ("wgmma.mma_async", "add.u32 %w, %w, %c3; wgmma.mma_async", "register %c3 is accessed by wgmma.mma_async"),
        (
            "wgmma.wait_group.sync.aligned 0;",
            "mov.b32 %c3, 0;",
            "register %c3 is written while a wgmma.mma_async",
        ),
        (
            "wgmma.fence.sync.aligned;",
            "setp.ge.u32 %p, %t, 96; @%p bar.sync 1; wgmma.fence.sync.aligned;",
            r"warp 3 .*: at barrier 1, where 32 of 128 (.|\n)*"
            r"warp 2 .*: at wgmma.mma_async, for the other warps of the warpgroup\n",
        ),
        (".m64n16k16.", ".m64n20k16.", "expected N from 8 to 256 in steps of 8"),
        (", %q, 1, 1, 0, 0;", ", %q, 2, 1, 0, 0;", "expected 1 or -1"),
    ],
)
def test_errors(old: str, new: str, message: str) -> None:
    text = kernel("m64n16k16", "f32", "f16.f16", 16, ", 1, 1, 0, 0", a="%x", accumulate=False)
    assert old in text
    d = np.zeros((128, 8), np.float32)
    arguments = [np.zeros(2 * A_BYTES, np.uint8), d, 8 << 32, 8 << 32]
    with pytest.raises(SimError, match=message):
        run(text.replace(old, new), "k", 1, 128, [*arguments, np.zeros((128, 4), np.uint32), _CODES])


def test_only_products_that_accumulate_read_d() -> None:
    d = np.ones((128, 8), np.float32)
    arguments = [np.zeros(2 * A_BYTES, np.uint8), d, 8 << 32, 8 << 32, np.zeros((128, 4), np.uint32), _CODES]
    text = kernel("m64n16k16", "f32", "f16.f16", 16, ", 1, 1, 0, 0", a="%x", accumulate=True)
    text = text.replace("ld.global.b32 %c3, [%d+12];", "")
    with pytest.raises(SimError, match="%c3 .*never written"):
        run(text, "k", 1, 128, arguments)
    run(text.replace("setp.eq.u32 %q, 0, 0;", "setp.eq.u32 %q, 0, 1;"), "k", 1, 128, arguments)
    assert not d.any()


def test_sums_are_never_negative_zero() -> None:
    """As an H200 does it: the negated product of zeros is +0."""
    text = kernel("m64n16k16", "f32", "f16.f16", 16, ", -1, 1, 0, 0", a="%x", accumulate=False)
    d = np.ones((128, 8), np.float32)
    arguments = [np.zeros(2 * A_BYTES, np.uint8), d, 8 << 32, 8 << 32, np.zeros((128, 4), np.uint32), _CODES]
    run(text, "k", 1, 128, arguments)
    assert not d.view(np.uint32).any()
