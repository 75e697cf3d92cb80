"""`byhand-course doctor` tries, says what is missing, and how to get it."""

import errno
import json
import os
import struct
import sys
from pathlib import Path
from subprocess import run

import pytest

from byhand_course.grading import doctor, walls

COMMAND = str(Path(sys.executable).parent / "byhand-course")
PROFILE = Path(__file__).parents[2] / "docs/container/seccomp.json"


def examined(*words: str, path: str = os.environ["PATH"], cwd: Path | None = None) -> tuple:
    """Its exit status, and what it found by name."""
    words = (COMMAND, "doctor", "--json", *words)
    done = run(words, cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    assert told["can_grade"] == (done.returncode == 0)
    return done.returncode, {found["what"]: found for found in told["findings"]}


def test_on_a_machine_that_can_grade_all_is_well(root: Path) -> None:
    """It really ran the sandbox; exit status 0."""
    status, found = examined(cwd=root)
    assert status == 0, found
    assert found["sandbox"]["found"] == "a notebook ran in it, alone and without a network"
    assert {"system", "Python", "nbgrader", "bubblewrap", "disk of the course"} <= set(found)
    assert all(one["ok"] or one["advice"] or not one["needed"] for one in found.values())


def test_without_bubblewrap_it_names_the_package(root: Path) -> None:
    """Exit status 1; in words as in JSON."""
    status, found = examined(path=str(Path(sys.executable).parent), cwd=root)
    assert status == 1
    assert "sudo apt install bubblewrap" in found["bubblewrap"]["advice"]
    assert not found["sandbox"]["ok"]
    env = {**os.environ, "PATH": str(Path(sys.executable).parent)}
    done = run([COMMAND, "doctor"], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "✗ bubblewrap" in done.stdout and "Grading does not work here yet." in done.stdout


def test_a_course_folder_that_is_none(root: Path) -> None:
    """A folder that is not there costs a finding, not a traceback."""
    status, found = examined("--root", "/nowhere", cwd=root)
    assert status == 1 and "--root FOLDER" in found["disk of the course"]["advice"]


@pytest.mark.parametrize(
    ("setting", "value", "advice"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1\n", "profile bwrap /usr/bin/bwrap"),
        ("kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0\n", "user.max_user_namespaces=10000"),
        (None, "", "seccomp=docs/container/seccomp.json"),
    ],
)
def test_each_usual_cause_has_its_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, value: str, advice: str
) -> None:
    """AppArmor, two switches of the kernel, and a container, told apart by what stands there."""
    monkeypatch.setattr(doctor, "SETTINGS", tmp_path)
    monkeypatch.setattr(doctor, "in_container", lambda: setting is None)
    if setting is not None:
        (tmp_path / setting).parent.mkdir()
        (tmp_path / setting).write_text(value)
    said = "bwrap: Creating new namespace failed: Operation not permitted"
    assert advice in doctor.why_not(said)


def test_the_profile_in_the_documentation_is_the_one_that_doctor_prints(root: Path) -> None:
    lines = (root / "docs/sandbox.md").read_text().replace("    ", "")
    assert doctor.APPARMOR_PROFILE.replace("  ", "") in lines.replace("  ", "")


UNDER_A_FILTER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
program = bytes.fromhex(sys.argv[1])
import struct
kept = ctypes.create_string_buffer(program, len(program))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("@HP", len(program) // 8, ctypes.addressof(kept)), 0, 0) == 0
from byhand_course.grading.doctor import _sandbox
found = _sandbox()
print(found.ok, found.found)
"""


def sandbox_under(denied: list[str], namespaces: bool) -> str:
    """Run the sandbox in a process that may not make some calls, as a container's may not."""
    machine = walls.machine()
    place = list(walls.MACHINES).index(walls.platform.machine())
    numbers = {
        name: int(numbers[place])
        for name, *numbers in (
            line.split() for line in Path(__file__).with_name("system_calls.txt").open()
        )
        if numbers[place] != "-"
    }
    refuse = (walls.RETURN, 0, 0, walls.FAIL | errno.EPERM)
    program = [(walls.LOAD, 0, 0, walls.NUMBER)]
    program += [
        (walls.IS, 0, 1, numbers["clone3"]),
        (walls.RETURN, 0, 0, walls.FAIL | errno.ENOSYS),
    ]
    for name in denied:
        if name in numbers:
            program += [(walls.IS, 0, 1, numbers[name]), refuse]
    if not namespaces:
        program += [(walls.IS, 0, 3, machine.clone), (walls.LOAD, 0, 0, walls.FIRST_ARGUMENT)]
        program += [(walls.HAS_BITS, 0, 1, walls.ANY_NAMESPACE), refuse]
    program.append((walls.RETURN, 0, 0, walls.ALLOW))
    words = b"".join(struct.pack("<HBBI", *instruction) for instruction in program).hex()
    command = [sys.executable, "-c", UNDER_A_FILTER, words]
    done = run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_containers_profile_allows_what_the_sandbox_needs() -> None:
    """Under all that seccomp.json refuses, a notebook still runs behind both walls."""
    profile = json.loads(PROFILE.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    (rule,) = profile["syscalls"]
    assert rule["action"] == "SCMP_ACT_ERRNO"
    assert sandbox_under(rule["names"], namespaces=True).startswith("True")


def test_under_a_profile_like_dockers_own_it_says_so() -> None:
    """Without new namespaces and mounts there is no sandbox, and the words say why."""
    denied = ["unshare", "mount", "umount2", "pivot_root", "setns"]
    said = sandbox_under(denied, namespaces=False)
    assert said.startswith("False")
    assert "namespace" in said and "doctor" in said
