"""Graph networks by edges, as torch-geometric computes them: gather, message, scatter to the target.

Maxima (sage_max, gat) need scatter_reduce, which PyTorch exports since 2.0.
"""
import torch
import torch.nn.functional as F
from torch import nn

from models import data
from models.case import LOST, Case
from models.gcn import inputs, sizes


def scatter(values, target, nodes, how="sum"):
    """values [edges, ...] by target: their sums or maxima, 0 where a node has none."""
    at = target.view([-1] + [1] * (values.dim() - 1)).expand_as(values)
    start = values.new_zeros([nodes, *values.shape[1:]])
    if how == "max":
        return start.scatter_reduce(0, at, values, "amax", include_self=False)
    return start.scatter_add(0, at, values)


class Sage(nn.Module):
    """W1 aggregate(x_j) + W2 x_i."""

    def __init__(self, count, outputs, how):
        super().__init__()
        self.neighbours = nn.Linear(count, outputs)
        self.own = nn.Linear(count, outputs, bias=False)
        self.how = how

    def forward(self, x, src, dst):
        nodes = x.size(0)
        total = scatter(x.index_select(0, src), dst, nodes, "max" if self.how == "max" else "sum")
        if self.how == "mean":
            ones = torch.ones_like(dst, dtype=torch.float)
            total = total / scatter(ones, dst, nodes).clamp(min=1).view(-1, 1)
        return self.neighbours(total) + self.own(x)


class Gin(nn.Module):
    """mlp((1 + eps) x_i + sum x_j)."""

    def __init__(self, count, outputs):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(count, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
        self.eps = 0.1

    def forward(self, x, src, dst):
        return self.mlp(scatter(x.index_select(0, src), dst, x.size(0)) + (1 + self.eps) * x)


class Gine(Gin):
    """GIN with relu(x_j + e) as the message, where every edge has features."""

    def forward(self, x, src, dst, edge):
        message = torch.relu(x.index_select(0, src) + edge)
        return self.mlp(scatter(message, dst, x.size(0)) + (1 + self.eps) * x)


class Gat(nn.Module):
    """Attention of several heads: softmax by target of leaky_relu(a_src[src] + a_dst[dst])."""

    def __init__(self, count, outputs, heads=2):
        super().__init__()
        self.linear = nn.Linear(count, heads * outputs, bias=False)
        self.left = nn.Parameter(torch.rand(1, heads, outputs) - 0.5)
        self.right = nn.Parameter(torch.rand(1, heads, outputs) - 0.5)
        self.shape = (heads, outputs)
        self.bias = data.bias(outputs)

    def forward(self, x, src, dst):
        nodes = x.size(0)
        h = self.linear(x).view(-1, *self.shape)
        left, right = (h * self.left).sum(-1), (h * self.right).sum(-1)
        score = F.leaky_relu(left.index_select(0, src) + right.index_select(0, dst), 0.2)
        most = scatter(score, dst, nodes, "max")
        weight = (score - most.index_select(0, dst)).exp()
        weight = weight / (scatter(weight, dst, nodes) + 1e-16).index_select(0, dst)
        message = h.index_select(0, src) * weight.unsqueeze(-1)
        return scatter(message, dst, nodes).mean(1) + self.bias


class Two(nn.Module):
    """Two layers with a ReLU between them; `edge_index` is [2, edges]."""

    def __init__(self, layer, counts):
        super().__init__()
        self.layer1, self.layer2 = layer(counts[0], counts[1]), layer(counts[1], counts[2])

    def forward(self, x, edge_index):
        src, dst = edge_index[0], edge_index[1]
        return self.layer2(torch.relu(self.layer1(x, src, dst)), src, dst)


class One(nn.Module):
    """A layer that also reads features of edges, as wide as those of nodes."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, edge_index, edge):
        return self.layer(x, edge_index[0], edge_index[1], edge)


def make(layer, loops=False, features=False):
    def build(o):
        adj, x, _ = inputs(o)
        adj = adj.to_dense()
        if loops:
            adj = adj + torch.eye(len(adj))
        edge_index = torch.stack(data.edges(adj))
        given = {"x": x, "edge_index": edge_index}
        counts = sizes(o, x)
        if features:
            given["edge"] = torch.rand(edge_index.shape[1], x.shape[1])
            return Case(One(layer(counts[0], counts[2])), given, sparse={"x"}, lost_before_16=LOST)
        return Case(Two(layer, counts), given, sparse={"x"}, lost_before_16=LOST)
    return build


VARIANTS = {
    "sage_mean": (make(lambda a, b: Sage(a, b, "mean")), "GraphSAGE, mean"),
    "sage_max": (make(lambda a, b: Sage(a, b, "max")), "GraphSAGE, maximum"),
    "gin": (make(Gin), "GIN"),
    "gine": (make(Gine, features=True), "GIN with features of edges"),
    "gat": (make(Gat, loops=True), "GAT of two heads"),
}
