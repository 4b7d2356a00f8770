"""
Litmus tests of order through global memory on a GPU: how often a fault gives other numbers than its right twin.

    python test/gpu/global_races.py [--only TEXT] [--tries 1000000] [--seconds 2]

Every pair of `test/litmus` whose arrays have an expected result runs on a GPU of sm_90: the fault as often as that, the
right twin a tenth as often. One line a twin: tries, and how many of them gave other numbers. A fault that never does is
a fault all the same: other sizes and GPUs have other schedules. The exit status is 1 if a right twin does,
or does not end.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from unit.sim.litmus import Twin, pairs

from tirx.runtime.driver import Device, device

TARGET = "sm_90a"
_LAUNCHES = 256
"""Launches of a graph, one behind the other, each with arrays of its own."""
_ALIGNED = 256
"""Bytes at whose multiples arrays begin."""
_PATIENCE = 5.0
"""Seconds after which a graph is taken not to end."""


def _can_run(twin: Twin) -> bool:
    """Returns True for a twin with known results whose parameters are addresses of arrays, each of its own."""
    plain = twin.jobs == 1 and not twin.launch["prerequisite"] and TARGET in twin.targets
    if not plain or any("TensorMap" in before for before, _ in twin.arguments.values()):
        return False
    shared = any(np.shares_memory(x, y) for x, y in combinations(twin.values().values(), 2))
    return bool(twin.results()) and not shared


def _launch(gpu: Device, twin: Twin, function: Any, addresses: Sequence[int], stream: Any) -> None:
    """Launches a twin on arrays at these addresses."""
    api = gpu.driver.api
    attribute = api.CUlaunchAttribute()
    attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    cluster = attribute.value.clusterDim
    cluster.x, cluster.y, cluster.z = int(twin.launch["cluster"]), 1, 1
    config = api.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = int(twin.launch["grid"]), 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = int(twin.launch["block"]), 1, 1
    config.attrs, config.numAttrs, config.hStream = [attribute], 1, stream
    gpu.driver.cuLaunchKernelEx(config, function, (tuple(addresses), (ctypes.c_uint64,) * len(addresses)), 0)


def _count(gpu: Device, twin: Twin, tries: int, seconds: float) -> str:
    """Returns how often a twin ran within a time, and how often its numbers were not the expected ones."""
    driver, api = gpu.driver, gpu.driver.api
    values, results = twin.values(), twin.results()
    sizes = [-(-array.nbytes // _ALIGNED) * _ALIGNED for array in values.values()]
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    before, after, known = (np.zeros(sum(sizes), np.uint8) for _ in range(3))
    for start, (name, array) in zip(starts, values.items(), strict=True):
        own = slice(start, start + array.nbytes)
        before[own] = np.frombuffer(array.tobytes(), np.uint8)
        if name in results:
            after[own], known[own] = np.frombuffer(results[name].tobytes(), np.uint8), 1
    fresh = np.tile(before, (_LAUNCHES, 1))
    found = np.empty_like(fresh)
    function = gpu.function(twin.ptx(TARGET), "k", 0, int(twin.launch["cluster"]))
    stream = driver.cuStreamCreate(int(api.CUstream_flags.CU_STREAM_NON_BLOCKING))
    kept, used = (int(driver.cuMemAlloc(fresh.nbytes)) for _ in range(2))
    driver.cuMemcpyHtoD(kept, fresh.ctypes.data, fresh.nbytes)
    driver.cuStreamBeginCapture(stream, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
    driver.cuMemcpyDtoDAsync(used, kept, fresh.nbytes, stream)
    for number in range(_LAUNCHES):
        _launch(gpu, twin, function, [used + number * len(before) + start for start in starts], stream)
    graph = driver.cuGraphInstantiate(driver.cuStreamEndCapture(stream), 0)
    done = wrong = 0
    end = time.monotonic() + seconds
    while done < tries and time.monotonic() < end:
        driver.cuGraphLaunch(graph, stream)
        late = time.monotonic() + _PATIENCE
        while api.cuStreamQuery(stream)[0] == api.CUresult.CUDA_ERROR_NOT_READY:
            if time.monotonic() > late:
                return f"does not end after {done} tries, {wrong} with other numbers"
        driver.cuStreamSynchronize(stream)
        driver.cuMemcpyDtoH(found.ctypes.data, used, found.nbytes)
        wrong += int(np.any((found != after) & (known != 0), axis=1).sum())
        done += _LAUNCHES
    driver.cuMemFree(kept)
    driver.cuMemFree(used)
    return f"{done} tries, {wrong} with other numbers"


def _child(names: Sequence[str], tries: int, seconds: float) -> None:
    """Runs twins one after the other; ends the process behind one that does not end."""
    twins = {twin.name: twin for pair in pairs() for twin in pair.twins}
    gpu = device(0)
    with gpu.current():
        for name in names:
            share = 10 if twins[name].is_right else 1
            said = _count(gpu, twins[name], tries // share, seconds / share)
            print(f"{name} {twins[name].expected['hardware']}: {said}", flush=True)
            if said.startswith("does not end"):
                os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="tests whose name has TEXT")
    parser.add_argument("--tries", type=int, default=1_000_000, help="launches of each fault")
    parser.add_argument("--seconds", type=float, default=2.0, help="at most so long for each fault")
    parser.add_argument("--child", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        _child(options.child, options.tries, options.seconds)
        return 0
    both = [pair.twins for pair in pairs() if all(map(_can_run, pair.twins))]
    left = [twin.name for twins in both for twin in twins if options.only in twin.name]
    failed: list[str] = []
    while left:
        command = [sys.executable, __file__, f"--tries={options.tries}", f"--seconds={options.seconds}", "--child"]
        with subprocess.Popen([*command, *left], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            lines: list[str] = []
            for line in child.stdout:
                print(line, end="", flush=True)
                lines.append(line.rstrip())
        if not lines:
            lines = [f"{left[0]}: no result"]
            print(lines[0], flush=True)
        failed += [line for line in lines if ".right" in line and not line.endswith(" 0 with other numbers")]
        left = left[len(lines) :]
    print("\n".join([f"{len(failed)} right twins fail", *failed]))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
