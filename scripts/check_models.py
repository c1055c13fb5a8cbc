#!/usr/bin/python3
"""Checks the exported cases: valid ONNX, shapes that infer, and files that fit the model.

For every MODEL.onnx (default: all of testdata/models) it runs onnx.checker and strict shape
inference, compares the inputs and results named in case.txt with the model's signature, and
evaluates the model in numpy: PyTorch's result must come out within 1e-4 of its largest value.
-v prints the operators of each model. Ends with status 1 when a case has a fault.
"""
import argparse
import os
import sys
from collections import Counter

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from evaluate_onnx import evaluate  # noqa: E402
from models import data  # noqa: E402

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
    if model.ir_version <= onnx.IR_VERSION:
        onnx.checker.check_model(path)
    # Inference knows neither functions nor sparse initializers.
    if not model.functions and not model.graph.sparse_initializer:
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


def read(path):
    return np.load(path) if path.endswith(".npy") else data.read_mtx(path).to_dense().numpy()


def differences(path):
    """Yields the results that the exported graph and PyTorch disagree on."""
    folder, model = os.path.dirname(path), onnx.load(path)
    inputs, wanted = {}, {}
    for option, name, file in options(os.path.join(path[:-len(".onnx")], "case.txt")):
        (inputs if option == "--bind" else wanted)[name] = read(os.path.join(folder, file))
    names = [o.name for o in model.graph.output]
    for name, found in zip(names, evaluate(model, inputs)):
        if name not in wanted:
            continue
        want = wanted[name]
        if found.shape != want.shape:
            yield f"{name}: evaluates to shape {found.shape}, PyTorch has {want.shape}"
            continue
        finite = np.isfinite(want)
        same = np.array_equal(found[~finite], want[~finite], equal_nan=True)
        error = np.max(np.abs(found[finite] - want[finite]), initial=0)
        limit = 1e-4 * np.max(np.abs(want[finite]), initial=0)
        if not same or not error <= limit:
            yield f"{name}: differs from PyTorch by {error}, allowed {limit}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("models", nargs="*")
    p.add_argument("--no-evaluate", action="store_true", help="do not evaluate the models")
    p.add_argument("-v", action="store_true", help="print the operators of each model")
    o = p.parse_args()
    bad = 0
    paths = o.models or default_models()
    for path in paths:
        try:
            found = list(faults(path))
            if not found and not o.no_evaluate:
                found = list(differences(path))
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
