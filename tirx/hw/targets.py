"""NVIDIA GPU targets as data: names, first PTX version, shared memory, multiprocessors.

PTX versions and static limits are what `ptxas` 13.5 accepts; opt-in limits are those of the CUDA programming guide,
"Technical Specifications per Compute Capability". Instructions of a target are rows of `tirx.hw.features`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tirx.values import dataclass

PtxVersion = tuple[int, int]
"""A PTX ISA version `(major, minor)`, compared as a tuple."""

SYSTEM_BYTES = 1024
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
    architecture-specific targets. `multiprocessors` is the number of blocks that run at once where an SM holds one:
    what a persistent grid is made for. It is None where that is not known.
    """

    name: str
    min_ptx: PtxVersion
    shared_limit: int
    static_shared_limit: int
    multiprocessors: int | None

    def blocks_of_sm(self, shared: int) -> int:
        """The most blocks that use `shared` bytes each and run on an SM at the same time, at least 1.

        An SM has the limit of one block and 1 KiB; the system takes 1 KiB for each block.
        """
        return max(1, (self.shared_limit + SYSTEM_BYTES) // (shared + SYSTEM_BYTES))

    @cached_property
    def cc(self) -> int:
        """Compute capability times ten, e.g. 100 for `sm_100a`."""
        return int(self._match[1])

    @cached_property
    def suffix(self) -> str:
        """`""`, `"a"` (this chip only) or `"f"` (this chip's family)."""
        return self._match[2]

    def is_of_family(self, first: Target) -> bool:
        """Returns True if the target has all that the family-specific target `first` has.

        These are the architecture- and family-specific targets of the same chip and of later chips whose compute
        capabilities have the same major number (PTX ISA, ".target").
        """
        return self.suffix != "" and self.cc // 10 == first.cc // 10 and self.cc >= first.cc

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
_STATIC = 48 * _KIB


@dataclass(frozen=True)
class _Chip:
    """The targets of a chip: its compute capability times ten, and the first PTX version of each suffix that it has.

    `shared` is the most KiB of shared memory for a block, `static` the most that declarations take on its target with
    suffix `a` where that is less. `multiprocessors` counts those of the largest product that NVIDIA sells (architecture
    white papers).
    """

    cc: int
    first: dict[str, PtxVersion]
    shared: int
    multiprocessors: int | None
    static: int | None = None

    def targets(self) -> Iterator[Target]:
        """The targets of the chip."""
        for suffix, ptx in self.first.items():
            shared = self.shared * _KIB
            static = (self.static or self.shared) * _KIB if suffix == "a" else _STATIC
            yield Target(f"sm_{self.cc}{suffix}", ptx, shared, static, self.multiprocessors)


_CHIPS = (
    _Chip(70, {"": (6, 0)}, 96, 80),  # V100
    _Chip(72, {"": (6, 1)}, 96, 8),  # Xavier
    _Chip(75, {"": (6, 3)}, 64, 72),  # TU102
    _Chip(80, {"": (7, 0)}, 163, 108),  # A100
    _Chip(86, {"": (7, 1)}, 99, 84),  # GA102
    _Chip(87, {"": (7, 4)}, 163, 16),  # Orin
    _Chip(88, {"": (9, 0)}, 99, 20),
    _Chip(89, {"": (7, 8)}, 99, 142),  # L40S
    _Chip(90, {"": (7, 8), "a": (8, 0)}, 227, 132),  # H100 SXM
    _Chip(100, {"": (8, 6), "a": (8, 6), "f": (8, 8)}, 227, 148),  # B200
    _Chip(103, {"": (8, 8), "a": (8, 8), "f": (8, 8)}, 227, 148),  # B300
    # Rubin: nobody has said how many multiprocessors it has. Blocks of more than 227 KiB have to opt in.
    _Chip(107, {"": (9, 4), "a": (9, 4), "f": (9, 4)}, 327, None, static=227),
    _Chip(110, {"": (9, 0), "a": (9, 0), "f": (9, 0)}, 227, 20),  # Jetson T5000
    _Chip(120, {"": (8, 7), "a": (8, 7), "f": (8, 8)}, 99, 170),  # RTX 5090
    _Chip(121, {"": (8, 8), "a": (8, 8), "f": (8, 8)}, 99, 48),  # GB10
)

TARGETS: dict[str, Target] = {target.name: target for chip in _CHIPS for target in chip.targets()}
"""Every supported target by name, oldest first."""


def format_version(version: PtxVersion) -> str:
    """`(8, 6)` as `8.6`."""
    return f"{version[0]}.{version[1]}"
