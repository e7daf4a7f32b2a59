"""Programs to be explained: loops that train, with batches, buffers, optimisers, modules, recurrence, attention.

Each is a function of `torch` that returns its variables; `corpus_of_graphs` has those without a loop of steps.
"""

from __future__ import annotations


def gradient_descent(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(5):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def batches_of_a_data_set(torch):
    inputs = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0], [1.5, 1.0]])
    targets = torch.tensor([1.0, 0.3, -1.0, 2.0])
    w = torch.tensor([0.5, -0.5], requires_grad=True)
    for i in range(4):
        x, y = inputs[i], targets[i]
        loss = ((x * w).sum() - y) ** 2
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def batches_in_a_list_for_two_epochs(torch):
    data = [
        (torch.tensor([1.0, 2.0]), torch.tensor(1.0)),
        (torch.tensor([-1.0, 0.5]), torch.tensor(0.3)),
        (torch.tensor([0.3, -2.0]), torch.tensor(-1.0)),
    ]
    w = torch.tensor([0.5, -0.5], requires_grad=True)
    for _ in range(2):
        for x, y in data:
            loss = ((x * w).sum() - y) ** 2
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    return locals()


def random_batches(torch):
    torch.manual_seed(0)
    w = torch.tensor([[0.5], [-0.5]], requires_grad=True)
    for _ in range(3):
        x = torch.randn(4, 2)
        y = x.sum(1, keepdim=True)
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def momentum_and_decay(torch):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    velocity = torch.zeros(2)
    for _ in range(4):
        loss = (w**4).sum()
        loss.backward()
        with torch.no_grad():
            velocity.mul_(0.9).add_(w.grad + 0.01 * w)
            w -= 0.01 * velocity
        w.grad.zero_()
    return locals()


