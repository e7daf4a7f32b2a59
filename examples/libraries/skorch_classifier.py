# /// script
# dependencies = ["skorch"]
# ///
"""A network as an estimator of scikit-learn: fitted, in a pipeline, and in a search for its settings."""

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler
from torch import nn

random = np.random.default_rng(0)
inputs = random.standard_normal((120, 6)).astype("float32")
classes = (inputs[:, 0] + inputs[:, 1] ** 2 > 0.8).astype("int64")


class Network(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 2), nn.Softmax(-1))

    def forward(self, x):
        return self.net(x)


def classifier(**settings):
    return NeuralNetClassifier(
        Network,
        **{"max_epochs": 5, "lr": 0.1, "batch_size": 32, "optimizer": torch.optim.Adam, "verbose": 0} | settings,
    )


torch.manual_seed(0)
net = classifier(lr=0.02, iterator_train__shuffle=True, callbacks=[EpochScoring("roc_auc", lower_is_better=False)])
net.fit(inputs, classes)
print("losses", net.history[:, "train_loss"], net.history[:, "valid_loss"], net.history[:, "roc_auc"])
print("probabilities", net.predict_proba(inputs[:4]).tolist(), net.predict(inputs[:8]).tolist())
print("score", net.score(inputs, classes))

torch.manual_seed(1)
scheduled = classifier(callbacks=[EarlyStopping(patience=2), LRScheduler("StepLR", step_size=2)])
pipeline = Pipeline([("scale", StandardScaler()), ("net", scheduled)])
pipeline.fit(inputs, classes)
print("in a pipeline", pipeline.predict_proba(inputs[:3]).tolist())

torch.manual_seed(2)
search = GridSearchCV(
    classifier(train_split=None), {"module__width": [4, 8], "lr": [0.01, 0.05]}, cv=2, scoring="accuracy"
)
search.fit(inputs, classes)
print("search", search.best_params_, search.cv_results_["mean_test_score"].tolist())

torch.manual_seed(3)
regression = NeuralNetRegressor(
    nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)), max_epochs=4, lr=0.1, verbose=0
)
regression.fit(inputs, inputs[:, :1])
print("regression", regression.predict(inputs[:3]).flatten().tolist())

batch = (torch.from_numpy(inputs), torch.from_numpy(classes))


def step():
    return net.train_step(batch)["loss"].item()
