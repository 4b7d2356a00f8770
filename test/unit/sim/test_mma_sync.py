"""mma.sync and wmma: products of random small integers against numpy, fragments as the ISA draws them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER, integers
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.isa.fragments import matrix_fragment

_DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "s8": np.int8,
    "u8": np.uint8,
    "s32": np.int32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
# Shape, types of D, A, B and C.
_CASES = [
    ((16, 8, 16), ("f32", "f16", "f16", "f32")),
    ((16, 8, 16), ("f16", "f16", "f16", "f16")),
    ((16, 8, 8), ("f32", "f16", "f16", "f32")),
    ((16, 8, 8), ("f32", "bf16", "bf16", "f32")),
    ((16, 8, 16), ("f32", "bf16", "bf16", "f32")),
    ((16, 8, 4), ("f32", "tf32", "tf32", "f32")),
    ((16, 8, 8), ("f32", "tf32", "tf32", "f32")),
    ((8, 8, 16), ("s32", "s8", "u8", "s32")),
    ((16, 8, 16), ("s32", "u8", "s8", "s32")),
    ((16, 8, 32), ("s32", "s8", "s8", "s32")),
    ((16, 8, 32), ("f32", "e4m3", "e5m2", "f32")),
    ((16, 8, 16), ("f16", "e5m2", "e4m3", "f16")),
    ((8, 8, 4), ("f64", "f64", "f64", "f64")),
    ((16, 8, 4), ("f64", "f64", "f64", "f64")),
    ((16, 8, 8), ("f64", "f64", "f64", "f64")),
    ((16, 8, 16), ("f64", "f64", "f64", "f64")),
]


def _text(shape: str, types: tuple[str, ...], registers: list[int], bits: int, modifier: str = "") -> str:
    """Every lane loads its registers of A, B and C, and stores those of D."""
    operands = dict(zip("dabc", registers, strict=True))
    width = bits // 8
    vectors = [f"{{{', '.join(f'%{name}{index}' for index in range(count))}}}" for name, count in operands.items()]
    declared = ", ".join(f"%{name}<{count}>" for name, count in operands.items())
    loads = "".join(
        f"  ld.param.u64 %q, [p_{name}]; mad.wide.u32 %q, %t, {width * count}, %q;\n"
        + "".join(f"  ld.global.b{bits} %{name}{index}, [%q+{width * index}];\n" for index in range(count))
        for name, count in list(operands.items())[1:]
    )
    stores = "".join(f"  st.global.b{bits} [%q+{width * index}], %d{index};\n" for index in range(registers[0]))
    return f"""{HEADER}.visible .entry k(.param .u64 p_a, .param .u64 p_b, .param .u64 p_c, .param .u64 p_d) {{
  .reg .b{bits} {declared}; .reg .b64 %q; .reg .b32 %t;
  mov.u32 %t, %laneid;
{loads}  mma.sync.aligned.{shape}.row.col.{".".join(types)}{modifier} {", ".join(vectors)};
  ld.param.u64 %q, [p_d]; mad.wide.u32 %q, %t, {width * registers[0]}, %q;
{stores}  ret; }}"""


def _places(rows: int, columns: int, per_register: int, accumulator: bool) -> npt.NDArray[np.int64]:
    """
    (32, elements, 2): row and column of element i of each lane.

    The ISA's figures: lane = 4 * group + thread; a register holds `per_register` elements of one row, the next one
    those 8 rows further down, and then those 4 * per_register columns further right.
    """
    places: list[list[tuple[int, int]]] = []
    for lane in range(32):
        group, thread = divmod(lane, 4)
        if accumulator:
            places.append([(group + 8 * half, 2 * thread + one) for half in range(rows // 8) for one in range(2)])
            continue
        steps = range(0, columns, 4 * per_register)
        places.append([
            (group + 8 * half, step + per_register * thread + one)
            for step in steps for half in range(rows // 8) for one in range(per_register)
        ])  # fmt: skip
    return np.array(places)


@together(("shape", "types"), _CASES)
def test_mma(shape: tuple[int, int, int], types: tuple[str, str, str, str]):
    m, n, k = shape
    rng = np.random.default_rng(0)
    bits = 64 if types[0] == "f64" else 32
    matrices: list[npt.NDArray[Any]] = []
    for size, name in zip([(m, k), (n, k), (m, n)], types[1:], strict=True):
        values = integers(rng, size, np.int64)
        matrices.append((np.abs(values) if name == "u8" else values).astype(_DTYPES[name]))
    fragments: list[npt.NDArray[Any]] = []
    for index, matrix in enumerate(matrices):
        per_register = max(1, bits // (8 * matrix.itemsize)) if index < 2 else 1
        rows, columns = shape[0] if index != 1 else n, k if index < 2 else n
        places = _places(rows, columns, per_register, accumulator=index == 2)
        fragments.append(np.ascontiguousarray(matrix[places[..., 0], places[..., 1]]))
    result = np.zeros((32, fragments[2].shape[1]), _DTYPES[types[0]])
    counts = [each.nbytes // 32 // (bits // 8) for each in (result, *fragments)]
    run(_text(f"m{m}n{n}k{k}", types, counts, bits), "k", 1, 32, [*fragments, result])
    a, b, c = (matrix.astype(np.float64) for matrix in matrices)
    places = _places(m, n, 1, accumulator=True)
    expected = (a @ b.T + c)[places[..., 0], places[..., 1]]
    assert np.array_equal(result.astype(np.float64), expected)


@pytest.mark.parametrize("operation", ["and", "xor"])
def test_single_bits(operation: str):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2**32, (rows, 4), dtype=np.uint32) for rows in (8, 8))
    fragments = [x[np.arange(32) // 4, np.arange(32) % 4].copy() for x in (a, b)]
    c, d = np.zeros((32, 2), np.int32), np.zeros((32, 2), np.int32)
    text = _text("m8n8k128", ("s32", "b1", "b1", "s32"), [2, 1, 1, 2], 32, f".{operation}.popc")
    run(text, "k", 1, 32, [*fragments, c, d])
    both = a[:, None] & b[None] if operation == "and" else a[:, None] ^ b[None]
    expected = np.unpackbits(both.view(np.uint8), axis=2).sum(axis=2)
    for lane in range(32):
        assert d[lane].tolist() == [expected[lane // 4, 2 * (lane % 4)], expected[lane // 4, 2 * (lane % 4) + 1]]


def test_saturation():
    a, b = np.full((32, 1), 0x7F7F7F7F, np.uint32), np.full((32, 1), 0x7F7F7F7F, np.uint32)
    c, d = np.full((32, 2), 2**31 - 5, np.int32), np.zeros((32, 2), np.int32)
    types = ("s32", "s8", "s8", "s32")
    run(_text("m8n8k16", types, [2, 1, 1, 2], 32), "k", 1, 32, [a, b, c, d])
    assert (d == np.int64(2**31 - 5 + 16 * 127 * 127 - 2**32)).all()
    text = _text("m8n8k16", types, [2, 1, 1, 2], 32).replace("row.col.s32", "row.col.satfinite.s32")
    run(text, "k", 1, 32, [a, b, c, d])
    assert (d == 2**31 - 1).all()


@together(
    ("old", "new", "message"),
    [
        ("mma.sync.aligned", "@%g mma.sync.aligned", "mma.sync is .aligned"),
        ("row.col", "row.row", "expected .row.col"),
        ("f32.f16.f16.f32 ", "f16.f16.f16.f32 ", "expected types of D, A, B, C"),
        ("{%b0, %b1}", "{%b0}", "expected a vector of 2 elements, found 1"),
        ("mma.sync.aligned", "mma", "expected one of .sync"),
    ],
)
def test_wrong_instructions(old: str, new: str, message: str):
    text = _text("m16n8k16", ("f32", "f16", "f16", "f32"), [4, 4, 2, 4], 32)
    text = text.replace("mov.u32 %t, %laneid;", ".reg .pred %g; mov.u32 %t, %laneid; setp.lt.u32 %g, %t, 9;")
    assert old in text
    arguments = [np.zeros((32, 8), np.uint32) for _ in range(4)]
    with pytest.raises(SimError) as caught:
        run(text.replace(old, new), "k", 1, 32, arguments)
    assert message in str(caught.value)


def test_rows_and_columns_of_a_fragment():
    """Registers alternate between the upper and the lower 8 rows; the third and fourth have the last 8 columns."""
    found = matrix_fragment("a", 16, 16, 16)
    places = [(i, lane) for i in range(8) for lane in range(32)]
    wanted = [(lane // 4 + 8 * (i // 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i // 4)) for i, lane in places]
    assert list(zip(found.rows.ravel().tolist(), found.columns.ravel().tolist(), strict=True)) == wanted
