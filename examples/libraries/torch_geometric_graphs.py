# /// script
# dependencies = ["torch_geometric"]
# ///
"""Graph networks: convolutions and attention trained on the nodes of a graph, and on batches of small graphs."""

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_adj, to_undirected

torch.manual_seed(0)


def graph(nodes, edges):
    index = to_undirected(torch.randint(nodes, (2, edges)), num_nodes=nodes)
    return Data(x=torch.randn(nodes, 8), edge_index=index, y=torch.randint(3, (nodes,)))


class OnNodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(8, 16)
        self.second = GATConv(16, 8, heads=2)
        self.last = SAGEConv(16, 3)

    def forward(self, data):
        x = torch.relu(self.first(data.x, data.edge_index))
        x = nn.functional.elu(self.second(x, data.edge_index))
        return self.last(x, data.edge_index)


data = graph(40, 120)
network = OnNodes()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(network(data), data.y)
    loss.backward()
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(10)])
index, _ = add_self_loops(data.edge_index)
print("degrees", degree(index[0])[:8].tolist(), to_dense_adj(data.edge_index).sum().item())


class OnGraphs(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = GCNConv(8, 16), nn.Linear(16, 2)

    def forward(self, batch):
        x = torch.relu(self.first(batch.x, batch.edge_index))
        return self.last(global_mean_pool(x, batch.batch))


graphs = []
for number in range(12):
    each = graph(6 + number % 3, 10)
    each.y = torch.tensor([number % 2])
    graphs.append(each)
classifier = OnGraphs()
optimizer_of_graphs = torch.optim.SGD(classifier.parameters(), lr=0.1)
losses = []
for batch in DataLoader(graphs, batch_size=4, shuffle=True):
    optimizer_of_graphs.zero_grad()
    loss = nn.functional.cross_entropy(classifier(batch), batch.y)
    loss.backward()
    optimizer_of_graphs.step()
    losses.append(loss.item())
print("batches", losses, batch.num_graphs, batch.ptr.tolist())
