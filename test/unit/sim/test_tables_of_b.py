"""Products with a table of B: indices of three bits into eight e4m3 for each eight rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from unit.sim.tensor_kernels import Words, run_tensor_kernel, tensor_kernel
from unit.sim.tensor_operands import DTYPES, Values, factor_codes, k_major, numbers, put_factors, result_rows, row_bytes

from tirx.ptx.ptxas import assemble
from tirx.sim import SimError

_TABLE, _SFA, _SFB, _D = 2, 16, 32, 256
_K = 128
"""Both halves of a row of 48 bytes."""
_IDESC = {"f8f6f4": 1 << 4 | 1 << 29, "mxf8f6f4": 1 << 23 | 1 << 31}
"""K = 64, and D or scale factors: f32, ue8m0."""


@dataclass(frozen=True)
class _Case:
    kind: str
    n: int
    swizzle: int
    ctas: int = 1

    @property
    def m(self) -> int:
        return 128 * self.ctas

    def idesc(self) -> int:
        m = self.m >> 7 << 27 if self.kind == "mxf8f6f4" else self.m >> 4 << 24
        return _IDESC[self.kind] | self.n >> 3 << 17 | m


def _entries(case: _Case, rng: np.random.Generator, words: Words) -> Values:
    """Puts tables into `words`: each CTA has those of its rows of B. Returns all (groups, entries)."""
    table = numbers(rng, (case.n // 8, 8), "e4m3")
    codes = table.astype(np.float32).astype(DTYPES["e4m3"]).view(np.uint8).reshape(case.ctas, -1, 8)
    words[:, : codes.shape[1], _TABLE : _TABLE + 2] = np.ascontiguousarray(codes).view(np.uint32)
    return table


def _run(case: _Case, old: str = "", new: str = "") -> tuple[Values, Values]:
    """Returns D of the simulator and of numpy; `old` becomes `new` in the text."""
    rng = np.random.default_rng(case.n)
    a, indices = numbers(rng, (case.m, _K), "e4m3"), rng.integers(0, 8, (case.n, _K))
    words = np.zeros((case.ctas, 128, _D), np.uint32)
    table = _entries(case, rng, words)
    b = table[np.arange(case.n)[:, None] // 8, indices]
    bits = np.unpackbits(indices[:, :, None].astype(np.uint8), axis=2, bitorder="little")[:, :, :3]
    packed = np.packbits(bits.reshape(case.n, -1), axis=1, bitorder="little")
    if case.swizzle:
        packed = np.pad(packed, ((0, 0), (0, case.swizzle - 48)), constant_values=0xA5)
    images = [
        [k_major(part, swizzle) for part in np.split(rows, case.ctas)]
        for rows, swizzle in ((row_bytes(a, "e4m3", case.kind), 128), (packed, case.swizzle))
    ]
    start = images[0][0].data.size
    shared = np.stack([np.concatenate([part.data for part in parts]) for parts in zip(*images, strict=True)])
    name, scales = f"tcgen05.mma.cta_group::{case.ctas}.kind::{case.kind}", ""
    issue = [f"add.u32 %x0, %tm, {_D}; add.u32 %x1, %tm, {_TABLE};"]
    if case.kind == "mxf8f6f4":
        name += ".block_scale"
        issue.append(f"add.u32 %x2, %tm, {_SFA}; add.u32 %x3, %tm, {_SFB};")
        scales = "[%x2], [%x3], "
        factors = [factor_codes(rng, (rows, _K // 64), "ue8m0") for rows in (case.m, case.n)]
        for base, (_, codes), parts in ((_SFA, factors[0], case.ctas), (_SFB, factors[1], 1)):
            for cta in range(case.ctas):
                put_factors(words[cta], np.split(codes, parts)[cta if parts > 1 else 0], base, 0)
        a, b = (x * np.tile(np.repeat(f, 32, axis=1), 2) for x, (f, _) in zip((a, b), factors, strict=True))
    vector = ".block32" if scales else ""
    for half in (0, 1):
        places = images[0][0].descriptor(64 * half), images[1][0].descriptor(start) | half << 53
        issue += [f"add.s64 %y{number}, %desc, {place:#x};" for number, place in enumerate(places)]
        issue.append(f"{name}.decompress::lut::b{vector} [%x0], %y0, %y1, [%x1], {case.idesc():#x}, {scales}{half};")
    text = tensor_kernel(
        *(shared.shape[1], _SFB + 32, issue, (_D, case.n)), ctas=case.ctas, target="sm_107a", version="9.4"
    )
    assert old in text
    text = text.replace(old, new)
    if not old:
        assert assemble(text, "sm_107a").ok
    found = run_tensor_kernel(text, shared, words[:, :, : _SFB + 32], case.n)
    return result_rows(found, case.m, case.n, False, False, 0).view(np.float32).astype(np.float64), a @ b.T


@pytest.mark.parametrize(
    "case",
    [
        _Case("f8f6f4", 8, 0),
        _Case("f8f6f4", 72, 64),
        _Case("f8f6f4", 256, 128),
        _Case("f8f6f4", 32, 0, ctas=2),
        _Case("mxf8f6f4", 128, 64),
        _Case("mxf8f6f4", 128, 0, ctas=2),
    ],
    ids=str,
)
@pytest.mark.sample(3)
def test_products(case: _Case):
    found, expected = _run(case)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("add.u32 %x1, %tm, 2;", "add.u32 %x1, %tm, 3;", "expected the table at an even column, found"),
        (
            "add.u32 %x1, %tm, 2;",
            "add.u32 %x1, %tm, 0x800002;",
            "the table of tcgen05.mma B: lanes 128-131, columns 2-3 are not in tensor memory",
        ),
        ("0x28080010", "0x8080010", "expected K = 64 and a K-major e4m3, found K = 32 and a K-major e4m3"),
        ("0x28080010", "0x28080410", "expected K = 64 and a K-major e4m3, found K = 64 and a K-major e5m2"),
        ("kind::f8f6f4.decompress", "kind::f16.decompress", "unknown modifier .decompress::lut::b"),
        ("::lut::b [", "::lut::b.ashift [", "unknown modifier .ashift"),
        ("[%x1], ", "", "expected 6 or 7 or 8 operands, found 5"),
        ("sm_107a", "sm_103a", "lut::b does not exist on sm_103a; supported on sm_107a, sm_107f"),
    ],
)
def test_refusals(old: str, new: str, message: str):
    with pytest.raises(SimError, match=message):
        _run(_Case("f8f6f4", 32, 0), old, new)
