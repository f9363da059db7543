"""The speculative loop writes what ordinary decoding writes: the same text when greedy, else the same distribution of texts.

Statistical claims are tests at a fixed seed. `fits` fails a right loop with a probability of 1e-6 (chi-square, p-value by
scipy); that it fails wrong ones is tested too. The models are tables of random rows that depend on the last two tokens.
Large batches run `unchecked`: the loop calls small functions for each sequence, and checking their annotations 10⁵ times
takes longer than all else.
"""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import scipy.stats

from course_lib.arrays import softmax
from course_lib.speculation import SamplingSettings, decode, decoding, own_texts, speculative_decode, verify_and_emit
from course_lib.speculation.verification import Emitted

ERROR = 1e-6
GREEDY = SamplingSettings(temperature=0)


class Table:
    """A model that looks at the last two tokens; `start` stands for what comes before the first."""

    def __init__(self, seed, v, xp=None, sharpness=1.0):
        self.xp, self.start = xp, v
        self.rows = softmax(sharpness * np.random.default_rng(seed).normal(size=(v + 1, v + 1, v)))
        self.asked = []

    def __call__(self, sequences, n_last):
        assert all(len(sequence) >= n_last for sequence in sequences), "a prefix without a token was asked for"
        self.asked.append((len(sequences), n_last))
        tails = np.array([([self.start, *sequence])[-n_last - 1 :] for sequence in sequences])
        rows = self.rows[tails[:, :-1], tails[:, 1:]]
        return rows if self.xp is None else self.xp.array(rows, "float64")

    def after(self, text):
        """The row after a text, as enumeration asks for it."""
        return self([text], 1)[0, 0]


def successor(v, step=1):
    """A model that is certain: after x comes x + step, modulo v."""

    def model(sequences, n_last):
        tails = np.array([sequence[-n_last:] for sequence in sequences])
        return np.eye(v)[(tails + step) % v]

    return model


def fits(texts, probabilities):
    """Whether texts come up as often as their probabilities say. Impossible ones must not; rare ones are put together."""
    seen = Counter(map(tuple, texts))
    if any(probabilities.get(text, 0) == 0 for text in seen):
        return False
    classes = sorted((text for text in probabilities if probabilities[text] > 0), key=probabilities.get)
    expected = len(texts) * np.array([probabilities[text] for text in classes])
    observed = np.array([seen[text] for text in classes])
    starts = np.arange(int(np.searchsorted(np.cumsum(expected), 20)), len(classes))
    assert len(starts) > 3, "hardly anything is left to compare"
    starts[0] = 0
    expected, observed = np.add.reduceat(expected, starts), np.add.reduceat(observed, starts)
    return scipy.stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > ERROR


@pytest.mark.parametrize("gamma", [0, 1, 3, 7])
def test_greedy_text_is_the_targets_own_whatever_the_draft(xp, unchecked, gamma):
    """romsto/Speculative-Decoding: a greedy text other than the target's in 6 of 20 seeds."""
    for seed in range(20):
        target, draft = Table(seed, 5, xp), Table(seed + 100, 5, xp)
        prompts = [[seed % 5], [1, 2, 3], [4, 4], [0, 3, 1, 2]]
        own = decode(target, prompts, 9, np.random.default_rng(seed), GREEDY)
        done = speculative_decode(draft, target, prompts, 9, gamma, np.random.default_rng(seed + 1), GREEDY)
        assert done.tokens == own.tokens


def test_a_seed_gives_every_array_library_the_same_text(xp):
    prompts, settings = [[0], [1, 2], [3, 3, 3]], SamplingSettings(0.8, 0.95)
    texts = [
        speculative_decode(
            Table(1, 6, library), Table(2, 6, library), prompts, 40, 3, np.random.default_rng(7), settings
        )
        for library in (None, xp)
    ]
    assert texts[0] == texts[1]


def test_a_torch_generator_serves_too():
    import torch

    texts = [
        speculative_decode(Table(1, 6), Table(2, 6), [[0]], 20, 3, torch.Generator().manual_seed(3)) for _ in range(2)
    ]
    assert texts[0] == texts[1]
    assert len(texts[0].tokens[0]) == 20


def many_texts(gamma, settings, prompts, n=34_000, stop_token=None):
    """Texts of three tokens, `n` in one batch, prompts in turn."""
    batch = [prompts[i % len(prompts)] for i in range(n)]
    rng = np.random.default_rng(gamma)
    return speculative_decode(Table(8, 3), Table(9, 3), batch, 3, gamma, rng, settings, stop_token).tokens


def own(settings, prompt):
    target = Table(9, 3)
    return own_texts(lambda text: settings.apply(target.after(text)), 3, tuple(prompt))


