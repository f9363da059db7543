"""Shapes of published models: well formed, sourced, and refused when they contradict themselves."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from course_lib.costs import PRESETS, ModelShape

LLAMA = PRESETS["Llama-3.1-8B"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_says_who_it_is_and_where_its_numbers_stand(name):
    shape = PRESETS[name]
    assert shape.name == name
    assert len(shape.source) > len("config.json of ")


def test_a_shape_never_changes():
    with pytest.raises(FrozenInstanceError):
        LLAMA.n_layers = 3


def test_a_head_need_not_be_the_residual_width_shared_out_among_the_heads():
    assert replace(LLAMA, d_head=96).d_head == 96


@pytest.mark.parametrize("field", ["n_layers", "d_model", "n_heads", "n_kv_heads", "d_head", "d_ff", "vocab_size"])
@pytest.mark.parametrize("size", [0, -8, 2.0, "4", True, None])
def test_a_size_is_a_positive_whole_number(unchecked, field, size):
    with pytest.raises(ValueError, match=f"{field} is {size!r}"):
        replace(LLAMA, **{field: size})


@pytest.mark.parametrize("n_kv_heads", [3, 5, 64])
def test_query_heads_divide_evenly_among_the_key_value_heads(n_kv_heads):
    with pytest.raises(ValueError, match=f"n_kv_heads is {n_kv_heads}.*n_heads = 32"):
        replace(LLAMA, n_kv_heads=n_kv_heads)


def test_a_word_for_the_biases_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="biases is 'some'"):
        replace(LLAMA, biases="some")


def test_an_integer_of_numpy_is_a_size_too(unchecked):
    assert isinstance(replace(LLAMA, n_layers=np.int64(2)), ModelShape)
