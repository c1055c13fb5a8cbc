"""Two-layer GCN as message passing: Gather, multiply by the edge weight, scatter-add."""
import torch
from torch import nn

from models import data
from models.case import LOST, Case
from models.gcn import inputs, sizes


class Layer(nn.Module):
    """sum over edges (s -> d) of weight * (x W)[s], then + b.

    `zeros` says how the accumulator is made: from the shape of x, or as a constant.
    """

    def __init__(self, count, outputs, zeros):
        super().__init__()
        self.linear = nn.Linear(count, outputs, bias=False)
        self.bias = data.bias(outputs)
        self.zeros = zeros

    def forward(self, x, src, dst, weight):
        h = self.linear(x)
        message = h.index_select(0, src)
        if weight is not None:
            message = message * weight.view(-1, 1)
        shape = (h.size(0), h.size(1))
        total = torch.zeros(shape) if self.zeros == "constant" else h.new_zeros(shape)
        total = total.scatter_add(0, dst.view(-1, 1).expand(-1, h.size(1)), message)
        return total + self.bias


def norm(src, dst, weight, nodes):
    """D^-1/2 A D^-1/2 edge by edge, as graph libraries compute it: Pow, Equal inf, Where."""
    degree = torch.zeros(nodes).scatter_add(0, dst, weight)
    root = degree.pow(-0.5)
    root = root.masked_fill(root == float("inf"), 0.0)
    return root[src] * weight * root[dst]


class Gcn(nn.Module):
    """Edges and weights are constants unless given as inputs; `how` is none, weight or norm."""

    def __init__(self, counts, how, zeros="shape"):
        super().__init__()
        self.layer1 = Layer(counts[0], counts[1], zeros)
        self.layer2 = Layer(counts[1], counts[2], zeros)
        self.how = how

    def forward(self, x, edge_index, weight=None):
        src, dst = edge_index[0], edge_index[1]
        if self.how == "norm":
            ones = torch.ones(src.size(0)) if weight is None else weight
            weight = norm(src, dst, ones, x.size(0))
        h = torch.relu(self.layer1(x, src, dst, weight))
        return torch.softmax(self.layer2(h, src, dst, weight), dim=1)


class Constant(nn.Module):
    """The edges (and their weights) are constants of the model."""

    def __init__(self, inner, edge_index, weight):
        super().__init__()
        self.inner = inner
        self.register_buffer("edge_index", edge_index)
        self.register_buffer("weight", weight)

    def forward(self, x):
        return self.inner(x, self.edge_index, self.weight)


def make(how, where, loops=False, zeros="shape", empty=False):
    def build(o):
        adj, x, _ = inputs(o)
        adj = adj.to_dense()
        if loops:
            adj = adj + torch.eye(len(adj))
        if empty:
            adj[5] = 0
        edge_index = torch.stack(data.edges(adj))
        order = torch.randperm(edge_index.shape[1])
        edge_index = edge_index[:, order]
        weight = torch.rand(len(order)) if how == "weight" else None
        model = Gcn(sizes(o, x), how, zeros)
        if where == "constant":
            return Case(Constant(model, edge_index, weight), {"x": x}, sparse={"x"},
                        lost_before_16=LOST)
        given = {"x": x, "edge_index": edge_index}
        axes = {"x": {0: "nodes"}, "edge_index": {1: "edges"}, "y": {0: "nodes"}}
        if weight is not None:
            given["weight"] = weight
            axes["weight"] = {0: "edges"}
        return Case(model, given, sparse={"x"}, lost_before_16=LOST, axes=axes)
    return build


VARIANTS = {
    "weighted": (make("weight", "constant"), "edges and weights as constants"),
    "weighted_input": (make("weight", "input"), "edges and weights as inputs"),
    "plain": (make("none", "constant", zeros="constant"), "no weights"),
    "norm": (make("norm", "constant", loops=True), "normalisation in the graph"),
    "norm_input": (make("norm", "input", loops=True), "the same, edges as an input"),
    "norm_empty": (make("norm", "constant", empty=True), "a node without incoming edges"),
}
