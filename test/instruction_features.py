"""Features that one PTX instruction needs, read off its text, and forms that no target has.

Each row is a rule about modifiers and operands of the forms that `instruction_forms.py` lists: an instruction that
has none of them is refused. Source: `ptxas` 13.5 (V13.5.37), which accepts some forms that the PTX ISA does not
describe; what it refuses everywhere is a row of `REFUSED`.
"""

from __future__ import annotations

import re

from instruction_forms import canonical

from tirx.hw.errors import LegalityError

_NARROW = "(?:e4m3|e5m2|e2m3|e3m2|e2m1|ue8m0|ue5m3|s2f6)x[24]"
_MASK = r"\{(?:%r\d+,? ?){4,8}\}"
_SCALED = r"kind::mx\w+"

FEATURE_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"tcgen05\.", "tcgen05"),
    (r"tcgen05\.mma.*\.kind::i8\b", "tcgen05.kind::i8"),
    (r"tcgen05\.mma.*\.kind::ti16\b", "tcgen05.kind::ti16"),
    (r"tcgen05\.mma(?!\.ws).*\.collector::b::", "tcgen05.collector::b"),
    (r"tcgen05\.mma.*\.decompress::lut::b", "tcgen05.decompress::lut::b"),
    (r"tcgen05\.mma.*\.decompress::lut::b.*\.scale_vec::", "tcgen05.decompress::lut::b.scale_vec::1X"),
    (r"tcgen05\.mma.*\.scale_vec::1X", "tcgen05.scale_vec::1X"),
    (r"tcgen05\.mma.*kind::mxf4\b.*\.scale_vec::2X", "tcgen05.scale_vec::2X"),
    (r"tcgen05\.mma.*kind::mxf4nvf4.*\.scale_vec::2X", "tcgen05.kind::mxf4nvf4.scale_vec::2X"),
    (r"tcgen05\.mma.*\.scale_vec::4X", "tcgen05.scale_vec::4X"),
    (r"tcgen05\.mma.*\.block16", "tcgen05.block16"),
    (r"tcgen05\.mma.*\.block32", "tcgen05.block32"),
    (r"tcgen05\.mma(\.ws)?\.sp\..*kind::mxf4", "tcgen05.sparse_mxf4"),
    (r"tcgen05\.mma.*kind::(f16|tf32)\b.*%p\d+, \d+$", "tcgen05.scale_input_d"),
    (r"tcgen05\.(alloc|dealloc)\.exclusive", "tcgen05.alloc.exclusive"),
    (r"tcgen05\.commit.*\.multicast::cluster::32b", "tcgen05.commit.multicast::cluster::32b"),
    (r"tcgen05\.commit.*\.sync_restrict", "tcgen05.commit.sync_restrict"),
    (r"tcgen05\.ld\.red\b(?!\.spcompress)", "tcgen05.ld.red"),
    (r"tcgen05\.ld(\.red)?\.spcompress", "tcgen05.ld.spcompress"),
    (r"tcgen05\.shift", "tcgen05.shift"),
    (r"sp(de)?compress\.", "spcompress"),
    (r"cvt\..*\bue5m3x2", "cvt.ue5m3x2"),
    (r"cvt\..*\.pzo", "cvt.pzo"),
    (r"cvt\.rs\.", "cvt.rs"),
    (r"cvt\..*\bs2f6x2", "cvt.s2f6x2"),
    (rf"cvt\.rz\..*\b(?!ue8m0){_NARROW}\.", "narrow.cvt.rz"),
    (r"cvt\.r[nz]\..*satfinite.*\.tf32\.f32", "cvt.tf32.satfinite"),
    (r"cvt\..*\.scaled::n1", "narrow.cvt.scaled::n1"),
    (rf"cvt\..*\b{_NARROW}\.bf16x2", "narrow.cvt.from_bf16x2"),
    (r"cvt\..*\b(e2m1|e2m3|e3m2)x2\.f16x2", "narrow.cvt.from_bf16x2"),
    (r"cvt\..*\.f16x2\.f32", "f16x2.cvt"),
    (r"cvt\..*\.bf16(x2)?\.f32", "bf16.cvt"),
    (r"cvt\..*\.bf16\.[su]\d+", "bf16.cvt.integer"),
    (r"cvt\.r[nz]\..*satfinite.*\.b?f16(x2)?\.f32", "f16.cvt.satfinite"),
    (r"cvt\.rs\..*\.b?f16x2", "f16x2.cvt"),
    (r"cvt\..*\.bf16x2\.(e4m3|e5m2|e2m3|e3m2|e2m1|ue5m3)x2", "narrow.cvt.to_bf16x2"),
    (r"cvt\..*\.(e4m3|e5m2)x2", "f8x2.cvt"),
    (r"cvt\..*\b(e2m3|e3m2|e2m1|ue8m0)x2", "narrow.cvt"),
    (r"(cp|mbarrier|tcgen05)\..*\.multicast::cluster::16b", "cp.async.bulk.multicast::cluster::16b"),
    (r"cp\.async\.bulk.*\.multicast::cluster::32b", "cp.async.bulk.multicast::cluster::32b"),
    (r"mbarrier\..*\.multicast::cluster::32b", "mbarrier.multicast::cluster::32b"),
    (r"mbarrier\..*\.layout::v[01]", "mbarrier.layout"),
    (r"mbarrier\..*\.phase_type::", "mbarrier.phase_type"),
    (r"mbarrier\.try_wait", "mbarrier.try_wait"),
    (r"mbarrier\..*\.relaxed\.", "mbarrier.relaxed"),
    (r"mbarrier\..*(_tx|cluster|acquire|release)", "mbarrier.cluster"),
    (r"mbarrier\.(arrive|arrive_drop)\.(?!noComplete|expect_tx)\S+ \S+ \[\S+\], ", "mbarrier.arrive.count"),
    (r"mbarrier\.", "mbarrier"),
    (r"cp\.(reduce\.)?async\.bulk.*\.override::", "cp.async.bulk.tensor.override"),
    (r"cp\.async\.bulk.*\.mbarrier::report::", "cp.async.bulk.tensor.report"),
    (r"cp\.async\.bulk\.prefetch\..*\.L2::evict_last", "cp.async.bulk.prefetch.evict_last"),
    (r"cp\.(reduce\.)?async\.bulk\.relaxed", "cp.async.bulk.relaxed"),
    (r"cp\.async\.bulk.*\.cp_mask", "cp.async.bulk.cp_mask"),
    (r"cp\.async\.bulk.*\.ignore_oob", "cp.async.bulk.ignore_oob"),
    (r"cp\.async\.bulk\.wait_group\.sync_restrict", "cp.async.bulk.wait_group.sync_restrict"),
    (r"cp\.async\.bulk\.(tensor\.\dd\.|relaxed\.\w+\.)?shared::cta", "cp.async.bulk.tensor.shared::cta"),
    (r"cp\.async\.bulk\.tensor.*\.cta_group::", "cp.async.bulk.tensor.cta_group"),
    (r"cp\.async\.bulk\.tensor.*shared::cta\.global.*\.im2col::w", "cp.async.bulk.tensor.shared::cta.im2col::w"),
    (
        r"cp\.async\.bulk\.((prefetch\.)?tensor.*(shared::cluster|L2)\.global.*\.im2col::w|tensor.*im2col::w::128)",
        "cp.async.bulk.tensor.im2col::w",
    ),
    (r"cp\..*im2col_no_offs::w", "cp.async.bulk.tensor.im2col_no_offs::w"),
    (r"cp\.async\.bulk\.prefetch\.tensor.*gather4", "cp.async.bulk.tensor.shared::cluster.gather4"),
    (r"(cp\.reduce\.async|red|atom)\..*noftz\.f32", "red.noftz.f32"),
    (r"cp\.async\.bulk\.relaxed.*\.shared::cluster", "cp.async.bulk.relaxed.shared::cluster"),
    (r"applypriority\.async\.bulk", "applypriority.async.bulk"),
    (r"cp\.(reduce\.)?async\.bulk\.(prefetch\.)?tensor", "cp.async.bulk.tensor"),
    (r"cp\.async\.bulk\.tensor.*shared::cta.*gather4", "cp.async.bulk.tensor.shared::cta.gather4"),
    (r"cp\.async\.bulk\.tensor.*shared::cluster.*gather4", "cp.async.bulk.tensor.shared::cluster.gather4"),
    (r"cp\.async\.bulk\.tensor.*scatter4", "cp.async.bulk.tensor.scatter4"),
    (r"tensormap\.replace.*swizzle_mode.*, 4$", "tensormap.swizzle_96B"),
    (r"mma\.sync.*\.block_scale", "mma.block_scale"),
    (r"mma\.sync.*\.scale_vec::4X.*\.ue8m0 ", "mma.block_scale.4X.ue8m0"),
    (r"mma\.sync.*kind::f8f6f4", "mma.kind::f8f6f4"),
    (r"(add|sub|min|max|neg)(\.sat|\.relu)?\.[us]8x4|add\.sat\.(u32|[us]16x2)", "packed_integers"),
    (r"set\.", "set.packed"),
    (r"mul\..*e\dm\dx4", "narrow.arith"),
    (r"(add|sub|mul|fma)\.\S*f32x2 %rd\d+, %rd\d+, %rd\d+", "f32x2"),
    (r"(add|sub|fma)\.(r\w\.)?f32\.b?f16", "f32.mixed"),
    (r"(sin|cos)\..*\.2pi", "sin.2pi"),
    (r"(add|sub|mul|fma)\..*f(16|32)x2\..*x2", "packed.mixed"),
    (r"clmad\.", "clmad"),
    (r"(ld\.mmio\.acquire|st\.mmio\.release)", "mmio.ordered"),
    (r"(ld|st)\.mmio\.relaxed", "mmio"),
    (r"ld\.proxy::readonly", "ld.proxy::readonly"),
    (r"prefetch.*valid_addr", "prefetch.valid_addr"),
    (r"ldmatrix.*\.s8\.s4", "ldmatrix.s8.s4"),
    (r"st\.async\.", "st.async.global"),
    (r"multimem\.(ld_reduce|st|red)\.(?!async)", "multimem"),
    (r"multimem\.(st|red)\.async", "multimem.async"),
    (r"multimem\.cp\.", "multimem.cp.async.bulk"),
    (r"multimem\.cp\..*noftz\.f32", "red.noftz.f32"),
    (r"multimem\.cp\..*cp_mask", "cp.async.bulk.cp_mask"),
    (r"fabric\.", "fabric"),
    (r"fabric\.(submit\.commit_group|wait\.sync_restrict::read )", "fabric.groups"),
    (r"fence\.alias", "fence.alias.sync_restrict"),
    (r"tensormap\.query", "tensormap.query"),
    (r"fence\.proxy\.alias\.(acquire|release)", "fence.proxy.alias.acquire"),
    (r".*%locality_domain", "locality_domain"),
    (r"trace\.mark", "trace.mark"),
    (r"redux\.sync.*\.f32", "redux.sync.f32"),
    (r"setmaxnreg", "setmaxnreg"),
    (r"griddepcontrol", "griddepcontrol"),
)
"""Pattern of an instruction -> the feature that it needs (`tirx.hw.features.FEATURES`)."""

