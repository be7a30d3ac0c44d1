"""Documents as lines, many of one kind: what several of them hold is written once."""

from __future__ import annotations

from msgspec import Raw
from msgspec.json import encode

from sgcheck.report.document import Selection, answer_document, check_document, dump_line
from sgcheck.resolve.resolution import FieldAnswer, JsonValue, Resolution

KEPT_ANSWERS = 4096


class LineWriter:
    """Writes the documents of many launches of which `selection` is shown."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._written: dict[int, tuple[FieldAnswer, Raw]] = {}

    def line(self, resolution: Resolution, case_id: JsonValue = None) -> str:
        """The line of one launch: JSON in ASCII, without a newline at its end."""
        selection = self._selection
        try:
            document = check_document(resolution, selection, case_id=case_id, show=self._answer)
            return encode(document).decode("ascii")
        except (UnicodeError, TypeError, RecursionError):
            # Mostly text that is not ASCII, which is rare.
            return dump_line(check_document(resolution, selection, case_id=case_id))

    def _answer(self, answer: FieldAnswer, trace: bool) -> JsonValue:
        """An answer as JSON; of a field that a launch leaves alone, in the form that was written before.

        Launches of one machine share the objects of such answers.
        """
        if answer.user_set or len(answer.because) > 1:
            return answer_document(answer, trace)
        known = self._written.get(id(answer))
        if known is None:
            if len(self._written) >= KEPT_ANSWERS:
                self._written.clear()
            known = answer, Raw(encode(answer_document(answer, trace)))
            self._written[id(answer)] = known
        return known[1]  # type: ignore[return-value]
