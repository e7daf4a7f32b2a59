"""A graph convolutional network with layers of its own, parameters by hand, and a validation split."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

torch.manual_seed(42)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        output = torch.mm(adj, torch.mm(input, self.weight))
        return output if self.bias is None else output + self.bias

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.in_features} -> {self.out_features})"


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


nodes = 24
labels = torch.arange(nodes) // 8
adj = (labels[:, None] == labels[None, :]).float() * (torch.rand(nodes, nodes) < 0.5).float()
adj = ((adj + adj.t()) > 0).float() + torch.eye(nodes)
adj = adj / adj.sum(1, keepdim=True)
features = torch.randn(nodes, 6) + F.one_hot(labels, 6)
idx_train, idx_val = torch.arange(0, nodes, 2), torch.arange(1, nodes, 2)

model = GCN(6, 8, 3, 0.3)
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
for epoch in range(30):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    model.eval()
    output = model(features, adj)
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    acc_val = output[idx_val].max(1)[1].type_as(labels).eq(labels[idx_val]).double().mean()
    if epoch % 6 == 5:
        print(
            f"epoch {epoch:2d}  train {loss_train.item():.4f}  val {loss_val.item():.4f}  accuracy {acc_val.item():.3f}"
        )
