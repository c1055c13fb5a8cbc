#!/usr/bin/python3
"""Converts graph data sets to the Matrix Market files that the evaluation reads.

  convert_graphs.py planetoid DIR cora OUT       ind.cora.{x,tx,allx,graph,test.index} (Planetoid)
  convert_graphs.py citationfull FILE.npz dblp OUT   CitationFull / GraphData archives
  convert_graphs.py ogb DIR collab OUT           raw/ of an OGB data set (edge.csv[.gz], node-feat.csv[.gz])

Writes OUT/NAME.adj.mtx (pattern, symmetric structure, no self loops, no duplicates) and, where there
are features, OUT/NAME.x.mtx. Python 3 and numpy only. Planetoid's pickles are read by an unpickler
that knows arrays and sparse matrices and nothing else.
"""
import argparse
import csv
import gzip
import os
import pickle
import sys

import numpy as np


class Csr:
    """What is left of a pickled scipy matrix: its attributes."""

    def __init__(self, *_):
        self.state = {}

    def __setstate__(self, state):
        self.state = state

    def triples(self):
        s = self.state
        shape = s.get("_shape") or s.get("shape")
        rows = np.repeat(np.arange(len(s["indptr"]) - 1), np.diff(s["indptr"]))
        return rows, np.asarray(s["indices"]), np.asarray(s["data"], dtype=float), shape


class SafeUnpickler(pickle.Unpickler):
    ALLOWED = {("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
               ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "_reconstruct"),
               ("_codecs", "encode"),  # how Python 3 writes bytes into old pickles
               ("collections", "defaultdict"), ("collections", "OrderedDict")}

    def find_class(self, module, name):
        if module.startswith("scipy.sparse") and name in ("csr_matrix", "csr_array"):
            return Csr
        if (module, name) in self.ALLOWED or (module in ("__builtin__", "builtins") and name == "list"):
            return super().find_class("builtins" if module == "__builtin__" else module, name)
        raise pickle.UnpicklingError(f"refusing to load {module}.{name}")


def unpickle(path):
    with open(path, "rb") as file:
        return SafeUnpickler(file, encoding="latin1").load()


def planetoid(folder, name):
    part = lambda kind: os.path.join(folder, f"ind.{name}.{kind}")  # noqa: E731
    allx, tx, graph = unpickle(part("allx")), unpickle(part("tx")), unpickle(part("graph"))
    test = np.loadtxt(part("test.index"), dtype=int, ndmin=1)
    nodes = max(max(graph) + 1, int(test.max()) + 1)
    r1, c1, v1, shape1 = allx.triples()
    r2, c2, v2, _ = tx.triples()
    x = (np.concatenate([r1, test[r2]]), np.concatenate([c1, c2]), np.concatenate([v1, v2]),
         (nodes, shape1[1]))
    pairs = [(a, b) for a, others in graph.items() for b in others]
    return np.array(pairs, dtype=np.int64), nodes, x


def citationfull(path):
    with np.load(path, allow_pickle=False) as data:
        def csr(prefix):
            indptr = data[prefix + "_indptr"]
            rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
            return rows, data[prefix + "_indices"], data[prefix + "_data"], tuple(
                data[prefix + "_shape"])
        rows, cols, _, shape = csr("adj")
        x = csr("attr")
    return np.stack([rows, cols], axis=1).astype(np.int64), int(shape[0]), x


def read_csv(folder, name, kind):
    for suffix in (".csv.gz", ".csv"):
        path = os.path.join(folder, name + suffix)
        if os.path.exists(path):
            opener = gzip.open if suffix.endswith("gz") else open
            with opener(path, "rt") as file:
                return np.array([[kind(v) for v in row] for row in csv.reader(file) if row])
    return None


def ogb(folder):
    raw = os.path.join(folder, "raw") if os.path.isdir(os.path.join(folder, "raw")) else folder
    edges = read_csv(raw, "edge", int)
    if edges is None:
        sys.exit(f"{raw}: no edge.csv or edge.csv.gz")
    features = read_csv(raw, "node-feat", float)
    nodes = int(max(edges.max() + 1, 0 if features is None else len(features)))
    x = None
    if features is not None:
        rows, cols = np.nonzero(features)
        x = (rows, cols, features[rows, cols], (nodes, features.shape[1]))
    return edges, nodes, x


def write_adjacency(path, pairs, nodes):
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    with open(path, "w") as file:
        file.write("%%MatrixMarket matrix coordinate pattern general\n")
        file.write(f"{nodes} {nodes} {len(pairs)}\n")
        file.writelines(f"{a + 1} {b + 1}\n" for a, b in pairs)


def write_features(path, x):
    rows, cols, values, shape = x
    order = np.lexsort((cols, rows))
    with open(path, "w") as file:
        file.write("%%MatrixMarket matrix coordinate real general\n")
        file.write(f"{shape[0]} {shape[1]} {len(order)}\n")
        file.writelines(f"{rows[e] + 1} {cols[e] + 1} {values[e]:.9g}\n" for e in order)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["planetoid", "citationfull", "ogb"])
    parser.add_argument("source")
    parser.add_argument("name")
    parser.add_argument("out")
    o = parser.parse_args()
    if o.kind == "planetoid":
        pairs, nodes, x = planetoid(o.source, o.name)
    elif o.kind == "citationfull":
        pairs, nodes, x = citationfull(o.source)
    else:
        pairs, nodes, x = ogb(o.source)
    os.makedirs(o.out, exist_ok=True)
    write_adjacency(os.path.join(o.out, o.name + ".adj.mtx"), pairs, nodes)
    if x is not None:
        write_features(os.path.join(o.out, o.name + ".x.mtx"), x)


if __name__ == "__main__":
    main()
