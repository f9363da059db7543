"""n-gram models against their definition, counted by hand in exact rationals, and as the pair that speculation takes."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.speculation import emitted_texts, ngrams, own_texts
from course_lib.speculation.ngrams import NGramModel

V = 4
texts = st.lists(st.integers(0, V - 1), min_size=1, max_size=40)
orders = st.integers(1, 4)


def by_counting(ids: list[int], context: tuple[int, ...], w: int) -> Fraction:
    """p(w | h) by Witten & Bell, 1991, from the text itself: what followed h, and the same with h one token shorter."""
    n = len(context)
    followers = [ids[i + n] for i in range(len(ids) - n) if tuple(ids[i : i + n]) == context]
    types = len(set(followers))
    below = by_counting(ids, context[1:], w) if context else Fraction(1, V)
    return (followers.count(w) + types * below) / (len(followers) + types) if followers else below


def row_by_counting(ids: list[int], context: tuple[int, ...]) -> list[float]:
    return [float(by_counting(ids, context, w)) for w in range(V)]


@given(ids=texts, order=orders)
def test_every_row_is_the_one_that_counting_gives(ids, order):
    """After every context of up to order tokens, seen or not. Each order adds a product and a sum: ε for each of them."""
    model = NGramModel.train(ids, V, order)
    contexts = [context for n in range(order + 1) for context in product(range(V), repeat=n)]
    rows = model.rows(contexts)
    assert rows.shape == (len(contexts), V)
    assert np.all(rows > 0)
    assert np.abs(rows.sum(-1) - 1).max() <= 4 * order * 2**-52
    chosen = np.random.default_rng(len(ids)).permutation(len(contexts))[:12]
    for i in chosen:
        counted = row_by_counting(ids, contexts[i][max(0, len(contexts[i]) - order + 1) :])
        assert np.abs(rows[i] - counted).max() <= 4 * order * 2**-52


def test_a_text_of_five_tokens_by_hand():
    """a b a a c, with v = 4. After "a" came b, a and c: c = 3, T = 3. Five tokens of three kinds: c(a) = 3."""
    model = NGramModel.train([0, 1, 0, 0, 2], V, 2)
    unigram = [(3 + 3 / 4) / 8, (1 + 3 / 4) / 8, (1 + 3 / 4) / 8, (3 / 4) / 8]
    assert model.rows([[]])[0] == pytest.approx(unigram, rel=1e-15)
    after_a = [(1 + 3 * p) / 6 for p in unigram[:3]] + [3 * unigram[3] / 6]
    assert model.rows([[0]])[0] == pytest.approx(after_a, rel=1e-15)
    assert model.rows([[2]])[0] == pytest.approx(unigram, rel=1e-15)  # nothing ever followed it


@given(ids=texts, order=st.integers(2, 4))
def test_a_vocabulary_too_large_for_a_table_gives_the_same_rows(ids, order):
    contexts = [context for n in range(3) for context in product(range(V), repeat=n)]
    with_table = NGramModel.train(ids, V, order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "TABLE_BYTES", 0)
        without = NGramModel.train(ids, V, order)
    assert with_table._table is not None
    assert without._table is None
    assert np.abs(with_table.rows(contexts) - without.rows(contexts)).max() <= 4 * 2**-52


@given(ids=texts, order=orders)
def test_the_lower_orders_of_a_model_are_the_models_of_these_orders(ids, order):
    model = NGramModel.train(ids, V, order)
    contexts = [context for n in range(4) for context in product(range(V), repeat=n)]
    for lower in range(1, order + 1):
        trained, taken = NGramModel.train(ids, V, lower), model.lower(lower)
        assert (taken.order, taken.vocabulary_size) == (trained.order, trained.vocabulary_size) == (lower, V)
        assert np.abs(taken.rows(contexts) - trained.rows(contexts)).max() <= 4 * 2**-52


def written(n: int) -> list[int]:
    """A text with something to learn at each order: one up from the last token, or the sum of the last two, or any."""
    rng, ids = np.random.default_rng(1), [0, 1]
    while len(ids) < n:
        ids.append([(ids[-1] + 1) % V, (ids[-1] + ids[-2]) % V, int(rng.integers(V))][rng.choice(3, p=[0.4, 0.4, 0.2])])
    return ids


TEXT = written(3000)
MODEL = NGramModel.train(TEXT, V, 4)


def test_a_run_gives_the_rows_after_the_last_prefixes_the_whole_sequence_last():
    sequences = [[0, 1, 2, 3, 1], [3, 3, 3], [2, 0, 1, 1, 0, 2, 3]]
    rows = MODEL(sequences, 3)
    assert rows.shape == (3, 3, V)
    for b, sequence in enumerate(sequences):
        for i in range(3):
            prefix = sequence[: len(sequence) - 2 + i]
            assert np.array_equal(rows[b, i], MODEL.rows([prefix])[0])
            assert np.array_equal(rows[b, i], MODEL([sequence], 3)[0, i])
    assert np.array_equal(MODEL([[2, 1]], 3)[0, 0], MODEL.rows([[]])[0])  # the empty prefix is one, too


def test_only_the_last_tokens_count_and_what_comes_later_never_does():
    far = MODEL([[9, -5, 1, 2, 3]], 1)  # beyond an order of 4 nothing is looked at
    assert np.array_equal(far, MODEL([[1, 2, 3]], 1))
    for later in range(V):
        assert np.array_equal(MODEL([[0, 1, 2, later]], 2)[0, 0], MODEL([[0, 1, 2]], 1)[0, 0])
    assert not np.array_equal(MODEL([[0, 1, 2]], 1), MODEL([[1, 1, 2]], 1))


def test_rows_may_be_written_into_without_harm_to_the_model():
    for model in (MODEL, MODEL.lower(2), MODEL.lower(1)):
        before = model([[0, 1, 2]], 2).copy()
        model([[0, 1, 2]], 2)[:] = 7
        assert np.array_equal(model([[0, 1, 2]], 2), before)


@given(ids=texts, held_out=texts, order=orders)
def test_the_probability_of_each_token_of_a_text_is_read_off_its_row(ids, held_out, order):
    model = NGramModel.train(ids, V, order)
    found = model.probabilities(held_out)
    expected = [model.rows([held_out[:i]])[0][token] for i, token in enumerate(held_out)]
    assert found == pytest.approx(expected, rel=1e-14)
    assert model.perplexity(held_out) == pytest.approx(np.exp(-np.mean(np.log(expected))), rel=1e-13)


def test_longer_contexts_predict_a_text_better_that_depends_on_them():
    train, rest = TEXT[:2400], TEXT[2400:]
    perplexities = [NGramModel.train(train, V, order).perplexity(rest) for order in (1, 2, 3)]
    assert V > perplexities[0] > perplexities[1] > perplexities[2]
    assert NGramModel.train(np.array(train, dtype=np.int32), V, 3).perplexity(np.array(rest)) == perplexities[2]


def test_rows_come_in_the_library_and_dtype_that_is_asked_for(xp):
    for dtype in xp.floats:
        rows = MODEL.giving(xp.array(0.0, dtype))([[0, 1], [2, 3]], 2)
        assert rows.dtype == xp.dtype(dtype)
        assert rows.shape == (2, 2, V)
        assert np.abs(xp.numpy(rows) - MODEL([[0, 1], [2, 3]], 2)).max() <= xp.eps(dtype) / 2


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_with_a_lower_order_as_its_draft_the_text_is_the_targets_own(gamma):
    draft, target = MODEL.lower(2), MODEL
    some, own = (
        of(*models, length=3, prefix=(0, 2))
        for of, models in (
            (emitted_texts, (lambda text: draft.rows([text])[0], lambda text: target.rows([text])[0], gamma)),
            (own_texts, (lambda text: target.rows([text])[0],)),
        )
    )
    assert set(some) == set(own)
    assert max(abs(some[text] - own[text]) for text in own) <= 1e-12


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: NGramModel.train([], V, 2), r"^ids has shape \(0,\)"),
        (lambda: NGramModel.train([0, 4], V, 2), r"^ids has .* needs .* in \[0, 4\)"),
        (lambda: NGramModel.train([0, -1], V, 2), r"^ids has"),
        (lambda: NGramModel.train([0.0, 1.0], V, 2), r"^ids has .*float64"),
        (lambda: NGramModel.train([[0, 1]], V, 2), r"^ids has shape \(1, 2\)"),
        (lambda: NGramModel.train([0], V, 0), r"^order is 0"),
        (lambda: NGramModel.train([0], 2**16, 4), r"^order is 4 and vocabulary_size 65536, .*below 2\^63"),
        (lambda: MODEL.lower(0), r"^order is 0"),
        (lambda: MODEL.lower(5), r"^order is 5, needs to lie from 1 to the model's own, 4"),
        (lambda: MODEL([[0]], 0), r"^n_last is 0"),
        (lambda: MODEL([[0, 1, 2], [0]], 3), r"^n_last is 3"),
        (lambda: MODEL([[0, 4]], 1), r"^contexts has a token outside \[0, 4\)"),
        (lambda: MODEL.rows([[-1]]), r"^contexts has a token outside"),
        (lambda: MODEL.probabilities([]), r"^ids has shape \(0,\)"),
        (lambda: MODEL.perplexity([0, 4]), r"^ids has"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(unchecked, call, said):
    with pytest.raises(ValueError, match=said):
        call()
