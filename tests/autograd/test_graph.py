"""The backward graph by torch's names: hooks of its steps, gradient edges, hooks of several tensors, saved tensors."""

from __future__ import annotations

import gc

import pytest
from functions import leaf, module
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp


def graph(torch):
    return module(torch, "autograd.graph")


def accumulation(x):
    """The AccumulateGrad step of a leaf."""
    return (x * 2).grad_fn.next_functions[0][0]


# Hooks of steps


def the_order_of_all_hooks_of_a_leaf(torch):
    x, log = leaf(torch), []
    y = (x * 3).sum()
    step = y.grad_fn.next_functions[0][0].next_functions[0][0]
    step.register_hook(lambda given, arrived: log.append(("after", given, arrived, x.grad)))
    step.register_prehook(lambda arrived: log.append(("before", arrived, x.grad is None)))
    x.register_hook(lambda gradient: log.append(("tensor", gradient)))
    x.register_post_accumulate_grad_hook(lambda x: log.append(("accumulated", x.grad)))
    step.register_prehook(lambda arrived: log.append("before, too"))
    y.backward()
    return log, x.grad


def a_prehook_of_a_leaf_replaces_what_is_added(torch):
    x = leaf(torch)
    step = accumulation(x)
    step.register_prehook(lambda arrived: (arrived[0] * 10,))
    (x * 3).sum().backward()
    (x * 1).sum().backward(inputs=[x])
    alone = torch.autograd.grad((x * 3).sum(), x)
    with torch.no_grad():
        x.mul_(2)
    x.grad = None
    (x * 3).sum().backward()
    return alone, x.grad, step is accumulation(x), step.variable is x


def a_hook_of_a_leaf_under_create_graph(torch):
    x = leaf(torch)
    step = accumulation(x)
    step.register_prehook(lambda arrived: (arrived[0] * x,))
    (x * 3).sum().backward(create_graph=True)
    return x.grad, x.grad.grad_fn is not None


def a_removed_hook_of_a_leaf(torch):
    x = leaf(torch)
    step = accumulation(x)
    step.register_prehook(lambda arrived: (arrived[0] * 10,)).remove()
    with step.register_hook(lambda given, arrived: (1, 2)):
        pass
    (x * 3).sum().backward()
    return x.grad


def a_prehook_gives_none(torch):
    x, w = leaf(torch), leaf(torch)
    step = accumulation(x)
    step.register_prehook(lambda arrived: (None,))
    (x * w).sum().backward()
    y = x * 3
    y.grad_fn.register_prehook(lambda arrived: (None,))
    (y * w).sum().backward()
    z = w.exp() * 2
    z.grad_fn.register_hook(lambda given, arrived: (None, None))
    z.sum().backward()
    return x.grad, w.grad


def refusals(torch):
    found = []
    for register in ("register_prehook", "register_hook"):
        for returned in (5, [1.0], torch.ones(2), (torch.ones(2), torch.ones(2)), (torch.ones(3),), (torch.ones(2),)):
            for of_leaf in (False, True):
                x = leaf(torch)
                y = x.exp()
                step = accumulation(x) if of_leaf else y.grad_fn
                getattr(step, register)(lambda *given, returned=returned: returned)
                try:
                    y.sum().backward()
                    found.append(x.grad)
                except (TypeError, RuntimeError) as error:
                    found.append((type(error).__name__, str(error).partition("\n")[0]))
    return found


def a_step_is_one_object(torch):
    x = leaf(torch)
    y = x * 3
    values, indices = torch.stack([x, y]).max(dim=0)
    first, second = (y * 2).unbind(0)
    y.grad_fn.metadata["note"] = 1
    return (
        y.grad_fn is y.grad_fn,
        accumulation(x) is accumulation(x),
        y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0],
        {y.grad_fn: 5}[y.grad_fn],
        [step and step.name() for step, _ in values.grad_fn.next_functions],
        [(step and step.name(), number) for step, number in (second * 1).grad_fn.next_functions],
        [step and step.name() for step, _ in first.grad_fn.next_functions],
        [each.output_nr for each in (x, y, values, indices, first, second)],
    )


def what_a_step_saved(torch):
    x, w = leaf(torch), leaf(torch, 3.0, 4.0)
    y, z = x * w, x.exp()
    c = (x * 2).grad_fn
    found = [y.grad_fn._saved_self is x, y.grad_fn._saved_other is w, z.grad_fn._saved_result, c._saved_self]
    z.sum().backward()
    try:
        found.append(z.grad_fn._saved_result)
    except RuntimeError as error:
        found.append(str(error))
    return found


