"""Texts kept on disk by all that went into them. A hit imports neither numpy nor xDSL."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from threading import get_ident


def place(directory: str, key: str) -> str:
    """Returns the path of what a directory keeps for a key and for the sources that compile."""
    return os.path.join(directory, f"{sha256(key.encode()).hexdigest()[:32]}-{version()[:16]}.json")


def read(path: str) -> str | None:
    """Returns the text that `write` has kept. None for no file, one that is not whole, or other modules by now."""
    try:
        with open(path, "rb") as file:
            digest, _, kept = file.read().partition(b"\n")
    except FileNotFoundError:
        return None
    if digest != sha256(kept).hexdigest().encode():
        return None
    stamps, _, text = kept.partition(b"\n")
    if stamps != b"[]":
        from tirx.runtime.imports import are_unchanged

        if not are_unchanged(json.loads(stamps)):
            return None
    return text.decode()


def write(path: str, text: str) -> None:
    """Keeps a text, behind a digest and the modules that extensions import, a line each.

    Processes and threads each replace the whole file.
    """
    stamps = []
    if extensions():
        from tirx.runtime.imports import imported

        stamps = imported(extensions())
    data, part = f"{json.dumps(stamps)}\n{text}".encode(), f"{path}.{os.getpid()}-{get_ident()}.tmp"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(part, "wb") as file:  # for others, too, as the umask says
            file.write(sha256(data).hexdigest().encode() + b"\n" + data)
        os.replace(part, path)
    except OSError:
        with suppress(OSError):
            os.remove(part)
        raise


@cache
def extensions() -> tuple[str, ...]:
    """Returns the installed packages, other than xDSL and tirx, whose dialects and passes every context knows."""
    found = metadata.entry_points(group="xdsl.universe")
    return tuple(sorted({each.module.partition(".")[0] for each in found} - {"xdsl", "tirx"}))


@cache
def version() -> str:
    """Returns a digest of what compiles: all files of tirx and of its extensions, and the version of xDSL."""
    roots = [os.path.dirname(os.path.dirname(__file__))]
    for name in ("tirx.dialects", "tirx.passes", *extensions()):
        spec = find_spec(name)
        if spec is not None:
            roots += spec.submodule_search_locations or ([spec.origin] if spec.origin else [])
    digest = sha256(metadata.version("xdsl").encode())
    for root in roots:
        while root and not os.path.exists(root):  # inside of an archive
            root = os.path.dirname(root)
        for path in [root] if os.path.isfile(root) else sorted(_files(root)):
            with open(path, "rb") as file:
                data = file.read()
            digest.update(
                f"{os.path.relpath(path, os.path.dirname(root))}\0{len(data)}\0".encode(errors="surrogateescape")
            )
            digest.update(data)
    return digest.hexdigest()


def _files(directory: str) -> list[str]:
    found = (os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)
    return [path for path in found if not path.endswith(".pyc") and os.path.isfile(path)]
