"""Kernels of other producers with a launch and its results, in one file: what `test/sweeps/corpus --pack` writes."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tirx.sim import TensorMap

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PackedKernel:
    """
    A launch, and for arrays that it writes (argument, expected array or its `digest`, tolerance); `warnings`: rules of
    them.
    """

    title: str
    ptx: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    cluster: tuple[int, ...]
    arguments: tuple[Any, ...]
    results: tuple[tuple[Array, Array | str, float], ...]
    warnings: tuple[str, ...]


def _type(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


class _Writer:
    """Arrays by identity, as raw bytes."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._places: dict[int, int] = {}

    def add(self, array: Array) -> dict[str, Any]:
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(np.ascontiguousarray(array))
        return {"array": self._places[id(array)], "type": array.dtype.name, "shape": list(array.shape)}

    def argument(self, value: Any) -> Any:
        if isinstance(value, TensorMap):
            return {"map": self.add(value.array), "box": list(value.box), "swizzle": value.swizzle}
        if isinstance(value, np.ndarray):
            return self.add(value)  # pyright: ignore[reportUnknownArgumentType]
        return {"bytes": value.hex()} if isinstance(value, bytes) else value


def pack(kernels: Iterable[PackedKernel], path: Path) -> None:
    """Writes kernels to a file. The arrays must be those from before the launch."""
    writer = _Writer()
    rows = [
        {
            "title": each.title,
            "ptx": each.ptx,
            "entry": each.entry,
            "grid": each.grid,
            "block": each.block,
            "shared": each.shared,
            "cluster": each.cluster,
            "arguments": [writer.argument(value) for value in each.arguments],
            "results": [
                [writer.add(found), wanted if isinstance(wanted, str) else writer.add(wanted), limit]
                for found, wanted, limit in each.results
            ],
            "warnings": each.warnings,
        }
        for each in kernels
    ]
    head = json.dumps({"sizes": [array.nbytes for array in writer.arrays], "kernels": rows}).encode()
    data = b"".join([len(head).to_bytes(8, "little"), head, *(array.tobytes() for array in writer.arrays)])
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def digest(array: Array) -> str:
    """A digest of the values of an array, whatever its type."""
    return hashlib.sha256((array.astype(np.float64) + 0.0).tobytes()).hexdigest()


def load(path: Path) -> list[PackedKernel]:
    """Reads the kernels of a file; arguments that were one array are one again."""
    data = lzma.decompress(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    head: dict[str, Any] = json.loads(data[8:start])
    ends = np.cumsum([start, *head["sizes"]]).tolist()
    arrays: dict[int, Array] = {}

    def array(given: dict[str, Any]) -> Array:
        place = int(given["array"])
        if place not in arrays:
            raw = np.frombuffer(data[ends[place] : ends[place + 1]], np.uint8).copy()
            arrays[place] = raw.view(_type(given["type"])).reshape(given["shape"])
        return arrays[place]

    def argument(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, Any]", given)
        if "map" in fields:
            return TensorMap(array(fields["map"]), fields["box"], fields["swizzle"])
        return bytes.fromhex(fields["bytes"]) if "bytes" in fields else array(fields)

    def result(found: dict[str, Any], wanted: Any, limit: float) -> tuple[Array, Array | str, float]:
        return array(found), wanted if isinstance(wanted, str) else array(wanted), limit

    rows: list[dict[str, Any]] = head["kernels"]
    return [
        PackedKernel(
            row["title"],
            row["ptx"],
            row["entry"],
            tuple(row["grid"]),
            tuple(row["block"]),
            row["shared"],
            tuple(row["cluster"]),
            tuple(argument(each) for each in row["arguments"]),
            tuple(result(*each) for each in row["results"]),
            tuple(row["warnings"]),
        )
        for row in rows
    ]
