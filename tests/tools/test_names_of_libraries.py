"""Names of torch's that libraries need to be imported, and what those of them do that are real."""

from __future__ import annotations

import importlib

import pytest
from test_answers import raised, same

import jaxvjp


def test_an_operator_of_ones_own():
    def program(torch):
        def scaled(x, by=3.0):
            return x * by

        schema = "(Tensor x, float by=3.0) -> Tensor"
        own = torch.library.custom_op("jaxvjp_own::scaled", scaled, mutates_args=(), schema=schema)
        own.register_fake(lambda x, by=3.0: torch.empty_like(x))
        by_name, x = torch.ops.jaxvjp_own.scaled, torch.tensor([1.0, 2.0], requires_grad=True)
        results = [own(x), own(x, 2.0), by_name(x, by=4.0), by_name.default(x)]
        refused = raised(lambda: by_name(x).sum().backward())

        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]

        own.register_autograd(lambda ctx, g: (g * ctx.by, None), setup_context=setup_context)
        by_name(x, by=5.0).sum().backward()
        first = x.grad.clone()
        torch.library.register_autograd(
            "jaxvjp_own::scaled", lambda ctx, g: (g * ctx.by * 10, None), setup_context=setup_context
        )
        (own(x * 2) ** 2).sum().backward()
        return [each.detach() for each in results], results[0].requires_grad, refused, first, x.grad, repr(own)

    same(program)


def test_an_operator_with_several_results_and_a_schema():
    def program(torch):
        @torch.library.custom_op(
            "jaxvjp_own::both", mutates_args=(), schema="(Tensor x, int[] sizes) -> (Tensor, Tensor)"
        )
        def both(x, sizes):
            return x.exp(), x.sum() * sizes[0]

        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output[0])
            ctx.size = inputs[1][0]

        both.register_autograd(
            lambda ctx, a, b: (a * ctx.saved_tensors[0] + b * ctx.size, None), setup_context=setup_context
        )
        x = torch.tensor([0.5, -1.0], requires_grad=True)
        a, b = torch.ops.jaxvjp_own.both(x, [2, 3])
        (a.sum() * b).backward()
        return a.detach(), b.detach(), x.grad

    same(program)


def test_the_step_of_an_optimizer_is_recorded_only_where_it_is_differentiable():
    def program(torch):
        from torch.optim.optimizer import _default_to_fused_or_foreach, _use_grad_for_differentiable

        class Own(torch.optim.Optimizer):
            @_use_grad_for_differentiable
            def step(self, closure=None):
                """One step."""
                return torch.is_grad_enabled(), closure

        p = torch.nn.Parameter(torch.ones(2))
        told = [Own([p], {"differentiable": each}).step(3) for each in (False, True)]
        return told, torch.is_grad_enabled(), Own.step.__doc__, _default_to_fused_or_foreach([p], False)

    same(program)


def test_a_counter_of_operations_that_is_not_entered():
    def program(torch):
        counter = importlib.import_module("torch.utils.flop_counter").FlopCounterMode(display=False, depth=2)
        return counter.get_total_flops()

    same(program)
    with jaxvjp.as_torch():
        counter = importlib.import_module("torch.utils.flop_counter").FlopCounterMode()
    with pytest.raises(NotImplementedError, match="FlopCounterMode is not available"), counter:
        pass


def test_a_batch_of_indices_is_looked_up():
    def program(torch):
        mode = importlib.import_module("torch._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
        table = torch.tensor([[True, False, True], [False, True, True]])
        pairs = torch.func.vmap(lambda i: torch.func.vmap(lambda j: table[i, j])(torch.arange(3)))
        with mode():
            return pairs(torch.arange(2))

    same(program)


def test_compiling_is_supported():
    def program(torch):
        return importlib.import_module("torch._dynamo.utils").is_compile_supported("cpu")

    same(program)


def test_placements_and_keys():
    def program(torch):
        placements = importlib.import_module("torch.distributed.tensor.placement_types")
        pytree = importlib.import_module("torch.utils._pytree")
        values, keys = pytree._dict_flatten({"b": 1, "a": 2})
        return (
            placements.Shard is importlib.import_module("torch.distributed.tensor").Shard,
            placements.Shard(1).dim,
            isinstance(placements.Shard(1), placements._StridedShard),
            (values, keys, pytree._dict_unflatten(values, keys)),
        )

    same(program)


def test_the_memory_of_a_tensor_for_safetensors():
    def program(torch):
        storage = importlib.import_module("safetensors.torch")
        x = torch.ones(4, 3)
        row = x[1:3]
        return (
            storage.storage_ptr(row) == storage.storage_ptr(x) == x.data_ptr(),
            storage.storage_ptr(x.clone()) == storage.storage_ptr(x),
            storage.storage_size(row),
            storage.storage_size(row.double()),
            storage.storage_size(torch.ones(0)),
        )

    same(program)
