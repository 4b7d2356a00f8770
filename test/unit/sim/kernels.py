"""Kernels for tests: bodies of instructions with the loads and stores around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from unit.sim.strict import run

DATA = Path(__file__).parent / "data"
HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def entry(body: str, parameters: Sequence[str] = ("out",), declarations: str = "") -> str:
    """Kernel `k` with a body and 64-bit parameters; registers %r0..63, %d0..63 (64 bits), %f0..31, %h0..15, %p0..15."""
    shown = ", ".join(f".param .u64 {name}" for name in parameters)
    return f"""{HEADER}.visible .entry k({shown}) {{
  .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .f32 %f<32>;
  {declarations}
{body}
  ret;
}}
"""


def run_threads(
    body: str,
    inputs: npt.NDArray[np.uint32],
    outputs: int = 1,
    *,
    declarations: str = "",
    block: int | None = None,
    seed: int | None = None,
) -> npt.NDArray[np.uint32]:
    """
    Runs `body` in a thread for each row of `inputs` (n, 4): %a0..%a3 are the row, %thread its index.

    Returns %o0..%o15, the first `outputs` of them, of every thread.
    """
    count = len(inputs)
    stores = "\n".join(f"  st.global.b32 [%out+{4 * index}], %o{index};" for index in range(outputs))
    text = entry(
        f"""
  mov.u32 %thread, %tid.x;
  ld.param.u64 %in, [p]; ld.param.u64 %out, [q];
  mad.wide.u32 %in, %thread, 16, %in; mad.wide.u32 %out, %thread, {4 * outputs}, %out;
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%in];
  {body}
{stores}
""",
        ("p", "q"),
        f".reg .b32 %a<4>, %o<16>, %thread; .reg .b64 %in, %out; {declarations}",
    )
    result = np.zeros((count, outputs), np.uint32)
    run(text, "k", 1, block or count, [np.ascontiguousarray(inputs), result], seed=seed)
    return result


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of an array that must not be written."""
    view = array[:]
    view.flags.writeable = False
    return view


def integers(rng: np.random.Generator, shape: Sequence[int], dtype: Any = np.float16) -> npt.NDArray[Any]:
    """Small integers, of which sums of products are exact in every type."""
    return rng.integers(-4, 5, tuple(shape)).astype(dtype)
