# /// script
# dependencies = ["transformers"]
# ///
"""BERT and ViT for classification: both are trained, and BERT is saved to a folder and loaded again."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, ViTConfig, ViTForImageClassification

torch.manual_seed(0)
small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
bert = BertForSequenceClassification(BertConfig(vocab_size=50, max_position_embeddings=16, num_labels=3, **small))
vit = ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, num_labels=3, **small))

words = torch.randint(1, 50, (8, 12))
mask = torch.ones_like(words)
mask[::2, 8:] = 0
images = torch.randn(8, 3, 16, 16)
labels = torch.arange(8) % 3
optimizer = torch.optim.AdamW([*bert.parameters(), *vit.parameters()], lr=1e-3)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=10)


def step():
    optimizer.zero_grad()
    told = bert(input_ids=words, attention_mask=mask, labels=labels)
    seen = vit(pixel_values=images, labels=labels)
    loss = told.loss + seen.loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(bert.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return loss.item()


print("losses", [step() for _ in range(8)])

bert.eval()
vit.eval()
with torch.no_grad():
    told = bert(input_ids=words, attention_mask=mask, output_hidden_states=True)
    print("of words", told.logits.tolist(), [each.abs().mean().item() for each in told.hidden_states])
    print("of images", vit(images).logits.softmax(-1).tolist())

with tempfile.TemporaryDirectory() as folder:
    bert.save_pretrained(folder)
    again = BertForSequenceClassification.from_pretrained(folder).eval()
with torch.no_grad():
    print("loaded", (again(words, mask).logits - told.logits).abs().max().item(), again.dtype, again.num_parameters())

bert.train()
vit.train()
