"""Files of the machine: what a launch names is taken to be there, and an answer says so."""

from __future__ import annotations

import pytest
from small_trees import resolve

from sgcheck.report.document import check_document
from sgcheck.resolve.resolution import Assumption, Resolution
from sgcheck.world.host import named_paths

HEAD = "import json\nimport os\nfrom pathlib import Path"

CHECKED = """
    if not os.path.isfile(self.answer):
        raise ValueError("no such key")
"""


def outcome(result: Resolution) -> tuple[str, tuple[tuple[str, str], ...]]:
    return result.outcome.status, tuple((a.path, a.kind) for a in result.assumed)


def test_a_file_that_the_launch_names_is_there() -> None:
    result = resolve(CHECKED, HEAD, argv=["--answer", "/certs/tls.key"])
    assert outcome(result) == ("ok", (("/certs/tls.key", "file"),))
    assert result.assumed == (Assumption("/certs/tls.key", "file"),)
    document = check_document(result)
    assert document["assumed"] == [{"path": "/certs/tls.key", "kind": "file"}]


def test_a_path_that_looks_like_a_folder_is_a_file_where_only_that_starts() -> None:
    result = resolve(CHECKED, HEAD, argv=["--answer", "/certs/key"])
    assert outcome(result) == ("ok", (("/certs/key", "file"),))


def test_a_name_that_is_no_path_is_looked_at_again_with_the_file_there() -> None:
    result = resolve(CHECKED, HEAD, argv=["--answer", "key"])
    assert outcome(result) == ("ok", (("key", "file"),))


def test_a_failure_that_no_file_decides_stays() -> None:
    body = CHECKED + "    raise ValueError('for another reason')"
    result = resolve(body, HEAD, argv=["--answer", "/certs/tls.key"])
    assert result.outcome.status == "startup_error"
    assert result.outcome.error is not None
    assert result.outcome.error.message == "for another reason"


def test_each_of_several_files_is_looked_at() -> None:
    body = """
        for path in self.answer.split(","):
            if not os.path.isfile(path):
                raise ValueError(path)
    """
    result = resolve(body, HEAD, argv=["--answer", "/c/key,/c/cert,/c/ca.pem"])
    files = (("/c/ca.pem", "file"), ("/c/cert", "file"), ("/c/key", "file"))
    assert outcome(result) == ("ok", files)


def test_a_failure_of_a_file_that_is_there_stays_where_no_kind_of_it_starts() -> None:
    body = 'os.path.exists(self.answer)\nraise ValueError("always")\n'
    result = resolve(body, HEAD, argv=["--answer", "/x"])
    assert result.outcome.status == "startup_error"
    assert outcome(result)[1] == (("/x", "folder"),)


def test_what_the_launch_does_not_name_is_absent() -> None:
    result = resolve("self.answer = os.path.exists('/dev/some-device')", HEAD)
    assert result.fields["answer"].value is False
    assert result.assumed == ()


def test_a_file_given_with_the_launch_is_read_and_nothing_assumed() -> None:
    body = "with open(self.answer) as f:\n    self.answer = json.load(f)['a']\n"
    result = resolve(body, HEAD, argv=["--answer", "./own.json"], given={"./own.json": b'{"a": 3}'})
    assert result.fields["answer"].value == 3
    assert result.assumed == ()


def test_what_stands_in_a_file_of_the_machine_is_unknown() -> None:
    body = "with open(self.answer) as f:\n    self.answer = json.load(f)['a']\n"
    result = resolve(body, HEAD, argv=["--answer", "/etc/own.json"], explore=True)
    answer = result.fields["answer"]
    assert answer.status == "unknown"
    assert answer.reason is not None
    assert answer.reason.code == "host-file-unknown"


def test_a_file_in_a_folder_of_the_machine_may_be_there_or_not() -> None:
    body = "self.answer = os.path.isfile(os.path.join(self.answer, 'adapter_config.json'))"
    result = resolve(body, HEAD, argv=["--answer", "/adapters/one"], explore=True)
    answer = result.fields["answer"]
    assert sorted((case.condition, case.value) for case in answer.cases) == [
        ("not (the host has /adapters/one/adapter_config.json)", False),
        ("the host has /adapters/one/adapter_config.json", True),
    ]


DEVICES = """
    def check(given):
        known = "/sys/class/infiniband"
        if not os.path.isdir(known):
            raise RuntimeError("no drivers")
        there = set(os.listdir(known))
        bad = [d for d in given.split(",") if d not in there]
        if len(there) == 0 or bad:
            raise ValueError(bad)
        return len(bad)
    self.answer = check(self.answer)
"""


@pytest.mark.parametrize("explore", [False, True])
def test_devices_that_the_launch_names_are_there(explore: bool) -> None:
    result = resolve(DEVICES, HEAD, argv=["--answer", "mlx5_0,mlx5_1"], explore=explore)
    assert outcome(result) == ("ok", (("/sys/class/infiniband", "folder"),))
    assert result.fields["answer"].value == 0


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/a/b.pem", {"/a/b.pem": "file"}),
        ("one=/l/a", {"/l/a": "folder"}),
        ('{"pack": "/p/x.bin", "n": 1}', {"/p/x.bin": "file"}),
        ("./t.jinja", {"./t.jinja": "file"}),
        ("/cache/", {"/cache/": "folder"}),
        ("/models/Qwen3-0.6B", {"/models/Qwen3-0.6B": "folder"}),
        ("Qwen/Qwen3-8B", {}),
        ("http://host:1/metrics", {}),
        ("tcp://10.0.0.1:5000", {}),
        ("a/./b", {}),
        ("model_path: /data/q\nother: 1", {"/data/q": "folder"}),
    ],
)
def test_paths_in_the_words_of_a_launch(text: str, paths: dict[str, str]) -> None:
    assert named_paths([text]) == paths
