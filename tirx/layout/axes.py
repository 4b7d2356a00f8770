"""The axes of `tirx.layout.axis` by name, for layouts that are spelled in Python: `4 @ laneid`."""

from __future__ import annotations

from tirx.layout.axis import axis

bx, by, bz = axis("bx"), axis("by"), axis("bz")
cbx, cby, cbz = axis("cbx"), axis("cby"), axis("cbz")
tx, tid, laneid, warpid, wgid = axis("tx"), axis("tid"), axis("laneid"), axis("warpid"), axis("wgid")
tid_in_wg, wid_in_wg = axis("tid_in_wg"), axis("wid_in_wg")
pid = axis("pid")
m, P, F, Bank, TLane, TCol = axis("m"), axis("P"), axis("F"), axis("Bank"), axis("TLane"), axis("TCol")