# Leaves that are written, and what a hook of a Function sees


def an_edge_of_a_leaf_that_was_written_since(torch):
    x, other = leaf(torch), leaf(torch)
    edges = [graph(torch).get_gradient_edge(each) for each in (x, other)]
    y = x.clone() * other.clone()
    with torch.no_grad():
        x.mul_(2)
        other.set_(torch.zeros(3))
    return torch.autograd.grad(y.sum(), (*edges, x))


@raises(RuntimeError)
def a_leaf_that_was_set_is_another(torch):
    x = leaf(torch)
    y = x.clone()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    torch.autograd.grad(y.sum(), x)


def a_leaf_that_was_set_keeps_its_hooks_and_its_grad(torch):
    x, seen = leaf(torch), []
    x.register_hook(seen.append)
    y = x * 2
    with torch.no_grad():
        x.set_(torch.zeros(2))
    y.sum().backward()
    (x * 3).sum().backward()
    return seen, x.grad


def hooks_see_gradients_of_arguments_without_one(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, number):
            return x * y * number, y + 1

        @staticmethod
        def backward(ctx, one, other):
            return one, other * 2, None

    seen = []
    for which in ((True, False), (False, True), (True, True)):
        x, y = (torch.ones(2, requires_grad=each) for each in which)
        one, other = Product.apply(x, y, 3)
        one.grad_fn.register_hook(lambda given, arrived: seen.append((given, arrived)))
        one.grad_fn.register_hook(lambda given, arrived: tuple(None if each is None else each * 5 for each in given))
        (one + other).sum().backward()
        seen.append((x.grad, y.grad))
    return seen


# Gradient edges


@raises(RuntimeError)
def edges_in_the_place_of_tensors(torch):
    x = leaf(torch)
    y = x * 2
    z = (y**2).sum()
    edge, of_leaf = graph(torch).get_gradient_edge(y), graph(torch).get_gradient_edge(x)
    kept = edge.node is y.grad_fn, edge.output_nr, of_leaf.node.name(), isinstance(edge.node, graph(torch).Node)
    del y
    gc.collect()
    found = [torch.autograd.grad(z, edge, retain_graph=True), torch.autograd.grad(z, (edge, of_leaf, x))]
    found.append(torch.autograd.grad(edge, x, torch.ones(2), retain_graph=True))
    torch.autograd.backward(edge, torch.ones(2), inputs=[of_leaf])
    return kept, found, x.grad


def the_edge_of_one_of_several_results(torch):
    x = leaf(torch)
    second = (x * x).unbind(0)[1]
    edge = graph(torch).get_gradient_edge(second)
    by_hand = graph(torch).GradientEdge(second.grad_fn, 1)
    return edge.output_nr, torch.autograd.grad(edge, x, retain_graph=True), torch.autograd.grad(by_hand, x)


@raises(RuntimeError)
def no_edge_without_a_gradient(torch):
    graph(torch).get_gradient_edge(torch.ones(2))


@raises(RuntimeError)
def an_edge_of_several_elements_needs_a_gradient(torch):
    torch.autograd.backward(graph(torch).get_gradient_edge(leaf(torch) * 2))


# Hooks of several tensors


def hooks_of_several_tensors(torch):
    a, b, c, log = leaf(torch), leaf(torch), leaf(torch), []
    handle = graph(torch).register_multi_grad_hook((a, b, c), lambda gradients: log.append(list(gradients)))
    first = graph(torch).register_multi_grad_hook((c, a), lambda gradient: log.append(gradient), mode="any")
    (a * b).sum().backward()
    with torch.no_grad():
        b.add_(1)
    (a * b).sum().backward()
    (a * c).sum().backward(inputs=[c])
    handle.remove()
    first.remove()
    (a * b).sum().backward()
    y, z = a * 2, a * 3
    with graph(torch).register_multi_grad_hook((y, z, a, y), lambda gradients: log.append(list(gradients))):
        (y * z).sum().backward()
    return log