@pytest.mark.parametrize(
    ("gamma", "settings"), [(1, SamplingSettings()), (2, SamplingSettings(0.8, 0.95)), (4, SamplingSettings())]
)
def test_texts_come_up_as_often_as_the_targets_own(unchecked, gamma, settings):
    """102,000 tokens; two prompts in one batch, so that each sequence has neighbours with other rows."""
    prompts = [[0], [2, 1]]
    texts = many_texts(gamma, settings, prompts)
    assert sum(map(len, texts)) == 102_000
    for i, prompt in enumerate(prompts):
        assert fits(texts[i::2], own(settings, prompt))


def test_texts_that_a_stop_token_ends_come_up_as_often_as_the_targets_own(unchecked):
    probabilities = Counter()
    for text, probability in own(SamplingSettings(), [0]).items():
        probabilities[text[: text.index(1) + 1] if 1 in text else text] += probability
    assert fits(many_texts(4, SamplingSettings(), [[0]], stop_token=1), probabilities)


def test_neighbours_in_a_batch_are_independent(unchecked):
    """The fault of one draw for the whole batch: each text would be right by itself, and all of them alike."""
    texts = many_texts(2, SamplingSettings(), [[0]])
    pairs = [(*a[:2], *b[:2]) for a, b in zip(texts[::2], texts[1::2], strict=True)]
    first_two = Counter()
    for text, probability in own(SamplingSettings(), [0]).items():
        first_two[text[:2]] += probability
    assert fits(pairs, {(*a, *b): first_two[a] * first_two[b] for a in first_two for b in first_two})


def drawn_again_from_p(tokens, q, p, uniforms):
    """The fault of Spec-RL #14: the replacement comes from the target's row, not from the residual."""
    right = verify_and_emit(tokens, q, p, uniforms)
    rows = np.take_along_axis(p, right.accepted[:, None, None], axis=1)[:, 0]
    last = np.minimum((rows.cumsum(-1) <= uniforms[:, -1:]).sum(-1), p.shape[-1] - 1)
    np.put_along_axis(right.tokens, right.accepted[:, None], last[:, None], axis=1)
    return right


def one_draw_for_all(tokens, q, p, uniforms):
    """Every sequence is tested with the first one's uniforms."""
    return verify_and_emit(tokens, q, p, np.broadcast_to(uniforms[:1], uniforms.shape))


def one_length_for_all(tokens, q, p, uniforms):
    """Every sequence stops where the first rejection of the batch is, with a token that it drafted or drew."""
    right = verify_and_emit(tokens, q, p, uniforms)
    return Emitted(right.tokens, np.full_like(right.accepted, right.accepted.min()))


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (drawn_again_from_p, lambda: test_texts_come_up_as_often_as_the_targets_own(None, 2, SamplingSettings())),
        (one_draw_for_all, lambda: test_neighbours_in_a_batch_are_independent(None)),
        (one_length_for_all, lambda: test_each_sequence_moves_on_at_its_own_pace()),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_these_tests_can_fail(monkeypatch, unchecked, fault, test):
    monkeypatch.setattr(decoding, "verify_and_emit", fault)
    with pytest.raises(AssertionError):
        test()


def test_each_sequence_moves_on_at_its_own_pace():
    """One draft for both sequences: always right from even tokens on, always wrong from odd ones on."""
    v, gamma = 8, 3
    target = successor(v, step=2)

    def draft(sequences, n_last):
        right, wrong = (successor(v, step)(sequences, n_last) for step in (2, 3))
        odd = np.array([sequence[0] % 2 for sequence in sequences])
        return np.where(odd[:, None, None], wrong, right)

    done = speculative_decode(draft, target, [[0], [1]], 8, gamma, np.random.default_rng(0))
    assert done.tokens == [[2, 4, 6, 0, 2, 4, 6, 0], [3, 5, 7, 1, 3, 5, 7, 1]]
    assert done.rounds == [[gamma] * 2, [0] * 8]
    assert (done.target_runs, done.draft_runs) == (8, 8 * gamma)


@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_a_prompt_of_one_token_is_enough_and_each_model_is_asked_for_what_it_owes(gamma):
    """romsto/Speculative-Decoding, 41668c8 and 53922df: index errors at the ends of short sequences."""
    draft, target = Table(1, 4), Table(2, 4)
    done = speculative_decode(draft, target, [[3]], 9, gamma, np.random.default_rng(5))
    assert target.asked == [(1, gamma + 1)] * done.target_runs
    assert draft.asked == [(1, 1)] * done.draft_runs
    assert done.draft_runs == gamma * done.target_runs == gamma * len(done.rounds[0])


