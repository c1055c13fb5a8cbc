"""Random operators of com.microsoft."""

import numpy as np

from drawing import drawn
from products import factors


MICROSOFT = "com.microsoft"


@drawn("ms.BiasGelu", "ms.FastGelu", "ms.Gelu", "ms.QuickGelu", opsets=(11, 20))
def ms_gelu(d, op):
    shape = d.shape(1, 4)
    bias = d.numbers(shape[-1:])
    bias = bias if op == "ms.BiasGelu" else d.maybe(bias) if op == "ms.FastGelu" else None
    d.node(op[3:], [d.numbers(shape), bias], domain=MICROSOFT, alpha=d.maybe(1.0) if op == "ms.QuickGelu" else None)


@drawn("ms.SkipLayerNormalization", "ms.SkipSimplifiedLayerNormalization", opsets=(11, 20), weight=2)
def ms_skip(d, op):
    shape = d.shape(2, 3, 2)
    skip = shape[1:] if len(shape) == 3 and d.chance(0.2) else [1] + shape[1:] if len(shape) == 3 and d.chance(0.2) else shape
    rows = [d.numbers(shape[-1:]) for _ in range(3)]
    inputs = [d.numbers(shape), d.numbers(skip),
              rows[0]] + ([] if "Simplified" in op else [d.maybe(rows[1])]) + [d.maybe(rows[2])]
    d.node(op[3:], inputs, ["y0", "", "", "y3"] if d.chance(0.3) else 1, domain=MICROSOFT, epsilon=d.maybe(0.01))


@drawn("ms.FusedMatMul", opsets=(11, 20), weight=3)
def ms_matmul(d, op):
    left, right = factors(d)
    a, b = d.pick(None, 0, 1), d.pick(None, 0, 1)
    if a and len(left) > 1:
        left = left[:-2] + left[:-3:-1]
    if b and len(right) > 1:
        right = right[:-2] + right[:-3:-1]
    x, y, z = (d.pick(None, None, 0, 1) for _ in range(3))
    if (x or y or z) and d.chance(0.8):
        batch = d.to(1, 3)
        left, right = [batch, 3, 3], [batch, 3, 3]
        x = y = z
    d.node("FusedMatMul", [d.numbers(left), d.numbers(right)], domain=MICROSOFT, transA=a, transB=b, transBatchA=x, transBatchB=y,
           alpha=d.maybe(0.5))


@drawn("ms.RotaryEmbedding", opsets=(11, 20), weight=2)
def ms_rotary(d, op):
    b, heads, s, h = d.to(1, 2), d.to(1, 3), d.to(1, 4), 2 * d.to(1, 4)
    flat = d.chance()
    part = 2 * d.to(1, h // 2) if d.chance(0.3) else None
    cache = [8, (part or h) // 2]
    place = d.numbers([1], "int64", 0, 4) if d.chance() else d.numbers([b, s], "int64", 0, 7)
    d.node("RotaryEmbedding", [d.numbers([b, s, heads * h] if flat else [b, heads, s, h]), (place, True), d.numbers(cache),
                               d.numbers(cache)],
           domain=MICROSOFT, interleaved=d.pick(None, 0, 1), num_heads=heads if part else None, rotary_embedding_dim=part,
           scale=d.maybe(1.0, 0.1))


@drawn("ms.MultiHeadAttention", opsets=(11, 20), weight=3)
def ms_attention(d, op):
    d.special = False
    b, heads, s, t, h, v = d.to(1, 2), d.to(1, 3), d.to(1, 4), d.to(1, 4), d.to(1, 4), d.to(1, 4)
    causal = d.pick(None, None, 0, 1)
    t = s if causal else t
    v = h if d.chance() else v
    bias = d.maybe(d.numbers([heads * (2 * h + v)]), 0.3)
    mask = d.maybe((d.numbers(d.pick([b, t], [b]), "int32", 0, 1), True), 0.3)
    if mask is not None:
        mask = (np.maximum(mask[0], 1) if mask[0].ndim == 1 else mask[0], True)
    added = d.maybe(d.numbers(d.pick([b, heads, s, t], [1, heads, s, t], [b, 1, s, t])), 0.3)
    d.node("MultiHeadAttention", [d.numbers([b, s, heads * h]), d.numbers([b, t, heads * h]), d.numbers([b, t, heads * v]), bias,
                                  mask, added],
           domain=MICROSOFT, num_heads=heads, scale=d.maybe(0.7, 0.3), unidirectional=causal,
           mask_filter_value=d.maybe(-100.0, 0.1))


@drawn("ms.GroupQueryAttention", opsets=(11, 20), weight=2)
def ms_group_query(d, op):
    d.special = False
    b, shared, heads, s, h = d.to(1, 2), d.to(1, 2), d.to(1, 2), d.to(1, 4), d.pick(8, 16)
    past = d.to(1, 3) if d.chance(0.4) else 0
    s = 1 if past else s
    pasts = [d.numbers([b, heads, past, h]) for _ in range(2)] if past else [None, None]
    rotary = d.pick(None, 0, 1)
    caches = [d.numbers([8, h // 2]) for _ in range(2)] if rotary else []
    d.node("GroupQueryAttention", [d.numbers([b, s, heads * shared * h]), d.numbers([b, s, heads * h]),
                                   d.numbers([b, s, heads * h]), *pasts,
                                   (np.full([b], past + s - 1, "int32"), True), (np.array(past + s, "int32"), True), *caches],
           3, domain=MICROSOFT, num_heads=heads * shared, kv_num_heads=heads, do_rotary=rotary, scale=d.maybe(0.7, 0.3),
           local_window_size=d.maybe(2, 0.2), rotary_interleaved=d.maybe(1, 0.3) if rotary else None, softcap=d.maybe(2.0, 0.2))


@drawn("ms.Attention", opsets=(11, 20))
def ms_packed_attention(d, op):
    b, heads, s, h = d.to(1, 2), d.to(1, 2), d.to(1, 3), d.to(1, 3)
    width = heads * h
    d.node("Attention", [d.numbers([b, s, width]), d.numbers([width, 3 * width]), d.numbers([3 * width])], domain=MICROSOFT,
           num_heads=heads,
           unidirectional=d.pick(None, 0, 1))
