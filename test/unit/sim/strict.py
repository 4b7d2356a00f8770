"""`run` of `tirx.sim` with the strict level of checks, which tests of kernels use."""

from __future__ import annotations

from functools import partial

from tirx import sim

run = partial(sim.run, check="strict")
