"""Descriptors of which some bits are known: an error exactly where no choice of the others is legal."""

from itertools import chain, combinations

from hypothesis import example, given
from hypothesis import strategies as st
from unit.tcgen05.mma_instructions import idesc, mma

from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.symbolic.integers import Integers
from tirx.tcgen05.check import SmemOperand, find_violations

K_MAJOR = SmemDescriptor(0x1460, None, 1024, "128B").encode()
MN_MAJOR = SmemDescriptor(0x2400, 2048, 1024, "64B").encode()
PLAIN = SmemDescriptor(0x1230, 128, 256, "none").encode()
ABSOLUTE = SmemDescriptor(0x1460, 2048, 1024, "128B", lbo_absolute=True).encode()

PRODUCTS = {
    "K": ("f16", idesc(), "sm_100a"),
    "MN": ("f16", idesc(a_major="MN"), "sm_100a"),
    "K = 96": ("mxf4", idesc("mxf4", wide_k=True), "sm_103a"),
}


def refused(word: int | Integers, product: str) -> bool:
    kind, descriptor, target = PRODUCTS[product]
    found = find_violations(mma(kind, descriptor, a=SmemOperand(word), b=None, target=target))
    return any(finding.rule in ("a-descriptor", "a-descriptor-bits") for finding in found)


@given(
    st.sampled_from([K_MAJOR, MN_MAJOR, PLAIN, ABSOLUTE]),
    st.sets(st.integers(0, 63), max_size=2),
    st.sets(st.integers(0, 63), max_size=5),
    st.sampled_from(list(PRODUCTS)),
)
@example(K_MAJOR, {14}, {61, 62, 63}, "K")
@example(K_MAJOR, {7}, {61, 62, 63}, "K")
@example(ABSOLUTE, set(), {52}, "K")
@example(ABSOLUTE, {62}, {52, 61}, "K = 96")
def test_refused_where_nothing_that_it_may_be_is_legal(word: int, wrong: set[int], unknown: set[int], product: str):
    for bit in wrong:
        word ^= 1 << bit
    mask = sum(1 << bit for bit in unknown)
    known = Integers(64, zeros=~word & ~mask & (1 << 64) - 1, ones=word & ~mask)
    subsets = chain.from_iterable(combinations(unknown, n) for n in range(len(unknown) + 1))
    completions = [known.ones | sum(1 << bit for bit in subset) for subset in subsets]
    assert refused(known, product) == all(refused(each, product) for each in completions)


def test_nothing_known_is_nothing_wrong():
    assert not any(refused(Integers(64), product) for product in PRODUCTS)


def test_legal_words():
    assert not refused(K_MAJOR, "K") and not refused(MN_MAJOR, "MN") and not refused(ABSOLUTE, "K = 96")
