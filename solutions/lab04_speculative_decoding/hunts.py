"""The checks of the bug hunts: two faulty verifiers to break and to mend, and a test that tells right verifiers from wrong.

The faulty code travels with the cases that hunt it, so an input can be tried on it after the notebook's copy was mended. What
is right on such an input is known without the right code: a draft that is its own target is never turned down, and a sequence
gets the same whatever lies beside it. Most cases of a mend draw on a `random` that always gives the same number, so nothing
depends on the order of the draws; each is broken by one fault alone, but for those that look at everything at once.

    q, p      rows of draft and target: probabilities of the next token          (…, γ, v), (…, γ + 1, v)
    (p − q)₊  what acceptance leaves out; a rejected token's replacement is drawn from it      Leviathan et al., 2023, §2.3
    u         the number that a constant `random` gives
    labels    which tokens of the vocabulary stand for the rows of a small table, in ascending order
"""

import inspect
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from course_lib.arrays import sample
from course_lib.checks import Draw, Frequencies, Register, call, case, put, script
from course_lib.checks.cases import Case, Given, Kept, Step

from .checks import lab

ANSWER = Register(0)  # what the check line hands over
NEARLY_ONE = 1 - 2**-24  # turns down whatever may be turned down
VOCABULARY = 6
FEW, MANY = 400, 1500  # sequences
IMPORTS = "import numpy as np\n\nfrom course_lib.arrays import sample\n"


def shipped(*functions: Callable, name: str | None = None) -> Given:
    """The last of these functions as data, with the others, which it calls; `name` hides what it is called here."""
    last = functions[-1].__name__
    source = "\n\n".join([IMPORTS, *(inspect.getsource(function) for function in functions)])
    return Given(name or last, source.replace(f"def {last}(", f"def {name or last}("))


def at_the_judge(*functions: Callable, **constants: list | bool | str) -> Kept:
    """The last of these functions, to be called where the verdict is reached, with what else it needs."""
    one = shipped(*functions)
    return Kept(one.name, "".join([*(f"{name} = {value!r}\n" for name, value in constants.items()), one.source]))


def always(u: float) -> Given:
    """A `random` that gives one number only."""
    return Given("random", f"{IMPORTS}\n\ndef random(*shape):\n    return np.full(shape, {u!r})\n")


def some_labels(draw: Draw, n: int) -> np.ndarray:
    """n tokens of the vocabulary, ascending: the smallest stays the smallest, so that a constant draw means the same."""
    return np.sort(draw.rng.choice(VOCABULARY, n, replace=False))


def spread(rows: list, labels: np.ndarray) -> np.ndarray:
    """Rows over a few labels as rows over the whole vocabulary."""
    wide = np.zeros((len(rows), VOCABULARY))
    wide[:, labels] = rows
    return wide


def table_model(rows: list, labels: np.ndarray) -> Given:
    """A model whose next token depends on the last alone; a token that is no label is followed by any."""
    table = np.full((VOCABULARY, VOCABULARY), 1 / VOCABULARY)
    table[labels] = spread(rows, labels)
    return Given("model", f"{IMPORTS}\n\ndef model(tokens):\n    return np.array({table.tolist()})[tokens]\n")


def faulty_step(draft, target, tokens, gamma, random):
    text, drafted, q_drafted = tokens, [], []
    for _ in range(gamma):
        rows = draft(text)[:, -1]
        x = sample(rows, random(len(rows)))
        text = np.concatenate([text, x[:, None]], axis=1)
        drafted.append(x)
        q_drafted.append(np.take_along_axis(rows, x[:, None], axis=1))
    p = target(text)[:, len(tokens) - 1 :]
    emitted = []
    for i in range(gamma):
        p_drafted = np.take_along_axis(p[:, i], drafted[i][:, None], axis=1)
        if np.all(random() * q_drafted[i] < p_drafted):
            emitted.append(drafted[i])
        else:
            emitted.append(sample(np.maximum(p[:, i] - q_drafted[i], 0), random(len(tokens))))
            break
    return np.stack(emitted, axis=1).tolist()


def halves(*shape):
    return np.full(shape, 0.5)


def as_tokens(tokens, largest):
    if tokens is None:
        raise NotImplementedError
    array = np.array(getattr(tokens, "array", tokens))  # a tensor travels as its array
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        return f"needs whole numbers of shape (batch, n), got {array.shape}"
    if array.min() < 0 or array.max() > largest:
        return f"needs tokens from 0 to {largest}"
    return array.astype(np.int64)


