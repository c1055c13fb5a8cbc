"""Graphs, features, masks and weights that several families use; reading and writing .mtx.

Everything random is drawn from torch's seeded default generator.
"""
import os

import numpy as np
import torch

KARATE = os.path.join(os.path.dirname(__file__), "../../testdata/karate.adj.mtx")


def read_mtx(path):
    """A Matrix Market coordinate file (pattern or real, general) as a sparse COO tensor."""
    with open(path, encoding="ascii") as f:
        banner = f.readline().lower().split()
        if banner[:3] != ["%%matrixmarket", "matrix", "coordinate"] or banner[4] != "general":
            raise SystemExit(f"{path}: expected a general Matrix Market coordinate file")
        line = f.readline()
        while line.startswith("%"):
            line = f.readline()
        rows, cols, count = map(int, line.split())
        table = np.loadtxt(f, dtype=np.float64, ndmin=2)
    if len(table) != count:
        raise SystemExit(f"{path}: {len(table)} entries, but the header says {count}")
    values = np.ones(count) if banner[3] == "pattern" else table[:, 2]
    at = torch.from_numpy((table[:, :2].T - 1).astype(np.int64))
    flat = torch.from_numpy(values.astype(np.float32))
    return torch.sparse_coo_tensor(at, flat, (rows, cols)).coalesce()


def write_mtx(path, tensor):
    """Writes the non-zeros of a matrix, row by row; values that are all 1 as a pattern."""
    dense = tensor.to_dense().numpy() if tensor.is_sparse else tensor.numpy()
    rows, cols = np.nonzero(dense)
    values = dense[rows, cols]
    pattern = bool(np.all(values == 1))
    with open(path, "w", encoding="ascii") as f:
        kind = "pattern" if pattern else "real"
        f.write(f"%%MatrixMarket matrix coordinate {kind} general\n")
        f.write(f"{dense.shape[0]} {dense.shape[1]} {len(values)}\n")
        for r, c, v in zip(rows, cols, values):
            f.write(f"{r + 1} {c + 1}\n" if pattern else f"{r + 1} {c + 1} {v:.9g}\n")


def graph(o):
    """Dense 0/1 adjacency: --nodes gives a random symmetric graph, else the karate club."""
    if o.nodes is None:
        return read_mtx(KARATE).to_dense()
    upper = torch.triu((torch.rand(o.nodes, o.nodes) < 0.12).float(), 1)
    return upper + upper.T


def features(nodes, count, density=0.3):
    """Non-negative features [nodes, count] of which about `density` are not zero."""
    return torch.rand(nodes, count) * (torch.rand(nodes, count) < density)


def edges(adj):
    """The edges of a dense adjacency, as (source, destination), each int64 [edges].

    adj[i, j] != 0 means that node i receives from node j.
    """
    dst, src = adj.nonzero(as_tuple=True)
    return src, dst


def normalised(adj):
    """D^-1/2 (A + I) D^-1/2, the usual GCN normalisation."""
    a = adj + torch.eye(len(adj))
    d = a.sum(1).pow(-0.5)
    return d[:, None] * a * d[None, :]


def row_normalised(adj):
    """Each row divided by its sum: the mean over the neighbours."""
    return adj / adj.sum(1, keepdim=True).clamp(min=1)


def prune_(weight, sparsity):
    """Sets the entries of least magnitude to zero, in place."""
    count = int(weight.numel() * sparsity)
    if count:
        order = weight.detach().abs().flatten().argsort(stable=True)[:count]
        weight.data.view(-1)[order] = 0
    return weight


def random_prune_(weight, sparsity):
    """Sets each entry to zero with the probability `sparsity`, in place (for large weights)."""
    weight.data.mul_(torch.rand(weight.shape) >= sparsity)
    return weight


def glorot(rows, cols):
    """A parameter [rows, cols] with Glorot's uniform distribution."""
    bound = (6.0 / (rows + cols)) ** 0.5
    return torch.nn.Parameter((torch.rand(rows, cols) * 2 - 1) * bound)


def bias(count):
    """A small random bias, so that no addition is an accident of zeros."""
    return torch.nn.Parameter((torch.rand(count) - 0.5) * 0.2)


def bigbird_blocks(blocks, seed):
    """Which blocks BigBird keeps, bool [blocks, blocks]: the band of width 3, the first two
    block rows and columns, and two random block columns a row."""
    generator = torch.Generator().manual_seed(seed)
    i = torch.arange(blocks)[:, None]
    j = torch.arange(blocks)[None, :]
    keep = ((i - j).abs() <= 1) | (i < 2) | (j < 2)
    for row in range(blocks):
        keep[row, torch.randperm(blocks, generator=generator)[:2]] = True
    return keep


def bigbird(seq, block, seed=0):
    """The element mask of bigbird_blocks, bool [seq, seq]; True is kept."""
    keep = bigbird_blocks(seq // block, seed)
    return keep.repeat_interleave(block, 0).repeat_interleave(block, 1)
