"""wgmma: sparse A, single bits, and what threads may do with the registers of A."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled
from unit.sim.strict import run
from unit.sim.wgmma_kernels import A_BYTES, RESULTS, TYPES, fragment_places, kernel, lay_out

from tirx.sim import SimError


def _metadata(codes: np.ndarray, wide: bool, selector: int) -> np.ndarray:
    """
    Codes (64, chunks) of four bits to a word for each of 128 threads.

    Wide types: threads 2 s and 2 s + 1 of four have 16 bits of row g and of row g + 8, for a half of K each. Others:
    threads 0 and 1 have the first half of K of rows g and g + 8, threads 2 and 3 the second.
    """
    words = np.full(128, 0xFFFFFFFF, np.uint32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        g, q = divmod(lane, 4)
        if wide and q // 2 != selector:
            continue
        if wide:
            parts = [codes[16 * warp + g + 8 * half, 4 * (q % 2) : 4 * (q % 2) + 4] for half in (0, 1)]
        else:
            parts = [codes[16 * warp + g + 8 * (q % 2), 8 * (q // 2) : 8 * (q // 2) + 8]]
        own: list[int] = [code for part in parts for code in part.tolist()]
        words[thread] = sum(code << 4 * place for place, code in enumerate(own))
    return words


def _fragments(stored: np.ndarray) -> np.ndarray:
    """Threads hold 32 bits of rows g and g + 8, at the start and in the middle of the 32 bytes of K."""
    words = np.ascontiguousarray(stored).view(np.uint32)
    thread, item = np.arange(128)[:, None], np.arange(4)[None, :]
    return words[16 * (thread // 32) + thread % 32 // 4 + 8 * (item % 2), thread % 4 + 4 * (item // 2)].copy()


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize(
    ("a_type", "b_type", "result", "selector"),
    [
        ("f16", "f16", "f32", 0), ("f16", "f16", "f16", 1), ("bf16", "bf16", "f32", 1), ("tf32", "tf32", "f32", 0),
        ("tf32", "tf32", "f32", 1), ("e4m3", "e5m2", "f32", 0), ("s8", "u8", "s32", 0), ("u8", "s8", "s32", 0),
    ],
)  # fmt: skip
@pytest.mark.sample(3)
def test_sparse(a_type: str, b_type: str, result: str, selector: int, registers: bool):
    rng = np.random.default_rng(0)
    n, size = 24, np.dtype(TYPES[a_type]).itemsize
    k, chunk = 64 // size, 2 if a_type == "tf32" else 4
    low = 0 if "u8" in (a_type, b_type) else -3
    stored = rng.integers(low, 4, (64, k // 2)).astype(TYPES[a_type])
    b = rng.integers(low, 4, (n, k)).astype(TYPES[b_type])
    full, codes = np.zeros((64, k)), np.zeros((64, k // chunk), np.int64)
    for row in range(64):
        for index in range(k // chunk):
            kept = np.sort(rng.choice(chunk, chunk // 2, replace=False))
            codes[row, index] = (14 if kept[0] else 4) if chunk == 2 else kept[0] | kept[1] << 2
            full[row, index * chunk + kept] = stored[row, index * chunk // 2 : (index + 1) * chunk // 2]
    c = rng.integers(-9, 9, (64, n))
    images = [lay_out(stored, 3, "K", A_BYTES), lay_out(b, 1, "K", A_BYTES)]
    rows, columns = fragment_places(n)
    d = np.ascontiguousarray(c.astype(RESULTS[result])[rows, columns].T).view(np.uint32)
    signs = "" if result == "s32" else ", 1, 1"
    if a_type in ("f16", "bf16"):
        signs += ", 0" if registers else ", 0, 0"
    text = kernel(
        f"m64n{n}k{k}", result, f"{a_type}.{b_type}", n, signs, a="{%a0, %a1, %a2, %a3}" if registers else "%x",
        accumulate=True, variant=".sp", metadata=f", %e, {selector}",
    )  # fmt: skip
    words = _metadata(codes, size > 1, selector)
    fragments = _fragments(stored) if registers else np.zeros((128, 4), np.uint32)
    arguments = [np.concatenate([image for image, _ in images]), d, images[0][1], images[1][1], fragments, words]
    run(assembled(text), "k", 1, 128, arguments)
    found = np.zeros((64, n))
    found[rows, columns] = d.view(RESULTS[result]).reshape(128, -1).T
    assert np.array_equal(found, full @ b.T.astype(np.float64) + c)


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("n", [8, 48])
def test_single_bits(n: int, registers: bool):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2, (rows, 256)) for rows in (64, n))
    raw = [np.packbits(each, axis=1, bitorder="little") for each in (a, b)]
    images = [lay_out(raw[0], 3, "K", A_BYTES), lay_out(raw[1], 0, "K", A_BYTES)]
    c = rng.integers(-9, 9, (64, n))
    rows, columns = fragment_places(n)
    d = np.ascontiguousarray(c.astype(np.int32)[rows, columns].T)
    operand = "{%a0, %a1, %a2, %a3}" if registers else "%x"
    text = kernel(f"m64n{n}k256", "s32", "b1.b1.and.popc", n, "", a=operand, accumulate=True)
    fragments = _fragments(raw[0]) if registers else np.zeros((128, 4), np.uint32)
    image = np.concatenate([image for image, _ in images])
    run(assembled(text), "k", 1, 128, [image, d, images[0][1], images[1][1], fragments, np.zeros(128, np.uint32)])
    found = np.zeros((64, n), np.int64)
    found[rows, columns] = d.T
    assert np.array_equal(found, a @ b.T + c)


_ISSUE = "wgmma.commit_group.sync.aligned;"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (_ISSUE, f"mov.b32 %a2, 0; {_ISSUE}", "register %a2 is written while a wgmma.mma_async that reads it"),
        ("wgmma.mma_async", "mov.b32 %a2, 0; wgmma.mma_async", "register %a2 is accessed by wgmma.mma_async"),
        (_ISSUE, f"xor.b32 %w, %w, %a2; {_ISSUE}", ""),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 0; mov.b32 %a2, 0;", ""),
    ],
)
def test_registers_of_a(old: str, new: str, message: str):
    text = kernel("m64n16k16", "f32", "f16.f16", 16, ", 1, 1, 0", a="{%a0, %a1, %a2, %a3}", accumulate=False)
    assert old in text
    arguments = [np.zeros(2 * A_BYTES, np.uint8), np.zeros((128, 8), np.float32), 8 << 32, 8 << 32]
    arguments += [np.zeros((128, 4), np.uint32), np.zeros(128, np.uint32)]
    if not message:
        run(text.replace(old, new), "k", 1, 128, arguments)
        return
    with pytest.raises(SimError, match=message):
        run(text.replace(old, new), "k", 1, 128, arguments)


def test_selectors():
    text = kernel("m64n8k64", "s32", "s8.s8", 8, "", a="%x", accumulate=False, variant=".sp", metadata=", %e, SELECTOR")
    arguments = [np.zeros(2 * A_BYTES, np.uint8), np.zeros((128, 4), np.uint32), 8 << 32, 8 << 32]
    arguments += [np.zeros((128, 4), np.uint32), np.zeros(128, np.uint32)]
    for selector in (1, -1):
        with pytest.raises(SimError, match=f"expected a sparsity selector below 1, found {selector}"):
            run(text.replace("SELECTOR", f"{selector}"), "k", 1, 128, arguments)
