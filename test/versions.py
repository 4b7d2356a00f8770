"""
Runs tests on several versions of Python and numpy: `python test/versions.py`, `--python PATH` for interpreters.

Every interpreter gets the oldest numpy and ml_dtypes that it can have and tirx accepts, and the newest ones; the newest
also the newest xDSL, which is reported only. Each combination is an environment of its own, outside of the tree. The
exit code is 1 if a test fails on a combination that `pyproject.toml` allows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_OLDEST_NUMPY = {"3.11": "1.26.0", "3.12": "1.26.0", "3.13": "2.1.0", "3.14": "2.3.2"}
"""The first numpy with wheels for a Python, if `pyproject.toml` allows it."""

_TESTS = (
    "test/unit/layout/test_seed.py", "test/unit/layout/test_swizzle.py", "test/unit/layout/test_notation.py",
    "test/unit/layout/test_vectors.py", "test/unit/smem", "test/unit/sim/test_limits.py",
    "test/unit/sim/test_memory.py", "test/unit/sim/test_number_forms.py", "test/unit/sim/test_mma_kinds.py",
    "test/unit/sim/test_kernels.py", "test/unit/builder", "test/unit/runtime", "test/unit/test_compile.py",
    "test/dialects", "test/tools",
)  # fmt: skip
_PACKAGES = ("numpy", "ml_dtypes", "xdsl")


def _interpreters(given: list[str]) -> dict[str, str]:
    """Interpreters that start, by their version of two numbers."""
    found: dict[str, str] = {}
    for name in given or [f"python{version}" for version in _PYTHONS]:
        path = shutil.which(name)
        if path is None:
            continue
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found[done.stdout.strip()] = path
    return found


def _oldest(python: str) -> list[str]:
    """Requirements of the oldest packages that `pyproject.toml` allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = {match[1]: match[2] for each in project["dependencies"] if (match := re.match(r"(\w+)>=([\d.]+)", each))}
    numpy = max(_OLDEST_NUMPY.get(python, "0"), lowest["numpy"], key=lambda text: [int(n) for n in text.split(".")])
    return [f"numpy=={numpy}", f"ml_dtypes>={lowest['ml_dtypes']},<{lowest['ml_dtypes']}.99"]


def _environment(directory: Path, python: str, path: str, kind: str) -> Path | None:
    """An environment with tirx and the packages of a kind. None if there is no such combination."""
    subprocess.run([path, "-m", "venv", directory], check=True)
    own = directory / "bin" / "python"
    pinned = _oldest(python) if kind == "oldest" else []
    pip = [str(own), "-m", "pip", "install", "--quiet", "--only-binary", "numpy,ml_dtypes"]
    if subprocess.run([*pip, "-e", f"{ROOT}[test]", *pinned], check=False).returncode:
        return None
    if kind == "newest xDSL":
        subprocess.run([*pip, "--upgrade", "--no-deps", "xdsl"], check=True)
    return own


def _run(own: Path, tests: list[str]) -> tuple[dict[str, str], int, str]:
    """The versions of the packages, the exit code of the tests, and their last line."""
    code = f"import json, importlib.metadata as m; print(json.dumps({{n: m.version(n) for n in {_PACKAGES}}}))"
    versions = json.loads(subprocess.run([own, "-c", code], capture_output=True, text=True, check=True).stdout)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{own.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(own), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or [done.stderr[-300:]]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return versions, done.returncode, "\n    ".join([lines[-1], *failed[:20]])


def main() -> int:
    """Runs the tests on every combination and prints a table; 1 if a required one fails."""
    parser = argparse.ArgumentParser(prog="test/versions.py", description="tests on versions of Python and numpy")
    parser.add_argument("--python", action="append", default=[], help="an interpreter; by default those on the path")
    parser.add_argument("--only", choices=("oldest", "newest", "newest xDSL"), help="this kind of packages only")
    parser.add_argument("tests", nargs="*", help="the tests to run; by default a share of a minute")
    flags = parser.parse_args()
    interpreters = _interpreters(flags.python)
    print(f"not found: {', '.join(sorted({*_PYTHONS} - {*interpreters})) or 'none'}")
    status = 0
    for python, path in interpreters.items():
        kinds = ["oldest", "newest"] + (["newest xDSL"] if python == list(interpreters)[-1] else [])
        for kind in kinds if flags.only is None else [flags.only]:
            with tempfile.TemporaryDirectory(prefix="tirx-versions-") as directory:
                own = _environment(Path(directory, "venv"), python, path, kind)
                if own is None:
                    print(f"Python {python}, {kind}: no such combination of packages", flush=True)
                    status = 1
                    continue
                versions, code, line = _run(own, flags.tests or list(_TESTS))
            packages = ", ".join(f"{name} {version}" for name, version in versions.items())
            print(f"Python {python}, {packages}: {line}", flush=True)
            status = status or (code if kind != "newest xDSL" else 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
