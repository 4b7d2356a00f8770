"""Kernels of `examples/gallery`, and of ragged groups, that `benchmarks/gpu.py gallery` measures beside torch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from gpu_programs import Program, Run

Made = tuple[Sequence[Any], Any, Mapping[str, Run]]
"""The arguments of a kernel, the expected result and the peers."""


def _random(torch: Any, *shape: int, seed: int = 0, dtype: str = "float32") -> Any:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(*shape, generator=generator, device="cuda").to(getattr(torch, dtype))


def _copy(torch: Any, amount: float) -> Run:
    """A copy that reads and writes `amount` bytes together."""
    x = torch.zeros(int(amount) // 8, dtype=torch.int32, device="cuda")
    y = torch.empty_like(x)
    return lambda: y.copy_(x)


def _program(
    name: str,
    size: str,
    file: str,
    amount: float,
    make: Callable[[Any], Made],
    unit: str = "GB/s",
    result: int = -1,
    tolerance: float = 4e-3,
    replace: tuple[tuple[str, str], ...] = (),
) -> Program:
    kernel = file.rpartition("/")[2].removesuffix(".mlir")
    return Program(f"gallery, {name}", size, file, kernel, replace, amount, unit, make, result, tolerance)


# Products


def _w4a16(m: int, n: int = 8192, k: int = 8192, parts: int = 2) -> Program:
    """One row of x has a kernel of its own. Others have K in parts for blocks of a cluster, in longer slots.

    A block that reads more rows of x has more rows of w, too.
    """
    amount = n * k / 2 + n * k / 16 + 2 * m * k + 4 * m * n

    def make(torch: Any) -> Made:
        x, scales = _random(torch, m, k, dtype="float16"), _random(torch, n, k // 32, seed=1, dtype="float16")
        generator = torch.Generator(device="cuda").manual_seed(2)
        codes = torch.randint(-8, 8, (n, k), generator=generator, device="cuda")
        whole = (codes.reshape(n, k // 32, 32).half() * scales[..., None]).reshape(n, k)
        pairs = codes.reshape(n, k // 128, 4, 4, 4, 2).permute(0, 1, 4, 2, 5, 3).reshape(n, k // 2, 2)
        packed = ((pairs[..., 0] & 15) | (pairs[..., 1] & 15) << 4).to(torch.uint8)
        peers: dict[str, Run] = {
            "torch, f16 weights": lambda: torch.matmul(x, whole.T),
            "copy": _copy(torch, amount),
        }
        return (x, packed, scales, torch.zeros(m, n, device="cuda")), x.float() @ whole.float().T, peers

    if m == 1:
        return _program("w4a16", f"{m}x{n}x{k}", "gallery/w4a16_row.mlir", amount, make)
    tiles = (
        (r"BM in \[16, 8, 64\]", f"BM in [{m}]"),
        (r"BN in \[128, 64\]", f"BN in [{64 if m <= 16 else 128}]"),
        (r"BK in \[256, 512\]", f"BK in [{512 if m <= 16 and parts > 1 else 256}]"),
        (r"threads\(BN \* 2\)", rf"\g<0> attributes {{tirx.parts = {parts} : i32}}"),
    )
    return _program("w4a16", f"{m}x{n}x{k}", "gallery/w4a16.mlir", amount, make, replace=tiles)


def _fp8(n: int) -> Program:
    def make(torch: Any) -> Made:
        x, w = (_random(torch, n, n, seed=i, dtype="float8_e4m3fn") for i in range(2))
        sx = torch.rand(n // 128, n, device="cuda") + 0.5
        sw = torch.rand(n // 128, n // 128, device="cuda") + 0.5
        one = torch.ones((), device="cuda")
        scaled = [(x.float().reshape(n, -1, 128) * sx.T[..., None]).reshape(n, n)]
        scaled.append((w.float().reshape(n // 128, 128, -1, 128) * sw[:, None, :, None]).reshape(n, n))
        expected = scaled[0] @ scaled[1].T
        peers: dict[str, Run] = {
            "torch, e4m3 without scales": lambda: torch._scaled_mm(
                x, w.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True
            ),
            "torch, the same scales": lambda: torch._scaled_mm(x, w.T, sx.T, sw.T, out_dtype=torch.bfloat16),
        }
        return (x, w, sx, sw, torch.zeros(n, n, dtype=torch.bfloat16, device="cuda")), expected, peers

    made = functools.partial(_program, "fp8 in blocks", f"{n}x{n}x{n}", "gallery/fp8_gemm.mlir", 2.0 * n**3, make)
    tiles = ((r"BM in \[128, 256, 64\]", "BM in [256]"),)
    return made(unit="TFLOP/s", tolerance=2e-2, replace=tiles)


def _grouped(groups: int = 16, n: int = 4096, k: int = 2048) -> Program:
    """Rows of `groups` experts, of very different numbers, in blocks of 128 rows of one expert each."""
    blocks = [1 + 5 * (i % 4) for i in range(groups)]
    rows = 128 * sum(blocks)

    def make(torch: Any) -> Made:
        x, w = _random(torch, rows, k, dtype="bfloat16"), _random(torch, groups, n, k, seed=1, dtype="bfloat16")
        expert = torch.tensor([e for e, each in enumerate(blocks) for _ in range(each)], dtype=torch.int32)
        ends = torch.tensor(blocks, device="cuda").cumsum(0).to(torch.int32) * 128
        weights = w.transpose(1, 2)
        peers: dict[str, Run] = {"torch": lambda: torch._grouped_mm(x, weights, offs=ends)}
        expected = torch._grouped_mm(x, weights, offs=ends).float()
        return (x, w, expert.cuda(), torch.zeros(rows, n, device="cuda", dtype=torch.bfloat16)), expected, peers

    replace = (
        (r"memref<\?x128xf16>", f"memref<?x{k}xf16>"),
        (r"memref<\?x256x128xf16>", f"memref<?x{n}x{k}xf16>"),
        (r"memref<\?x256xf16>", f"memref<?x{n}xf16>"),
        (r"grid\(1,", f"grid({n // 256},"),
        (r"%c128 step", "%depth step"),
        (
            r"%c128 = arith.constant 128 : index",
            rf"%c128 = arith.constant 128 : index\n%depth = arith.constant {k} : index",
        ),
        (r"f16", "bf16"),
    )
    make_one = functools.partial(_program, "ragged groups, bf16", f"{groups} x {n}x{k}", "grouped_gemm.mlir")
    return make_one(2.0 * rows * n * k, make, unit="TFLOP/s", tolerance=2e-2, replace=replace)


def _conv2d(images: int = 32, size: int = 56, channels: int = 256, out: int = 256) -> Program:
    half = size // 2

    def make(torch: Any) -> Made:
        x = _random(torch, images, size, size, channels, dtype="float16")
        w = _random(torch, out, 3, 3, channels, seed=1, dtype="float16") / 32
        conv = torch.nn.functional.conv2d

        def peer() -> Any:
            return conv(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), stride=2, padding=1)

        expected = peer().permute(0, 2, 3, 1).float()
        return (x, w, torch.zeros(images, half, half, out, device="cuda")), expected, {"torch cudnn": peer}

    # 4x4 places of 8 images: 28x28 of them are whole tiles, and those of 32 images three rounds of 132 blocks.
    tiles = (
        (r"4x16x32xf16, shared", "8x4x4x64xf16, shared"),
        (r"64x32xf16", "128x64xf16"),
        (r"64x64xf32", "128x128xf32"),
        (r"4x16x64xf32", "8x4x4x128xf32"),
        (r"size\(2, 3\), 64", "size(2, 3), 128"),
        (r"size\(2, 2\), 16", "size(2, 2), 4"),
        (r"%image = size\(2, 0\)", "%image = ceildiv(size(2, 0), 8)"),
        (r"\[%image,", "[%image * 8,"),
        (r"%q \* 32", "%q * 8"),
        (r"%q \* 16", "%q * 4"),
        (r"%j \* 64", "%j * 128"),
        (r"constant 32", "constant 64"),
        (r"\?x\?x\?x\?xf32", f"?x?x?x{out}xf32"),
        (r"threads\(128\)", "threads(256)"),
    )
    flops = 2.0 * images * half * half * out * 9 * channels
    where = f"{images}x{size}x{size}x{channels} to {out}"
    made = functools.partial(_program, "conv2d, stride 2", where, "gallery/conv2d.mlir", flops, make)
    return made(unit="TFLOP/s", replace=tiles)


def _attention_backward(length: int, heads: int = 32) -> Program:
    batch = max(1, 16384 // length)
    pairs = batch * heads

    def make(torch: Any) -> Made:
        attention: Any = import_module("torch.nn.attention")
        q, k, v, do = (_random(torch, batch, heads, length, 64, seed=i, dtype="float16") for i in range(4))
        leaves = [each.clone().requires_grad_() for each in (q, k, v)]
        with attention.sdpa_kernel([attention.SDPBackend.CUDNN_ATTENTION]):
            out = torch.nn.functional.scaled_dot_product_attention(*leaves)
        lse = torch.empty(pairs, length, device="cuda")
        flat = [each.reshape(pairs, length, 64) for each in (q, k, v, do)]
        for one in range(pairs):
            lse[one] = torch.logsumexp(flat[0][one].float() @ flat[1][one].float().T / 8, 1)
        delta = (do.float() * out.detach().float()).sum(-1).reshape(pairs, length)
        dk, dv = (torch.zeros_like(flat[0]) for _ in range(2))
        dq = torch.zeros(pairs, length, 64, device="cuda")

        def peer() -> Any:
            return torch.autograd.grad(out, leaves, do, retain_graph=True)

        expected = peer()[1].reshape(pairs, length, 64).float()
        return (*flat, lse, delta, 0.125, dk, dv, dq), expected, {"torch cudnn": peer}

    flops = 10.0 * pairs * length * length * 64
    where = f"{batch}x{heads}x{length}"
    make_one = functools.partial(_program, "attention backward, head of 64", where, "gallery/attention_backward.mlir")
    return make_one(flops, make, unit="TFLOP/s", result=-3, tolerance=2e-2)


# Rows and vectors


def _cumulative_sum(rows: int = 8192, columns: int = 8192) -> Program:
    def make(torch: Any) -> Made:
        x = _random(torch, rows, columns)
        expected = torch.cumsum(x.double(), 1)
        peers: dict[str, Run] = {"torch": lambda: torch.cumsum(x, 1), "copy": _copy(torch, 8.0 * rows * columns)}
        return (x, torch.zeros_like(x)), expected, peers

    return _program(
        "cumulative sum, f32", f"{rows}x{columns}", "gallery/cumulative_sum.mlir", 8.0 * rows * columns, make
    )


def _top_k(rows: int = 65536, columns: int = 1024) -> Program:
    amount = 4.0 * rows * columns + 32.0 * rows

    def make(torch: Any) -> Made:
        x = _random(torch, rows, columns)
        peers: dict[str, Run] = {"torch": lambda: torch.topk(x, 4), "copy": _copy(torch, amount)}
        values, places = (torch.zeros(rows, 4, device="cuda", dtype=d) for d in (torch.float32, torch.int32))
        return (x, values, places), torch.topk(x, 4).values, peers

    return _program("top 4, f32", f"{rows}x{columns}", "gallery/top_k.mlir", amount, make, result=-2, tolerance=0.0)


def _histogram(count: int = 1 << 26) -> Program:
    def make(torch: Any) -> Made:
        generator = torch.Generator(device="cuda").manual_seed(0)
        x = torch.randint(0, 64, (count,), generator=generator, device="cuda", dtype=torch.int32)
        peers: dict[str, Run] = {
            "torch": lambda: torch.histc(x, 64, 0, 63),
            "copy": _copy(torch, 4.0 * count),
        }
        return (x, torch.zeros(64, device="cuda", dtype=torch.int32)), torch.bincount(x, minlength=64), peers

    file, tiles = "gallery/histogram.mlir", ((r"1024", "8192"),)
    return _program("histogram, 64 bins", f"{count}", file, 4.0 * count, make, tolerance=0.0, replace=tiles)


def _cross_entropy(rows: int = 65536, columns: int = 1024) -> Program:
    amount = 8.0 * rows * columns

    def make(torch: Any) -> Made:
        x = _random(torch, rows, columns).requires_grad_()
        labels = torch.randint(0, columns, (rows, 1), device="cuda", dtype=torch.int32)
        wide = labels[:, 0].long()
        given = x.detach()

        def peer() -> Any:
            loss = torch.nn.functional.cross_entropy(x, wide, reduction="none")
            return loss, torch.autograd.grad(loss.sum(), x)[0]

        peers: dict[str, Run] = {"torch": peer, "copy": _copy(torch, amount)}
        outputs = torch.zeros(rows, 1, device="cuda"), torch.zeros_like(given)
        return (given, labels, *outputs), peer()[1], peers

    where = f"{rows}x{columns}"
    return _program("cross entropy and gradient, f32", where, "gallery/cross_entropy.mlir", amount, make)


def _layer_norm_backward(rows: int = 65536, columns: int = 512) -> Program:
    amount = 12.0 * rows * columns

    def make(torch: Any) -> Made:
        x, dy = (_random(torch, rows, columns, seed=i) for i in range(2))
        weight = _random(torch, 1, columns, seed=2)
        bias = torch.zeros(columns, device="cuda")
        _, mean, rstd = torch.native_layer_norm(x, (columns,), weight[0], bias, 1e-5)
        mask = [True, True, True]

        def peer() -> Any:
            back = torch.ops.aten.native_layer_norm_backward
            return back(dy, x, (columns,), mean, rstd, weight[0], bias, mask)

        dx, dw, db = torch.zeros_like(x), torch.zeros_like(weight), torch.zeros_like(weight)
        peers: dict[str, Run] = {"torch": peer, "copy": _copy(torch, amount)}
        return (x, weight, dy, dx, dw, db), peer()[0], peers

    where = f"{rows}x{columns}"
    file = "gallery/layer_norm_backward.mlir"
    return _program("layer norm backward, f32", where, file, amount, make, result=-3)


def _dft(rows: int = 1 << 20) -> Program:
    amount = 16.0 * rows * 64

    def make(torch: Any) -> Made:
        re, im = (_random(torch, rows, 64, seed=i) for i in range(2))
        whole = torch.complex(re, im)
        peers: dict[str, Run] = {"torch cuFFT": lambda: torch.fft.fft(whole), "copy": _copy(torch, amount)}
        outputs = torch.zeros_like(re), torch.zeros_like(im)
        return (re, im, *outputs), torch.fft.fft(whole).imag, peers

    return _program("dft of 64, tf32", f"{rows}", "gallery/dft.mlir", amount, make)


GALLERY = (
    *(_w4a16(m) for m in (1, 16, 64)),
    *(_w4a16(m, 28672, parts=1) for m in (1, 16)),
    _fp8(4096),
    _fp8(8192),
    _grouped(),
    _conv2d(),
    *(_attention_backward(length) for length in (4096, 16384)),
    _cumulative_sum(),
    _top_k(),
    _histogram(),
    _cross_entropy(),
    _layer_norm_backward(),
    _dft(),
)
"""Each at one size; those that torch has no kernel for are beside the nearest that it has."""

__all__ = ["GALLERY"]
