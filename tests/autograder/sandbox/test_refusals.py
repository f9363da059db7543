"""A box is made as it was promised, or not at all."""

import os

import pytest

from autograder.sandbox import NOBODY, Container, Policy, SandboxError
from autograder.sandbox.levels import Layer, Report
from tests.autograder.sandbox.boxes import Ground, Maker

PROMISES = {
    "landlock": "landlock_restrict_self",
    "seccomp": "seccomp",
    "no_new_privs": "prctl",
    "mount": "mount_setattr",
    "net": "clone",
}


@pytest.mark.parametrize("layer", PROMISES)
def test_a_layer_that_was_promised_and_fails_stops_everything(best: Maker, ground: Ground, layer):
    report = best.report
    if not report.works(layer):
        assert report[layer].raise_by
        return
    assert "Function not implemented" in best.refusal(ground, lacking=PROMISES[layer])


def test_a_folder_that_goes_away_stops_everything(maker: Maker, ground: Ground):
    gone = ground.outside / "gone"
    readable = (*maker.policy(ground).readable, str(gone))
    assert maker.refusal(ground, readable=readable) == f"{gone} is to be seen inside, but does not exist"


def test_level_a_needs_another_user(ground: Ground):
    maker = Maker("as we are", ())
    if maker.report.level != "A":
        assert maker.report.why
        return
    assert "give uid and gid" in maker.refusal(ground, uid=None)


def test_another_user_must_be_able_to_write_where_it_works(ground: Ground):
    maker = Maker("as we are", ())
    if not maker.report.works("identity"):
        assert maker.report["identity"].raise_by
        return
    ground.writable.chmod(0o755)
    assert (
        maker.refusal(ground)
        == f"{ground.writable} is to be written by user {NOBODY}: give it to that user (chown) first"
    )
    os.chown(ground.writable, NOBODY, NOBODY)
    maker.run(lambda: maker.container(ground).spawn(lambda: None).kill())


def test_another_user_is_refused_where_there_is_none(ground: Ground):
    assert Maker("as nobody", ()).refusal(ground, uid=1) == "cannot become user 1: only root may become another user"


def test_a_limit_below_what_is_there_already_is_refused(maker: Maker, ground: Ground):
    assert "before the notebook starts" in maker.refusal(ground, memory_bytes=1 << 20)


def test_a_process_that_cannot_be_copied_has_no_boxes(ground: Ground, monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(SandboxError, match="cannot copy a process: grade on Linux"):
        Container(Policy((str(ground.readable),)), Report((Layer("limits", True, "seen"),)))