def hunt_alone(tokens, smallest):
    """The draft is the target and counts modulo 10: nothing may be turned down, and the next token is known."""

    def counting(ids):
        return np.eye(10)[(ids + 1) % 10]

    tokens = as_tokens(tokens, 9)
    if isinstance(tokens, str):
        return tokens
    try:
        first = [new[0] for new in faulty_step(counting, counting, tokens, 1, halves)]
        fails = first != ((tokens[:, -1] + 1) % 10).tolist()
    except (ValueError, IndexError):
        fails = True
    if not fails:
        return "every first token is right"
    return "fails" if not smallest else "nothing smaller fails" if tokens.size == 2 else "something smaller fails too"


def hunt_pair(tokens, closest):
    """What a sequence gets beside a copy of itself is what it should get beside any other."""
    q, p = np.array(PAIR_Q), np.array(PAIR_P)

    def new(ids):
        return faulty_step(lambda text: q[text], lambda text: p[text], ids, 1, halves)

    tokens = as_tokens(tokens, 2)
    if isinstance(tokens, str):
        return tokens
    if tokens.shape != (2, 2):
        return f"needs tokens of shape (2, 2), got {tokens.shape}"
    try:
        disturbed = new(tokens) != [new(np.stack([row, row]))[0] for row in tokens]
    except ValueError:
        disturbed = True
    if not disturbed:
        return "each gets what it gets beside itself"
    return f"{np.sum(tokens[0] != tokens[1])} of 2 tokens differ" if closest else "disturbed"


PAIR_Q = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.3, 0.4, 0.3]]
PAIR_P = [[0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.5, 0.3, 0.2]]


@lab.check(points=4, target=["failing_tokens", "failing_pair"], minutes=8)
def failing_input(draw: Draw) -> Iterator[Case]:
    """The smallest inputs on which speculative_step, as it was handed out, goes wrong."""
    alone = at_the_judge(halves, faulty_step, as_tokens, hunt_alone)
    pair = at_the_judge(halves, faulty_step, as_tokens, hunt_pair, PAIR_Q=PAIR_Q, PAIR_P=PAIR_P)
    yield script(
        "failing_tokens: it fails",
        put("hunt", alone),
        call("hunt", ANSWER, False, expect="fails"),
        hint="Try arrays of several shapes. Equal tokens do not test an index: the number is the same wherever it is read.",
    )
    yield script(
        "failing_tokens: nothing smaller fails",
        put("hunt", alone),
        call("hunt", ANSWER, True, expect="nothing smaller fails"),
        hint="Take away a row or a column for as long as it still fails.",
    )
    yield script(
        "failing_pair: one sequence disturbs the other",
        put("hunt", pair),
        call("hunt", Register(1), False, expect="disturbed"),
        hint="Run the step on each of the three last tokens beside a copy of itself. After which of them does the draft stand?",
    )
    yield script(
        "failing_pair: as alike as can be",
        put("hunt", pair),
        call("hunt", Register(1), True, expect="1 of 2 tokens differ"),
        hint="What differs without need hides what matters: the first column has nothing to do with it.",
    )


def step_case(
    draw: Draw, name: str, rows: list[tuple], tokens: list, gamma: int, u: float, expect: list, hint: str
) -> Case:
    """One round under a constant `random`. `rows` holds q and p after each label; `tokens` and `expect` count the labels."""
    labels = some_labels(draw, len(rows))
    draft, target = (table_model([pair[side] for pair in rows], labels) for side in (0, 1))
    answer = [labels[new].tolist() for new in expect]
    return case(name, (draft, target, labels[np.array(tokens)], gamma, always(u)), expect=answer, hint=hint)


