"""A tagger: embeddings, a GRU over packed sequences of several lengths, and a linear layer for each step."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(3)
words, tags, pad = 20, 3, 0


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(words, 12, padding_idx=pad)
        self.gru = nn.GRU(12, 10, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(20, tags)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = self.gru(packed)
        hidden, _ = pad_packed_sequence(hidden, batch_first=True)
        return self.out(hidden)


lengths = torch.tensor([7, 5, 6, 3])
sentences = [torch.randint(1, words, (int(n),)) for n in lengths]
x = pad_sequence(sentences, batch_first=True, padding_value=pad)
y = torch.where(x == pad, -100, x % tags)

model = Tagger()
print(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for step in range(30):
    optimizer.zero_grad()
    scores = model(x, lengths)
    loss = criterion(scores.reshape(-1, tags), y.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    if step % 6 == 5:
        accuracy = (scores.argmax(-1) == y)[x != pad].float().mean()
        print(f"step {step:2d}  loss {loss.item():.4f}  accuracy {accuracy.item():.3f}")
print(model.embedding.weight.grad[pad])
