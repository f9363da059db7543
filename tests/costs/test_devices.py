"""Published devices: well formed, sourced, and measured ones made alike."""

import pytest

from course_lib.costs import DEVICES, Device


@pytest.mark.parametrize("name", DEVICES)
def test_every_device_says_who_it_is_and_where_its_numbers_stand(name):
    assert DEVICES[name].name == name
    assert any(character.isdigit() for character in DEVICES[name].source), "a source has a date"


@pytest.mark.parametrize("name", DEVICES)
def test_units_are_bytes_and_operations_and_no_multiples_of_them(name):
    device = DEVICES[name]
    assert 1e10 < device.bandwidth < 1e14
    assert 1e12 < device.flops < 1e16
    assert 1e9 < device.memory < 1e12


def test_the_ridge_is_where_both_limits_are_met_at_once():
    device = Device("round", bandwidth=2e12, flops=3e14, memory=1e9, source="made up for these tests")
    assert device.ridge == 150
    # 312 TFLOP/s over 2.039 TB/s, as both stand in the data sheet.
    assert DEVICES["A100 80GB"].ridge == pytest.approx(153, abs=0.5)


@pytest.mark.parametrize("quantity", ["bandwidth", "flops", "memory"])
@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_quantity_is_a_finite_number_above_zero(quantity, bad):
    numbers = {"bandwidth": 1.0, "flops": 1.0, "memory": 1.0} | {quantity: bad}
    with pytest.raises(ValueError, match=f"{quantity} is {bad!r}"):
        Device("bad", **numbers, source="made up for these tests")
