"""
tirx: a compiler for tile programs on NVIDIA tensor cores, from axis layouts to PTX.

`tirx.compile` gives PTX, `tirx.build` kernels that can be simulated and launched. `tirx.layout` and `tirx.tcgen05`
stand on their own and need no IR; `tirx.dialects` and `tirx.passes` are for those who embed the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from xdsl.dialects.builtin import ModuleOp

    from tirx.runtime.program import Program


def compile(module_or_text: ModuleOp | str, target: str | None = None, options: str = "") -> str:
    """
    PTX for the kernels of a module, given as IR or as MLIR text; see `tirx.compiler.compile`.

    `target` (for example `"sm_100a"`) overrides the target that the kernels name. `options="pipeline=off"` lets
    every copy and product end before the next begins. Raises `tirx.diagnostics.LocatedError` for input that is not
    legal.
    """
    # Here, so that `import tirx.layout` does not wait for xDSL.
    from tirx import compiler

    return compiler.compile(module_or_text, target, options)


def build(
    module_or_text: ModuleOp | str,
    target: str | None = None,
    options: str = "",
    *,
    cache_directory: str | Path | None = None,
) -> Program:
    """
    PTX for the kernels of a module, and how to launch them; see `tirx.runtime.build`.

    `program.kernels["gemm"].simulate(a, b, d)` runs a kernel in the simulator with numpy arrays,
    `program.kernels["gemm"](a, b, d)` on a GPU.
    """
    from tirx.runtime import program

    return program.build(module_or_text, target, options, cache_directory=cache_directory)
