"""Nemotron H: layers written as a string of letters."""

from typing import Any

from ..steps import Run
from .helpers import Rule, read, refuse_unless, write


def _letters(release: Any) -> dict[str, str]:
    """What each letter of a pattern means."""
    if release.at_least(5, 19):
        return {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}
    letters = {"M": "mamba", "E": "moe", "*": "attention"}
    return {**letters, "-": "mlp"} if release.at_least(5, 6) else letters


def _kinds(release: Any) -> list[str]:
    return list(_letters(release).values())


def _main_pattern(run: Run) -> None:
    config, kwargs = run.instance, run.kwargs
    name = "layer_types" if run.release.at_least(5, 6) else "layers_block_type"
    if "hybrid_override_pattern" in kwargs:
        pattern = kwargs.pop("hybrid_override_pattern")
        if read(run, name) is None:
            write(run, name, config._pattern_to_list(pattern))
    elif read(run, name) is None:
        first, moe, full, *rest = _kinds(run.release)
        write(run, name, [first, moe, full, *(rest or [moe])])


def _check_count(run: Run) -> None:
    """A wrong count is only warned about; it is not used either."""
    name = "layer_types" if run.release.at_least(5, 6) else "layers_block_type"
    if read(run, "num_hidden_layers") is not None:
        len(read(run, name))


def _default_draft(run: Run) -> list[str]:
    _, moe, full, *_ = _kinds(run.release)
    return [full, moe]


def _draft_layers(run: Run) -> None:
    config = run.instance
    if config.mtp_layers_block_type is None:
        config.mtp_layers_block_type = _default_draft(run)
    else:
        names = run.release.general("old_layer_types")
        layers = config.mtp_layers_block_type
        config.mtp_layers_block_type = [names.get(kind, kind) for kind in layers]


def _draft_pattern(run: Run) -> None:
    if "mtp_hybrid_override_pattern" not in run.kwargs:
        return
    pattern = run.kwargs.pop("mtp_hybrid_override_pattern")
    current = read(run, "mtp_layers_block_type")
    absent = current is None and not run.release.at_least(5, 6)
    if absent or current == _default_draft(run):
        write(run, "mtp_layers_block_type", run.instance._pattern_to_list(pattern))


def _check_kinds(layers: Any, kinds: list[str]) -> None:
    refuse_unless(isinstance(layers, list), f"must be a list of strings, got {type(layers)}")
    wrong = [kind for kind in layers if kind not in kinds]
    refuse_unless(not wrong, f"contains invalid types: {wrong}. Must be one of: {kinds}")


def _check_main(run: Run) -> None:
    _check_kinds(run.args["layers_block_type"], _kinds(run.release))


def _check_draft(run: Run) -> None:
    if run.instance.num_nextn_predict_layers > 0:
        layers = run.args["mtp_layers_block_type"]
        refuse_unless(layers is not None, "mtp_layers_block_type is required")
        _check_kinds(layers, _kinds(run.release))


def _validate_layers(self: Any) -> None:
    kinds = _kinds(self._release)
    _check_kinds(self.layer_types, kinds)
    if self.num_nextn_predict_layers > 0:
        refuse_unless(self.mtp_layers_block_type is not None, "mtp_layers_block_type is required")
        _check_kinds(self.mtp_layers_block_type, kinds)


_validate_layers.__name__ = "validate_layer_type"


def _count(self: Any) -> int:
    return len(self.layers_block_type)


def _ignore_count(self: Any, value: Any) -> None:
    """The number of layers follows from their list."""


def _list_to_pattern(layers: list[str]) -> str:
    letters: dict[str, str] = {}
    for names in ("mamba linear_attention", "moe", "attention full_attention", "mlp"):
        letter = {"mamba": "M", "moe": "E", "attention": "*", "mlp": "-"}[names.split()[0]]
        letters |= dict.fromkeys(names.split(), letter)
    return "".join(letters[kind] for kind in layers)


class _PatternToList:
    """`_pattern_to_list`, which SGLang replaces: a static method that knows the release."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        letters = _letters(owner._release)
        return lambda pattern: [letters[letter] for letter in pattern]


def _pattern(self: Any) -> str:
    return _list_to_pattern(self.layers_block_type)


def _draft_as_pattern(self: Any) -> str:
    return _list_to_pattern(self.mtp_layers_block_type)


RULES: dict[str, Rule] = {
    "NemotronHConfig:pattern": _main_pattern,
    "NemotronHConfig:num_hidden_layers": _check_count,
    "NemotronHConfig:mtp_layers_block_type": _draft_layers,
    "NemotronHConfig:pattern:2": _draft_pattern,
    "NemotronHConfig:_validate_layers_block_type": _check_main,
    "NemotronHConfig:num_nextn_predict_layers": _check_draft,
}

MEMBERS: dict[tuple[str, str], Any] = {
    ("NemotronHConfig", "validate_layer_type"): _validate_layers,
    ("NemotronHConfig", "num_hidden_layers"): property(_count, _ignore_count),
    ("NemotronHConfig", "hybrid_override_pattern"): property(_pattern),
    ("NemotronHConfig", "mtp_hybrid_override_pattern"): property(_draft_as_pattern),
    ("NemotronHConfig", "_list_to_pattern"): staticmethod(_list_to_pattern),
    ("NemotronHConfig", "_pattern_to_list"): _PatternToList(),
}
