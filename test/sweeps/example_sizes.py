"""
The examples in many sizes, those that end inside of tiles included, and on every target that they are for.

    python test/sweeps/example_sizes.py [--jobs N] [--seconds S] [--gpu] [NAME ...]

builds, assembles and simulates each case, with all checks of synchronisation, and compares it with numpy. NAME is a
part of the name of a case. With `--gpu` those that the GPU runs are launched on it instead.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.examples import EXAMPLES
from unit.sim import arithmetic_launches as arithmetic
from unit.sim.attention_texts import attention_text
from unit.sim.launches import Launch, Output, result
from unit.sim.products import Array, Numbers, bound, product, random

import tirx
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.runtime import GpuError

Size = tuple[int, int, int]

PRODUCTS: tuple[Size, ...] = ((256, 128, 128), (1, 1, 8), (129, 65, 72), (100, 77, 40), (1000, 777, 200), (65, 33, 77))
"""M, N and K."""
ROWS = (1, 3, 8, 21)
LENGTHS = ((1, 1), (128, 128), (72, 150), (200, 257))
"""Lengths of queries and keys."""
HEADS = ((1, 1), (4, 2))
"""Heads of queries and of keys."""


@dataclass(frozen=True)
class Case:
    """A kernel of an example in one size."""

    name: str
    text: Callable[[], str]
    kernel: str
    make: Callable[[np.random.Generator], Launch]
    target: str | None = None
    padded: bool = False
    """True if rows are parts of rows of a multiple of 16 bytes, which bulk copies and `cp.async` need."""


def _file(name: str) -> str:
    return (EXAMPLES / f"{name}.mlir").read_text()


def _with_numbers(name: str, size: Size) -> str:
    """A product of any M, with the N and K of a size."""
    _, n, k = size
    text = _file(name)
    for argument, shape in {"a": f"?x{k}", "b": f"{n}x{k}", "bias": f"1x{n}", **dict.fromkeys("rcd", f"?x{n}")}.items():
        text = re.sub(rf"(%{argument}(?:\[[^\]]*\] clipped :|:) memref<)[\d?]+x\d+x", rf"\g<1>{shape}x", text)
    text = text.replace("%ck = arith.constant 128", f"%ck = arith.constant {k}")
    return text.replace("grid(2,", f"grid({-(-n // 64)},")


def _any_size() -> Iterator[Case]:
    """Products whose sizes the launch knows."""
    for file, kernel, make in (
        ("mma_gemm_epilogues", "bias_relu_residual", arithmetic.bias_relu_residual),
        ("mma_gemm_epilogues", "alpha_beta", arithmetic.alpha_beta),
        ("mma_gemm_fp8_output", "fp8_output", arithmetic.fp8_output),
        ("tcgen05_gemm_gelu", "gemm_gelu", arithmetic.gelu),
    ):
        for size in PRODUCTS:
            made = partial(make, numbers="normal", size=size)
            yield Case(f"{kernel} {size}", partial(_with_numbers, file, size), kernel, made)
    for size in PRODUCTS:
        name = "wgmma_any_size_gemm"
        yield Case(f"{name} {size}", partial(_file, name), name, partial(rounded, size=size), padded=True)
    for target in ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_107a"):
        for m, n, _ in PRODUCTS:
            size, name = (m, n, 256), "gemm_any_target"
            make = partial(arithmetic.bias_relu, numbers="normal", size=size)
            yield Case(
                f"{name} {size} on {target}",
                partial(_file, name),
                name,
                make,
                target,
                padded=target in ("sm_90a", "sm_100a", "sm_107a"),
            )


def rounded(rng: np.random.Generator, size: tuple[int, ...], numbers: Numbers = "normal") -> Launch:
    """Products of a batch, or one, whose sums in f32 are rounded to f16."""
    *batch, m, n, k = size
    a, b = (random(rng, numbers, (*batch, rows, k), np.float16) for rows in (m, n))
    pairs = zip(a.reshape(-1, m, k), b.reshape(-1, n, k), strict=True)
    found = [product(*pair) for pair in pairs]
    sums, magnitudes = (np.stack([each[i] for each in found]).reshape(*batch, m, n) for i in range(2))
    tolerance = bound(magnitudes, k, np.float32) + 2.0**-11 * np.abs(sums) + 2.0**-25
    return Launch([a, b, result((*batch, m, n), np.float16)], [Output(2, sums, tolerance)])


def added(rng: np.random.Generator, size: Size) -> Launch:
    """Sums of parts of K that are added to what is there."""
    m, n, k = size
    a, b = (random(rng, "normal", (rows, k), np.float16) for rows in (m, n))
    w = random(rng, "normal", (m, n), np.float32)
    sums, magnitude = product(a, b)
    return Launch([a, b, w], [Output(2, sums + w, bound(magnitude + np.abs(w), k, np.float32))])


def _fixed_size() -> Iterator[Case]:
    """Products whose sizes are in the file, in others; views are clipped where tiles do not divide them."""
    cases: Any = runpy.run_path(str(EXAMPLES.parent / "benchmarks" / "gpu_cases.py"))
    scaled = cases["scaled"]

    def one(name: str, kernel: str, size: tuple[int, ...], parts: int) -> str:
        head, *kernels = re.split(r"(?m)^(?=tirx\.kernel)", _file(name))
        return head + scaled(next(each for each in kernels if f"@{kernel}(" in each), size, parts)

    for size in ((1, 130, 72, 64), (3, 256, 256, 128), (2, 200, 264, 136)):
        name = "wgmma_batched_gemm"
        yield Case(f"{name} {size}", partial(one, name, name, size, 1), name, partial(rounded, size=size))
    for size, parts in (((128, 256, 256), 2), ((64, 128, 512), 4), ((200, 136, 328), 3)):
        text = partial(one, "wgmma_split_k_gemm", "split_k_product", size, parts)
        name = f"split_k_product {size} in {parts}"
        yield Case(name, text, "split_k_product", partial(added, size=size))
    for size in PRODUCTS[:5]:
        m, n, k = (-(-extent // 8) * 8 for extent in size)
        size, name = (m, n, k), "wgmma_f16_out_gemm"
        yield Case(f"{name} {size}", partial(one, name, name, size, 1), name, partial(rounded, size=size))


def _grouped(size: Size) -> str:
    """The mixture of experts with the N and K of a size."""
    _, n, k = size
    text = _file("grouped_gemm").replace("?x256x128xf16", f"?x{n}x{k}xf16").replace("?x128xf16", f"?x{k}xf16")
    text = text.replace("memref<?x256xf16>", f"memref<?x{n}xf16>").replace("grid(1,", f"grid({-(-n // 256)},")
    return text.replace("%k = %c0 to %c128", "%k = %c0 to %ck").replace(
        "%zero =", f"%ck = arith.constant {k} : index\n  %zero ="
    )


def _blocks() -> Iterator[Case]:
    """Products of which blocks of rows, or of 32 elements, have something of their own: an expert, a factor."""
    for size, experts in (
        ((256, 256, 128), (2, 0)),
        ((1, 256, 128), (0,)),
        ((300, 264, 200), (1, 1, 0)),
        ((517, 72, 40), (3, 0, 4, 1, 1)),
    ):
        make = partial(arithmetic.grouped, numbers="normal", size=size, experts=experts)
        yield Case(f"grouped_gemm {size} {experts}", partial(_grouped, size), "grouped_gemm", make)
    for rows in ((128, 128), (1, 4), (200, 132), (257, 72)):
        make = partial(arithmetic.mxfp8, numbers="normal", rows=rows)
        yield Case(f"mxfp8_gemm {rows}", partial(_file, "tcgen05_mxfp8_gemm"), "mxfp8_gemm", make)
        for target in ("sm_100a", "sm_103a", "sm_107a", "sm_120a", "sm_121a"):
            for kernel, numbers in (("mxfp8", partial(arithmetic.mxfp8, k=512)), ("nvfp4", arithmetic.nvfp4)):
                made = partial(numbers, numbers="normal", rows=rows)
                yield Case(
                    f"{kernel} {rows} on {target}", partial(_file, "block_scaled_any_target"), kernel, made, target
                )


def _transposed(shape: tuple[int, int]) -> str:
    rows, columns = shape
    text = _file("transpose").replace("128x256xf32", f"{rows}x{columns}xf32").replace("[1, 128]", f"[1, {rows}]")
    text = text.replace("grid(4, 4)", f"grid({-(-columns // 64)}, {-(-rows // 32)})")
    return re.sub(r"(tirx\.view %\w+\[[^\]]*\]) :", r"\1 clipped :", text)


def _rows() -> Iterator[Case]:
    """Kernels on any number of rows."""
    for kernel, file, make in (
        ("softmax", "softmax", arithmetic.softmax),
        ("layer_norm", "norms", arithmetic.layer_norm),
        ("rms_norm", "norms", arithmetic.rms_norm),
        ("quantize", "quantize_mxfp8", arithmetic.quantize),
    ):
        for rows in ROWS:
            yield Case(f"{kernel} {rows}", partial(_file, file), kernel, partial(make, numbers="normal", rows=rows))
    for shape in ((128, 256), (1, 1), (33, 130), (70, 65)):
        make = partial(arithmetic.transpose, numbers="normal", shape=shape)
        yield Case(f"transpose {shape}", partial(_transposed, shape), "transpose", make)


_ATTENTION = {
    "flash_attention": {"sm_80": (64, 64, 128), "sm_90a": (128, 128, 256), "sm_120a": (64, 64, 128)},
    "tensor_attention": {"sm_100a": (128, 128, 128), "sm_107a": (128, 128, 128)},
}
"""Queries, keys and threads of a block by target, for both kernels of a file."""


def _attention() -> Iterator[Case]:
    for name, targets in _ATTENTION.items():
        for target, block in targets.items():
            for causal in (False, True):
                kernel = f"causal_{name}" if causal else name
                for head, element in ((64, "f16"), (64, "bf16"), (128, "f16"), (128, "bf16")):
                    dtype = np.float16 if element == "f16" else ml_dtypes.bfloat16
                    text = partial(attention_text, kernel, head, element, *block)
                    for lengths in LENGTHS:
                        heads = HEADS[lengths != (128, 128)]
                        make = partial(
                            arithmetic.scaled_attention,
                            numbers="normal",
                            heads=heads,
                            lengths=lengths,
                            causal=causal,
                            size=head,
                            dtype=dtype,
                        )
                        name_of = f"{kernel} {head} {element} {heads} {lengths} on {target}"
                        yield Case(name_of, text, kernel, make, target)


def all_cases() -> list[Case]:
    """Every case."""
    return [*_any_size(), *_fixed_size(), *_blocks(), *_rows(), *_attention()]


def _padded(array: Array | float) -> Array | float:
    """The same elements in rows that are parts of longer ones, of a multiple of 16 bytes."""
    if isinstance(array, int | float) or array.ndim < 2 or array.shape[-1] * array.itemsize % 16 == 0:
        return array
    unit = 16 // array.itemsize
    wide = np.zeros((*array.shape[:-1], -(-array.shape[-1] // unit) * unit), array.dtype)
    part = wide[..., : array.shape[-1]]
    part[...] = array
    return part


def check(case: Case, on_gpu: bool = False, options: str = "") -> str | None:
    """Compares a case, compiled with options of the pipeline, with numpy. Returns the difference, None without one."""
    program = tirx.build(case.text(), case.target, options)
    kernel = program.kernels[case.kernel]
    values = case.make(np.random.default_rng(0))
    if case.padded:
        values.arguments[:] = map(_padded, values.arguments)
    if on_gpu:
        kernel(*values.arguments)
    else:
        if find_ptxas() is not None and not (said := assemble(program.ptx, kernel.launch.target)).ok:
            return f"ptxas: {said.stderr}"
        kernel.simulate(*values.arguments, check="strict")
    for output in values.outputs:
        found = np.asarray(values.arguments[output.index]).astype(np.float64)
        wrong = ~(np.abs(found - output.expected) <= output.tolerance)
        if wrong.any():
            return f"{int(wrong.sum())} of {wrong.size} elements of argument {output.index} differ"
    return None


def _report(at: int, on_gpu: bool, options: str, end: float) -> tuple[str, str, float]:
    """Name, outcome and seconds of CPU time of a case."""
    case = all_cases()[at]
    if time.time() > end:
        return case.name, "not run", 0.0
    start = time.process_time()
    try:
        outcome = check(case, on_gpu, options) or "right"
    except GpuError as error:
        outcome = f"not on this GPU: {error}"
    except Exception as error:  # any other exception is a finding: the sweep shows it and goes on
        outcome = f"{type(error).__name__}: {error}".splitlines()[0]
    return case.name, outcome, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no case begins")
    parser.add_argument("--gpu", action="store_true", help="run on the GPU what it can run, instead of simulating")
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names of cases; all without any")
    parser.add_argument("--options", default="", help="of the pipeline: multiprocessors=2 makes persistent kernels")
    flags = parser.parse_args()
    cases = all_cases()
    wanted = [i for i, case in enumerate(cases) if not flags.names or any(name in case.name for name in flags.names)]
    report = partial(_report, on_gpu=flags.gpu, options=flags.options, end=time.time() + flags.seconds)
    counts: dict[str, int] = {}
    used = 0.0
    with multiprocessing.get_context("spawn").Pool(flags.jobs) as pool:
        for name, outcome, seconds in pool.imap_unordered(report, wanted, chunksize=1):
            kind = outcome if outcome in ("right", "not run") else outcome.split(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
            used += seconds
            print(f"{name}: {outcome} ({seconds:.1f} s)", flush=True)
    print(f"{len(wanted)} cases: {counts}, {used:.0f} s of CPU")
    sys.exit(any(kind not in ("right", "not run", "not on this GPU") for kind in counts))


if __name__ == "__main__":
    main()
