"""Sparse tensors: products, sums, forms and files, with torch's numbers and text, and gradients of their values."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
from oracle import agree

import jaxvjp

EXPRESSIONS = [
    *("s", "s.coalesce()", "s.to_dense()", "s.t()", "s.transpose(0, 1).coalesce()", "s.mT.to_dense()", "len(s)", "-s"),
    *("s @ x", "s @ x[:, 0]", "torch.mv(s, x[:, 1])", "torch.sparse.mm(s, x)", "torch.mm(s, x)"),
    *("torch.ones(2, 2) @ s", "torch.sparse.mm(s.t(), s).to_dense()", "torch.addmm(torch.ones(2, 2), s, x)"),
    *("torch.sparse.addmm(torch.ones(2, 2), s, x, alpha=2.0)", "torch.bmm(torch.stack([s, s]), torch.stack([x, x]))"),
    *("s * 2", "2 * s", "s / 2", "s * (torch.ones(2, 3) * 3)", "(s * s).to_dense()", "(s + s).coalesce()", "s - s"),
    *("s.coalesce() + s.coalesce()", "torch.ones(2, 3) + s", "torch.ones(2, 3) - s", "s.sum()", "s.norm()"),
    *("torch.sparse.sum(s)", "torch.sparse.sum(s, 0)", "torch.sparse.sum(s, dim=1).to_dense()", "torch.relu(s)"),
    *("torch.sparse.softmax(s, 1)", "torch.sparse.log_softmax(s, 0)", "s.abs()", "s.pow(2)", "s[0]", "s.double()"),
    *("torch.cat([s, s]).to_dense()", "torch.cat([s, s], 1).to_dense()", "s.unsqueeze(0)", "s.to_sparse_csr()"),
    *("s.coalesce().values()", "s._values()", "s.coalesce().indices()", "s._nnz()", "s.to_sparse_csr().crow_indices()"),
    *("s.to_sparse_csr() @ x", "x.to_sparse()", "x.to_sparse_csr().to_dense()", "x.sparse_mask(s.t().coalesce())"),
    *("(s.is_sparse, s.layout, s.is_coalesced(), s.sparse_dim(), s.dense_dim(), s.shape, s.dtype, s.type())",),
    *("isinstance(s, torch.Tensor)", "isinstance(s, torch.FloatTensor)", "isinstance(s, torch.sparse.FloatTensor)"),
    *("torch.sparse.FloatTensor(i, v, torch.Size([2, 3]))", "torch.sparse_coo_tensor([[0, 2], [1, 1]], [1, 2])"),
    *("torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3)).to_dense()", "s.clone()", "s.detach()"),
    *("torch.sparse_csr_tensor([[0, 1, 2], [0, 2, 2]], [[1, 0], [0, 2]], [[1.0, 2.0], [3.0, 4.0]], (2, 2, 3))",),
    *("torch.sparse_coo_tensor(i[:1], torch.ones(4, 2), (3, 2)).coalesce()",),
]
REFUSED = [
    *("s.values()", "s + torch.ones(2, 3)", "x.coalesce()"),
    *("torch.sparse_coo_tensor(i[:, :2], v, (2, 3))", "torch.sparse_coo_tensor(i, v, (2, 3, 4))", "s.numpy()"),
    *("torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True)",),
]


def _parts(torch):
    i, v = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), torch.tensor([3.0, 4.0, 5.0, 1.0])
    s = torch.sparse_coo_tensor(i, v, (2, 3))
    return {"torch": torch, "i": i, "v": v, "s": s, "x": torch.arange(6.0).reshape(3, 2)}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_text_is_torchs(text):
    def program(torch):
        return str(eval(text, _parts(torch)))

    assert agree(program).raised is None


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text):
    agree(lambda torch: str(eval(text, _parts(torch))), raises=Exception)


@pytest.mark.parametrize("text", ["s.exp()", "s.view(-1)", "torch.softmax(x, 0) + torch.exp(s)"])
def test_what_has_no_sparse_form_says_what_to_write(text):
    with pytest.raises(NotImplementedError, match=r"arguments from the 'SparseCPU' backend(.|\n)*x\.to_dense\(\)"):
        eval(text, _parts(jaxvjp))


def test_gradients_of_values_and_of_the_dense_factor():
    def program(torch):
        parts = _parts(torch)
        v, x = parts["v"].requires_grad_(), parts["x"].requires_grad_()
        s = torch.sparse_coo_tensor(parts["i"], v, (2, 3))
        y = torch.sparse.mm(s, x).tanh().sum() + torch.sparse.softmax(s, 1).to_dense()[1, 0] + torch.sparse.sum(s * s)
        y.backward()
        return v.grad, x.grad

    assert agree(program).raised is None


def test_a_function_that_makes_and_saves_one():
    """As attention over the edges of a graph is often written."""

    def program(torch):
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, indices, values, shape, dense):
                sparse = torch.sparse_coo_tensor(indices, values, shape)
                ctx.save_for_backward(sparse, dense)
                return torch.matmul(sparse, dense)

            @staticmethod
            def backward(ctx, gradient):
                sparse, dense = ctx.saved_tensors
                places = sparse._indices()[0] * sparse.shape[1] + sparse._indices()[1]
                values = gradient.matmul(dense.t()).view(-1)[places]
                return None, values, None, sparse.t().matmul(gradient)

        parts = _parts(torch)
        v, x = parts["v"].requires_grad_(), parts["x"].requires_grad_()
        Product.apply(parts["i"], v, torch.Size([2, 3]), x).pow(2).sum().backward()
        return v.grad, x.grad

    assert agree(program).raised is None


def test_buffers_copies_and_files():
    def program(torch):
        s = _parts(torch)["s"]
        net = torch.nn.Linear(3, 2)
        net.register_buffer("adjacency", s.coalesce())
        net.double()
        texts = [str(each) for each in (net.state_dict()["adjacency"], copy.deepcopy(s), pickle.loads(pickle.dumps(s)))]
        file = io.BytesIO()
        torch.save([s, s.to_sparse_csr()], file)
        file.seek(0)
        return texts, str(torch.load(file))

    assert agree(program).raised is None


def test_a_graph_network_learns():
    def program(torch):
        torch.manual_seed(0)
        links = torch.tensor([[0, 1, 1, 2, 3, 0, 4], [1, 0, 2, 1, 4, 3, 4]])
        adjacency = torch.sparse_coo_tensor(links, torch.full((7,), 0.5), (5, 5))
        features, labels = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])
        first, second = torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)
        optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.1)
        losses = []
        for _ in range(5):
            hidden = torch.relu(torch.sparse.mm(adjacency, first(features)))
            loss = torch.nn.functional.cross_entropy(adjacency @ second(hidden), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    assert agree(program, rtol=1e-4).raised is None


def test_a_staged_step_reads_no_sparse_tensor_of_another_call():
    s, x = (_parts(jaxvjp)[name] for name in "sx")
    product = jaxvjp.jit(lambda sparse, dense: (sparse @ dense).sum(), fullgraph=False)
    assert [product(each, x).item() for each in (s, s * 2, s * 3)] == [85.0, 170.0, 255.0]
    with pytest.raises(RuntimeError, match="reads a sparse tensor that it has not made"):
        jaxvjp.jit(lambda dense: (s @ dense).sum())(x)
    made = jaxvjp.jit(lambda values, dense: jaxvjp.sparse_coo_tensor(s._indices(), values, (2, 3)).matmul(dense).sum())
    with pytest.raises(RuntimeError, match="reads a sparse tensor that it has not made"):
        made(s._values(), x)
    indices = s._indices()
    made = jaxvjp.jit(lambda values, dense: jaxvjp.sparse_coo_tensor(indices, values, (2, 3)).matmul(dense).sum())
    assert [made(s._values() * k, x).item() for k in (1, 2, 3)] == [85.0, 170.0, 255.0]
