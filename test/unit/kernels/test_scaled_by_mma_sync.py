"""`examples/block_scaled_any_target.mlir`: one program for all of Blackwell, and products beside it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from unit.examples import EXAMPLES
from unit.sim import arithmetic_launches as arithmetic

import tirx
from tirx.diagnostics import DiagnosticException
from tirx.mma.fragments import VARIANTS, FragmentError
from tirx.mma.match import plan_mma
from tirx.mma.pick import pick_fragments, pick_scales
from tirx.ptx.ptxas import assemble

_TEXT = (EXAMPLES / "block_scaled_any_target.mlir").read_text()
_LAUNCHES = {"mxfp8": partial(arithmetic.mxfp8, k=512), "nvfp4": arithmetic.nvfp4}


def _simulate(program: tirx.Program, kernel: str, rows: tuple[int, int]) -> None:
    launch = _LAUNCHES[kernel](np.random.default_rng(0), "integers", rows)
    program.kernels[kernel].simulate(*launch.arguments, check="strict")
    for output in launch.outputs:
        np.testing.assert_array_equal(np.asarray(launch.arguments[output.index]).astype(float), output.expected)


@pytest.mark.parametrize(
    ("target", "instructions", "size"),
    [
        ("sm_100a", ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.", "tcgen05.mma.cta_group::1.kind::mxf4nvf4."), (1, 4)),
        ("sm_103a", ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.", "tcgen05.mma.cta_group::1.kind::mxf4nvf4."), (7, 4)),
        ("sm_107a", ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.", "tcgen05.mma.cta_group::1.kind::mxf4nvf4."), (5, 8)),
        ("sm_121a", ("m16n8k32.row.col.kind::mxf8f6f4.", "m16n8k64.row.col.kind::mxf4nvf4."), (9, 4)),
        ("sm_120f", ("m16n8k32.row.col.kind::mxf8f6f4.", "m16n8k64.row.col.kind::mxf4nvf4."), (3, 4)),
    ],
)
@pytest.mark.sample(1)
def test_one_program(target: str, instructions: tuple[str, str], size: tuple[int, int]):
    program = tirx.build(_TEXT, target)
    assembled = assemble(program.ptx, target)
    assert assembled.ok, assembled.stderr
    for kernel, instruction in zip(_LAUNCHES, instructions, strict=True):
        assert instruction in program.ptx
        _simulate(program, kernel, size)


@pytest.mark.parametrize("kernel", list(_LAUNCHES))
@pytest.mark.parametrize("rows", [(33, 20), (128, 128), (129, 132)])
@pytest.mark.sample(1)
def test_sizes(kernel: str, rows: tuple[int, int]):
    """In registers: a part of a tile, an odd number of rows, and more tiles than one. The program is that of above."""
    _simulate(tirx.build(_TEXT, "sm_121a"), kernel, rows)


def _product(a: str, scale: str, blocks: int, n: int = 32, rows_of_b: int = 32, b: str | None = None) -> str:
    """A product of 64 x n x 128 in registers, of operands and scale factors in global memory."""
    b = a if b is None else b
    tiles = {
        "a": f"64x128x{a}",
        "b": f"{n}x128x{b}",
        "sa": f"64x{blocks}x{scale}",
        "sb": f"{rows_of_b}x{blocks}x{scale}",
        "d": f"64x{n}xf32",
    }
    arguments = ", ".join(f"%{name}: memref<{tile}>" for name, tile in tiles.items())
    views = "".join(
        f"%g{name} = tirx.view %{name}[%c0, %c0] : memref<{tile}> -> !tirx.tile<{tile}, global>\n"
        for name, tile in tiles.items()
    )
    loads = "".join(
        f"%t{name} = tirx.load %g{name} : !tirx.tile<{tiles[name]}, global> -> !tirx.tile<{tiles[name]}, register>\n"
        for name in ("a", "b", "sa", "sb")
    )
    types = ", ".join(f"!tirx.tile<{tiles[name]}, register>" for name in ("a", "b", "d", "sa", "sb"))
    d = f"!tirx.tile<{tiles['d']}, register>"
    return f"""
      tirx.kernel @product({arguments}) target("sm_120a") grid(1) threads(128) {{
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        {views}{loads}
        %acc = tirx.splat %zero : f32 -> {d}
        %sum = tirx.mma %ta, %tb, %acc scales(%tsa, %tsb) : {types} -> {d}
        tirx.store %sum, %gd : {d}, !tirx.tile<{tiles["d"]}, global>
        tirx.return
      }}"""


@pytest.mark.parametrize(
    ("a", "b", "scale", "blocks", "n", "rows_of_b", "instruction"),
    [
        ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", 4, 32, 32, "mxf8f6f4#::1X.f32.e4m3.e5m2.f32.ue8m0"),
        ("f8E5M2", "f8E5M2", "f8E8M0FNU", 4, 16, 128, "mxf8f6f4#::1X.f32.e5m2.e5m2.f32.ue8m0"),
        ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 4, 32, 32, "mxf4#::2X.f32.e2m1.e2m1.f32.ue8m0"),
        ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 8, 8, 8, "mxf4nvf4#::4X.f32.e2m1.e2m1.f32.ue8m0"),
        ("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 8, 64, 128, "mxf4nvf4#::4X.f32.e2m1.e2m1.f32.ue4m3"),
    ],
)  # fmt: skip
def test_types(a: str, b: str, scale: str, blocks: int, n: int, rows_of_b: int, instruction: str):
    """Every pair of types and every number of scale factors, with more of them than B has rows."""
    program = tirx.build(_product(a, scale, blocks, n, rows_of_b, b), None)
    assert f".kind::{instruction} ".replace("#", ".block_scale.scale_vec") in program.ptx
    assembled = assemble(program.ptx, "sm_120a")
    assert assembled.ok, assembled.stderr
    program.check()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_product("f6E2M3FN", "f8E8M0FNU", 4), "expected one of e4m3 x e4m3 + f32 scaled by ue8m0 for 32 of K"),
        (_product("f8E4M3FN", "f8E8M0FNU", 8), "found e4m3 x e4m3 + f32 scaled by ue8m0 for 16 of K"),
        (_product("f8E4M3FN", "f8E8M0FNU", 4, 24, 128), "expected SFB of 24 rows, or a multiple of them, in registers"),
        (_product("f4E2M1FN", "f8E4M3FN", 4), "found e2m1 x e2m1 + f32 scaled by e4m3 for 32 of K"),
        (_product("f8E4M3FN", "f8E8M0FNU", 4).replace("sm_120a", "sm_100a"), "'mma.block_scale' does not exist on"),
        (_TEXT.replace("x4xf8E8M0FNU, accumulator", "x4xf8E8M0FNU, register"), "as the accumulator, found it in"),
    ],
)  # fmt: skip
def test_refused(text: str, message: str):
    with pytest.raises(DiagnosticException) as error:
        tirx.compile(text)
    assert message in str(error.value)


def test_scale_factors_elsewhere():
    """Scale factors of other rows, and of several blocks in one fragment, are refused."""
    variant = VARIANTS["m16n8k32.mxf8f6f4.e4m3.ue8m0.1X"]
    a, b, c = pick_fragments(32, 16, 64, "e4m3", "f32", 1, variants=[variant])
    sfa, sfb = pick_scales(32, 16, 64, variant, 1, 16)
    shapes = (32, 64), (16, 64), (32, 16), ("e4m3", "e4m3"), "f32", 32, (variant,)
    steps = plan_mma(a, b, c, *shapes, ((sfa, (32, 2)), (sfb, (16, 2))))
    assert [step.scales for step in steps][:4] == [(0, 0), (0, 2), (2, 0), (2, 2)]
    with pytest.raises(
        FragmentError,
        match=(
            "^expected SFB in the lanes of its fragment, as tirx-pick-layouts has it, found no register "
            r"with element \(8, 0\) and those of its instruction in S\[\(2, 2, 8, 2\) : \(2, 1@laneid, "
            r"4@laneid, 1\)\] \+ R\[2 : 2@laneid\]$"
        ),
    ):
        plan_mma(a, b, c, *shapes, ((sfa, (32, 2)), (sfa, (32, 2))))
