"""
Speed of the simulator where blocks depend on each other: kernels with atomics and flags beside the same without.

    python benchmarks/atomics.py [--rounds 5] [--only NAME] [--check hardware] [--blocks 32] [--threads 256]

The twin of each kernel does the same work, in the same loops, with words of its own, or with what the host has filled
in. Times are CPU seconds, the least of the rounds, which take turns. Of both kernels the results are those of numpy.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from tirx.sim import run

_STEPS, _BINS, _SPLIT = 16, 64, 4
_WAVE = 2048  # threads of the blocks, at most 16, that the simulator runs side by side
_HEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data, .param .u64 state, .param .u64 ready, .param .u64 words) {
  .reg .b64 %out, %data, %state, %ready, %words, %at, %flag, %word;
  .reg .b32 %t, %b, %n, %g, %i, %x, %y, %old, %new, %sum, %slot, %before, %place, %blocks;
  .reg .pred %first, %more, %again, %last;
  .shared .align 4 .b32 sums[1024];
  .shared .align 4 .b32 told;
  ld.param.u64 %out, [out]; ld.param.u64 %data, [data]; ld.param.u64 %state, [state];
  ld.param.u64 %ready, [ready]; ld.param.u64 %words, [words];
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %g, %b, %n, %t; setp.eq.u32 %first, %t, 0; mov.u32 %sum, 0; mov.u32 %before, 0; mov.u32 %i, 0;
  mul.wide.u32 %at, %g, 4; add.u64 %out, %out, %at; add.u64 %data, %data, %at; ld.global.u32 %x, [%data];
WORK:
  mad.lo.u32 %x, %x, 5, %i; shr.u32 %y, %x, 7; xor.b32 %x, %x, %y; add.u32 %sum, %sum, %x;
"""
# Some numbers of a thread, their sum in %sum.
_LOOP = f"  add.u32 %i, %i, 1; setp.lt.u32 %more, %i, {_STEPS}; @%more bra WORK;\n"
# The sum of the block, by a tree in shared memory.
_TREE = """
  mov.u32 %slot, sums; mad.lo.u32 %slot, %t, 4, %slot; st.shared.u32 [%slot], %sum;
  shr.u32 %place, %n, 1; bar.sync 0;
TREE:
  setp.lt.u32 %more, %t, %place; shl.b32 %y, %place, 2; add.u32 %y, %slot, %y;
  @%more ld.shared.u32 %x, [%y]; @%more add.u32 %sum, %sum, %x; @%more st.shared.u32 [%slot], %sum;
  bar.sync 0; shr.u32 %place, %place, 1; setp.ne.u32 %more, %place, 0; @%more bra TREE;
  ld.shared.u32 %sum, [sums];
"""
_END = "  add.u32 %sum, %sum, %before; st.global.u32 [%out], %sum; ret;\n}"


def _updates(place: str, update: str) -> str:
    """Returns a kernel that updates a word in every step of its loop."""
    word = f"  {place} mul.wide.u32 %at, %place, 4; add.u64 %word, %words, %at;\n  "
    return "".join((_HEAD, word, update, "\n", _LOOP, _END))


_BIN, _OWN = f"and.b32 %place, %x, {_BINS - 1};", "mov.u32 %place, %g;"
_ADD = "red.global.add.u32 [%word], 1;"
_PLAIN_ADD = "ld.global.u32 %old, [%word]; add.u32 %old, %old, 1; st.global.u32 [%word], %old;"
_CAS = """ld.relaxed.gpu.global.u32 %old, [%word];
RETRY:
  add.u32 %new, %old, %x; mov.u32 %y, %old;
  atom.global.cas.b32 %old, [%word], %y, %new; setp.ne.u32 %again, %old, %y; @%again bra RETRY;"""
