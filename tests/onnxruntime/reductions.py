"""Random reductions and normalisations."""

import numpy as np

from drawing import NEWEST, drawn, shape_input


@drawn(*("Reduce" + how for how in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()), weight=2)
def reduce(d, op):
    shape = d.shape(0, 4)
    dtype = d.pick("float32", "float32", "int32", "int64")
    dtype = d.pick("uint8", "int8", dtype) if op in ("ReduceMax", "ReduceMin") and d.opset >= 12 else dtype
    dtype = d.pick("bool", dtype) if op in ("ReduceMax", "ReduceMin") and d.opset >= 20 else dtype
    values = d.numbers(shape, dtype)
    values = np.abs(values) if op == "ReduceLogSum" and d.chance(0.8) and dtype != "bool" else values
    if op in ("ReduceMax", "ReduceMin") and dtype == "float32":
        values[np.isnan(values)] = 1  # ONNX does not say what the maximum is then
    axes = d.maybe(d.axes(len(shape)), 0.75)
    if axes and (d.opset < 11 or 0 in shape):  # of a tensor without elements onnxruntime forgets negative axes
        axes = [a % len(shape) for a in axes]
    keep = d.pick(None, 0, 1)
    if d.opset < (13 if op == "ReduceSum" else 18):
        d.node(op, [values], axes=axes or None, keepdims=keep)
    else:
        d.node(op, [values, None if axes is None else shape_input(axes)], keepdims=keep, noop_with_empty_axes=d.pick(None, 0, 1))


@drawn("ArgMax", "ArgMin", weight=3)
def arg_max(d, op):
    shape = d.shape(1, 4)
    d.special, d.tied = False, d.tied or d.chance()
    dtype = d.pick("float32", "int32", "int64") if d.opset >= 11 else "float32"
    d.node(op, [d.numbers(shape, dtype)], axis=d.maybe(d.axis(len(shape)) if d.opset >= 11 else d.to(0, len(shape) - 1), 0.7),
           keepdims=d.pick(None, 0, 1), select_last_index=d.pick(None, 0, 1) if d.opset >= 12 else None)


@drawn("CumSum", opsets=(11, NEWEST), weight=2)
def cum_sum(d, op):
    shape = d.shape(1, 3)
    axis = np.array(d.axis(len(shape)), d.pick("int32", "int64"))
    d.node(op, [d.numbers(shape, d.pick("float32", "int32", "int64")), (axis, True)], exclusive=d.pick(None, 0, 1),
           reverse=d.pick(None, 0, 1))


@drawn("Softmax", "LogSoftmax", "Hardmax", weight=2)
def softmax(d, op):
    shape = d.shape(1 if d.opset >= 13 else 2, 4)
    axis = d.maybe(d.axis(len(shape)) if d.opset >= 11 else d.to(0, len(shape) - 1), 0.6)
    d.node(op, [d.numbers(shape)], axis=axis)


@drawn("LayerNormalization", "RMSNormalization", opsets={"LayerNormalization": 17, "RMSNormalization": 23}, weight=3)
def layer_normalization(d, op):
    shape = d.shape(1, 4, 2)
    axis = d.maybe(d.axis(len(shape)), 0.7)
    inner = shape[-1 if axis is None else axis % len(shape):]
    scale = d.broadcast(inner) if d.chance(0.3) else inner
    layer = op == "LayerNormalization"
    outputs = ["y0", "y1", "y2"][:d.pick(1, 1, 3)] if layer else 1
    bias = d.numbers(d.broadcast(inner) if d.chance(0.3) else inner) if layer and d.chance() else None
    d.node(op, [d.numbers(shape), d.numbers(scale), bias], outputs, axis=axis, epsilon=d.maybe(0.01), stash_type=d.maybe(1, 0.3))


@drawn("BatchNormalization", weight=2)
def batch_normalization(d, op):
    shape = d.shape(2, 4, 2)
    c = [shape[1]]
    train = d.pick(None, 0, 1) if d.opset >= 14 else None
    d.node(op, [d.numbers(shape), d.numbers(c), d.numbers(c), d.numbers(c), np.abs(d.numbers(c)) + np.float32(0.5)],
           3 if train else 1,
           epsilon=d.maybe(0.01), momentum=d.maybe(0.8), training_mode=train)


@drawn("InstanceNormalization", "GroupNormalization", opsets={"InstanceNormalization": 7, "GroupNormalization": 18}, weight=2)
def group_normalization(d, op):
    groups = d.to(1, 3)
    shape = [d.to(1, 3), groups * d.to(1, 2)] + d.shape(1, 2, 2)
    scales = [groups] if op == "GroupNormalization" and d.opset < 21 else [shape[1]]
    d.node(op, [d.numbers(shape), d.numbers(scales), d.numbers(scales)], epsilon=d.maybe(0.01),
           num_groups=groups if op == "GroupNormalization" else None)


@drawn("LRN")
def lrn(d, op):
    d.node(op, [d.numbers([d.to(1, 2), d.to(1, 5)] + d.shape(2, 2, 2, 3))], size=d.pick(1, 3, 5), alpha=d.maybe(0.3),
           beta=d.maybe(0.5),
           bias=d.maybe(2.0))


@drawn("LpNormalization", "MeanVarianceNormalization", opsets={"LpNormalization": 7, "MeanVarianceNormalization": 9})
def lp_normalization(d, op):
    if op == "LpNormalization":
        shape = d.shape(1, 4)
        d.node(op, [d.numbers(shape)], axis=d.maybe(d.axis(len(shape))), p=d.pick(None, 1, 2))
    else:
        d.node(op, [d.numbers(d.shape(4, 4, 2))], axes=d.maybe(sorted(d.random.sample(range(4), d.to(1, 4)))))
