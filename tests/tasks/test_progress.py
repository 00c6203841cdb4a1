"""Progress lines: readable, and few."""

from corpusmill.tasks.progress import SparseProgress, progress_line


def test_numbers_stand_in_brackets():
    assert progress_line("shard 3 of 8", {"rows": 12345, "seconds": 1.5}) == "shard 3 of 8 (rows 12,345, seconds 1.5)"
    assert progress_line("committed", {}) == "committed"


def test_lines_are_two_seconds_apart_and_the_last_one_is_kept():
    written = []
    now = iter([0.0, 0.0, 1.0, 1.9, 2.0, 2.0, 3.0])
    progress = SparseProgress(written.append, clock=lambda: next(now))
    for number in range(1, 6):
        progress.report(f"shard {number}", {})
    progress.close()
    progress.close()
    assert written == ["shard 1", "shard 4", "shard 5"]
