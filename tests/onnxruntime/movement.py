"""Random operators that move elements."""

import math

import numpy as np

from drawing import ANY, NEWEST, drawn, shape_input


@drawn("Transpose")
def transpose(d, op):
    shape = d.shape(0, 4)
    d.node(op, [d.numbers(shape, d.pick(*ANY))], perm=d.maybe(d.random.sample(range(len(shape)), len(shape)) or None, 0.7))


@drawn("Reshape", weight=3)
def reshape(d, op):
    shape = d.shape(1, 4)
    target = list(shape)
    d.random.shuffle(target)
    if len(target) > 1 and d.chance():
        at = d.to(0, len(target) - 2)
        target[at:at + 2] = [target[at] * target[at + 1]]
    allow = d.pick(None, 0, 1) if d.opset >= 14 else None
    if not allow and target and len(shape) >= len(target):
        for i, n in enumerate(target):
            if n == shape[i] and d.chance():
                target[i] = 0
    if d.chance() and target:
        target[d.to(0, len(target) - 1)] = -1
    d.node(op, [d.numbers(shape, d.pick(*ANY)), shape_input(target)], allowzero=allow)


@drawn("Flatten")
def flatten(d, op):
    shape = d.shape(1, 4)
    d.node(op, [d.numbers(shape)], axis=d.maybe(d.axis(len(shape), 1) if d.opset >= 11 else d.to(0, len(shape))))


@drawn("Squeeze", "Unsqueeze", weight=2)
def squeeze(d, op):
    rank = d.to(1, 4)
    chosen = sorted(d.random.sample(range(rank), d.to(1, rank)))
    inner = [n for i, n in enumerate(d.shape(rank, rank)) if i not in chosen]
    outer = iter(inner)
    shape = [1 if i in chosen else next(outer) for i in range(rank)] if op == "Squeeze" else inner
    axes = [a - rank if d.opset >= 11 and d.chance(0.3) else a for a in chosen]
    axes = None if op == "Squeeze" and d.chance(0.3) else axes
    values = d.numbers(shape, d.pick(*ANY))
    if d.opset >= 13:
        d.node(op, [values, None if axes is None else shape_input(axes)])
    else:
        d.node(op, [values], axes=axes)


@drawn("Expand", opsets=(8, NEWEST), weight=2)
def expand(d, op):
    shape = d.shape(0, 4)
    target = [1 if d.chance(0.2) else n for n in shape]
    d.node(op, [d.numbers(d.broadcast(shape), d.pick(*ANY)), shape_input(target if d.chance(0.7) else shape)])


@drawn("Tile", weight=2)
def tile(d, op):
    shape = d.shape(1, 4, most=3)
    d.node(op, [d.numbers(shape, d.pick(*ANY)), shape_input([d.to(0 if d.chance(0.05) else 1, 3) for _ in shape])])


@drawn("Concat", weight=2)
def concat(d, op):
    shape, dtype = d.shape(1, 4), d.pick(*ANY)
    axis = d.axis(len(shape))
    parts = [[d.to(0 if d.chance(0.1) else 1, 3) if i == axis % len(shape) else n for i,
              n in enumerate(shape)] for _ in range(d.to(1, 4))]
    d.node(op, [d.numbers(part, dtype) for part in parts], axis=axis)


@drawn("Split", weight=3)
def split(d, op):
    shape = d.shape(1, 4, 2, 6)
    axis = d.axis(len(shape))
    at = axis if d.maybe(True, 0.7) else None
    along = (axis if at is not None else 0) % len(shape)
    count = d.to(1, 3)
    sizes = d.maybe([d.to(0 if d.chance(0.1) else 1, 3) for _ in range(count)])
    shape[along] = sum(sizes) if sizes else count * d.to(1, 3)
    if not sizes and d.opset >= 18 and count > 1 and d.chance():
        shape[along] += 1  # the last part is smaller
    values = d.numbers(shape, d.pick("float32", "int64", "int32"))
    if d.opset < 13:
        d.node(op, [values], count, axis=at, split=sizes)
    else:
        d.node(op, [values, shape_input(sizes) if sizes else None], count, axis=at,
               num_outputs=count if d.opset >= 18 and not sizes else None)


