"""Published speeds of accelerators: how fast they read their memory, how fast they multiply, how much they hold.

Numbers are the makers' own, in SI units (1 GB = 10⁹ bytes), for *dense* products of 16-bit floats: where a data sheet
counts zeros that structured sparsity skips, the figure here is half of it. Real programs reach a part of either number,
and rarely of both.
"""

from dataclasses import dataclass
from math import isfinite

GB = 1e9
TERA = 1e12


@dataclass(frozen=True)
class Device:
    """What a device allows at most.

    Attributes:
        name: what it is called.
        bandwidth: bytes per second between its main memory and its cores.
        flops: floating-point operations per second, dense, with 16-bit inputs.
        memory: bytes of main memory.
        source: where the numbers stand, or how they were measured.

    Raises:
        ValueError: one of the numbers is not finite and above 0.
    """

    name: str
    bandwidth: int | float
    flops: int | float
    memory: int | float
    source: str

    def __post_init__(self) -> None:
        for quantity in ("bandwidth", "flops", "memory"):
            value = getattr(self, quantity)
            if not (isfinite(value) and value > 0):
                raise ValueError(f"{quantity} is {value!r}, needs to be a finite number above 0")

    @property
    def ridge(self) -> float:
        """Operations per byte at which both limits are met at once (the ridge point of Williams et al., 2009)."""
        return self.flops / self.bandwidth


DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        Device("T4", 320 * GB, 65 * TERA, 16 * GB, "NVIDIA Turing architecture white paper, 2018 (Tesla T4)"),
        Device("L4", 300 * GB, 121 * TERA, 24 * GB, "NVIDIA L4 data sheet, 2023: 242 TFLOPS with sparsity"),
        Device(
            "RTX 4090",
            1008 * GB,
            165.2 * TERA,
            24 * GB,
            "NVIDIA Ada architecture white paper, 2022: fp16 with fp32 accumulation",
        ),
        Device("A100 80GB", 2039 * GB, 312 * TERA, 80 * GB, "NVIDIA A100 data sheet, 2021: the SXM module"),
        Device(
            "H100 SXM", 3350 * GB, 989.4 * TERA, 80 * GB, "NVIDIA H100 data sheet, 2023: 1,979 TFLOPS with sparsity"
        ),
        Device(
            "H200 SXM", 4800 * GB, 989.4 * TERA, 141 * GB, "NVIDIA H200 data sheet, 2024: 1,979 TFLOPS with sparsity"
        ),
        Device("MI300X", 5300 * GB, 1307.4 * TERA, 192 * GB, "AMD Instinct MI300X data sheet, 2023"),
        Device(
            "Apple M2 Max",
            400 * GB,
            13.6 * TERA,
            96 * GB,
            "Apple newsroom, 17 January 2023 (bandwidth, memory); compute as 38 cores × 128 lanes × 2 × 1.398 GHz, "
            "since Apple publishes none",
        ),
    )
}
