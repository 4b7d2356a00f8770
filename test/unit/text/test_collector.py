"""The collector is off while a module is compiled, and as before afterwards."""

from __future__ import annotations

import gc

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
