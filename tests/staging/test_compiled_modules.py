"""What `torch.compile` makes of a module, and `Module.compile`: a module with its parameters, mode and attributes."""

from __future__ import annotations

import copy
import io
import pickle

from oracle import agree

import jaxvjp


def model(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())


def compiled(torch, module):
    return torch.compile(module, backend="eager")


def test_it_is_a_module_that_holds_the_module():
    def program(torch):
        made = compiled(torch, model(torch))
        whole = torch.nn.Sequential(made, torch.nn.Linear(3, 1))
        x = torch.ones(1, 2)
        told = [isinstance(made, torch.nn.Module), type(made).__name__, repr(made), made(x), whole(x).shape]
        names = [[name for name, _ in each] for each in (made.named_parameters(), made.named_modules())]
        return told, names, list(made.state_dict()), list(whole.state_dict()), torch.compile(made, disable=True) is made

    assert agree(program).error is None


def test_attributes_and_the_mode_are_those_of_the_module():
    def program(torch):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)

            def forward(self, x):
                return self.layer(x)

            def twice(self, x):
                return 2 * self(x)

            @property
            def size(self):
                return 7

        torch.manual_seed(0)
        own, x = Net(), torch.ones(1, 2)
        made = compiled(torch, own)
        told = [made.twice(x), made.size, made.eval() is made, own.training, own.train() is own, made.training]
        made.note, own.other = 3, 4
        made.layer = torch.nn.Linear(2, 4)
        told += [own.note, made.other, made(x), list(made.state_dict()), "note" in dir(made)]
        del made.note
        made.double()
        return *told, hasattr(own, "note"), own.layer.weight.dtype, len(compiled(torch, model(torch))), made.nothing

    assert "'Net' object has no attribute 'nothing'" in str(agree(program, raises=AttributeError).error)


def test_it_is_copied_pickled_and_saved():
    def program(torch):
        own, x = model(torch), torch.ones(1, 2)
        made = compiled(torch, own)
        file = io.BytesIO()
        torch.save(made.state_dict(), file)
        file.seek(0)
        state = torch.load(file)
        another = compiled(torch, model(torch))
        with torch.no_grad():
            for each in another.parameters():
                each.zero_()
        bare = copy.deepcopy(another._orig_mod)
        told = [str(another.load_state_dict(state)), another(x)]
        told.append(str(bare.load_state_dict({name.removeprefix("_orig_mod."): each for name, each in state.items()})))
        for each in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            told += [type(each).__name__, each._orig_mod is own, each(x)]
        own.compile(backend="eager")
        for each in (own, copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
            told += [type(each).__name__, list(each.state_dict()), each._compiled_call_impl is None, each(x)]
        return *told, bare(x), made.load_state_dict(own.state_dict())

    assert "Error(s) in loading state_dict for OptimizedModule" in str(agree(program, raises=RuntimeError).error)


def test_it_trains():
    def program(torch):
        made = compiled(torch, model(torch))
        optimizer = torch.optim.Adam(made.parameters(), lr=0.1)
        x, losses = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), []
        for _ in range(8):
            optimizer.zero_grad()
            loss = (made(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        seen = []
        made.register_forward_hook(lambda *_: seen.append(1))
        made(x)
        return losses, list(made.parameters()), seen

    assert agree(program, rtol=1e-5, atol=1e-6).error is None


def test_a_step_with_it_is_one_dispatch():
    made = jaxvjp.compile(model(jaxvjp))
    optimizer = jaxvjp.optim.SGD(made.parameters(), lr=0.1)
    x = jaxvjp.ones(2, 2)

    @jaxvjp.jit
    def step():
        optimizer.zero_grad()
        made(x).square().sum().backward()
        optimizer.step()

    for _ in range(4):
        step()
    before = jaxvjp.counters.dispatches
    for _ in range(10):
        step()
    assert jaxvjp.counters.dispatches - before == 10
    assert made(x).shape == (2, 3)
    assert len(made.forward._variants) == 1


def test_it_is_explained_by_the_names_of_the_module():
    made = jaxvjp.compile(model(jaxvjp))
    with jaxvjp.explain.recording() as story:
        loss = made(jaxvjp.ones(1, 2)).square().sum()
        loss.backward()
    assert "made_0_weight" in str(story)
    assert "_orig_mod" not in str(story)
    story.check()
