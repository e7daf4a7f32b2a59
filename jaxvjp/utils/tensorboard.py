"""torch's `utils.tensorboard`, over the library `tensorboardX`: logs of numbers and pictures for TensorBoard.

`pip install "jaxvjp[files]"` installs the library.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import jax

from jaxvjp.tensor.tensor import Tensor

try:
    import tensorboardX
except ImportError as error:
    raise ImportError('TensorBoard\'s files need the library tensorboardX: pip install "jaxvjp[files]"') from error

__all__ = ["FileWriter", "SummaryWriter"]

FileWriter = tensorboardX.FileWriter


class SummaryWriter(tensorboardX.SummaryWriter):  # type: ignore[misc]  # that library has no types
    """Writes what training logs. Counterpart of `torch.utils.tensorboard.SummaryWriter`.

    Its methods, `add_scalar` and the others, take tensors, also those that require a gradient.
    """

    @property
    def log_dir(self) -> str:
        """The folder that it writes to."""
        return str(self.logdir)

    def get_logdir(self) -> str:
        """The folder that it writes to."""
        return self.log_dir

    def add_scalar(self, *given: Any, new_style: bool = False, double_precision: bool = False, **named: Any) -> None:
        """Logs a number: its tag, its value, the step and the time. It is kept in single precision.

        Args:
            given, named: as in torch.
            new_style, double_precision: accepted and without effect.
        """
        super().add_scalar(*given, **named)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: Any = None
    ) -> None:
        """Logs several numbers, each in a folder of its own, which TensorBoard draws together."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder)
            self.all_writers[folder].add_summary(tensorboardX.summary.scalar(main_tag, value), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Logs the settings of a run and how it ended, in a folder `run_name`.

        Args:
            hparam_dict, metric_dict: the settings, and the numbers.
            hparam_domain_discrete: accepted and without effect.
            run_name: the name of the folder; by default the time.
            global_step: the step.
        """
        super().add_hparams(hparam_dict, metric_dict, run_name, global_step)

    def add_graph(self, model: Any, input_to_model: Any = None, *more: Any, **options: Any) -> None:
        """NotImplementedError: torch traces a module with TorchScript. `jaxvjp.explain` prints its program."""
        raise NotImplementedError("add_graph needs TorchScript's trace; `jaxvjp.explain(model, x)` shows the program.")


def _of_tensors(name: str) -> Any:
    """The method of the base class, called with the numbers of tensors."""
    method = getattr(SummaryWriter, name)

    def number(value: Any) -> Any:
        return value.detach().cpu().numpy() if isinstance(value, Tensor) else value

    @wraps(method)
    def of_tensors(self: Any, *given: Any, **named: Any) -> Any:
        given, named = jax.tree.map(number, (given, named), is_leaf=lambda each: isinstance(each, Tensor | None))
        return method(self, *given, **named)

    return of_tensors


for _name in dir(tensorboardX.SummaryWriter):
    if _name.startswith("add_") and _name != "add_graph":
        setattr(SummaryWriter, _name, _of_tensors(_name))
