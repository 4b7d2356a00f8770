"""The tile level, run: an interpreter of kernels on whole tiles, in numpy.

Every operation is complete before the next one begins, and blocks run one after the other. Programs of the scheduled
level, with rings, queues, roles and skewed loops, run as well, so that a kernel can be run behind every pass that keeps
tiles. `tirx-check` compares the PTX with it.
"""

from tirx.interp.errors import RunError
from tirx.interp.run import KernelFunctions, Ran, can_run, run_function, run_kernel, without_meaning, without_rule

__all__ = [
    "KernelFunctions", "Ran", "RunError", "can_run", "run_function", "run_kernel", "without_meaning", "without_rule",
]  # fmt: skip
