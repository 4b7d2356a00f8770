"""The generic address space: windows of the state spaces, and shared memory addresses of clusters."""

from __future__ import annotations

# Generic addresses: bits 40-47 say which window. The values are ours; only differences between windows matter.
WINDOW_SHIFT = 40
WINDOWS = {"shared": 0x7A, "local": 0x7B, "const": 0x7C, "param": 0x7D, "global": 0x7F}
SPACES = {window: space for space, window in WINDOWS.items()}
OFFSET_MASK = (1 << WINDOW_SHIFT) - 1

# cvta adds and subtracts this; global (and constant) addresses are generic addresses already.
GENERIC_BASE = {
    "shared": WINDOWS["shared"] << WINDOW_SHIFT,
    "local": WINDOWS["local"] << WINDOW_SHIFT,
    "const": 0,
    "param": WINDOWS["param"] << WINDOW_SHIFT,
    "global": 0,
}
GLOBAL_BASE = WINDOWS["global"] << WINDOW_SHIFT
CONST_BASE = WINDOWS["const"] << WINDOW_SHIFT

# An address of the shared::cluster window: bits 24 and up are the rank of the CTA, so that clearing bit 24 names the
# even CTA of a pair (as CUTLASS does). Addresses of shared::cta have the CTA's own rank in them.
RANK_SHIFT = 24
SHARED_OFFSET_MASK = (1 << RANK_SHIFT) - 1

# The first KiB of shared memory belongs to the system (CUDA C++ programming guide, "reserved shared memory").
SHARED_BASE = 1024
# Special registers that say where it is, and where the part lies that cooperative groups may use: 288 bytes, zero at
# the start (cooperative_groups/details/memory.h).
RESERVED_OFFSETS = {
    "%reserved_smem_offset_begin": 0,
    "%reserved_smem_offset_end": SHARED_BASE,
    "%reserved_smem_offset_cap": SHARED_BASE,
    "%reserved_smem_offset_0": 0,
    "%reserved_smem_offset_1": 512,
}
GROUPS_REGISTER = "%reserved_smem_offset_1"
GROUPS_BYTES = 288
# The most that a CTA may have, static and dynamic, in bytes: 227 KiB, and 327 KiB on Rubin.
SHARED_LIMIT = 232448
RUBIN_SHARED_LIMIT = 334848

# What stands for functions: addresses in no window.
FUNCTION_BASE = 0x6F << WINDOW_SHIFT
FUNCTION_STEP = 16
