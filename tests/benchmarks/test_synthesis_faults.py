"""What counts as asked again: tries beyond the first that the server itself did not make necessary."""

from benchmarks.synthesis_faults import asked_again
from tests.servers.chat_server import log_name


def test_only_tries_that_no_fault_made_necessary_count(tmp_path):
    tried = {
        "once": ["arrived", "answer"],
        "after faults": ["arrived", "error", "arrived", "hang", "arrived", "answer"],
        "lost with the client": ["arrived", "arrived", "answer"],
        "answered twice": ["arrived", "answer", "arrived", "answer"],
        "refused twice": ["arrived", "refuse", "arrived", "refuse"],
        "no prompt of ours": ["arrived", "answer", "arrived", "answer"],
    }
    lines = [f"server {what} {log_name(text)}" for text, tries in tried.items() for what in tries]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    prompts = [*tried][:-1]
    assert asked_again(tmp_path / "log", prompts) == 3
    assert asked_again(tmp_path / "log", prompts[:2]) == 0
