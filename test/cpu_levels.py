"""
Levels of SIMD instructions: what numpy, OpenBLAS and the C library would do on older CPUs than this one.

    python test/cpu_levels.py pytest -q test/unit/sim/test_executed.py

runs a command at each level below the highest, that of the CPU, at which everything runs anyway.
"""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from typing import Any

import numpy as np


def _dispatched() -> list[str]:
    """Features that numpy has code for and this CPU has, in numpy's order: each needs those before it."""
    core = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    compiled: Any = importlib.import_module(f"{core}._multiarray_umath")
    return [name for name in compiled.__cpu_dispatch__ if compiled.__cpu_features__[name]]


def levels() -> dict[str, dict[str, str]]:
    """
    Levels below that of this CPU by name, with the environment that makes a process keep to them.

    numpy names features, in some releases only those of x86-64-v3 (AVX2, FMA3) and v4 (AVX-512) as a whole; it warns
    of features that it does not dispatch on, so that only those are named.
    """
    names = _dispatched()
    wide = next((at for at, name in enumerate(names) if name.startswith(("AVX512", "X86_V4"))), 0)
    found = {"baseline": 0} | ({"AVX2": wide} if wide else {})
    return {level: _environment(level, names[start:]) for level, start in found.items() if names}


def _environment(level: str, disabled: list[str]) -> dict[str, str]:
    core = {"baseline": "Nehalem", "AVX2": "Haswell"}[level]
    without = {"baseline": "-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL", "AVX2": "-AVX512F,-AVX512VL"}[level]
    found = {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)}
    if platform.machine() == "x86_64":
        found |= {"OPENBLAS_CORETYPE": core, "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={without}"}
    return found


def main(command: list[str]) -> int:
    """Runs a command at each level. Returns the first exit code that is not 0."""
    code = 0
    for level, environment in levels().items():
        print(f"{level}: {' '.join(f'{name}={value!r}' for name, value in environment.items())}", flush=True)
        code = code or subprocess.run(command, env=os.environ | environment, check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