def adam_by_hand(torch):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    m, v = torch.zeros(2), torch.zeros(2)
    for t in range(1, 5):
        loss = ((w - 1) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            m = 0.9 * m + 0.1 * w.grad
            v = 0.99 * v + 0.01 * w.grad**2
            w -= 0.1 * (m / (1 - 0.9**t)) / ((v / (1 - 0.99**t)).sqrt() + 1e-8)
        w.grad = None
    return locals()


def a_schedule_in_a_list(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for rate in (0.3, 0.2, 0.05):
        (w**2).sum().backward()
        with torch.no_grad():
            w -= rate * w.grad
        w.grad = None
    return locals()


def a_rate_that_decays(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    rate = 0.1
    for _ in range(4):
        ((w - 1) ** 2).sum().backward()
        with torch.no_grad():
            w -= rate * w.grad
        w.grad = None
        rate *= 0.9
    return locals()


def training_inside_a_function(torch):
    def train(start):
        params = {"w": start.clone().requires_grad_(), "b": torch.tensor(0.0, requires_grad=True)}
        for _ in range(3):
            loss = ((params["w"] * 2 + params["b"] - 1) ** 2).sum()
            loss.backward()
            with torch.no_grad():
                for each in params.values():
                    each -= 0.05 * each.grad
                    each.grad = None
        return {name: each.detach() for name, each in params.items()}

    trained = train(torch.tensor([0.5, -0.5]))
    return locals()


def nothing_is_returned_of_a_training(torch):
    def train():
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        for _ in range(3):
            ((w - 3) ** 2).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
        return float(w.sum())

    result = train()
    return locals()


def a_running_mean_is_kept(torch):
    w = torch.tensor([[0.5, -0.5], [1.0, 2.0]], requires_grad=True)
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
    running = torch.zeros(2)
    for _ in range(3):
        h = x @ w
        with torch.no_grad():
            running.mul_(0.9).add_(0.1 * h.mean(0))
        loss = ((h - running) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def an_average_of_parameters(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    average = w.detach().clone()
    history = []
    for _ in range(4):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            average = 0.8 * average + 0.2 * w
        w.grad = None
        history.append(loss.detach())
    return locals()


def a_state_that_is_carried_on(torch):
    w = torch.tensor([[0.5, -0.5], [0.3, 0.8]], requires_grad=True)
    state = torch.zeros(2)
    for step in range(4):
        state = torch.tanh(state.detach() @ w + step)
        loss = (state**2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def truncated_recurrence_that_accumulates(torch):
    w = torch.tensor([[0.5, -0.5], [0.3, 0.8]], requires_grad=True)
    xs = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
    h = torch.zeros(2)
    for x in xs:
        h = torch.tanh(h @ w + x)
        h.sum().backward()
        h = h.detach()
    return locals()


def a_clipped_gradient(torch):
    w = torch.tensor([3.0, -4.0], requires_grad=True)
    for _ in range(3):
        loss = (w**2).sum()
        loss.backward()
        norm = w.grad.norm()
        with torch.no_grad():
            w.grad.mul_(torch.clamp(1.0 / norm, max=1.0))
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def an_optimizer_of_torch(torch):
    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.5, -0.3]]))
        model.bias.zero_()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.tensor([[1.0, 2.0], [-1.0, 0.5]]), torch.tensor([[1.0], [0.0]])
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return locals()


def adam_of_torch(torch):
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.Adam([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((w - 1) ** 2).sum()
        loss.backward()
        optimizer.step()
    return locals()


def a_class_of_ones_own(torch):
    class Net:
        def __init__(self):
            self.inner = torch.tensor([[0.1, 0.2, -0.3], [0.4, -0.5, 0.6]], requires_grad=True)
            self.outer = torch.tensor([0.7, -0.8, 0.9], requires_grad=True)

        def __call__(self, x):
            return torch.tanh(x @ self.inner) @ self.outer

        def step(self, rate):
            with torch.no_grad():
                for each in (self.inner, self.outer):
                    each -= rate * each.grad
                    each.grad = None

    net = Net()
    x, y = torch.tensor([[1.0, 2.0], [-1.0, 0.5]]), torch.tensor([1.0, 0.0])
    for _ in range(3):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        net.step(0.1)
    return locals()


def layers_in_a_list(torch):
    layers = [torch.tensor([[0.5, -0.2], [0.1, 0.8]], requires_grad=True) for _ in range(3)]
    x = torch.tensor([1.0, -1.0])
    for _ in range(2):
        h = x
        for each in layers:
            h = (h @ each).relu() + h
        loss = (h**2).sum()
        loss.backward()
        with torch.no_grad():
            for each in layers:
                each -= 0.01 * each.grad
                each.grad = None
    return locals()


def a_recurrent_cell(torch):
    w = torch.tensor([[0.5, -0.2], [0.1, 0.8]], requires_grad=True)
    u = torch.tensor([[0.3, 0.1], [-0.4, 0.2]], requires_grad=True)
    xs = torch.tensor([[1.0, 0.5], [0.2, -1.0], [0.7, 0.7]])
    for _ in range(2):
        h = torch.zeros(2)
        for x in xs:
            h = torch.tanh(x @ w + h @ u)
        loss = ((h - 0.5) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            u -= 0.1 * u.grad
        w.grad = u.grad = None
    return locals()


def a_gated_unit(torch):
    torch.manual_seed(1)
    cell = torch.nn.GRUCell(2, 3)
    xs = torch.tensor([[1.0, 0.5], [0.2, -1.0]])
    h = torch.zeros(3)
    for x in xs:
        h = cell(x, h)
    loss = (h**2).sum()
    loss.backward()
    return locals()


def attention(torch):
    torch.manual_seed(2)
    q, k, v = [torch.randn(4, 4, requires_grad=True) for _ in range(3)]
    x = torch.randn(5, 4)
    for _ in range(2):
        scores = (x @ q) @ (x @ k).t() / 2.0
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf"))
        out = scores.softmax(-1) @ (x @ v)
        loss = (out**2).mean()
        loss.backward()
        with torch.no_grad():
            for each in (q, k, v):
                each -= 0.1 * each.grad
                each.grad = None
    return locals()


def a_convolution(torch):
    torch.manual_seed(3)
    kernel = torch.randn(2, 1, 3, 3, requires_grad=True)
    image = torch.randn(1, 1, 6, 6)
    for _ in range(2):
        h = torch.nn.functional.conv2d(image, kernel, padding=1).relu()
        loss = torch.nn.functional.max_pool2d(h, 2).mean()
        loss.backward()
        with torch.no_grad():
            kernel -= 0.5 * kernel.grad
        kernel.grad = None
    return locals()


def a_normalised_batch(torch):
    torch.manual_seed(4)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 2)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return locals()


def dropout(torch):
    torch.manual_seed(5)
    w = torch.randn(3, 3, requires_grad=True)
    x = torch.randn(4, 3)
    for _ in range(3):
        h = torch.nn.functional.dropout(x @ w, 0.5)
        loss = (h**2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return locals()


def an_embedding_and_its_classes(torch):
    torch.manual_seed(6)
    table = torch.randn(5, 3, requires_grad=True)
    tokens, labels = torch.tensor([0, 3, 3, 1]), torch.tensor([1, 0, 2, 1])
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(torch.nn.functional.embedding(tokens, table), labels)
        loss.backward()
        with torch.no_grad():
            table -= 0.5 * table.grad
        table.grad = None
    return locals()


def learning_to_learn(torch):
    start = torch.tensor([0.5, -0.5], requires_grad=True)
    tasks = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [2.0, 2.0]])
    for _ in range(2):
        total = 0.0
        for task in tasks:
            w = start
            for _ in range(2):
                inner = ((w - task) ** 2).sum()
                (slope,) = torch.autograd.grad(inner, w, create_graph=True)
                w = w - 0.1 * slope
            total = total + ((w - task) ** 2).sum()
        total.backward()
        with torch.no_grad():
            start -= 0.05 * start.grad
        start.grad = None
    return locals()


def two_players(torch):
    maker = torch.tensor([0.5, 0.1], requires_grad=True)
    judge = torch.tensor([1.0, -1.0], requires_grad=True)
    real = torch.tensor([2.0, 1.0])
    for _ in range(3):
        fake = maker * 2
        judged = (judge * fake.detach()).sum() - (judge * real).sum() + (judge**2).sum()
        judged.backward()
        with torch.no_grad():
            judge -= 0.1 * judge.grad
        judge.grad = None
        made = -(judge.detach() * (maker * 2)).sum()
        made.backward()
        with torch.no_grad():
            maker -= 0.1 * maker.grad
        maker.grad = None
    return locals()


def a_line_search(torch):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    for _ in range(3):
        loss = (w**4).sum()
        loss.backward()
        rate = 1.0
        with torch.no_grad():
            while ((w - rate * w.grad) ** 4).sum() > loss:
                rate /= 2
            w -= rate * w.grad
        w.grad = None
    return locals()


PROGRAMS = [each for each in list(globals().values()) if callable(each)]
