"""The collector is off while a module is compiled, and as before afterwards."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from tirx.text.collector import paused_collector


def test_it_is_off_inside_and_on_again_after_an_error():
    assert gc.isenabled()
    with pytest.raises(ValueError, match="inside"), paused_collector():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    with paused_collector():
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def _is_on_inside() -> bool:
    with paused_collector():
        return gc.isenabled()


def test_it_stays_on_while_another_thread_is_alive():
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(_is_on_inside).result()
        assert _is_on_inside()
    assert not _is_on_inside()
    assert gc.isenabled()