_PLAIN_CAS = """ld.global.u32 %old, [%word];
RETRY:
  add.u32 %new, %old, %x; mov.u32 %y, %old;
  ld.global.u32 %old, [%word]; st.global.u32 [%word], %new; setp.ne.u32 %again, %old, %y; @%again bra RETRY;"""
# Bins are updated by one thread after another: the twin fails as often as the host has filled in.
_PLAIN_RETRY = """mad.lo.u32 %y, %i, %n, 0; mad.lo.u32 %y, %y, %blocks, %g;
  mul.wide.u32 %at, %y, 4; add.u64 %flag, %ready, %at; ld.global.u32 %place, [%flag];
RETRY:
  ld.global.u32 %old, [%word]; add.u32 %new, %old, %x; st.global.u32 [%word], %new;
  setp.gt.u32 %again, %place, 0; sub.u32 %place, %place, 1; @%again bra RETRY;"""
# A lock, under which thread 0 adds to a word; in the twin each block has its own, and waits as often as the host says.
_LOCK = """
  @!%first bra OUT;
TAKE:
  atom.acquire.gpu.global.cas.b32 %old, [%state], 0, 1; setp.ne.u32 %again, %old, 0; @%again bra TAKE;
  ld.global.u32 %x, [%words]; add.u32 %x, %x, %sum; st.global.u32 [%words], %x;
  atom.release.gpu.global.exch.b32 %old, [%state], 0;
OUT:
"""
_NO_LOCK = """
  mul.wide.u32 %at, %b, 4; add.u64 %state, %state, %at; add.u64 %words, %words, %at;
  mul.wide.u32 %at, %b, 4; add.u64 %ready, %ready, %at; ld.global.u32 %place, [%ready];
  @!%first bra OUT;
TAKE:
  ld.global.u32 %old, [%state]; setp.gt.u32 %again, %place, 0; sub.u32 %place, %place, 1; @%again bra TAKE;
  ld.global.u32 %x, [%words]; add.u32 %x, %x, %sum; st.global.u32 [%words], %x;
  st.global.u32 [%state], 0;
OUT:
"""
# The last block that comes sums up what all have stored; in the twin the last one of the grid, what is there already.
_LAST = """
  mul.wide.u32 %at, %b, 4; add.u64 %word, %words, %at; sub.u32 %y, %blocks, 1;
  @%first st.global.u32 [%word], %sum;
  {counted}
  @%first st.shared.u32 [told], %old;
  bar.sync 0; ld.shared.u32 %old, [told]; setp.eq.u32 %last, %old, %y; @!%last bra OUT;
  {fence} mov.u32 %i, 0;
ADD:
  ld.global.u32 %x, [{sums}]; add.u32 %before, %before, %x; add.u64 {sums}, {sums}, 4;
  add.u32 %i, %i, 1; setp.le.u32 %more, %i, %y; @%more bra ADD;
OUT:
"""
_COUNT = "membar.gl; @%first atom.global.inc.u32 %old, [%state], %y;"
# Status of a block (1: its sum is there, 2: that of all until it, too), the two sums, and the search for the latter.
_LOOK_BACK = """
  @!%first bra KNOWN;
  mul.wide.u32 %at, %b, 16; add.u64 %word, %words, %at; add.u64 %flag, {sums}, %at;
  st.global.u32 [%word+4], %sum; st.global.u32 [%word+8], %sum;
  setp.eq.u32 %last, %b, 0; selp.u32 %y, 2, 1, %last; {release} [%word], %y; @%last bra TOLD;
LOOK:
  sub.u64 %flag, %flag, 16;
POLL:
  {acquire} %y, [%flag]; setp.eq.u32 %again, %y, 0; @%again bra POLL;
  setp.eq.u32 %more, %y, 1; @%more ld.global.u32 %x, [%flag+4]; @!%more ld.global.u32 %x, [%flag+8];
  add.u32 %before, %before, %x; @%more bra LOOK;
  add.u32 %x, %before, %sum; st.global.u32 [%word+8], %x; {release} [%word], 2;
TOLD:
  st.shared.u32 [told], %before;
KNOWN:
  bar.sync 0; ld.shared.u32 %before, [told];
"""
_RELEASE, _ACQUIRE = "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32"
# Blocks of one tile hand their parts to the first one of them.
_STREAM_K = f"""
  mul.wide.u32 %at, %g, 4; add.u64 %word, %words, %at; mul.wide.u32 %at, %b, 4; add.u64 %flag, %state, %at;
  and.b32 %place, %b, {_SPLIT - 1}; setp.eq.u32 %last, %place, 0; @%last bra OWNER;
  st.global.u32 [%word], %sum; {{fence}} bar.sync 0; {{tell}}
  bra OUT;
OWNER:
  mul.wide.u32 %at, %n, 4; mul.wide.u32 %word, %g, 4; add.u64 %word, {{sums}}, %word; mov.u32 %i, 1;
NEXT:
  {{wait}}
  add.u64 %word, %word, %at; ld.global.u32 %x, [%word]; add.u32 %before, %before, %x;
  add.u32 %i, %i, 1; setp.lt.u32 %more, %i, {_SPLIT}; @%more bra NEXT;
OUT:
"""
_TELL = "@%first st.release.gpu.global.u32 [%flag], 1;"
_WAIT = """add.u64 %flag, %flag, 4; @!%first bra SEEN;
POLL:
  ld.acquire.gpu.global.u32 %y, [%flag]; setp.eq.u32 %again, %y, 0; @%again bra POLL;
SEEN:
  bar.sync 0;"""
