import mmap
import os

from langgraph_reflexion.envs.sandbox.helper import staging, usage

MB = 1 << 20


def test_cpu_time_of_ended_processes_is_kept():
    ledger = usage.Ledger()
    assert ledger.add({(7, 100): 1.0, (8, 100): 0.5}) == 1.5
    assert ledger.add({(8, 100): 0.75}) == 1.75
    # The process number is reused.
    assert ledger.add({(7, 200): 0.25}) == 2.0
    assert ledger.add({}) == 2.0


def test_shared_memory_outside_page_tables_counts():
    with mmap.mmap(-1, 80 * MB) as held:
        for at in range(0, 80 * MB, MB):
            held[at : at + MB] = b"x" * MB
        held.madvise(mmap.MADV_DONTNEED)
        assert usage.unmapped(["/proc/self"]) >= 80 * MB
        assert usage.proportional(["/proc/self"]) >= 80 * MB
    assert usage.unmapped(["/proc/self"]) < 80 * MB


def test_removal_follows_no_link(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    made = tmp_path / "made"
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "link").symlink_to(kept)
    (made / "a" / "b" / "file").touch()
    staging.remove(str(made))
    assert not made.exists()
    assert (kept / "file").exists()
    staging.remove(str(made))


def test_sweep_spares_locked_folders(tmp_path):
    # An agent in another PID namespace has a meaningless number here.
    path, lock = staging.make(str(tmp_path))
    other = tmp_path / f"{staging.PREFIX}4194303-x"
    os.rename(path, other)
    dead = tmp_path / f"{staging.PREFIX}{os.getpid()}-dead"
    dead.mkdir()
    (tmp_path / f"{staging.PREFIX}1-file").touch()
    staging.sweep(str(tmp_path))
    assert other.exists()
    assert not dead.exists()
    os.close(lock)
    staging.sweep(str(tmp_path))
    assert not other.exists()
