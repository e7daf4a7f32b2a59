"""Programs to be explained: views, accumulation, hooks, Functions, transforms, complex numbers, branches.

Each is a function of `torch` that returns its variables; `corpus_of_training` has those that train.
"""

from __future__ import annotations


def a_row_is_doubled_through_a_view(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 3
    row = y[0]
    row.mul_(2)
    loss = (y**2).sum()
    loss.backward()
    return locals()


def strided_views_are_written(torch):
    x = torch.tensor([1.0, -2.0, 3.0, 0.5, 1.5, -1.0], requires_grad=True)
    y = x.exp() * 0.1
    y[::2] *= 2
    y.view(2, 3)[1] += 1.0
    y.view(3, 2).t()[0] = x[:3]
    loss = (y * torch.arange(6.0)).sum()
    loss.backward()
    return locals()


def a_diagonal_is_filled(torch):
    x = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
    matrix = torch.zeros(3, 3)
    matrix.diagonal().copy_(x)
    matrix[0, 2] = x.prod()
    loss = (matrix @ matrix).sum()
    loss.backward()
    return locals()


def parts_are_split_and_joined(torch):
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, -0.5]], requires_grad=True)
    left, right = x.split(2, dim=1)
    a, b = x.unbind(0)
    joined = torch.cat([left * 2, right.sin()], 1)
    stacked = torch.stack([a * b, a + b])
    loss = (joined * stacked).mean()
    loss.backward()
    return locals()


def positions_are_gathered_and_scattered(torch):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    index = torch.tensor([[0, 2], [1, 1]])
    picked = x.gather(1, index)
    spread = torch.zeros(2, 3).scatter_add(1, index, picked**2)
    loss = (spread * x[:, [2, 0, 1]]).sum() + x[x > 2.5].sum()
    loss.backward()
    return locals()


def a_table_is_written_in_a_loop(torch):
    x = torch.tensor([0.5, 1.5, -0.5, 2.0], requires_grad=True)
    table = torch.zeros(5)
    table[0] = 1.0
    for i in range(4):
        table[i + 1] = table[i].clone() * x[i] + i
    loss = table.sum()
    loss.backward()
    return locals()


