# /// script
# dependencies = ["lightning"]
# ///
"""A `LightningModule` is trained, validated, tested and used by a `Trainer`."""

import lightning
import torch

lightning.seed_everything(0)
inputs = torch.randn(64, 4)
labels = (inputs.sum(1) > 0).long()
data = torch.utils.data.TensorDataset(inputs, labels)


class Classifier(lightning.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))
        self.losses = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.log("loss", loss, on_step=True, on_epoch=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        self.log("valid", torch.nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def test_step(self, batch, index):
        self.log("accuracy", (self(batch[0]).argmax(1) == batch[1]).float().mean())

    def predict_step(self, batch, index):
        return self(batch[0]).softmax(1)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)}


model = Classifier(width=16, lr=1e-2)
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", gradient_clip_val=1.0, num_sanity_val_steps=0, **quiet)
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
ordered = torch.utils.data.DataLoader(data, batch_size=16)
trainer.fit(model, loader, ordered)
print("losses", model.losses, trainer.global_step)
print("shown", {name: value.item() for name, value in trainer.callback_metrics.items()})
print("tested", trainer.test(model, ordered, verbose=False))
print("predicted", torch.cat(trainer.predict(model, ordered))[::16].tolist())
print("settings", dict(model.hparams))

optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss.item()
