"""Random elementwise operators."""

import collections

import numpy as np

from drawing import NEWEST, TYPES, drawn


@drawn(*"Abs Neg Ceil Floor Exp Log Sqrt Reciprocal Sigmoid Tanh Relu Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
       "Sign Round Softplus Softsign HardSwish Mish Identity IsNaN".split(),
       opsets=collections.defaultdict(lambda: 7, Erf=9, Sinh=9, Cosh=9, Asinh=9, Acosh=9, Atanh=9, Sign=9, Round=11, HardSwish=14,
                                      Mish=18, IsNaN=9))
def unary(d, op):
    dtype = d.pick("int32", "int64") if op in ("Abs", "Neg", "Sign", "Identity") and d.chance(0.3) else "float32"
    dtype = "int32" if op == "Relu" and d.opset >= 14 and d.chance(0.2) else dtype
    values = d.numbers(d.shape(0, 4), dtype)
    if op == "Round":
        values = values * np.float32(1) if d.chance() else (np.round(values * 2) / 2).astype("float32")
    d.node(op, [values])


ACTIVATIONS = {"Elu": ("alpha",), "Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",),
               "ThresholdedRelu": ("alpha",), "Celu": ("alpha",), "Shrink": ("lambd", "bias")}


@drawn(*ACTIVATIONS, weight=2,
       opsets=collections.defaultdict(lambda: 7, ThresholdedRelu=10, Celu=12, Shrink=9))
def activation(d, op):
    low = -1.0 if op == "LeakyRelu" and d.chance(0.3) else 0.25
    d.node(op, [d.numbers(d.shape())], **{name: d.maybe(round(d.random.uniform(low, 2), 2)) for name in ACTIVATIONS[op]})


@drawn("Gelu", opsets=(20, NEWEST))
def gelu(d, op):
    d.node(op, [d.numbers(d.shape())], approximate=d.pick(None, "none", "tanh"))


@drawn("PRelu", opsets=(7, NEWEST))
def prelu(d, op):
    shape = d.shape()
    d.node(op, [d.numbers(shape), d.numbers(d.broadcast(shape))])


@drawn("Add", "Sub", "Mul", "Div", "Pow", "Mod", weight=2, opsets=collections.defaultdict(lambda: 7, Mod=10))
def arithmetic(d, op):
    shape = d.shape(0, 4)
    dtype = d.pick("float32", "float32", "int32", "int64")
    if d.opset >= 14 and op in ("Add", "Sub", "Mul", "Div") or op == "Mod":
        dtype = d.pick("float32", "int32", "int64", "uint8", "int8")
    other = d.pick("float32", "int32", "int64") if op == "Pow" and d.opset >= 12 else dtype
    if op == "Pow" and d.opset < 12:
        dtype = other = "float32"
    shapes = [shape, d.broadcast(shape)]
    d.random.shuffle(shapes)
    a, b = d.numbers(shapes[0], dtype), d.numbers(shapes[1], other)
    if op in ("Div", "Mod") and dtype != "float32":
        b[b == 0] = 3
        if dtype == "int8":
            b[b == -1] = 2
    if op == "Pow":
        b = np.clip(b, 0 if dtype != "float32" else -3, 3)
        a = np.abs(a) if d.chance() else a
        b = np.round(b).astype(other) if d.chance() else b
    attributes = {"fmod": 1 if dtype == "float32" else d.pick(None, 0, 1)} if op == "Mod" else {}
    d.node(op, [a, b], **attributes)


@drawn("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor",
       opsets=collections.defaultdict(lambda: 7, GreaterOrEqual=12, LessOrEqual=12))
def comparison(d, op):
    shape = d.shape(0, 4)
    dtype = "bool" if op in ("And", "Or", "Xor") else d.pick("float32", "int32", "int64") if d.opset >= 9 else "float32"
    dtype = d.pick("int32", "int64", "bool") if op == "Equal" and d.opset < 11 else dtype
    if d.opset >= 9 and dtype == "float32":
        d.tied = d.tied or d.chance()
    d.node(op, [d.numbers(shape, dtype), d.numbers(d.broadcast(shape), dtype)])


@drawn("Max", "Min", "Sum", "Mean", opsets=(8, NEWEST))
def variadic(d, op):
    shape = d.shape(0, 4)
    dtype = d.pick("int32", "int64") if op in ("Max", "Min") and d.opset >= 12 and d.chance(0.4) else "float32"
    d.node(op, [d.numbers(shape if i == 0 else d.broadcast(shape), dtype) for i in range(d.to(1, 4))])


@drawn("Where", opsets=(9, NEWEST), weight=2)
def where(d, op):
    shape, dtype = d.shape(0, 4), d.pick("float32", "int64", "int32", "uint8")
    d.node(op, [d.numbers(d.broadcast(shape), "bool"), d.numbers(d.broadcast(shape), dtype), d.numbers(shape, dtype)])


@drawn("Not")
def negation(d, op):
    d.node(op, [d.numbers(d.shape(0, 3), "bool")])


@drawn("Clip", weight=3)
def clip(d, op):
    dtype = d.pick("float32", "int32", "int64", "uint8", "int8") if d.opset >= 12 else "float32"
    values = d.numbers(d.shape(0, 4), dtype)
    low, high = d.maybe(d.numbers([], dtype, 0, 2)), d.maybe(d.numbers([], dtype, 1, 5))
    if d.opset >= 11:
        d.node(op, [values, low if low is None else (low, d.maybe(True)), high if high is None else (high, d.maybe(True))])
    else:
        d.node(op, [values], min=None if low is None else float(low), max=None if high is None else float(high))


@drawn("IsInf", opsets=(10, NEWEST))
def is_inf(d, op):
    d.special = True
    d.node(op, [d.numbers(d.shape())], detect_negative=d.pick(None, 0, 1), detect_positive=d.pick(None, 0, 1))


@drawn("BitShift", opsets=(11, NEWEST))
def bit_shift(d, op):
    shape, dtype = d.shape(), d.pick("uint8", "uint32", "uint64")
    d.node(op, [d.numbers(shape, dtype, 0, 200), d.numbers(d.broadcast(shape), dtype, 0, 7)], direction=d.pick("LEFT", "RIGHT"))


@drawn("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", opsets=(18, NEWEST))
def bitwise(d, op):
    shape, dtype = d.shape(), d.pick("uint8", "int8", "int32", "int64")
    d.node(op, [d.numbers(shape, dtype)] + ([] if op == "BitwiseNot" else [d.numbers(d.broadcast(shape), dtype)]))


@drawn("Cast", "CastLike", weight=3, opsets={"Cast": 7, "CastLike": 15})
def cast(d, op):
    kinds = ["float32", "int32", "int64", "uint8", "int8", "bool", "int16", "uint16", "float64", "uint32"]
    source, target = d.pick(*kinds), d.pick(*kinds)
    floats = source.startswith("float")
    # A float beyond the type that it is cast to is undefined; NaN and infinities to integers, too.
    d.special = d.special and (target.startswith("float") or target == "bool")
    values = d.numbers(d.shape(0, 3), source)
    values = np.abs(values) if floats and target.startswith("u") else values
    if op == "Cast":
        d.node(op, [values], to=TYPES[target][0], saturate=d.maybe(1, 0.2) if d.opset >= 19 else None)
    else:
        d.node(op, [values, d.numbers([1], target)])
