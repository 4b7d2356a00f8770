"""Targets of random kernels: every one from sm_75 on that has the instructions a generator counts on."""

from __future__ import annotations

import random
import re

from tirx.hw.targets import TARGETS as _ALL

TARGETS = tuple(name for name, target in _ALL.items() if target.cc >= 75)
_OTHERS = {
    "sm_80": ("sm_80", "sm_86", "sm_87", "sm_88"),
    "sm_89": ("sm_89", *(name for name, target in _ALL.items() if target.cc >= 90 and not target.suffix)),
    "sm_100a": tuple(name for name, target in _ALL.items() if 100 <= target.cc < 120 and target.suffix),
    "sm_120a": tuple(name for name, target in _ALL.items() if target.cc >= 120 and target.suffix),
}
"""A target -> those of which kernels for it are kernels, too."""

FAMILIES = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
"""One target of each kind."""


def of_any_target(text: str, rng: random.Random) -> str:
    """Returns the text of a kernel, now and then for another target that has the same instructions."""

    def other(found: re.Match[str]) -> str:
        return f'target("{rng.choice(_OTHERS.get(found[1], (found[1],)))}")'

    return re.sub(r'target\("(\w+)"\)', other, text) if rng.random() < 0.5 else text
