"""The equations of the timing model: a ring in closed form."""

from __future__ import annotations

from typing import NamedTuple

from tirx.layout.arrays import np
from tirx.predict.gpus import Gpu
from tirx.predict.work import Counts, Work, is_array
from tirx.values import dataclass, replace

FADING = 8 * 2.0**20
"""Bytes over which the hits of L2 fade as a kernel touches more than it keeps."""

UNTHROTTLED = 0.4
"""The share of the tensor cores' use that costs no clock."""

TURNS = 3
"""Turns of the fixed point of time and clock, with which constants are fitted. A fourth one would change the times of
the best tiles of 19 in 20 products by less than 1 %, and of products alone that fill the tensor cores by up to 8 %.
"""

HANDED_ON = 28e3
"""Cycles until sums of several blocks are one tile: a stream of 384 x 1536 x 7168 takes 39 us on an H200, not 23."""

_WHOLE = 2
"""Loops of a block from which on most of a stream's tiles are those of one block or two."""

_SECOND_PASS = 4e12
"""Bytes a second of the kernel that rounds the sum of the parts, which are in L2."""

_SECOND_LAUNCH = 1.6e-6
"""Seconds of its launch behind the first one."""


class Terms(NamedTuple):
    """Cycles of one step of a main loop on a multiprocessor, each as if nothing else took time; and around the loop."""

    products: float
    fill: float
    l2: float
    memory: float
    latency: float
    step: float
    epilogue: float


class _Round(NamedTuple):
    """Cycles of a round as in `Terms`; seconds of what other clocks drive; of loops of a stream, one more of each."""

    products: float
    fill: float
    l2: float
    memory: float
    start: float
    """Cycles until a slot whose transfer takes no time is free again."""
    stored: float
    added: float
    per: float


def _most(a: float, b: float) -> float:
    """The larger of two numbers, or of each pair where one is an array: a fit hands arrays to these equations."""
    return np.maximum(a, b) if is_array(a) or is_array(b) else max(a, b)


def _cold(x: Counts, gpu: Gpu) -> float:
    """The share of what a kernel touches that L2 does not keep."""
    return 1 / (1 + 2.718281828 ** ((gpu.kept - x.touched) / FADING))


def _round(x: Counts, gpu: Gpu, at: float, per: float, cold: float) -> _Round:
    """A round of `at` tiles, `per` of them on each multiprocessor, before its clock is known."""
    requests = 1 + x.straddles * (gpu.straddle - 1)
    fill = x.fill * per * (requests / gpu.fill + x.by_threads * gpu.load_by_threads / 16)
    return _Round(
        products=x.product * per + (gpu.step * (1 + (1 * x.serial + (x.loops > 0)) / 2) + gpu.pair * x.paired),
        fill=fill + gpu.outside / gpu.multiprocessors * x.outside * at,
        l2=((1 - gpu.spread) * x.nearby + gpu.spread * x.through_l2) * requests * at / gpu.l2,
        memory=x.read / x.tiles / x.steps * cold * at / gpu.memory,
        start=gpu.memory_latency * cold + (gpu.latency + gpu.slot + x.product),
        stored=x.out * per / gpu.store + gpu.epilogue,
        added=x.added * at / gpu.add,
        per=per,
    )


def _terms(x: Counts, gpu: Gpu, each: _Round, hertz: float) -> Terms:
    l2, memory = each.l2 * hertz, each.memory * hertz
    transfer = _most(each.fill, _most(l2, memory))
    chain = each.start + transfer / each.per
    latency = chain / x.slots
    cubes = transfer * transfer * transfer + latency * latency * latency  # `**` takes arrays many times as long
    step = _most(each.products, cubes ** (1 / 3))  # transfer and latency of a slot overlap where both are near
    if x.serial is not False:
        step = x.serial * _most(chain, _most(each.products, transfer)) + (1 - x.serial) * step
    epilogue = each.stored + gpu.store_by_threads * x.scattered * each.per + each.added * hertz
    epilogue = epilogue + x.exchanged * each.per / gpu.exchange + (x.exchanged > 0) * gpu.meeting
    if not isinstance(x.loops, int):
        epilogue = epilogue + x.loops * (chain + each.stored)  # of every loop of a stream
        epilogue = epilogue + ((x.loops > 0) & (x.loops < _WHOLE)) * HANDED_ON
    return Terms(each.products, each.fill, l2, memory, latency, step, epilogue)


