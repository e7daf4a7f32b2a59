"""torch's `distributions`: samples, densities, divergences, and transforms of them.

Counterpart of `torch.distributions`. Samples are torch's own for the same seed, as torch draws them on a CPU.
"""

from __future__ import annotations

from jaxvjp.distributions import constraints, transforms
from jaxvjp.distributions.composite import Independent, MixtureSameFamily, TransformedDistribution
from jaxvjp.distributions.constraint_registry import biject_to, transform_to
from jaxvjp.distributions.continuous import (
    Cauchy,
    Chi2,
    Exponential,
    FisherSnedecor,
    Gamma,
    Laplace,
    Normal,
    StudentT,
    Uniform,
    VonMises,
)
from jaxvjp.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from jaxvjp.distributions.distribution import Distribution, ExponentialFamily
from jaxvjp.distributions.kl import kl_divergence, register_kl
from jaxvjp.distributions.multivariate import Beta, Dirichlet, LowRankMultivariateNormal, MultivariateNormal
from jaxvjp.distributions.rarer import (
    ContinuousBernoulli,
    GeneralizedPareto,
    LKJCholesky,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    Wishart,
)
from jaxvjp.distributions.transformed import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    Weibull,
)
from jaxvjp.distributions.transforms import *  # noqa: F403 - torch's has them, too
from jaxvjp.types import public

__all__ = public.public_names(globals(), "constraints", "transforms")
__dir__ = __all__.copy