def hooks_of_several_tensors_of_which_one_is_the_root(torch):
    a, b, log = leaf(torch), leaf(torch), []
    y = a * b
    for tensors in ((y,), (y, a), (a, b), (a, a)):
        graph(torch).register_multi_grad_hook(tensors, lambda gradients: log.append(list(gradients)))
    v = torch.ones(y.shape)
    y.backward(v, retain_graph=True)
    log.append("two roots")
    torch.autograd.backward([y, a], [v, v], retain_graph=True)
    log.append("a leaf")
    a.backward(v)
    torch.autograd.grad(y, y, v)
    return log


@raises(ValueError)
def a_mode_that_there_is_not(torch):
    graph(torch).register_multi_grad_hook((leaf(torch),), lambda gradients: None, mode="some")


@raises(AssertionError)
def several_of_which_one_is_a_view_without_a_record(torch):
    y = leaf(torch) * 2
    with torch.no_grad():
        view = y[0]
    assert view.requires_grad
    graph(torch).register_multi_grad_hook((view,), lambda gradient: None, mode="any")
    graph(torch).register_multi_grad_hook((y, view), lambda gradients: None)


# Writes to what was saved


def a_version_counted_up(torch):
    x = torch.ones(2)
    before = x._version
    graph(torch).increment_version(x)
    graph(torch).increment_version([x, x[0]])
    return x._version - before, x


@raises(RuntimeError)
def what_was_saved_before_the_count_went_up(torch):
    x = leaf(torch)
    w = x * 1
    y = w * w
    graph(torch).increment_version(w)
    (w * w).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    y.sum().backward()


@raises(RuntimeError)
def a_leaf_whose_version_was_counted_up(torch):
    x = leaf(torch)
    y = x * x
    graph(torch).increment_version(x)
    y.sum().backward()


@raises(RuntimeError)
def only_tensors_have_versions(torch):
    graph(torch).increment_version(5)


def writes_to_what_is_saved_allowed(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            x, y = ctx.saved_tensors
            return gradient * x * y

    gradients = []
    for save_and_write in (
        lambda c: (c**2, c.sin_())[0],
        lambda c: (c.exp(), c.mul_(3))[0].mul_(2),
        lambda c: (c[0] ** 2, c.mul_(3))[0],
        lambda c: (Doubled.apply(c), c.mul_(3))[0].mul_(5),
    ):
        with graph(torch).allow_mutation_on_saved_tensors() as context:
            x = leaf(torch)
            save_and_write(x.clone()).sum().backward()
            context.clear()
        gradients.append(x.grad)
    return gradients


def what_was_written_since_it_was_saved(torch):
    with graph(torch).allow_mutation_on_saved_tensors() as context:
        x, told = leaf(torch), []
        b = x.clone()
        y = b * b
        told.append(len(context.cloned))
        b.mul_(3)
        told.append(len(context.cloned))
        b.mul_(2)
        z = b.sin()
        told.append(len(context.cloned))
        b.add_(1)
        told.append([each.tolist() for each in context.cloned.values()])
        w = b.exp()
        w.add_(1)
        told.append(len(context.cloned))
        y.sum().backward()
        told.append(len(context.cloned))
        context.clear()
        return told, len(context.cloned), x.grad, z, w


@raises(RuntimeError)
def only_of_what_is_recorded_inside(torch):
    c = leaf(torch).clone()
    y = c**2
    with graph(torch).allow_mutation_on_saved_tensors():
        c.sin_()
        y.sum().backward()


@raises(RuntimeError)
def one_inside_the_other(torch):
    with graph(torch).allow_mutation_on_saved_tensors(), graph(torch).allow_mutation_on_saved_tensors():
        pass


# Old names, and those that have nothing to do here


def the_old_variable(torch):
    v = torch.autograd.Variable
    made = v(torch.ones(2), requires_grad=True)
    return (
        isinstance(torch.ones(1), v),
        isinstance(5, v),
        made,
        v(torch.ones(2)),
        v(),
        torch.autograd.variable.Variable is v,
    )


def settings_without_effect(torch):
    checkpoint = module(torch, "utils.checkpoint")
    with torch.autograd.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    graph(torch).set_warn_on_accumulate_grad_stream_mismatch(False)
    x = leaf(torch)
    with checkpoint.set_checkpoint_early_stop(enable=False), checkpoint.set_checkpoint_debug_enabled(enabled=None):
        y = checkpoint.checkpoint(torch.sin, x, use_reentrant=False, context_fn=checkpoint.noop_context_fn)
    checkpoint.check_backward_validity([x])
    return inside, torch.autograd.is_multithreading_enabled(), y, checkpoint.detach_variable((x, x * 2, 3))


@raises(RuntimeError)
def detach_variable_takes_a_tuple(torch):
    module(torch, "utils.checkpoint").detach_variable(5)


def functions_without_writes(torch):
    def f(x):
        y = x.clone()
        y.add_(1)
        return (y * x).sum()

    x = torch.tensor([1.0, 2.0])
    pure = torch.func.functionalize(f, remove="mutations_and_views")
    return pure(x), torch.func.grad(pure)(x), torch.func.vmap(torch.func.functionalize(torch.sin))(x)


@raises(RuntimeError)
def there_is_no_such_thing_to_remove(torch):
    torch.func.functionalize(torch.sin, remove="everything")(torch.ones(1))


def a_look_inside_a_transform(torch):
    seen = []

    def f(x):
        seen.append(torch.func.debug_unwrap(x * 2))
        return (x * 2).sum()

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    torch.func.vmap(f)(x)
    torch.func.grad(f)(x)
    torch.func.vmap(torch.func.grad(f))(x)
    f(x)
    return seen


def two_results_of_one_step_share_its_hooks(torch):
    a = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    variance, mean = torch.var_mean(a, dim=0)
    seen = []

    def before(gradients):
        seen.append([None if each is None else each.tolist() for each in gradients])
        return tuple(None if each is None else each * 2 for each in gradients)

    mean.grad_fn.register_prehook(before)
    variance.grad_fn.register_hook(lambda below, above: (below[0] * 3,))
    mean.sum().backward(retain_graph=True)
    (variance + mean).sum().backward()
    return a.grad, seen, variance.grad_fn is mean.grad_fn


def hooks_of_two_results_of_one_step(torch):
    a = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    variance, mean = torch.var_mean(a, dim=0)
    variance.register_hook(lambda gradient: gradient * 2)
    mean.register_hook(lambda gradient: gradient * 3)
    mean.retain_grad()
    (variance * mean).sum().backward()
    return a.grad, mean.grad


def differentiated_by_the_results_of_one_step(torch):
    a = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    variance, mean = torch.var_mean(a, dim=0)
    y = (variance * mean).sum()
    gradients = torch.autograd.grad(y, [variance, mean, a], create_graph=True)
    return gradients, torch.autograd.grad((gradients[2] ** 2).sum(), a)


def two_results_under_saving_hooks(torch):
    a = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda saved: saved):
        values, _ = torch.sort(a**2)
        y = (values * values).sum()
    y.backward()
    return a.grad


