"""What a machine's layers add up to, told by a report that was made by trying them."""

import errno
import itertools
import os
import subprocess
import sys

import pytest

from autograder.sandbox import NOBODY, Layer, Policy, Report, identity, kernel, probe, seccomp
from autograder.sandbox.levels import GROUPS, LAYERS
from tests.autograder.sandbox.boxes import NO_CALL, ROOT, USERS, Ground, Maker, other_process


def report_of(missing: tuple[str, ...]) -> Report:
    out = {layer for name in missing for layer in GROUPS.get(name, (name,))}
    return Report(
        tuple(Layer(name, name not in out, f"saw {name}", f"get {name}" if name in out else "") for name in LAYERS)
    )


def test_each_combination_of_layers_has_its_level():
    for missing in itertools.chain.from_iterable(itertools.combinations(GROUPS, n) for n in range(5)):
        lowest = next((level for name, level in zip(GROUPS, "DDCB", strict=True) if name in missing), "A")
        assert report_of(missing).level == lowest, missing


@pytest.mark.parametrize("name", LAYERS)
def test_one_layer_that_is_missing_costs_its_level_and_is_named(name):
    report = report_of((name,))
    group = next((group for group, layers in GROUPS.items() if name in layers), name)
    levels = {"process": "D", "kernel": "D", "namespaces": "C", "root": "B", "proc": "A", "together": "D"}
    assert report.level == levels[group]
    assert report.level == "A" or report.why == f"{name}: saw {name}. To raise it: get {name}"


def test_a_report_and_a_policy_survive_the_way_through_json():
    report = report_of(("root",))
    assert Report.from_json(report.to_json()) == report
    policy = Policy(("/usr", "/lib"), ("/tmp/x",), memory_bytes=1 << 30, uid=NOBODY, gid=NOBODY)
    assert Policy.from_json(policy.to_json()) == policy
    for broken in ("{}", "[]", '{"layers": []}', '{"layers": [{"name": "limits"}]}', '{"layers": 3}'):
        with pytest.raises(ValueError, match="not a report"):
            Report.from_json(broken)
        with pytest.raises(ValueError, match="not a policy"):
            Policy.from_json(broken)


def test_a_policy_says_what_is_wrong_with_it():
    with pytest.raises(ValueError, match="readable must be absolute paths"):
        Policy(readable=("usr",))
    with pytest.raises(ValueError, match="writable must be absolute paths"):
        Policy(writable="/tmp")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="memory_bytes must be at least 1, got 0"):
        Policy(memory_bytes=0)


def test_this_machine_gets_the_level_that_its_layers_add_up_to(maker: Maker):
    report = maker.report
    print(f"{maker.user} without {maker.without}: level {report.level}; {report.why}")
    assert report.works("process", "together")
    for layer in report.layers:
        assert layer.effect
        assert layer.works or layer.effect == "switched off" or layer.raise_by
    for name in maker.without:
        assert not any(report[layer].works for layer in GROUPS[name])


def test_only_root_becomes_another_user():
    report = Maker("as nobody", ()).report
    assert not report.works("identity")
    assert report["identity"].effect == "only root may become another user"
    assert report.level != "A"
    assert report.uid is None


def test_a_name_that_is_no_layer_is_refused():
    with pytest.raises(ValueError, match="'landlok' is no layer: there are process, kernel"):
        probe(["landlok"])


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    ("call", "layer", "level"),
    [("landlock_create_ruleset", "landlock", "D"), ("seccomp", "seccomp", "D"), ("mount_setattr", "mount", "C")],
)
def test_a_kernel_that_lacks_a_layer_is_reported_so(user, call, layer, level):
    """The kernel itself answers that there is no such call: the number is one that no kernel has."""

    def body() -> str:
        kernel.NUMBERS[call] = NO_CALL
        return probe().to_json()

    if not Maker(user, ()).report.works(layer):
        assert Maker(user, ()).report[layer].raise_by
        return
    report = Report.from_json(other_process(user, body))
    assert not report[layer].works
    assert report[layer].effect.endswith(f"{call}: {os.strerror(errno.ENOSYS)}")
    assert report[layer].raise_by
    assert report.level <= "D"
    assert report.level >= level
    assert f"{layer}:" in report.why or report.level > level
    assert report.works("together")


def test_a_container_that_forbids_namespaces_gets_level_c():
    """As Docker does it by default: a filter over everything, and no capabilities."""
    whole = Maker("as nobody", ()).report

    def body() -> str:
        identity.forbid_new_privileges()
        seccomp.apply(seccomp.program(network=True))
        return probe().to_json()

    report = Report.from_json(other_process("as nobody", body))
    assert whole.works("kernel") == report.works("kernel")
    assert report.level == ("C" if whole.works("kernel") else "D")
    assert not any(report[name].works for name in GROUPS["namespaces"])
    assert "Operation not permitted" in report["net"].effect
    assert "--security-opt" in report["net"].raise_by


FOREIGN = """
import os, platform, sys, sysconfig
sysconfig.get_paths()
sys.platform = {platform!r}
platform.machine = lambda: {machine!r}
if {platform!r} == "win32":
    sys.modules["resource"] = None
    import signal, socket
    for name in ("fork", "wait4", "waitid", "geteuid", "getuid", "getegid", "setsid", "getresuid", "O_PATH", "O_ACCMODE"):
        delattr(os, name)
    for name in ("SIGKILL", "SIGSTOP", "SIGSYS", "pthread_sigmask", "pause"):
        delattr(signal, name)
    del socket.AF_UNIX
import autograder.sandbox as sandbox
report = sandbox.probe()
assert report.level == "D", report
assert not report.works("seccomp") and not report.works("landlock") and not report.works("net")
assert not sandbox.make_undumpable()
assert sandbox.Report.from_json(report.to_json()) == report
assert "Linux" in report.why
try:
    box = sandbox.Container(sandbox.Policy(readable=(os.getcwd(),)), report).spawn(lambda: os._exit(7))
    with box:
        print(box.wait(10))
except sandbox.SandboxError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("platform", "machine", "said"),
    [
        ("darwin", "arm64", "7"),
        ("linux", "riscv64", "7"),
        ("win32", "AMD64", "win32 cannot copy a process: grade on Linux"),
    ],
)
def test_another_system_imports_and_reports_level_d(platform, machine, said):
    """Not the system itself, but what Python says of it: which modules and calls there are."""
    program = FOREIGN.format(platform=platform, machine=machine)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (said, "")


def test_switching_a_layer_off_says_so(ground: Ground):
    report = Maker("as we are", ("namespaces",)).report
    assert report["net"].effect == "switched off"
    assert "switched off" in report.why