REFUSED: tuple[tuple[str, str], ...] = (
    (
        r"tcgen05\.mma.*kind::(?!(?:f16|tf32|f8f6f4|i8|ti16|mxf8f6f4|mxf4|mxf4nvf4)\b)",
        "expected a kind of tcgen05.mma",
    ),
    (r"tcgen05\.mma.*kind::(f8f6f4|ti16|mx\w+)\b.*%p\d+, \d+$", "scale-input-d is for kinds f16 and tf32"),
    (r"tcgen05\.mma(?!\.ws).*collector::b\d", "a numbered collector is for .ws"),
    (rf"tcgen05\.mma\.ws.*{_SCALED}", ".ws has no block scale"),
    (r"tcgen05\.mma\.ws.*cta_group::2", ".ws is of one CTA"),
    (r"tcgen05\.mma\.ws.*collector::[ab]::", "the collectors of .ws are b0 to b3"),
    (r"tcgen05\.mma.*collector::([ab]\d?)::\w+\.collector::\1::", "a collector is named once"),
    (rf"tcgen05\.mma(?!.*block_scale).*{_SCALED}", "expected .block_scale"),
    (rf"tcgen05\.mma.*{_SCALED}.*{_MASK}", "no vector of disabled lanes with .block_scale"),
    (r"tcgen05\.mma.*mxf8f6f4.*(block16|scale_vec::[24]X)", "mxf8f6f4 has blocks of 32"),
    (r"tcgen05\.mma.*mxf4\b.*(block16|scale_vec::[14]X)", "mxf4 has blocks of 32"),
    (r"tcgen05\.mma.*mxf4nvf4.*scale_vec::1X", "mxf4nvf4 has blocks of 16 or 32"),
    (r"tcgen05\.mma.*mxf4nvf4\.block_scale(?!.*(block|scale_vec))", "mxf4nvf4 has no default"),
    (r"tcgen05\.mma(\.ws)?\.sp\.\S+ \[[^]]+\], \S+, %rd\d+, %r", "expected metadata in brackets behind B"),
    (r"tcgen05\.mma.*mxf4.*decompress", "a table of B is for f8f6f4 and mxf8f6f4"),
    (r"tcgen05\.mma.*kind::(f16|tf32|i8|ti16)\b.*decompress", "a table of B is for f8f6f4 and mxf8f6f4"),
    (
        r"tcgen05\.mma\.(ws|sp).*decompress|tcgen05\.mma.*(ashift.*decompress|decompress.*ashift)",
        "a plain product only",
    ),
    (r"tcgen05\.mma.*decompress\S* \[[^]]+\], \S+, %rd\d+, %r", "expected the address of the table behind B"),
    (r"tcgen05\.mma.*decompress::lut::(?!b\b)", "only B has a table"),
    (r"tcgen05\.mma\.sp.*kind::i8\b.*\}, %p\d+, \d+$", "scale-input-d of sparse kind i8 is without disabled lanes"),
    (r"tcgen05\.mma.*\.ashift.*collector::a::(fill|use)", ".ashift keeps no A in a collector"),
    (r"tcgen05\.mma.*\.ashift\S* \[%r\d+\], %rd", ".ashift is for A in tensor memory"),
    (r"tcgen05\.commit.*multicast::cluster(?:::16b)?\.b64 .*, %r\d", "expected a mask of 16 bits"),
    (r"tcgen05\.commit.*multicast::cluster::32b\.b64 .*, %rs", "expected a mask of 32 bits"),
    (r"cp\.async\.bulk.*multicast::cluster::32b.*, %rs\d+$", "expected a mask of 32 bits"),
    (r"cp\.async\.bulk.*multicast::cluster(::16b)?(?!::32b)\S* .*\], %r\d+$", "expected a mask of 16 bits"),
    (r".*multicast::cluster::(?!16b|32b|all)\d", "expected a mask of 16 or 32 bits"),
    (r"tcgen05\.commit.*sync_restrict::(?!shared::read::mma::a\b)", "only reads of A from shared memory restrict"),
    (r"tcgen05\.(de)?alloc\.cta.*, (?!(?:32|64|128|256|512)\b)\d+$", "expected a power of two from 32 to 512 columns"),
    (r"tcgen05\.relinquish_alloc_permit\.exclusive", "the permit has no .exclusive"),
    (r"tcgen05\.ld\.red.*\.abs\.[us]32", ".abs is for f32"),
    (r"tcgen05\.ld\.(red|spcompress)(?!.*\.(min|max)\b)", "expected .min or .max"),
    (r"tcgen05\.ld.*\.spcompress.*\.sp::(?!2:4)", "expected 2 of 4"),
    (r"tcgen05\.ld.*\.spcompress.*\.(u32|s32)\.b2", "expected f32"),
    (r"tcgen05\.ld\.spcompress.*\.NaN", ".NaN is for .red"),
    (r"tcgen05\.ld.*\.spcompress.*\.x64\..* \{%r\d+\}", "x64 has two words of metadata"),
    (r"tcgen05\.ld.*\.spcompress.*\.x128\..* \{(%r\d+,? ?){1,3}\}, \{", "x128 has four words of metadata"),
    (r"cvt\..*relu.*ue5m3", "ue5m3 has no sign"),
    (r"cvt.*\.pzo.*ue5m3", "ue5m3 has no sign"),
    (r"cvt\.rp\.(?!.*\b(ue5m3|ue8m0)x2)\S*x[24]\.", "only ue5m3 and ue8m0 are rounded up"),
    (r"cvt\.rm\..*ue5m3", "ue5m3 is rounded to nearest, up or towards zero"),
    (r"cvt\.rs.*\.pzo|cvt.*\.pzo.*\.rs\b", ".pzo is not for .rs"),
    (r"sp(de)?compress\.elemsize", "the size is a type"),
    (r"spcompress\.(?!b8\.|b16\.)", "expected elements of 8 or 16 bits"),
    (r"spdecompress\.(b8\.\w+\.sp::1:2\.x1\b|b16\.\w+\.sp::2:8\.x64)", "expected 32 to 4096 bits of elements"),
    (r"spdecompress\.b16\.\w+\.sp::[3-9]:", "the stored elements of a group have 32 bits"),
    (r"spdecompress\.b\d+\.b2\.sp::\d:(?![1-4]\b)", "an index of 2 bits is for groups of 4"),
    (r"mbarrier\..*\.multicast::cluster(?!::32b)", "mbarriers have masks of 32 bits only"),
    (r"mbarrier\..*\.shared::cta\.multicast", "a multicast is to shared::cluster"),
    (r"mbarrier\.\S*\.(acquire|relaxed|release)\.(?!cta\b|cluster\b)", "an order needs a scope"),
    (r"mbarrier\.\S*(?<!acquire)(?<!relaxed)(?<!release)\.(cta|cluster)\.", "a scope needs an order"),
    (
        r"mbarrier\.(?!\S*\.shared)\S* ((%p\d+(\|%p\d+)?|%rd\d+|_), )?\[%r\d",
        "a generic address has 64 bits",
    ),
    (r"mbarrier\.pending_count\.layout::v1", "counts are of layout v0"),
    (r"mbarrier\..*\.layout::v(?![01]\b)", "there are layouts v0 and v1"),
    (r"mbarrier\.try_wait(?!\.parity).*phase_type::conditional", "a conditional phase needs .parity"),
    (r"mbarrier\.try_wait(?!.*phase_type).* %p\d+\|%p\d+", "a report needs .phase_type"),
    (r"cp\..*override::global_address.*\[%rd\d+, \{", "expected the address behind the tensor map"),
)
"""Pattern of an instruction -> why no target has it."""


def instruction_features(ptx: str) -> tuple[str, ...]:
    """The features (`tirx.hw.features.FEATURES`) that an instruction needs; operands are named as `%rd1`, by type.

    `%r`: 32 bits, `%rd`: 64, `%rs`: 16, `%p`: predicates. Raises LegalityError, with the reason, for a form that no
    target has.

    >>> from instruction_features import instruction_features
    >>> instruction_features("tcgen05.mma.cta_group::1.kind::ti16.collector::b::fill [%r0], %rd1, %rd2, %r3, %p1;")
    ('tcgen05', 'tcgen05.kind::ti16', 'tcgen05.collector::b')
    """
    given = re.sub(r",\s*", ", ", ptx.strip().rstrip(";").strip())
    text = canonical(given) or given
    for pattern, reason in REFUSED:
        if re.match(pattern, text):
            raise LegalityError(f"no target has this form: {reason}; found {text}", rule="target-feature")
    if canonical(given) is None:
        raise LegalityError(f"no target is known to have this form; found {given}", rule="target-feature")
    return tuple(feature for pattern, feature in FEATURE_PATTERNS if re.match(pattern, text))
