"""Control flow of one function: reconvergence of diverged lanes, and reachable instructions."""

from __future__ import annotations

from collections.abc import Sequence


def immediate_post_dominators(successors: Sequence[Sequence[int]]) -> list[int | None]:
    """
    For every node the first node that all ways from it to the exit pass, None if that is the exit itself.

    `successors[i]` are those of node i; the exit is node `len(successors)`. (Cooper, Harvey and Kennedy's algorithm on
    the reversed graph.)
    """
    exit_node = len(successors)
    predecessors: list[list[int]] = [[] for _ in range(exit_node + 1)]
    for node, following in enumerate(successors):
        for each in following:
            predecessors[each].append(node)
    order = _postorder(predecessors, exit_node)
    number = {node: index for index, node in enumerate(order)}
    dominator = {exit_node: exit_node}

    def common(first: int, second: int) -> int:
        while first != second:
            while number[first] < number[second]:
                first = dominator[first]
            while number[second] < number[first]:
                second = dominator[second]
        return first

    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == exit_node:
                continue
            found: int | None = None
            for each in successors[node]:
                if each in dominator:
                    found = each if found is None else common(found, each)
            if found is not None and dominator.get(node) != found:
                dominator[node] = found
                changed = True
    return [None if dominator.get(node, exit_node) == exit_node else dominator[node] for node in range(exit_node)]


def _postorder(following: Sequence[Sequence[int]], start: int) -> list[int]:
    order: list[int] = []
    seen = {start}
    stack = [(start, iter(following[start]))]
    while stack:
        node, rest = stack[-1]
        for each in rest:
            if each not in seen:
                seen.add(each)
                stack.append((each, iter(following[each])))
                break
        else:
            order.append(node)
            stack.pop()
    return order


def reachable(successors: Sequence[Sequence[int]], start: int = 0) -> set[int]:
    """Returns the nodes that can be reached from `start`, without the exit."""
    seen: set[int] = set()
    pending = [start]
    while pending:
        node = pending.pop()
        if node in seen or node >= len(successors):
            continue
        seen.add(node)
        pending += successors[node]
    return seen
