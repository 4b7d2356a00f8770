"""
tirx: a compiler for tile programs on NVIDIA tensor cores, from axis layouts to PTX.

`tirx.compile` is the whole of it. `tirx.layout` and `tirx.tcgen05` stand on their own and need no IR;
`tirx.dialects` and `tirx.passes` are for those who embed the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def compile(module_or_text: ModuleOp | str, target: str | None = None) -> str:
    """
    PTX for the kernels of a module, given as IR or as MLIR text; see `tirx.compiler.compile`.

    `target` (for example `"sm_100a"`) overrides the target that the kernels name. Raises
    `tirx.diagnostics.LocatedError` for input that is not legal.
    """
    # Here, so that `import tirx.layout` does not wait for xDSL.
    from tirx import compiler

    return compiler.compile(module_or_text, target)
