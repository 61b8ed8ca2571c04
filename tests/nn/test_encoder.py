"""The encoders against step-by-step transcriptions of Appendix B, and their initialization (Appendix C.1)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from spansrl.inference.config import EncoderConfig
from spansrl.nn.encoders import dropout_before_encoder
from spansrl.nn.encoders.bilstm import InterleavedLSTM
from spansrl.nn.encoders.predicate_encoders import PredicateHead, PredicateMark


def make_lstm(*, layers: int = 4, in_width: int = 5, width: int = 3, seed: int = 0) -> InterleavedLSTM:
    """An encoder in double precision, with biases that are not zero."""
    torch.manual_seed(seed)
    encoder = InterleavedLSTM(in_width, EncoderConfig(width=width, layers=layers, dropout=0.0)).double()
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "bias" in name:
                parameter.normal_()
    return encoder


def plain_lstm(lstm: nn.LSTM, xs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The hidden states of an LSTM that reads the vectors in the given order, one by one."""
    h = c = torch.zeros(lstm.hidden_size, dtype=torch.float64)
    states = []
    for x in xs:
        gates = lstm.weight_ih_l0 @ x + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
        i, f, g, o = gates.chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        states.append(h)
    return states


def plain_interleaved(encoder: InterleavedLSTM, x: torch.Tensor) -> torch.Tensor:
    """Appendix B for one sentence x (T, D): layer 1 left to right, layer 2 right to left, and so on."""
    xs = list(x)
    for number, (lstm, connection) in enumerate(
        zip(encoder.lstms, encoder.connections, strict=True), start=1
    ):
        odd = number % 2 == 1
        hs = plain_lstm(lstm, xs) if odd else plain_lstm(lstm, xs[::-1])[::-1]
        xs = [
            torch.relu(connection.weight @ torch.cat([a, b]) + connection.bias)
            for a, b in zip(xs, hs, strict=True)
        ]
    return torch.stack(xs)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_every_sentence_of_a_padded_batch_is_read_as_appendix_b_says(layers):
    encoder = make_lstm(layers=layers)
    lengths = torch.tensor([6, 1, 4])
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    out = encoder(x, lengths)
    assert out.shape == (3, 6, 3)
    for n, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(out[n, :length], plain_interleaved(encoder, x[n, :length]))


def test_values_at_padding_do_not_matter():
    encoder, lengths = make_lstm(), torch.tensor([3, 5])
    x = torch.randn(2, 5, 5, dtype=torch.float64)
    other = x.clone()
    other[0, 3:] = 1e3
    for n, length in enumerate(lengths.tolist()):
        assert torch.equal(encoder(x, lengths)[n, :length], encoder(other, lengths)[n, :length])


def test_padding_gets_no_gradient():
    encoder = make_lstm()
    x = torch.randn(2, 5, 5, dtype=torch.float64, requires_grad=True)
    out = encoder(x, torch.tensor([3, 5]))
    (out[0, :3].sum() + out[1].sum()).backward()
    assert (x.grad[0, 3:] == 0).all()
    assert (x.grad[0, :3] != 0).any()


def is_orthonormal(matrix: torch.Tensor) -> bool:
    """Whether the rows are, or the columns where there are fewer of them."""
    smaller = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    return torch.allclose(smaller @ smaller.T, torch.eye(len(smaller)), atol=1e-5)


@pytest.mark.parametrize("in_width", [6, 8, 11])
def test_lstm_matrices_start_orthonormal_for_each_gate(in_width):
    encoder = InterleavedLSTM(in_width, EncoderConfig(width=8, layers=3, dropout=0.0))
    for lstm in encoder.lstms:
        for stacked in (lstm.weight_ih_l0, lstm.weight_hh_l0):
            gates = stacked.detach().chunk(4)
            assert all(is_orthonormal(gate) for gate in gates)
            assert not torch.allclose(gates[0], gates[1])


