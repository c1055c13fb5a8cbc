"""Random operators that gather and scatter, and those of shapes."""

import math

import numpy as np

from drawing import ANY, NEWEST, TYPES, drawn, places, shape_input


@drawn("Gather", weight=3)
def gather(d, op):
    shape = d.shape(1, 4, 2)
    axis = d.axis(len(shape))
    given = axis if d.chance(0.7) else None
    d.node(op, [d.numbers(shape, d.pick(*ANY)), (places(d, d.shape(0, 2), shape[given or 0]), d.maybe(True))], axis=given)


@drawn("GatherElements", opsets=(11, NEWEST), weight=2)
def gather_elements(d, op):
    shape = d.shape(1, 4, 2)
    axis = d.axis(len(shape))
    given = axis if d.chance(0.7) else None
    along = (given or 0) % len(shape)
    chosen = [d.to(1, 4) if i == along else d.to(1, n) for i, n in enumerate(shape)]
    d.node(op, [d.numbers(shape, d.pick(*ANY)), (places(d, chosen, shape[along]), d.maybe(True))], axis=given)


def tuples(d, shape, length, count, unique):
    """`count` places of tensors of `shape[:length]`."""
    flat = d.random.sample(range(math.prod(shape[:length])), count) if unique else \
        [d.random.randrange(math.prod(shape[:length])) for _ in range(count)]
    found = np.stack(np.unravel_index(np.array(flat, "int64"), shape[:length]), -1)
    return np.where(d.generator.random(found.shape) < 0.2, found - np.array(shape[:length]), found).astype("int64")


@drawn("GatherND", opsets=(11, NEWEST), weight=2)
def gather_nd(d, op):
    shape = d.shape(1, 4, 2)
    batch = d.to(0, len(shape) - 1) if d.opset >= 12 and d.chance() else 0
    length = d.to(1, len(shape) - batch)
    outer = d.shape(1, 2) if not batch or d.chance() else []
    count = math.prod(shape[:batch] + outer)
    indices = tuples(d, shape[batch:], length, count, False).reshape(shape[:batch] + outer + [length])
    d.node(op, [d.numbers(shape, d.pick(*ANY)), (indices, d.maybe(True))],
           batch_dims=batch if batch else d.pick(None, 0) if d.opset >= 12 else None)


def reduction(d):
    return None if d.opset < 16 else d.pick(None, "none", "add", "mul", *(["max", "min"] if d.opset >= 18 else []))


@drawn("Scatter", "ScatterElements", weight=2, opsets={"Scatter": (9, 10), "ScatterElements": 11})
def scatter_elements(d, op):
    shape = d.shape(1, 3, 2)
    given = d.maybe(d.axis(len(shape)), 0.7)
    along = (given or 0) % len(shape)
    reduce = reduction(d)
    if reduce in (None, "none"):  # repeated places are undefined
        chosen = [d.to(1, n) for n in shape]
        order = np.argsort(d.generator.random([shape[along] if i == along else n for i, n in enumerate(chosen)]), along)
        indices = np.take(order, range(chosen[along]), along).astype("int64")
        indices = indices - shape[along] * (d.generator.random(indices.shape) < 0.2) if d.opset >= 11 else indices
    else:
        chosen = [d.to(1, 4) if i == along else d.to(1, n) for i, n in enumerate(shape)]
        indices = places(d, chosen, shape[along], "int64")
    dtype = d.pick("float32", "float32", "int64")
    d.node(op, [d.numbers(shape, dtype), (indices.astype("int64"), d.maybe(True)), d.numbers(chosen, dtype)], axis=given,
           reduction=reduce)


@drawn("ScatterND", opsets=(11, NEWEST), weight=2)
def scatter_nd(d, op):
    shape = d.shape(1, 3, 2)
    reduce = reduction(d)
    length = d.to(1, len(shape))
    count = d.to(1, 2 if reduce in (None, "none") else 4)
    indices = tuples(d, shape, length, count, reduce in (None, "none"))
    d.node(op, [d.numbers(shape), (indices, d.maybe(True)), d.numbers([count] + shape[length:])], reduction=reduce)


