"""What commands answer: the document that `--json` prints, shown in a notebook as the terminal shows it."""

import html
from typing import Any, Mapping

from . import _arguments, _program
from ._values import literal


class Answer(dict[str, Any]):
    """A document by its names, as in `answer["causes"][0]`; `text` is the same for people.

    Schemas and units: `delaylab schema NAME`.
    """

    def __init__(self, words: list[str], failing: bool = False, once: bool = False) -> None:
        """`once`: the command simulates and keeps what it simulated, so that it is not carried out again for its text."""
        self._words = words
        self._failing = failing
        self._text: str | None = None
        if once:
            document, text = _program.document_and_text(*words)
            self._text = text.strip("\n")
        else:
            document = _program.document(*words, failing=failing)
        super().__init__(document)

    @property
    def text(self) -> str:
        """The answer as the program prints it on a terminal."""
        if self._text is None:
            self._text = _program.call(*self._words, failing=self._failing)[0].strip("\n")
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
        super().__init__(["calibrate", "--quiet", "--", folder], once=True)
        self._folder = folder

    def predict(self, changes: Mapping[str, Any]) -> Answer:
        """What a new run would show if the path were changed so, as in `{"path.rate": "20Mbit/s"}`."""
        values = _arguments.values("changes", changes).items()
        sets = [f"--set={_arguments.text('a path', path)}={literal(value)}" for path, value in values]
        return Answer(["predict", "--quiet", *sets, "--", self._folder], once=True)
