"""`run`: the one function of the simulator."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, cast

import numpy.typing as npt

from tirx.sim.core.arguments import Argument, bind_arguments
from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.launch import Arithmetic, Dimensions, Level
from tirx.sim.errors import SimError, SimWarning
from tirx.sim.jobs import run_in_processes
from tirx.sim.program.code import Op
from tirx.sim.setting import Setting, linked, parsed

_LOGGER = logging.getLogger("tirx.sim")
_MAX_THREADS = 1024
_MAX_CLUSTER = 16
_MAX_GRID = (2**31 - 1, 65535, 65535)


def entries(ptx_text: str) -> tuple[str, ...]:
    """
    Returns the names of the kernels that a PTX module defines, in order. Raises SimError for text that cannot be read.

    >>> from tirx.sim import entries
    >>> entries(".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { ret; }")
    ('f',)
    """
    functions = parsed(ptx_text).functions
    return tuple(name for name, function in functions.items() if function.is_entry and function.defined)


def run(
    ptx_text: str,
    entry: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Argument],
    dynamic_shared: int = 0,
    cluster: int | Sequence[int] = (1, 1, 1),
    *,
    variables: Mapping[str, npt.NDArray[Any]] | None = None,
    seed: int | None = None,
    check: bool | Level = "hardware",
    arithmetic: Arithmetic = "hardware",
    observer: Callable[[ThreadGroup, Op], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    max_instructions: int | None = None,
    max_resident: int = 64,
    jobs: int = 1,
    prerequisite: Sequence[npt.NDArray[Any]] = (),
    report: Callable[[SimWarning], None] | None = None,
    prints: bool = True,
) -> None:
    """
    Runs the kernel `entry` of a PTX module as a GPU would, and raises SimError for whatever is wrong with it.

    `grid` counts CTAs, `block` threads and `cluster` CTAs, each in x, y, z (shorter ones are filled up with 1).
    `args` are numpy arrays (pointers to their bytes, updated in place), ints, floats, `TensorMap`s, `PointerTable`s (of
    arrays), and structs by value: their `bytes`, or a dict from the offsets of their fields, as in
    `{0: array, 8: np.int32(5)}`.
    `dynamic_shared` is in bytes. `variables` are those of the module that the host has set, or wants to read: names to
    arrays, which are updated in place too.

    `seed`: None is a fixed order; an int chooses a random but reproducible interleaving of the warps, so that races
    show, and of what is asynchronous, which is late with odd seeds. `check`: data races, missing fences and uses of
    what was never written are errors. "hardware" (or True) are those that give wrong numbers, a trap or a hang on a
    GPU; what only the letter of the ISA forbids goes to `report` (by default the logger `tirx.sim`), once for each
    rule. "strict": both are errors. `arithmetic`: sums of tensor cores are those of the hardware
    (`tirx.sim.numerics.tensor_cores`), or exact and rounded once; "modular": all floats stand for residues modulo a
    prime (`tirx.sim.numerics.modular`), which no order of additions changes. `observer` is called before every
    instruction; an `Observer` (`Profile`, `Trace`) hears of more. `progress` is called with the number of CTAs that
    have ended, and of all, whenever some end. `max_instructions` ends a run that does not end.
    `max_resident`: how many clusters may be on the GPU at once, if they wait for each other. `jobs`: the most processes
    that clusters are divided among; kernels whose clusters may depend on each other (atomics, for instance), and runs
    with `seed` or `observer`, need one. `prerequisite`: arrays that the launch before may still read or write, as the
    kernel starts early (programmatic dependent launch): only behind `griddepcontrol.wait` may they be accessed.
    `prints`: printf writes to standard output.

    >>> import numpy as np, tirx
    >>> from tirx.sim import run
    >>> ptx = tirx.compile('''
    ... tirx.kernel @fill(%a: memref<64xf32>) target("sm_80") grid(1) threads(32) {
    ...   %c0 = arith.constant 0 : index
    ...   %one = arith.constant 1.0 : f32
    ...   %g = tirx.view %a[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
    ...   tirx.fill %g, %one : f32, !tirx.tile<64xf32, global>
    ...   tirx.return
    ... }''')
    >>> a = np.zeros(64, np.float32)
    >>> run(ptx, "fill", grid=1, block=32, args=[a])
    >>> float(a.sum())
    64.0
    """
    level = _level(check)
    if not _is_whole(0 if seed is None else seed):
        raise SimError(f"expected a number or None for seed, found {seed!r}")
    _require_least(1, "jobs", jobs)
    _require_least(0, "bytes of dynamic shared memory", dynamic_shared)
    decoded = linked(ptx_text, entry, dynamic_shared, level, arithmetic)
    program, memories = decoded.program(), decoded.symbols.memories(variables or {})
    block, cluster = _dimensions(block, "block"), _required_cluster(program.directives, _dimensions(cluster, "cluster"))
    grid = _grid(grid, cluster)
    _check_block(program.directives, block)
    setting = Setting(
        *(ptx_text, entry, grid, block, cluster, dynamic_shared, level, arithmetic, seed, max_instructions),
        max_resident,
        prints,
    )
    launch = setting.launch(program, memories, observer, report or _log)
    bind_arguments(launch, args)
    if launch.order is not None:
        launch.order.prerequisites.require([launch.global_memory.place_of(each)[0] for each in prerequisite])
    try:
        if jobs > 1 and grid != cluster and program.independent and seed is None and observer is None:
            run_in_processes(setting, launch, program, jobs, progress, report or _log)
        else:
            setting.run(launch, program, observer, progress)
    except SimError as error:
        error.find_source(ptx_text)
        raise


def _is_whole(value: object) -> bool:
    """Returns True for integers of Python and numpy."""
    return isinstance(value, Integral)


def _require_least(least: int, what: str, found: int) -> None:
    if not _is_whole(found) or found < least:
        raise SimError(f"expected {least} or more {what}, found {found}")


def _grid(grid: int | Sequence[int], cluster: tuple[int, int, int]) -> tuple[int, int, int]:
    """Returns the extents of a grid that clusters of this size divide."""
    extents = _dimensions(grid, "grid")
    if any(count > most for count, most in zip(extents, _MAX_GRID, strict=True)):
        raise SimError(f"expected a grid of at most {_MAX_GRID} blocks, found {extents}")
    if any(count % size for count, size in zip(extents, cluster, strict=True)):
        raise SimError(f"expected a grid that is a multiple of the cluster {cluster}, found {extents}")
    return extents


def _level(check: bool | Level) -> Level | None:
    if check not in (True, False, "hardware", "strict"):
        raise SimError(f"expected True, False, 'hardware' or 'strict' for check, found {check!r}")
    return ("hardware" if check else None) if isinstance(check, bool) else check


def _log(warning: SimWarning) -> None:
    _LOGGER.warning("%s", warning)


def _dimensions(value: int | Sequence[int], what: str) -> Dimensions:
    given = tuple(cast("Sequence[int]", value if hasattr(value, "__iter__") else (value,)))
    if not 1 <= len(given) <= 3 or not all(_is_whole(each) and each >= 1 for each in given):
        raise SimError(f"expected one to three positive numbers for the {what}, found {given}")
    x, y, z = (*map(int, given), 1, 1)[:3]
    return x, y, z


def _directive(directives: dict[str, tuple[int, ...]], name: str) -> Dimensions | None:
    return _dimensions(directives[name], name) if directives.get(name) else None


def _required_cluster(directives: dict[str, tuple[int, ...]], cluster: Dimensions) -> Dimensions:
    required = _directive(directives, "reqnctapercluster")
    if required is not None and cluster not in ((1, 1, 1), required):
        raise SimError(f"expected cluster {required} (.reqnctapercluster), found {cluster}")
    cluster = required or cluster
    count = math.prod(cluster)
    if count > _MAX_CLUSTER:
        raise SimError(f"expected at most {_MAX_CLUSTER} CTAs in a cluster, found {count}")
    return cluster


def _check_block(directives: dict[str, tuple[int, ...]], block: Dimensions) -> None:
    count = math.prod(block)
    required, most = _directive(directives, "reqntid"), _directive(directives, "maxntid")
    if count > _MAX_THREADS:
        raise SimError(f"expected at most {_MAX_THREADS} threads in a block, found {count}")
    if required is not None and required != block:
        raise SimError(f"expected block {required} (.reqntid), found {block}")
    if most is not None and count > math.prod(most):
        raise SimError(f"expected at most {math.prod(most)} threads in a block (.maxntid), found {count}")
