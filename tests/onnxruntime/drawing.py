"""What draws a model: its attributes, inputs and nodes, and how it is written as an ONNX file."""

import random
import struct

import numpy as np


# numpy's name -> (ONNX's number, onnxruntime's name)
TYPES = {"float32": (1, "float32"), "uint8": (2, "uint8"), "int8": (3, "int8"), "uint16": (4, "uint16"), "int16": (5, "int16"),
         "int32": (6, "int32"), "int64": (7, "int64"), "bool": (9, "bool"), "float64": (11, "float64"), "uint32": (12, "uint32"),
         "uint64": (13, "uint64")}
NEWEST = 24  # onnxruntime calls later opsets under development


def varint(value):
    value &= (1 << 64) - 1
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data + bytes([value]))


def field(number, value):
    """A field: an integer, a float, a string or the bytes of a message; a list is a repeated field."""
    if isinstance(value, list):
        return b"".join(field(number, v) for v in value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor_proto(array, name=""):
    return (field(1, [int(n) for n in array.shape]) + field(2, TYPES[array.dtype.name][0]) + field(8, name) +
            field(9, array.tobytes()))


def attribute_proto(name, value):
    if isinstance(value, np.ndarray):
        return field(1, name) + field(5, tensor_proto(value)) + field(20, 4)
    if isinstance(value, list):
        number, kind = {float: (7, 6), int: (8, 7), str: (9, 8)}[type(value[0]) if value else int]
        return field(1, name) + field(number, value) + field(20, kind)
    number, kind = {float: (2, 1), int: (3, 2), str: (4, 3)}[type(value)]
    return field(1, name) + field(number, value) + field(20, kind)


def value_info(name, dtype, dims):
    shape = b"" if dims is None else field(2, b"".join(field(1, field(2 if isinstance(n, str) else 1, n)) for n in dims))
    return field(1, name) + field(2, field(1, field(1, TYPES[dtype][0]) + shape))


class Draw:
    """A model that is being drawn."""

    def __init__(self, seed, opset):
        self.random = random.Random(seed)
        self.opset = self.random.randint(*opset)
        self.generator = np.random.default_rng(self.random.getrandbits(32))
        self.special, self.tied, self.symbolic = self.chance(0.1), self.chance(0.3), self.chance(0.15)
        self.plain = self.chance(0.6)  # nothing stands in front of inputs or after the result
        self.nodes, self.inputs, self.constants, self.results, self.domains = [], {}, {}, [], {""}

    def chance(self, p=0.5):
        return self.random.random() < p

    def pick(self, *values):
        return self.random.choice(values)

    def maybe(self, value, p=0.5):
        return value if self.chance(p) else None

    def to(self, low, high):
        return self.random.randint(low, high)

    def shape(self, low=1, high=4, least=1, most=5):
        rank = self.to(low, high)
        most = most if rank < 4 else min(most, 4)
        return [0 if least == 1 and self.chance(0.01) else self.to(least, most) for _ in range(rank)]

    def axis(self, rank, past=0):
        """One of `rank` axes, as a number from the front or from the back."""
        axis = self.to(0, max(rank - 1, 0) + past)
        return axis - rank - past if self.chance(0.35) else axis

    def axes(self, rank, least=0):
        chosen = self.random.sample(range(rank), self.to(min(least, rank), rank))
        return [a - rank if self.chance(0.3) else a for a in chosen]

    def broadcast(self, shape):
        """A shape that broadcasts to the given one."""
        cut = shape[self.to(0, len(shape)):] if self.chance(0.4) else shape
        return [1 if self.chance(0.3) else n for n in cut]

    def numbers(self, shape, dtype="float32", low=None, high=None):
        if dtype == "bool":
            return self.generator.integers(0, 2, shape).astype(bool)
        if dtype not in ("float32", "float64"):
            if low is None:
                small = self.chance(0.6) or dtype in ("int32", "int64")
                ends = np.iinfo(dtype)
                low, high = (max(ends.min, -9), 9) if small else (int(ends.min), int(ends.max))
            return self.generator.integers(low, high, shape, endpoint=True).astype(dtype)
        if low is not None:
            return self.generator.uniform(low, high, shape).astype(dtype)
        values = np.array(self.generator.normal(0, 2, shape))
        values = np.round(values) / 2 if self.tied else values
        if self.special:
            values = np.where(self.generator.random(shape) < 0.2,
                              self.generator.choice([0.0, -0.0, np.inf, -np.inf, np.nan], shape), values)
        return values.astype(dtype)

    def name(self, array, constant=None):
        """An array becomes an initializer (if `constant`) or an input, or is computed from one."""
        name = f"x{len(self.inputs) + len(self.constants)}"
        if constant or (constant is None and self.chance(0.25)):
            self.constants[name] = array
        elif self.plain or constant is not None or array.ndim == 0 or array.size == 0:
            self.inputs[name] = array
        else:
            return self.computed(name, array)
        return name

    def computed(self, name, array):
        """The array as the result of an operator that undoes what was done to the input."""
        how = self.pick("Transpose", "Concat", "Slice", "Neg", "Reshape", "")
        out, rank, axis = f"{name}_", array.ndim, self.to(0, array.ndim - 1)
        if how == "Neg" and array.dtype.name in ("float32", "int32", "int64"):
            self.inputs[name] = -array
            self.nodes.append(("Neg", [name], [out], "", {}))
        elif how == "Transpose":
            perm = self.random.sample(range(rank), rank)
            self.inputs[name] = np.ascontiguousarray(np.transpose(array, np.argsort(perm)))
            self.nodes.append(("Transpose", [name], [out], "", {"perm": perm}))
        elif how == "Reshape":
            self.inputs[name] = array.reshape(-1)
            self.constants[name + "s"] = np.array(array.shape, "int64")
            self.nodes.append(("Reshape", [name, name + "s"], [out], "", {}))
        elif how == "Concat" and array.shape[axis] > 1:
            cut = self.to(1, array.shape[axis] - 1)
            self.inputs[name], self.inputs[name + "b"] = (np.ascontiguousarray(part) for part in np.split(array, [cut], axis))
            self.nodes.append(("Concat", [name, name + "b"], [out], "", {"axis": axis}))
        elif how == "Slice" and self.opset < 10:
            self.inputs[name] = np.concatenate([array, array], axis)
            self.nodes.append(("Slice", [name], [out], "", {"axes": [axis], "starts": [0], "ends": [array.shape[axis]]}))
        else:
            self.inputs[name] = array
            return name
        return out

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        """A node of arrays (constant or not), names and inputs that are left out (None). Its outputs are results of the model."""
        names = ["" if i is None else i if isinstance(i, str) else self.name(*i) if isinstance(i, tuple) else self.name(i)
                 for i in inputs]
        while names and not names[-1]:
            names.pop()
        outs = [f"y{len(self.results) + i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        self.domains.add(domain)
        self.nodes.append((op, names, outs, domain, {k: v for k, v in attributes.items() if v is not None}))
        self.results += [o for o in outs if o]

    def follow(self):
        """What may stand after the first result."""
        how = self.pick("Identity", "Add", "Shape", "Flatten", "Mul")
        first = self.results[0]
        self.nodes.append((how, [first] * (2 if how in ("Add", "Mul") else 1), ["z"], "",
                           {"axis": 0} if how == "Flatten" else {}))
        self.results.append("z")

    def model(self, types=None):
        """The bytes of the model; of its results the types are not known before onnxruntime says them."""
        def dims(name, array):
            return [f"{name}_{i}" if self.symbolic else int(n) for i, n in enumerate(array.shape)]
        nodes = [field(1, ins) + field(2, outs) + field(3, f"n{i}") + field(4, op) + (field(7, domain) if domain else b"") +
                 field(5, [attribute_proto(n, v) for n, v in attributes.items()])
                 for i, (op, ins, outs, domain, attributes) in enumerate(self.nodes)]
        outputs = [value_info(n, *types[n]) if types else field(1, n) for n in self.results]
        graph = (field(1, nodes) + field(2, "drawn") + field(5, [tensor_proto(a, n) for n, a in self.constants.items()]) +
                 field(11, [value_info(n, a.dtype.name, dims(n, a)) for n, a in self.inputs.items()]) + field(12, outputs))
        opsets = [field(1, d) + field(2, 1 if d else self.opset) for d in sorted(self.domains)]
        return field(1, 8 if self.opset < 21 else 10) + field(7, graph) + field(8, opsets)

    def text(self):
        """One line; a constant has a = after its shape, and its numbers if they are few."""
        shapes = " ".join([f"{n}:{a.dtype}{list(a.shape)}" for n, a in self.inputs.items()] +
                          [f"{n}:{a.dtype}{list(a.shape)}={a.tolist() if a.size < 7 else ''}" for n, a in self.constants.items()])
        nodes = "; ".join(f"{op}({', '.join(ins)}) {attributes or ''}".strip() for op, ins, _, _, attributes in self.nodes)
        return f"opset {self.opset}: {nodes} of {shapes}"


OPERATORS = {}  # name -> (function, opsets, weight)


def drawn(*names, opsets=(7, NEWEST), weight=1):
    """The function draws the operators of these names; of those with many attributes more often."""
    def add(function):
        for name in names:
            low = opsets[name] if isinstance(opsets, dict) else opsets
            OPERATORS[name] = (function, low if isinstance(low, tuple) else (low, NEWEST), weight)
        return function
    return add


def shape_input(values):
    return np.array(values, "int64"), True


def places(d, shape, extent, dtype=None):
    return d.numbers(shape, dtype or d.pick("int32", "int64"), -extent if d.opset >= 11 else 0, extent - 1)


ANY = ("float32", "float32", "int64", "int32", "bool", "uint8")
