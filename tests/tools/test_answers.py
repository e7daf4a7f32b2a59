"""Names of torch's that libraries mention: what a script gets for them, and the small things that are real."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from oracle import agree, live, needs_torch

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.tools.scripts import answers, names
from jaxvjp.tools.scripts.check import names_used

Point = namedtuple("Point", "x y")


def of(torch, name):
    """A module or name of torch's, under torch or where jaxvjp stands in."""
    found = torch
    for each in name.split("."):
        found = getattr(found, each)
    return found


def under(torch, program):
    """What a program gives under torch, or where jaxvjp stands in for it."""
    if torch is not jaxvjp:
        return program(torch)
    with jaxvjp.as_torch() as stand_in:
        return program(stand_in)


def pytree(torch):
    import torch.utils._pytree as trees  # of whichever stands there

    return trees


def same(program):
    """A program that gives the same under torch and where jaxvjp stands in."""
    agree(lambda torch: under(torch, program))


def raised(program):
    try:
        program()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return None


def test_old_warnings_are_off_and_can_be_switched():
    def program(torch):
        switch = torch.utils.backcompat.broadcast_warning
        before, switch.enabled = switch.enabled, True
        found = [before, switch.enabled, torch.utils.backcompat.keepdim_warning.enabled]
        switch.enabled = before
        return found

    same(program)


def test_decorators_of_compilers_give_back_what_they_are_given():
    def program(torch):
        def f(x):
            return x + 1

        given = [
            torch.jit.ignore(f),
            torch.jit.unused(f),
            torch.jit.export(f),
            torch.jit.ignore(drop=False)(f),
            torch.compiler.disable(f),
            torch.compiler.disable(recursive=False)(f),
        ]
        return [each(1) for each in given], torch.jit.script(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))

    same(program)


def test_questions_about_compilers_are_answered_with_no():
    def program(torch):
        import importlib

        importlib.import_module("torch.onnx")
        return (
            torch.jit.is_scripting(),
            torch.jit.is_tracing(),
            torch.compiler.is_compiling(),
            torch._C._get_tracing_state(),
            torch._C._log_api_usage_once("x"),
            torch.onnx.is_in_onnx_export(),
            torch.xpu.is_available(),
            torch.xpu.device_count(),
            torch.mtia.is_available(),
            isinstance(torch.nn.ReLU(), torch.jit.ScriptModule),
            isinstance(3, torch.SymInt),
        )

    same(program)


def test_what_is_not_there_is_an_error_when_it_is_used():
    with jaxvjp.as_torch() as torch:
        for use in (lambda: torch.jit.trace(abs, 1), torch.fx.Graph, torch.ops.aten.add.Tensor, torch.hub.load):
            with pytest.raises(NotImplementedError, match="is not available"):
                use()

        class Own(torch.fx.Tracer):
            pass

        with pytest.raises(NotImplementedError, match=r"torch\.fx\.Tracer is not available"):
            Own()


def test_they_are_seen_only_where_jaxvjp_stands_in():
    with jaxvjp.as_torch() as torch:
        assert torch.jit.is_tracing() is False
        assert torch.compile is jaxvjp.compile
        assert importlib.metadata.version("torch").startswith(names.torch_names().version)
        assert "torch" in {each.metadata["Name"] for each in importlib.metadata.distributions()}
    assert not hasattr(jaxvjp, "compiler")
    assert callable(jaxvjp.jit)  # compiles a step
    try:
        outside = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        return
    assert type(outside) is importlib.metadata.PathDistribution


def test_what_is_written_into_the_dict_of_a_module_is_there():
    def program(torch):
        vars(torch.testing)["of_ones_own"] = 3
        torch.testing.__dict__.update(another=4)
        found = torch.testing.of_ones_own, torch.testing.another, vars(torch.testing)["another"]
        del torch.testing.__dict__["of_ones_own"], vars(torch.testing)["another"]
        return found, hasattr(torch.testing, "of_ones_own"), "another" in vars(torch.testing)

    same(program)


def test_vars_of_a_module_has_its_names():
    def program(torch):
        kinds = vars(torch.optim).items()
        return (
            "relu" in vars(torch.nn.functional),
            "nn" in torch.__dict__,
            "no_such_name" in vars(torch),
            sorted(n for n, each in kinds if isinstance(each, type) and issubclass(each, torch.optim.Adam)),
        )

    same(program)


@needs_torch
def test_torch_has_every_name_of_the_table():
    import warnings

    lacking = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in answers.places():
            module = live
            try:
                module = importlib.import_module(place)
            except ImportError as error:
                if (error.name or place).startswith("torch"):  # torch's `utils.tensorboard` needs another library
                    lacking.append(place)
                continue
            lacking += [f"{place}.{name}" for name in answers.kinds(place) if not hasattr(module, name)]
    assert lacking == []


