"""What a confined process can and cannot do: attempts to escape, each made by a real process under
bubblewrap.
"""

import errno
import os
import platform
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from synth.confinement import ProcessLimits, confined_command, hand_over, held, missing, tree
from synth.confinement import command as confinement
from synth.schemas.errors import ConfigError

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
PYTHON = "/usr/bin/python3"


def run(
    folder: Path, script: str, *, shell: str = "/bin/sh", timeout: float = 20, **limits: int
) -> subprocess.CompletedProcess[str]:
    folder.chmod(0o755)
    for parent in (
        folder.parents
    ):  # pytest keeps its folders to their owner; a world's folder lies where its user can come
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    command = confined_command([shell, "-c", script], folder=folder, limits=ProcessLimits(**limits))
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "SECRET_KEY": "sk-123"},
    )


def python(code: str) -> str:
    return f"exec {PYTHON} -c '{code}'"


needs_python = pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 in /usr/bin")


def test_it_works_in_its_folder_and_what_it_writes_stays(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("before\n")
    found = run(tmp_path, "cat here.txt; echo after > here.txt; id -u; pwd")
    assert found.stdout.split() == ["before", "1000", "/world"], found.stderr
    assert (tmp_path / "here.txt").read_text() == "after\n"


@pytest.mark.parametrize(
    "attempt",
    [
        "cat /etc/passwd",
        "cat /etc/shadow",
        "ls /root",
        "ls /home",
        f"ls {Path.home()}",
        f"ls {Path(__file__).parent}",
        "ls /var",
        "ls /sys",
        "echo x > /usr/x",
        "echo x > /bin/x",
        "echo x > /x",
        "echo x > /dev/x",
        "touch /usr/bin/touch",
        "echo x > /dev/sda",
        "mount -t tmpfs none /usr",
        "cat /proc/1/root/etc/passwd",
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
        "cat ../../../etc/passwd",
        "ln -s /etc/passwd l && cat l",
        "mknod disk b 8 0",
        "chroot / true",
        "unshare -r mount -t proc proc /proc",
        "kill -9 1 && sleep 1 && false",
        "mount -o remount,rw / && echo x > /x",
    ],
)
def test_nothing_outside_can_be_read_or_written(tmp_path: Path, attempt: str) -> None:
    found = run(tmp_path, attempt)
    assert found.returncode != 0, found.stdout
    assert "root:" not in found.stdout


def test_no_secret_and_nothing_of_our_environment_reaches_it(tmp_path: Path) -> None:
    found = run(tmp_path, "env; cat /proc/*/environ | tr '\\0' '\\n'; ls /proc | grep -c '^[0-9]'")
    assert "sk-123" not in found.stdout
    names = {line.partition("=")[0] for line in found.stdout.splitlines() if "=" in line}
    assert names <= {"PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_"}
    assert int(found.stdout.split()[-1]) < 12, "it sees its own processes alone"


@needs_python
def test_no_network_not_even_the_loopback_of_this_machine(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        accepted: list[object] = []
        threading.Thread(target=lambda: accepted.append(server.accept()), daemon=True).start()
        found = run(
            tmp_path, python(f'import socket; socket.create_connection(("127.0.0.1", {port}), 2)')
        )
        assert found.returncode != 0
        assert not accepted
    assert (
        run(
            tmp_path, python('import socket; socket.create_connection(("192.0.2.1", 80), 2)')
        ).returncode
        != 0
    )


@needs_python
def test_memory_processes_files_and_time_are_bounded(tmp_path: Path) -> None:
    assert (
        "MemoryError" in run(tmp_path, python("x = bytearray(300_000_000)"), memory_mb=128).stderr
    )
    bomb = (
        "import os, time\nn = 0\nwhile True:\n  if os.fork() == 0:\n    time.sleep(9)\n    "
        "os._exit(0)\n  n += 1\n  print(n, flush=True)"
    )
    (tmp_path / "bomb.py").write_text(bomb)
    found = run(tmp_path, f"{PYTHON} bomb.py; echo ended", processes=20)
    assert found.stdout.split()[-1] == "ended"
    assert int(found.stdout.split()[-2]) < 20
    found = run(tmp_path, "head -c 5000000 /dev/zero > big; echo ended", file_mb=1)
    assert (tmp_path / "big").stat().st_size <= 1 << 20
    assert run(tmp_path, "while :; do :; done", cpu_s=1).returncode != 0
    assert run(tmp_path, "head -c 5000000 /dev/zero > /tmp/big", file_mb=1).returncode != 0


def test_what_it_starts_ends_with_it(tmp_path: Path) -> None:
    run(tmp_path, "touch marker; (while :; do touch beat; sleep 0.1; done) & sleep 0.3")
    (tmp_path / "beat").unlink()
    threading.Event().wait(0.5)
    assert not (tmp_path / "beat").exists()


@pytest.mark.parametrize("attempt", ["unshare -U true", "unshare -rm true", "unshare -rn true"])
def test_no_namespace_in_which_it_would_be_root(tmp_path: Path, attempt: str) -> None:
    assert run(tmp_path, attempt).stderr.startswith("unshare: ")


CALLS = """
import ctypes, sys
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
numbers = {
    "x86_64": (248, 250, 319, 29, 101, 425), "aarch64": (217, 219, 279, 194, 117, 425),
}[sys.argv[1]]
names = "add_key", "keyctl", "memfd_create", "shmget", "ptrace", "io_uring_setup"
for name, number in zip(names, numbers):
    given = (b"user", b"x", b"y", 1, -4) if name == "add_key" else (0, 0, 0, 0, 0)
    found = call(number, *given)
    print(name, found, ctypes.get_errno())
"""


@needs_python
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="no filter for this machine"
)
def test_key_rings_and_memory_that_no_limit_counts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(CALLS)
    found = run(tmp_path, f"{PYTHON} calls.py {platform.machine()}")
    assert [line.split()[1:] for line in found.stdout.splitlines()] == [
        ["-1", str(errno.EPERM)]
    ] * 6, found.stdout + found.stderr


@needs_python
def test_sockets_that_know_no_network_namespace_are_refused_and_others_lead_nowhere(
    tmp_path: Path,
) -> None:
    assert (
        "not supported"
        in run(tmp_path, python("import socket; socket.socket(socket.AF_VSOCK)")).stderr
    )
    inside = tmp_path / "world"
    inside.mkdir()
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as in_folder:
        abstract.bind("\0synth-confinement-test")
        abstract.listen()
        found = run(
            inside,
            python(
                "import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + "
                '"synth-confinement-test")'
            ),
        )
        assert "ConnectionRefusedError" in found.stderr
        in_folder.bind(str(tmp_path / "s"))
        in_folder.listen()
        found = run(
            inside, python(f'import socket; socket.socket(socket.AF_UNIX).connect("{tmp_path}/s")')
        )
        assert "FileNotFoundError" in found.stderr


def test_hard_links_setuid_programs_and_sparse_files_gain_nothing(tmp_path: Path) -> None:
    assert "cross-device" in run(tmp_path, "ln /usr/bin/env e").stderr
    found = run(
        tmp_path, "cp /bin/sh s && chmod u+s s && ./s -p -c 'id -u; grep CapEff /proc/self/status'"
    )
    assert found.stdout.split() == ["1000", "CapEff:", "0000000000000000"]
    run(tmp_path, "truncate -s 100G big", file_mb=1)
    assert (tmp_path / "big").stat().st_size <= 1 << 20


def test_a_link_put_into_the_folder_is_not_followed_when_the_folder_is_handed_over(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("x")
    owner = (outside / "mine").stat().st_uid
    folder = tmp_path / "world"
    folder.mkdir()
    (folder / "all").symlink_to(outside)
    (folder / "one").symlink_to(outside / "mine")
    hand_over(folder)
    assert ((outside / "mine").stat().st_uid, outside.stat().st_uid) == (owner, owner)


@needs_python
def test_what_processes_hold_together_is_seen(tmp_path: Path) -> None:
    run(tmp_path, "true")
    code = (
        "import mmap, os, time\nm = mmap.mmap(-1, 64 << 20)\nm[:] = bytes(64 << 20)\nf = "
        "open('f', 'wb')\nf.write(bytes(8 << 20))\n"
    )
    (tmp_path / "hold.py").write_text(
        code + "f.flush()\nos.unlink('f')\nprint('ready', flush=True)\ntime.sleep(30)"
    )
    command = confined_command([PYTHON, "hold.py"], folder=tmp_path, limits=ProcessLimits())
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        inside = tree(process.pid)
        found = held(process.pid)
        process.kill()
    assert len(inside) >= 3, "bubblewrap outside, bubblewrap inside, and what it runs"
    assert 64 << 20 <= found.memory < 192 << 20
    assert found.deleted == 8 << 20


def test_where_it_is_missing_that_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement.shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match=r"apt install bubblewrap.*unconfined: true"):
        confined_command(["true"], folder=tmp_path, limits=ProcessLimits())


def test_a_home_folder_is_never_shown(tmp_path: Path) -> None:
    for path in (Path.home(), Path("/"), Path.home().parent):
        with pytest.raises(ConfigError, match="home folder"):
            confined_command(["true"], folder=tmp_path, limits=ProcessLimits(), read_only=[path])
    with pytest.raises(ConfigError, match="is not there"):
        confined_command(
            ["true"], folder=tmp_path, limits=ProcessLimits(), read_only=[tmp_path / "nothing"]
        )


@needs_python
def test_what_is_named_read_only_can_be_read_and_not_written(tmp_path: Path) -> None:
    shown, folder = tmp_path / "shown", tmp_path / "folder"
    shown.mkdir()
    folder.mkdir()
    (shown / "a").write_text("seen")
    for path in (tmp_path, shown, folder):
        path.chmod(0o755)
    command = confined_command(
        ["/bin/sh", "-c", f"cat {shown}/a; echo x > {shown}/a"],
        folder=folder,
        limits=ProcessLimits(),
        read_only=[shown],
    )
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    found = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (found.stdout, (shown / "a").read_text()) == ("seen", "seen"), found.stderr
