"""Fixtures for single instructions, which `ptxas` assembles."""

import re
import subprocess
from collections.abc import Callable, Sequence

import pytest

from tirx.hw.targets import PtxVersion, format_version
from tirx.ptx.ptxas import assemble, find_ptxas

REGISTERS = {
    "pred": "%p<4>",
    "b8": "%b<4>",
    "b16": "%h<16>",
    "b32": "%r<140>",
    "b64": "%rd<4>",
    "b128": "%rq<4>",
    "f32": "%f<140>",
    "f64": "%fd<4>",
}
"""Registers that an instruction may name."""

_RARE = {"b8": "%b0", "b128": "%rq"}
"""Registers that are declared only where they are used."""

_OLDEST = (13, 3)
"""The oldest `ptxas` known to reject all that the verifiers refuse: 13.0 takes `tcgen05.dealloc` of no columns."""

_ERROR = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")

Rejected = Callable[[Sequence[Sequence[str]], str, PtxVersion], dict[str, str]]


def rejected_instructions(entries: Sequence[Sequence[str]], target: str, version: PtxVersion) -> dict[str, str]:
    """The instructions of `entries` (each the body of a kernel) that `ptxas` rejects -> its message.

    `ptxas` names every bad line but those behind a syntax error, so it is asked again without the bad ones until it
    accepts the rest.
    """
    rejected: dict[str, str] = {}
    while True:
        lines = [f".version {format_version(version)}", f".target {target}", ".address_size 64"]
        instructions: dict[int, str] = {}
        for number, entry in enumerate(entries):
            lines += [f".visible .entry k{number}(.param .align 64 .b8 map[128])", "{"]
            text = " ".join(entry)
            used = {type_: names for type_, names in REGISTERS.items() if _RARE.get(type_, "") in text}
            lines += [f".reg .{type_} {names};" for type_, names in used.items()]
            for instruction in entry:
                if instruction in rejected:
                    continue
                for line in instruction.split("\n"):
                    lines.append(line if line.endswith(":") or line.startswith("{") else f"{line};")
                    instructions[len(lines)] = instruction
            lines += ["ret;", "}"]
        result = assemble("\n".join(lines), target, warnings_as_errors=False)
        if result.ok:
            return rejected
        found = {
            instructions[int(line)]: message
            for line, message in _ERROR.findall(result.stderr)
            if int(line) in instructions
        }
        if not found:  # an error of ptxas itself: the halves by themselves
            kept = [(at, each) for at, entry in enumerate(entries) for each in entry if each not in rejected]
            assert len(kept) > 1, result.stderr
            for half in (kept[: len(kept) // 2], kept[len(kept) // 2 :]):
                parts = [[each for own, each in half if own == at] for at in range(len(entries))]
                rejected |= rejected_instructions(parts, target, version)
            return rejected
        rejected |= found


@pytest.fixture(scope="session")
def rejected() -> Rejected:
    """The instructions, grouped by kernel, that `ptxas` rejects for a target and a version -> its message."""
    if (ptxas := find_ptxas()) is None:
        pytest.skip("ptxas is not installed")
    said = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", said)
    assert release is not None, said
    if (int(release[1]), int(release[2])) < _OLDEST:
        pytest.skip(f"expected ptxas {format_version(_OLDEST)} or later, found {release[1]}.{release[2]}")
    return rejected_instructions
