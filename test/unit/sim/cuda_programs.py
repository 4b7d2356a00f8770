"""The CUDA C++ programs in cuda/: their PTX as it is kept there, or compiled anew where nvcc is."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent / "cuda"
_ARCHITECTURE = re.compile(r"// nvcc -ptx -arch=(sm_\d+a?)\n")
# What is compiled anew without being asked for: a second each. TIRX_RECOMPILE=1 does it for all programs.
_QUICK = ("transpose", "integers")


@lru_cache(maxsize=1)
def find_nvcc() -> str | None:
    """
    Finds the nvcc of the packages nvidia-cuda-nvcc, nvidia-cuda-runtime and nvidia-cuda-cccl, or one on the PATH.

    Without nvidia-cuda-cccl only programs that include neither <cuda_fp16.h> nor <cuda/barrier> compile.
    """
    package = importlib.util.find_spec("nvidia")
    incomplete: str | None = None
    for location in (package.submodule_search_locations or []) if package else []:
        for root in sorted(Path(location).glob("cu*"), reverse=True):
            if (root / "bin" / "nvcc").exists() and (root / "include" / "cuda_runtime.h").exists():
                incomplete = str(root / "bin" / "nvcc")
                if (root / "include" / "cccl" / "nv" / "target").exists():
                    return incomplete
    return shutil.which("nvcc") or incomplete


@lru_cache(maxsize=64)
def _compiled(name: str) -> str:
    nvcc, source = find_nvcc(), _FOLDER / f"{name}.cu"
    architecture = _ARCHITECTURE.match(source.read_text())
    if nvcc is None or architecture is None:
        raise RuntimeError(f"expected nvcc, and its call in the first line of {source}")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"{name}.ptx"
        command = [nvcc, "-ptx", f"-arch={architecture[1]}", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
        return target.read_text()


@dataclass(frozen=True)
class Program:
    """cuda/`name`.cu"""

    name: str
    anew: bool

    @property
    def ptx(self) -> str:
        return _compiled(self.name) if self.anew else (_FOLDER / f"{self.name}.ptx").read_text()


def program(name: str) -> pytest.MarkDecorator:
    """Parametrises a test with the `program`, as kept and compiled anew."""
    wanted = name in _QUICK or os.environ.get("TIRX_RECOMPILE") == "1"
    skipped = pytest.mark.skipif(find_nvcc() is None or not wanted, reason="no nvcc, or TIRX_RECOMPILE is not 1")
    versions = [pytest.param(Program(name, False), id="kept")]
    if wanted:
        versions.append(pytest.param(Program(name, True), id="compiled", marks=skipped))
    return pytest.mark.parametrize("program", versions)
