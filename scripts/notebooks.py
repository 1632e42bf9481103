"""Carries out notebooks: scripts/notebooks.sh calls it.

    notebooks.py check|write [NAME...]

Each runs in a folder of its own, as for a user who has just begun.
"""

import os
import pathlib
import re
import sys
import tempfile
import time

import nbclient
import nbformat

FOLDER = pathlib.Path("docs/notebooks")
LONGEST = 900  # seconds for one cell
# The file that a kernel makes of a cell, before a warning.
CELL = re.compile(r"\S*/ipykernel_\d+/\d+\.py:\d+: ")


def carry_out(path: pathlib.Path, write: bool) -> None:
    notebook = nbformat.read(path, as_version=4)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=LONGEST, resources={"metadata": {"path": folder}}
        )
        client.execute()
        if write:
            tidy(notebook, folder)
            nbformat.write(notebook, path)
    print(f"{path}: {time.monotonic() - began:.0f} s", flush=True)


def tidy(notebook: nbformat.NotebookNode, folder: str) -> None:
    """Without what differs from run to run and means nothing, or is of this machine: times of cells, folders, versions."""
    ours = [folder, *(str(pathlib.Path(program).parent) for program in (sys.executable, os.environ["DELAYLAB"]))]

    def without(text: str) -> str:
        for place in ours:
            text = text.replace(place + "/", "")
        return CELL.sub("", text)

    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            for kind, text in output.get("data", {}).items():
                if isinstance(text, str):
                    output["data"][kind] = without(text)
            if "text" in output:
                output["text"] = without(output["text"])


def main() -> None:
    what, *names = sys.argv[1:]
    paths = [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        carry_out(path, what == "write")


main()
