# /// script
# dependencies = ["transformers"]
# ///
"""GPT-2 and Llama generate: greedily, by sampling and by beams."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "vocab_size": 80}
gpt = GPT2LMHeadModel(GPT2Config(n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.5, **ends)).eval()
llama = LlamaForCausalLM(
    LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.5,
        **ends,
    )
).eval()
prompt = torch.tensor([[1, 5, 9, 33], [0, 1, 7, 4]])
mask = (prompt != 0).long()


def generate(model, **settings):
    return model.generate(prompt, attention_mask=mask, max_new_tokens=20, min_new_tokens=20, **settings)


def step():
    return generate(gpt, do_sample=False).sum().item()


for model in (gpt, llama):
    print(type(model).__name__)
    print("greedy", generate(model, do_sample=False).tolist())
    torch.manual_seed(1)
    sampled = generate(model, do_sample=True, temperature=0.8, top_k=20, top_p=0.9, repetition_penalty=1.2)
    print("sampled", sampled.tolist())
    beams = generate(
        model,
        do_sample=False,
        num_beams=3,
        num_return_sequences=2,
        no_repeat_ngram_size=2,
        return_dict_in_generate=True,
        output_scores=True,
    )
    print("beams", beams.sequences.tolist(), beams.sequences_scores.tolist())
