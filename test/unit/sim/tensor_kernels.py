"""Kernels of a CTA or of a pair that fill shared and tensor memory, issue tcgen05 instructions and dump the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from unit.sim.strict import run

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]

COLUMNS = 512
_CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


def vector(count: int, first: int = 0) -> str:
    return "{" + ", ".join(f"%v{first + index}" for index in range(count)) + "}"


def _chunks(count: int) -> list[tuple[int, int]]:
    """(first, size) of powers of two that make up `count` columns."""
    found: list[tuple[int, int]] = []
    first = 0
    while first < count:
        size = 32
        while first + size > count:
            size //= 2
        found.append((first, size))
        first += size
    return found


def _moves(operation: str, base: str, first: int, count: int) -> str:
    """Loads or stores of %v0, ..., as the words from `first` on; four at once where they are aligned."""
    width = 4 if first % 4 == 0 and count % 4 == 0 else 1
    lines: list[str] = []
    for index in range(0, count, width):
        place = f"[{base}+{4 * (first + index)}]"
        values = vector(4, index) if width == 4 else f"%v{index}"
        operands = f"{values}, {place}" if operation == "ld" else f"{place}, {values}"
        lines.append(f"{operation}.global{'.v4' if width == 4 else ''}.b32 {operands};")
    return " ".join(lines)


def tensor_kernel(
    shared: int,
    words: int,
    issue: Sequence[str],
    dump: tuple[int, int],
    *,
    ctas: int = 1,
    target: str = "sm_100a",
    version: str = "8.8",
    half: int | None = None,
    without: Sequence[str] = (),
    epilogue: str | None = None,
) -> str:
    """
    Every CTA copies its `shared` bytes to shared memory and `words` words for each of its 128 lanes to tensor memory.

    Then one thread (of CTA 0) executes `issue`, and each thread stores the columns `dump` (first, count) of its lane.
    %tm is the tensor memory address, %desc the address of the bytes in a descriptor's units; %x0-15 (32 bits), %y0-15
    (64 bits) and %p4-7 are free. `half`: only the 16 lanes from this one on of every 32 are there to be loaded, and
    threads t and t + 16 get the same. `without` names steps to leave out; `epilogue` is instead of the loads of `dump`
    and leaves the values of a thread in %v0, ...
    """
    lines: list[str] = []

    def add(text: str, step: str = "") -> None:
        if not step or step not in without:
            lines.append(text)

    group = f"cta_group::{ctas}"
    together = _CLUSTER if ctas == 2 else "bar.sync 0;"
    sync = f"tcgen05.fence::before_thread_sync; {together} tcgen05.fence::after_thread_sync;"
    add(f"""
.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 p_shared, .param .u64 p_words, .param .u64 p_out) .reqntid 128, 1, 1 {{
  .reg .pred %p<8>; .reg .b16 %h0; .reg .b64 %rd<16>, %y<16>, %desc;
  .reg .b32 %r<32>, %v<128>, %x<16>, %base, %tm, %cta;
  .shared .align 1024 .b8 image[{max(shared, 16)}]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;
  mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r0, 0;
  mov.b32 %base, image; mov.b32 %r4, bar; mov.b32 %r7, slot; mov.b16 %h0, 3; mov.u32 %cta, %cluster_ctarank;
  @!%p0 bra ALLOCATED;
  tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [%r7], {COLUMNS};
  tcgen05.relinquish_alloc_permit.{group}.sync.aligned;
ALLOCATED:
  @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; @%p1 fence.mbarrier_init.release.cluster;
  ld.param.u64 %rd0, [p_shared]; mad.wide.u32 %rd0, %cta, {shared}, %rd0; shl.b32 %r8, %r0, 4;
NEXT:
  setp.ge.u32 %p2, %r8, {shared}; @%p2 bra COPIED;
  cvt.u64.u32 %rd1, %r8; add.u64 %rd1, %rd1, %rd0; ld.global.v4.b32 {vector(4)}, [%rd1];
  add.u32 %r9, %base, %r8; st.shared.v4.b32 [%r9], {vector(4)}; add.u32 %r8, %r8, 2048; bra NEXT;
COPIED:
  bar.warp.sync 0xffffffff; fence.proxy.async.shared::cta;
  {sync}
  ld.shared.b32 %tm, [slot]; shl.b32 %r22, %r1, 21; add.u32 %r19, %tm, %r22;
  shr.u32 %r3, %base, 4; and.b32 %r3, %r3, 0x3FFF; cvt.u64.u32 %desc, %r3;""")
    if words:
        add(f"ld.param.u64 %rd2, [p_words]; mad.lo.u32 %r5, %cta, 128, %r0; mad.wide.u32 %rd2, %r5, {4 * words}, %rd2;")
        for first, count in _chunks(words):
            add(_moves("ld", "%rd2", first, count))
            add(f"add.u32 %r20, %r19, {first};")
            add(f"tcgen05.st.sync.aligned.32x32b.x{count}.b32 [%r20], {vector(count)};")
        add("tcgen05.wait::st.sync.aligned;", "wait::st")
        add(sync, "sync")
    add("setp.eq.and.u32 %p3, %cta, 0, %p1; @!%p3 bra WAIT;")
    lines.extend(issue)
    scope = ".multicast::cluster.b64 [%r4], %h0;" if ctas == 2 else ".b64 [%r4];"
    add(f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster{scope}", "commit")
    add("WAIT:")
    add("mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0; @!%p5 bra WAIT;", "wait")
    add("bar.warp.sync 0xffffffff; tcgen05.fence::after_thread_sync;")
    first_column, columns = dump
    add(f"ld.param.u64 %rd9, [p_out]; mad.lo.u32 %r5, %cta, 128, %r0; mad.wide.u32 %rd9, %r5, {4 * columns}, %rd9;")
    if epilogue is None:
        for first, count in _chunks(columns):
            add(f"add.u32 %r20, %r19, {first_column + first | (half or 0) << 16};")
            shape, split = ("32x32b", "") if half is None else ("16x32bx2", ", 0")
            add(f"tcgen05.ld.sync.aligned.{shape}.x{count}.b32 {vector(count)}, [%r20]{split};")
            add("tcgen05.wait::ld.sync.aligned;")
            add(_moves("st", "%rd9", first, count))
    else:
        add(epilogue)
        for index in range(columns):
            add(f"st.global.b32 [%rd9+{4 * index}], %v{index};")
    add(f"""{sync}
  @!%p0 bra END;
  tcgen05.dealloc.{group}.sync.aligned.b32 %tm, {COLUMNS};
END: ret; }}""")
    return "\n".join(lines)


def run_tensor_kernel(text: str, shared: Bytes, words: Words, columns: int, seed: int | None = None) -> Words:
    """
    Runs it on `shared` (ctas, bytes) and `words` (ctas, 128, words).

    Returns `columns` columns of every lane: (ctas, 128, columns).
    """
    ctas = len(shared)
    out = np.full((ctas, 128, columns), 0xDEADBEEF, np.uint32)
    arguments: list[Any] = [np.ascontiguousarray(shared), np.ascontiguousarray(words), out]
    run(text, "k", ctas, 128, arguments, cluster=ctas, seed=seed, max_instructions=200_000)
    return out
