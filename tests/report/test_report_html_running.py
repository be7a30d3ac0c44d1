"""What runs in the page of a check: folded, a row for layers that are alike, nothing of a tree as markup."""

from __future__ import annotations

from sgcheck.report.html.check import render_check_html
from sgcheck.resolve.resolution import (
    Because,
    Cell,
    Gpu,
    LaunchError,
    LayerRow,
    ModelInfo,
    Outcome,
    Reason,
    Resolution,
    RoleRunning,
    Running,
    Target,
    TreeInfo,
)

URL = "https://github.com/sgl-project/sglang/blob/v0.0.1/python/sglang/q.py#L3"


def row(kind: str, kernel: Cell) -> LayerRow:
    made = {"weights": Cell("decided", "uint8"), "method": Cell("decided", "FourBits")}
    return LayerRow(kind, 3, "", {**made, "runner": Cell("decided", None), "kernel": kernel})


def page(*rows: LayerRow) -> str:
    running = Running(RoleRunning({"model_class": Cell("decided", "Tiny")}, rows), None)
    result = Resolution(
        TreeInfo("0.0.1", "memory", "sha256:0"),
        Target("sm90", Gpu("NVIDIA H100", 81559, 8), "13.0"),
        ModelInfo("profile"),
        (),
        Outcome("ok", stage="kernel"),
        running=running if rows else None,
    )
    return render_check_html([result])


def test_layers_that_are_alike_are_one_row_with_the_calling_line() -> None:
    step = Because("write", "lib.gemm", "sglang/q.py", 3, url=URL)
    kernel = Cell("decided", "lib.gemm", because=(step,))
    text = page(row("a.*.qkv", kernel), row("a.*.o", kernel))
    assert '<details class="running"><summary>main runs Tiny</summary>' in text
    (line,) = [line for line in text.splitlines() if "lib.gemm" in line]
    assert (
        "<div>a.*.qkv</div><div>a.*.o</div></td><td>6</td><td>uint8</td><td>FourBits</td><td></td>"
        in line
    )
    assert f'href="{URL}"' in line
    assert 'class="running"' not in page()


def test_a_failing_and_an_unknown_layer_say_why_and_where() -> None:
    error = LaunchError("AttributeError", "no <b>scale</b>", "sglang/q.py", 9, url="javascript:x")
    text = page(
        row("<script>x</script>", Cell("decided", None, raises=error)),
        row("b", Cell("unknown", reason=Reason("not-modelled(f)", "sglang/r.py", 7))),
    )
    assert "its first batch raises AttributeError: no &lt;b&gt;scale&lt;/b&gt;" in text
    assert "sglang/q.py:9" in text
    assert "unknown: not-modelled(f)" in text
    assert "sglang/r.py:7" in text
    assert "<script>" not in text
    assert "javascript:" not in text
