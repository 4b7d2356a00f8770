"""Triton 3.9 compiles kernels ahead of time, for sm_80, sm_90a and sm_100a."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
import triton
from common import Case, Kernel, Launch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tirx.sim import TensorMap

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
_NAMES = {
    np.dtype(np.float32): "fp32", np.dtype(np.float16): "fp16", np.dtype(BF16): "bf16", np.dtype(E4M3): "fp8e4nv",
    np.dtype(E5M2): "fp8e5", np.dtype(np.int8): "i8", np.dtype(np.uint8): "u8", np.dtype(np.int32): "i32",
    np.dtype(np.uint32): "u32", np.dtype(np.int64): "i64",
}  # fmt: skip
_SWIZZLES = ("none", "32B", "64B", "128B")


@dataclass
class Block:
    """A tensor descriptor of the host: an array, and the block that loads and stores move."""

    array: Any
    block: tuple[int, ...]


def type_of(value: Any) -> str:
    if isinstance(value, Block):
        return f"tensordesc<{_NAMES[value.array.dtype]}[{', '.join(map(str, value.block))}]>"
    if isinstance(value, np.ndarray):
        return f"*{_NAMES[value.dtype]}"
    return "fp32" if isinstance(value, float) else "i32"


def is_aligned(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, int) and value % 16 == 0)


def compile_kernel(function: Any, capability: int, values: dict[str, Any], constants: dict[str, Any], **options: Any):
    """(kernel, what it needs of scratch memory in bytes, descriptors of tensor maps)."""
    signature = {name: type_of(value) for name, value in values.items()}
    attributes = {(i,): [["tt.divisibility", 16]] for i, value in enumerate(values.values()) if is_aligned(value)}
    source = ASTSource(function, {**signature, **dict.fromkeys(constants, "constexpr")}, constants, attributes)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def launch(compiled: Any, grid: tuple[int, ...], values: dict[str, Any], results: Any) -> tuple[Kernel, Launch]:
    """Arguments that a launch of a compiled kernel passes: tensor maps with sizes and strides, and scratch memory."""
    meta = compiled.metadata
    maps = iter(getattr(meta, "tensordesc_meta", None) or ())
    arguments: list[Any] = []
    for value in values.values():
        if not isinstance(value, Block):
            arguments.append(value)
            continue
        how, array = next(maps), value.array
        box = tuple(reversed(how["block_size"]))
        fields = [TensorMap(array, box, _SWIZZLES[how["swizzle"]]), *array.shape]
        arguments += [*fields, *(stride // array.itemsize for stride in array.strides)]
    blocks = int(np.prod(grid))
    scratch = getattr(meta, "global_scratch_size", 0) * blocks * getattr(meta, "num_ctas", 1)
    arguments += [np.zeros(scratch, np.uint8) if scratch else 0, 0]
    ptx = compiled.asm["ptx"]
    cluster = (getattr(meta, "num_ctas", 1), 1, 1)
    whole = (grid[0] * cluster[0], *grid[1:])
    return Kernel(ptx, meta.name, shared=meta.shared, cluster=cluster), Launch(whole, arguments, results)


CASES: list[Case] = []
_TARGETS = {80: "sm_80", 90: "sm_90a", 100: "sm_100a"}


def case(uses: str, *targets: int, name: str = "", **options: Any):
    """Registers kernels: the function returns (function, grid, values, constants, results)."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        for target in targets or (80, 90, 100):

            def build(target: int = target) -> tuple[Kernel, Launch]:
                function, grid, values, constants, results = make()
                compiled = compile_kernel(function, target, values, constants, **options)
                return launch(compiled, grid, values, results)

            CASES.append(Case("Triton", name or make.__name__, _TARGETS[target], uses, build))
        return make

    return register


def generator() -> np.random.Generator:
    return np.random.default_rng(1)
