"""What commands answer: the document that `--json` prints, shown in a notebook as the terminal shows it."""

import html
from typing import Any, Mapping

from . import _arguments, _program
from ._values import literal


class Answer(dict[str, Any]):
    """A document by its names, as in `answer["causes"][0]`; `text` is the same for people, made when the question was asked.

    Schemas and units: `delaylab schema NAME`.
    """

    def __init__(self, document: Mapping[str, Any], text: str) -> None:
        super().__init__(document)
        self._text = text.strip("\n")

    @property
    def text(self) -> str:
        """The answer as the program prints it on a terminal."""
        return self._text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Calibration(Answer):
    """A measured path as a model, and how far that is off."""

    def __init__(self, folder: str) -> None:
        self._folder = _arguments.path_or_name("folder", folder, "a run, its folder or its name")
        super().__init__(*_program.document_and_text("calibrate", "--quiet", "--", self._folder))

    def predict(self, changes: Mapping[str, Any]) -> Answer:
        """What a new run would show if the path were changed so, as in `{"path.rate": "20Mbit/s"}`.

        Raises `ModelError` where no model can be made of the run.
        """
        values = _arguments.values("changes", changes).items()
        sets = [f"--set={_arguments.text('a path', path)}={literal(value)}" for path, value in values]
        return Answer(*_program.document_and_text("predict", "--quiet", *sets, "--", self._folder))