@drawn("Slice", weight=4)
def slices(d, op):
    shape = d.shape(1, 4, 1, 6)
    axes = d.axes(len(shape), 1)
    huge = 2 ** 63 - 1 if d.chance() else 2 ** 31 - 1
    steps = [d.pick(1, 1, 2, 3, -1, -2) for _ in axes] if d.opset >= 10 and d.chance(0.6) else None
    starts, ends = [], []
    for i in range(len(axes)):
        step = steps[i] if steps else 1
        first, last = sorted([d.to(-7, 7), d.pick(d.to(-7, 7), huge)])
        starts.append(last if step < 0 else first)
        ends.append((-huge if d.chance(0.3) else first) if step < 0 else last)
    if d.chance(0.3):  # as many axes as there are, which may be left out
        axes = list(range(len(axes)))
        axes = None if d.chance(0.7) else axes
    if d.opset < 10:
        d.node(op, [d.numbers(shape)], starts=starts, ends=ends, axes=axes and [a % len(shape) for a in axes])
    else:
        d.node(op, [d.numbers(shape, d.pick("float32", "int64", "int32", "bool")), shape_input(starts), shape_input(ends),
                    None if axes is None else shape_input(axes), None if steps is None else shape_input(steps)])


@drawn("Pad", weight=4)
def pad(d, op):
    shape = d.shape(1, 4, 2, 5)
    rank = len(shape)
    mode = d.pick(None, "constant", "reflect", "edge", *(["wrap"] if d.opset >= 19 else []))
    axes = d.axes(rank, 1) if d.opset >= 18 and d.chance(0.3) else None
    count = rank if axes is None else len(axes)
    pads = [d.to(0, 3 if mode in (None, "constant", "edge") else 1) for _ in range(2 * count)]
    if mode in (None, "constant") and d.chance(0.2):
        pads[d.to(0, len(pads) - 1)] = -1
    dtype = d.pick("float32", "float32", "int32", "int64") if d.opset >= 13 else "float32"
    value = d.maybe(d.numbers([], dtype, -3, 3))
    if d.opset < 11:
        d.node(op, [d.numbers(shape)], pads=pads, mode=mode, value=None if value is None else float(value))
    else:
        d.node(op, [d.numbers(shape, dtype), shape_input(pads), None if value is None else (value, True),
                    None if axes is None else shape_input(axes)], mode=mode)


@drawn("DepthToSpace", "SpaceToDepth", weight=2)
def depth(d, op):
    size = d.to(1, 3)
    n, c, h, w = d.to(1, 2), d.to(1, 2), d.to(1, 3), d.to(1, 3)
    if op == "DepthToSpace":
        mode = d.pick(None, "DCR", "CRD") if d.opset >= 11 else None
        d.node(op, [d.numbers([n, c * size * size, h, w])], blocksize=size, mode=mode)
    else:
        d.node(op, [d.numbers([n, c, h * size, w * size])], blocksize=size)


@drawn("Trilu", opsets=(14, NEWEST))
def trilu(d, op):
    k = d.maybe(np.array(d.to(-4, 4), "int64"))
    d.node(op, [d.numbers(d.shape(2, 4), d.pick("float32", "int64", "bool")), None if k is None else (k, True)],
           upper=d.pick(None, 0, 1))


@drawn("ReverseSequence", opsets=(10, NEWEST))
def reverse_sequence(d, op):
    shape = d.shape(2, 4, 1, 4)
    order = d.pick((None, None), (0, 1), (1, 0))
    batch = shape[1 if order[0] is None else order[0]]
    time = shape[0 if order[1] is None else order[1]]
    lengths = np.array([d.to(1, max(time, 1)) for _ in range(batch)], "int64")
    d.node(op, [d.numbers(shape), (lengths, True)], batch_axis=order[0], time_axis=order[1])


@drawn("CenterCropPad", opsets=(18, NEWEST))
def center_crop_pad(d, op):
    shape = d.shape(1, 4, 1, 6)
    axes = d.maybe(d.axes(len(shape), 1))
    d.node(op, [d.numbers(shape), shape_input([d.to(1, 7) for _ in (shape if axes is None else axes)])], axes=axes)


@drawn("Col2Im", opsets=(18, NEWEST))
def col2im(d, op):
    rank = 2
    block = [d.to(1, 3) for _ in range(rank)]
    strides, dilations = d.maybe([d.to(1, 2) for _ in block]), d.maybe([d.to(1, 2) for _ in block])
    pads = d.maybe([d.to(0, 1) for _ in range(2 * rank)])
    image = [d.to(5, 7) for _ in block]
    places = 1
    for i in range(rank):
        padded = image[i] + (pads[i] + pads[i + rank] if pads else 0)
        places *= (padded - (dilations[i] if dilations else 1) * (block[i] - 1) - 1) // (strides[i] if strides else 1) + 1
    d.node(op, [d.numbers([d.to(1, 2), d.to(1, 2) * math.prod(block), places]), shape_input(image), shape_input(block)],
           strides=strides, dilations=dilations, pads=pads)
