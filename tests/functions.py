"""Parts of tests of custom Functions: a Function with given methods, a leaf, and programs of one call."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace


def custom(torch, forward, backward=None, **more):
    """A Function called F, of methods and attributes."""
    methods = {"forward": forward, **({"backward": backward} if backward else {}), **more}
    return type("F", (torch.autograd.Function,), {k: staticmethod(v) if callable(v) else v for k, v in methods.items()})


def leaf(torch, *values):
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def matrix(torch):
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def module(torch, name):
    """A submodule of torch, or jaxvjp's of that name."""
    return import_module(f"{torch.__name__}.{name}")


# What `forward` does, and `backward`.


def saves(ctx, x):
    ctx.save_for_backward(x)
    return x * 2


def exponentiates(ctx, x):
    x.exp_()
    ctx.mark_dirty(x)
    ctx.save_for_backward(x)
    return x


def times_saved(ctx, gradient):
    return gradient * ctx.saved_tensors[0]


# Programs that call one Function, differentiate, and tell everything. `s` is what such a program has come to so far:
# s.torch, the leaf s.x, the arguments s.h, the context s.ctx, the result s.y, and s.given: what backward was given.


def itself(s):
    return s.x


def computed(s):
    return s.x * 1


def constant(s):
    return s.x.detach().clone()


def nothing(s):
    return None


def unseen(s, write, *operands):
    """A write that is not recorded."""
    s.torch.no_grad()(write)(*operands)


def together(values):
    return values if isinstance(values, tuple) else (values,)


def tensors(s, values):
    return [each for each in together(values) if isinstance(each, s.torch.Tensor)]


def total(s):
    """A loss of every output that requires a gradient, each with a weight of its own."""
    outputs = [each for each in tensors(s, s.y) if each.requires_grad]
    return sum(place * each.sum() for place, each in enumerate(outputs, 1)) if outputs else ()


def weighted(ctx, *gradients):
    """A backward that nobody takes for the derivative: 5 times the first gradient, 6 times the second."""
    return sum(gradient * place for place, gradient in enumerate(gradients, 5) if gradient is not None)


def case(
    name,
    forward,
    backward=weighted,
    *,
    x=leaf,  # the leaf, made of the module
    at=itself,  # the argument, or a tuple of them
    under="enable_grad",  # the mode of the call
    then=nothing,  # after the call
    losses=total,  # what `backward` is called on: one loss, or several one after the other
    twice=False,  # differentiate the gradient once more, instead
    after=nothing,  # in the end; what it gives is told
    raises=None,
    **attributes,
):
    """A program for `agreement_of` that states what is special about it."""

    def program(torch):
        s = SimpleNamespace(torch=torch, x=x(torch), given=[], found=None)

        def kept(ctx, *arguments):
            s.ctx = ctx
            return forward(ctx, *arguments)

        def told(ctx, *gradients):
            s.given.append(gradients)
            return backward(ctx, *gradients)

        s.h = at(s)
        arguments = together(s.h)
        s.y = getattr(torch, under)()(custom(torch, kept, backward and told, **attributes).apply)(*arguments)
        then(s)
        wanted = together(losses(s))
        if twice:
            (first,) = torch.autograd.grad(*wanted, s.x, create_graph=True)
            s.found = first, torch.autograd.grad(first.sum(), s.x)
        else:
            for place, each in enumerate(wanted, 1):
                each.backward(retain_graph=place < len(wanted))
        last, outputs = after(s), tensors(s, s.y)
        seen = [(each, each.is_leaf, each._version, each._is_view()) for each in (s.x, *tensors(s, s.h), *outputs)]
        same = [[each is other for other in (s.x, *arguments, *outputs)] for each in outputs]
        return s.found, s.x.grad, s.given, seen, same, type(s.y).__name__, s.y, repr(s.y), last

    program.__name__, program.raises = name, raises
    return program


def doubled(module):
    """A custom Function that writes its argument in place."""

    class Doubled(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    return Doubled.apply
