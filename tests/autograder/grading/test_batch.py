"""What a submission leaves on disk is removed, whatever it is."""

import os

from autograder.grading.batch import remove


def test_a_thousand_folders_in_each_other_go_too(tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    here = os.getcwd()
    try:
        os.chdir(folder)
        for _ in range(1000):
            os.mkdir("a-folder-with-a-long-name")
            os.chdir("a-folder-with-a-long-name")
        open("file", "w").close()
    finally:
        os.chdir(here)
    remove(folder)
    assert not folder.exists()


def test_what_nobody_may_enter_and_what_leads_elsewhere_goes_and_nothing_beside_it(tmp_path):
    folder, other = tmp_path / "submission", tmp_path / "other"
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "inner" / "file").write_text("x")
    other.mkdir()
    (other / "kept").write_text("x")
    (folder / "link").symlink_to(other)
    os.chmod(folder / "closed" / "inner", 0)
    os.chmod(folder / "closed", 0)
    os.chmod(folder, 0)
    remove(folder)
    assert not folder.exists()
    assert (other / "kept").exists()
