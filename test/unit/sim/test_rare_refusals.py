"""Refusals that take more than one statement: masks of columns, memory that is read-only, barriers, output."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError, TensorMap, run
from tirx.sim.program import intrinsics
from tirx.sim.tensor.zero_mask import expand_zero_mask

_HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (1 << 36, "illegal zero-column mask 0x0000001000000000: bits 36-38 and 62-63 must be zero"),
        (1 << 62, "bits 36-38 and 62-63 must be zero"),
        (9 << 56, r"shift 9 is more than 8 \(M=64, maximum shift 8 in the instruction descriptor\)"),
    ],
)
def test_zero_column_masks(bits: int, message: str):
    with pytest.raises(SimError, match=message):
        expand_zero_mask(bits, 64, 64, 8)


def _frozen() -> np.ndarray:
    array = np.zeros(64, np.int32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("atom.global.add.u32 %r, [%d], 1;", "atomic access to argument p, which is read-only"),
        ("st.global.u32 [%d], 1;", "which is read-only"),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%d], [s], 16; cp.async.bulk.commit_group; "
            "cp.async.bulk.wait_group 0;",
            "which is read-only",
        ),
    ],
)
def test_memory_that_is_read_only(statement: str, message: str):
    body = f".reg .b32 %r; .reg .b64 %d; .shared .align 16 .b8 s[16]; ld.param.u64 %d, [p]; {statement}"
    ptx = f"{_HEADER}.visible .entry k(.param .u64 p) {{ {body} ret; }}"
    with pytest.raises(SimError, match=message):
        run(ptx, "k", 1, 1, [_frozen()], check=False)


def test_a_tensor_that_is_read_only():
    body = (
        ".reg .b64 %d; .shared .align 128 .b8 s[256]; ld.param.u64 %d, [p]; "
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d, {0, 0}], [s]; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group 0;"
    )
    ptx = f"{_HEADER}.visible .entry k(.param .u64 p) {{ {body} ret; }}"
    with pytest.raises(SimError, match="cp.async.bulk.tensor to a tensor that is read-only"):
        run(ptx, "k", 1, 1, [TensorMap(_frozen().reshape(8, 8), (8, 8))], check=False)


def test_more_threads_at_a_barrier_than_it_expects():
    # Warp 2 has 16 threads and arrives while warp 0 waits for warp 1.
    body = (
        ".reg .pred %p<3>; .reg .u32 %t; mov.u32 %t, %tid.x; setp.lt.u32 %p1, %t, 32; setp.lt.u32 %p2, %t, 64; "
        "@%p1 bra FIRST; @%p2 bra SECOND; barrier.arrive 1, 32; bra END; SECOND: barrier.arrive 2, 64; bra END; "
        "FIRST: barrier.sync 2, 64; barrier.arrive 1, 32; END:"
    )
    with pytest.raises(SimError, match="barrier 1: 48 threads arrived, it expects 32"):
        run(f"{_HEADER}.visible .entry k() {{ {body} ret; }}", "k", 1, 80, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%*d", r"printf with '\*' as width or precision is not simulated"),
        ("%%%-05.*f", r"printf with '\*' as width or precision is not simulated"),
        ("x" * 256, "expected a string that ends within 256 bytes"),
    ],
)
def test_what_is_not_printed(text: str, message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(intrinsics, "_MAX_STRING", 256)
    with pytest.raises(SimError, match=message):
        run(_printing(text), "k", 1, 1, [])


def _printing(text: str) -> str:
    """Prints a text, and traps unless printf says that it had 2 arguments."""
    values = ", ".join(str(ord(each)) for each in text)
    return (
        f"{_HEADER}.global .b8 text[{len(text) + 1}] = {{{values}}};\n"
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
        ".visible .entry k() { .reg .b64 %d; .reg .b32 %r; .reg .pred %p; .param .b32 r; .param .b64 a; .param .b64 b; "
        ".local .align 8 .b8 values[16]; mov.u32 %r, %tid.x; st.local.u32 [values], %r; st.local.s32 [values+4], -7; "
        "mov.u64 %d, text; cvta.global.u64 %d, %d; st.param.b64 [a], %d; "
        "mov.u64 %d, values; cvta.local.u64 %d, %d; st.param.b64 [b], %d; "
        "call (r), vprintf, (a, b); ld.param.b32 %r, [r]; setp.ne.s32 %p, %r, 2; @%p trap; ret; }"
    )


def test_what_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Texts as long as possible, in each thread's turn."""
    text = "%2d:%d" + "x" * 10
    monkeypatch.setattr(intrinsics, "_MAX_STRING", len(text) + 1)
    run(_printing(text), "k", 1, 3, [])
    assert capsys.readouterr().out == "".join(f" {lane}:-7xxxxxxxxxx" for lane in range(3))
    monkeypatch.setattr(intrinsics, "_MAX_STRING", len(text))
    with pytest.raises(SimError, match="expected a string that ends within 16 bytes"):
        run(_printing(text), "k", 1, 1, [])


