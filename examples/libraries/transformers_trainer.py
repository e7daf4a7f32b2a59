# /// script
# dependencies = ["transformers", "accelerate"]
# ///
"""T5 is trained by `Trainer`, with a schedule and an evaluation, and generates."""

import tempfile

import torch
from transformers import PrinterCallback, T5Config, T5ForConditionalGeneration, Trainer, TrainingArguments, set_seed

set_seed(0)
sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
model = T5ForConditionalGeneration(T5Config(vocab_size=40, decoder_start_token_id=0, dropout_rate=0.0, **sizes))


class Reversed(torch.utils.data.Dataset):
    """Sequences, and the same ones backwards."""

    def __init__(self, number, seed):
        self.words = torch.randint(3, 40, (number, 8), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        return {"input_ids": self.words[index], "labels": self.words[index].flip(0)}


times = {"max_steps": 12, "gradient_accumulation_steps": 2, "warmup_steps": 2, "logging_steps": 3, "save_steps": 6}
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=folder,
            **times,
            per_device_train_batch_size=8,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            dataloader_pin_memory=False,
        ),
        train_dataset=Reversed(64, 1),
        eval_dataset=Reversed(16, 2),
    )
    trainer.remove_callback(PrinterCallback)  # it prints times
    outcome = trainer.train()
    print("steps", outcome.global_step, "loss", outcome.training_loss)
    print("losses", [each["loss"] for each in trainer.state.log_history if "loss" in each])
    print("evaluated", trainer.evaluate()["eval_loss"])

words = Reversed(2, 3).words
print("generated", model.eval().generate(words, max_new_tokens=8, num_beams=2).tolist())

model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def step():
    optimizer.zero_grad()
    loss = model(input_ids=words, labels=words.flip(1)).loss
    loss.backward()
    optimizer.step()
    return loss.item()


print("afterwards", [step() for _ in range(3)])
