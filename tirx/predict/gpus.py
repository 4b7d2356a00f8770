"""GPUs as rows of rates and latencies, for the timing model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tirx.hw.targets import Target
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class Gpu:
    """A row of the timing model. Rates are bytes a cycle of one multiprocessor unless they say seconds.

    `tensor` has for each family of products elements of M x N times bytes of K a cycle; a product takes as long as one
    of `narrowest` columns. `spread` is the share of the requests to L2 that find no neighbour that asks for the same
    line at the same time; the others cost once for the `neighbours` multiprocessors behind one port. `kept` are bytes
    that L2 holds from launch to launch.

    The fields from `launch` on are fitted to whole kernels (`benchmarks/timing_model.py --fit`), but for `epilogue`, a
    round number, as fits cannot tell it from the launch. The others are measured one by one by probes, or taken from
    `source`. `interval` are the 10th and 90th percentile of measured over predicted times on sizes that the fit did not
    see.
    """

    name: str
    source: str
    measured: bool
    cc: int
    multiprocessors: int
    hertz: float
    tensor: Mapping[str, float]
    fill: float
    store: float
    l2: float
    memory: float
    """Bytes a second of L2 and of memory, for reads."""
    kept: float
    latency: float
    memory_latency: float
    """Cycles until a small box is there, from L2, and more from memory."""
    interval: tuple[float, float]

    narrowest: int = 48
    spread: float = 0.15
    neighbours: float = 16.5
    in_clusters: float = 0.91
    """Share of the multiprocessors that hold clusters of four blocks and more: 32 clusters of four take two rounds."""

    launch: float = 1.6e-6
    """Seconds from the start of a launch to its first copy, and from its last store to its end."""
    block: float = 2470.0
    """Cycles from the end of a block to the first product of the next one on its multiprocessor."""
    step: float = 82.0
    """Cycles between the products of two steps of a main loop."""
    second: float = 44.0
    """Cycles more of a step in which a warpgroup multiplies twice."""
    slot: float = 893.0
    """Cycles from the release of a slot to its products, beside latency and transfer."""
    epilogue: float = 100.0
    """Cycles of a tile before and after its main loop, beside its stores."""
    pair: float = 62.3
    """Cycles of a step that blocks of a pair, or of a larger cluster, wait for one another."""
    outside: float = 11.1
    """Cycles for a row of a box that is outside of its tensor, where all multiprocessors load such rows."""
    straddle: float = 2.37
    """Requests to L2 for a row of 128 bytes that begins within a sector of 32 bytes, beside one that does not."""
    throttle: float = 0.571
    """Share of the clock that full use of the tensor cores costs; half of their use costs little."""
    add: float = 4.96e12
    """Bytes a second of additions of f32 to L2."""
    exchange: float = 14.0
    """Bytes a cycle that a multiprocessor reads from others: 3.3 TB/s of an H800 in all (arXiv 2402.13499)."""
    meeting: float = 1000.0
    """Cycles of the two barriers around the sums of a cluster; a round number, not measured."""
    store_by_threads: float = 38.0
    """Cycles in which the threads of a block store 64 scattered elements."""
    load_by_threads: float = 0.69
    """Cycles in which they copy 16 bytes that no bulk copy can read."""

    def clusters(self, blocks: int) -> int:
        """The clusters of so many blocks, more than two, that run at once, one block on each multiprocessor."""
        return int(self.in_clusters * self.multiprocessors // blocks)


_H200 = Gpu(
    "h200",
    "probes and kernels recorded on one H200 (benchmarks/data)",
    True,
    cc=90,
    multiprocessors=132,
    hertz=1.95e9,
    tensor={"wgmma": 4096.0, "mma_sync": 2736.0, "mma_sync f64": 1024.0},
    fill=106.0,
    store=18.8,
    l2=8.12e12,
    memory=4.48e12,
    kept=36.0 * 2**20,
    latency=331.0,
    memory_latency=416.0,
    interval=(0.91, 1.11),
)

GPUS: dict[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        _H200,
        replace(
            _H200,
            name="h100",
            source="the row of the H200 with the memory of NVIDIA's H100 SXM datasheet",
            measured=False,
            memory=3.0e12,
            interval=(0.82, 1.22),
        ),
        replace(
            _H200,
            name="b200",
            source="tensor cores, memory: SemiAnalysisAI/microbench-blackwell 9a068d8; the rest: H200",
            measured=False,
            cc=100,
            multiprocessors=148,
            tensor={"tcgen05": 8192.0, "mma_sync": 2736.0, "mma_sync f64": 512.0},
            l2=8.12e12 * 148 / 132,
            memory=7.0e12,
            kept=90.0 * 2**20,
            interval=(0.7, 1.4),
        ),
        replace(
            _H200,
            name="a100",
            source="NVIDIA A100 white paper (rates, memory, L2); latencies and the rest: H200",
            measured=False,
            cc=80,
            multiprocessors=108,
            hertz=1.41e9,
            tensor={"mma_sync": 2048.0, "mma_sync f64": 512.0},
            fill=64.0,
            l2=5.1e12,
            memory=1.4e12,
            kept=28.0 * 2**20,
            interval=(0.7, 1.4),
        ),
        replace(
            _H200,
            name="rtx5090",
            source="NVIDIA RTX Blackwell white paper (rates, memory, L2); fills and rate of L2: A100; the rest: H200",
            measured=False,
            cc=120,
            multiprocessors=170,
            hertz=2.41e9,
            tensor={"mma_sync": 512.0, "mma_sync f64": 16.0},
            fill=64.0,
            l2=5.1e12,
            memory=1.6e12,
            kept=72.0 * 2**20,
            interval=(0.6, 1.6),
        ),
        replace(
            _H200,
            name="l40s",
            source="NVIDIA L40S datasheet (rates, memory, L2); fills and rate of L2: A100; the rest: H200",
            measured=False,
            cc=89,
            multiprocessors=142,
            hertz=2.52e9,
            tensor={"mma_sync": 1024.0, "mma_sync f64": 16.0},
            fill=64.0,
            l2=5.1e12,
            memory=0.78e12,
            kept=72.0 * 2**20,
            interval=(0.6, 1.6),
        ),
    )
}
"""Every GPU of the model by name."""


@cache
def gpu_of(target: Target) -> Gpu:
    """Returns the row of a target: the first one of its compute capability, else the newest that is not newer."""
    older = [gpu for gpu in GPUS.values() if gpu.cc <= target.cc] or [min(GPUS.values(), key=lambda gpu: gpu.cc)]
    return max(older, key=lambda gpu: gpu.cc)