_NO_WAIT = """add.u64 %flag, %flag, 4; @!%first bra SEEN;
POLL:
  ld.global.u32 %y, [%flag]; setp.ne.u32 %again, %y, 0; @%again bra POLL;
SEEN:
  bar.sync 0;"""


def _blocks(part: str, tree: str = _TREE) -> str:
    return "".join((_HEAD, _LOOP, tree, part, _END))


_LOCAL = {"counted": "@%first mov.u32 %old, %b;", "fence": "", "sums": "%ready"}
_PATTERNS = {
    "counters": (_updates(_BIN, _ADD), _updates(_OWN, _PLAIN_ADD)),
    "cas loop, own words": (_updates(_OWN, _CAS), _updates(_OWN, _PLAIN_CAS)),
    "cas loop, bins": (_updates(_BIN, _CAS), _updates(_OWN, _PLAIN_RETRY)),
    "lock": (_blocks(_LOCK), _blocks(_NO_LOCK)),
    "last block": (
        _blocks(_LAST.format(counted=_COUNT, fence="membar.gl;", sums="%words")),
        _blocks(_LAST.format(**_LOCAL)),
    ),
    "look-back": (
        _blocks(_LOOK_BACK.format(release=_RELEASE, acquire=_ACQUIRE, sums="%words")),
        _blocks(_LOOK_BACK.format(release="st.global.u32", acquire="ld.global.u32", sums="%ready")),
    ),
    "Stream-K": (
        _blocks(_STREAM_K.format(fence="membar.gl;", tell=_TELL, wait=_WAIT, sums="%words"), ""),
        _blocks(_STREAM_K.format(fence="", tell="", wait=_NO_WAIT, sums="%ready"), ""),
    ),
}


