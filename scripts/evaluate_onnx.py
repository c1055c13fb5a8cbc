"""A small evaluator of ONNX graphs in numpy: does an export compute what PyTorch computed?

Written from the operators' definitions for what the exported families use; check_models.py runs it.
It is slow and holds everything in memory: a check of the exports, not a runtime.
"""
import numpy as np
import onnx
from onnx import numpy_helper

TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    s = x - np.max(x, axis=axis, keepdims=True)
    return s - np.log(np.sum(np.exp(s), axis=axis, keepdims=True))


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = np.float32(alpha) * ((a.T if transA else a) @ (b.T if transB else b))
    return y if c is None else y + np.float32(beta) * c


def slice_(x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    at = [slice(None)] * x.ndim
    for a, s, e, step in zip(axes, starts, ends, steps):
        at[a] = slice(s, e, step)
    return x[tuple(at)]


def split(x, sizes=None, axis=0, parts=0):
    if sizes is None:
        return np.split(x, parts, axis)
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def reshape(x, shape, allowzero=0):
    shape = [x.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(shape)]
    return x.reshape(shape)


def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5):
    axes = tuple(range(axis % x.ndim, x.ndim))
    c = x - x.mean(axes, keepdims=True)
    y = c / np.sqrt((c * c).mean(axes, keepdims=True) + np.float32(epsilon)) * scale
    return y if bias is None else y + bias


def scatter_elements(data, index, updates, axis=0, reduction=b"none"):
    out = data.copy()
    at = list(np.indices(index.shape, sparse=True))
    at[axis] = index
    if reduction == b"add":
        np.add.at(out, tuple(at), updates)
    else:
        out[tuple(at)] = updates
    return out


def windows(x, kernel, strides, pads, dilations, fill, ceil=False):
    """[n, c, h, w] -> [n, c, oh, ow, kh, kw]."""
    top, left, bottom, right = pads
    if ceil:
        raise NotImplementedError("ceil_mode")
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    w = np.lib.stride_tricks.sliding_window_view(x, span, (2, 3))
    return w[:, :, ::strides[0], ::strides[1], ::dilations[0], ::dilations[1]]


def conv(x, w, b=None, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group=1,
         kernel_shape=None):
    v = windows(x, w.shape[2:], strides, pads, dilations, 0)
    parts = zip(np.split(v, group, 1), np.split(w, group, 0))
    y = np.concatenate([np.einsum("nchwij,ocij->nohw", a, f) for a, f in parts], 1)
    return y if b is None else y + b[None, :, None, None]


def max_pool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), ceil_mode=0):
    return windows(x, kernel_shape, strides, pads, dilations, -np.inf, ceil_mode).max((4, 5))


def average_pool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), ceil_mode=0,
                 count_include_pad=0):
    v = windows(x, kernel_shape, strides, pads, (1, 1), 0, ceil_mode)
    ones = windows(np.ones_like(x), kernel_shape, strides, pads, (1, 1), count_include_pad)
    return v.sum((4, 5)) / ones.sum((4, 5))


def pad(x, pads, value=None, mode=b"constant"):
    half = len(pads) // 2
    return np.pad(x, list(zip(pads[:half], pads[half:])),
                  constant_values=0 if value is None else value)


def erf(x):
    from scipy.special import erf as special
    return special(x)


def batch_norm(x, scale, bias, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0):
    shape = [1, -1] + [1] * (x.ndim - 2)
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + np.float32(epsilon))
    return y * scale.reshape(shape) + bias.reshape(shape)


def along(x, values, axis):
    """A scale or zero point as it broadcasts to x."""
    return values.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])


def quantize(x, scale, zero, axis=1):
    whole = np.round(x / along(x, scale, axis)) + along(x, zero, axis)
    return np.clip(whole, np.iinfo(zero.dtype).min, np.iinfo(zero.dtype).max).astype(zero.dtype)


def dequantize(x, scale, zero, axis=1):
    return (x.astype(np.float32) - along(x, zero, axis)) * along(x, scale, axis)


def reduce(function):
    def run(x, axes_in=None, axes=None, keepdims=1):
        axes = axes if axes_in is None else axes_in
        return function(x, axis=None if axes is None else tuple(int(a) for a in axes),
                        keepdims=bool(keepdims))
    return run


def integer_div(a, b):
    return a // b if np.issubdtype(a.dtype, np.integer) else a / b


def einsum(*xs, equation):
    return np.einsum(equation.decode(), *xs)


