"""A kernel that is launched again is not decoded again, and begins anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirx.sim import SimError, run, setting

_COUNTER = """.version 8.0\n.target sm_80\n.address_size 64\n.global .u32 count = 40;
.visible .entry again(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p<2>;
  ld.param.u64 %d0, [out]; ld.global.u32 %r0, [count]; add.u32 %r0, %r0, 1; st.global.u32 [count], %r0;
  st.global.u32 [%d0], %r0;
  ret;
}
"""
# An undefined value that a select drops, unless it is told to take it.
_UNDEFINED = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry again(.param .u64 out, .param .u32 bad) {
  .reg .b32 %r<6>; .reg .b64 %d<3>; .reg .pred %p<2>;
  ld.param.u64 %d0, [out]; ld.param.u32 %r1, [bad]; mov.u32 %r2, 5; setp.ne.u32 %p0, %r1, 0;
  add.u32 %r3, %r0, 1;
  selp.u32 %r4, %r3, %r2, %p0;
  st.global.u32 [%d0], %r4;
  ret;
}
"""


def test_decoded_once_for_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    link = setting.link

    def counted(*arguments: Any, check: Any, **options: Any) -> object:
        calls.append(check)
        return link(*arguments, check=check, **options)

    monkeypatch.setattr(setting, "link", counted)
    text = _COUNTER + "// decoded once\n"
    for check in ("strict", "strict", "hardware", "strict"):
        for seed in (None, 1):
            run(text, "again", 1, 1, [np.zeros(1, np.uint32)], check=check, seed=seed)
    assert calls == ["strict", "hardware"]


def test_variables_begin_anew() -> None:
    for _ in range(2):
        out, held = np.zeros(1, np.uint32), np.array([6], np.uint32)
        run(_COUNTER, "again", 1, 1, [out])
        assert out[0] == 41
        run(_COUNTER, "again", 1, 1, [out], variables={"count": held})
        assert out[0] == held[0] == 7


def test_undefined_values_are_followed_anew() -> None:
    messages: set[str] = set()
    for _ in range(2):
        out = np.zeros(1, np.uint32)
        run(_UNDEFINED, "again", 1, 1, [out, 0])
        assert out[0] == 5
        with pytest.raises(SimError, match="register %r0 is read but was never written") as caught:
            run(_UNDEFINED, "again", 1, 1, [out, 1])
        messages.add(str(caught.value))
    assert len(messages) == 1
