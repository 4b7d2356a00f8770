"""The examples of attention for other sizes of heads and blocks, and in other types."""

from __future__ import annotations

import re
import runpy
from typing import Any

from unit.examples import EXAMPLES


def attention_text(kernel: str, head: int, element: str, queries: int, keys: int, threads: int) -> str:
    """One kernel of `flash_attention.mlir` or `tcgen05_attention.mlir`, for blocks of so many queries and keys."""
    on_tensor_memory = kernel.endswith("tensor_attention")
    name = "tcgen05_attention" if on_tensor_memory else "flash_attention"
    text = (EXAMPLES / f"{name}.mlir").read_text()
    head_of_file, *kernels = re.split(r"(?m)^(?=tirx\.kernel)", text)
    text = head_of_file + next(each for each in kernels if each.startswith(f"tirx.kernel @{kernel}("))
    replacements: Any = runpy.run_path(str(EXAMPLES.parent / "benchmarks" / "gpu_programs.py"))["attention_of"]
    for pattern, new in replacements(head, element, queries, keys, threads):
        text = re.sub(pattern, new, text)
    if not on_tensor_memory:
        return text
    for alias, type_ in {
        "products": f"{queries}x{keys}xf32, tensor",
        "weights": f"{queries}x{keys}x{element}, tensor",
        "halves": f"{queries}x{keys}x{element}, register",
        "sums": f"{queries}x{head}xf32, tensor",
        "parts": f"{queries}x{head}xf32, register",
    }.items():
        text = re.sub(rf"(?m)^!{alias} = .*", f"!{alias} = !tirx.tile<{type_}>", text)
    return text
