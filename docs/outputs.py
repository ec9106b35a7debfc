"""Run the Python blocks of pages, and write what they print into the blocks of text after them.

    python docs/outputs.py docs/index.md docs/start.md

The blocks of a page are one script. A block of text right after one of Python, separated by an
empty line, is its output. The tests run the pages and compare.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```)?", re.DOTALL | re.MULTILINE
)


def run_blocks(text: str, page: str) -> Iterator[tuple[re.Match[str], str]]:
    """Run the blocks of a page in the current folder; yield each with what it prints."""
    names = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        with redirect_stdout(StringIO()) as out:
            exec(compile(block["code"], page, "exec"), names)
        yield block, out.getvalue()


def with_outputs(text: str, page: str) -> str:
    """Return a page with the output of its blocks, where it shows it, made anew."""
    parts, end = [], 0
    for block, printed in run_blocks(text, page):
        if block["shown"] is not None:
            parts += [text[end : block.start("shown")], printed.rstrip() + "\n"]
            end = block.end("shown")
    return "".join([*parts, text[end:]])


def main() -> None:
    """Write the outputs into the pages given as arguments."""
    for page in map(Path, sys.argv[1:]):
        path = page.resolve()
        home = Path.cwd()
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            text = with_outputs(path.read_text(encoding="utf-8"), path.name)
            os.chdir(home)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
