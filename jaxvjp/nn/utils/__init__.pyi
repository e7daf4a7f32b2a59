# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.nn.utils import parametrizations as parametrizations
from jaxvjp.nn.utils import parametrize as parametrize
from jaxvjp.nn.utils import prune as prune
from jaxvjp.nn.utils import stateless as stateless
from jaxvjp.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from jaxvjp.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from jaxvjp.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from jaxvjp.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from jaxvjp.nn.utils.clip_grad import get_total_norm as get_total_norm
from jaxvjp.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from jaxvjp.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from jaxvjp.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from jaxvjp.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from jaxvjp.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from jaxvjp.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from jaxvjp.nn.utils.init import skip_init as skip_init
from jaxvjp.nn.utils.old_norms import remove_spectral_norm as remove_spectral_norm
from jaxvjp.nn.utils.old_norms import remove_weight_norm as remove_weight_norm
from jaxvjp.nn.utils.old_norms import spectral_norm as spectral_norm
from jaxvjp.nn.utils.old_norms import weight_norm as weight_norm