def three_losses_accumulate(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for power in (1, 2, 3):
        (x**power).sum().backward()
    return locals()


def gradients_accumulate_over_two_of_three(torch):
    w = torch.tensor([0.5, -0.5], requires_grad=True)
    for step in range(4):
        loss = ((w * (step + 1) - 1.0) ** 2).sum()
        (loss / 2).backward()
        if step % 2 == 1:
            with torch.no_grad():
                w -= 0.05 * w.grad
            w.grad = None
    return locals()


def a_gradient_is_kept_and_another_taken(torch):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    (x**2).sum().backward()
    first = x.grad
    x.grad = None
    (x**3).sum().backward()
    both = first + x.grad
    return locals()


def the_graph_is_walked_twice(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp() * x
    y.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
    y.backward(torch.tensor([0.0, 10.0]))
    x.grad.mul_(0.5)
    return locals()


def two_leaves_and_one_is_asked_for(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([[0.5, 1.0], [2.0, -1.0]], requires_grad=True)
    y = torch.tanh(w @ x)
    y.sum().backward(inputs=[w], retain_graph=True)
    (slope,) = torch.autograd.grad(y.sum(), x)
    return locals()


def an_unnamed_root(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x**2).sum().backward()
    return locals()


def a_hook_clips_a_leaf(torch):
    x = torch.tensor([1.0, -4.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g.clamp(-1.0, 1.0))
    (x**2).sum().backward()
    return locals()


def hooks_on_two_values_of_a_chain(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: g * 2)
    k = h.sin() + x
    k.register_hook(lambda g: g / g.abs().sum())
    (k**2).sum().backward()
    return locals()


def a_hook_keeps_what_it_sees(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    h = x**2
    h.register_hook(seen.append)
    h.retain_grad()
    (h * 3).sum().backward()
    return locals()


def a_hook_after_accumulation_updates(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def update(leaf):
        with torch.no_grad():
            leaf -= 0.1 * leaf.grad
        leaf.grad = None

    w.register_post_accumulate_grad_hook(update)
    for _ in range(3):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
    return locals()


def saved_values_are_halved(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() / 2, lambda t: t * 1.5):
        y = x * x
    y.sum().backward()
    return locals()


def a_function_rounds_straight_through(torch):
    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([0.4, 1.6, -2.3], requires_grad=True)
    y = Rounded.apply(x * 2)
    (y * x).sum().backward()
    return locals()


def a_function_saves_and_scales(torch):
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x)
            ctx.n = n
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = Power.apply(x, 3).sum() + Power.apply(x * 2, 2).sum()
    loss.backward()
    return locals()


def a_function_under_hooks_that_reads_values(torch):
    class Normed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            scale = 1.0 if float(g.norm()) < 100.0 else 0.5
            return g * 2 * scale * x.sign()

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: g + 1)
    y = Normed.apply(h)
    y.register_hook(lambda g: g * 2)
    (y**2).sum().backward()
    return locals()


def a_function_of_two_outputs(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b, a - b

        @staticmethod
        def backward(ctx, g, h):
            a, b = ctx.saved_tensors
            return g * b + h, g * a - h

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([0.5, -1.0], requires_grad=True)
    p, q = Both.apply(x * w, w)
    (p.sin() * q).sum().backward()
    return locals()


def a_second_derivative(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    slope.pow(2).sum().backward()
    return locals()


def a_gradient_penalty(torch):
    w = torch.tensor([[0.5, -1.0], [1.0, 0.3]], requires_grad=True)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5]], requires_grad=True)
    score = torch.tanh(x @ w).sum()
    (slope,) = torch.autograd.grad(score, x, create_graph=True)
    loss = score + ((slope.norm(dim=1) - 1) ** 2).mean()
    loss.backward()
    return locals()


def a_hessian_vector_product(torch):
    x = torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
    v = torch.tensor([1.0, 0.0, 2.0])
    y = (x.sin() * x.prod()).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (product,) = torch.autograd.grad((g * v).sum(), x)
    return locals()


def a_hessian(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    curvature = torch.func.hessian(lambda a: (a**3).sum() * a[0])(x)
    (curvature * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    return locals()


def gradients_of_each_sample(torch):
    w = torch.tensor([0.5, -0.5], requires_grad=True)
    xs = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    ys = torch.tensor([1.0, 2.0, -1.0])

    def loss(w, x, y):
        return (x @ w - y) ** 2

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
    each.pow(2).sum().backward()
    return locals()


def a_batched_map_of_rows(torch):
    x = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], requires_grad=True)
    rows = torch.vmap(lambda row: (row.softmax(0) * row).sum())(x)
    columns = torch.vmap(lambda column: column.norm(), in_dims=1)(x)
    (rows.sum() * columns.prod()).backward()
    return locals()


def a_pushforward_that_is_differentiated(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    value, slope = torch.func.jvp(lambda a: a.sin() * a, (x,), (torch.tensor([1.0, 0.5]),))
    (value * slope).sum().backward()
    return locals()


def a_jacobian_by_rows(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    matrix = torch.func.jacrev(lambda a: torch.stack([a.prod(), a.sum(), a[0] ** 2]))(x)
    matrix.pow(2).sum().backward()
    return locals()


def a_checkpoint(torch):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    w = torch.tensor([2.0, -1.0], requires_grad=True)
    h = torch.utils.checkpoint.checkpoint(lambda a, b: (a * b).sin().exp(), x, w, use_reentrant=False)
    (h * x).sum().backward()
    return locals()


def complex_amplitudes(torch):
    z = torch.tensor([1.0 + 2.0j, -0.5 + 1.0j], requires_grad=True)
    power = (z * z.conj()).real.sum() + (z**2).imag.sum()
    power.backward()
    return locals()


def a_spectrum_is_filtered(torch):
    x = torch.tensor([1.0, -1.0, 2.0, 0.5], requires_grad=True)
    gain = torch.tensor([1.0, 0.5, 0.25], requires_grad=True)
    filtered = torch.fft.irfft(torch.fft.rfft(x) * gain, n=4)
    ((filtered - 1.0) ** 2).sum().backward()
    return locals()


def a_complex_parameter_descends(torch):
    z = torch.tensor([1.0 + 1.0j, 0.5 - 2.0j], requires_grad=True)
    for _ in range(3):
        loss = (z - (2.0 - 1.0j)).abs().pow(2).sum()
        loss.backward()
        with torch.no_grad():
            z -= 0.1 * z.grad
        z.grad = None
    return locals()


def a_value_decides_how_often(torch):
    x = torch.tensor([1.0, 0.5], requires_grad=True)
    y = x * 2
    while y.norm() < 20:
        y = y * 2
    y.sum().backward()
    return locals()


def a_value_decides_which(torch):
    x = torch.tensor([1.0, -0.5], requires_grad=True)
    loss = 0.0
    for i in range(4):
        h = x * (i - 1.5)
        loss = loss + (h.exp() if h.sum() > 0 else h**2).sum()
    loss.backward()
    return locals()


def a_value_is_cut_off(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    target = (x * 2).detach()
    with torch.no_grad():
        scale = x.norm()
    loss = ((x.exp() - target) ** 2).sum() / scale
    loss.backward()
    return locals()


def wide_numbers(torch):
    x = torch.linspace(0.1, 1.0, 5, dtype=torch.float64).requires_grad_()
    loss = (x.log() * x.sqrt()).sum() + torch.linalg.det(torch.outer(x, x) + torch.eye(5, dtype=torch.float64))
    loss.backward()
    return locals()


def more_elements_than_are_written_out(torch):
    x = torch.arange(200.0).reshape(10, 20).sin().requires_grad_()
    w = torch.arange(20.0).cos().requires_grad_()
    loss = (torch.tanh(x @ w) ** 2).mean()
    loss.backward()
    return locals()


def a_name_for_other_values_in_a_function(torch):
    w = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)

    def net(x):
        x = x @ w
        x = x + w.sum(0)
        return x.tanh().sum()

    x = torch.tensor([[0.12345, 1.23456], [2.34567, 3.45678], [4.56789, 5.67891], [0.98765, 8.76543], [1.5, 2.5]])
    loss = net(x) + net(x[0]) + net(x[1:3])
    loss.backward()
    return locals()


def tensors_say_where(torch):
    x = torch.arange(24.0).reshape(2, 3, 4).cos().requires_grad_()
    i, j, labels = torch.tensor(-1), torch.tensor(2), torch.tensor([1, 1, 3])
    y, counts = x * 2, torch.zeros(4)
    y[0, :, j] = 1.0
    y[i] += 0.5
    y[:, i][:, j] *= 3
    for label in labels:
        counts[label] += 1
    z = x[1, :, j].sum() + x[..., i].prod() + x[j - 1, 1:, j].sum() + (x[0, 0] * counts)[x[0, 0].argmax()]
    row = y[i]
    row.mul_(2)
    loss = (y**2).sum() + z + sum(x[1, 1, labels[t]] * x[0, labels[t - 1], t] for t in range(1, 3) if labels[t - 1] < 3)
    loss.backward()
    return locals()


PROGRAMS = [each for each in list(globals().values()) if callable(each)]
