"""Modules are imported once and serve many launches: none may notice the others."""

from __future__ import annotations

from collections.abc import Mapping

from small_trees import CASE, METADATA, resolve, tree_of

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import target_from_case

assert METADATA

READER = {"srt/reader.py": "import os\nSEEN = os.environ.get('SWITCH', 'unset')\n"}


def launches(predictor: Predictor, *envs: Mapping[str, str]) -> list[Resolution]:
    target = target_from_case(CASE)
    return [
        predictor.check(Launch((), env, target, UNKNOWN_MODEL, {}), explore=False) for env in envs
    ]


def values(results: list[Resolution]) -> list[object]:
    assert all(r.outcome.status == "ok" for r in results), [r.outcome for r in results]
    return [r.fields["answer"].value for r in results]


def test_what_an_import_writes_is_seen_but_no_decision() -> None:
    head = "import os\nos.environ['BY_IMPORT'] = 'yes'"
    body = "self.answer = os.environ['BY_IMPORT']\nos.environ['BY_LAUNCH'] = '1'"
    predictor = Predictor(tree_of(body, head))
    results = launches(predictor, {}, {}, {"BY_IMPORT": "no"})
    assert values(results) == ["yes", "yes", "yes"]
    assert [dict(r.env_after) for r in results] == [{"BY_LAUNCH": "1"}] * 3


def test_what_a_late_import_writes_is_written_for_each_launch_that_imports() -> None:
    files = {
        "srt/writer.py": "import sglang.srt.inner\n",
        "srt/inner.py": "import os\nos.environ['LATE'] = 'yes'\n",
    }
    body = """
    import os
    if "WITH" in os.environ:
        import sglang.srt.writer
    if "INNER" in os.environ:
        import sglang.srt.inner
    self.answer = os.environ.get("LATE")
    """
    predictor = Predictor(tree_of(body, files=files))
    results = launches(predictor, {"WITH": "1"}, {}, {"INNER": "1"}, {"WITH": "1"})
    assert values(results) == ["yes", None, "yes", "yes"]
    assert [dict(r.env_after) for r in results] == [{}] * 4


def test_a_module_that_reads_what_the_launch_sets_is_imported_afresh() -> None:
    body = """
    import os
    if "SET" in os.environ:
        os.environ["SWITCH"] = "on"
    from sglang.srt.reader import SEEN
    self.answer = SEEN
    """
    predictor = Predictor(tree_of(body, files=READER))
    results = launches(predictor, {}, {"SET": "1"}, {}, {"SWITCH": "off"}, {"SET": "1"})
    assert values(results) == ["unset", "on", "unset", "off", "on"]


def test_a_name_imported_at_the_top_is_as_old_as_the_module_that_imports_it() -> None:
    head = "import os\nfrom sglang.srt.reader import SEEN"
    body = "os.environ['SWITCH'] = 'on'\nself.answer = SEEN"
    for eager in (False, True):
        predictor = Predictor(tree_of(body, head, READER), eager=eager)
        assert values(launches(predictor, {}, {"SWITCH": "off"}, {})) == ["unset", "off", "unset"]


def test_an_own_cache_that_keeps_an_order_is_taken_back() -> None:
    head = """
    import os
    from collections import OrderedDict
    CACHE = OrderedDict()

    def cached(key):
        if key in CACHE:
            CACHE.move_to_end(key)
            return CACHE[key]
        CACHE[key] = key.upper()
        if len(CACHE) > 1:
            CACHE.popitem(last=False)
        return CACHE[key]
    """
    body = (
        "self.answer = [cached(os.environ['KEY']), cached('other'), cached('other'), list(CACHE)]"
    )
    predictor = Predictor(tree_of(body, head))
    results = launches(predictor, {"KEY": "a"}, {"KEY": "b"}, {"KEY": "a"})
    assert values(results) == [
        ["A", "OTHER", "OTHER", ["other"]],
        ["B", "OTHER", "OTHER", ["other"]],
        ["A", "OTHER", "OTHER", ["other"]],
    ]


def test_a_launch_that_fails_keeps_what_it_logged_and_set() -> None:
    body = """
    import os
    logger.warning("about to %s", "fail")
    os.environ["SET"] = "1"
    raise ValueError("no")
    """
    result = resolve(body)
    assert result.outcome.status == "startup_error"
    assert [(line.level, line.message) for line in result.log] == [("WARNING", "about to fail")]
    assert dict(result.env_after) == {"SET": "1"}


def test_what_an_import_logs_belongs_to_no_launch() -> None:
    files = {"srt/loud.py": "import logging\nlogging.getLogger(__name__).warning('registered')\n"}
    body = "import sglang.srt.loud\nlogger.warning('resolved')"
    predictor = Predictor(tree_of(body, files=files))
    results = launches(predictor, {}, {})
    assert [[line.message for line in r.log] for r in results] == [["resolved"], ["resolved"]]
