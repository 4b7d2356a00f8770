"""Tests on a real GPU; without one, or without the driver's package, they are skipped and say why."""

from __future__ import annotations

from functools import cache

import pytest

from tirx.runtime import GpuError
from tirx.runtime.driver import Device, device


@cache
def _gpu() -> Device | str:
    """The first GPU, or why there is none."""
    try:
        return device(0)
    except GpuError as error:
        return str(error)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.nodeid.startswith("test/gpu/")]
    for item in here:
        item.add_marker(pytest.mark.filterwarnings("default"))  # those of torch and jax are not ours
    if here and isinstance(found := _gpu(), str):
        for item in here:
            item.add_marker(pytest.mark.skip(reason=found))


@pytest.fixture
def gpu() -> Device:
    """The GPU that the tests run on."""
    found = _gpu()
    assert isinstance(found, Device)
    return found
