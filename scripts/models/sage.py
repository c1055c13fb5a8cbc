"""Two-layer GraphSAGE: mean with a self term, concat with L2 normalisation, scatter mean."""
import torch
import torch.nn.functional as F
from torch import nn

from models import data
from models.case import LOST, Case
from models.gcn import case_on, inputs, sizes


class MeanLayer(nn.Module):
    """relu((X Ws + bs) + ((A X) Wn + bn)); A is given normalised by rows (or plain)."""

    def __init__(self, count, outputs, linear):
        super().__init__()
        self.linear = linear
        if linear:
            self.own = nn.Linear(count, outputs)
            self.neighbours = nn.Linear(count, outputs)
        else:
            self.ws, self.bs = data.glorot(count, outputs), data.bias(outputs)
            self.wn, self.bn = data.glorot(count, outputs), data.bias(outputs)

    def forward(self, adj, x):
        mean = torch.matmul(adj, x)
        if self.linear:
            return torch.relu(self.own(x) + self.neighbours(mean))
        own = torch.matmul(x, self.ws) + self.bs
        return torch.relu(own + (torch.matmul(mean, self.wn) + self.bn))


class ConcatLayer(nn.Module):
    """relu(W [x, A x]), each row then divided by its L2 norm."""

    def __init__(self, count, outputs):
        super().__init__()
        self.linear = nn.Linear(2 * count, outputs)

    def forward(self, adj, x):
        both = torch.cat([x, torch.matmul(adj, x)], dim=1)
        return F.normalize(torch.relu(self.linear(both)), p=2.0, dim=1)


class ScatterLayer(nn.Module):
    """The mean over incoming edges by two scatter-adds: the sums and the counts."""

    def __init__(self, count, outputs):
        super().__init__()
        self.own = nn.Linear(count, outputs)
        self.neighbours = nn.Linear(count, outputs, bias=False)

    def forward(self, edges, x):
        src, dst = edges
        index = dst.view(-1, 1).expand(-1, x.size(1))
        total = torch.zeros(x.size(0), x.size(1)).scatter_add(0, index, x.index_select(0, src))
        ones = torch.ones(src.size(0))
        count = torch.zeros(x.size(0)).scatter_add(0, dst, ones).clamp(min=1)
        return torch.relu(self.own(x) + self.neighbours(total / count.unsqueeze(1)))


class Sage(nn.Module):
    """Two layers of any of the forms above."""

    def __init__(self, make, counts):
        super().__init__()
        self.layer1 = make(counts[0], counts[1])
        self.layer2 = make(counts[1], counts[2])

    def forward(self, adj, x):
        return self.layer2(adj, self.layer1(adj, x))


class OnEdges(nn.Module):
    """The edge list is a constant, or the input `edge_index` [2, edges]."""

    def __init__(self, inner, edge_index=None):
        super().__init__()
        self.inner = inner
        if edge_index is not None:
            self.register_buffer("edge_index", edge_index)

    def forward(self, x, edge_index=None):
        at = self.edge_index if edge_index is None else edge_index
        return self.inner((at[0], at[1]), x)


def mean(linear, normalise=True):
    def make(o):
        adj, x, files = inputs(o)
        if normalise and not files:
            adj = data.row_normalised(adj)
        model = Sage(lambda a, b: MeanLayer(a, b, linear), sizes(o, x))
        return case_on(o, model, adj, x, files)
    return make


def concat(o):
    """Concat form with an L2 normalisation of the rows."""
    adj, x, files = inputs(o)
    if not files:
        adj = data.row_normalised(adj)
    return case_on(o, Sage(ConcatLayer, sizes(o, x)), adj, x, files)


def scatter(as_input):
    def make(o):
        adj, x, _ = inputs(o)
        edge_index = torch.stack(data.edges(adj.to_dense()))
        inner = Sage(ScatterLayer, sizes(o, x))
        if as_input:
            return Case(OnEdges(inner), {"x": x, "edge_index": edge_index}, sparse={"x"},
                        lost_before_16=LOST)
        return Case(OnEdges(inner, edge_index), {"x": x}, sparse={"x"}, lost_before_16=LOST)
    return make


VARIANTS = {
    "mean": (mean(False), "relu((X Ws + bs) + ((A X) Wn + bn)), rows of A sum to 1"),
    "linear": (mean(True), "the same through nn.Linear (Gemm)"),
    "sum": (mean(False, normalise=False), "the same with a 0/1 adjacency"),
    "concat": (concat, "W [x, A x], rows divided by their L2 norm"),
    "scatter": (scatter(False), "scatter mean, edges as a constant"),
    "scatter_input": (scatter(True), "scatter mean, edges as an input"),
}
