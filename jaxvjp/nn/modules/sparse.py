"""Tables of vectors, looked up by their numbers."""

from __future__ import annotations

from typing import Any, Self

from jaxvjp.autograd.modes import no_grad
from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.modules.layer import PLACE, Layer, register_empty
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "a function of `nn.functional`; the parameters are drawn on the host"


SIZES = "num_embeddings: int, embedding_dim: int"
NORM = "max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False"
WEIGHT = "_weight: Tensor | None = None"


class _Table(Layer):
    __given__ = "_weight _freeze device dtype"
    weight: Tensor

    def __finish_init__(self, _weight: Tensor | None, device: Any, dtype: Any, _freeze: bool = False) -> None:
        count, index = self.num_embeddings, self.padding_idx
        if index is not None and not -count <= index < count:
            word = "Padding_idx" if isinstance(self, Embedding) else "padding_idx"
            raise AssertionError(f"{word} must be within num_embeddings")
        self.padding_idx: Any = None if index is None else index % count
        if _weight is None:
            register_empty(self, device, dtype, weight=(count, self.embedding_dim))
            self.weight.requires_grad_(not _freeze)
            self.reset_parameters()
            return
        if list(_weight.shape) != [count, self.embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, *args: Any, **kwargs: Any) -> Self:
        """A layer with these vectors; with `freeze` they are not trained. Further settings are the constructor's."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        names = cls.__pretrained__.split()[: len(args)]
        kwargs |= dict(zip(names, args, strict=True))
        if cls.__freezable__:
            kwargs["_freeze"] = freeze
        made = cls(*embeddings.shape, _weight=embeddings, **kwargs)
        made.weight.requires_grad_(not freeze)
        return made

    __pretrained__ = ""
    """What `from_pretrained` takes by position after `freeze`."""
    __freezable__ = False
    """Whether the constructor takes `_freeze`, without which integers are no vectors."""


class Embedding(_Table):
    """The rows of `weight` with the numbers in the input."""

    __printed__ = "num_embeddings! embedding_dim! padding_idx? max_norm? norm_type? scale_grad_by_freq? sparse?"
    __freezable__ = True
    __pretrained__ = "padding_idx max_norm norm_type scale_grad_by_freq sparse"
    __settings__ = (
        f"{SIZES}, padding_idx: int | None = None, {NORM}, sparse: bool = False, {WEIGHT}, _freeze: bool = False, "
        f"{PLACE}"
    )

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
        return F.embedding(input, self.weight, *settings)


class EmbeddingBag(_Table):
    """Sums, means or largest entries of the rows of `weight` with the numbers in each bag of the input."""

    __printed__ = "num_embeddings! embedding_dim! max_norm? norm_type? scale_grad_by_freq? mode padding_idx?"
    __pretrained__ = "max_norm norm_type scale_grad_by_freq mode sparse include_last_offset padding_idx"
    __settings__ = (
        f"{SIZES}, {NORM}, mode: str = 'mean', sparse: bool = False, {WEIGHT}, include_last_offset: bool = False, "
        f"padding_idx: int | None = None, {PLACE}"
    )

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        settings = {name: getattr(self, name) for name in self.__pretrained__.split()}
        return F.embedding_bag(input, self.weight, offsets, per_sample_weights=per_sample_weights, **settings)