def test_assertions():
    """The first thread that fails says what, where and in which function."""
    texts = {"message": "x > 0", "file": "k.cu", "function": "void k()"}
    variables = "".join(
        f".global .b8 {name}[{len(text) + 1}] = {{{', '.join(str(ord(each)) for each in text)}}};\n"
        for name, text in texts.items()
    )
    stores = "".join(f"mov.u64 %d, {name}; cvta.global.u64 %d, %d; st.param.b64 [{name[:2]}], %d; " for name in texts)
    ptx = (
        f"{_HEADER}{variables}.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
        ".param .b64 e);\n.visible .entry k() { .reg .b64 %d; .reg .b32 %r; .reg .pred %p; .param .b64 me; "
        ".param .b64 fi; .param .b64 fu; .param .b32 line; .param .b64 size; mov.u32 %r, %tid.x; "
        "setp.lt.u32 %p, %r, 5; @%p bra END; add.u32 %r, %r, 300; st.param.b32 [line], %r; st.param.b64 [size], 1; "
        f"{stores} call __assertfail, (me, fi, line, fu, size); END: ret; }}"
    )
    with pytest.raises(SimError) as caught:
        run(ptx, "k", 1, 32, [])
    assert caught.value.message == "assertion failed: x > 0 (void k(), k.cu:305)"


@together(
    ("bound", "first", "second", "refused"),
    [
        (".maxnreg 64", "dec.sync.aligned.u32 24", "inc.sync.aligned.u32 104", ""),
        (".maxnreg 64", "dec.sync.aligned.u32 32", "inc.sync.aligned.u32 104", "for ever: .* 1024 registers more"),
        (".maxnreg 255", "dec.sync.aligned.u32 24", "inc.sync.aligned.u32 256", ""),
        (".maxnreg 257", "dec.sync.aligned.u32 24", "inc.sync.aligned.u32 256", "at most 65536 registers .* 67584"),
        (".maxnreg 60", "dec.sync.aligned.u32 24", "inc.sync.aligned.u32 104", ""),
        ("", "dec.sync.aligned.u32 32", "inc.sync.aligned.u32 104", ""),
    ],
)
def test_registers_that_no_warp_gives_back(bound: str, first: str, second: str, refused: str) -> None:
    """A block has the registers of its launch, in units of 8. Without a bound ptxas ignores `setmaxnreg`."""
    ptx = f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k() {bound} {{
  .reg .b32 %r<2>;
  .reg .pred %p<1>;
  mov.u32 %r0, %tid.x;
  setp.lt.u32 %p0, %r0, 128;
  @%p0 bra FIRST;
  setmaxnreg.{second};
  ret;
FIRST:
  setmaxnreg.{first};
  ret;
}}
"""
    with pytest.raises(SimError, match=refused) if refused else nullcontext():
        run(ptx, "k", 1, 256, [])
