"""Commands killed, or refused by the disk, at moments that are drawn: what comes of it is the unbroken run.

A sample of what `make simulate` goes through for every rename, fsync, commit and note of every system; see
`interrupting`.
"""

from __future__ import annotations

import pytest

import forked
import interrupting
from fabula.systems import find

SWEEP = "import warnings, interrupting; warnings.simplefilter('error'); raise SystemExit(interrupting.main_of_sweeps())"


def sweep(*given: str) -> str:
    """What a sweep found, in a process of its own, since it forks."""
    ran = forked.run(given, SWEEP, timeout=3000)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    return ran.stdout


@pytest.mark.parametrize("system", interrupting.CHOSEN)
def test_a_killed_update_loses_nothing_and_decides_nothing(system: str) -> None:
    assert sweep("--systems", system, "--most", "1", "--operations", "update").count(" 0 otherwise") == 1


def test_a_killed_decision_is_taken_as_a_whole_or_not_at_all() -> None:
    assert sweep("--systems", "end-to-end", "--most", "3", "--operations", "edit", "undo").count(" 0 otherwise") == 2


def test_a_full_disk_loses_nothing_and_decides_nothing() -> None:
    found = sweep("--systems", "end-to-end", "--most", "2", "--full", "--operations", "write", "update", "edit")
    assert found.count(" 0 otherwise") == 3


@pytest.mark.simulation
@pytest.mark.parametrize("full", [(), ("--full",)])
@pytest.mark.parametrize("system", interrupting.CHOSEN)
def test_at_every_moment(system: str, full: tuple[str, ...]) -> None:
    found = sweep("--systems", system, *full)
    assert found.count(" 0 otherwise") == len(interrupting.OPERATIONS) - (not find(system).takes_manuscript)
