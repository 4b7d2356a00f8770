"""CPU seconds of `tirx-check`, in its default form, on each example: `python benchmarks/checking.py [FILE...]`.

Each is a process on one core, with all that it imports, which is compiled beforehand. Examples that name no target are
compiled for sm_90a. Exit code 1: one takes more than `--most` seconds, or its launches differ.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def checked(path: Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Runs `tirx-check` on a file. Returns its CPU seconds and what it said."""
    target = [] if " target(" in path.read_text() else ["--target", "sm_90a"]
    command = [sys.executable, "-m", "tirx.tools.tirx_check", str(path), *target]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done


def main() -> int:
    """Prints a line for each example, and the slowest one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, help="files (all examples and the gallery)")
    parser.add_argument("--most", type=float, default=5.0, help="seconds that one may take (5)")
    options = parser.parse_args()
    paths = options.paths or [*sorted(EXAMPLES.glob("*.mlir")), *sorted(EXAMPLES.glob("gallery/*.mlir"))]
    checked(paths[0])  # compiles modules of Python
    found: list[tuple[float, str]] = []
    wrong = 0
    for path in paths:
        seconds, done = checked(path)
        said = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["nothing"])[-1]
        print(f"{seconds:5.2f} s {'ok' if done.returncode == 0 else 'WRONG'} {said}", flush=True)
        found.append((seconds, path.name))
        wrong += done.returncode != 0
    slowest, slow = max(found), sum(seconds > options.most for seconds, _ in found)
    print(
        f"{len(found)} files, {wrong} wrong, {slow} above {options.most:g} s; "
        f"the slowest: {slowest[1]}, {slowest[0]:.2f} s"
    )
    return int(bool(wrong or slow))


if __name__ == "__main__":
    sys.exit(main())