def test_every_answer_can_be_made():
    for place in answers.places():
        assert set(answers.answers(place)) >= set(answers.kinds(place))


def test_no_answer_hides_a_name_of_jaxvjps_own():
    hidden = [
        f"{p}.{n}" for p in answers.places() for n, kind in answers.kinds(p).items() if kind and names.covers(p, n)
    ]
    assert hidden == []


def test_the_check_says_which_answers_are_stand_ins(tmp_path, capsys):
    source = "import torch\ntorch.jit.is_tracing()\ntorch.jit.trace\ntorch._assert\ntorch.relu\n"
    found = {each.qualified: (each.covered, each.verdict) for each in names_used(source)}
    assert found["torch.jit.is_tracing"] == (True, "a stand-in: False")
    assert found["torch.jit.trace"] == (False, "NO: a stand-in, an error when it is used")
    assert found["torch._assert"] == (True, "yes")
    assert found["torch.relu"] == (True, "yes")
    path = tmp_path / "script.py"
    path.write_text("import torch\n@torch.jit.ignore\ndef f(): pass\n", encoding="utf-8")
    assert main(["run", "--check", str(path)]) == 0
    assert "a stand-in: identity" in capsys.readouterr().out
    assert "stand-ins: " in names.table()


TREES = {
    "order": {"b": 1, "a": [2, (3, None)]},
    "named": Point(1, [2]),
    "others": [OrderedDict(z=1, a=2), deque([3, 4], 5), defaultdict(list, x=6)],
    "leaf": 3,
}


@pytest.mark.parametrize("name", TREES)
def test_trees(name):
    def program(torch):
        trees = pytree(torch)
        leaves, spec = trees.tree_flatten(TREES[name])
        again = trees.tree_unflatten(leaves, spec)
        doubled = trees.tree_map(lambda x: (x, x), TREES[name])
        shown = repr(doubled).replace(
            "[('z', (1, 1)), ('a', (2, 2))]", "{'z': (1, 1), 'a': (2, 2)}"
        )  # before Python 3.12
        return leaves, again == TREES[name], spec.num_leaves, spec.is_leaf(), shown, trees.tree_leaves(doubled)

    same(program)


def test_trees_of_several_and_of_a_class_of_ones_own():
    def program(torch):
        trees = pytree(torch)

        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        trees.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda c, _: Pair(*c))
        total = trees.tree_map(lambda x, y: x + y, Pair(1, [2]), Pair(10, [20]))
        found = trees.tree_map_only(int, lambda x: -x, [1, "a", 2.0])
        by_key = trees.tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": 3, "a": 4})
        stopped = trees.tree_leaves([[1, 2], 3], is_leaf=lambda x: x == [1, 2])
        return total.a, total.b, found, by_key, stopped, trees.tree_any(lambda x: x > 1, [1, 2])

    same(program)


@pytest.mark.parametrize("other", [[1], [1, 2, 3], (1, 2), 5])
def test_trees_that_do_not_fit(other):
    same(lambda torch: raised(lambda: pytree(torch).tree_map(lambda x, y: x, [1, 2], other)) is not None)


def test_a_shape_is_a_tree_of_its_sizes():
    def program(torch):
        trees, shape = pytree(torch), torch.ones(2, 3).shape
        leaves, spec = trees.tree_flatten((shape, 1))
        doubled = trees.tree_map(lambda x: 2 * x, shape)
        return (
            leaves,
            spec.num_leaves,
            type(doubled).__name__,
            doubled,
            trees.tree_unflatten(leaves, spec) == ((2, 3), 1),
        )

    same(program)


def test_private_functions_that_libraries_call():
    def program(torch):
        rows = torch.tensor([0, 0, 2, 3])
        begins = torch._convert_indices_from_coo_to_csr(rows, 5)
        short = torch._convert_indices_from_coo_to_csr(rows, 4, out_int32=True)
        x = torch.arange(4.0, requires_grad=True)
        sums = torch._segment_reduce(x, "sum", offsets=begins, initial=0)
        (sums**2).sum().backward()
        return begins, short, sums, x.grad

    same(program)


def lists(torch):
    return [torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])], [torch.tensor([4.0, 5.0]), torch.tensor([[6.0]])]


