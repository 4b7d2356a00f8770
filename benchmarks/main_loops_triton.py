"""
Triton's kernels of the tiles of `benchmarks/main_loops.py`, compiled without a GPU: products of f16 by mma.sync with
cp.async, by wgmma with TMA, and by tcgen05 with TMA, with and without warp specialisation.

`python benchmarks/main_loops_triton.py` prints them as JSON, which `main_loops.py --triton PYTHON` reads. It needs no
more than the package triton.
"""

# pyright: basic

import json
import os

os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # silences a warning about its default

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TILE = {"ROWS": 128, "COLUMNS": 256, "DEPTH": 64}


@triton.jit
def pointers(a, b, d, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """D = A B^T, rows of A and B by pointers."""
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    pa = a + rows[:, None] * k + depth[None, :]
    pb = b + columns[:, None] * k + depth[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for _ in range(0, k, DEPTH):
        total = tl.dot(tl.load(pa), tl.trans(tl.load(pb)), total)
        pa += DEPTH
        pb += DEPTH
    tl.store(d + rows[:, None] * n + columns[None, :], total)


@triton.jit
def descriptors(a, b, d, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, ROLES: tl.constexpr):
    """D = A B^T, tiles of A and B by tensor maps."""
    rows = tl.program_id(1) * ROWS
    columns = tl.program_id(0) * COLUMNS
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in tl.range(0, k, DEPTH, warp_specialize=ROLES):
        total = tl.dot(a.load([rows, start]), tl.trans(b.load([columns, start])), total)
    at = (rows + tl.arange(0, ROWS)[:, None]) * n + columns + tl.arange(0, COLUMNS)[None, :]
    tl.store(d + at, total)


KERNELS = (
    # Name, kernel, compute capability, warps, stages, roles
    ("f16 m16n8k16, sm_80", pointers, 80, 8, 3, None),
    ("f16 wgmma, sm_90a", descriptors, 90, 8, 4, False),
    ("f16 tcgen05, sm_100a", descriptors, 100, 4, 4, False),
    ("f16 tcgen05, roles, sm_100a", descriptors, 100, 4, 4, True),
)


def compiled(kernel, capability: int, warps: int, stages: int, roles: bool | None):
    """The kernel, as Triton compiles it for a compute capability (times ten)."""
    constants = TILE if roles is None else {**TILE, "ROLES": roles}
    block = f"{TILE['DEPTH']}]"
    operands = (
        ("*fp16", "*fp16")
        if roles is None
        else (f"tensordesc<fp16[{TILE['ROWS']},{block}>", f"tensordesc<fp16[{TILE['COLUMNS']},{block}>")
    )
    types = {"a": operands[0], "b": operands[1], "d": "*fp32", "n": "i32", "k": "i32"}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(5) if index > 1 or roles is None}
    source = ASTSource(kernel, types | dict.fromkeys(constants, "constexpr"), constants, attributes)
    return triton.compile(
        source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps, "num_stages": stages}
    )


def main() -> None:
    found = []
    for name, kernel, capability, warps, stages, roles in KERNELS:
        made = compiled(kernel, capability, warps, stages, roles)
        slot = 2 * TILE["DEPTH"] * (TILE["ROWS"] + TILE["COLUMNS"])
        found.append(
            {
                "name": name,
                "ptx": made.asm["ptx"],
                "entry": made.metadata.name,
                "threads": 32 * warps,
                "shared": made.metadata.shared,
                "in_flight": (stages - 1) * slot,
            }
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
