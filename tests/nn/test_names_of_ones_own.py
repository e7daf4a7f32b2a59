"""No name that a program gives to an attribute or a method of its own is one that jaxvjp keeps something under.

What a public class has and torch's class has not, is named `__like_this__`. torch's names are recorded: those of its
classes and, in `MADE`, those of instances, which torch gives many more to.
"""

from __future__ import annotations

import importlib
import warnings
from inspect import isclass

from layers import MADE as LAYERS
from oracle import agreement_of, theirs

import jaxvjp

ROOTS = ("nn.Module", "optim.Optimizer", "optim.lr_scheduler.LRScheduler", "distributions.Distribution")
"""Classes that nearly all classes of a namespace derive from."""
CLASSES = {
    "": "Tensor Generator Size autocast device enable_grad inference_mode no_grad set_grad_enabled",
    **dict.fromkeys(["nn", "nn.modules.lazy", "nn.utils.prune", "nn.utils.parametrize", "optim"]),
    **dict.fromkeys(["optim.lr_scheduler", "optim.swa_utils", "distributions", "distributions.constraints"]),
    **dict.fromkeys(["distributions.constraint_registry", "autograd", "autograd.function", "amp", "quasirandom"]),
    **dict.fromkeys(["utils.data", "utils.data.distributed", "utils.hooks", "utils.benchmark"]),
    "autograd.graph": "allow_mutation_on_saved_tensors disable_saved_tensors_hooks save_on_cpu saved_tensors_hooks",
}
"""Namespaces, with the names of their classes; None for all that torch has there."""
ALSO = {
    "_opt_called": "torch's, of an optimizer with a scheduler",
    "_cached_x_y": "torch's, of a transform with a cache",
    **dict.fromkeys(["value", "explain", "jax", "jaxpr", "lowered", "to_torch"], "a tensor's way to JAX"),
    **dict.fromkeys(["device_mesh", "full_tensor", "placements", "redistribute", "to_local"], "a DTensor's, in torch"),
    "volatile": "torch's, which its tensors do not list",
    "_repr_html_": "what a notebook asks of a value to be shown",
}
"""Other names that jaxvjp has, and why."""
WEIGHT = "torch.nn.Parameter(torch.ones(2, 2))"
SGD = f"optim.SGD([{WEIGHT}], lr=0.1, momentum=0.9)"
ONES, NORMAL = "torch.ones(2)", "dist.Normal(torch.zeros(2), torch.ones(2))"
ROWS = "data.TensorDataset(torch.ones(6, 2))"
MADE = [
    *("torch.ones(2)", "nn.Parameter(torch.ones(2))", "nn.Buffer(torch.ones(2))", "nn.Module()"),
    *{row.partition("(")[0]: f"nn.{row}" for row, _ in LAYERS}.values(),
    *(f"nn.LazyConv{kind}{dims}d(4, 2)" for kind in ("", "Transpose") for dims in (1, 2, 3)),
    *(f"nn.Lazy{kind}Norm{dims}d()" for kind in ("Batch", "Instance") for dims in (1, 2, 3)),
    "nn.LazyLinear(4)",
    *("nn.Sequential(nn.ReLU())", "nn.ModuleList([nn.ReLU()])", "nn.ModuleDict({'a': nn.ReLU()})"),
    *(f"nn.ParameterList([{WEIGHT}])", f"nn.ParameterDict({{'a': {WEIGHT}}})"),
    *(f"nn.utils.parametrizations.{each}(nn.Linear(2, 2))" for each in ("weight_norm", "spectral_norm")),
    *(f"nn.utils.{each}(nn.Linear(2, 2))" for each in ("weight_norm", "spectral_norm")),
    "nn.utils.parametrizations.orthogonal(nn.Linear(2, 2)).parametrizations.weight",
    "nn.utils.parametrizations.orthogonal(nn.Linear(2, 2)).parametrizations.weight[0]",
    "nn.Linear(2, 2).register_forward_hook(print)",
    *(
        f"stepped(optim.{each}([{WEIGHT}]))"
        for each in ["Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD"]
    ),
    *(f"stepped(optim.{each}([{WEIGHT}]))" for each in ["LBFGS", "Muon", "NAdam", "RAdam", "RMSprop", "Rprop"]),
    f"stepped({SGD})",
    *(f"schedule.{each}({SGD})" for each in ("ConstantLR", "LinearLR", "PolynomialLR", "ReduceLROnPlateau")),
    *(f"schedule.{each}({SGD}, lambda epoch: 0.5)" for each in ("LambdaLR", "MultiplicativeLR")),
    *(f"schedule.{each}({SGD}, 2)" for each in ("StepLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts")),
    *(f"schedule.MultiStepLR({SGD}, [1, 2])", f"schedule.ExponentialLR({SGD}, 0.5)"),
    *(f"schedule.CyclicLR({SGD}, 0.1, 0.2)", f"schedule.OneCycleLR({SGD}, 0.1, 10)"),
    f"schedule.ChainedScheduler([schedule.ConstantLR({SGD})])",
    f"(lambda o: schedule.SequentialLR(o, [schedule.ConstantLR(o), schedule.ConstantLR(o)], [2]))({SGD})",
    *(f"optim.swa_utils.SWALR({SGD}, 0.1)", "optim.swa_utils.AveragedModel(nn.Linear(2, 2))"),
    *(f"used(dist.{each}({ONES}))" for each in ["Chi2", "Dirichlet", "Exponential", "HalfCauchy", "HalfNormal"]),
    *(f"used(dist.{each}({ONES}))" for each in ["Categorical", "OneHotCategorical", "Poisson", "StudentT"]),
    *(f"used(dist.{each}({ONES} / 2))" for each in ("Bernoulli", "ContinuousBernoulli", "Geometric")),
    *(f"used(dist.{each}(3, {ONES} / 2))" for each in ("Binomial", "Multinomial", "NegativeBinomial")),
    *(f"used(dist.{each}({ONES}, {ONES}))" for each in ["Beta", "Cauchy", "FisherSnedecor", "Gamma", "Gumbel"]),
    *(f"used(dist.{each}({ONES}, {ONES}))" for each in ["InverseGamma", "Kumaraswamy", "Laplace", "LogNormal"]),
    *(f"used(dist.{each}({ONES}, {ONES}))" for each in ["LogisticNormal", "Pareto", "VonMises", "Weibull"]),
    *(f"used({NORMAL})", f"used(dist.Independent({NORMAL}, 1))", f"used(dist.Uniform(0.0, {ONES}))"),
    f"used(dist.LowRankMultivariateNormal({ONES}, torch.eye(2), {ONES}))",
    f"used(dist.MultivariateNormal({ONES}, torch.eye(2)))",
    f"used(dist.MixtureSameFamily(dist.Categorical({ONES}), {NORMAL}))",
    f"used(dist.TransformedDistribution({NORMAL}, [dist.ExpTransform()]))",
    *(f"dist.{each}Transform()" for each in ["Abs", "CorrCholesky", "Exp", "LowerCholesky", "PositiveDefinite"]),
    *(f"dist.{each}Transform()" for each in ["Sigmoid", "Softmax", "Softplus", "StickBreaking", "Tanh"]),
    *("dist.AffineTransform(1, 2)", "dist.AffineTransform(1, 2).inv", "dist.PowerTransform(torch.tensor(2.0))"),
    *("dist.ComposeTransform([dist.ExpTransform()])", "dist.IndependentTransform(dist.ExpTransform(), 1)"),
    *("dist.ReshapeTransform((2,), (1, 2))", f"dist.CumulativeDistributionTransform({NORMAL})"),
    *(f"dist.constraints.{each}" for each in ["boolean", "dependent", "positive_definite", "real", "simplex"]),
    *("dist.constraints.interval(0, 1)", "dist.constraints.independent(dist.constraints.real, 1)"),
    *(ROWS, f"data.StackDataset({ROWS}, {ROWS})", f"data.ConcatDataset([{ROWS}])", f"data.Subset({ROWS}, [1])"),
    f"(lambda loader: (next(iter(loader)), len(loader), loader)[-1])(data.DataLoader({ROWS}, 2, shuffle=True))",
    *("data.BatchSampler(data.SequentialSampler([1, 2]), 2, False)", "data.RandomSampler([1, 2])"),
    *("data.WeightedRandomSampler([1.0, 2.0], 2)", "data.SubsetRandomSampler([1, 2])", "data.ChainDataset([])"),
    "data.DistributedSampler([1, 2], 2, 0)",
    *(f"entered(torch.{each}())" for each in ("no_grad", "enable_grad", "inference_mode")),
    *("torch.set_grad_enabled(True)", "entered(torch.autograd.detect_anomaly())"),
    *("torch.autograd.set_detect_anomaly(False)", "torch.autograd.graph.saved_tensors_hooks(None, None)"),
    *("entered(torch.autocast('cpu'))", "torch.amp.GradScaler('cpu')", "torch.Generator()"),
    *("torch.quasirandom.SobolEngine(2)", "torch.utils.benchmark.Timer()", "context(torch)"),
]
"""Instances of classes, made in a namespace, with what is done to them first."""


