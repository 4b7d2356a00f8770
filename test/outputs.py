"""
Everything that the FileCheck tests and the examples print, by digests: a change that changes it says so.

FileCheck lines name what a test is about; that nothing else of its output changes unseen is what `test/outputs.txt` is
for. It has a digest of all that the commands of a test print, diagnostics that `--verify-diagnostics` compares
included, of the PTX, the remarks and the launch descriptors of each example, of what the simulator says to wrong forms
of each instruction, of what all forms of it do and of its results for edges, and of explanations of words and PTX.
`pytest` compares. What the simulator computes is recorded in full (`test/unit/sim/data/outputs`), so that a failure
shows the words that differ. Of the others, `--since COMMIT` shows the lines that differ: it makes them there once more.

    python test/outputs.py              which outputs are not the recorded ones
    python test/outputs.py --since HEAD examples/attention    how outputs differ from those of a commit
    python test/outputs.py --update     records the present ones: part of every change that means to change them
    python test/outputs.py --update test/passes/tirx-mem2reg.mlir examples/attention    records some
    python test/outputs.py --write DIR  writes the outputs as files, so that `diff -r` compares those of two checkouts
"""

# pyright: basic, reportMissingTypeStubs=false
# lit has no type information.

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_suffix(".txt")
STORED = ROOT / "test" / "unit" / "sim" / "data" / "outputs"
_IN_FULL = ("executing/", "said/roundings", "said/tensor-core-sums")
_LINE, _LINES, _WORDS = 160, 6, 8  # how much of a difference is shown
_COMMAND = "python test/outputs.py"

_VARYING = {
    "test/tools/help.mlir": "argparse writes it, each version of Python in its own way",
    "test/tools/time-passes.mlir": "times",
}
"""Tests whose output is not always the same, and why."""


class ChangedOutputError(Exception):
    """An output is not the recorded one."""


def digest(text: str) -> str:
    """The digest of an output, which does not depend on where the checkout is."""
    return hashlib.sha256(text.replace(str(ROOT), "").encode()).hexdigest()[:12]


@cache
def recorded() -> dict[str, str]:
    """The digests of the record by name."""
    return dict(line.split() for line in RECORD.read_text(encoding="utf-8").splitlines())


def stored(name: str) -> str | None:
    """The recorded text of an output that is recorded in full, None if there is none."""
    path = STORED / f"{name}.xz"
    return lzma.decompress(path.read_bytes()).decode() if path.exists() else None