def seconds_of(x: Counts, gpu: Gpu) -> tuple[float, float]:
    """Seconds of a launch, and the clock in hertz. Fields of both arguments may be arrays."""
    hertz, seconds, cold = gpu.hertz * 1.0, 0.0, _cold(x, gpu)
    round_ = _round(x, gpu, x.at, x.per, cold)
    last_round = round_ if x.last_at is x.at else _round(x, gpu, x.last_at, x.last_per, cold)
    again = (1 - x.persistent) * gpu.block
    ends = gpu.memory_latency * cold + (gpu.latency + gpu.slot)
    second = x.parted * (_SECOND_LAUNCH + x.elements * 10 / _SECOND_PASS)
    used = x.tiles * x.steps * x.useful / gpu.multiprocessors
    for _ in range(TURNS):
        whole = _terms(x, gpu, round_, hertz)
        last = whole if last_round is round_ else _terms(x, gpu, last_round, hertz)
        cycles = (x.rounds - 1) * (x.steps * whole.step + whole.epilogue + again) + x.steps * last.step + last.epilogue
        seconds = gpu.launch + (cycles + ends) / hertz + second
        hertz = gpu.hertz * (1 - gpu.throttle * _most(used / (gpu.hertz * seconds) - UNTHROTTLED, 0.0))
    return seconds, hertz


@dataclass(frozen=True)
class Prediction:
    """The time of a launch in seconds: the most likely one, and the bounds of eight in ten launches.

    `full` is the share of the tiles of all rounds that exist. `bound` says what a step of the main loop waits for, or
    that other things take longer than the loop.
    """

    seconds: float
    low: float
    high: float
    rounds: int
    full: float
    hertz: float
    bound: str
    terms: Terms

    def __str__(self) -> str:
        us = 1e6 * self.seconds
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return (
            f"{us:.1f} us ({1e6 * self.low:.1f} to {1e6 * self.high:.1f}) at {self.hertz / 1e9:.2f} GHz, {rounds} of "
            f"tiles, {self.full:.0%} full, bound by {self.bound}"
        )


def predict(work: Work, gpu: Gpu) -> Prediction:
    """Predicts the time of a launch that does `work` on a GPU which nothing else uses."""
    x = work.counts(gpu)
    seconds, hertz = seconds_of(x, gpu)
    terms = _terms(x, gpu, _round(x, gpu, x.at, x.per, _cold(x, gpu)), hertz)
    loop = x.rounds * x.steps * terms.step / hertz
    waits = {
        "products": terms.products,
        "the way into shared memory": terms.fill,
        "L2": terms.l2,
        "memory": terms.memory,
        "the latency of slots": terms.latency,
    }
    bound = max(waits, key=lambda name: waits[name])
    if loop < seconds / 2:
        tails = x.rounds * terms.epilogue / hertz
        bound = "epilogues" if tails > seconds / 2 else "launch and start"
    low, high = gpu.interval
    full = x.tiles / (x.rounds * x.at)
    return Prediction(seconds, low * seconds, high * seconds, int(x.rounds), full, hertz, bound, terms)


def improvements(work: Work, gpu: Gpu) -> dict[str, float]:
    """Changes of the schedule -> relative change of the predicted time, negative where it gets shorter."""
    now = seconds_of(work.counts(gpu), gpu)[0]
    changes = {
        "one more slot": replace(work, slots=work.slots + 1),
        "pairs that share A": replace(work, shares="a", cluster=(1, 1)),
        "pairs that share B": replace(work, shares="b", cluster=(1, 1)),
        "clusters of 2x2 tiles": replace(work, shares=None, cluster=(2, 2)),
        "two parts of K": replace(work, parts=2 * work.parts),
    }
    return {name: seconds_of(each.counts(gpu), gpu)[0] / now - 1 for name, each in changes.items() if each != work}