@drawn("OneHot", opsets=(9, NEWEST), weight=2)
def one_hot(d, op):
    shape, kind = d.shape(1, 3), d.pick("int64", "int64", "int32", "float32")
    depth = d.to(1, 5)
    indices = np.round(d.numbers(shape, kind, -depth - 1 if d.opset >= 11 else 0, depth + 1))
    size = np.array(d.pick(depth, [depth]), kind)
    d.node(op, [indices, (size, True), d.numbers([2], "float32" if kind != "int64" else d.pick("float32", "int64"))],
           axis=d.maybe(d.axis(len(shape), 1)))


@drawn("TopK", weight=3)
def top_k(d, op):
    shape = d.shape(1, 3, 2)
    given = d.maybe(d.axis(len(shape)) if d.opset >= 11 else d.to(0, len(shape) - 1))
    k = d.to(1, shape[-1 if given is None else given])
    d.special = False
    values = d.numbers(shape, d.pick("float32", "int64", "int32") if d.opset >= 11 else "float32")
    largest = d.pick(None, 0, 1) if d.opset >= 11 else None
    if d.opset < 10:
        d.node(op, [values], 2, axis=given, k=k)
    else:
        d.node(op, [values, shape_input([k])], 2, axis=given, largest=largest, sorted=d.maybe(1) if d.opset >= 11 else None)


@drawn("Compress", opsets=(9, NEWEST))
def compress(d, op):
    shape = d.shape(1, 3, 2)
    axis = d.maybe(d.axis(len(shape)) if d.opset >= 11 else d.to(0, len(shape) - 1))
    most = math.prod(shape) if axis is None else shape[axis]
    d.node(op, [d.numbers(shape, d.pick(*ANY)), (d.numbers([d.to(1, most)], "bool"), True)], axis=axis)


@drawn("NonZero", opsets=(9, NEWEST))
def non_zero(d, op):
    d.tied = True
    d.node(op, [(d.numbers(d.shape(1, 3), d.pick("float32", "int64", "bool")), True)])


@drawn("Unique", opsets=(11, NEWEST))
def unique(d, op):
    d.tied, d.special = True, False
    shape = d.shape(1, 3)
    d.node(op, [(d.numbers(shape, d.pick("float32", "int64")), True)], 4, axis=d.maybe(d.axis(len(shape))),
           sorted=d.pick(None, 0, 1))


@drawn("Shape", "Size")
def shape_of(d, op):
    ends = {name: d.maybe(d.to(-5, 5)) for name in ("start", "end")} if op == "Shape" and d.opset >= 15 else {}
    d.node(op, [d.numbers(d.shape(0, 4), d.pick(*ANY))], **ends)


@drawn("EyeLike", opsets=(9, NEWEST))
def eye_like(d, op):
    d.node(op, [d.numbers(d.shape(2, 2), d.pick("float32", "int64", "int32"))], k=d.maybe(d.to(-4, 4)),
           dtype=d.maybe(TYPES[d.pick("float32", "int64", "int32", "uint8")][0]))


@drawn("Range", opsets=(11, NEWEST))
def ranges(d, op):
    dtype = d.pick("float32", "int64", "int32")
    step = np.array(d.pick(-2, -1, 1, 2, 3) if dtype != "float32" else d.pick(-0.5, 0.25, 1.5, -2), dtype)
    d.node(op, [(d.numbers([], dtype, -5, 5), True), (d.numbers([], dtype, -9, 9), True), (step, True)])


@drawn("ConstantOfShape", opsets=(9, NEWEST))
def constant_of_shape(d, op):
    d.node(op, [shape_input(d.shape(0, 3))], value=d.maybe(d.numbers([1], d.pick(*ANY))))


@drawn("HannWindow", "HammingWindow", "BlackmanWindow", opsets=(17, NEWEST))
def window(d, op):
    d.node(op, [(np.array(d.to(1, 9), d.pick("int32", "int64")), True)], periodic=d.pick(None, 0, 1), output_datatype=d.maybe(1))
