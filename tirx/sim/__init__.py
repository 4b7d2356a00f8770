"""
A functional simulator of PTX text on the CPU: the numbers that the GPU would give, and what is wrong with a kernel.

    from tirx.sim import run
    run(ptx_text, "gemm", grid=(4, 4), block=128, args=[a, b, d])    # d is updated in place

It is an independent witness of the compiler: it reads PTX, knows nothing of the IR, imports nothing of the rest of
`tirx`, and walks descriptors byte by byte with tables of its own. Faults of the program raise `SimError` with the line,
the instruction and the threads; `SimWarning`s are rules of the PTX ISA that GPUs do not need.

Text goes through these packages, each of which imports only those above it (`api` calls them in this order):

| package | in | out |
|---|---|---|
| `reader` | PTX text | a `Module`: functions, variables, instructions, without meaning |
| `numerics` | arrays | roundings, formats, sums of tensor cores (`tensor_cores.RULES`) |
| `memory` | addresses | bytes of global, constant, parameter, shared and local memory |
| `hazards` | accesses and synchronisation | errors and notes: vector clocks, behind `monitor.Monitor` |
| `tensor` | descriptors of tcgen05 | operands, products and copies in tensor memory |
| `core` | decoded instructions | a launch: clusters, CTAs, thread groups, barriers, the scheduler |
| `isa` | an instruction | its step, a module for each family |
| `program` | a module and the name of an entry | a `Program`: every instruction decoded once |
| `setting`, `jobs` | a program, memory and dimensions | results, in this process or in several |

A step is a closure over rows of registers. It executes an instruction for a *thread group*: converged lanes of one or
several warps, whose registers are numpy arrays with an element for each lane. CTAs that are at the same instruction run
side by side as one group (`core.wave`); `program.side_by_side` says which steps may be executed so.
`run(observer=...)` takes a `Profile` (counts), a `Trace` (a line for each instruction), a `Timeline` or another
`Observer`; the command `tirx-sim` does all of this.

To add an instruction, write a decoder in the module of its family in `isa/` and register it by the first part of its
opcode. It takes every modifier it knows from the `Decoder` (what is left is an error), asks it for sources and
destinations, and returns the step, which gets the thread group and the mask of the lanes that execute it:

    @instruction("brev")
    def _brev(decoder: Decoder) -> Step:
        value_type = decoder.type(B32, B64)
        decoder.finish(2)
        return elementwise(decoder, reverse_bits, value_type, value_type)
"""

from __future__ import annotations

from tirx.sim.api import entries, run
from tirx.sim.core.observer import Observer, Observers
from tirx.sim.errors import SimError, SimWarning
from tirx.sim.pointer_table import PointerTable
from tirx.sim.profile import Profile
from tirx.sim.tensor_map import TensorMap
from tirx.sim.timeline import Timeline
from tirx.sim.trace import Dump, Trace

__all__ = [
    "Dump",
    "Observer",
    "Observers",
    "PointerTable",
    "Profile",
    "SimError",
    "SimWarning",
    "TensorMap",
    "Timeline",
    "Trace",
    "entries",
    "run",
]
