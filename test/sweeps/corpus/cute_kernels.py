"""Kernels of CuTe DSL 4.8 (nvidia-cutlass-dsl), compiled for sm_80, sm_90a and sm_100a."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from common import Case, Kernel, Launch, small

from tirx.sim import TensorMap

CASES: list[Case] = []


@lru_cache(maxsize=32)
def compile_cute(name: str, target: str) -> str:
    """The PTX of one program of cute_programs.py; the DSL reads the target when it is imported, so in a process."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CUTE_DSL_ARCH": target, "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_KEEP_PTX": "1",
                       "CUTE_DSL_DUMP_DIR": folder, "CUTE_DSL_NO_CACHE": "1"}  # fmt: skip
        program = Path(__file__).with_name("cute_programs.py")
        done = subprocess.run(
            [sys.executable, str(program), name],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            check=False,
        )
        found = sorted(Path(folder).rglob("*.ptx"))
        if done.returncode or not found:
            raise RuntimeError(f"no PTX of {name}: {(done.stdout + done.stderr)[-1500:]}")
        return found[0].read_text().rstrip("\0")


def case(
    name: str, target: str, uses: str, prepare: Any, block: int, shared: int = 0, cluster: Any = (1, 1, 1)
) -> None:
    def make() -> tuple[Kernel, Launch]:
        ptx = compile_cute(name, target)
        kernel = Kernel(ptx, None, block, shared, cluster)
        return kernel, prepare(ptx)

    CASES.append(Case("CuTe DSL", name, target, uses, make))


def _rng() -> np.random.Generator:
    return np.random.default_rng(4)


def _add(ptx: str) -> Launch:
    a, b = (small(_rng(), (256,), np.float32) for _ in range(2))
    c = np.zeros_like(a)
    return Launch((2,), [a, b, c], [(c, a + b, 0)])


for _target in ("sm_80", "sm_90a", "sm_100a"):
    case("add", _target, "one element for each thread", _add, 128)


def _row_sum(ptx: str) -> Launch:
    x = small(_rng(), (8, 96), np.float32)
    out = np.zeros(8, np.float32)
    return Launch((2,), [x, out], [(out, x.sum(1), 0)])


for _target in ("sm_80", "sm_100a"):
    case("row_sum", _target, "shuffles of a warp for each row", _row_sum, 128)


def _transpose(ptx: str) -> Launch:
    x = _rng().standard_normal((64, 64)).astype(np.float32)
    out = np.zeros_like(x)
    return Launch((2, 2), [x, out], [(out, x.T, 0)])


for _target in ("sm_80", "sm_90a"):
    case("transpose", _target, "a swizzled layout in shared memory", _transpose, 128, 4096)


def _mma(ptx: str) -> Launch:
    a, b = small(_rng(), (32, 48), np.float16), small(_rng(), (32, 48), np.float16)
    c = np.zeros((32, 32), np.float32)
    return Launch((1,), [a, b, c], [(c, a.astype(np.float64) @ b.astype(np.float64).T, 0)])


for _target in ("sm_80", "sm_90a", "sm_100a"):
    case("mma_sync", _target, "tiled mma.sync m16n8k16, fragments from global memory", _mma, 128)


def _tensors(ptx: str, sizes: tuple[int, int, int], out: Any) -> Launch:
    """Arguments of a product whose A and B are tensor maps, in the order in which CuTe DSL passes them."""
    m, n, k = sizes
    a, b = small(_rng(), (m, k), np.float16), small(_rng(), (n, k), np.float16)
    c = np.zeros((m, n), out)
    maps = [TensorMap(a, (64, min(m, 128)), "128B"), TensorMap(b, (64, min(n, 128)), "128B")]
    first = re.search(r"\.param \.align \d+ \.b8 \w+_param_0\[(\d+)\]", ptx)  # the tiled MMA, whose fields are not set
    assert first is not None
    return Launch(
        (m // 128, n // 128), [bytes(int(first[1])), *maps, c], [(c, a.astype(np.float64) @ b.astype(np.float64).T, 0)]
    )


case("tcgen05_tma", "sm_100a", "tcgen05.mma, bulk tensor copies",
     lambda ptx: _tensors(ptx, (128, 256, 128), np.float32), 128, 66000)  # fmt: skip
case("wgmma_tma", "sm_90a", "wgmma, bulk tensor copies",
     lambda ptx: _tensors(ptx, (128, 256, 128), np.float32), 128, 66000)  # fmt: skip
