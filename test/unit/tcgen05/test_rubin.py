"""Descriptors and instructions of Rubin, made by NVIDIA's own builders and compiler, and what `ptxas` 13.5 accepts."""

import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from instruction_features import instruction_features

from tirx.hw.errors import LegalityError
from tirx.hw.features import smallest_version, supports
from tirx.hw.targets import Target, format_version
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.instruction_descriptor import MAX_SHIFTS, InstructionDescriptor
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.sparse_metadata import sparse_metadata


def records(name: str) -> list[dict[str, Any]]:
    """The records of a file of vectors."""
    return json.loads(lzma.open(Path(__file__).parent / "data" / f"rubin_{name}.json.xz").read())["records"]


def descriptor(r: dict[str, Any]) -> InstructionDescriptor:
    """The instruction descriptor of a record."""
    return InstructionDescriptor(
        kind=r["kind"],
        **{name: r[name] for name in ("a", "b", "d", "m", "n", "a_major", "b_major")},
        negate_a=bool(r["a_neg"]),
        negate_b=bool(r["b_neg"]),
        sparse=bool(r["sparse"]),
        saturate=bool(r.get("saturate")),
        max_shift=MAX_SHIFTS[int(r.get("max_shift", 0))],
        sparsity_selector=r.get("sparsity_selector", 0),
        scale=r.get("sf"),
        sf_a_id=r.get("sfa_id", 0),
        sf_b_id=r.get("sfb_id", 0),
        a_scale_lanes=r.get("a_scale_lanes", 32),
        sparsity_version=r.get("sparsity_version") or 0,
        wide_k=r["k_code"] == 1,
        widest_k=r["k_code"] == 2,
    )


def test_instruction_descriptors():
    """The word of every record, and back. What is refused for its target is disputed among NVIDIA's own sources."""
    refused: Counter[str] = Counter()
    for r in records("instruction_descriptors"):
        found, word = descriptor(r), int(r["word"], 16)
        assert found.k == r["k"]
        assert found.encode_unchecked() == word, r["id"]
        groups = r["cta_groups"] or [None]
        try:
            for group in groups:
                found.verify(group, bool(r["ws"]), r["target"])
        except LegalityError as error:
            assert r.get("disputed"), (r["id"], error)
            refused[r["kind"]] += 1
            continue
        assert found.encode() == word
        assert InstructionDescriptor.decode(word, r["kind"]) == found
        if default := r.get("word_builder_default_version"):
            other = InstructionDescriptor.decode(int(default, 16), r["kind"])
            assert r["sparse"] or r["target"] != "sm_107a" or other.verify(groups[0], False, r["target"]) is None
    assert refused.keys() <= {"f8f6f4", "mxf8f6f4"}


def test_matrix_descriptors():
    modes = {mode: mode for mode in ("none", "32B", "64B", "128B")} | {"128B_32B_atom": "128B_base32B"}
    for r in records("smem_descriptors"):
        found = SmemDescriptor(
            r["address"],
            r["leading_bytes"],
            r["stride_bytes"],
            modes[r["swizzle"]],  # pyright: ignore[reportArgumentType]
            r["base_offset"],
            bool(r["leading_dim_mode"]),
            r["k_segment_bytes"],
        )
        word = int(r["word"], 16)
        assert found.encode() == word, r["id"]
        assert SmemDescriptor.decode(word) == found
        if not r["fits_sm_100"]:
            with pytest.raises(LegalityError, match="on sm_100a|expected target|expected"):
                found.verify("f16", "K", target="sm_100a")


def test_acceptance():
    """Every row of the table on every target: the features of an instruction are those of the targets that take it."""
    wrong: list[str] = []
    for r in records("acceptance"):
        try:
            features = instruction_features(r["ptx"])
        except LegalityError as error:
            features, reason = None, str(error)
            if any(r["accepted"].values()):
                wrong.append(f"{r['id']}: {reason}")
            continue
        for target, accepted in r["accepted"].items():
            if supports(Target.parse(target), *features) != accepted:
                wrong.append(f"{r['id']} on {target}: {features}, accepted {accepted}")
        for target, version in r["min_version"].items() if r["min_version"] else ():
            needed = smallest_version(features, Target.parse(target))
            if format_version(needed) != version:
                wrong.append(f"{r['id']} on {target}: {features}, PTX {format_version(needed)}, expected {version}")
    assert wrong == []


def test_sparsity_versions() -> None:
    """Rubin has version 1 of packed elements only, Blackwell version 0; others are the same in both."""
    packed, plain = (
        InstructionDescriptor(kind, a, a, "f32", 128, 64, sparse=True, scale=scale)
        for kind, a, scale in (("mxf4", "e2m1", "ue8m0"), ("f16", "f16", None))
    )
    assert packed.target_reason("sm_107a") == "sparse kind::mxf4: expected sparsity version 1 on sm_107a, found 0"
    assert [each.target_reason(name) for each, name in ((packed, "sm_100a"), (packed, None), (plain, "sm_107a"))] == [
        None
    ] * 3
    assert all((sparse_metadata(kind, 1) == sparse_metadata(kind, 0)) != row.is_packed for kind, row in KINDS.items())
