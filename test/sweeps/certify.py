"""
`python test/sweeps/certify.py [SHARE]`: every closed form of `test/instruction_forms.py` by `ptxas`, on targets that
have it and on one that has not, and every form of the instructions of the dialects (`families.py`) on every target.
SHARE: every so many-th form only.

Forms that a target has are assembled together; of those that it has not, every line has to be an error. It prints each
form on which `ptxas` disagrees, and the counts.
"""

from __future__ import annotations

import os
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
from unit.conftest import rejected_instructions
from unit.dialects.ptx.families import FAMILIES, NEWEST, NO_FORMS
from unit.dialects.ptx.forms import Form, entries_of, forms_of

from tirx.hw.errors import LegalityError
from tirx.hw.features import supports
from tirx.hw.targets import TARGETS, PtxVersion, Target
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
    "add, sub and fma of four floats of 8 bits and less: ptxas 13.5.37 has mul only, of all types and modifiers tried",
    "mul of them to e2m3x4 or e3m2x4: ptxas 13.5.37 knows the form and has it on no target tried (100a to 121a)",
    "multimem of e4m3 and e5m2 (sm_100 and newer): no instruction of the dialect has them",
    "instructions of which no row of features speaks: as old as sm_70; those of the dialects are assembled",
    *(f"{name}: {reason}" for name, reason in NO_FORMS.items()),
)
"""Forms that no row has, with the reason."""

MEASURED = (
    "ptxas 13.5.37 ends with an error of its own (C7308) at some tcgen05.ld.red of 128 registers",
    "ptxas 13.5.37 ends with an error of its own (C7907) at some kernels of many forms: they are asked in halves",
    "modifiers and operands of each form: ptxas 13.5.37, this command",
    "set of packed integers is VISET.BM, the instruction of set.u32.u32: all bits of an element (nvdisasm 13.5.37)",
    "each of the 36 forms of packed arithmetic on two types is one instruction: FHADD2 for add and sub, FHMUL2 or "
    "HMUL2 for mul, FHFMA2 for fma (ptxas and nvdisasm 13.5.37, sm_107a)",
    "ptxas 13.5.37 ends with an error of its own (C7907) at set.eq.u8x4 of two constants",
    "fabric.wait.sync_restrict::reads is deprecated from 9.5 on, with a warning",
)
"""Facts that only ptxas tells."""

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
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        found = [text for part in workers.map(disagreements, *zip(*jobs, strict=True)) for text in part]
    return found, legal, sum(len(each) for _, each, _ in jobs)


def certify_dialects(share: int = 1) -> tuple[list[str], int, int]:
    """Disagreements about operations, the number of their legal forms, and that of forms on targets.

    A form is assembled in the PTX version that tirx prints for it; one that a target lacks has to be refused in the
    newest.
    """
    forms = [form for family in FAMILIES for form in forms_of(list(family())[::share]) if form.message is None]

    def disagreements_on(name: str) -> list[str]:
        target, versions = Target.parse(name), defaultdict[PtxVersion | None, list[Form]](list)
        for form in forms:
            versions[form.needs(target)].append(form)
        found: list[str] = []
        for version, those in versions.items():
            refused = rejected_instructions(entries_of(those), name, version or NEWEST).keys()
            wrong = [form.text for form in those if (form.text in refused) != (version is None)]
            if version is not None:  # alone: some fit no kernel with the others
                wrong = [text for text in wrong if rejected_instructions([[text]], name, version)]
            found += [f"{name} {'lacks' if version is None else 'has'}: {text}" for text in wrong]
        return found

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        found = [text for part in workers.map(disagreements_on, TARGETS) for text in part]
    return found, len(forms), len(forms) * len(TARGETS)


def main() -> int:
    share, wrong = int(sys.argv[1]) if len(sys.argv) > 1 else 1, 0
    for what, certified, targets in (("closed", certify, CERTIFIED), ("the dialects'", certify_dialects, TARGETS)):
        start = time.monotonic()
        found, legal, assembled = certified(share)
        wrong += len(found)
        print(*found, sep="\n")
        print(
            f"{what} forms: {legal} legal on {len(targets)} of {len(TARGETS)} targets, {assembled} assembled, "
            f"{len(found)} not as the table says, {time.monotonic() - start:.0f} s"
        )
    for note in MEASURED:
        print(f"MEASURED: {note}")
    for note in NOT_REGISTERED:
        print(f"NOT REGISTERED: {note}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
