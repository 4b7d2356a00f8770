"""A share of the words of `test/sweeps/tensor_core_sums.py`."""

from __future__ import annotations

from sweeps.tensor_core_sums import differing, forms


def test_sums_are_those_of_the_model():
    every = list(forms())
    assert len({form.name for form in every}) == 51
    assert [form.name for seed, form in enumerate(every) if differing(form, 300, seed)] == []
