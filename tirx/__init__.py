"""tirx: a compiler for tile programs on NVIDIA tensor cores, from axis layouts to PTX.

`tirx.compile` gives PTX, `tirx.build` kernels that can be simulated and launched. `@tirx.jit` writes kernels in Python:
all names of `tirx.builder` are names of this module, too. `tirx.embed` is for other compilers, `tirx.layout` and
`tirx.sim` stand on their own and need no IR.
These modules and names are the public interface, and `__version__` says which one it is. `docs/embedding.md` says which
classes of `tirx.dialects` are part of it; everything else, such as `tirx.passes` and `tirx.tcgen05`, may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tirx.frames import hiding_frames

if TYPE_CHECKING:
    from pathlib import Path

    from tirx import builder as builder
    from tirx import embed as embed
    from tirx import layout as layout
    from tirx import sim as sim
    from tirx.builder import *  # noqa: F403

    __version__: str

    from xdsl.dialects.builtin import ModuleOp

    from tirx.runtime.program import Program


_OWN = ("__version__", "build", "builder", "compile", "embed", "layout", "sim")

_PYTHON = """
Array ArrayType BuildError DType Kernel Memory Scalar Span Tile View abs accumulator acos acosh allocate asin asinh
atan atan2 atanh atomic attribute bf16 block_id cbrt ceil ceildiv concat copysign cos cosh e2m1 e2m3 e3m2 e4m3 e5m2
e8m0 erf exp exp2 expm1 f16 f32 f64 floor fma fn full grid grid_dim i1 i16 i32 i4 i64 i8 index indices insert jit
launch_value located log log10 log1p log2 map maximum maxnum minimum minnum module mulhi neg op param popcount pow
range reduce region round roundeven rsqrt scan shared si8 signal sin sinh sm_count sqrt store tan tanh tf32 tile tiles
trunc u16 u32 u64 u8 wait_until where zeros
""".split()
"""The names of `tirx.builder`, which is imported when one of them is asked for."""

__all__ = [*_OWN, *_PYTHON]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """The public modules and the version, when they are asked for: `import tirx` alone waits for none of them."""
    if name in ("builder", "embed", "layout", "sim"):
        return import_module(f"tirx.{name}")
    if name == "__version__":
        from tirx.version import installed_version

        return installed_version()
    if name in _PYTHON:
        return getattr(import_module("tirx.builder"), name)
    raise AttributeError(f"module 'tirx' has no attribute '{name}'", name=name, obj=import_module("tirx"))


def __dir__() -> list[str]:
    return sorted(__all__)


@hiding_frames
def compile(
    module_or_text: ModuleOp | str,
    target: str | None = None,
    options: str = "",
    *,
    cache_directory: str | Path | None = None,
    salt: str | None = None,
    verify: bool = False,
) -> str:
    """PTX for the kernels of a module, given as IR or as MLIR text; see `tirx.compiler.compile`.

    `target` (for example `"sm_100a"`) overrides the target that the kernels name. `options="pipeline=off"` lets every
    copy and product end before the next begins. `cache_directory`, `salt` and `verify` are those of `tirx.build`.
    Raises `tirx.diagnostics.LocatedError` for input that is not legal.

    >>> import tirx
    >>> tirx.compile('tirx.kernel @nothing() target("sm_80") threads(32) { tirx.return }').splitlines()[1]
    '.target sm_80'
    """
    if verify or cache_directory is not None:
        return build(module_or_text, target, options, cache_directory=cache_directory, salt=salt, verify=verify).ptx
    # Here, so that `import tirx.layout` does not wait for xDSL.
    from tirx.text.collector import paused_collector

    with paused_collector():
        from tirx import compiler

    return compiler.compile(module_or_text, target, options)


@hiding_frames
def build(
    module_or_text: ModuleOp | str,
    target: str | None = None,
    options: str = "",
    *,
    cache_directory: str | Path | None = None,
    salt: str | None = None,
    verify: bool = False,
    compile_at_launch: bool = False,
) -> Program:
    """PTX for the kernels of a module, and how to launch them; see `tirx.runtime.build`.

    `program.kernels["gemm"].simulate(a, b, d)` runs a kernel in the simulator with numpy arrays,
    `program.kernels["gemm"](a, b, d)` on a GPU.

    >>> import tirx
    >>> tirx.build('tirx.kernel @nothing() target("sm_80") grid(4) threads(32) { tirx.return }').kernels["nothing"]
    <tirx kernel nothing() for sm_80>
    """
    from tirx.runtime import program

    return program.build(
        module_or_text,
        target,
        options,
        cache_directory=cache_directory,
        salt=salt,
        verify=verify,
        compile_at_launch=compile_at_launch,
    )
