"""Random losses, recurrences, transforms and attention."""

import numpy as np

from drawing import NEWEST, drawn, shape_input


@drawn("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", opsets=(12, NEWEST), weight=2)
def loss(d, op):
    d.special = False
    shape = [d.to(1, 3), d.to(2, 4)] + d.shape(0, 2)
    ignored = d.maybe(d.to(0, 1), 0.3)
    weights = d.maybe((d.numbers([shape[1]], "float32", 0.1, 2), True))
    classes = d.numbers([shape[0]] + shape[2:], d.pick("int64", "int32"), 0, shape[1] - 1)
    outputs = d.pick(1, 2) if op == "SoftmaxCrossEntropyLoss" else 1
    d.node(op, [d.numbers(shape), (classes, True), weights], outputs, ignore_index=ignored,
           reduction=d.pick(None, "none", "sum", "mean"))


@drawn("RNN", "GRU", "LSTM", weight=3)
def recurrent(d, op):
    d.special = False
    steps, batch, width, hidden = d.to(1, 3), d.to(1, 2), d.to(1, 3), d.to(1, 3)
    direction = d.pick(None, "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    weights = [d.numbers([ways, gates * hidden, n]) * np.float32(0.5) for n in (width, hidden)]
    bias = d.maybe(d.numbers([ways, 2 * gates * hidden]))
    lengths = d.maybe((np.array([d.to(1, steps) for _ in range(batch)], "int32"), True), 0.3)
    state = [ways, batch, hidden]
    inputs = [d.numbers([steps, batch, width]), *weights, bias, lengths, d.maybe(d.numbers(state))]
    attributes = {"clip": d.maybe(1.5, 0.2), "layout": d.maybe(0, 0.2) if d.opset >= 14 else None}
    if op == "LSTM":
        inputs += [d.maybe(d.numbers(state)), d.maybe(d.numbers([ways, 3 * hidden]), 0.3)]
        attributes["input_forget"] = d.pick(None, None, 0, 1)
        # onnxruntime does not clip the cell in front of the last activation: only where it is too small for that.
        attributes["clip"] = attributes["clip"] and 20.0
    if op == "GRU":
        attributes["linear_before_reset"] = d.pick(None, 0, 1)
    if d.chance(0.3):
        each = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        attributes["activations"] = [d.pick("Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid",
                                            "LeakyRelu") for _ in range(each * ways)]
    d.node(op, inputs, 3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, **attributes)


@drawn("Dropout")
def dropout(d, op):
    ratio = 0.3 if d.opset < 12 else (np.array(0.3, "float32"), True)
    inputs = [d.numbers(d.shape())] + ([d.maybe(ratio)] if d.opset >= 12 else [])
    d.node(op, inputs, d.pick(1, 2) if d.opset >= 10 else 1, ratio=d.maybe(ratio) if d.opset < 12 else None)


@drawn("DFT", opsets=(17, NEWEST))
def dft(d, op):
    d.special = False
    shape = [d.to(1, 2)] + d.shape(1, 2, 2, 5) + [d.pick(1, 1, 2)]
    axis = d.to(1, len(shape) - 2)
    one = d.pick(None, 0, 1) if shape[-1] == 1 else None
    inverse = None if one else d.pick(None, 0, 1)
    length = d.maybe(shape_input(d.to(2, 6)), 0.3)
    if d.opset < 20:
        d.node(op, [d.numbers(shape), length], axis=axis if axis != 1 else d.maybe(1), onesided=one, inverse=inverse)
    else:
        given = shape_input(axis - len(shape)) if axis != len(shape) - 2 or d.chance() else None
        d.node(op, [d.numbers(shape), length, given], onesided=one, inverse=inverse)


@drawn("Attention", opsets=(23, NEWEST), weight=4)
def attention(d, op):
    d.special = False
    b, shared, heads, s, t, h, v = d.to(1, 2), d.to(1, 2), d.to(1, 2), d.to(1, 4), d.to(1, 4), d.to(1, 4), d.to(1, 4)
    flat = d.chance(0.4)
    numbers = lambda n, rows, width: d.numbers([b, rows, n * width] if flat else [b, n, rows, width])
    past, causal = d.to(1, 2) if d.chance(0.2) else 0, d.pick(None, 0, 1)
    t = s if causal and s == 1 else t  # with a cache onnxruntime lets a single query attend later keys
    mask = None
    if d.chance(0.4):
        mask = d.numbers(d.pick([s, t + past], [b, 1, s, t + past], [b, heads * shared, s, t + past]), d.pick("float32", "bool"))
    pasts = [d.numbers([b, heads, past, n]) for n in (h, v)] if past else [None, None]
    d.node(op, [numbers(heads * shared, s, h), numbers(heads, t, h), numbers(heads, t, v), mask, *pasts], 3 if past else 1,
           q_num_heads=heads * shared if flat else None, kv_num_heads=heads if flat else None, is_causal=causal,
           scale=d.maybe(0.7, 0.3), softcap=d.maybe(2.0, 0.2))


@drawn("RotaryEmbedding", opsets=(23, NEWEST), weight=2)
def rotary(d, op):
    b, heads, s, h = d.to(1, 2), d.to(1, 3), d.to(1, 4), 2 * d.to(1, 4)
    flat = d.chance(0.4)
    part = 2 * d.to(1, h // 2) if d.chance(0.3) else None
    half = (part or h) // 2
    by_place = d.chance()
    cache = [6, half] if by_place else [b, s, half]
    values = d.numbers([b, s, heads * h] if flat else [b, heads, s, h])
    d.node(op, [values, d.numbers(cache), d.numbers(cache), (d.numbers([b, s], "int64", 0, 5), True) if by_place else None],
           interleaved=d.pick(None, 0, 1), num_heads=heads if flat else d.maybe(heads, 0.2) if part else None,
           rotary_embedding_dim=part)