OPS = {
    "Einsum": einsum,
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": integer_div,
    "Pow": lambda a, b: np.power(a, b).astype(a.dtype), "Neg": np.negative, "Abs": np.abs,
    "MatMul": np.matmul, "Gemm": gemm, "Softmax": softmax, "LogSoftmax": log_softmax,
    "Relu": lambda x: np.maximum(x, 0), "Sqrt": np.sqrt, "Exp": np.exp, "Erf": erf,
    "Reciprocal": lambda x: 1 / x, "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "LeakyRelu": lambda x, alpha=0.01: np.where(x < 0, np.float32(alpha) * x, x),
    "Elu": lambda x, alpha=1.0: np.where(x < 0, np.float32(alpha) * np.expm1(x), x),
    "HardSwish": lambda x: x * np.clip(x / 6 + np.float32(0.5), 0, 1),
    "Clip": lambda x, low=None, high=None: np.clip(x, low, high),
    "Equal": np.equal, "Greater": np.greater, "Less": np.less, "Not": np.logical_not,
    "Where": np.where, "Identity": lambda x: x,
    "Cast": lambda x, to: x.astype(TYPES[to]), "Shape": lambda x: np.array(x.shape, np.int64),
    "Expand": lambda x, shape: x * np.ones(shape, x.dtype),
    "ConstantOfShape": lambda shape, value=np.zeros(1, np.float32):
        np.full(shape, value[0], value.dtype),
    "Concat": lambda *xs, axis: np.concatenate(xs, axis), "Slice": slice_, "Reshape": reshape,
    "Transpose": lambda x, perm=None: np.transpose(x, perm),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(int(a) for a in axes)),
    "Squeeze": lambda x, axes=None: np.squeeze(x, None if axes is None else tuple(axes)),
    "Gather": lambda x, i, axis=0: np.take(x, i, axis), "ScatterElements": scatter_elements,
    "Flatten": lambda x, axis=1: x.reshape(int(np.prod(x.shape[:axis])), -1),
    "ReduceSum": reduce(np.sum), "ReduceMean": reduce(np.mean), "ReduceMax": reduce(np.max),
    "ReduceL2": reduce(lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis, keepdims=keepdims))),
    "LayerNormalization": layer_norm, "BatchNormalization": batch_norm, "Conv": conv,
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize,
    "MaxPool": max_pool, "AveragePool": average_pool, "Pad": pad,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
    "Trilu": lambda x, k=0, upper=1: np.triu(x, k) if upper else np.tril(x, k),
}


def attributes(node):
    found = {}
    for a in node.attribute:
        value = onnx.helper.get_attribute_value(a)
        if a.type == a.TENSOR:
            value = to_array(value)
        elif a.type == a.SPARSE_TENSOR:
            value = sparse_array(value)
        found[a.name] = value
    return found


def to_array(tensor):
    """The values of a tensor; bf16 as f32."""
    if tensor.data_type == onnx.TensorProto.BFLOAT16:
        bits = np.frombuffer(tensor.raw_data, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).reshape(tensor.dims)
    return numpy_helper.to_array(tensor)


def sparse_array(tensor):
    """A sparse tensor with linear indices, as a dense array."""
    dense = np.zeros(list(tensor.dims), np.float32)
    dense.flat[numpy_helper.to_array(tensor.indices)] = numpy_helper.to_array(tensor.values)
    return dense


def run_node(node, inputs, functions):
    if (node.domain, node.op_type) in functions:
        f = functions[node.domain, node.op_type]
        return run_nodes(f.node, dict(zip(f.input, inputs)), f.output, functions)
    extra = attributes(node)
    if node.op_type == "Constant":
        return [next(iter(extra.values()))]
    if node.op_type == "Split":
        return split(*inputs, parts=len(node.output), **extra)
    result = OPS[node.op_type](*inputs, **extra)
    # numpy widens some f32 results to f64; a model in f64 stays so.
    widened = getattr(result, "dtype", None) == np.float64 and all(
        i is None or i.dtype != np.float64 for i in inputs)
    return [result.astype(np.float32) if widened and node.op_type != "Cast" else result]


def run_nodes(nodes, values, outputs, functions):
    for node in nodes:
        inputs = [values[name] if name else None for name in node.input]
        values.update(zip(node.output, run_node(node, inputs, functions)))
    return [values[name] for name in outputs]


def evaluate(model, inputs):
    """The results of the graph for inputs name -> array, as a list in the graph's order."""
    values = {i.name: to_array(i) for i in model.graph.initializer}
    values.update({i.values.name: sparse_array(i) for i in model.graph.sparse_initializer})
    values.update(inputs)
    functions = {(f.domain, f.name): f for f in model.functions}
    with np.errstate(all="ignore"):
        names = [o.name for o in model.graph.output]
        return run_nodes(model.graph.node, values, names, functions)