# Read after a wrong token, the target lets the draft stand; the right row turns it down and leaves one token to be drawn.
PLACES = [([0.2, 0.6, 0.2], [0.2, 0.2, 0.6]), ([0.2, 0.2, 0.6], [0.8, 0.1, 0.1]), ([0.2, 0.2, 0.6], [0.2, 0.2, 0.6])]
# q itself leaves the last token only, or the first only; the number q(x) leaves others too, and p all three.
ROWS = [([0.55, 0.25, 0.2], [0.55, 0.1, 0.35]), ([0.18, 0.25, 0.57], [0.38, 0.05, 0.57]), ([0.2, 0.4, 0.4], [0, 1, 0])]
# After 0 the draft falls and 2 replaces it; after 1 it stands, and is 2; after 2 it falls and 0 replaces it.
LENGTHS = [([0.2, 0.6, 0.2], [0.1, 0.1, 0.8]), ([0.2, 0.2, 0.6], [0.3, 0.3, 0.4]), ([0.2, 0.6, 0.2], [0.8, 0.1, 0.1])]
STANDING = [([0, 0.5, 0.5], [0.1, 0.3, 0.6]), ([0, 0, 1], [0, 0, 1]), ([0.5, 0.5, 0], [1, 0, 0])]
ROUNDED = [([0.5, 0.5], [0.5, 0.5 - 2**-20]), ([0.2, 0.8], [0.9, 0.1])]
# Each row turns down one token, half the time, and has one to replace it: any other replacement is an outcome that never is.
WHOLE_Q = np.array([[0.3, 0.2, 0.5], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
WHOLE_P = np.array([[0.3, 0.45, 0.25], [0.25, 0.3, 0.45], [0.45, 0.25, 0.3]])


def first_tokens(step, q, p, n, seed):
    """The first token of each of n equal sequences of n tokens; what cannot be read is handed back as it is."""

    def rows(row):
        return lambda ids: np.broadcast_to(row, (*ids.shape, len(row)))

    rng = np.random.default_rng(seed)
    emitted = step(rows(q), rows(p), np.zeros((n, n), dtype=np.int64), 1, lambda *shape: rng.random(shape))
    try:
        return np.array([new[0] for new in emitted])
    except (TypeError, IndexError):
        return emitted


def all_tokens(step, q, p, tokens, gamma, n, seed):
    """What each of n equal sequences gets, filled up with −1; what cannot be read is handed back as it is."""
    rng = np.random.default_rng(seed)
    batch = np.tile(tokens, (n, 1))
    emitted = step(lambda ids: q[ids], lambda ids: p[ids], batch, gamma, lambda *shape: rng.random(shape))
    try:
        return np.array([[*new, *[-1] * (gamma + 1 - len(new))] for new in emitted])
    except (TypeError, ValueError):
        return emitted


def round_frequencies(q: Callable, p: Callable, gamma: int, n: int) -> Frequencies:
    """What n rounds emit, filled up with −1; q and p give the row after some new tokens.

    x stands with probability min(q(x), p(x)), and y replaces another token with (p(y) − q(y))₊, drafts added up.
    """
    v, outcomes, weights = len(p(())), [], []
    for new in (new for length in range(1, gamma + 2) for new in product(range(v), repeat=length)):
        *kept, last = new
        before = [new[:i] for i in range(len(new))]
        weight = np.prod([min(q(text)[x], p(text)[x]) for text, x in zip(before, kept, strict=False)])
        end = before[-1]
        weight *= p(end)[last] if len(new) > gamma else max(p(end)[last] - q(end)[last], 0)
        if weight > 0:
            outcomes.append([*new, *[-1] * (gamma + 1 - len(new))])
            weights.append(weight)
    return Frequencies(np.array(outcomes), np.array(weights), n)


def draws_case(draw: Draw, name: str, n: int, share: float) -> Case:
    """As many sequences as tokens, so that one cannot be taken for the other; the draft has a coin for its rows."""
    p = np.array([share, 1 - share])
    step = call(
        "first tokens",
        ANSWER,
        np.array([0.5, 0.5]),
        p,
        n,
        draw.integers(0, 2**31),
        expect=Frequencies(np.arange(2), p, n),
    )
    hint = "Equal sequences must not share their luck: how many numbers does `random` give for a position of the whole batch?"
    return script(name, put("first tokens", shipped(first_tokens)), step, hint=hint)


def whole_case(draw: Draw, name: str, tokens: list[int], gamma: int) -> Case:
    """Everything that a round can emit, at once; relabelled, so that no answer can be a table."""
    order = draw.rng.permutation(3)
    q, p = (rows[order][:, order] for rows in (WHOLE_Q, WHOLE_P))
    tokens = np.argsort(order)[tokens].tolist()
    expect = round_frequencies(
        lambda new: q[[*tokens, *new][-1]], lambda new: p[[*tokens, *new][-1]], gamma=gamma, n=MANY
    )
    step = call("all tokens", ANSWER, q, p, np.array(tokens), gamma, MANY, draw.integers(0, 2**31), expect=expect)
    hint = "Mend the cases above first. If this one alone fails, compare the order of your steps with the four rules."
    return script(name, put("all tokens", shipped(all_tokens)), step, hint=hint)


@lab.check(
    points=14, target="speculative_step(draft, target, tokens, gamma, random) -> lists of new tokens", minutes=22
)
def speculative_step(draw: Draw) -> Iterator[Case]:
    """One round of speculative decoding for a batch, five faults mended."""
    yield step_case(
        draw,
        "one sequence of three tokens",
        PLACES,
        [[0, 0, 1]],
        1,
        0.5,
        [[0]],
        hint="After which of the three tokens does the target's row of the first drafted token stand? `len` of an array is "
        "the length of its first axis.",
    )
    yield step_case(
        draw,
        "a rejected token and its replacement",
        ROWS,
        [[0]],
        1,
        0.6,
        [[2]],
        hint="Over three tokens q = (0.55, 0.25, 0.2), p = (0.55, 0.1, 0.35), and u = 0.6 drafts the second; it falls. Where is "
        "p above q? The residual subtracts two rows: what is the shape of what is subtracted here?",
    )
    yield step_case(
        draw,
        "every drafted token stands",
        STANDING,
        [[0]],
        2,
        0.0,
        [[1, 2, 0]],
        hint="The target's last row has been paid for. What is drawn from it when nothing was rejected?",
    )
    yield step_case(
        draw,
        "one sequence ends its round before the other",
        LENGTHS,
        [[2, 0], [2, 1]],
        2,
        0.5,
        [[2], [2, 0]],
        hint="`break` ends the round for all. Whose round should a rejection end?",
    )
    yield draws_case(draw, f"{FEW} equal sequences draw for themselves", FEW, 0.2)
    yield step_case(
        draw,
        "rows that differ by a rounding error",
        ROUNDED,
        [[0]],
        1,
        NEARLY_ONE,
        [[1]],
        hint="A rejection, and p is nowhere above q: what is left of the residual? The second rule says what to draw from then.",
    )
    yield whole_case(draw, f"everything at once, {MANY:,} times", [1, 0], 2)


def faulty_verify(draft_tokens, draft_probs, target_probs, random):
    emitted = []
    for x, p in zip(draft_tokens, target_probs, strict=False):
        best = int(np.argmax(p))
        emitted.append(best)
        if best != x:
            break
    return emitted


def hunt_share(p, q, token, share, question):
    """One question about a counterexample: how often the faulty code emits the token is added up over all drafts."""
    if any(part is None for part in (p, q, token, share)):
        raise NotImplementedError
    p, q, token, share = (getattr(part, "array", part) for part in (p, q, token, share))  # tensors travel as arrays
    p, q = np.array(p, dtype=float), np.array(q, dtype=float)
    if p.shape != q.shape or p.ndim != 1 or p.size == 0:
        return f"needs two rows of one length, got {p.shape} and {q.shape}"
    if not all(np.all(row >= 0) and abs(np.sum(row) - 1) < 1e-9 for row in (p, q)):
        return "needs two rows that are distributions"
    if question == "size":
        return f"{p.size} tokens"
    if not isinstance(token, int | np.integer) or not 0 <= token < p.size:
        return f"needs a token from 0 to {p.size - 1}"
    drawn = [x for x in range(p.size) if q[x] > 0]
    true = sum(q[x] for x in drawn if faulty_verify([x], q[None], np.stack([p, p]), halves) == [token])
    if question == "share":
        return "right" if abs(true - float(share)) < 1e-6 else "not how often it is emitted"
    return (
        "another share than p's"
        if abs(true - p[token]) >= 0.05
        else f"emitted with {true:.3g}, and p is {p[token]:.3g}"
    )


@lab.check(points=3, target=["hunt_p", "hunt_q", "hunt_token", "hunt_share"], minutes=4)
def counterexample(draw: Draw) -> Iterator[Case]:
    """Two rows and a token that verify_draft, as it was handed out, emits too often or too seldom."""
    hunt = at_the_judge(halves, faulty_verify, hunt_share)
    everything = [Register(i) for i in range(4)]

    def asked(name: str, question: str, expect: str, hint: str) -> Case:
        return script(name, put("hunt", hunt), call("hunt", *everything, question, expect=expect), hint=hint)

    yield asked(
        "the token's share is not p's",
        "differs",
        "another share than p's",
        "Whatever was drafted, which token does it emit? Then let p give that token less than 1.",
    )
    yield asked(
        "its share, as a number",
        "share",
        "right",
        "Go through both drafts, x = 0 and x = 1: what is emitted? Add up q(x) wherever it is your token.",
    )
    yield asked(
        "nothing smaller would do",
        "size",
        "2 tokens",
        "With a single token there is nothing to get wrong. How many are needed at least?",
    )


def verify_step(draw: Draw, q: list, p: list, drafted: list[int], u: float, expect: list[int]) -> Step:
    """One verification under a constant `random`; `drafted` and `expect` count the labels."""
    labels = some_labels(draw, len(p[0]))
    args = (labels[drafted], spread(q, labels), spread(p, labels), always(u))
    return call(0, *args, expect=labels[expect].tolist())


def greedy_case(draw: Draw, name: str, gamma: int) -> Case:
    """Rows that leave no choice: the draft stands as far as it is right, and one more token follows."""
    best = draw.integers(0, VOCABULARY, gamma + 1)
    q, p = draw.probabilities(gamma, VOCABULARY), np.eye(VOCABULARY)[best]
    off = best[:gamma].copy()
    off[1] = (off[1] + 1) % VOCABULARY
    return script(
        name,
        call(0, best[:gamma], q, p, always(0.5), expect=best.tolist()),
        call(0, off, q, p, always(0.5), expect=best[:2].tolist()),
        hint="When every drafted token stands, the last row of target_probs has not been used yet.",
    )


def verified(verify, q, p, n, seed, width):
    """What n rounds over the same rows emit, or with a width of 1 their first tokens."""
    rng = np.random.default_rng(seed)
    drafted = sample(np.tile(q, (n, 1, 1)), rng.random((n, len(q))))
    emitted = [verify(tokens, q, p, lambda *shape: rng.random(shape)) for tokens in drafted]
    try:
        if width == 1:
            return np.array([new[0] for new in emitted])
        return np.array([[*new, *[-1] * (width - len(new))] for new in emitted])
    except (TypeError, ValueError, IndexError):
        return emitted


def verified_case(draw: Draw, name: str, q: np.ndarray, p: np.ndarray, n: int, first: bool, hint: str) -> Case:
    """Many rounds over the same rows: their first tokens, or all that they emit."""
    order = draw.rng.permutation(p.shape[-1])
    q, p = q[:, order], p[:, order]
    gamma = len(q)
    if first:
        expect = Frequencies(np.arange(p.shape[-1]), p[0], n)
    else:
        expect = round_frequencies(lambda new: q[len(new)], lambda new: p[len(new)], gamma, n)
    step = call("rounds", ANSWER, q, p, n, draw.integers(0, 2**31), 1 if first else gamma + 1, expect=expect)
    return script(name, put("rounds", shipped(verified)), step, hint=hint)


@lab.check(
    points=7,
    target="verify_draft(draft_tokens, draft_probs, target_probs, random) -> new tokens",
    minutes=11,
)
def verify_draft(draw: Draw) -> Iterator[Case]:
    """A verification that was right for greedy decoding only, made exact under sampling."""
    yield greedy_case(draw, "rows that leave no choice", 3)
    yield script(
        "a token that is not the likeliest",
        verify_step(
            draw,
            [[0.3, 0.3, 0.4], [0.4, 0.2, 0.4]],
            [[0.5, 0.4, 0.1], [0, 1, 0], [1, 0, 0]],
            [1, 2],
            NEARLY_ONE,
            [1, 1],
        ),
        hint="The draft gave it 0.3, the target gives it 0.4. With which probability does it stand?",
    )
    yield script(
        "the likeliest token, drafted too often",
        verify_step(draw, [[0.8, 0, 0.2]], [[0.5, 0.3, 0.2], [1, 0, 0]], [0], 0.9, [1]),
        hint="`random` gives 0.9, and p/q is 0.5/0.8. What is left for the replacement, once q is taken from p?",
    )
    yield verified_case(
        draw,
        "the first token follows p, over 1,000 rounds",
        np.array([[0.9, 0.05, 0.05]]),
        np.array([[0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]),
        1000,
        True,
        hint="Too many of the drafted token: is it turned down often enough? Too many of another: from what is it replaced?",
    )


def at_drafts(rows, tokens):
    return np.take_along_axis(rows[:, : tokens.shape[1]], tokens[..., None], axis=-1)[..., 0]


def prefix_of(stands):
    return np.cumprod(stands, axis=1).sum(axis=1)


def missing_at(n, q, p):
    q = np.concatenate([q, np.zeros_like(p[:, :1])], axis=1)
    each = np.arange(len(n))
    missing = np.maximum(p[each, n] - q[each, n], 0)
    return np.where(missing.any(axis=-1, keepdims=True), missing, p[each, n])


def as_lists(tokens, n, last):
    return [[*row[:k].tolist(), int(y)] for row, k, y in zip(tokens, n, last, strict=True)]


def plain(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens))
    return as_lists(tokens, n, sample(missing_at(n, q, p), random(len(n))))


def from_the_end(tokens, q, p, random):
    n = prefix_of((1 - random(*tokens.shape)) * at_drafts(q, tokens) < at_drafts(p, tokens))
    backwards = sample(missing_at(n, q, p)[:, ::-1], random(len(n)))
    return as_lists(tokens, n, p.shape[-1] - 1 - backwards)


def by_trial(tokens, q, p, random):
    def drawn(row):
        left = float(random())
        for y, share in enumerate(row):
            left -= share
            if left < 0:
                return y
        return int(np.argmax(row))

    emitted = []
    for row, q_rows, p_rows in zip(tokens.tolist(), q.tolist(), p.tolist(), strict=True):
        new = []
        for x, q_row, p_row in zip(row, q_rows, p_rows, strict=False):
            if random() * q_row[x] >= p_row[x]:
                break
            new.append(x)
        p_row, q_row = p_rows[len(new)], q_rows[len(new)] if len(new) < len(row) else [0] * len(p_rows[0])
        y = drawn(p_row)
        while random() * p_row[y] >= p_row[y] - q_row[y]:
            y = drawn(p_row)
        emitted.append([*new, y])
    return emitted


def from_p(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens))
    return as_lists(tokens, n, sample(p[np.arange(len(n)), n], random(len(n))))


def no_bonus(tokens, q, p, random):
    return [new[: tokens.shape[1]] for new in plain(tokens, q, p, random)]


def one_length(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens))
    n[:] = n.min()
    return as_lists(tokens, n, sample(missing_at(n, q, p), random(len(n))))


