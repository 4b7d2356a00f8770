"""NVIDIA GPU targets as data: names, first PTX version, shared memory.

PTX versions and static limits are what `ptxas` 13.5 accepts; opt-in limits are those of the CUDA programming guide,
"Technical Specifications per Compute Capability".
"""

from __future__ import annotations

import re

from tirx.values import dataclass

PtxVersion = tuple[int, int]
"""A PTX ISA version `(major, minor)`, compared as a tuple."""

_RESERVED = 1024
"""Bytes of shared memory that the system takes for each block (CUDA C++ programming guide, 16.7.3 "Shared Memory")."""

_NAME = re.compile(r"sm_(\d+)([af]?)")


class TargetError(ValueError):
    """A target name that tirx does not know."""

    rule = "target-name"


@dataclass(frozen=True)
class Target:
    """One value of the PTX `.target` directive.

    `shared_limit` is the most shared memory one block may use (bytes, opt-in, static and dynamic together);
    `static_shared_limit` is the most that `.shared` declarations of an entry may take (bytes): 48 KiB except on the
    architecture-specific targets.
    """

    name: str
    min_ptx: PtxVersion
    shared_limit: int
    static_shared_limit: int

    def blocks_of_sm(self, shared: int) -> int:
        """
        The most blocks that use `shared` bytes each and run on an SM at the same time, at least 1.

        An SM has the limit of one block and 1 KiB; the system takes 1 KiB for each block.
        """
        return max(1, (self.shared_limit + _RESERVED) // (shared + _RESERVED))

    @property
    def cc(self) -> int:
        """Compute capability times ten, e.g. 100 for `sm_100a`."""
        return int(self._match[1])

    @property
    def suffix(self) -> str:
        """`""`, `"a"` (this chip only) or `"f"` (this chip's family)."""
        return self._match[2]

    @property
    def _match(self) -> re.Match[str]:
        match = _NAME.fullmatch(self.name)
        assert match is not None, self.name
        return match

    @classmethod
    def parse(cls, name: str) -> Target:
        """The target called `name`; TargetError lists the supported ones and the closest spelling."""
        if name in TARGETS:
            return TARGETS[name]
        from difflib import get_close_matches

        close = get_close_matches(name, TARGETS, n=1, cutoff=0.0)
        raise TargetError(
            f"unknown target '{name}'; did you mean '{close[0]}'? Supported targets: {', '.join(TARGETS)}"
        )

    def __str__(self) -> str:
        return self.name


_KIB = 1024

_ROWS: tuple[tuple[str, PtxVersion, int, int], ...] = (
    # name, first PTX version, shared KiB per block, static shared KiB per block
    ("sm_70", (6, 0), 96, 48),
    ("sm_72", (6, 1), 96, 48),
    ("sm_75", (6, 3), 64, 48),
    ("sm_80", (7, 0), 163, 48),
    ("sm_86", (7, 1), 99, 48),
    ("sm_87", (7, 4), 163, 48),
    ("sm_88", (9, 0), 99, 48),
    ("sm_89", (7, 8), 99, 48),
    ("sm_90", (7, 8), 227, 48),
    ("sm_90a", (8, 0), 227, 227),
    ("sm_100", (8, 6), 227, 48),
    ("sm_100a", (8, 6), 227, 227),
    ("sm_100f", (8, 8), 227, 48),
    ("sm_103", (8, 8), 227, 48),
    ("sm_103a", (8, 8), 227, 227),
    ("sm_103f", (8, 8), 227, 48),
    ("sm_110", (9, 0), 227, 48),
    ("sm_110a", (9, 0), 227, 227),
    ("sm_110f", (9, 0), 227, 48),
    ("sm_120", (8, 7), 99, 48),
    ("sm_120a", (8, 7), 99, 99),
    ("sm_120f", (8, 8), 99, 48),
    ("sm_121", (8, 8), 99, 48),
    ("sm_121a", (8, 8), 99, 99),
    ("sm_121f", (8, 8), 99, 48),
)

TARGETS: dict[str, Target] = {
    name: Target(name, min_ptx, shared * _KIB, static * _KIB) for name, min_ptx, shared, static in _ROWS
}
"""Every supported target by name, oldest first."""


def format_version(version: PtxVersion) -> str:
    """`(8, 6)` as `8.6`."""
    return f"{version[0]}.{version[1]}"