def test_connections_start_as_glorot_says_and_all_biases_at_zero():
    encoder = InterleavedLSTM(40, EncoderConfig(width=60, layers=2, dropout=0.0))
    for connection in encoder.connections:
        bound = math.sqrt(6 / sum(connection.weight.shape))
        assert 0.95 * bound < connection.weight.abs().max() <= bound
        torch.testing.assert_close(connection.weight.std().item(), bound / math.sqrt(3), rtol=0.05, atol=0)
    biases = [parameter for name, parameter in encoder.named_parameters() if "bias" in name]
    assert len(biases) == 2 * (2 + 1)
    assert all((bias == 0).all() for bias in biases)


def test_dropout_acts_in_training_only():
    encoder = InterleavedLSTM(5, EncoderConfig(width=3, layers=2, dropout=0.5))
    x, lengths = torch.randn(2, 4, 5), torch.tensor([4, 4])
    assert not torch.equal(encoder(x, lengths), encoder(x, lengths))
    encoder.eval()
    assert torch.equal(encoder(x, lengths), encoder(x, lengths))


def test_the_mark_sets_the_predicate_apart_from_all_other_tokens():
    mark = PredicateMark(2)
    x = torch.randn(2, 4, 3)
    sentence, pred = torch.tensor([1, 0, 1]), torch.tensor([3, 0, 1])
    out = mark(x, sentence, pred)
    assert out.shape == (3, 4, 5)
    for n in range(3):
        for t in range(4):
            marked = mark.marks.weight[1 if t == pred[n] else 0]
            assert torch.equal(out[n, t], torch.cat([x[sentence[n]][t], marked]))


def test_the_head_sees_token_predicate_and_clipped_distance():
    torch.manual_seed(0)
    head = PredicateHead(5, EncoderConfig(width=4, max_distance=2, dropout=0.0)).double()
    h = torch.randn(2, 7, 5, dtype=torch.float64)
    sentence, pred = torch.tensor([0, 1, 1]), torch.tensor([3, 0, 6])
    out = head(h, sentence, pred, torch.ones(3, 7, dtype=torch.bool))
    assert out.shape == (3, 7, 4)
    for n, (s, p) in enumerate(zip(sentence.tolist(), pred.tolist(), strict=True)):
        for t in range(7):
            away = max(-2, min(2, t - p))
            hidden = head.token.weight @ h[s, t] + head.token.bias + head.pred.weight @ h[s, p]
            hidden = torch.relu(hidden + head.distance.weight[away + 2])
            expected = torch.relu(head.out.weight @ hidden + head.out.bias)
            torch.testing.assert_close(out[n, t], expected)


def test_the_forget_bias_is_that_of_the_forget_gates_alone():
    encoder = InterleavedLSTM(5, EncoderConfig(width=3, layers=2, forget_bias=1.0))
    for lstm in encoder.lstms:
        assert lstm.bias_ih_l0.tolist() == [0.0] * 3 + [1.0] * 3 + [0.0] * 6
        assert not lstm.bias_hh_l0.any()


def test_dropout_at_hidden_states_leaves_the_inputs_of_later_lstms_alone():
    torch.manual_seed(0)
    encoder = InterleavedLSTM(5, EncoderConfig(width=64, layers=2, dropout=0.5, dropout_at="hidden"))
    seen = []
    encoder.lstms[1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    encoder.connections[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    encoder(torch.ones(1, 4, 5), torch.tensor([4]))
    connected, into_second = seen
    dropped = (connected[:, :, 5:] == 0).float().mean()  # h of the first LSTM
    assert 0.3 < dropped < 0.7
    relu_zeros = torch.relu(encoder.connections[0](connected)) == 0
    assert torch.equal(into_second.flip(1) == 0, relu_zeros)


@pytest.mark.parametrize(("embedder", "left"), [(0.5, 1 - 0.5 / 0.9), (0.1, 0.0), (0.0, 0.0)])
def test_token_vectors_are_dropped_once_in_all(embedder, left):
    config = EncoderConfig(dropout=0.1)
    assert dropout_before_encoder(embedder, config) == pytest.approx(left)
    other = EncoderConfig(kind="highway", dropout=0.1)
    assert dropout_before_encoder(embedder, other) == pytest.approx(embedder)
