"""`build`: from a module of tile programs to kernels that can be simulated and launched."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tirx.runtime.launch import Launch, read_launches, write_launches

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tirx.runtime.launcher import Launcher

_CACHE_SIZE = 256
"""Programs that a process keeps; the oldest goes first."""

_cache: dict[str, Program] = {}


class Program:
    """PTX and how to launch each of its kernels. `kernels` are in the order of the module, by name.

    >>> import tirx
    >>> program = tirx.build('tirx.kernel @nothing() target("sm_80") grid(1) threads(32) { tirx.return }')
    >>> list(program.kernels), program.ptx.splitlines()[1]
    (['nothing'], '.target sm_80')
    """

    def __init__(self, ptx: str, launches: Sequence[Launch]):
        self.ptx = ptx
        self.kernels: Mapping[str, Kernel] = MappingProxyType({each.entry: Kernel(self, each) for each in launches})

    def to_json(self) -> str:
        """The program as text: PTX and launch descriptors."""
        return json.dumps({"ptx": self.ptx, "launches": write_launches([k.launch for k in self.kernels.values()])})

    @staticmethod
    def from_json(text: str) -> Program:
        """The counterpart of `to_json`. Raises ValueError for other texts."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.keys() != {"ptx", "launches"}:  # pyright: ignore[reportUnknownMemberType]
            raise ValueError("expected a program of PTX and launch descriptors")
        return Program(data["ptx"], read_launches(data["launches"]))  # pyright: ignore[reportUnknownArgumentType]


class Kernel:
    """One kernel of a program."""

    def __init__(self, program: Program, launch: Launch):
        self.program = program
        self.launch = launch

    def __call__(self, *arguments: Any, stream: Any = None, grid: Sequence[int] | None = None) -> Any:
        """
        Launches the kernel on the GPU that the arrays are on, behind the work of `stream`.

        Arrays are those of torch, cupy, jax or numpy, or speak DLPack or `__cuda_array_interface__`. `stream` is one of
        torch, cupy or cuda-core or its handle; without it the current stream of torch or cupy. torch and cupy arrays
        are written in place, and the call does not wait for the kernel. For numpy (copied to the GPU and back) and jax
        it does; the jax arrays that the kernel writes are returned as new ones, and a `jax.ShapeDtypeStruct` stands for
        zeros. `grid` is for a kernel without one. Raises ArgumentError for arguments that do not fit and GpuError
        without a GPU that runs the kernel.
        """
        return self._launcher(arguments, stream, grid)

    def torch_operator(self, name: str) -> Any:
        """The kernel as the operator `name` ("library::name") of torch; see `tirx.runtime.torch_op`."""
        from tirx.runtime.torch_op import torch_operator

        return torch_operator(name, self.launch, self)

    @cached_property
    def _launcher(self) -> Launcher:
        from tirx.runtime.launcher import Launcher  # imports what simulations do not need

        return Launcher(
            self.program.ptx, self.launch, {k.launch.entry: k.launch for k in self.program.kernels.values()}
        )

    def __repr__(self) -> str:
        arguments = ", ".join(argument.name for argument in self.launch.passed)
        return f"<tirx kernel {self.launch.entry}({arguments}) for {self.launch.target}>"

    def simulate(self, *arguments: Any, **options: Any) -> None:
        """
        Runs the kernel in the simulator, with numpy arrays that are updated in place and numbers.

        Options: `grid` for a kernel without one, `sm_count` of the GPU (2), and those of `tirx.sim.run`, such as
        `seed` and `check`. Raises ArgumentError for arguments that do not fit and SimError for a faulty kernel.
        """
        from tirx.runtime.simulation import simulate

        simulate(self.program.ptx, self.launch, arguments, **options)


def build(
    module_or_text: ModuleOp | str,
    target: str | None = None,
    options: str = "",
    *,
    cache_directory: str | Path | None = None,
) -> Program:
    """
    Compiles a module of kernels, given as IR or as MLIR text, to a program.

    `target` (for example `"sm_90a"`) overrides the target that the kernels name, and `options` are those of
    `tirx.compile`. A process keeps programs by input, target and options; a `cache_directory` keeps them on disk, by
    the version of tirx too. Raises what `tirx.compile` raises.
    """
    from xdsl.dialects.builtin import ModuleOp

    text = str(module_or_text) if isinstance(module_or_text, ModuleOp) else module_or_text
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a module or its text, found {type(text).__name__}")
    key = sha256(json.dumps([text, target, options]).encode()).hexdigest()
    program = _cache.get(key)
    if program is None:
        if cache_directory is None:
            program = _compile(module_or_text, target, options)
        else:
            program = _on_disk(Path(cache_directory), key, lambda: _compile(module_or_text, target, options))
        while len(_cache) >= _CACHE_SIZE:
            del _cache[next(iter(_cache))]
        _cache[key] = program
    return program


def _compile(module_or_text: ModuleOp | str, target: str | None, options: str) -> Program:
    # Here, so that a program that is read from disk does not wait for the compiler.
    from tirx import compiler
    from tirx.ptx.printer import print_ptx
    from tirx.runtime.describe import describe

    module = compiler.lower(module_or_text, target, options)
    return Program(print_ptx(module), describe(module))


def _on_disk(directory: Path, key: str, make: Callable[[], Program]) -> Program:
    path = directory / f"{key[:32]}-{_version()[:16]}.json"
    try:
        return Program.from_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        program = make()
    directory.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(program.to_json(), encoding="utf-8")
    temporary.replace(path)  # at once: another process sees all of it or nothing
    return program


@cache
def _version() -> str:
    """Returns a digest of the compiler's source, which changes more often than the number of its version."""
    from tirx import dialects, passes

    digest = sha256()
    for root in (Path(__file__).parents[1], *dialects.__path__, *passes.__path__):
        for path in sorted(Path(root).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
