"""Every example assembles, and its PTX does what its text means: what numpy says, in `interp/test_run_examples.py`."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import outputs
import pytest
from unit.cases import Sampled
from unit.examples import EXAMPLES, PROGRAMS, compiled
from unit.sim.example_launches import LAUNCHES

from tirx.dialects.tirx import MmaOp
from tirx.ptx.ptxas import assemble
from tirx.runtime.driver import driver
from tirx.tcgen05.convolution import convolution_mask
from tirx.text.parsing import parse_located
from tirx.universe import new_context


def target_of(ptx: str) -> str:
    """The target that the PTX itself names."""
    found = re.search(r"^\.target (\w+)$", ptx, re.MULTILINE)
    assert found is not None
    return found[1]


def check_assembles(ptx: str, entries: int) -> None:
    assert len(re.findall(r"^\.visible \.entry", ptx, re.MULTILINE)) == entries
    result = assemble(ptx, target_of(ptx))
    assert result.ok, result.stderr
    assert result.stderr == ""


_LONG = (
    *("attention", "flash_attention", "tcgen05_attention", "tcgen05_gemm_gelu", "tcgen05_mxfp8_gemm"),
    *("mma_gemm_epilogues", "mma_gemm_fp8_output", "mma_m16n8k16_f16_gemm", "mma_m16n8k8_f64_gemm"),
    *("mma_m8n8k4_f64_staged_gemm", "gemm_any_target", "wgmma_any_size_gemm", "wgmma_ring_gemm", "wgmma_split_k_gemm"),
    *("tcgen05_2cta_ring_gemm", "tcgen05_nvfp4_block_scaled_gemm", "tcgen05_2cta_nvfp4_block_scaled_gemm"),
    *("block_scaled_any_target", "tcgen05_gemm_mn_major", "wgmma_batched_gemm", "wgmma_f16_out_gemm"),
)
"""Examples that take seconds, beside others like them: with `--all-cases` only."""


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.sample(0)] * (path.stem in _LONG)) for path in PROGRAMS],
)
def test_example(path: Path, sampled: Sampled) -> None:
    """It lowers and assembles without a warning, every instruction knows its line, and its PTX does what it means."""
    example = compiled(path.stem)
    assert [d for d in example.reported if d.severity != "remark"] == []
    assert example.without_line == ()
    outputs.check(f"examples/{path.stem}", outputs.example_text(path.stem))
    check_assembles(example.program.ptx, path.read_text().count("tirx.kernel @"))
    if path in sampled(PROGRAMS, len(PROGRAMS) // 3):
        for checked in example.program.check(seconds=0.5 if path in sampled(PROGRAMS, 1) else 0.1):
            assert checked.launches >= 1


def test_every_launch_has_a_kernel() -> None:
    kernels = [name for path in PROGRAMS for name in re.findall(r"tirx\.kernel @(\w+)", path.read_text())]
    assert sorted(kernels) == sorted(LAUNCHES)


def test_masks_of_the_convolution() -> None:
    """The zero columns that the example writes are those of a filter of three taps with one pixel of padding."""
    text = (EXAMPLES / "tcgen05_conv_zero_columns.mlir").read_text()
    module = parse_located(new_context(), text, "conv.mlir")
    masks = [op.zero_columns.data.mask(64, 128) for op in module.walk() if isinstance(op, MmaOp) and op.zero_columns]
    assert masks == [convolution_mask(64, 128, row_length=32, left_pad=1, tap=tap) for tap in range(3)]


def test_embedding(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLES / "embed.py"))["main"]
    ptx = main()
    check_assembles(ptx, 1)
    assert ptx.count("tcgen05.mma.") == 4
    assert "// 4 tcgen05.mma" in capsys.readouterr().err


def test_run_gemm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU the product is simulated."""
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    driver.cache_clear()
    monkeypatch.setattr(sys, "argv", ["run_gemm.py", str(EXAMPLES / "mma_m8n8k4_f16_gemm.mlir")])
    assert runpy.run_path(str(EXAMPLES / "run_gemm.py"))["main"]() == 0
    said = capsys.readouterr().out
    assert "not on a GPU: expected the package cuda-bindings" in said
    assert re.search(r"hgemm 128x128x64 in the simulator: largest error \d\.\de-0[4-9]", said)
