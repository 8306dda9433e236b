import os
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.errors import ClusterError
from hack.cluster.namespaces import Namespaces, Network, cgroup_roots, run, start_time


def test_two_slots_share_no_address_and_no_interface() -> None:
    one, other = Network(0), Network(1)
    names = [(each.host_address, each.node_address, each.host_interface) for each in (one, other)]
    assert len({name for each in names for name in each}) == 6


def test_an_interface_name_is_short_enough_for_the_kernel() -> None:
    assert len(Network(199).host_interface) <= 15


def test_both_versions_of_control_groups_are_found() -> None:
    mounts = (
        "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /unified cgroup2 rw 0 0"
    )
    assert cgroup_roots(mounts) == [Path("/sys/fs/cgroup/cpu"), Path("/unified")]


def test_a_process_is_known_by_pid_and_start() -> None:
    assert Namespaces(os.getpid(), start_time(os.getpid())).is_alive()
    assert not Namespaces(os.getpid(), "1").is_alive()


def test_a_zombie_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(process.pid) == ""
    process.wait()


def test_a_failed_command_is_named_with_what_it_said() -> None:
    with pytest.raises(ClusterError, match="`sh -c echo no >&2; exit 3` exited with 3: no"):
        run(["sh", "-c", "echo no >&2; exit 3"])
