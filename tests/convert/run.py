#!/usr/bin/env python3
"""convert_graphs.py on small files of every kind that it reads: made here, converted, compared.

`run.py --script scripts/convert_graphs.py [--data DIR]`; with DIR (graphs/NAME.adj.mtx, NAME.x.mtx) every
graph there goes through the three kinds of files as well. Ends with 77 (skipped) without numpy.
"""
import argparse
import gzip
import os
import pickle
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

SMALL = (5, 3, [(0, 1), (1, 2), (2, 4), (0, 4)], [(0, 0, 1.0), (1, 2, 0.5), (3, 1, 2.0), (4, 0, 1.0)])


def csr(entries, shape):
    """data, indices, indptr"""
    entries = sorted(entries)
    indptr = np.zeros(shape[0] + 1, dtype=np.int32)
    for row, _, _ in entries:
        indptr[row + 1] += 1
    return (np.array([e[2] for e in entries], dtype=np.float32),
            np.array([e[1] for e in entries], dtype=np.int32), np.cumsum(indptr).astype(np.int32))


def pickled_matrix(entries, shape):
    """A matrix as scipy pickles it, without scipy: an object of scipy.sparse.csr.csr_matrix and its fields."""
    module = types.ModuleType("scipy.sparse.csr")
    kind = type("csr_matrix", (), {"__module__": "scipy.sparse.csr", "__qualname__": "csr_matrix"})
    module.csr_matrix = kind
    saved = {name: sys.modules.get(name) for name in ("scipy", "scipy.sparse", "scipy.sparse.csr")}
    for name in ("scipy", "scipy.sparse"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["scipy.sparse.csr"] = module
    matrix = kind()
    matrix._shape, matrix.maxprint = shape, 50
    matrix.data, matrix.indices, matrix.indptr = csr(entries, shape)
    text = pickle.dumps(matrix, protocol=2)
    for name, old in saved.items():
        sys.modules.pop(name)
        if old is not None:
            sys.modules[name] = old
    return text


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def planetoid(folder, nodes, features, edges, x):
    """The last third of the nodes are the test nodes, listed out of order."""
    tests = list(range(nodes - nodes // 3, nodes))[::-1]
    place = {node: row for row, node in enumerate(tests)}
    rest = nodes - len(tests)
    part = lambda kind: os.path.join(folder, "ind.g." + kind)  # noqa: E731
    write(part("allx"), pickled_matrix([e for e in x if e[0] < rest], (rest, features)))
    write(part("tx"), pickled_matrix([(place[r], c, v) for r, c, v in x if r >= rest],
                                     (len(tests), features)))
    graph = {node: [] for node in range(nodes)}
    for a, b in edges:
        graph[a].append(b)
        graph[b].append(a)
    write(part("graph"), pickle.dumps(graph, protocol=2))
    with open(part("test.index"), "w") as file:
        file.writelines(f"{node}\n" for node in tests)
    return folder


def citationfull(folder, nodes, features, edges, x):
    path = os.path.join(folder, "g.npz")
    adj = csr([(a, b, 1.0) for a, b in edges], (nodes, nodes))
    attr = csr(x, (nodes, features))
    np.savez(path, adj_data=adj[0], adj_indices=adj[1], adj_indptr=adj[2], adj_shape=(nodes, nodes),
             attr_data=attr[0], attr_indices=attr[1], attr_indptr=attr[2],
             attr_shape=(nodes, features))
    return path


def ogb(folder, nodes, features, edges, x):
    raw = os.path.join(folder, "raw")
    os.makedirs(raw)
    with gzip.open(os.path.join(raw, "edge.csv.gz"), "wt") as file:
        file.writelines(f"{a},{b}\n" for a, b in edges)
    dense = np.zeros((nodes, features), dtype=np.float32)
    for row, column, value in x:
        dense[row, column] = value
    with gzip.open(os.path.join(raw, "node-feat.csv.gz"), "wt") as file:
        file.writelines(",".join(repr(float(v)) for v in row) + "\n" for row in dense)
    return folder


def read_mtx(path):
    with open(path) as file:
        lines = [line.split() for line in file if not line.startswith("%")]
    shape = tuple(map(int, lines[0][:2]))
    entries = sorted((int(line[0]) - 1, int(line[1]) - 1, float(line[2]) if len(line) > 2 else 1.0)
                     for line in lines[1:])
    assert len(entries) == int(lines[0][2]), f"{path}: another number of entries than stated"
    return shape, entries


def check(script, kind, make, graph):
    nodes, features, edges, x = graph
    with tempfile.TemporaryDirectory() as folder:
        source = make(folder, nodes, features, edges, x)
        out = os.path.join(folder, "out")
        subprocess.run([sys.executable, script, kind, source, "g", out], check=True)
        both = sorted({(a, b) for a, b in edges if a != b} | {(b, a) for a, b in edges if a != b})
        shape, entries = read_mtx(os.path.join(out, "g.adj.mtx"))
        assert shape == (nodes, nodes) and [e[:2] for e in entries] == both, f"{kind}: adjacency"
        shape, entries = read_mtx(os.path.join(out, "g.x.mtx"))
        assert shape == (nodes, features), f"{kind}: shape of the features {shape}"
        assert [e[:2] for e in entries] == [e[:2] for e in sorted(x)], f"{kind}: features"
        assert all(abs(a[2] - b[2]) <= 1e-5 * abs(b[2]) for a, b in zip(entries, sorted(x)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", required=True)
    parser.add_argument("--data", default="")
    options = parser.parse_args()
    graphs = {"small": SMALL}
    folder = os.path.join(options.data, "graphs")
    names = os.listdir(folder) if options.data else []
    for name in sorted(n[:-len(".adj.mtx")] for n in names if n.endswith(".adj.mtx")):
        features = os.path.join(folder, name + ".x.mtx")
        if not os.path.exists(features):
            continue
        (nodes, _), edges = read_mtx(os.path.join(folder, name + ".adj.mtx"))
        (_, width), x = read_mtx(features)
        graphs[name] = (nodes, width, [e[:2] for e in edges], [e for e in x if e[2] != 0])
    for name, graph in graphs.items():
        for kind, make in (("planetoid", planetoid), ("citationfull", citationfull), ("ogb", ogb)):
            check(options.script, kind, make, graph)
        print(f"{name}: {graph[0]} nodes, as Planetoid, CitationFull and OGB files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