def classes_of_steps(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(isinstance(ctx, torch.autograd.graph.Node))
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, first, second):
            return first + 2 * second

    seen = []
    x = torch.ones(2, requires_grad=True)
    first, second = Double.apply(x)
    step = (x * 2).grad_fn
    return (
        seen,
        first.grad_fn is second.grad_fn,
        isinstance(first.grad_fn, Double._backward_cls),
        first.grad_fn.__class__ is Double._backward_cls,
        [type(each).__name__ for each in (first.grad_fn, step, step.next_functions[0][0])],
        [isinstance(each, torch.autograd.graph.Node) for each in (first.grad_fn, step, None, 1)],
    )


def notes_last_as_long_as_the_graph(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.metadata["note"] = "kept"
    return y.grad_fn.metadata


def a_step_called_with_cotangents(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    one, both = (x**2).grad_fn, (x * torch.tensor([3.0, 4.0], requires_grad=True)).grad_fn
    told = []
    for given in ((), (x.detach(), x.detach())):
        try:
            one(*given)
        except TypeError as error:
            told.append(str(error))
    return one(torch.ones(2)), both(torch.ones(2)), told


def hooks_before_a_step_that_backward_ends_at(torch):
    log = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x.clone()
    y.grad_fn.register_prehook(lambda gradients: log.append("step") or tuple(each * 2 for each in gradients))
    y.register_hook(lambda gradient: log.append("tensor") or gradient * 3)
    y.sum().backward(inputs=(y,), retain_graph=True)
    torch.autograd.grad(y.sum(), y)
    return log, y.grad


def what_cannot_be_deleted(torch):
    x, told = torch.ones(2, requires_grad=True), []
    for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
        try:
            delattr(x, name)
        except RuntimeError as error:
            told.append(str(error))
    return told


def a_hook_that_holds_its_step(torch):
    import gc
    import weakref

    class Kept:
        pass

    held = []

    def recorded():
        y = torch.tensor(1.0, requires_grad=True).clone()
        step, kept = y.grad_fn, Kept()

        def hook(*_):
            held.append(len((step, kept)))

        y.grad_fn.register_hook(hook)
        return y.clone(), weakref.ref(kept)

    result, kept = recorded()
    result.backward(retain_graph=True)
    alive = kept() is not None
    del result
    gc.collect()
    return held, alive, kept() is None


test_agrees_with_torch = agreement_of(programs_of(globals(), graph, leaf, module))


class Affine:
    """What a module is, as far as `functional_call` cares."""

    def __init__(self, value):
        self.weight = jaxvjp.tensor([value, 2.0], requires_grad=True)
        self.scale = jaxvjp.tensor(value)

    def __call__(self, x):
        return (self.weight * x).sum() * self.scale


def test_an_ensemble_is_one_model():
    models = [Affine(1.0), Affine(3.0)]
    parameters, buffers = jaxvjp.func.stack_module_state(models)
    x = jaxvjp.tensor([1.0, 1.0])
    together = jaxvjp.func.vmap(lambda p, b: jaxvjp.func.functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    assert together.tolist() == [each(x).item() for each in models]
    assert [each.is_leaf and each.requires_grad for each in parameters.values()] == [True]
    assert list(buffers) == ["scale"]
    together.sum().backward()
    assert parameters["weight"].grad.tolist() == [[1.0, 1.0], [3.0, 3.0]]


NUMBERS = """
2 * b; b * 2; 1 + b; b + 1; 2 - b; b - 2; b / 2; 2 ** b; b ** 2; a ** b; a % b; b % 2; a - b; torch.fmod(a, b)
torch.fmod(b, 2); torch.sub(1, b); torch.div(1, b); torch.rsub(b, 2); torch.rsub(a, b); torch.pow(2, b)
torch.div(a, b, rounding_mode="floor"); torch.div(b, 2, rounding_mode="trunc"); torch.float_power(b, 2)
torch.float_power(2, b); torch.xlogy(b, 2); torch.xlogy(2, b); torch.xlogy(a, b); torch.special.xlog1py(2, b)
torch.copysign(b, 2); torch.add(a, b, alpha=2); torch.sub(a, b, alpha=2); torch.lerp(a, b, 0.5); torch.clamp(b, 0, 2)
torch.addcmul(a, a, b, value=2); torch.where(m, a, b); torch.where(m, b, 2.0); torch.where(m, 2.0, b); True * b
b.masked_fill(m, 2); b.masked_fill(m, a[0]); b.gather(0, i); b[i]; b[m]; b.scatter(0, i, 2); b.scatter_add(0, i, a)
b.index_fill(0, i, 2); b.index_fill(0, i, a[0]); b.index_add(0, i, a); b.masked_scatter(m, a); b.put(i, a); b.take(i)
torch.index_put(a, (i,), b); torch.index_put(a, (m,), b[:1]); a.clone().mul_(2); a.clone().remainder_(2)
a.__rsub__(2); a.__radd__(2); a.__rmul__(2); a.__rpow__(2); torch.nn.functional.embedding(i, b[:, None])
"""


@pytest.mark.parametrize("line", [each.strip() for each in NUMBERS.replace("\n", ";").split(";") if each.strip()])
def test_operands_that_torch_has_gradients_for(line):
    def program(torch):
        names = {
            "torch": torch,
            "a": torch.tensor([1.5, 2.5], requires_grad=True),
            "b": torch.tensor([2.0, 3.0], requires_grad=True),
            "i": torch.tensor([0, 1]),
            "m": torch.tensor([True, False]),
        }
        step = eval(line, names).grad_fn
        return step.name(), [(each and each.name(), number) for each, number in step.next_functions]

    agree(program)


def test_a_hook_sees_what_next_functions_has():
    def program(torch):
        seen = []
        for line in ("2 * b", "2 - b", "b ** 2", "torch.where(m, b, 2.0)", "b.gather(0, i)"):
            names = {"torch": torch, "b": torch.tensor([2.0, 3.0], requires_grad=True)}
            names |= {"i": torch.tensor([0, 1]), "m": torch.tensor([True, False])}
            y = eval(line, names)
            y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs))
            y.grad_fn.register_hook(
                lambda inputs, outputs: tuple(None if each is None else each * 2 for each in inputs)
            )
            y.sum().backward()
            seen.append(names["b"].grad)
        return seen

    agree(program)