@pytest.mark.parametrize("gamma", [0, 1, 2, 4])
def test_no_text_is_longer_than_asked_for(gamma):
    """transformers #46993. The draft is always right here, so that each round brings γ + 1 tokens."""
    for n_new in range(8):
        done = speculative_decode(successor(7), successor(7), [[0], [5, 6]], n_new, gamma, np.random.default_rng(0))
        assert done.tokens == [[(1 + i) % 7 for i in range(n_new)], [i % 7 for i in range(n_new)]]
        assert done.target_runs == -(-n_new // (gamma + 1))


@pytest.mark.parametrize("stop", range(7))
@pytest.mark.parametrize("gamma", [0, 1, 3, 6])
def test_the_stop_token_is_kept_once_wherever_it_falls_in_a_round(gamma, stop):
    """transformers PR#46790. The neighbour, which comes to it at another place, goes on till then; a prompt may hold it."""
    done = speculative_decode(
        successor(7), successor(7), [[0], [4, 0, 3]], 9, gamma, np.random.default_rng(0), stop_token=stop
    )
    for start, text in zip((0, 3), done.tokens, strict=True):
        assert text == [(start + i) % 7 for i in range(1, (stop - start - 1) % 7 + 2)]


def test_a_stop_token_that_is_rejected_or_dropped_stops_nothing():
    """The draft goes up by three, to the stop token 6 in its second step; the target, by one, rejects the first."""
    done = speculative_decode(successor(7, step=3), successor(7), [[0]], 5, 2, np.random.default_rng(0), stop_token=6)
    assert done.tokens == [[1, 2, 3, 4, 5]]


def test_without_drafted_tokens_it_is_ordinary_decoding():
    def never(sequences, n_last):
        raise AssertionError("the draft was asked")

    prompts = [[0], [1, 1]]
    plain = decode(Table(2, 4), prompts, 30, np.random.default_rng(4))
    done = speculative_decode(never, Table(2, 4), prompts, 30, 0, np.random.default_rng(4))
    assert done.tokens == plain.tokens
    assert (done.target_runs, done.draft_runs) == (plain.target_runs, 0) == (30, 0)


def test_what_is_told_of_a_run_adds_up():
    prompts = [[0], [1], [2]]
    done = speculative_decode(Table(1, 4), Table(2, 4), prompts, 25, 3, np.random.default_rng(4))
    assert prompts == [[0], [1], [2]], "a prompt was written to"
    assert done.target_runs == max(map(len, done.rounds))
    for text, rounds in zip(done.tokens, done.rounds, strict=True):
        emitted = np.cumsum([accepted + 1 for accepted in rounds])
        assert len(text) == 25 <= emitted[-1], "the last round reaches the end"
        assert np.all(emitted[:-1] < 25), "and only the last"
        assert all(later > earlier for earlier, later in pairwise(emitted))


@pytest.mark.parametrize(
    ("settings", "probability"),
    [(SamplingSettings(), 0.6), (SamplingSettings(temperature=0.5), 0.36 / 0.52), (GREEDY, 1)],
)
def test_the_row_that_is_drawn_from_is_the_row_that_is_verified(monkeypatch, unchecked, settings, probability):
    """transformers #32867: a draft that took its likeliest token, verified as if drawn from its softmax: 0.749, not 0.6."""
    p, q, n = [0.6, 0.4], [0.8, 0.2], 20_000

    def share():
        draft, target = (lambda seqs, n, row=row: np.broadcast_to(row, (len(seqs), n, 2)) for row in (q, p))
        done = speculative_decode(draft, target, [[0]] * n, 1, 1, np.random.default_rng(2), settings)
        return sum(text == [0] for text in done.tokens)

    assert scipy.stats.binomtest(share(), n, probability).pvalue > ERROR
    if settings == SamplingSettings():
        # The fault itself: the likeliest token, and the row that it was not drawn from. It emits 0.6 / 0.8.
        monkeypatch.setattr(decoding, "_drawn", lambda rows, rng: np.argmax(rows, axis=-1).tolist())
        assert scipy.stats.binomtest(share(), n, 0.75).pvalue > ERROR
        assert scipy.stats.binomtest(share(), n, 0.6).pvalue < ERROR


def test_draft_and_target_of_different_vocabularies_are_refused(unchecked):
    with pytest.raises(ValueError, match="draft has a vocabulary of 4, needs that of the target: 5"):
        speculative_decode(successor(4), successor(5), [[0]], 3, 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"gamma": -1}, "gamma is -1"),
        ({"n_new": -1}, "n_new is -1"),
        ({"prompts": []}, "prompts has 0 sequences"),
        ({"prompts": [[1], []]}, "prompts has 2 sequences, needs at least one, and a token in each"),
    ],
)
def test_a_wrong_argument_is_named(unchecked, arguments, words):
    right = {"prompts": [[0]], "n_new": 3, "gamma": 2, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=words):
        speculative_decode(successor(4), successor(4), **right | arguments)
    if "gamma" not in arguments:
        del right["gamma"]
        with pytest.raises(ValueError, match=words):
            decode(successor(4), **right | arguments)
