"""Register ownership: which element of a tile each register of each thread of a block holds, as one table."""

from __future__ import annotations

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import axis
from tirx.layout.errors import LayoutError
from tirx.layout.shape import Shape, check_entries, check_shape
from tirx.layout.tile import TileLayout

MAX_THREADS = 1024
"""Threads of a block (CUDA programming guide, technical specifications)."""


class AccessError(LayoutError):
    """The threads of a block cannot hold or reach a tile in the way that its layouts say."""

    @property
    def rule(self) -> str:
        """The name of the rule that is broken."""
        return "register-layout"


def thread_axes(layout: TileLayout) -> tuple[str, ...]:
    """The thread axes that a register layout uses; AccessError when it uses anything else besides m."""
    names = [name for name in layout.axes if name != "m"]
    for name in names:
        if axis(name).weight is None:
            raise AccessError(f"expected thread axes and m in a register layout, found axis {name} in {layout}")
    return tuple(names)


def describe_element(flat: int, shape: Shape) -> str:
    """`(i, j)` of a flat index, of a shape with any number of elements."""
    place: list[int] = []
    for extent in reversed(tuple(shape)):
        flat, at = divmod(flat, extent)
        place.insert(0, at)
    return str(tuple(place))


def held_elements(layout: TileLayout, shape: Shape, threads: int) -> NDArray[np.int64]:
    """The flat index of the element in each register of each thread: int64 array of (threads, registers).

    Registers are the coordinates of axis m, counted in elements; -1 stands for a register without an element. A thread
    axis that the layout does not name is free: of a layout on laneid alone, every warp holds a copy. Raises AccessError
    when some copy of an element is on no thread of the block, or when one register would hold two elements.
    """
    dims = check_shape(shape, layout.size())
    if not 1 <= threads <= MAX_THREADS:
        raise AccessError(f"expected 1 to {MAX_THREADS} threads, found {threads}")
    owners = layout.owner_table()
    table_shape = next(iter(owners.values())).shape if owners else (layout.size(), 1)

    def coordinates(name: str) -> NDArray[np.int64]:
        """Coordinates on one axis: (elements, copies)."""
        return owners.get(name, np.zeros(table_shape, dtype=np.int64))

    def reject(bad: NDArray[np.bool_], name: str, found: NDArray[np.int64], expected: str) -> None:
        if bad.any():
            flat, copy = (int(x) for x in np.argwhere(bad)[0])
            raise AccessError(
                f"expected {expected}, found element {describe_element(flat, dims)} at {found[flat, copy]}@{name} "
                f"in {layout}"
            )

    tids = np.arange(threads, dtype=np.int64)
    thread_key = np.zeros(threads, dtype=np.int64)
    element_key = np.zeros(table_shape, dtype=np.int64)
    for name in thread_axes(layout):
        of_thread = axis(name).of_thread(tids)
        extent = int(of_thread.max()) + 1
        found = coordinates(name)
        reject(
            (found < 0) | (found >= extent), name, found, f"{name} in 0..{extent - 1} in a block of {threads} threads"
        )
        thread_key = thread_key * extent + of_thread
        element_key = element_key * extent + found

    keys = int(max(thread_key.max(), element_key.max())) + 1
    exists = np.zeros(keys, dtype=np.bool_)
    exists[thread_key] = True
    for name in thread_axes(layout):
        reject(
            ~exists[element_key],
            name,
            coordinates(name),
            f"a thread among the {threads} of the block for every element",
        )

    slot = coordinates("m")
    reject(slot < 0, "m", slot, "registers counted from 0")
    registers = int(slot.max()) + 1
    check_entries(keys * registers, layout)
    held = np.full(keys * registers, -1, dtype=np.int64)
    cell = element_key * registers + slot
    elements = np.broadcast_to(np.arange(layout.size(), dtype=np.int64)[:, None], cell.shape)
    held[cell] = elements
    clash = held[cell] != elements
    if clash.any():
        flat, copy = (int(x) for x in np.argwhere(clash)[0])
        other = int(held[cell[flat, copy]])
        thread = int(np.argmax(thread_key == element_key[flat, copy]))
        raise AccessError(
            f"expected one element in register {slot[flat, copy]} of thread {thread}, found "
            f"{describe_element(flat, dims)} and {describe_element(other, dims)} in {layout}"
        )
    return held.reshape(keys, registers)[thread_key]
