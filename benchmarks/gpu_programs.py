"""Programs that `benchmarks/gpu.py` measures beside torch: attention, softmax, norms and transposes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import tirx
from tirx.runtime import Kernel

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

Run = Callable[[], object]


@dataclass(frozen=True)
class Program:
    """
    A kernel of `examples/file` for one size, with `replace` made in its text.

    `amount` is what a launch does in operations or bytes, `unit` says which: TFLOP/s or GB/s. `make` gives, for torch,
    the arguments of the kernel, the expected result, which is that of the argument number `result`, and the peers.
    """

    name: str
    size: str
    file: str
    kernel: str
    replace: tuple[tuple[str, str], ...]
    amount: float
    unit: str
    make: Callable[[Any], tuple[Sequence[Any], Any, Mapping[str, Run]]]
    result: int = -1
    tolerance: float = 4e-3

    def text(self) -> str:
        """The program. Raises ValueError if the example has no longer what is replaced."""
        text = (EXAMPLES / self.file).read_text()
        for pattern, new in self.replace:
            text, count = re.subn(pattern, new, text)
            if not count:
                raise ValueError(f"expected {pattern!r} in {self.file}, found none")
        return text

    def built(self) -> Kernel:
        return tirx.build(self.text(), "sm_90a").kernels[self.kernel]


# Attention

_MODEL = 2048
"""Heads times their size."""
_TOKENS = 16384
"""Rows of all sequences of a batch."""
_DECODED = (16, 32)
"""Sequences, and heads of queries, of the attention of few queries to many keys."""


def _attention(
    length: int, head: int, element: str, causal: bool, shared_by: int = 1, decoded: int | None = None
) -> Program:
    """
    Attention of sequences of `length` tokens, each `shared_by` heads of queries with one of keys and values; or that of
    `decoded` queries a head to so many keys, with all queries of a head of keys as the rows of one.
    """
    batch, heads = _DECODED if decoded is not None else (_TOKENS // length, _MODEL // head)
    queries, of_keys = length if decoded is None else decoded, heads // shared_by

    def make(torch: Any) -> tuple[Sequence[Any], Any, Mapping[str, Run]]:
        attention: Any = import_module("torch.nn.attention")
        product = torch.nn.functional.scaled_dot_product_attention
        backends = attention.SDPBackend

        dtype = torch.float16 if element == "f16" else torch.bfloat16
        generator = torch.Generator(device="cuda").manual_seed(0)
        shapes = [(batch, heads, queries, head), *2 * [(batch, of_keys, length, head)]]
        batches = [torch.randn(shape, generator=generator, device="cuda").to(dtype) for shape in shapes]

        def peer(backend: Any) -> Run:
            def run() -> object:
                with attention.sdpa_kernel([backend]):
                    return product(*batches, is_causal=causal, enable_gqa=shared_by > 1)

            return run

        peers: dict[str, Run] = {}
        for backend in (backends.CUDNN_ATTENTION, backends.FLASH_ATTENTION, backends.EFFICIENT_ATTENTION):
            try:
                peer(backend)()
            except RuntimeError as error:
                print(f"torch has no {backend.name} here: {str(error).splitlines()[0]}")
                continue
            peers[f"torch {backend.name.partition('_')[0].lower()}"] = peer(backend)
        rows = queries if decoded is None else queries * shared_by
        q, k, v = (each.reshape(-1, size, head) for each, size in zip(batches, (rows, length, length), strict=True))
        wide = [each[:1].float() for each in (q, k, v)]  # one head: scores in f32 take much memory
        expected = product(*wide, is_causal=causal)
        return (q, k, v.transpose(1, 2), torch.zeros_like(q)), expected, peers

    rows, threads = (64, 128) if decoded is not None else (192, 384) if head == 64 else (128, 256)
    size = f"{batch}x{heads}x{length}" if decoded is None else f"{batch}x{heads}x{decoded}, {length} keys"
    products = 4.0 * batch * heads * length * length * head * (0.5 if causal else 1.0)
    return Program(
        f"attention{', causal' if causal else ''}, {element}, head of {head}"
        + (f", {shared_by} share keys" if shared_by > 1 else ""),
        size,
        "flash_attention.mlir",
        "causal_flash_attention" if causal else "flash_attention",
        attention_of(head, element, rows, 128, threads),
        products if decoded is None else 4.0 * batch * of_keys * length * head,
        "TFLOP/s" if decoded is None else "GB/s",
        make,
        tolerance=4e-3 if element == "f16" else 2e-2,
    )


def attention_of(head: int, element: str, queries: int, keys: int, threads: int) -> tuple[tuple[str, str], ...]:
    """Replacements in `flash_attention.mlir` for other sizes of a head and of blocks, and for bf16."""
    tiles = {
        "queries_part": f"{queries}x{head}x{element}, global",
        "keys_part": f"{keys}x{head}x{element}, global",
        "values_part": f"{head}x{keys}x{element}, global",
        "queries": f"{queries}x{head}x{element}, shared",
        "keys": f"{keys}x{head}x{element}, shared",
        "values": f"{head}x{keys}x{element}, shared",
        "scores": f"{queries}x{keys}xf32, register",
        "weights": f"{queries}x{keys}x{element}, register",
        "sums": f"{queries}x{head}xf32, register",
        "result": f"{queries}x{head}x{element}, register",
        "row": f"{queries}x1xf32, register",
        "limits": f"{queries}x1xi32, register",
    }
    return (
        (r"(?m)^!memory = .*", f"!memory = memref<?x?x{head}x{element}>"),
        (r"(?m)^!columns = .*", f"!columns = memref<?x{head}x?x{element}, strided<[?, 1, {head}]>>"),
        *((rf"(?m)^!{name} = .*", f"!{name} = !tirx.tile<{type_}>") for name, type_ in tiles.items()),
        (r"ceildiv\(size\(0, 1\), 128\)", f"ceildiv(size(0, 1), {queries})"),
        (r"threads\(256\)", f"threads({threads})"),
        (r"%rows = arith.constant 128", f"%rows = arith.constant {queries}"),
        (r"%step = arith.constant 128", f"%step = arith.constant {keys}"),
        (r"%scale = arith.constant \S+", f"%scale = arith.constant {math.log2(math.e) / math.sqrt(head):.9}"),
        (r"f32 to f16", f"f32 to {element}"),
        (r"tirx.yield %r : f16", f"tirx.yield %r : {element}"),
    )


# Rows and tiles of a matrix

_N = 8192


def _matrix(torch: Any, dtype: Any) -> Any:
    generator = torch.Generator(device="cuda").manual_seed(0)
    return torch.randn(_N, _N, generator=generator, device="cuda").to(dtype)


def _softmax() -> Program:
    def make(torch: Any) -> tuple[Sequence[Any], Any, Mapping[str, Run]]:
        x = _matrix(torch, torch.float16)
        y = torch.empty_like(x)
        peers: dict[str, Run] = {"torch": lambda: torch.softmax(x, 1), "copy": lambda: y.copy_(x)}
        return (x, torch.zeros_like(x)), torch.softmax(x.float(), 1), peers

    return Program(
        "softmax, f16",
        f"{_N}x{_N}",
        "softmax.mlir",
        "softmax",
        (
            *_rows("4x1024", r"\?x1024x", "4"),
            (r"%rows = arith.constant 4", "%rows = arith.constant 1"),
            (r"threads\(128\)", "threads(512)"),
        ),
        4.0 * _N * _N,
        "GB/s",
        make,
    )


def _rows(tile: str, matrix: str, rows: str) -> tuple[tuple[str, str], ...]:
    """A block has one row of 8192 elements instead of several short ones."""
    return (
        (rf"<{tile}x", f"<1x{_N}x"),
        (rf"<{matrix}", f"<?x{_N}x"),
        (rf"<{rows}x1xf32", "<1x1xf32"),
        (rf"ceildiv\(size\(0, 0\), {rows}\)", "size(0, 0)"),
    )


def _norm(kernel: str) -> Program:
    centred = kernel == "layer_norm"

    def make(torch: Any) -> tuple[Sequence[Any], Any, Mapping[str, Run]]:
        x = _matrix(torch, torch.float16)
        y = torch.empty_like(x)
        generator = torch.Generator(device="cuda").manual_seed(1)
        weights = [torch.randn(1, _N, generator=generator, device="cuda").half() for _ in range(2 if centred else 1)]

        def norm(x: Any, weights: Sequence[Any]) -> Any:
            if centred:
                return torch.nn.functional.layer_norm(x, (_N,), weights[0], weights[1], 1e-5)
            return torch.nn.functional.rms_norm(x, (_N,), weights[0], 1e-5)

        halves = [weight[0] for weight in weights]
        peers: dict[str, Run] = {"torch": lambda: norm(x, halves), "copy": lambda: y.copy_(x)}
        expected = norm(x.float(), [half.float() for half in halves])
        return (x, *weights, torch.zeros_like(x), 1e-5), expected, peers

    return Program(
        f"{kernel.replace('_', ' ')}, f16",
        f"{_N}x{_N}",
        "norms.mlir",
        kernel,
        (
            *_rows("8x512", r"\?x512x", "8"),
            (r"<1x512x", f"<1x{_N}x"),
            (r"%rows = arith.constant 8", "%rows = arith.constant 1"),
            (r"%share = arith.constant \S+", f"%share = arith.constant {1 / _N:.9}"),
            (r"threads\(128\)", "threads(256)"),
        ),
        4.0 * _N * _N,
        "GB/s",
        make,
        result=-2,
    )


def _transpose(element: str) -> Program:
    def make(torch: Any) -> tuple[Sequence[Any], Any, Mapping[str, Run]]:
        x = _matrix(torch, torch.float16 if element == "f16" else torch.float32)
        y = torch.empty_like(x)
        peers: dict[str, Run] = {"torch": lambda: x.t().contiguous(), "copy": lambda: y.copy_(x)}
        # The kernel's Y has the columns of X as rows.
        return (x, torch.zeros_like(x).t()), x, peers

    size = 2 if element == "f16" else 4
    return Program(
        f"transpose, {element}",
        f"{_N}x{_N}",
        "transpose.mlir",
        "transpose",
        (
            (r"128x256xf32", f"{_N}x{_N}xf32"),
            (r"strided<\[1, 128\]>", f"strided<[1, {_N}]>"),
            (r"grid\(4, 4\)", f"grid({_N // 64}, {_N // 32})"),
            (r"xf32", f"x{element}"),
        ),
        2.0 * size * _N * _N,
        "GB/s",
        make,
        tolerance=0.0,
    )


PROGRAMS = (
    *(_attention(length, 128, "f16", causal) for causal in (False, True) for length in (512, 1024, 4096, 16384)),
    _attention(16384, 128, "bf16", False),
    *(_attention(length, 64, "f16", causal) for causal in (False, True) for length in (2048, 16384)),
    *(_attention(4096, 128, "f16", causal, 4) for causal in (False, True)),
    *(_attention(8192, 128, "f16", False, 4, decoded) for decoded in (1, 16)),
    _softmax(),
    _norm("layer_norm"),
    _norm("rms_norm"),
    _transpose("f16"),
    _transpose("f32"),
)
"""Every program that is measured, at one size each."""

__all__ = ["PROGRAMS", "Program", "attention_of"]
