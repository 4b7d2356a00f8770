"""Arrays of any framework, as a launch sees them: where they are, and how they are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tirx.runtime.launch import Launch, PointerArgument
from tirx.values import dataclass


class ArgumentError(ValueError):
    """An argument of a launch does not fit the kernel; the message says what was expected and what was found."""


class StrideError(ArgumentError):
    """A stride is no multiple of what the kernel moves at a time; a kernel compiled with `strides=any` takes it."""


@dataclass(frozen=True)
class Storage:
    """An element type in arrays: its bits, and the names of the dtypes that may stand for it, the best first."""

    bits: int
    dtypes: tuple[str, ...]


_BYTES = ("uint8", "int8")
STORAGE: dict[str, Storage] = {
    "f16": Storage(16, ("float16",)),
    "bf16": Storage(16, ("bfloat16", "uint16", "int16")),
    "tf32": Storage(32, ("float32",)),
    "f32": Storage(32, ("float32",)),
    "f64": Storage(64, ("float64",)),
    "e4m3": Storage(8, ("float8_e4m3fn", *_BYTES)),
    "e5m2": Storage(8, ("float8_e5m2", *_BYTES)),
    "ue8m0": Storage(8, ("float8_e8m0fnu", *_BYTES)),
    "ue4m3": Storage(8, ("float8_e4m3fn", *_BYTES)),
    "e2m3": Storage(6, _BYTES),
    "e3m2": Storage(6, _BYTES),
    "e2m1": Storage(4, ("float4_e2m1fn_x2", *_BYTES)),
    **{name: Storage(4, _BYTES) for name in ("b4", "s4", "u4")},
    "s8": Storage(8, ("int8",)),
    "u8": Storage(8, ("uint8",)),
    "b8": Storage(8, ("int8", "uint8", "bool")),
    "s16": Storage(16, ("int16",)),
    "u16": Storage(16, ("uint16",)),
    "b16": Storage(16, ("int16", "uint16")),
    "s32": Storage(32, ("int32",)),
    "u32": Storage(32, ("uint32",)),
    "b32": Storage(32, ("int32", "uint32")),
    "s64": Storage(64, ("int64",)),
    "u64": Storage(64, ("uint64",)),
    "b64": Storage(64, ("int64", "uint64")),
}
"""Element types (PTX names, `b` for integers without a sign) -> how arrays hold them. Types that a framework lacks are
passed as integers of the same width, 6- and 4-bit elements as packed bytes along the last dimension.
"""


@dataclass(frozen=True)
class ArrayView:
    """An array of some framework: `address` of its first element, `shape` and `strides` in elements of `dtype` (numpy's
    name), which are `itemsize` bytes each. `device` is the number of its GPU, None in the host's memory.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    itemsize: int
    device: int | None = None
    writable: bool = True

    @property
    def span(self) -> int:
        """Bytes from the first element to the end of the last, for strides of 0 or more."""
        if 0 in self.shape:
            return 0
        last = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.itemsize


def view_of_numpy(array: npt.NDArray[Any]) -> ArrayView:
    """The view of a numpy array. Raises ArgumentError as `dtype_name` and `element_strides` do."""
    return ArrayView(
        array.__array_interface__["data"][0],
        array.shape,
        element_strides(array.strides, array.itemsize),
        dtype_name(array.dtype),
        array.itemsize,
        None,
        array.flags.writeable,
    )


def dtype_name(dtype: np.dtype[Any]) -> str:
    """numpy's name of a dtype. Raises ArgumentError for one whose bytes are in another order than a GPU has them."""
    if dtype.newbyteorder("<") != dtype:
        raise ArgumentError(f"expected a dtype whose least significant byte is first, found {dtype.str}")
    return dtype.name


