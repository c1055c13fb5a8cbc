"""Random products and quantised operators."""

import numpy as np

from drawing import NEWEST, TYPES, drawn
from windows import windows


@drawn("Gemm", weight=3)
def gemm(d, op):
    m, k, n = d.to(1, 4), d.to(1, 4), d.to(1, 4)
    a, b = d.pick(None, 0, 1), d.pick(None, 0, 1)
    c = d.pick([m, n], [n], [1, n], [m, 1], [1], []) if d.opset < 11 or d.chance(0.7) else None
    d.node(op, [d.numbers([k, m] if a else [m, k]), d.numbers([n, k] if b else [k, n]), None if c is None else d.numbers(c)],
           transA=a, transB=b,
           alpha=d.maybe(0.5), beta=d.maybe(1.5))


def factors(d):
    """Shapes of two factors of a product of matrices, stacked or not, or of vectors."""
    m, k, n = d.to(1, 4), d.to(1, 4), d.to(1, 4)
    batch = d.shape(0, 2, 1, 3)
    left, right = (batch, d.broadcast(batch)) if d.chance() else (d.broadcast(batch), batch)
    return [k] if d.chance(0.1) else left + [m, k], [k] if d.chance(0.1) else right + [k, n]


@drawn("MatMul", weight=2)
def mat_mul(d, op):
    left, right = factors(d)
    dtype = d.pick("float32", "float32", "int32", "int64") if d.opset >= 9 else "float32"
    d.node(op, [d.numbers(left, dtype), d.numbers(right, dtype)])


@drawn("MatMulInteger", "QLinearMatMul", opsets=(10, 20))
def mat_mul_integer(d, op):
    left, right = factors(d)
    a, b = d.pick("uint8", "int8"), d.pick("uint8", "int8")
    zeros = [d.numbers([], a, 0, 9), d.numbers([], b, 0, 9)]
    if op == "MatMulInteger":
        d.node(op, [d.numbers(left, a), d.numbers(right, b), d.maybe(zeros[0]), d.maybe(zeros[1])])
    else:
        scales = [d.numbers([], "float32", 0.01, 0.1) for _ in range(3)]
        b = a if a == "int8" else b
        d.node(op, [d.numbers(left, a), scales[0], zeros[0], d.numbers(right, b), scales[1], zeros[1].astype(b), scales[2],
                    d.numbers([], a, 0, 9)])


@drawn("ConvInteger", "QLinearConv", opsets=(10, NEWEST))
def conv_integer(d, op):
    kernel, attributes, extents = windows(d, d.pick(1, 2))
    x, w = d.pick(("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
    channels, outputs = d.to(1, 2), d.to(1, 3)
    data, weights = d.numbers([1, channels] + extents, x), d.numbers([outputs, channels] + kernel, w)
    zeros = [(d.numbers([], x, 0, 9), True), (d.numbers([], w, 0, 9), True)]
    if op == "ConvInteger":
        d.node(op, [data, weights, d.maybe(zeros[0]), d.maybe(zeros[1])], **attributes)
    else:
        scales = [(d.numbers([], "float32", 0.01, 0.1), True) for _ in range(3)]
        d.node(op, [data, scales[0], zeros[0], (weights, True), scales[1], zeros[1], scales[2], (d.numbers([], x, 0, 9), True),
                    d.maybe((d.numbers([outputs], "int32"), True))], **attributes)


@drawn("Einsum", opsets=(12, NEWEST), weight=3)
def einsum(d, op):
    equation = d.pick("ij,jk->ik", "ij,jk", "ij->ji", "ii->i", "ii", "ij->", "i,j->ij", "bij,bjk->bik", "...ij,...jk->...ik",
                      "ij,ij->i", "ij,kj->ki",
                      "b...d,d->b...", "ba", "ij,j", "ab,bc,cd->ad", "i...->...", "ijj->i", "ij , jk -> ik", "...ij->...ji",
                      "bhqd,bhkd->bhqk", "i,i", "zA,Ab")
    extents = {c: d.to(1, 4) for c in equation if c.isalpha()}
    batch = d.shape(1, 2, 1, 3)
    shapes = []
    for term in equation.replace(" ", "").split("->")[0].split(","):
        before, dots, after = term.partition("...")
        shapes.append([extents[c] for c in before] + (batch if dots else []) + [extents[c] for c in after])
    d.node(op, [d.numbers(shape) for shape in shapes], equation=equation)


@drawn("QuantizeLinear", "DequantizeLinear", opsets=(10, NEWEST), weight=3)
def quantize(d, op):
    shape, dtype = d.shape(1, 4, 2), d.pick("uint8", "int8", *(["int16", "uint16"] if d.opset >= 21 else []))
    axis, block, axis_given, parts = len(shape) - 1, None, None, []
    if d.opset >= 13 and d.chance():
        axis = 1 if d.chance(0.3) and len(shape) > 1 else d.to(0, len(shape) - 1)
        axis_given = None if axis == 1 and d.chance() else axis - (len(shape) if d.chance(0.3) else 0)
        parts = [shape[axis]]
        if d.opset >= 21 and d.chance(0.3):
            block = d.to(1, shape[axis])
            parts = [-(-n // block) if i == axis else n for i, n in enumerate(shape)]
    scale = d.numbers(parts, "float32", 0.1, 0.6)
    zero = d.maybe(d.numbers(parts, dtype, 0, 9), 0.6)
    d.special = False
    if op == "QuantizeLinear":
        values = d.numbers(shape) * np.float32(d.pick(1, 20))
        output = TYPES[dtype][0] if d.opset >= 21 and zero is None and d.chance() else None
        d.node(op, [values, (scale, d.maybe(True)), zero], axis=axis_given, block_size=block, output_dtype=output)
    else:
        dtype = "int32" if zero is None and d.chance(0.3) else dtype
        d.node(op, [d.numbers(shape, dtype), (scale, d.maybe(True)), zero], axis=axis_given, block_size=block)


@drawn("DynamicQuantizeLinear", opsets=(11, NEWEST))
def dynamic_quantize(d, op):
    d.special = False
    d.node(op, [d.numbers(d.shape())], 3)
