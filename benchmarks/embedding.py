"""
tirx inside another compiler, in figures: `python benchmarks/embedding.py [cache] [processes] [kernels] [seeds]`.

- cache: CPU time of whole processes that find a program on disk, and of ones that do not, beside the stock `xdsl-opt -p
  canonicalize` on three lines. They take turns; the ratio is the median of the pairs.
- processes: 8 processes read and write one directory at once: how many programs and files were wrong or cut off.
- kernels: resident memory while one process compiles 300 different kernels.
- seeds: PTX and launch descriptors of the examples of `benchmarks/compiler.py` under hash seeds 0 to 7.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import tirx

sys.path.insert(0, str(Path(__file__).parent))
from compiler import EXAMPLES, GEMM, ROOT, child_environment

COPY = """
tirx.kernel @k(%a: memref<SIZExf32>, %d: memref<SIZExf32>) target("sm_90a") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %a[%c0] : memref<SIZExf32> -> !tirx.tile<SIZExf32, global>
  %y = tirx.view %d[%c0] : memref<SIZExf32> -> !tirx.tile<SIZExf32, global>
  %t = tirx.load %x : !tirx.tile<SIZExf32, global> -> !tirx.tile<SIZExf32, register>
  tirx.store %t, %y : !tirx.tile<SIZExf32, register>, !tirx.tile<SIZExf32, global>
  tirx.return
}
"""
SIZES = range(32, 32 + 16 * 32, 32)


def seconds(*command: object) -> float:
    """The CPU time of a process of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, *map(str, command)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=child_environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cache() -> None:
    """Prints a row for each command."""
    read = "import sys, tirx; text = open(sys.argv[1]).read(); "
    build = f"{read}tirx.build(text, cache_directory=sys.argv[2]).kernels"
    compiled = f"{read}tirx.compile(text, cache_directory=sys.argv[2])"
    opt = "import sys; from tirx.tools.commands import tirx_opt; sys.exit(tirx_opt())"
    with tempfile.TemporaryDirectory() as directory:
        function = Path(directory, "function.mlir")
        function.write_text("func.func @f() {\n  func.return\n}\n")
        stock = ("-m", "xdsl.tools.xdsl_opt", "-p", "canonicalize", function)
        print("\n| whole process, CPU time | | / xdsl-opt |\n|---|---:|---:|")
        for name, *command in (
            ("tirx.build", build, GEMM),
            ("tirx.compile", compiled, GEMM),
            ("tirx-opt", opt, GEMM, "--lower-to-ptx", "--cache-directory"),
        ):
            for what in ("hit", "miss"):
                places = [Path(directory, f"{name}-{n if what == 'miss' else what}") for n in range(8)]
                pairs = [(seconds(*stock), seconds("-c", *command, place)) for place in places][1:]
                own, ratio = min(pair[1] for pair in pairs), statistics.median(b / a for a, b in pairs)
                print(f"| {name}, a {what} | {own * 1e3:.0f} ms | {ratio:.2f} |", flush=True)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


_WORKER = """
import hashlib, sys, tirx
from tirx.runtime import program
for turn in range(4):
    program._cache.clear()
    for size in map(int, sys.argv[3:]):
        ptx = tirx.build(sys.argv[1].replace("SIZE", str(size)), cache_directory=sys.argv[2]).ptx
        print(size, hashlib.sha256(ptx.encode()).hexdigest())
"""


def processes() -> None:
    """Prints how many programs differ from those compiled without a directory, and how many files are not whole."""
    expected = {str(n): _digest(tirx.compile(COPY.replace("SIZE", str(n))).encode()) for n in SIZES}
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-c", _WORKER, COPY, directory, *expected]
        workers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment()) for _ in range(8)
        ]
        lines = [line.split() for worker in workers for line in worker.communicate()[0].splitlines()]
        files = [path.read_bytes().partition(b"\n") for path in Path(directory).iterdir()]
    wrong = sum(expected[size] != digest for size, digest in lines)
    half = sum(_digest(rest) != digest.decode() for digest, _, rest in files)
    failed = sum(worker.returncode != 0 for worker in workers)
    print(
        f"8 processes, {failed} failed: {wrong} of {len(lines)} programs wrong, {half} of {len(files)} files not whole"
    )


def kernels() -> None:
    """Prints the resident memory behind some of the kernels."""
    page = os.sysconf("SC_PAGE_SIZE")
    for n in range(1, 301):
        tirx.compile(COPY.replace("SIZE", str(32 * (1 + n % 20))).replace("@k", f"@k{n}"))
        if n in (1, 10, 50, 100, 200, 300):
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * page / 2**20
            print(f"behind {n} kernels: {resident:.0f} MiB resident", flush=True)


def seeds() -> None:
    """Prints how many different texts there are of each example."""
    code = "import sys, tirx; print(tirx.build(open(sys.argv[1]).read()).to_json())"
    for name in EXAMPLES:
        command = [sys.executable, "-c", code, str(ROOT / "examples" / f"{name}.mlir")]
        environments = [child_environment() | {"PYTHONHASHSEED": str(seed)} for seed in range(8)]
        texts = {subprocess.run(command, capture_output=True, check=True, env=each).stdout for each in environments}
        print(f"{name}: {len(texts)} under 8 hash seeds", flush=True)


def main() -> None:
    """Runs the parts that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts: dict[str, Callable[[], None]] = {each.__name__: each for each in (cache, processes, kernels, seeds)}
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(parts)} (default: all)")
    named = parser.parse_args().parts
    if unknown := set(named) - parts.keys():
        parser.error(f"expected parts out of {', '.join(parts)}, found {', '.join(sorted(unknown))}")
    for name in named or parts:
        parts[name]()


if __name__ == "__main__":
    main()
