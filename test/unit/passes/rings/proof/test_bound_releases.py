"""Releases that wait for groups of products: how many are open at an await, and how many stay so."""

from __future__ import annotations

from unit.passes.parsed import parsed

from tirx.dialects.tirx import KernelOp, Queue, RingOp
from tirx.passes.rings.proof.bound_releases import BoundReleases, Passes
from tirx.passes.rings.proof.errors import RingError

_KERNEL = """
!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf32, register>
tirx.kernel @k(%n: index, %c: i1, %s: !s, %z: !r) target("sm_90a") threads(128) {
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %cd = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  BODY
  tirx.return
}
"""
_STEPS = {
    "mma": "%{i} = tirx.async_mma %s, %s, %z : !s, !s, !r -> !tirx.pending<!r>",
    "ab": "tirx.release %ab at(use) after(wgmma)",
    "cd": "tirx.release %cd at(use) after(wgmma)",
    "fill": "tirx.release %ab at(fill) after(wgmma)",
    "store": "tirx.release %ab at(use) after(store)",
    "all": "tirx.await wgmma pending(0)",
    "all-but-1": "tirx.await wgmma pending(1)",
    "all-but-2": "tirx.await wgmma pending(2)",
    "stores": "tirx.await store pending(0)",
    "for": "tirx.for @k{i} %k{i} = 0 to %n skew(2) {{",
    "scf": "scf.if %c {{",
    "at0": "tirx.at(0) {{",
    "at1": "tirx.at(1) {{",
    "at2": "tirx.at(2) {{",
    "end": "}}",
}


def found(steps: str, queue: Queue = Queue.WGMMA) -> str:
    """At each await, for `ab` and `cd`: how many stay open, and the least and the greatest number that are."""
    body = "\n".join(_STEPS[step].format(i=i) for i, step in enumerate(steps.split()))
    (kernel,) = [op for op in parsed(_KERNEL.replace("BODY", body)).ops if isinstance(op, KernelOp)]
    ab, cd = [op for op in kernel.walk() if isinstance(op, RingOp)]
    places = (cd, "use"), (ab, "use")
    try:
        bound = BoundReleases(kernel.body.block, queue, places)
    except RingError as error:
        return error.message
    assert all(tuple(at) == places for at in bound.at.values()), "the order of the places, from which code is made"
    passes = [[at[ring, "use"] for ring in (ab, cd)] for at in bound.at.values()]
    return ", ".join(" ".join(f"{p.keep}/{p.least}-{p.most}" for p in each) for each in passes)


_FOUND = {
    "mma ab all": "0/1-1 0/0-0",
    "mma ab mma ab all": "0/2-2 0/0-0",
    "mma ab mma ab all-but-1": "1/2-2 0/0-0",
    "mma ab mma cd all-but-1": "0/1-1 1/1-1",
    "mma cd mma ab all-but-1": "1/1-1 0/1-1",
    "mma ab cd mma cd all-but-1": "0/1-1 1/2-2",
    "mma ab mma ab mma ab all-but-2": "2/3-3 0/0-0",
    "mma ab mma ab mma ab all-but-2 all-but-1 all": "2/3-3 0/0-0, 1/2-2 0/0-0, 0/1-1 0/0-0",
    "mma ab mma all-but-1": "0/1-1 0/0-0",
    "mma mma ab all-but-1": "1/1-1 0/0-0",
    "mma ab ab all": "0/2-2 0/0-0",
    "mma fill all": "0/0-0 0/0-0",
    "mma store all": "0/0-0 0/0-0",
    "ab all": "0/1-1 0/0-0",
    "for mma ab all-but-1 end all": "1/1-2 0/0-0, 0/0-1 0/0-0",
    "for mma ab all end": "0/1-1 0/0-0",
    "for mma ab end all": "expected an await of wgmma in a loop with releases after it, found none",
    "for mma ab mma cd all-but-1 end all": "0/1-1 1/1-2, 0/0-0 0/0-1",
    "for mma ab all-but-2 end all": "2/1-3 0/0-0, 0/0-2 0/0-0",
    "for mma ab all-but-1 end all-but-1": "1/1-2 0/0-0, 1/0-1 0/0-0",
    "mma ab for mma ab all-but-1 end all": (
        "expected all groups of wgmma to be awaited before a loop with further ones, found releases that are still open"
    ),
    "for at0 mma ab all-but-1 end end all": "1/1-2 0/0-0, 0/0-1 0/0-0",
    "for at0 mma ab end at1 all-but-1 end end all": (
        "expected an await of wgmma in a loop with releases after it, found none"
    ),
    "for at1 mma ab end at0 all-but-1 end end all": (
        "expected an await of wgmma in a loop with releases after it, found none"
    ),
    "for at0 mma ab end at2 mma cd all-but-1 end end all": (
        "expected an await of wgmma in a loop with releases after it, found none"
    ),
    "for at0 mma ab end at1 all end end all": "0/0-2 0/0-0, 0/0-0 0/0-0",
    "for at1 all end at0 mma ab end end all": "0/1-1 0/0-0, 0/0-0 0/0-0",
    "for at0 mma ab end at2 all mma cd end end all": "0/0-3 0/0-1, 0/0-0 0/0-1",
    "scf mma ab all end": "0/1-1 0/0-0",
    "scf mma ab end": "expected all groups of wgmma of a branch to be awaited in it",
    "mma ab scf mma ab all end": "expected all groups of wgmma to be awaited before a branch with further ones",
    "mma ab scf end all": "0/1-1 0/0-0",
    "for scf mma ab all end end": "0/1-1 0/0-0",
    "mma ab for mma end all": (
        "expected all groups of wgmma to be awaited before a loop with further ones, found releases that are still open"
    ),
    "for mma ab for mma cd all end end": (
        "expected all groups of wgmma to be awaited before a loop with further ones, found releases that are still open"
    ),
    "mma for mma ab all-but-1 end all-but-1": "1/1-2 0/0-0, 1/0-1 0/0-0",
}


def test_open_releases():
    assert {steps: found(steps) for steps in _FOUND} == _FOUND


def test_open_releases_of_stores():
    """Each release is a group of its own."""
    steps = ("store stores", "for store stores end", "mma ab stores", "store all")
    assert [found(each, Queue.STORE) for each in steps] == ["0/1-1 0/0-0", "0/1-1 0/0-0", "0/0-0 0/0-0", ""]
    missing = "expected an await of store in a loop with releases after it, found none"
    assert found("for store end stores", Queue.STORE) == missing


def test_what_passes():
    for keep, least, most, certain, possible in ((1, 2, 4, 1, 3), (2, 1, 2, 0, 0), (0, 0, 1, 0, 1)):
        passes = Passes(keep, least, most)
        assert (passes.certain, passes.possible) == (certain, possible)