LISTS = {
    "add": lambda torch, x, y: torch._foreach_add(x, y, alpha=2),
    "number": lambda torch, x, y: torch._foreach_mul(x, 3.0),
    "numbers": lambda torch, x, y: torch._foreach_div(x, [2.0, 4.0]),
    "norm": lambda torch, x, y: torch._foreach_norm(x),
    "norm of order": lambda torch, x, y: torch._foreach_norm(x, 1),
    "maximum": lambda torch, x, y: torch._foreach_maximum(x, 2.0),
    "minimum": lambda torch, x, y: torch._foreach_minimum(x, y),
    "lerp": lambda torch, x, y: torch._foreach_lerp(x, y, 0.25),
    "addcmul": lambda torch, x, y: torch._foreach_addcmul(x, x, y, 0.5),
    "addcdiv": lambda torch, x, y: torch._foreach_addcdiv(x, x, y, value=0.5),
    "sqrt": lambda torch, x, y: torch._foreach_sqrt(x),
    "pow": lambda torch, x, y: torch._foreach_pow(x, 2),
}


@pytest.mark.parametrize("name", LISTS)
def test_functions_of_lists(name):
    same(lambda torch: LISTS[name](torch, *lists(torch)))


@pytest.mark.parametrize("name", ["add_", "sub_", "copy_", "zero_", "sqrt_", "clamp_min_"])
def test_functions_of_lists_in_place(name):
    def program(torch):
        x, y = lists(torch)
        others = {"zero_": (), "sqrt_": (), "clamp_min_": (1.5,)}.get(name, (y,))
        getattr(torch, f"_foreach_{name}")(x, *others)
        return x, y

    same(program)


def test_functions_of_lists_have_gradients_and_errors():
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        sum(each.sum() for each in torch._foreach_mul([x, x * 2], [3.0, 4.0])).backward()
        errors = [raised(lambda: torch._foreach_add([], 1.0)), raised(lambda: torch._foreach_add([x], [x, x]))]
        return x.grad, errors

    same(program)


def test_futures():
    def program(torch):
        first, failing, seen = torch.futures.Future(), torch.futures.Future(), []
        after = first.then(lambda f: f.value() + 1)
        bad = first.then(lambda f: 1 // 0)
        first.add_done_callback(lambda f: seen.append(f.done()))
        before = first.done()
        first.set_result(3)
        first.add_done_callback(lambda f: seen.append(f.value()))
        failing.set_exception(ValueError("x"))
        together = torch.futures.collect_all([first, after])
        return (
            before,
            after.wait(),
            seen,
            [each.wait() for each in together.wait()],
            torch.futures.wait_all([first, after]),
            raised(failing.wait),
            raised(lambda: first.set_result(1))[0],
            raised(bad.wait) is not None,
        )

    same(program)


def test_assertions():
    def program(torch):
        own = [torch._assert(True, "x"), torch._check(True)]
        return own, *[
            raised(f) for f in (lambda: torch._assert(False, "m"), lambda: torch._check(False, lambda: "why"))
        ]

    same(program)


def test_older_names():
    def program(torch):
        import functorch
        from torch.nn.parallel.scatter_gather import gather
        from torch.utils.data._utils.collate import default_collate

        x = torch.tensor([1.0, 2.0])
        return (
            functorch.grad(lambda x: x**2)(torch.tensor(3.0)),
            functorch.vmap(torch.dot)(torch.ones(2, 2), torch.ones(2, 2)),
            default_collate([1, 2]),
            torch._utils._flatten_dense_tensors([x, x.view(2, 1)]),
            torch._C._nn._parse_to(torch.float64)[1] is torch.float64,
            str(torch._C._nn._parse_to("cpu", non_blocking=True)[0]),
            torch.spmm(torch.ones(2, 2), torch.ones(2, 1)),
            gather,
        )[:-1]

    same(program)


def test_folders_of_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))

    def program(torch):
        import torch.hub as hub

        (tmp_path / "hub" / "checkpoints").mkdir(parents=True, exist_ok=True)
        torch.save({"w": torch.ones(2)}, tmp_path / "hub" / "checkpoints" / "weights.pt")
        found = hub.load_state_dict_from_url("https://example.org/weights.pt")
        return hub.get_dir() == str(tmp_path / "hub"), found["w"], hub.HASH_REGEX.search("net-0aa.pth").group(1)

    same(program)
    with jaxvjp.as_torch() as torch, pytest.raises(RuntimeError, match="Nothing is downloaded here"):
        torch.hub.load_state_dict_from_url("https://example.org/other.pt")


def test_the_metadata_are_those_of_the_stand_in_while_a_script_runs(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import importlib.metadata as m\nprint(m.version('torch'))\n", encoding="utf-8")
    run = [sys.executable, "-m", "jaxvjp", "run", str(path)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == names.torch_names().version
