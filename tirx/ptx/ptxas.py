"""Finds and runs `ptxas`, the assembler of PTX."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tirx.values import dataclass

_WHEEL_PATHS = ("cu13/bin/ptxas", "cuda_nvcc/bin/ptxas")
"""Where the PyPI packages `nvidia-cuda-nvcc` (CUDA 13) and `nvidia-cuda-nvcc-cu12` put it, below `nvidia/`."""

ASSEMBLED_AS: dict[str, str] = {"sm_70": "sm_75", "sm_72": "sm_75"}
"""Targets that ptxas 13 dropped as an architecture but still reads -> the architecture to assemble them for."""


class PtxasNotFound(RuntimeError):
    """Neither a wheel nor PATH has `ptxas`."""


@dataclass(frozen=True)
class AssembleResult:
    """The outcome of `ptxas`: `ok` if it wrote a cubin, `stderr` all its messages."""

    ok: bool
    stderr: str


@cache
def find_ptxas() -> Path | None:
    """The `ptxas` of an installed `nvidia-cuda-nvcc` wheel, else the one on PATH, else None."""
    spec = importlib.util.find_spec("nvidia")
    for root in () if spec is None else spec.submodule_search_locations or ():
        for path in _WHEEL_PATHS:
            if (candidate := Path(root, path)).is_file():
                return candidate
    on_path = shutil.which("ptxas")
    return None if on_path is None else Path(on_path)


def assemble(ptx: str, target: str, *, warnings_as_errors: bool = True, verbose: bool = False) -> AssembleResult:
    """Assembles `ptx` for `target` (`sm_100a`); the cubin is thrown away.

    `verbose` adds registers and shared memory of each entry to the messages. Raises PtxasNotFound.
    """
    ptxas = find_ptxas()
    if ptxas is None:
        raise PtxasNotFound("expected ptxas from the package nvidia-cuda-nvcc or on PATH, found neither")
    options = [f"-arch={ASSEMBLED_AS.get(target, target)}"]
    options += ["-Werror"] if warnings_as_errors else []
    options += ["-v"] if verbose else []
    with tempfile.TemporaryDirectory(prefix="tirx-ptxas-") as directory:
        source = Path(directory, "module.ptx")
        source.write_text(ptx)
        command = [str(ptxas), *options, str(source), "-o", str(Path(directory, "module.cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode < 0:  # a crash says nothing itself
        said += f"error: ptxas was ended by {signal.Signals(-done.returncode).name}\n"
    return AssembleResult(done.returncode == 0, said)