def element_strides(strides: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Strides in elements from those in bytes. Raises ArgumentError for strides that are not whole elements."""
    if any(stride % itemsize for stride in strides):
        raise ArgumentError(f"expected strides of whole elements of {itemsize} bytes, found strides {tuple(strides)}")
    return tuple(stride // itemsize for stride in strides)


class named_argument:
    """Adds the name of argument number `index` of those that a caller passes to errors."""

    def __init__(self, launch: Launch, index: int):
        passed = launch.passed
        self._where = f"argument '{passed[index].name}'" if index < len(passed) else f"argument {index}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, ArgumentError):
            raise ArgumentError(f"{self._where}: {error}") from error


def number_of(value: Any) -> Any:
    """The number of Python that a numpy scalar is; other values as they are."""
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def flat_bytes(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The memory that a numpy array spans, as an array of one dimension over the same bytes; the dtype stays."""
    return restrided(array, (view_of_numpy(array).span // array.itemsize,), (array.itemsize,))


def restrided(array: npt.NDArray[Any], shape: Sequence[int], strides: Sequence[int]) -> npt.NDArray[Any]:
    """The memory of a numpy array with another shape and other strides (bytes), whatever its dtype."""
    words = array.view(f"u{array.itemsize}")  # numpy does not know the types of ml_dtypes there
    return np.lib.stride_tricks.as_strided(words, shape, strides).view(array.dtype)


def storage_of(name: str, element: str) -> Storage:
    """Returns the form of an element type in arrays. Raises ArgumentError for a type that they do not hold."""
    if (storage := STORAGE.get(element)) is None:
        raise ArgumentError(f"argument '{name}': expected elements of {', '.join(STORAGE)}, found {element!r}")
    return storage


def check_array(argument: PointerArgument, view: ArrayView) -> None:
    """Raises ArgumentError unless the kernel may be given this array for `argument`."""
    where = f"argument '{argument.name}'"
    if argument.is_written and not view.writable:
        raise ArgumentError(f"{where}: expected an array that can be written, found a read-only one")
    if any(stride < 0 for stride in view.strides):
        raise ArgumentError(f"{where}: expected strides of 0 or more, found {view.strides}")
    if argument.element is None or argument.shape is None or argument.strides is None:
        return
    storage = storage_of(argument.name, argument.element)
    if view.dtype not in storage.dtypes:
        raise ArgumentError(
            f"{where}: expected dtype {' or '.join(storage.dtypes)} for elements of type {argument.element}, "
            f"found {view.dtype}"
        )
    shape, strides = _stored(where, argument, storage.bits, argument.shape, argument.strides)
    if len(view.shape) != len(shape) or any(n not in (m, None) for m, n in zip(view.shape, shape, strict=True)):
        packed = f" ({argument.element}, packed in bytes)" if storage.bits < 8 else ""
        same = (view.shape[::-1], view.strides[::-1]) == (shape, strides)
        hint = "; its transpose has it, as kernels of linalg see what the maps have in another order" if same else ""
        raise ArgumentError(f"{where}: expected shape {_text(shape)}{packed}, found {_text(view.shape)}{hint}")
    # The stride of a dimension of one element is never used.
    found = zip(view.shape, view.strides, strides, strict=True)
    if 0 not in view.shape and any(wanted not in (stride, None) and n > 1 for n, stride, wanted in found):
        hint = " (.contiguous() makes a copy that fits)" if _is_row_major(shape, strides) else ""
        raise ArgumentError(
            f"{where}: expected strides {_text(strides)} in elements, found {_text(view.strides)}{hint}"
        )


def check_address(argument: PointerArgument, view: ArrayView) -> None:
    """Raises ArgumentError for an array on a GPU that starts at an address that the kernel cannot use."""
    if view.device is not None and view.address % argument.alignment:
        raise ArgumentError(
            f"argument '{argument.name}': expected an address that is a multiple of {argument.alignment} bytes, "
            f"found {view.address:#x}"
        )


_Extents = Sequence[int | None]


def _stored(
    where: str, argument: PointerArgument, bits: int, shape: _Extents, strides: _Extents
) -> tuple[_Extents, _Extents]:
    """Returns shape and strides of the array that holds elements of `bits` bits, in bytes for those below 8 bits."""
    if bits >= 8:
        return shape, strides
    if not shape or strides[-1] != 1:
        raise ArgumentError(f"{where}: expected {argument.element} elements that are contiguous in the last dimension")

    def in_bytes(elements: int | None) -> int | None:
        if elements is not None and elements * bits % 8:
            raise ArgumentError(f"{where}: expected rows of whole bytes, found {elements} elements of {bits} bits")
        return None if elements is None else elements * bits // 8

    return (*shape[:-1], in_bytes(shape[-1])), (*(in_bytes(stride) for stride in strides[:-1]), 1)


def _is_row_major(shape: _Extents, strides: _Extents) -> bool:
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride != expected or n is None:
            return False
        expected *= n
    return True


def _text(extents: _Extents) -> str:
    return f"({', '.join('?' if n is None else str(n) for n in extents)})"
