"""
`python test/sweeps/certify.py [SHARE]`: every closed form of `test/instruction_forms.py` by `ptxas`, on targets that
have it and on one that has not. SHARE: every so many-th form only.

Forms that a target has are assembled together; of those that it has not, every line has to be an error. It prints each
form on which `ptxas` disagrees, and the counts.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from instruction_features import instruction_features
from instruction_forms import FORMS

from tirx.hw.errors import LegalityError
from tirx.hw.features import supports
from tirx.hw.targets import TARGETS, Target
from tirx.ptx.ptxas import find_ptxas

CERTIFIED = (
    "sm_90a",
    "sm_100a",
    "sm_100f",
    "sm_103a",
    "sm_107a",
    "sm_107f",
    "sm_110a",
    "sm_120a",
    "sm_120f",
    "sm_121a",
)
"""Targets that differ in what they have."""

NOT_REGISTERED = (
    "orders of modifiers other than that of the ISA: ptxas takes most of them, and they mean the same",
    "a modifier twice, numbers where registers of predicates or descriptors are: ptxas takes some, no text has them",
    "instructions before sm_90: those that tirx prints are assembled by the tests of its operations",
)
"""What no row has, with the reason."""

MEASURED = (
    "ptxas 13.5.37 ends with an error of its own (C7308) at some tcgen05.ld.red of 128 registers",
    "modifiers and operands of each form: ptxas 13.5.37, this command",
)
"""What only ptxas tells."""

_REGISTERS = (
    ".reg .b32 %r<160>; .reg .b64 %rd<8>; .reg .b16 %rs<8>; .reg .b8 %b<8>; .reg .f32 %f<8>; .reg .pred %p<8>; "
    ".reg .b128 %q<2>;"
)
_CHUNK = 300


def refused_lines(target: str, forms: Sequence[str]) -> set[int]:
    """Indices of the forms that `ptxas` reports as errors on a target, each an entry of one module."""
    head = [".version 9.5", f".target {target}", ".address_size 64"]
    entries = (f".visible .entry k{i}() {{ {_REGISTERS} {form}; ret; }}" for i, form in enumerate(forms))
    text = "\n".join([*head, *entries, ""])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "forms.ptx")
        path.write_text(text)
        command = [str(find_ptxas()), f"-arch={target}", str(path), "-o", str(Path(folder, "forms.cubin"))]
        done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    lines = {int(found) - len(head) - 1 for found in re.findall(r"line (\d+); (?:error|fatal)(?!.*C7308)", said)}
    lines |= {int(found) for found in re.findall(r"error.*'k(\d+)'", said)}
    if done.returncode and not lines and "(C7308)" not in said:  # an error of the whole module
        half = len(forms) // 2
        behind = {half + index for index in refused_lines(target, forms[half:])} if half else {0}
        return behind | refused_lines(target, forms[:half]) if half else behind
    return lines


def disagreements(target: str, forms: Sequence[str], expected: bool) -> list[str]:
    """The forms that `ptxas` takes where a target lacks them, or refuses where it has them (`expected`)."""
    found: list[str] = []
    for start in range(0, len(forms), _CHUNK):
        part = forms[start : start + _CHUNK]
        refused = refused_lines(target, part)
        if not expected:  # after some errors, and behind one of syntax, ptxas says nothing more
            for index in [i for i in range(len(part)) if i not in refused]:
                if refused_lines(target, [part[index]]):
                    refused.add(index)
        found += [form for index, form in enumerate(part) if (index in refused) == expected]
    return [f"{target} {'has' if expected else 'lacks'}: {form}" for form in found]


def certify(share: int = 1) -> tuple[list[str], int, int]:
    """Disagreements with `ptxas`, the number of forms, and that of forms on targets."""
    has: defaultdict[str, list[str]] = defaultdict(list)
    lacks: defaultdict[str, list[str]] = defaultdict(list)
    forms = [text for form in FORMS for text in form.closed()][::share]
    legal = 0
    for number, text in enumerate(forms):
        try:
            features = instruction_features(text)
        except LegalityError:
            lacks[CERTIFIED[number % len(CERTIFIED)]].append(text)
            continue
        legal += 1
        without: list[str] = []
        for name in CERTIFIED:
            owned = supports(Target.parse(name), *features)
            (has[name] if owned else without).append(name if not owned else text)
        if without:
            lacks[without[number % len(without)]].append(text)
    jobs = [(name, each, which is has) for which in (has, lacks) for name, each in which.items()]
    with ThreadPoolExecutor(2) as workers:
        found = [text for part in workers.map(disagreements, *zip(*jobs, strict=True)) for text in part]
    return found, legal, sum(len(each) for _, each, _ in jobs)


def main() -> int:
    start = time.monotonic()
    found, legal, assembled = certify(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    print(*found, sep="\n")
    print(
        f"{legal} legal forms on {len(CERTIFIED)} of {len(TARGETS)} targets, {assembled} assembled, "
        f"{len(found)} not as the table says, {time.monotonic() - start:.0f} s"
    )
    for note in MEASURED:
        print(f"MEASURED: {note}")
    for note in NOT_REGISTERED:
        print(f"NOT REGISTERED: {note}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
