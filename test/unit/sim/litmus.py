"""
Litmus tests of order through global memory, and of exits of blocks: pairs of a fault and its right twin, and what the
simulator says of them.

A file of `test/litmus` has tests of one subject, separated by lines `// -----`. A test is the body of a kernel below a
header of comments:

    // flag_weak: the flag is written by a weak store
    // right: by a strong one
    // launch: grid=2 block=64 target=sm_90a
    // hardware: warning global weak flag
    // x: zeros(4) -> [42, 0, 0, 0]

`launch` has the default grid=1 block=32 cluster=1 target=sm_80 (the first with these instructions) version=8.8 jobs=1;
`cluster=1|2` is 1 for the fault, 2 for its twin. `prerequisite=x,y` names arrays of the grid before. `hardware` and
`strict` are the verdicts of the fault (`accept`, `warning` and its rule, or `error`, which is the default). The other
lines are the arguments: numpy expressions of 32-bit unsigned numbers, where they have no other type, which may name the
arguments before. Behind `->` is what they are after the right twin. A tensor map is a parameter by value, or one in
global memory, if the kernel replaces its fields.

A line that ends in `// fault` or `// right` is in one of the twins only. `// race` is a line that an error may name.

A kernel has these registers, each defined if the body uses it: the address `%x` of the argument x; `%x_t`, `%x_b` and
`%x_g`, which are 4 bytes times the thread, the block, or the thread of the grid behind it; `%t` (thread), `%b` (block),
`%c` (rank in the cluster), `%s` (4096 bytes of shared memory), `%s_t`, `%m` (an mbarrier of one arrival), and the
predicates `%thread0`, `%block0` and `%warp0`. `%p<15>`, `%r<62>` and `%d<32>` are free. The body ends in the label `E`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from tirx.sim import SimError, SimWarning, TensorMap, run
from tirx.sim.errors import HazardError

FOLDER = Path(__file__).resolve().parents[2] / "litmus"
TARGETS = ("sm_80", "sm_90a", "sm_100a")
LEVELS: tuple[Level, ...] = ("hardware", "strict")
ACCEPT, WARNING, ERROR, ELSEWHERE, WRONG = "accept", "warning", "error", "error elsewhere", "wrong"
"""Verdicts. `error elsewhere` names a line that is not of the race, `wrong` is a right twin with other numbers."""

Level: TypeAlias = Literal["hardware", "strict"]
_MOST = 200_000  # warp instructions
_NAMES: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in ("zeros", "full", "arange", "where", "r_")},
    "TensorMap": TensorMap,
}
_LAUNCH: Mapping[str, str] = {
    **dict.fromkeys(("grid", "cluster", "jobs"), "1"),
    "block": "32",
    "target": "sm_80",
    "version": "8.8",
    "prerequisite": "",
}
# Registers for the body: how each is computed, from %d31 and %r63 if need be.
_REGISTERS = {
    "t": (".b32", "mov.u32 %t, %tid.x;"),
    "b": (".b32", "mov.u32 %b, %ctaid.x;"),
    "c": (".b32", "mov.u32 %c, %cluster_ctarank;"),
    "s": (".b32", "mov.u32 %s, smem;"),
    "s_t": (".b32", "mov.u32 %r63, %tid.x; mov.u32 %s_t, smem; mad.lo.u32 %s_t, %r63, 4, %s_t;"),
    "thread0": (".pred", "mov.u32 %r63, %tid.x; setp.eq.u32 %thread0, %r63, 0;"),
    "warp0": (".pred", "mov.u32 %r63, %tid.x; setp.lt.u32 %warp0, %r63, 32;"),
    "m": (
        ".b32",
        "mov.u32 %m, smem; add.u32 %m, %m, 4088; mov.u32 %r63, %tid.x; setp.eq.u32 %p15, %r63, 0; "
        "@%p15 mbarrier.init.shared::cta.b64 [%m], 1; {fence} bar.sync 0;",
    ),
    "block0": (".pred", "mov.u32 %r63, %ctaid.x; setp.eq.u32 %block0, %r63, 0;"),
}
_INDICES = {
    "_t": "mov.u32 %r63, %tid.x;",
    "_b": "mov.u32 %r63, %ctaid.x;",
    "_g": "mov.u32 %r63, %ctaid.x; mov.u32 %r62, %ntid.x; mul.lo.u32 %r63, %r63, %r62; "
    "mov.u32 %r62, %tid.x; add.u32 %r63, %r63, %r62;",
}


class LitmusError(Exception):
    """A file of litmus tests that cannot be read."""


@dataclass(frozen=True)
class Twin:
    """A fault or its right twin: how it is launched, and the verdict expected at each level."""

    name: str
    launch: Mapping[str, str]
    lines: Sequence[tuple[str, bool]]
    """The lines of the body; True for those of the race."""
    arguments: Mapping[str, tuple[str, str]]
    """The values of each before the launch, and after it (empty: whatever they are)."""
    expected: Mapping[Level, str]
    rule: str
    """The rule of the expected warning; empty: any of them."""

    @property
    def is_right(self) -> bool:
        return self.name.endswith(".right")

    @property
    def targets(self) -> Sequence[str]:
        return TARGETS[TARGETS.index(self.launch["target"]) :]

    @property
    def jobs(self) -> int:
        """Processes; more than one is for launches without a seed."""
        return int(self.launch["jobs"])

    def cases(self, seeds: Sequence[int | None], targets: Sequence[str] = TARGETS) -> list[tuple[str, int | None]]:
        """Returns the targets and seeds to run it with: for several processes one target, and no seed."""
        if self.jobs > 1:
            return [(self.targets[0], None)] if self.targets[0] in targets and None in seeds else []
        return [(target, seed) for target in self.targets if target in targets for seed in seeds]

    def ptx(self, target: str) -> str:
        """Returns the module for a target."""
        return "\n".join(text for text, _ in self._module(target))

    def race_lines(self, target: str) -> set[int]:
        """Returns the lines of the module that an error may name, from 1."""
        return {number for number, (_, races) in enumerate(self._module(target), start=1) if races}

    def _module(self, target: str) -> list[tuple[str, bool]]:
        body = "\n".join(text for text, _ in self.lines)
        by_value = self._maps_by_value()
        parameters = ", ".join(
            f".param .align 64 .b8 p_{name}[128]" if name in by_value else f".param .u64 p_{name}"
            for name in self.arguments
        )
        head = [f".version {self.launch['version']}", f".target {target}", ".address_size 64"]
        head += [f".visible .entry k({parameters})", "{"]
        head += ["  .reg .pred %p<16>;", "  .reg .b32 %r<64>;", "  .reg .b64 %d<32>;"]
        head += ["  .shared .align 128 .b8 smem[4096];", *self._registers(set(re.findall(r"%(\w+)", body)), target)]
        return [*((text, False) for text in head), *self.lines, ("E:", False), ("  ret;", False), ("}", False)]

    def _registers(self, used: set[str], target: str) -> Iterator[str]:
        fence = "" if target == "sm_80" else "fence.mbarrier_init.release.cluster;"
        for name in self._maps_by_value():
            yield f"  .reg .b64 %{name}; mov.b64 %{name}, p_{name}; cvta.param.u64 %{name}, %{name};"
        for name in [each for each in self.arguments if each not in self._maps_by_value()]:
            yield f"  .reg .b64 %{name}; ld.param.u64 %{name}, [p_{name}]; cvta.to.global.u64 %{name}, %{name};"
            for suffix, index in _INDICES.items():
                if (own := f"{name}{suffix}") in used:
                    yield f"  .reg .b64 %{own}; {index} mad.wide.u32 %{own}, %r63, 4, %{name};"
        for name, (kind, code) in _REGISTERS.items():
            if name in used:
                yield f"  .reg {kind} %{name}; {code.format(fence=fence)}"

    def _maps_by_value(self) -> list[str]:
        """Tensor maps that are parameters themselves: those that the kernel does not change."""
        changed = any("tensormap.replace" in text for text, _ in self.lines)
        return [name for name, (values, _) in self.arguments.items() if "TensorMap" in values and not changed]

    def values(self) -> dict[str, Any]:
        """Returns new arguments, by name."""
        found: dict[str, Any] = {}
        for name, (text, _) in self.arguments.items():
            value = eval(text, {**_NAMES, **found})
            found[name] = value if isinstance(value, TensorMap) else _typed(value)
        return found

    def results(self) -> dict[str, Any]:
        """Returns the arguments that are known after the right twin, by name."""
        types = {name: value.dtype for name, value in self.values().items() if not isinstance(value, TensorMap)}
        known = {name: after for name, (_, after) in self.arguments.items() if after}
        return {name: np.asarray(eval(after, dict(_NAMES))).astype(types[name]) for name, after in known.items()}

    def verdict(self, level: Level, target: str, seed: int | None = None) -> str:
        """Runs the kernel, and returns the verdict: one of those above, a warning with its rule, or another fault."""
        values, warnings = self.values(), list[SimWarning]()
        more: dict[str, Any] = {}
        if self.launch["prerequisite"]:
            more["prerequisite"] = [values[name] for name in self.launch["prerequisite"].split(",")]
        grid, block, cluster = (int(self.launch[name]) for name in ("grid", "block", "cluster"))
        try:
            run(
                *(self.ptx(target), "k", grid, block, list(values.values()), 0, cluster),
                check=level,
                seed=seed,
                max_instructions=_MOST,
                jobs=self.jobs,
                report=warnings.append,
                **more,
            )
        except HazardError as error:
            return ERROR if error.line in self.race_lines(target) else f"{ELSEWHERE}: {_first_line(error)}"
        except SimError as error:
            return f"fault: {_first_line(error)}"
        if self.is_right:
            for name, expected in self.results().items():
                if values[name].tolist() != expected.tolist():
                    return f"{WRONG}: {name} is {values[name].tolist()}"
        rules = sorted({each.rule for each in warnings if each.rule.startswith("global ")})
        return f"{WARNING} {', '.join(rules)}" if rules else ACCEPT

    def agrees(self, level: Level, verdict: str) -> bool:
        """Returns True for the expected verdict."""
        expected = self.expected[level]
        if expected == WARNING:
            return verdict.startswith(WARNING) if not self.rule else verdict == f"{WARNING} {self.rule}"
        return verdict == expected


@dataclass(frozen=True)
class Pair:
    """A fault, and its right twin."""

    name: str
    fault: Twin
    right: Twin

    @property
    def twins(self) -> tuple[Twin, Twin]:
        return self.fault, self.right


def pairs(folder: Path = FOLDER) -> list[Pair]:
    """Reads all tests. Raises LitmusError for a test that cannot be read, and for two of one name."""
    found: dict[str, Pair] = {}
    for path in sorted(folder.glob("*.ptx")):
        for chunk in re.split(r"^// -----\n", path.read_text(), flags=re.MULTILINE):
            pair = _read(chunk.strip().splitlines(), path.name)
            if pair.name in found:
                raise LitmusError(f"{path.name}: expected one test {pair.name}, found two")
            found[pair.name] = pair
    return list(found.values())


def _read(lines: Sequence[str], place: str) -> Pair:
    head = [line for line in lines if line.startswith("// ")]
    fields = dict(line[3:].split(": ", 1) for line in head)
    name = next(iter(fields))
    if "right" not in fields or not re.fullmatch(r"\w+", name):
        raise LitmusError(f"{place}: expected `// NAME: why` and `// right: why`, found {head}")
    given = dict(each.split("=", 1) for each in fields.get("launch", "").split())
    if not given.keys() <= _LAUNCH.keys():
        raise LitmusError(f"{place}: {name}: expected {', '.join(_LAUNCH)}, found {', '.join(given)}")
    launch = {**_LAUNCH, **given}
    hardware, _, rule = fields.get("hardware", ERROR).partition(" ")
    fault: dict[Level, str] = {"hardware": hardware, "strict": fields.get("strict", ERROR)}
    arguments: dict[str, tuple[str, str]] = {}
    for key, text in list(fields.items())[1:]:
        if key not in ("right", "launch", "hardware", "strict"):
            before, _, after = text.partition(" -> ")
            arguments[key] = before, after
    body = lines[len(head) :]
    twins: list[Twin] = []
    for kind, other, expected in (("fault", "right", fault), ("right", "fault", dict.fromkeys(LEVELS, ACCEPT))):
        kept = [re.split(r"\s*// ", line) for line in body if f"// {other}" not in line]
        own = {key: text.split("|")[-1 if kind == "right" else 0] for key, text in launch.items()}
        code = [(text, "race" in marks) for text, *marks in kept]
        if kind == "right" or "error" not in expected.values():
            code = [(text, False) for text, _ in code]
        twins.append(Twin(f"{name}.{kind}", own, code, arguments, expected, rule))
    return Pair(name, *twins)


def _typed(value: Any) -> Any:
    array = np.asarray(value)
    return array.astype(np.uint32) if array.dtype.name in ("int64", "float64") else array


def _first_line(error: SimError) -> str:
    return str(error).splitlines()[0][:120]
