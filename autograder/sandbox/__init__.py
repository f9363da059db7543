"""Where what students hand in is run: layers of the operating system, each tried by its effect, and the level they add up to.

report = probe()                             which layers work on this machine
container = Container(policy, report)        in the process that has imported all that a notebook may need
with container.spawn(main, (fd,)) as box:    `main` runs locked down; nothing of it is left after the block
    status = box.wait(30)

At level A a submission is another user's, `report.uid`: the policy names it, and its writable folders must belong to it.
"""

from autograder.sandbox.box import Box, Usage
from autograder.sandbox.container import Container
from autograder.sandbox.identity import make_undumpable
from autograder.sandbox.levels import Layer, Level, Report
from autograder.sandbox.limits import limit_memory
from autograder.sandbox.policy import NOBODY, Policy, SandboxError, interpreter_paths
from autograder.sandbox.probing import probe

__all__ = [
    "NOBODY",
    "Box",
    "Container",
    "Layer",
    "Level",
    "Policy",
    "Report",
    "SandboxError",
    "Usage",
    "interpreter_paths",
    "limit_memory",
    "make_undumpable",
    "probe",
]
