"""What rules do to each pair, counted out position by position."""

from math import pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.positions import Interpolation, NTKAware, Rule, YaRN, angles
from course_lib.positions.spectrum import last_pair_with_a_whole_turn, spectrum, turns, unseen_angles, wavelengths

D, TRAINED, LENGTH = 64, 2048, 16_384
PLAIN = Rule(D)


def test_a_pair_is_back_where_it_was_after_its_wavelength():
    length = wavelengths(PLAIN.trained)
    assert length[0] == 2 * pi
    turned = length[:, None] * PLAIN.trained[:, None]
    assert np.allclose(np.cos(turned), 1, rtol=0, atol=1e-12)
    assert wavelengths(np.array([0.0])) == np.inf


@given(seed=st.integers(0, 2**31), length=st.integers(2, 300), trained=st.integers(1, 300))
def test_unseen_angles_are_those_that_a_walk_over_all_positions_finds(seed, length, trained):
    """On a circle cut into 720 parts, to a part at each end; steps of less than a part, so that a walk leaves none out."""
    rng = np.random.default_rng(seed)
    before = rng.uniform(1e-5, 2 * pi / 720, 6)
    after = before / rng.uniform(1, 4, 6)

    def walked(inverse, positions):
        parts = np.floor(angles(np.arange(positions), inverse) % (2 * pi) / (2 * pi / 720)).astype(int)
        return [set(column) for column in parts.T]

    counted = [len(new - old) for new, old in zip(walked(after, length), walked(before, trained), strict=True)]
    stated = unseen_angles(after, length, before, trained) / (2 * pi / 720)
    assert np.abs(np.array(counted) - stated).max() <= 1 + 1e-9


def test_a_pair_that_turned_once_in_training_has_shown_every_angle():
    plain = unseen_angles(PLAIN.trained, LENGTH, PLAIN.trained, TRAINED)
    last = last_pair_with_a_whole_turn(PLAIN.trained, TRAINED)
    assert turns(PLAIN.trained, TRAINED)[last] >= 1 > turns(PLAIN.trained, TRAINED)[last + 1]
    assert np.all(plain[: last + 1] == 0)
    assert np.all(plain[last + 1 :] > 0)
    assert last_pair_with_a_whole_turn(PLAIN.trained, 2) == -1


def test_what_each_rule_pays_with():
    """Interpolation: resolution everywhere. NTK-aware: angles of pairs in between. By parts: resolution of slow pairs only."""
    s = LENGTH / TRAINED
    pi_, ntk, yarn = (
        spectrum(rule, LENGTH, PLAIN, TRAINED)
        for rule in (Interpolation(D, factor=s), NTKAware(D, factor=s), YaRN(D, original=TRAINED, factor=s))
    )
    one_position = PLAIN.trained / s * s  # the last distances are L·s − 1 and L − 1: s − 1 positions of θ/s apart
    assert np.all(pi_.unseen <= one_position)
    assert np.allclose(pi_.resolution, 1 / s, rtol=1e-12, atol=0)
    assert ntk.resolution[0] == 1
    assert ntk.resolution[-1] == pytest.approx(1 / s)
    slow = ntk.trained_turns < 1
    assert np.sum(ntk.unseen[slow] > 0.1) >= 3
    assert np.all(ntk.unseen[~slow] == 0)
    assert yarn.unseen.max() < ntk.unseen.max() / 2
    assert np.all(yarn.resolution[yarn.trained_turns > 32] == 1)
    assert np.allclose(ntk.wavelengths * ntk.turns, LENGTH - 1, rtol=1e-12, atol=0)


def test_arrays_of_rules_are_taken_as_one_rule_each():
    lists = PLAIN.trained / np.array([[1.0], [2.0], [8.0]])
    together = unseen_angles(lists, LENGTH, PLAIN.trained, TRAINED)
    for row, inverse in zip(together, lists, strict=True):
        assert np.array_equal(row, unseen_angles(inverse, LENGTH, PLAIN.trained, TRAINED))


def test_lengths_of_nothing_and_rules_of_other_widths_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"^length is 0"):
        turns(PLAIN.trained, 0)
    with pytest.raises(ValueError, match=r"^rule has 4 pairs"):
        spectrum(Rule(8), 9, PLAIN, 9)
