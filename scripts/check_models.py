#!/usr/bin/python3
"""Checks the exported cases: valid ONNX, shapes that infer, and files that fit the model.

For every MODEL.onnx (default: all of testdata/models) it runs onnx.checker and strict shape
inference, and compares the inputs and results named in case.txt with the model's signature.
-v prints the operators of each model. Ends with status 1 when a case has a fault.
"""
import argparse
import os
import sys
from collections import Counter

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))


def default_models():
    folder = os.path.join(HERE, "../testdata/models")
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".onnx"))


def read_shape(path):
    """The shape of a .npy or .mtx file."""
    if path.endswith(".npy"):
        return list(np.load(path, mmap_mode="r", allow_pickle=False).shape)
    with open(path, encoding="ascii") as f:
        line = f.readline()
        while line.startswith("%"):
            line = f.readline()
    return [int(n) for n in line.split()[:2]]


def options(path):
    """(option, name, file) of each line of a case.txt."""
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                option, binding = line.split()
                yield (option, *binding.split("=", 1))


def faults(path):
    """Yields what is wrong with one case."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=False)
    if not model.functions:
        onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    folder = os.path.dirname(path)
    case = os.path.join(path[:-len(".onnx")], "case.txt")
    initial = {i.name for i in model.graph.initializer}
    inputs = {v.name: v for v in model.graph.input if v.name not in initial}
    outputs = {v.name: v for v in model.graph.output}
    seen = set()
    for option, name, file in options(case):
        value = (inputs if option == "--bind" else outputs).get(name)
        seen.add(name)
        if value is None:
            yield f"{option} {name}: the model has no such value"
            continue
        wanted = [d.dim_value if d.HasField("dim_value") else None
                  for d in value.type.tensor_type.shape.dim]
        shape = read_shape(os.path.join(folder, file))
        fits = len(wanted) == len(shape) and all(a in (None, b) for a, b in zip(wanted, shape))
        if value.type.tensor_type.HasField("shape") and not fits:
            yield f"{file}: shape {shape}, but the model says {wanted}"
    for name in inputs.keys() - seen:
        yield f"input {name} is not bound"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("models", nargs="*")
    p.add_argument("-v", action="store_true", help="print the operators of each model")
    o = p.parse_args()
    bad = 0
    paths = o.models or default_models()
    for path in paths:
        try:
            found = list(faults(path))
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, OSError,
                ValueError) as e:
            found = [str(e).strip()]
        bad += bool(found)
        for text in found:
            print(f"{path}: {text}")
        if o.v:
            ops = Counter(n.op_type for n in onnx.load(path).graph.node)
            print(os.path.basename(path), " ".join(f"{k}:{v}" for k, v in sorted(ops.items())))
    print(f"{len(paths)} models, {bad} with a fault")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
