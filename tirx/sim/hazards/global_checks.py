"""Accesses of global memory that are not in order behind those before: errors, warnings, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import ASYNC, ATOMIC, Access, Kind
from tirx.sim.hazards.global_flags import GlobalFlags
from tirx.sim.hazards.global_pairs import IS_ATOMIC, PairRules, Pairs, Side, Users, Verdict
from tirx.sim.hazards.global_shadow import GlobalShadow, clusters_of, kinds_of, pc_of, scopes_of, silent_of, threads_of
from tirx.sim.memory.segment import Segment

_DOES = {Kind.BULK: "a bulk copy", Kind.REDUCE: "a bulk reduction", Kind.COPY: "cp.async"}


@dataclass(slots=True, eq=False)
class Accessed:
    """
    An instruction that accesses a buffer: by whom, how, by elements of so many bytes, and which granules (accesses,
    granules of each): their numbers and their places in the shadow.
    """

    users: Users
    segment: Segment
    shadow: GlobalShadow
    places: Array
    units: Array
    access: Access
    element: int

    @property
    def common(self) -> tuple[Users, Segment, GlobalShadow, Access, int]:
        """Returns what is the same for all clusters."""
        return self.users, self.segment, self.shadow, self.access, self.element


class OrderChecks:
    """
    Compares accesses with those before. `note` hears of what only the letter forbids, which is an error if `strict`.
    `describe` says where an instruction (by its index) stands, `place` which thread a thread of a cluster is.
    """

    def __init__(
        self,
        note: Callable[[str, str], None],
        noted: Callable[[str], bool],
        describe: Callable[[int], str],
        place: Callable[[int, int], str],
        flags: GlobalFlags,
        rules: PairRules,
        *,
        strict: bool,
    ):
        self._note, self._noted, self._describe, self._place = note, noted, describe, place
        self._flags, self._rules, self._strict = flags, rules, strict

    @staticmethod
    def _with_earlier(shadow: GlobalShadow, at: Array, pairs: Pairs, access: Access) -> tuple[Pairs, Array]:
        """Adds the first of several strong writes to pairs. Returns them, and the number of the pair of each."""
        which = np.flatnonzero(shadow.has_earlier(at, access))
        numbers = np.append(np.arange(len(at)), which)
        if len(which) and shadow.earlier is not None and shadow.earlier_hows is not None:
            tokens = np.append(pairs.tokens, shadow.earlier[at[which]])
            hows = np.append(pairs.hows, shadow.earlier_hows[at[which]])
            pairs = Pairs(tokens, hows, pairs.threads[numbers], pairs.offsets[numbers])
        return pairs, numbers

    def reads(self, side: Side, accessed: Accessed, suspicious: Mask) -> None:
        """Complains of reads by a cluster that are not in order behind the last writes, where that is `suspicious`."""
        users, segment, shadow, access, element = accessed.common
        places, units = accessed.places, accessed.units
        rows, columns = np.nonzero(suspicious[side.own])
        if not len(rows):
            return
        at, unit = places[side.own][rows, columns], units[side.own][rows, columns]
        threads, offsets = users.threads[side.own][rows], unit * shadow.granule
        pairs = Pairs(shadow.writes[at], shadow.write_hows[at], threads, offsets)
        silent = silent_of(pairs.hows)
        if silent.any():
            # The value is that of the first write, or of the host, and of any write of the cluster.
            firsts = shadow.firsts
            tokens = np.zeros(len(at), np.int64) if firsts is None else firsts[at]
            hows = pairs.hows if shadow.first_hows is None else shadow.first_hows[at]
            fine = silent & (tokens == 0)
            own = shadow.silent_of(side.cluster)
            if own is not None:
                fine |= silent & np.isin(unit, own)
            first = silent & ~fine
            if first.any():
                which = np.flatnonzero(first)
                found = Pairs(tokens[which], hows[which], threads[which], offsets[which])
                fine[which[self._rules.after_write(side, found, access, element, writes=False).hardware]] = True
            open_pairs = ~(silent & (tokens == 0)) if access.kind is Kind.READ_ONLY else ~fine
            if not open_pairs.any():
                return
            pairs, at, unit = pairs.of(open_pairs), at[open_pairs], unit[open_pairs]
        pairs, numbers = self._with_earlier(shadow, at, pairs, access)
        verdict = self._rules.after_write(side, pairs, access, element, writes=False)
        verdict = self._with_observed(side, shadow, unit[numbers], at[numbers], pairs, access, verdict)
        self._complain(side, segment, pairs, verdict, access, "reads", "written")

    def _with_observed(
        self, side: Side, shadow: GlobalShadow, units: Array, places: Array, pairs: Pairs, access: Access,
        verdict: Verdict,
    ) -> Verdict:  # fmt: skip
        """
        Adds to a verdict about writes those that a strong read has seen which the thread is behind: then so does the
        thread, without any fence (section 8.9.5, observation).
        """
        if verdict.letter.all():
            return verdict
        open_pairs = ~verdict.letter & IS_ATOMIC[kinds_of(pairs.hows)] & (shadow.reads[places] != 0)
        if access.kind not in (Kind.WEAK, Kind.STRONG, Kind.UPDATE) or not open_pairs.any():
            return verdict
        seen, at = np.zeros(len(places), np.bool_), np.flatnonzero(open_pairs)
        distinct, first, back = np.unique(units[at], return_index=True, return_inverse=True)
        for which, tokens, made in shadow.readers(distinct, places[at][first])[0]:
            if not IS_ATOMIC[kinds_of(np.array(made))]:
                continue
            inside = clusters_of(tokens) == side.cluster
            for pair, unit in zip(at.tolist(), back.tolist(), strict=True):
                own = tokens[inside & (which == unit)]
                all_of = partial(np.full, len(own))
                reads = Pairs(own, all_of(made), all_of(pairs.threads[pair]), own)
                write = Pairs(all_of(pairs.tokens[pair]), all_of(pairs.hows[pair]), threads_of(own), own)
                sees = self._rules.covers(side, write, int(scopes_of(np.array(made))))
                seen[pair] |= bool((sees & self._rules.in_order(side, reads, Row.VISIBLE)[0]).any())
        return Verdict(verdict.hardware | seen, verdict.letter | seen, verdict.rule)

    def writes(self, side: Side, accessed: Accessed, changed: Mask, suspicious: Mask, touched: Mask) -> None:
        """
        Complains of writes by a cluster that are not in order behind the last writes, where that is `suspicious`, and
        behind the reads since, where granules are `touched`.
        """
        users, segment, shadow, access, element = accessed.common
        places, units, changed = accessed.places[side.own], accessed.units[side.own], changed[side.own]
        suspicious, touched = suspicious[side.own], touched[side.own]
        threads = users.threads[side.own]
        rows, columns = np.nonzero(suspicious)
        if len(rows):
            at, offsets = places[rows, columns], units[rows, columns] * shadow.granule
            pairs = Pairs(shadow.writes[at], shadow.write_hows[at], threads[rows], offsets)
            pairs, numbers = self._with_earlier(shadow, at, pairs, access)
            at, rows, columns = at[numbers], rows[numbers], columns[numbers]
            silent = silent_of(pairs.hows)
            if silent.any() and shadow.firsts is not None and shadow.first_hows is not None:
                firsts, hows = shadow.firsts[at], shadow.first_hows[at]
                which = silent & (firsts != 0)
                more = Pairs(firsts[which], hows[which], pairs.threads[which], pairs.offsets[which])
                joined = [np.concatenate([getattr(each, name) for each in (pairs, more)]) for name in Pairs.__slots__]
                pairs, rows, columns = Pairs(*joined), np.append(rows, rows[which]), np.append(columns, columns[which])
            verdict = self._rules.after_write(side, pairs, access, element, writes=True)
            if len(at) == len(pairs.tokens):
                verdict = self._with_observed(side, shadow, units[rows, columns], at, pairs, access, verdict)
            equal = ~changed[rows, columns]
            verdict = self._rules.of_equal_values(pairs, equal, element, verdict, strict=self._strict)
            self._complain(side, segment, pairs, verdict, access, "writes", "written")
        self._readers(side, accessed, touched & changed)

    def _readers(self, side: Side, accessed: Accessed, touched: Mask) -> None:
        users, segment, shadow, access, element = accessed.common
        places, units = accessed.places[side.own], accessed.units[side.own]
        rows, columns = np.nonzero(touched)
        if not len(rows):
            return
        at, unit, threads = places[rows, columns], units[rows, columns], users.threads[side.own][rows]
        several = shadow.several[at]
        alone = ~several
        found: list[Pairs] = []
        if alone.any():
            offsets = unit[alone] * shadow.granule
            found.append(Pairs(shadow.reads[at[alone]], shadow.read_hows[at[alone]], threads[alone], offsets))
        if several.any():
            many, own, by = unit[several], at[several], threads[several]
            distinct, first = np.unique(many, return_index=True)
            readers, forgotten = shadow.readers(distinct, own[first])
            for which, tokens, made in readers:
                if access.strong and self._rules.settled_by_any(np.array(made), access, element):
                    continue
                hows = np.full(len(tokens), made, np.int32)
                found.append(Pairs(tokens, hows, by[first][which], distinct[which] * shadow.granule))
            if forgotten:
                self._say("global reads forgotten", "too many reads of global memory to check all later writes against")
        for pairs in found:
            verdict = self._rules.after_read(side, pairs, access, element)
            self._complain(side, segment, pairs, verdict, access, "writes", "read")

    def _say(self, rule: str, message: str) -> None:
        if not self._noted(rule):
            self._note(rule, message)

    def _complain(
        self, side: Side, segment: Segment, pairs: Pairs, verdict: Verdict, access: Access, verb: str, did: str
    ) -> None:
        """Raises HazardError, or warns, of the first pair that is not in order."""
        hardware, letter, rule = verdict.hardware, verdict.letter, verdict.rule
        if hardware.all() and (letter.all() or (not self._strict and self._noted(rule))):
            return
        first = int(np.argmin(hardware)) if not hardware.all() else int(np.argmin(letter))
        token, made = int(pairs.tokens[first]), int(pairs.hows[first])
        cluster, thread = clusters_of(token), threads_of(token)
        kind = Kind(kinds_of(made))
        missing = self._missing(side, pairs.of(np.arange(len(letter)) == first), kind, access, did, cluster)
        message = (
            f"{_DOES.get(access.kind, 'the access')} of {self._place(side.cluster, int(pairs.threads[first]))} {verb} "
            f"byte {int(pairs.offsets[first])} of {segment.name}, which {self._describe(pc_of(made))} "
            f"({_DOES[kind] + ' of ' if kind in _DOES else ''}{self._place(cluster, thread)}) has {did}: {missing}"
        )
        if self._flags.forgotten and kind not in ASYNC:
            # What orders the two may have been forgotten.
            self._say("global flags forgotten", "too many flags in global memory to know all order between CTAs")
            return
        if not hardware.all():
            raise HazardError(f"data race: {message}")
        if self._strict:
            raise HazardError(f"{rule or 'global'}: {message}")
        self._note(rule or "global order", message)

    def _missing(self, side: Side, pair: Pairs, kind: Kind, access: Access, did: str, cluster: int) -> str:
        """Says what orders the first access behind the other."""
        if access.kind is Kind.READ_ONLY or kind is Kind.READ_ONLY:
            return "ld.global.nc is for memory that the launch does not write"
        if kind in ASYNC and did == "written":
            return "expected cp.async.bulk.wait_group (without .read) of the issuing thread, and then a synchronisation"
        if kind is Kind.MAP:
            return "expected cp.async.bulk.wait_group of the thread of the copy that reads the tensor map"
        if kind is Kind.BULK:
            return "expected a wait for the mbarrier of the copy, and then a synchronisation"
        if kind is Kind.COPY:
            return "expected cp.async.wait_group of that thread, and then a synchronisation"
        if access.kind in ASYNC and self._rules.in_order(side, pair, Row.VISIBLE)[0].all():
            return "expected fence.proxy.async (or .async.global) in between, on the way of the synchronisation"
        if kind in ATOMIC and access.kind in ATOMIC:
            return "the scope of one of them does not have the other thread, or they differ in size"
        if cluster != side.cluster:
            return (
                "expected a flag with .release and .acquire, or fences on both sides, of a scope that has both threads "
                "between CTAs that are not of one cluster"
            )
        return "expected a synchronisation of the two threads in between"