def public(names):
    return {each for each in names if not (each.startswith("__") and each.endswith("__"))}


def module_of(torch, path):
    return importlib.import_module(f"{torch.__name__}.{path}" if path else torch.__name__)


def found(torch, path):
    *module, name = path.split(".")
    return getattr(module_of(torch, ".".join(module)), name)


def classes_in(torch, space):
    """The public classes of a namespace that a program may derive from or make instances of, by name."""
    module, listed = module_of(torch, space), CLASSES[space]
    names = [each for each in dir(module) if not each.startswith("_")] if listed is None else listed.split()
    found = {each: getattr(module, each, None) for each in names}
    return {name: each for name, each in found.items() if isclass(each)}


def of_class(torch, kind):
    """The names of a class, those of a root left out."""
    roots = [found(torch, each) for each in ROOTS]
    return public(dir(kind)).difference(*[dir(each) for each in roots if each is not kind and issubclass(kind, each)])


def stepped(optimizer):
    """An optimizer after a step."""
    (weight,) = optimizer.param_groups[0]["params"]

    def closure():
        optimizer.zero_grad()
        loss = (weight * weight).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return optimizer


def used(distribution):
    """A distribution after all that it can be asked for."""
    value = distribution.sample()
    for name in ("mean", "variance", "mode", "support", "entropy", "log_prob", "covariance_matrix", "precision_matrix"):
        try:
            asked = getattr(distribution, name)
            if callable(asked):
                asked(*[value] * (name == "log_prob"))
        except (NotImplementedError, AttributeError):
            pass
    return distribution