@dataclass
class _Case:
    """Arrays of a run: numbers of the threads, and sums and bins that numpy expects."""

    blocks: int
    threads: int

    def __post_init__(self) -> None:
        count = self.blocks * self.threads
        self.data = np.random.default_rng(0).integers(0, 1 << 32, count, np.uint32)
        x, sums, numbers = self.data.copy(), np.zeros_like(self.data), list[Any]()
        for step in range(_STEPS):
            x = x * np.uint32(5) + np.uint32(step)
            x ^= x >> np.uint32(7)
            sums += x
            numbers.append(x)
        self.numbers, self.sums = np.array(numbers), sums
        self.of_blocks = sums.reshape(self.blocks, -1).sum(axis=1, dtype=np.uint32)
        self.until = np.cumsum(self.of_blocks, dtype=np.uint32)

    def ready(self, name: str) -> Any:
        """Returns what the host fills in for the twin."""
        blocks_of_wave = min(_WAVE // self.threads, 16)
        if name == "lock":  # each tries about three times while another one has it
            return (3 * (np.arange(self.blocks) % blocks_of_wave)).astype(np.uint32)
        if name == "last block":
            return self.of_blocks
        if name == "look-back":  # as the blocks that run side by side find it
            status = np.where(np.arange(self.blocks) % blocks_of_wave == blocks_of_wave - 1, 2, 1)
            status[0] = 2
            return np.stack((status, self.of_blocks, self.until, self.until), axis=1).astype(np.uint32)
        if name == "cas loop, bins":
            return np.array([self._turns(step) for step in range(_STEPS)], np.uint32)
        return self.sums

    def _turns(self, step: int) -> Any:
        """Returns how many threads, of those that run side by side, come to the bin of each before it in a step."""
        waves = (self.numbers[step] % _BINS).reshape(-1, min(_WAVE, 16 * self.threads, len(self.data)))
        equal = waves[:, :, None] == waves[:, None]
        return np.tril(equal, -1).sum(axis=2).ravel()

    def expected(self, name: str) -> Any:
        """Returns what the threads store in the end; of a lock and of the last block, what they store together."""
        sums = np.repeat(self.of_blocks, self.threads)
        if name == "look-back":
            return np.repeat(self.until, self.threads)
        if name == "Stream-K":
            parts = self.sums.reshape(-1, _SPLIT, self.threads).copy()
            parts[:, 0] = parts.sum(axis=1)
            return parts.ravel()
        return self.sums if name == "counters" or name.startswith("cas") else sums

    def seconds(self, name: str, ptx: str, check: bool | str) -> float:
        """Returns CPU seconds of a run. The results must be those of numpy."""
        count = self.blocks * self.threads
        out, words = np.zeros(count, np.uint32), np.zeros(4 * count, np.uint32)
        state, ready = np.zeros(count, np.uint32), self.ready(name)
        start = process_time()
        run(ptx, "k", self.blocks, self.threads, [out, self.data, state, ready, words], check=check)  # type: ignore
        found = process_time() - start
        expected = self.expected(name)
        if name == "last block":  # some block has the sum of all in addition
            extra = (out - expected).reshape(self.blocks, -1)
            expected = expected + np.repeat(extra.any(axis=1) * self.until[-1], self.threads)
        if not np.array_equal(out, expected):
            raise SystemExit(f"error: {name}: the simulator and numpy differ")
        return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kernel (default: 5)")
    parser.add_argument("--only", metavar="NAME", action="append", help="only patterns whose names have this")
    parser.add_argument("--check", default="hardware", choices=("off", "hardware", "strict"))
    parser.add_argument("--blocks", type=int, default=32, help="a multiple of 4 (default: 32)")
    parser.add_argument("--threads", type=int, default=256, help="a power of two, at most 1024 (default: 256)")
    flags = parser.parse_args()
    check = False if flags.check == "off" else flags.check
    case = _Case(flags.blocks, flags.threads)
    print(f"| {flags.blocks} blocks of {flags.threads}, checks: {flags.check} | plain | atomics | ratio |")
    print("|---|---:|---:|---:|")
    for name, texts in _PATTERNS.items():
        if flags.only and not any(each in name for each in flags.only):
            continue
        pairs = [[case.seconds(name, ptx, check) for ptx in texts] for _ in range(flags.rounds)]
        atomics, plain = (min(found) for found in zip(*pairs, strict=True))
        print(f"| {name} | {plain:.3f} s | {atomics:.3f} s | {atomics / plain:.2f} |", flush=True)


if __name__ == "__main__":
    main()
