"""What a family hands over (Case) and how one case is exported to disk.

Only the export lives here; the models themselves live in one file a family.
"""
import inspect
import os
from dataclasses import dataclass, field

import numpy as np
import onnx
import torch
from torch import nn

from models import data, storage

# Below opset 16 the exporter cannot express scatter_add.
LOST = "the exporter drops the reduction of scatter_add below opset 16"


@dataclass
class Case:
    """A model with the inputs to run it on.

    inputs    name -> tensor, in the order of the model's arguments.
    outputs   names of the results.
    sparse    names of the inputs that are written as .mtx rather than .npy.
    files     name -> existing file that already holds the input; it is bound, not copied.
    axes      name -> {axis: symbol}: the axes that `--dynamic` leaves symbolic.
    trace     inputs for tracing when `inputs` are too large or are torch.sparse tensors; the
              extents of the axes in `axes` are then those of `inputs`.
    lost_before_16  why PyTorch's result must not be expected below opset 16, if so.
    """
    model: nn.Module
    inputs: dict
    outputs: list = field(default_factory=lambda: ["y"])
    sparse: set = field(default_factory=set)
    files: dict = field(default_factory=dict)
    axes: dict = field(default_factory=dict)
    trace: dict = None
    lost_before_16: str = ""


def tracing_exporter():
    """Options that ask for the exporter by tracing, which was the only one before PyTorch 2.5 and the
    default before 2.9."""
    return {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}


def to_onnx(case, path, o):
    """Exports the model; its bytes depend on the case and the options alone."""
    axes = case.axes if (o.dynamic or case.trace) else None
    if o.dynamo:
        given = case.trace or case.inputs
        torch.onnx.export(case.model, tuple(given.values()), path, dynamo=True,
                          input_names=list(case.inputs), output_names=case.outputs,
                          dynamic_shapes=symbols(given, axes) if axes else None,
                          external_data=False)
        if case.trace and not o.dynamic:
            fix_extents(path, case)
        return
    extra = tracing_exporter()
    if o.functions:
        if "export_modules_as_functions" not in inspect.signature(torch.onnx.export).parameters:
            raise SystemExit("--functions: this version of PyTorch does not export modules as functions")
        parts = {type(m) for name, m in case.model.named_modules() if name}
        extra["export_modules_as_functions"] = parts - {nn.ModuleList}
    torch.onnx.export(
        case.model, tuple((case.trace or case.inputs).values()), path,
        input_names=list(case.inputs), output_names=case.outputs, opset_version=o.opset,
        do_constant_folding=o.fold, dynamic_axes=axes,
        keep_initializers_as_inputs=o.initializers_as_inputs, **extra)
    if o.functions:
        name_outputs(path, case)
    if case.trace and not o.dynamic:
        fix_extents(path, case)


def symbols(given, axes):
    """The symbolic axes of each input, as the newer exporter takes them."""
    dims = {symbol: torch.export.Dim(symbol)
            for of in axes.values() for symbol in of.values()}
    return tuple({axis: dims[symbol] for axis, symbol in axes.get(name, {}).items()}
                 for name in given)


def name_outputs(path, case):
    """Gives the results their names, which the exporter forgets for a result of a function, and
    everything in functions a name that is the same in every run."""
    model = onnx.load(path)
    for value, wanted in zip(model.graph.output, case.outputs):
        for node in model.graph.node:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    if name == value.name:
                        names[i] = wanted
        value.name = wanted
    for function in model.functions:
        rename_values(function)
    functions = sorted(model.functions, key=lambda f: (f.domain, f.name))
    del model.functions[:]
    model.functions.extend(functions)
    for i, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{i}"
    onnx.save(model, path)


def rename_values(function):
    """Names values and nodes by their order: the exporter's numbers differ from run to run."""
    names = {name: f"arg{i}" for i, name in enumerate(function.input)}
    for i, node in enumerate(function.node):
        node.name = f"{node.op_type}_{i}"
        for name in node.output:
            names[name] = f"v{len(names)}"
    for owner in list(function.node) + [function]:
        for values in (owner.input, owner.output):
            values[:] = [names[name] if name else name for name in values]


def fix_extents(path, case):
    """Replaces symbolic extents by those of the case's own inputs."""
    extent = {}
    for name, axes in case.axes.items():
        for axis, symbol in axes.items():
            if name in case.inputs:
                extent[symbol] = case.inputs[name].shape[axis]
    model = onnx.load(path)
    for value in list(model.graph.input) + list(model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in extent:
                dim.dim_value = extent[dim.dim_param]
    onnx.save(model, path)


def export_case(case, name, o):
    """Writes OUT/name.onnx, its inputs, PyTorch's results and OUT/name/case.txt."""
    folder = os.path.join(o.out, name)
    os.makedirs(folder, exist_ok=True)
    case.model.eval()
    if o.double:
        case.model.double()
        case.inputs = {k: v.double() if v.dtype == torch.float32 else v
                       for k, v in case.inputs.items()}
    storage.round_weights(case.model, o.storage)
    with torch.no_grad():
        results = case.model(*case.inputs.values())
    # Outside of no_grad: the fused paths of nn.MultiheadAttention do not export.
    to_onnx(case, os.path.join(o.out, name + ".onnx"), o)
    if o.storage:
        storage.rewrite(os.path.join(o.out, name + ".onnx"), name, o.storage)
    if torch.is_tensor(results):
        results = [results]
    unchecked = case.lost_before_16 if o.opset < 16 else ""
    lines = []
    for key, tensor in case.inputs.items():
        lines.append(f"--bind {key}={write_input(case, key, tensor, o.out, name)}")
    for key, tensor in zip(case.outputs, results):
        np.save(os.path.join(folder, key + ".npy"), tensor.contiguous().numpy())
        if not unchecked:
            lines.append(f"--expect {key}={name}/{key}.npy")
    if unchecked:
        lines.append("# no --expect: " + unchecked)
    with open(os.path.join(folder, "case.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def write_input(case, key, tensor, out, name):
    """Writes one input; returns its path relative to OUT (absolute if it was given)."""
    if key in case.files:
        return os.path.abspath(case.files[key])
    if key in case.sparse:
        path = f"{name}/{key}.mtx"
        data.write_mtx(os.path.join(out, path), tensor)
    else:
        path = f"{name}/{key}.npy"
        np.save(os.path.join(out, path), tensor.contiguous().numpy())
    return path
