"""The words of the check of rings about small kernels and those of `CASES`."""

SAID = {
    "threads write behind TMA": ("SlotUseError: x releases a slot of r without a proxy fence; the access by threads"),
    "threads write behind TMA and fence": "",
    "threads read beside stores": "",
    "passed on as it came": "",
    "waits for who never releases": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w"
    ),
    "the last steps": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 0 at station 1 of r, for a release by w"
    ),
    "two of three": "",
    "three of three, two awaited": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 2 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "none of three": "",
    "one of three, none awaited": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 0 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "the second of three by name": "",
    "the third of three, the second by name": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 2 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "the first by name": "",
    "the second, the first by name": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 1 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "the other name": "",
    "behind the other name": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 2 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "held over rounds": "",
    "by the name of the acquire": "",
    "of no such acquire": "SlotUseError: w writes a slot of r that it does not hold",
    "of no acquire before": "SlotUseError: w writes a slot of r that it does not hold",
    "of an acquire to come": "SlotUseError: w writes a slot of r that it does not hold",
    "the other first": "SlotUseError: w passes on a slot of r that it did not fill",
    "one after the other": "",
    "update of what it wrote": "",
    "update of what was left": "",
    "update of nothing": "PartyError: r carries a value that nobody writes",
    "carries what it wrote": "SlotUseError: w reads in r what it has overwritten itself",
    "released behind another product": (
        "SlotUseError: w releases a slot of r while wgmma still writes it; the work that is not complete"
    ),
    "of another slot": "",
    "both read": "",
    "work behind reads, fenced too late": (
        "SlotUseError: w: tcgen05 works on a slot of r without a proxy fence behind accesses by threads; the "
        "access by threads"
    ),
    "work behind reads and a fence": "",
    "copies that only one branch commits": (
        "SlotUseError: w releases a slot of r while cp_async still writes it, when @k has 0 iterations; the "
        "work that is not complete"
    ),
    "copies that both branches commit": "",
    "fences one ring": ("SlotUseError: w releases a slot of o without a proxy fence; the access by threads"),
    "released after no product": (
        "SlotUseError: w releases a slot of r after wgmma, which does not wait for accesses by threads; expected a "
        "release behind tirx.await; the access by threads"
    ),
    "counter": "UndecidedError: w: a counter is set back",
    "stranger": "PartyError: w works at station 1 of r, where it is not a party",
    "stranger reads": "PartyError: x works at station 0 of r, where it is not a party",
    "counts": "ArrivalError: expected a barrier for 1 arrivals behind station 1 of r, found one for 2",
    "two read and write": (
        "PartyError: several parties (w, x) read and write at station 0 of r, so that one may overwrite what "
        "another still reads"
    ),
    "two write": "",
    "nobody writes": "PartyError: r carries a value that nobody writes",
    "not told": "PartyError: r: writers in another block are not told of the release",
    "skewed condition": (
        "UndecidedError: w: cannot decide: a condition around operations of a ring in a loop with a skew"
    ),
    "condition in a loop without skew": "",
    "not held": "SlotUseError: w writes a slot of r that it does not hold",
    "not held that long": "SlotUseError: w writes a slot of r that it does not hold",
    "not yet held": "SlotUseError: w writes a slot of r that it does not hold",
    "the older one": "",
    "released twice": "SlotUseError: w releases a slot of r that it does not hold",
    "not filled": "SlotUseError: w passes on a slot of r that it did not fill",
    "no fence before TMA": "SlotUseError: x releases a slot of r without a proxy fence; the access by threads",
    "fence before TMA": "",
    "fewer bytes": "ArrivalError: w: expected 8 bytes by TMA in every slot of r, found 7",
    "no bytes": "ArrivalError: w: expected 8 bytes by TMA in every slot of r, found 0",
    "release too early": (
        "SlotUseError: w releases a slot of r while tma still writes it; the work that is not complete"
    ),
    "bytes that nobody expects": "ArrivalError: w: expected no release after TMA, which fills no slot of r here",
    "without bytes": "ArrivalError: w: expected no release after TMA, which fills no slot of r here",
    "reads what it wrote": "SlotUseError: x reads in r what it has overwritten itself",
    "carries at the last station": (
        "SlotUseError: x reads what the use before left at station 1 of r, expected the first station of a "
        "ring of one slot, found 1"
    ),
    "carries in two slots": "PartyError: r carries a value that nobody writes",
    "products behind stores": (
        "SlotUseError: w: store works on a slot of r without a proxy fence behind accesses by threads; the "
        "access by threads"
    ),
    "stores behind reads": "AwaitError: w: work of store is not awaited at the end",
    "store never committed": (
        "AwaitError: w: expected a release after(store) behind work of store, which commits it, found none"
    ),
    "store committed": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w; w would "
        "have to release it here"
    ),
    "store awaited": "",
    "released in another order": "SlotUseError: w: releases of r overtake each other",
    "fewer uses": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by w at station 0 of r, "
        "0 by x at station 1 of r"
    ),
    "waits for ever": ("DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w"),
    "waits for one another": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 0 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "a group is left": "AwaitError: w: work of wgmma is not awaited at the end",
    "waits for a product": "",
    "waits for the product before": "",
    "waits for a product two before": (
        "DeadlockError: deadlock: w waits for ever for use 2 at station 0 of r, for a release by x, when "
        "every loop has 3 iterations; x waits for ever for use 0 at station 1 of r, for a release by w; x "
        "would have to release it here"
    ),
    "waits for another product": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w, when "
        "every loop has 1 iteration; w would have to release it here"
    ),
    "waits for the first of two": "",
    "order of loops": ("UndecidedError: cannot decide: the loops @a, @b stand in different order in different roles"),
    "loop under a condition": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by w at station 0 of r, "
        "0 by x at station 1 of r, when every loop has 1 iteration"
    ),
    "a loop twice": "UndecidedError: w: cannot decide: loop @k twice in a row",
    "other iterations": "PartyError: the numbers of iterations of @k may differ between w and x; the loop of w",
    "ever more": (
        "PartyError: expected the same number of uses of r at all stations, found 2 by w at station 0 of r, "
        "1 by x at station 1 of r, when every loop has 1 iteration"
    ),
    "conditions": (
        "PartyError: expected the same number of uses of r at all stations, found 2 by w at station 0 of r, "
        "0 by x at station 1 of r"
    ),
    "uses that differ": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by w at station 0 of r, "
        "0 by x at station 1 of r, when @k has 0 iterations"
    ),
    "unlike conditions": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w; w would "
        "have to release it here"
    ),
    "early rounds": "",
    "late rounds": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w, when @k "
        "has 2 iterations; w would have to release it here"
    ),
    "trail": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w, when @a "
        "has 0 iterations, @b has 0 iterations; w would have to release it here"
    ),
    "wgmma without roles, 2 slots, 1 ahead, 1 pending": (
        "DeadlockError: deadlock: w0 waits for ever for use 2 at station 0 of r, for a release by w0, when "
        "every loop has 3 iterations; w1 waits for ever for use 2 at station 1 of r, for a release by w0; w0 "
        "would have to release it here"
    ),
    "facebookexperimental/triton 1278: release before the wait": (
        "SlotUseError: w0 releases a slot of r while wgmma still reads it, when in round 0 of @tile, in "
        "round 2 of @k; the work that is not complete"
    ),
    "cluster, 1 slot, 1 pending": (
        "DeadlockError: deadlock: load@0 waits for ever for use 1 at station 0 of r, for a release by mma@0 "
        "and mma@1, when every loop has 2 iterations; mma@0 waits for ever for use 1 at station 1 of r, for "
        "a release by load@0 and load@1; load@1 waits for ever for use 1 at station 0 of r, for a release by "
        "mma@0 and mma@1; mma@1 waits for ever for use 1 at station 1 of r, for a release by load@0 and "
        "load@1; mma@0 would have to release it here; mma@1 would have to release it here"
    ),
    "cluster, release told to the own block only": (
        "PartyError: r: writers in another block are not told of the release"
    ),
    "tcgen05, one epilogue warpgroup is not counted": (
        "ArrivalError: expected a barrier for 2 arrivals behind station 1 of acc, found one for 1"
    ),
    "tcgen05, accumulator handed on before the commit": (
        "SlotUseError: mma releases a slot of acc while tcgen05 still writes it, when @k has 0 iterations, "
        "in round 0 of @tile; the work that is not complete"
    ),
    "tcgen05, one role skips the answer": (
        "PartyError: expected the same number of uses of clc at all stations, found 1 by sched at station 0 "
        "of clc, 1 by sched at station 1 of clc, 1 by load at station 1 of clc, 1 by mma at station 1 of "
        "clc, 1 by epi0 at station 1 of clc, 0 by epi1 at station 1 of clc, when every loop has 1 iteration"
    ),
    "tcgen05, answer read, no fence before the next question": (
        "SlotUseError: sched releases a slot of clc without a proxy fence, when in round 0 of @tile; the "
        "access by threads"
    ),
    "fragments of the next slot, 1 slots": (
        "DeadlockError: deadlock: load waits for ever for use 1 at station 0 of r, for a release by m0 and "
        "m1, when every loop has 2 iterations; m0 waits for ever for use 1 at station 1 of r, for a release "
        "by load; m1 waits for ever for use 1 at station 1 of r, for a release by load; m0 would have to "
        "release it here; m1 would have to release it here"
    ),
    "DeepGEMM 389: no proxy fence": (
        "SlotUseError: m0 releases a slot of r without a proxy fence, when in round 0 of @t, in round 1 of "
        "@k; the access by threads"
    ),
    "cp.async, 3 slots, 3 ahead": (
        "DeadlockError: deadlock: w0 waits for ever for use 3 at station 0 of r, for a release by w0 and w1, "
        "when every loop has 4 iterations; w1 waits for ever for use 3 at station 0 of r, for a release by "
        "w0 and w1; w0 would have to release it here; w1 would have to release it here"
    ),
    "attention on wgmma, baton held over two rounds": (
        "DeadlockError: deadlock: load waits for ever for use 2 at station 0 of k, for a release by wg1, "
        "when every loop has 2 iterations; wg0 waits for ever for use 1 at station 0 of turn, for a release "
        "by wg1; wg1 waits for ever for use 0 at station 1 of turn, for a release by wg0; wg1 would have to "
        "release it here"
    ),
    "attention on wgmma, causal count in the readers only": (
        "PartyError: the numbers of iterations of @j may differ between load and wg0; the loop of load"
    ),
    "attention on tcgen05, one S/P slot, QK one ahead": (
        "DeadlockError: deadlock: mma waits for ever for use 1 at station 0 of sp, for a release by mma, "
        "when every loop has 2 iterations; soft waits for ever for use 1 at station 1 of sp, for a release "
        "by mma; corr waits for ever for use 1 at station 1 of m, for a release by soft; mma would have to "
        "release it here"
    ),
    "attention on tcgen05, O carried in two slots": (
        "SlotUseError: mma reads what the use before left at station 0 of o, expected the first station of a "
        "ring of one slot, found 2, when in round 1 of @j"
    ),
    "TileLang 2613: one of two readers is counted": (
        "ArrivalError: expected a barrier for 2 arrivals behind station 1 of r, found one for 1"
    ),
    "more arrivals counted than there are": (
        "ArrivalError: expected a barrier for 2 arrivals behind station 1 of r, found one for 3"
    ),
    "the bytes of one box forgotten": (
        "ArrivalError: load: expected 16 bytes by TMA in every slot of r, found 8, when in round 0 of @k"
    ),
    "CUTLASS 1801: numbers of iterations differ": (
        "PartyError: the numbers of iterations of @k may differ between load and b; the loop of load"
    ),
    "a slot read and overwritten in place, two slots": (
        "SlotUseError: p reads what the use before left at station 0 of r, expected the first station of a "
        "ring of one slot, found 2, when in round 0 of @k"
    ),
    "a carried sum that nobody has filled": "SlotUseError: threads passes on a slot of o that it did not fill",
    "TileLang 2674: counters restart in every tile": "UndecidedError: p: a counter is set back",
    "TileLang 2566: the first round peeled without a guard": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by p at station 0 of r, "
        "0 by c at station 1 of r, when @k has 0 iterations"
    ),
    "two rings, each role waits for the other": (
        "DeadlockError: deadlock: p waits for ever for use 0 at station 1 of y, for a release by c, when "
        "every loop has 1 iteration; c waits for ever for use 0 at station 1 of x, for a release by p; c "
        "would have to release it here"
    ),
    "groups of wgmma never awaited behind the loop": (
        "AwaitError: c: work of wgmma is not awaited at the end, when @k has 1 iteration"
    ),
    "named barrier in the loop, 2 slots, 2 ahead": (
        "DeadlockError: deadlock: w0 waits for ever for use 2 at station 0 of r, for a release by w0 and w1, "
        "when every loop has 3 iterations; w1 waits for ever for use 2 at station 1 of b, for a release by "
        "w0; w0 would have to release it here; w1 would have to release it here"
    ),
    "named barrier that one warpgroup misses": (
        "DeadlockError: deadlock: w0 waits for ever for use 0 at station 1 of b, for a release by w1, when "
        "@k has 1 iteration; w1 would have to release it here"
    ),
    "store by TMA without a fence behind stmatrix, slot still held": (
        "SlotUseError: e: store works on a slot of o without a proxy fence behind accesses by threads, when "
        "in round 0 of @k; the access by threads"
    ),
    "read behind the own write in place (found by random programs)": (
        "SlotUseError: p reads in r what it has overwritten itself, when in round 0 of @k"
    ),
}
"""The error about each kernel and the titles of its notes; nothing where it is right."""
