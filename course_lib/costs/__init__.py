"""What a token costs: parameters, floating-point operations and bytes counted, and the speed that a machine allows.

shapes          the numbers that fix a decoder-only model, and those of published ones
counting        parameters, score entries, cache bytes, floating-point operations
devices         published bandwidth, compute and memory of accelerators
bounds          how fast a device can decode at best, and which wall it meets
probes          measuring this machine: time and memory bandwidth
measure_walls   what the two walls cost here; weights larger than any cache
"""

from course_lib.costs.bounds import DecodeBound, decode_bound
from course_lib.costs.counting import (
    ForwardFlops,
    ParameterCount,
    forward_flops,
    kv_cache_bytes,
    parameter_count,
    score_entries,
)
from course_lib.costs.devices import DEVICES, Device
from course_lib.costs.measure_walls import random_weights, through
from course_lib.costs.probes import Bandwidth, Timing, available_memory, memory_bandwidth, timer, timers
from course_lib.costs.shapes import PRESETS, ModelShape

__all__ = [
    "DEVICES",
    "PRESETS",
    "Bandwidth",
    "DecodeBound",
    "Device",
    "ForwardFlops",
    "ModelShape",
    "ParameterCount",
    "Timing",
    "available_memory",
    "decode_bound",
    "forward_flops",
    "kv_cache_bytes",
    "memory_bandwidth",
    "parameter_count",
    "random_weights",
    "score_entries",
    "through",
    "timer",
    "timers",
]
