"""All kernels of Triton. Importing a module registers its kernels in `CASES`."""

# pyright: basic, reportMissingImports=false

import triton_attention  # noqa: F401
import triton_products  # noqa: F401
import triton_rows  # noqa: F401
import triton_scaled  # noqa: F401
from triton_build import CASES

__all__ = ["CASES"]