def tells(first, second):
    """Two verdicts, asked for once: whoever could try both ways round would not need to find out."""
    if getattr(tells, "asked", False):
        raise ValueError("asked twice")
    tells.asked = True
    wrong, right = [bool(getattr(one, "array", one)) for one in ((first, second) if WRONG_FIRST else (second, first))]
    if not wrong:
        return "each is taken for the other" if right else "the wrong one passes"
    return "the right one is condemned" if right else TOLD_APART


def pair_case(name: str, wrong: Callable, right: Callable, hint: str, draw: Draw | None = None) -> Case:
    """A wrong verifier beside a right one, so that one verdict for all earns nothing.

    With `draw` it is by lot which comes first, and what is said when they are told apart: neither can be known beforehand.
    """
    parts = (at_drafts, prefix_of, missing_at, as_lists, plain)
    pair = [shipped(*(part for part in parts if part is not one), one, name="verify") for one in (wrong, right)]
    wrong_first, word = True, "told apart"
    if draw is not None:
        wrong_first, word = bool(draw.integers(0, 2)), f"told apart ({draw.integers(0, 2**31)})"
    first, second = pair if wrong_first else pair[::-1]
    return script(
        name,
        call(0, first, keep="first"),
        call(0, second, keep="second"),
        put("tells", at_the_judge(tells, WRONG_FIRST=wrong_first, TOLD_APART=word)),
        call("tells", Register("first"), Register("second"), expect=word),
        hint=hint,
    )


@lab.check(points=12, target="is_wrong(verify) -> bool", minutes=20)
def is_wrong(draw: Draw) -> Iterator[Case]:
    """A test that finds wrong verifiers and lets every right one pass."""
    yield pair_case(
        "wrong: replaces a rejected token by a draw from p",
        from_p,
        plain,
        hint="Choose q far from p. Then count how often each first token comes up, accepted or replaced: it should follow p.",
    )
    yield pair_case(
        "wrong: no token after a draft that stands to its end",
        no_bonus,
        plain,
        hint="How many tokens must a round emit whose drafted tokens all stand?",
    )
    yield pair_case(
        "wrong: one accepted length for the whole batch",
        one_length,
        plain,
        hint="Alone, each sequence is treated well. Verify many at once.",
    )
    yield pair_case(
        "right, and it draws from the end of the vocabulary",
        from_p,
        from_the_end,
        hint="Compare shares, not tokens: the right one draws in another way. The wrong one is the first above.",
    )
    yield pair_case(
        "right, and it draws until a trial succeeds",
        from_p,
        by_trial,
        hint="The right one takes more numbers from `random`: only what it emits can tell. The wrong one is the first above.",
    )