def differences(before: str, after: str) -> str:
    """The lines that differ, and of lines with as many words the first words that do."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) != len(new):
        return "\n".join(line[:_LINE] for line in islice(unified_diff(old, new, "recorded", "now", "", "", 0), _LINES))
    pairs = [(line, other) for line, other in zip(old, new, strict=True) if line != other]
    said = [f"{len(pairs)} of {len(old)} lines differ:"]
    for line, other in pairs[:_LINES]:
        words = list(zip_longest(line.split(" "), other.split(" "), fillvalue="nothing"))
        found = [f"word {at}: {was[:_LINE]}, now {now[:_LINE]}" for at, (was, now) in enumerate(words) if was != now]
        said.append(f"{other[:_LINE]}...\n    {len(found)} words differ: " + "; ".join(found[:_WORDS]))
    return "\n".join(said)


def check(name: str, text: str) -> None:
    """Compares an output with the record. Raises ChangedOutputError if it is another one."""
    if name.startswith(_IN_FULL):
        before = stored(name)
        if before != text:
            raise ChangedOutputError(
                f"the output of {name} is not the recorded one; if that is meant, `{_COMMAND} --update {name}` records "
                f"it. {differences(before or '', text)}"
            )
    elif name not in _VARYING and recorded().get(name) != digest(text):
        raise ChangedOutputError(
            f"the output of {name} is not the recorded one. `{_COMMAND} --since HEAD {name}` shows how it differs from "
            f"that of the last commit; if that is meant, `{_COMMAND} --update {name}` records it"
        )


def since(commit: str, outputs: Mapping[str, str]) -> str:
    """
    A unified diff of outputs from those that a commit makes, in a checkout of its own.

    Raises CalledProcessError if there is no such commit, or if it makes no outputs.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree, written = Path(folder, "tree"), Path(folder, "written")
        written.mkdir()
        found = _git("rev-parse", "--verify", f"{commit}^{{commit}}").strip()
        _git("clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(tree))
        _git("-C", str(tree), "checkout", "--quiet", found)
        command = [sys.executable, "test/outputs.py", "--write", str(written), *outputs]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
        if "Traceback" in done.stderr:  # exit code 1, as if its own record differed
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        files = {name: written / f"{name}.out" for name in outputs}
        before = {name: path.read_text(encoding="utf-8") if path.exists() else "" for name, path in files.items()}
    lines: list[str] = []
    for name, after in outputs.items():
        old, new = before[name].splitlines(), after.replace(str(ROOT), "").splitlines()
        lines += unified_diff(old, new, f"{name} at {commit}", f"{name} now", lineterm="")
    return "\n".join(lines)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def example_text(name: str) -> str:
    """Compiles an example, and returns PTX, remarks and launch descriptors."""
    from unit.examples import compiled

    example = compiled(name)
    launches = [kernel.launch.to_json() for kernel in example.program.kernels.values()]
    remarks = [json.dumps(diagnostic.to_json()) for diagnostic in example.reported]
    return "\n".join([example.program.ptx, *remarks, json.dumps(launches, indent=1)])


def _outputs(names: Sequence[str]) -> dict[str, str]:
    """The outputs of these names, of all if there are none."""
    import lit.discovery
    import lit.LitConfig
    from lit_inprocess import printed_by
    from unit.examples import PROGRAMS
    from unit.printed import PRINTED
    from unit.printed_signatures import signatures
    from unit.sim.executed import EXECUTED, executions
    from unit.sim.wrong_forms import ROOTS, answers

    config = lit.LitConfig.LitConfig("outputs", [], "error", False, False, [], False, False, False, "smart", {})
    found: dict[str, str] = {}
    for test in lit.discovery.find_tests_for_inputs(config, [str(ROOT / "test")]):
        name = Path(test.getSourcePath()).relative_to(ROOT).as_posix()
        wanted = name not in _VARYING and (not names or name in names)
        if wanted and (text := printed_by(test, config)) is not None:
            found[name] = text
    examples = {f"examples/{path.stem}": path.stem for path in PROGRAMS}
    roots = {f"decoding/{root}": root for root in ROOTS}
    found |= {key: example_text(stem) for key, stem in examples.items() if not names or key in names}
    said = PRINTED | {"said/signatures": signatures}
    found |= {key: say() for key, say in said.items() if not names or key in names}
    done = {f"executing/{root}": root for root in EXECUTED}
    found |= {key: executions(root) for key, root in done.items() if not names or key in names}
    return found | {key: answers(root) for key, root in roots.items() if not names or key in names}


def _store(name: str, text: str | None) -> None:
    """Records an output in full, or with None no longer."""
    path = STORED / f"{name}.xz"
    if text is None:
        path.unlink(missing_ok=True)
    elif text != stored(name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def main() -> int:
    """Compares, records or writes all outputs."""
    parser = argparse.ArgumentParser(prog="test/outputs.py", description="outputs of FileCheck tests and examples")
    parser.add_argument("names", nargs="*", metavar="NAME", help="those to look at, as the record names them")
    parser.add_argument("--update", action="store_true", help="record the present outputs")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the outputs as files")
    parser.add_argument("--since", metavar="COMMIT", help="show how the outputs differ from those of a commit")
    flags = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "test")]
    outputs = _outputs(flags.names)
    if flags.since is not None:
        try:
            print(since(flags.since, outputs) or f"no difference from {flags.since}")
        except subprocess.CalledProcessError as error:
            parser.error(f"{' '.join(error.cmd)}:\n{error.stderr}")
        return 0
    if flags.write is not None:
        for name, text in outputs.items():
            path = flags.write / f"{name}.out"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(str(ROOT), ""), encoding="utf-8")
    full = [path.relative_to(STORED).with_suffix("").as_posix() for path in STORED.rglob("*.xz")]
    record = recorded() | {name: digest(stored(name) or "") for name in full}
    before = {name: each for name, each in record.items() if not flags.names or name in flags.names}
    present = {name: digest(text) for name, text in outputs.items()}
    for name in sorted({name for name, _ in present.items() ^ before.items()}):
        print(f"not the recorded output: {name}")
    if flags.update:
        for name in [each for each in before | present if each.startswith(_IN_FULL)]:
            _store(name, outputs.get(name))
            present.pop(name, None)
        kept = {name: each for name, each in recorded().items() if name not in before} | present
        RECORD.write_text("".join(f"{name} {kept[name]}\n" for name in sorted(kept)), encoding="utf-8")
        return 0
    return int(present != before)


if __name__ == "__main__":
    sys.exit(main())
