# /// script
# dependencies = ["peft", "transformers", "accelerate"]
# ///
"""LoRA on a small GPT-2: the adapter alone is trained, saved, loaded again and merged into the weights."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)


def base():
    torch.manual_seed(0)
    return GPT2LMHeadModel(config)


lora = LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
model = get_peft_model(base(), lora)
words = torch.randint(0, 50, (4, 16))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
model.print_trainable_parameters()


def step():
    optimizer.zero_grad()
    loss = model(input_ids=words, labels=words).loss
    loss.backward()
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(6)])

model.eval()
with torch.no_grad():
    expected = model(words).logits
    with model.disable_adapter():
        print("moved by", (model(words).logits - expected).abs().mean().item())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = PeftModel.from_pretrained(base(), folder).eval()
merged = again.merge_and_unload()
with torch.no_grad():
    print("merged", type(merged).__name__, torch.allclose(merged(words).logits, expected, atol=1e-5))
    print("generated", merged.generate(words[:1, :4], max_new_tokens=8, do_sample=False).tolist())
model.train()
