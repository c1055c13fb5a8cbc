"""The families by name, and the cases that are checked in under testdata/models.

A checked-in case is named FAMILY_VARIANT[_opN][_nofold]...; names are stable, since tests use them.
"""
from models import (attention, autoencoder, bigbird, chain, conv, edges, encoder, gat, gcn, gemm,
                    gnn, gpt, gpt3, llama, message_passing, quantised, sage, storage, transformer,
                    wild)

FAMILIES = {
    "gcn": gcn,
    "sage": sage,
    "autoencoder": autoencoder,
    "gpt": gpt,
    "bigbird": bigbird,
    "gpt3": gpt3,
    "attention": attention,
    "mp": message_passing,
    "edges": edges,
    "gat": gat,
    "llama": llama,
    "encoder": encoder,
    "gemm": gemm,
    "chain": chain,
    "conv": conv,
    "gnn": gnn,
    "transformer": transformer,
    "wild": wild,
    "quantised": quantised,
}

# Families that are never checked in: full-size models, and what the suite's PyTorch cannot export.
NOT_CHECKED_IN = {"gpt3", "edges"}

# Besides opset 17 with constant folding, which every variant gets: (family, variant, suffixes).
# A suffix is opN, nofold, dynamic, functions, initinputs, double or one of storage.FORMS; several
# are joined by "_".
EXTRA = [
    ("gcn", "axw", ["op16", "op14", "nofold", "op16_nofold", "dynamic", "functions", "initinputs"]),
    ("gcn", "xw", ["op16", "nofold"]),
    ("gcn", "linear", ["op16_nofold"]),
    ("gcn", "constant", ["nofold", "sparse", "sparseconst", "double"]),
    ("gcn", "normalised", ["op16", "nofold"]),
    ("sage", "mean", ["op16", "nofold"]),
    ("sage", "concat", ["op16_nofold", "op14"]),
    ("sage", "scatter", ["op16", "nofold"]),
    ("sage", "scatter_input", ["op16", "nofold", "op14"]),
    ("autoencoder", "gemm", ["op16", "nofold", "dynamic", "sparse", "external", "double", "ir10"]),
    ("autoencoder", "matmul", ["sparse", "sparseconst", "typed", "f16", "bf16"]),
    ("autoencoder", "matmul3d", ["op16", "nofold"]),
    ("autoencoder", "topk", ["op16_nofold"]),
    ("autoencoder", "masked", ["op16", "nofold"]),
    ("autoencoder", "masked_90", ["op16_nofold"]),
    ("gpt", "fused", ["op16", "op15", "op14", "nofold", "op16_nofold", "dynamic"]),
    ("gpt", "separate", ["op16", "nofold", "op14_nofold", "functions", "external", "f16"]),
    ("gpt", "conv1d", ["op16", "nofold", "op16_nofold"]),
    ("gpt", "chunk", ["op16_nofold"]),
    ("gpt", "bigbird", ["op16", "nofold"]),
    ("gpt", "mask_mul_sub", ["op16_nofold"]),
    ("gpt", "mask_input_int", ["op16", "nofold"]),
    ("gpt", "mask_input_padding", ["op16_nofold"]),
    ("gpt", "gpt2", ["op16", "nofold"]),
    ("bigbird", "constant", ["op16_nofold"]),
    ("bigbird", "gathered", ["op16", "nofold"]),
    ("attention", "random", ["op16", "nofold"]),
    ("attention", "empty_where_ninf", ["op14_nofold"]),
    ("mp", "weighted", ["op16", "nofold", "op14"]),
    ("mp", "weighted_input", ["op16_nofold", "dynamic"]),
    ("mp", "norm", ["op16", "nofold"]),
    ("mp", "norm_input", ["op16", "nofold"]),
    ("gat", "dense", ["op16", "nofold"]),
    ("gat", "edge", ["op16", "nofold"]),
    ("gat", "edge_input", ["op16_nofold"]),
    ("llama", "block", ["op16", "nofold", "dynamic"]),
    ("llama", "grouped", ["op16_nofold"]),
    ("llama", "glu", ["op16", "op14", "nofold"]),
    ("encoder", "relu", ["op16", "nofold", "dynamic"]),
    ("encoder", "batch_first", ["op16_nofold"]),
    ("gemm", "chain", ["op16_nofold"]),
    ("gemm", "ffn", ["op16", "nofold"]),
    ("gemm", "gated", ["op16", "nofold"]),
    ("conv", "simple", ["op16", "nofold", "dynamic"]),
    ("conv", "residual", ["op16_nofold"]),
    ("gnn", "deep", ["op16_nofold"]),
    ("gnn", "gin", ["op16_nofold"]),
    ("transformer", "bert", ["op16_nofold", "dynamic"]),
    ("transformer", "einsum", ["op16_nofold"]),
    ("quantised", "ffn", ["i8"]),
    ("quantised", "ffn_pruned", ["i8"]),
    ("wild", "padded", ["op16_nofold", "dynamic"]),
    ("wild", "padded_left", ["op16_nofold"]),
    ("wild", "gat_heads", ["op16_nofold"]),
    ("wild", "alibi", ["op16_nofold"]),
    ("wild", "rotated", ["op14_nofold"]),
]

# Cases with a name of their own: name -> (family, variant, options).
NAMED = {
    "gcn_karate": ("gcn", "axw", {"features": 16, "hidden": 16, "classes": 2}),
}


def apply_suffixes(options, suffixes):
    """Sets the options that a case's suffixes stand for."""
    for part in suffixes.split("_"):
        if part.startswith("op"):
            options["opset"] = int(part[2:])
        elif part == "nofold":
            options["fold"] = False
        elif part in storage.FORMS:
            options["storage"] = part
        elif part == "initinputs":
            options["initializers_as_inputs"] = True
        else:
            options[part] = True
    return options


def checked_in():
    """Yields (name, family, variant, options) for every case of testdata/models."""
    for family, module in FAMILIES.items():
        if family in NOT_CHECKED_IN:
            continue
        for variant in module.VARIANTS:
            yield f"{family}_{variant}", family, variant, {}
    for family, variant, forms in EXTRA:
        for form in forms:
            yield f"{family}_{variant}_{form}", family, variant, apply_suffixes({}, form)
    for name, (family, variant, options) in NAMED.items():
        yield name, family, variant, dict(options)
