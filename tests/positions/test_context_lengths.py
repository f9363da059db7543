"""The table of context lengths: its order, and its agreement with the rules that the library has for the same models."""

from course_lib.positions.configs import PUBLISHED
from course_lib.positions.context_lengths import CONTEXT_LENGTHS

ROWS = {row.model: row for row in CONTEXT_LENGTHS}


def test_rows_are_of_one_model_each_by_year_and_name_a_source():
    assert len(ROWS) == len(CONTEXT_LENGTHS)
    assert [row.year for row in CONTEXT_LENGTHS] == sorted(row.year for row in CONTEXT_LENGTHS)
    assert all(row.source and row.means for row in CONTEXT_LENGTHS)
    assert min(row.context for row in CONTEXT_LENGTHS) <= 2048
    assert max(row.context for row in CONTEXT_LENGTHS) >= 1_000_000


def test_llamas_bases_are_as_the_makers_have_them():
    """Llama 3 had 500,000 already at 8k; what 3.1 added is the rescaling by parts, not the base."""
    assert [ROWS[name].theta for name in ("Llama 2", "Llama 3", "Llama 3.1")] == [10_000, 500_000, 500_000]
    assert [ROWS[name].context for name in ("Llama 2", "Llama 3", "Llama 3.1")] == [4096, 8192, 131_072]


def test_what_is_not_disclosed_has_no_base():
    undisclosed = [row for row in CONTEXT_LENGTHS if "not disclosed" in row.means]
    assert undisclosed
    assert all(row.theta is None for row in undisclosed)


def test_bases_are_those_of_the_published_rules():
    same = {
        "Llama 2": "Llama 2 7B",
        "Code Llama": "Code Llama 7B",
        "Mistral 7B v0.1": "Mistral 7B v0.1",
        "Mistral 7B v0.2": "Mistral 7B v0.2",
        "Llama 3": "Llama 3 8B",
        "Llama 3.1": "Llama 3.1 8B",
        "Phi-3.5-mini": "Phi-3.5-mini",
        "Qwen2.5 7B": "Qwen2.5 7B, long",
        "DeepSeek-V3": "DeepSeek-V3",
    }
    assert {name: ROWS[name].theta for name in same} == {
        name: PUBLISHED[rule].rule.theta for name, rule in same.items()
    }
