"""What is told of JAX's meshes of four devices: run by `test_meshes_of_jax`, in a process that has as many."""

import json

import jax
import jax.numpy as jnp

import jaxvjp as torch

P, Shardings = jax.P, jax.NamedSharding
explicit = jax.make_mesh((4,), ("d",))
auto = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
over, over_auto = Shardings(explicit, P("d")), Shardings(auto, P("d"))
a = jax.device_put(jnp.arange(8.0), over)


def dot(p, x):
    return (p * x).sum()


def constrained(x):
    return torch.wrap(lambda v: jax.lax.with_sharding_constraint(v * 1, over_auto))(x)


def sums(collective):
    def local(x):
        return torch.wrap(lambda v: collective(v, "d"))(x.square().sum(0, keepdim=True))

    return jax.shard_map(torch.functional(local), mesh=explicit, in_specs=P("d"), out_specs=P())


def sums_in_jax(collective):
    def local(x):
        return collective(jnp.square(x).sum(0, keepdims=True), "d")

    return jax.shard_map(local, mesh=explicit, in_specs=P("d"), out_specs=P())


def there_and_back():
    x, w = torch.from_jax(a), torch.ones(8, requires_grad=True)
    assert str(x.placements) == "(Shard(dim=0),)"  # though nothing has imported `torch.distributed.tensor`
    recorded = torch.as_function((x * w).sum(), [w])
    softmax = torch.functional(lambda p: torch.nn.functional.softmax(p, 0))
    return [
        (x.jax(), a),
        ((x * 2).jax(), a * 2),
        ((x * 2).jax() + a, a * 3),
        (jnp.sin(x * torch.ones(8)), jnp.sin(a)),
        (torch.tensor(a).jax() + a, a * 2),
        (recorded(jax.device_put(jnp.ones(8), over)), jnp.sum(a)),
        (jax.grad(recorded)(jax.device_put(jnp.ones(8), over)), a) if jax.sharding.get_mesh().size else (a, a),
        (torch.functional(dot)(a, a), dot(a, a)),
        (jax.jit(jax.grad(torch.functional(dot)))(a, a), jax.jit(jax.grad(dot))(a, a)),
        (jax.jit(softmax)(a), jax.jit(jax.nn.softmax)(a)),
    ]


def of_sharding(array):
    return array.sharding.mesh, array.sharding.spec


def same(pairs):
    return [
        bool(jnp.allclose(ours, alone, rtol=1e-5)) and of_sharding(ours) == of_sharding(alone) for ours, alone in pairs
    ]


told = {"there and back": same(there_and_back())}
leaf = torch.arange(8.0, requires_grad=True)
constrained(leaf).square().sum().backward()
told["gradient"] = leaf.grad.tolist()
shards = jax.shard_map(jnp.sin, mesh=auto, in_specs=P("d"), out_specs=P("d"))
moved = torch.wrap(lambda v: jax.sharding.reshard(v, over) * 2)
told["wrapped"] = same(
    [
        (constrained(torch.arange(8.0)).jax(), jax.device_put(jnp.arange(8.0), over_auto)),
        (jax.jit(torch.functional(constrained))(jnp.arange(8.0)), jax.device_put(jnp.arange(8.0), over_auto)),
        (torch.wrap(shards)(torch.arange(8.0)).jax(), shards(jnp.arange(8.0))),
        (torch.wrap(jax.jit(jnp.sin, out_shardings=over_auto))(torch.arange(8.0)).jax(), shards(jnp.arange(8.0))),
        (moved(torch.arange(8.0)).jax(), a * 2),
        (moved(torch.from_jax(a)).jax(), a * 2),
    ]
)
gradients = jax.grad(lambda a: sums(jax.lax.psum)(a).sum())
told["collectives"] = same(
    [
        *[(sums(each)(a), sums_in_jax(each)(a)) for each in (jax.lax.psum, jax.lax.pmean, jax.lax.pmax)],
        (jax.jit(gradients)(a), 2 * a),
    ]
)
with jax.set_mesh(explicit):
    told["set"] = same([*there_and_back(), (jax.grad(torch.functional(dot))(a, a), jax.grad(dot)(a, a))])
print(json.dumps(told))
