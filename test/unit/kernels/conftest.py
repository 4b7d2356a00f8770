"""Kernels of this folder are verified before and after all passes: FileCheck tests and examples verify after each."""

import pytest


@pytest.fixture(autouse=True)
def verify_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")