def entered(block):
    with block:
        return block


def context(torch):
    """The `ctx` of a Function, after its backward."""
    contexts = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            contexts.append(ctx)
            return gradient * 2

    Doubled.apply(torch.ones(2, requires_grad=True)).sum().backward()
    return contexts[0]


def instance(torch, row):
    space = {"torch": torch, "nn": torch.nn, "optim": torch.optim, "schedule": torch.optim.lr_scheduler}
    space |= {"dist": torch.distributions, "data": torch.utils.data}
    space |= {"stepped": stepped, "used": used, "entered": entered, "context": context}
    for each in ("nn.utils.parametrizations", "optim.swa_utils", "utils.data", "quasirandom", "utils.benchmark"):
        module_of(torch, each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return eval(row, space)


def of_instance(torch, row):
    """The names of an instance, those of its root left out."""
    made = instance(torch, row)
    roots = [each for each in ROOTS if isinstance(made, found(torch, each)) and type(made) is not found(torch, each)]
    known = [dir(torch.nn.Module() if each == "nn.Module" else found(torch, each)) for each in roots]
    return public(dir(made)).difference(*known)


def names_of_instances(torch):
    return {row: " ".join(sorted(of_instance(torch, row))) for row in MADE}


def names_of_classes(torch):
    """By namespace and name of a class that is at home there."""
    found = {}
    for space in CLASSES:
        home = f"torch.{space}".rstrip(".")
        classes = {name: each for name, each in classes_in(torch, space).items() if each.__module__.startswith(home)}
        found[space] = {name: " ".join(sorted(of_class(torch, each))) for name, each in classes.items()}
    return found


def test_a_public_class_has_no_names_but_torchs():
    instances, classes = theirs(names_of_instances).value, theirs(names_of_classes).value
    more = {row: of_instance(jaxvjp, row).difference(names.split(), ALSO) for row, names in instances.items()}
    kinds = {row: type(instance(jaxvjp, row)) for row in MADE}
    for space, named in classes.items():
        for name, kind in classes_in(jaxvjp, space).items():
            if name in named:
                given = [{*instances[row].split()} for row, each in kinds.items() if issubclass(each, kind)]
                known = [*named[name].split(), *ALSO, *(set.intersection(*given) if given else ())]
                more[space, name] = of_class(jaxvjp, kind).difference(known)
    assert not {which: names for which, names in more.items() if names}


# The names that such attributes and methods had in jaxvjp before.


def modules(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self._load = self._tell = self._complete = 3

        def _forward(self, x):
            return self.layer(x)

        def _member(self):
            return "own"

        def _own_state(self):
            return {"own": 1}

        def _floating(self, x):
            return x.double()

        def forward(self, x):
            return self._floating(self._forward(x)) * self._load

    torch.manual_seed(0)
    net = Net()
    net.register_forward_hook(lambda module, args, result: result + 1)
    state = net.state_dict()
    net.load_state_dict({name: each + 1 for name, each in state.items()})
    return (
        net(torch.ones(2)),
        str(net.half().get_parameter("layer.weight").dtype),
        list(state),
        net._member(),
        net._complete,
    )


def layers(torch):
    class Conv(torch.nn.Conv2d):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.dims, self.kind, self.shown, self.size = 7, "x", "dims", (1, 2)

        def _weight_shape(self):
            return None

        def _build(self):
            return "built"

        def _allot(self, *sizes):
            return sizes

        def _settle(self):
            raise ValueError

    class Bounded(torch.nn.Hardtanh):
        dims = shown = 3

        def _settle(self):
            raise ValueError

    class Cell(torch.nn.RNNCell):
        kind = "lstm"

    torch.manual_seed(0)
    conv, cell = Conv(2, 3, 3, padding=1, padding_mode="reflect"), Cell(2, 2)
    done = conv(torch.ones(1, 2, 4, 4)), cell(torch.ones(1, 2)), Bounded(-1, 1)(torch.tensor([-3.0, 0.5]))
    return (
        done,
        repr(conv),
        repr(cell),
        repr(Bounded()),
        conv._build(),
        conv._allot(1),
        (conv.dims, conv.kind, conv.size),
    )


def more_layers(torch):
    class Table(torch.nn.Embedding):
        _settings, _may_freeze = ("sparse",), False

        def _fill(self):
            raise ValueError

    class Network(torch.nn.LSTM):
        def _given(self):
            raise ValueError

        _state_sizes = (1, 2)

    class Norm(torch.nn.BatchNorm1d):
        allowed = ()

    class Lazy(torch.nn.LazyLinear):
        size, _defer, _materialize = 3, None, None

    class Chain(torch.nn.Sequential):
        def _of(self):
            return "of"

        _names = ("a", "b")

    torch.manual_seed(0)
    table = Table.from_pretrained(torch.eye(3), True, 0)
    chain = Chain(torch.nn.Linear(2, 3), Norm(3).eval(), torch.nn.ReLU())
    results = table(torch.tensor([0, 2])), Network(2, 2)(torch.ones(3, 2))[0], chain(torch.ones(4, 2)), chain[:2]._of()
    torch.manual_seed(0)
    return results, type(chain[:2]).__name__, Lazy(2)(torch.ones(1, 3)), chain._names


def transformers(torch):
    class Layer(torch.nn.TransformerEncoderLayer):
        attentions = "none"

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.has_kernel = self._is_fast = False

        def _added(self, x):
            return x

        def _fed(self, x):
            raise ValueError

    class Attention(torch.nn.MultiheadAttention):
        has_kernel = attend_fast = None

    torch.manual_seed(0)
    layer, x = Layer(4, 2, 8, batch_first=True), torch.ones(2, 3, 4)
    with torch.no_grad():
        return layer(x).shape, layer.eval()(x), Attention(4, 2, batch_first=True).eval()(x, x, x)[0]


def transformer_blocks_of_a_subclass(torch):
    """torch's own hooks of a layer, which subclasses override."""

    class Encoder(torch.nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return super()._sa_block(x, attn_mask, key_padding_mask, is_causal) * 2

        def _ff_block(self, x):
            return super()._ff_block(x) - 1

    class Decoder(torch.nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return super()._mha_block(x, mem, attn_mask, key_padding_mask, is_causal) + 3

    torch.manual_seed(0)
    encoder, decoder = Encoder(4, 2, 8, 0.0), Decoder(4, 2, 8, 0.0, norm_first=True)
    x, memory = torch.rand(3, 2, 4), torch.rand(5, 2, 4)
    return encoder(x), decoder(x, memory), encoder._ff_block(x), decoder._sa_block(x, None, None)


def a_convolution_of_ones_own(torch):
    """Derived from the base class of all, with torch's arguments of it."""

    class Conv(torch.nn.modules.conv._ConvNd):
        def __init__(self, channels, kernel_size):
            sizes = [(each, each) for each in (kernel_size, 1, 0, 1)]
            super().__init__(channels, channels, *sizes, False, (0, 0), 1, True, "zeros")

        def forward(self, x):
            return torch.nn.functional.conv2d(x, self.weight, self.bias)

    torch.manual_seed(0)
    conv = Conv(2, 3)
    return conv(torch.ones(1, 2, 4, 4)), repr(conv), conv.transposed, conv.output_padding


def optimizers(torch):
    class Descent(torch.optim.Adam):
        COUNTS, CHECKED, LOOKS_BACK, AS_REAL = {}, None, True, 3

        def _update(self, *groups):
            raise ValueError

        def _rule(self):
            raise ValueError

        _begun = _numbers = _kept = _decays = _apply_rule = _count = _hooks = _cast = _registered = 1

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = Descent([x], lr=0.1, weight_decay=0.1)
    optimizer._updates = "mine"
    for _ in range(3):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    return x, optimizer.state[x]["exp_avg"], optimizer._updates, optimizer.COUNTS


def schedulers(torch):
    class Steps(torch.optim.lr_scheduler.StepLR):
        _factor, _closed, _present = 0.5, True, None

        def _set(self):
            raise ValueError

    class Cosine(torch.optim.lr_scheduler.CosineAnnealingLR):
        _cosine = _left = 1

    class Circles(torch.optim.lr_scheduler.CyclicLR):
        _begin_momentum = _set_momentum = _present = None

    rates = []
    for make in (lambda o: Steps(o, 2), lambda o: Cosine(o, 4), lambda o: Circles(o, 0.1, 0.5, 2)):
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        scheduler = make(optimizer)
        for _ in range(5):
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr()[0])
    return rates


def distributions(torch):
    class Own(torch.distributions.Normal):
        _param = param_shape = 3

        def _set(self, name):
            return name

        def _listed(self):
            raise ValueError

        def _check_parameters(self):
            raise ValueError

    class Written(torch.distributions.Distribution):
        support = torch.distributions.constraints.positive
        arg_constraints = property(lambda self: {"rate": self.support})

        def __init__(self, rate):
            self.rate, self._param, self.param_shape = rate, "mine", (1,)
            super().__init__(rate.shape)

        def log_prob(self, value):
            return self.rate.log() - self.rate * value

    class Doubling(torch.distributions.Transform):
        domain = codomain = torch.distributions.constraints.real
        bijective, SETTINGS, MAP, sign = True, ("none",), 3, 1

        def _call(self, x):
            return x * 2

        def _inverse(self, y):
            return y / 2

        def _remembered(self):
            raise ValueError

        def log_abs_det_jacobian(self, x, y):
            return torch.full_like(x, 0.6931472)

    own, written = Own(torch.zeros(2), torch.ones(2)), Written(torch.tensor([0.5, 1.0]))
    moved = torch.distributions.TransformedDistribution(own, [Doubling()])
    return (
        (own.log_prob(torch.ones(2)), own._set("a"), own._param, own.expand((3, 2)).mean),
        (written.log_prob(torch.ones(2)), written._param, written.param_shape, moved.log_prob(torch.ones(2))),
        (Doubling() == Doubling(), Doubling().inv(torch.ones(2))),
    )


def functions(torch):
    class Squared(torch.autograd.Function):
        backward_method, _separates_context, _generated_vmap = "none", 3, None

        @staticmethod
        def forward(ctx, x):
            ctx._saved, ctx._freed, ctx._step, ctx._dirty, ctx._to_save = 1, True, "step", (), ()
            ctx._materialize = ctx._accessed = ctx._in_jvp = ctx._generated = "mine"
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            assert (ctx._saved, ctx._freed, ctx._step, ctx._in_jvp) == (1, True, "step", "mine")
            return gradient * 2 * x

    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = Squared.apply(x)
    y.sum().backward()
    return x.grad, y.grad_fn.name()


def modes(torch):
    class without(torch.no_grad):  # noqa: N801 - as torch writes them
        again = _settings = _state = _before = 1

        def _set(self):
            raise ValueError

        def _check(self):
            raise ValueError

    class inferring(torch.inference_mode):  # noqa: N801
        _tangents = 3

    x = torch.ones(2, requires_grad=True)

    @without()
    def doubled():
        return x * 2

    with without():
        inside = x * 2
    with inferring():
        inferred = x * 2
    return doubled(), inside, inferred.is_inference(), torch.is_grad_enabled()


def a_mode_is_cloned_for_each_call(torch):
    cloned = []

    class counting(torch.no_grad):  # noqa: N801
        def clone(self):
            cloned.append(type(self).__name__)
            return super().clone()

    @counting()
    def function():
        return torch.is_grad_enabled()

    return function(), function(), cloned, type(torch.enable_grad().clone()).__name__


def loaders(torch):
    class Loader(torch.utils.data.DataLoader):
        _made = _length_told = "mine"

    class Rows(torch.utils.data.ChainDataset):
        _checked = None

    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([1, 2, 3])

    loader = Loader(Rows([Numbers(), Numbers()]), batch_size=4)
    return list(loader), loader._made


def others(torch):
    class Source(torch.Generator):
        def normal(self):
            return "own"

        uniform = doubles = integers = state = restore = _draws = _seed = _spare = 3

    class Scaler(torch.amp.GradScaler):
        def _given(self):
            raise ValueError

        _left_to = _optimizers = 1

    source = Source().manual_seed(3)
    x = torch.ones(2, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([x], lr=0.1), Scaler("cpu")
    scaler.scale((x * x).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    drawn = torch.rand(3, generator=source), torch.randn(20, generator=source), torch.randperm(5, generator=source)
    return drawn, source.normal(), source.initial_seed(), x, scaler.get_scale()


test_agrees_with_torch = agreement_of(
    [
        *(modules, layers, more_layers, transformers, transformer_blocks_of_a_subclass),
        *(a_convolution_of_ones_own, optimizers, schedulers, distributions, functions, modes),
        *(a_mode_is_cloned_for_each_call, loaders, others),
    ]
)
