"""Tries each layer by its effect, in processes that are thrown away, and says what was seen.

No version is asked for: a kernel that has Landlock may have it switched off, a container may refuse namespaces that its kernel
has, and a call that succeeds may do nothing. So each trial puts up one layer as a submission would get it, does what a hostile
notebook would do, and looks whether it was stopped.
"""

from collections.abc import Iterable

from autograder.sandbox import namespaces
from autograder.sandbox.levels import LAYERS, Layer, Report, expanded
from autograder.sandbox.policy import SandboxError, said
from autograder.sandbox.probing.stage import Failed
from autograder.sandbox.probing.trials import TRIALS

RAISED_BY = {
    "limits": "a system that keeps limits on memory (Linux)",
    "ending": "a system on which a process that detaches itself can be found (Linux)",
    "no_new_privs": "Linux on x86-64 or aarch64",
    "seccomp": "Linux on x86-64 or aarch64 with seccomp filters",
    "landlock": "Linux 5.13 or newer with Landlock switched on (lsm=landlock,… on the kernel's command line)",
    "namespaces": "root, or a machine that lets users make namespaces (sysctl user.max_user_namespaces and "
    "kernel.apparmor_restrict_unprivileged_userns; for Docker --security-opt seccomp=unconfined)",
    "proc": "a container whose own /proc is not partly hidden",
    "identity": "running the grader as root",
    "cgroup": "root, or a delegated control group (systemd-run --user --scope -p Delegate=yes autograder …)",
    "together": "nothing known; please report it",
}


def probe(without: Iterable[str] = ()) -> Report:
    """What works on this machine. Layers, and groups of layers, in `without` are left out, as if they did not work."""
    left_out = set(expanded(without))
    seen: list[Layer] = []
    for name in LAYERS:
        if name in left_out:
            seen.append(Layer(name, False, "switched off"))
            continue
        try:
            seen.append(Layer(name, True, TRIALS[name]({layer.name for layer in seen if layer.works})))
        except (Failed, OSError, SandboxError) as fault:
            usual = RAISED_BY["namespaces" if name in namespaces.FLAGS else name]
            seen.append(Layer(name, False, said(fault), getattr(fault, "raise_by", "") or usual))
    return Report(tuple(seen))
