# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.distributions import constraints as constraints
from jaxvjp.distributions import continuous
from jaxvjp.distributions import discrete
from jaxvjp.distributions import multivariate
from jaxvjp.distributions import rarer
from jaxvjp.distributions import transforms as transforms
from jaxvjp.distributions.composite import Independent as Independent
from jaxvjp.distributions.composite import MixtureSameFamily as MixtureSameFamily
from jaxvjp.distributions.composite import TransformedDistribution as TransformedDistribution
from jaxvjp.distributions.constraint_registry import biject_to as biject_to
from jaxvjp.distributions.constraint_registry import transform_to as transform_to
from jaxvjp.distributions.discrete import Categorical as Categorical
from jaxvjp.distributions.distribution import Distribution as Distribution
from jaxvjp.distributions.distribution import ExponentialFamily as ExponentialFamily
from jaxvjp.distributions.kl import kl_divergence as kl_divergence
from jaxvjp.distributions.kl import register_kl as register_kl
from jaxvjp.distributions.multivariate import Beta as Beta
from jaxvjp.distributions.multivariate import Dirichlet as Dirichlet
from jaxvjp.distributions.multivariate import LowRankMultivariateNormal as LowRankMultivariateNormal
from jaxvjp.distributions.rarer import LKJCholesky as LKJCholesky
from jaxvjp.distributions.transformed import Gumbel as Gumbel
from jaxvjp.distributions.transformed import HalfCauchy as HalfCauchy
from jaxvjp.distributions.transformed import HalfNormal as HalfNormal
from jaxvjp.distributions.transformed import InverseGamma as InverseGamma
from jaxvjp.distributions.transformed import Kumaraswamy as Kumaraswamy
from jaxvjp.distributions.transformed import LogNormal as LogNormal
from jaxvjp.distributions.transformed import LogisticNormal as LogisticNormal
from jaxvjp.distributions.transformed import Pareto as Pareto
from jaxvjp.distributions.transformed import Weibull as Weibull
from jaxvjp.distributions.transforms import AbsTransform as AbsTransform
from jaxvjp.distributions.transforms import AffineTransform as AffineTransform
from jaxvjp.distributions.transforms import CatTransform as CatTransform
from jaxvjp.distributions.transforms import ComposeTransform as ComposeTransform
from jaxvjp.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from jaxvjp.distributions.transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from jaxvjp.distributions.transforms import ExpTransform as ExpTransform
from jaxvjp.distributions.transforms import IndependentTransform as IndependentTransform
from jaxvjp.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from jaxvjp.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from jaxvjp.distributions.transforms import PowerTransform as PowerTransform
from jaxvjp.distributions.transforms import ReshapeTransform as ReshapeTransform
from jaxvjp.distributions.transforms import SigmoidTransform as SigmoidTransform
from jaxvjp.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from jaxvjp.distributions.transforms import SoftplusTransform as SoftplusTransform
from jaxvjp.distributions.transforms import StackTransform as StackTransform
from jaxvjp.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from jaxvjp.distributions.transforms import TanhTransform as TanhTransform
from jaxvjp.distributions.transforms import Transform as Transform
from jaxvjp.distributions.transforms import identity_transform as identity_transform
from jaxvjp.tensor.tensor import Tensor

class Bernoulli(discrete.Bernoulli):
    def __init__(self, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class Binomial(discrete.Binomial):
    def __init__(self, total_count: Tensor | int = 1, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class Cauchy(continuous.Cauchy):
    def __init__(self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None) -> None: ...
class Chi2(continuous.Chi2):
    def __init__(self, df: float | Tensor, validate_args: bool | None = None) -> None: ...
class ContinuousBernoulli(rarer.ContinuousBernoulli):
    def __init__(self, probs: float | Tensor | None = None, logits: float | Tensor | None = None, lims: tuple[float, float] = ..., validate_args: bool | None = None) -> None: ...
class Exponential(continuous.Exponential):
    def __init__(self, rate: float | Tensor, validate_args: bool | None = None) -> None: ...
class FisherSnedecor(continuous.FisherSnedecor):
    def __init__(self, df1: float | Tensor, df2: float | Tensor, validate_args: bool | None = None) -> None: ...
class Gamma(continuous.Gamma):
    def __init__(self, concentration: float | Tensor, rate: float | Tensor, validate_args: bool | None = None) -> None: ...
class GeneralizedPareto(rarer.GeneralizedPareto):
    def __init__(self, loc: float | Tensor, scale: float | Tensor, concentration: float | Tensor, validate_args: bool | None = None) -> None: ...
class Geometric(discrete.Geometric):
    def __init__(self, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class Laplace(continuous.Laplace):
    def __init__(self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None) -> None: ...
class Multinomial(discrete.Multinomial):
    def __init__(self, total_count: int = 1, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class MultivariateNormal(multivariate.MultivariateNormal):
    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
class NegativeBinomial(discrete.NegativeBinomial):
    def __init__(self, total_count: float | Tensor, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class Normal(continuous.Normal):
    def __init__(self, loc: float | Tensor, scale: float | Tensor, validate_args: bool | None = None) -> None: ...
class OneHotCategorical(discrete.OneHotCategorical):
    def __init__(self, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class OneHotCategoricalStraightThrough(discrete.OneHotCategoricalStraightThrough):
    def __init__(self, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class Poisson(discrete.Poisson):
    def __init__(self, rate: float | Tensor, validate_args: bool | None = None) -> None: ...
class RelaxedBernoulli(rarer.RelaxedBernoulli):
    def __init__(self, temperature: Tensor, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class RelaxedOneHotCategorical(rarer.RelaxedOneHotCategorical):
    def __init__(self, temperature: Tensor, probs: float | Tensor | None = None, logits: float | Tensor | None = None, validate_args: bool | None = None) -> None: ...
class StudentT(continuous.StudentT):
    def __init__(self, df: float | Tensor, loc: float | Tensor = 0.0, scale: float | Tensor = 1.0, validate_args: bool | None = None) -> None: ...
class Uniform(continuous.Uniform):
    def __init__(self, low: float | Tensor, high: float | Tensor, validate_args: bool | None = None) -> None: ...
class VonMises(continuous.VonMises):
    def __init__(self, loc: float | Tensor, concentration: float | Tensor, validate_args: bool | None = None) -> None: ...
class Wishart(rarer.Wishart):
    def __init__(self, df: float | Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
