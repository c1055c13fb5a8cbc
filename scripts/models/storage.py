"""Other ways to store the same model: sparse or external weights, narrower types, a newer IR.

Each function rewrites an exported model; what the model computes stays the same.
"""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS = "weights.bin"


def sparse_tensor(tensor):
    """A 2-D initializer as a SparseTensorProto with linear indices."""
    dense = numpy_helper.to_array(tensor)
    at = np.flatnonzero(dense)
    values = numpy_helper.from_array(dense.flatten()[at], tensor.name)
    indices = numpy_helper.from_array(at.astype(np.int64), tensor.name + "_indices")
    return helper.make_sparse_tensor(values, indices, list(dense.shape))


def is_sparse(tensor):
    dense = numpy_helper.to_array(tensor)
    return dense.ndim == 2 and np.count_nonzero(dense) <= dense.size * 0.6


def sparse_initializers(model):
    """Initializers with many zeros become sparse_initializer."""
    for tensor in [t for t in model.graph.initializer if is_sparse(t)]:
        model.graph.sparse_initializer.append(sparse_tensor(tensor))
        model.graph.initializer.remove(tensor)


def sparse_constants(model):
    """Initializers with many zeros become Constant nodes with a sparse_value."""
    for tensor in [t for t in model.graph.initializer if is_sparse(t)]:
        node = helper.make_node("Constant", [], [tensor.name], name="make_" + tensor.name,
                                sparse_value=sparse_tensor(tensor))
        model.graph.node.insert(0, node)
        model.graph.initializer.remove(tensor)


def typed_fields(model):
    """Weights in float_data instead of raw_data."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(tensor).flatten().tolist()
            tensor.ClearField("raw_data")
            tensor.float_data.extend(values)


def narrow(model, data_type):
    """Weights in f16 or bf16, each followed by a Cast to f32 (the case rounds them first)."""
    for tensor in list(model.graph.initializer):
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if data_type == TensorProto.FLOAT16:
            raw = values.astype(np.float16).tobytes()
        else:
            raw = (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        stored = TensorProto(name=tensor.name + "_stored", data_type=data_type, dims=tensor.dims,
                             raw_data=raw)
        node = helper.make_node("Cast", [stored.name], [tensor.name], to=TensorProto.FLOAT,
                                name="widen_" + tensor.name)
        model.graph.node.insert(0, node)
        model.graph.initializer.remove(tensor)
        model.graph.initializer.append(stored)


def quantised_weights(model):
    """Weights that a QuantizeLinear would make integers are stored as these."""
    known = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            known[node.output[0]] = node.attribute[0].t
    for node in [n for n in model.graph.node if n.op_type == "QuantizeLinear"]:
        if node.input[0] not in known:
            continue
        values, scale, zero = (numpy_helper.to_array(known[name]) for name in node.input)
        least, most = np.iinfo(zero.dtype).min, np.iinfo(zero.dtype).max
        whole = np.clip(np.round(values / scale) + zero, least, most).astype(zero.dtype)
        model.graph.initializer.append(numpy_helper.from_array(whole, node.output[0]))
        model.graph.initializer.remove(known[node.input[0]])
        model.graph.node.remove(node)


def newer_ir(model):
    """An IR version that is newer than the library's."""
    model.ir_version = 10


FORMS = {
    "sparse": sparse_initializers,
    "sparseconst": sparse_constants,
    "typed": typed_fields,
    "f16": lambda model: narrow(model, TensorProto.FLOAT16),
    "bf16": lambda model: narrow(model, TensorProto.BFLOAT16),
    "ir10": newer_ir,
    "i8": quantised_weights,
    "external": None,
}


def round_weights(module, form):
    """Rounds the parameters to what the form can hold, before PyTorch computes the result."""
    import torch
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}.get(form)
    if kind:
        for tensor in list(module.parameters()) + list(module.buffers()):
            if tensor.dtype == torch.float32:
                tensor.data = tensor.data.to(kind).to(torch.float32)


def remove_old(path):
    """onnx appends to the weights of an earlier export."""
    if os.path.exists(path):
        os.remove(path)


def rewrite(path, folder, form):
    """Applies a form to the exported file; external weights go to FOLDER/weights.bin."""
    model = onnx.load(path)
    if form == "external":
        remove_old(os.path.join(os.path.dirname(path), folder, WEIGHTS))
        onnx.save_model(model, path, save_as_external_data=True, all_tensors_to_one_file=True,
                        location=f"{folder}/{WEIGHTS}", size_threshold=0)
        return
    FORMS[form](model)
    onnx.save(model, path)
