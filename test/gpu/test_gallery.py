"""Kernels of `examples/gallery` do on this GPU what their text means: launches in the place of the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from unit.kernels.test_gallery import KERNELS, test_ptx_does_what_the_text_means

from tirx.runtime import GpuError, comparison
from tirx.runtime.driver import Device
from tirx.runtime.launch import Launch
from tirx.runtime.launcher import Launcher


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("name", KERNELS)
def test_gallery(name: str, size: int, target: str, gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        gpu.check_target(target)
    except GpuError as error:
        pytest.skip(str(error))

    def launch(ptx: str, how: Launch, arguments: Sequence[Any], **_: Any) -> None:
        Launcher(ptx, how)(arguments, None, None)

    monkeypatch.setattr(comparison, "simulate", launch)
    test_ptx_does_what_the_text_means(name, size, target)
