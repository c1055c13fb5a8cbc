"""Graph attention networks: dense and masked, or edge by edge."""
import torch
import torch.nn.functional as F
from torch import nn

from models import data
from models.case import LOST, Case
from models.gcn import inputs, sizes


class DenseLayer(nn.Module):
    """h = x W; e = leaky_relu(h a1 + (h a2)^T); softmax over where(adj > 0, e, -9e15); p h."""

    def __init__(self, count, outputs, value, last):
        super().__init__()
        self.weight = data.glorot(count, outputs)
        self.a = data.glorot(2 * outputs, 1)
        self.outputs, self.value, self.last = outputs, value, last

    def forward(self, x, adj):
        h = torch.mm(x, self.weight)
        left = torch.matmul(h, self.a[:self.outputs, :])
        right = torch.matmul(h, self.a[self.outputs:, :])
        e = F.leaky_relu(left + right.T, 0.2)
        if self.value == float("-inf"):
            e = e.masked_fill(adj == 0, self.value)
        else:
            e = torch.where(adj > 0, e, self.value * torch.ones_like(e))
        h = torch.matmul(torch.softmax(e, dim=1), h)
        return h if self.last else F.elu(h)


class Dense(nn.Module):
    """One or more heads side by side, then one head and a log-softmax."""

    def __init__(self, counts, heads, value, adj=None):
        super().__init__()
        self.heads = nn.ModuleList(
            DenseLayer(counts[0], counts[1], value, False) for _ in range(heads))
        self.out = DenseLayer(heads * counts[1], counts[2], value, True)
        if adj is not None:
            self.register_buffer("adj", adj)

    def forward(self, x, adj=None):
        adj = self.adj if adj is None else adj
        x = torch.cat([head(x, adj) for head in self.heads], dim=1)
        return torch.log_softmax(F.elu(self.out(x, adj)), dim=1)


class EdgeLayer(nn.Module):
    """The softmax of each node's incoming edges by two scatter-adds (scores are clipped)."""

    def __init__(self, count, outputs):
        super().__init__()
        self.linear = nn.Linear(count, outputs, bias=False)
        self.left, self.right = nn.Linear(outputs, 1, bias=False), nn.Linear(outputs, 1, bias=False)
        self.bias = data.bias(outputs)

    def forward(self, x, src, dst):
        h = self.linear(x)
        score = self.left(h).index_select(0, src) + self.right(h).index_select(0, dst)
        weight = torch.exp(F.leaky_relu(score, 0.2))
        index = dst.view(-1, 1)
        total = torch.zeros(h.size(0), 1).scatter_add(0, index, weight)
        weight = weight / (total.index_select(0, dst) + 1e-16)
        message = h.index_select(0, src) * weight
        y = torch.zeros(h.size(0), h.size(1))
        return y.scatter_add(0, index.expand(-1, h.size(1)), message) + self.bias


class Edges(nn.Module):
    def __init__(self, counts, edge_index=None):
        super().__init__()
        self.layer1 = EdgeLayer(counts[0], counts[1])
        self.layer2 = EdgeLayer(counts[1], counts[2])
        if edge_index is not None:
            self.register_buffer("edge_index", edge_index)

    def forward(self, x, edge_index=None):
        at = self.edge_index if edge_index is None else edge_index
        h = F.elu(self.layer1(x, at[0], at[1]))
        return torch.log_softmax(self.layer2(h, at[0], at[1]), dim=1)


def dense(heads=1, value=-9e15, where="input"):
    def make(o):
        adj, x, _ = inputs(o)
        adj = adj.to_dense() + torch.eye(adj.shape[0])
        if where == "constant":
            return Case(Dense(sizes(o, x), heads, value, adj), {"x": x}, sparse={"x"})
        return Case(Dense(sizes(o, x), heads, value), {"x": x, "adj": adj}, sparse={"x", "adj"})
    return make


def edges(where):
    def make(o):
        adj, x, _ = inputs(o)
        edge_index = torch.stack(data.edges(adj.to_dense() + torch.eye(adj.shape[0])))
        if where == "constant":
            return Case(Edges(sizes(o, x), edge_index), {"x": x}, sparse={"x"},
                        lost_before_16=LOST)
        return Case(Edges(sizes(o, x)), {"x": x, "edge_index": edge_index}, sparse={"x"},
                    lost_before_16=LOST)
    return make


VARIANTS = {
    "dense": (dense(), "adjacency as an input, Where -9e15"),
    "dense_ninf": (dense(value=float("-inf")), "adjacency as an input, Where -inf"),
    "dense_heads": (dense(heads=2), "two heads"),
    "dense_constant": (dense(where="constant"), "adjacency as a constant"),
    "edge": (edges("constant"), "edge by edge, edges as a constant"),
    "edge_input": (edges("input"), "edge by edge, edges as an input"),
}
