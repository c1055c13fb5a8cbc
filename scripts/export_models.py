#!/usr/bin/python3
"""Exports the model families of this project from PyTorch to ONNX, with inputs and results.

Writes OUT/NAME.onnx and, in OUT/NAME/, each input (.npy, or .mtx where it is sparse), PyTorch's
own result and case.txt: the --bind and --expect options, paths relative to OUT. See README.md.
"""
import argparse
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

from models import suite  # noqa: E402
from models.case import export_case  # noqa: E402
from models.storage import FORMS  # noqa: E402

SIZES = {
    "nodes": "nodes of a random graph (default: the karate club)",
    "features": "features of a node, or the width of an autoencoder's input",
    "hidden": "width of the hidden layer",
    "classes": "classes, or the width of the result",
    "batch": "rows of an autoencoder's input, or the batch",
    "seq": "tokens of a sequence",
    "dmodel": "width of a token",
    "heads": "attention heads",
    "ffn": "width of the feed-forward layer",
    "layers": "blocks of a transformer",
    "block": "BigBird block size",
    "vocab": "tokens of the vocabulary",
}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--list", action="store_true", help="list families and variants")
    p.add_argument("--suite", action="store_true",
                   help="every case that is checked in (with --family: those of one family)")
    p.add_argument("--family", help="the family to export")
    p.add_argument("--variant", help="its form (default: the first)")
    p.add_argument("--name", help="name of the case (default: FAMILY_VARIANT)")
    p.add_argument("--out", default=".", help="folder to write to")
    p.add_argument("--opset", type=int, default=17, choices=range(14, 18), metavar="14..17")
    p.add_argument("--fold", action=argparse.BooleanOptionalAction, default=True,
                   help="fold constants while exporting")
    p.add_argument("--dynamo", action="store_true",
                   help="with the exporter that is PyTorch's default since 2.9, in its opset")
    p.add_argument("--dynamic", action="store_true", help="leave the model's free axes symbolic")
    p.add_argument("--functions", action="store_true", help="modules as model-local functions")
    p.add_argument("--initializers-as-inputs", action="store_true",
                   help="list the weights among the graph's inputs too")
    p.add_argument("--storage", choices=list(FORMS), help="another way to store the weights")
    p.add_argument("--double", action="store_true", help="the whole model in f64")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--adj", help="adjacency to bind (.mtx) instead of a small graph")
    p.add_argument("--x", help="node features to bind (.mtx)")
    p.add_argument("--sparsity", type=float, help="share of zeros in pruned weights")
    for name, text in SIZES.items():
        p.add_argument("--" + name, type=int, help=text)
    return p.parse_args()


def export(name, family, variant, o):
    variants = suite.FAMILIES[family].VARIANTS
    if variant not in variants:
        raise SystemExit(f"{family} has no variant {variant}: expected {', '.join(variants)}")
    torch.manual_seed(o.seed)
    export_case(variants[variant][0](o), name, o)
    print(f"{o.out}/{name}.onnx")


def export_suite(o):
    for name, family, variant, options in suite.checked_in():
        if o.family in (None, family):
            export(name, family, variant, argparse.Namespace(**{**vars(o), **options}))


def list_families():
    for family, module in suite.FAMILIES.items():
        for variant, (_, text) in module.VARIANTS.items():
            print(f"{family:12} {variant:22} {text}")


def main():
    o = parse()
    warnings.filterwarnings("ignore")
    if o.list:
        return list_families()
    os.makedirs(o.out, exist_ok=True)
    if o.suite:
        return export_suite(o)
    if o.family not in suite.FAMILIES:
        raise SystemExit(f"--family: expected one of {', '.join(suite.FAMILIES)}")
    variant = o.variant or next(iter(suite.FAMILIES[o.family].VARIANTS))
    return export(o.name or f"{o.family}_{variant}", o.family, variant, o)


if __name__ == "__main__":
    main()
