"""Positions: what attention knows of order, how it is told, and how far beyond its training that reaches.

order           attention without positions: equivariant, and what a causal mask gives away
sinusoidal      positions added to embeddings
rotary          RoPE: queries and keys turned, in both layouts
alibi           a price on distance instead, for contrast
scaling         frequencies for longer texts: interpolation, NTK-aware, dynamic; keys that went stale
by_parts        pair by pair: YaRN, Llama 3.1's rule
longrope        a factor for each pair, short and long

By their own names:

configs          the rule that a config.json asks for; those of published models
context_lengths  what models are offered for, 2k to 1M, and by what means
spectrum         what a rule does to each pair: wavelength, turns, unseen angles, resolution
decay            how scores fall with distance
search           one factor per pair, found by evolution
"""

from course_lib.positions.alibi import alibi_bias, alibi_slopes
from course_lib.positions.by_parts import Llama3, YaRN
from course_lib.positions.longrope import LongRoPE
from course_lib.positions.order import equivariance_gap, order_sensitivity
from course_lib.positions.rotary import (
    Frequencies,
    Layout,
    Rotation,
    angles,
    inverse_frequencies,
    regroup,
    rope,
    rotate,
    rotation,
)
from course_lib.positions.scaling import DynamicNTK, Interpolation, NTKAware, Rule, stale
from course_lib.positions.sinusoidal import add_sinusoidal, shift_matrix, sinusoidal

__all__ = [
    "DynamicNTK",
    "Frequencies",
    "Interpolation",
    "Layout",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "Rotation",
    "Rule",
    "YaRN",
    "add_sinusoidal",
    "alibi_bias",
    "alibi_slopes",
    "angles",
    "equivariance_gap",
    "inverse_frequencies",
    "order_sensitivity",
    "regroup",
    "rope",
    "rotate",
    "rotation",
    "shift_matrix",
    "sinusoidal",
    "stale",
]
