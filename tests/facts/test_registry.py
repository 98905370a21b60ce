"""Facts are found without import, called with typed parameters, and refuse with the nearest name."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.cli import main
from blocklib.facts.discover import FactError
from blocklib.facts.refs import parse_facts
from blocklib.facts.registry import (
    GivenValue,
    Registry,
    evaluate,
    fact_main,
    json_value,
    number_text,
    parse_expr,
    slug,
)  # fmt: skip
from blocklib.facts.values import Measured, Range
from tests.facts.library import again, make_library


@pytest.fixture
def registry(tmp_path):
    return make_library(tmp_path)


def test_declarations_are_known_without_import(registry):
    spec = registry.lookup("norm_ops")
    assert f"{registry.package}.theory" not in sys.modules
    assert spec.origin == f"{registry.package}.theory.norm_ops"
    assert (spec.grade, spec.unit, spec.formula, spec.tests) == ("computed", None, "7d, 4d", ("tests/x.py::test_y",))
    assert spec.about.en == "Operations of a norm on one vector."
    assert spec.about.zh == "一个向量的运算数。"
    assert [str(p) for p in spec.params] == ["kind: layernorm | rmsnorm", "d_model: int"]
    assert (
        (registry.root / spec.path).read_text(encoding="utf-8").splitlines()[spec.line - 1].startswith("def norm_ops")
    )


@pytest.mark.parametrize("expr, value, canonical", [
    ("norm_ops?kind=layernorm&d_model=4096", 28672, "norm_ops?kind=layernorm&d_model=4096"),
    ("norm_ops?d_model=4,096&kind=RMSNorm", 16384, "norm_ops?kind=rmsnorm&d_model=4096"),
    ("fact:implicit_paths?blocks=24", 16777216, "implicit_paths?blocks=24"),
    ("kv_bytes?tokens=1", 327680, "kv_bytes?tokens=1"),
    ("kv_bytes?tokens=1&dtype=bf16", 327680, "kv_bytes?tokens=1"),
    ("kv_bytes?tokens=1&dtype=fp32", 655360, "kv_bytes?tokens=1&dtype=fp32"),
    ("decay?gain=0.7&layers=12", Fraction("0.7") ** 12, "decay?gain=0.7&layers=12"),
    ("decay?gain=7e-1&layers=12", Fraction("0.7") ** 12, "decay?gain=0.7&layers=12"),
    ("exact_share?part=1/3", Fraction(1, 3), "exact_share?part=1/3"),
    ("exact_share?part=1/8&enabled=false", Fraction(-1, 8), "exact_share?part=0.125&enabled=false"),
    ("saving", Range(Fraction(7, 100), Fraction(64, 100)), "saving"),
])  # fmt: skip
def test_evaluation(registry, expr, value, canonical):
    found = registry.evaluate(expr)
    assert (found.value, found.expr) == (value, canonical)


def test_givens_fill_parameters_without_value(registry):
    ready = {"d_model": GivenValue("4,096", Fraction(4096)), "kind": GivenValue("RMSNorm")}
    assert registry.evaluate("norm_ops?kind&d_model", ready).expr == "norm_ops?kind=rmsnorm&d_model=4096"
    assert registry.evaluate("norm_ops?kind=layernorm&d_model", ready).value == 28672
    # A parameter that the expression does not name is never filled behind the author's back.
    with pytest.raises(FactError, match="needs the parameter d_model: int"):
        registry.evaluate("norm_ops?kind", ready)


@pytest.mark.parametrize("expr, message", [
    ("norm_opps?kind=layernorm&d_model=1", r"unknown fact 'norm_opps' \(did you mean norm_ops\?\)"),
    ("norm_ops?kind=layernorm&width=1", r"no parameter 'width'.*did you mean"),
    ("norm_ops?kind=layernorm&d_modle=1", r"did you mean d_model\?"),
    ("norm_ops?kind=layernorm", r"needs the parameter d_model: int"),
    ("norm_ops?kind=batchnorm&d_model=1", r"'batchnorm' does not fit the parameter kind: layernorm \| rmsnorm"),
    ("norm_ops?kind=layernorm&d_model=0.5", r"'0.5' does not fit the parameter d_model: int"),
    ("norm_ops?kind=layernorm&d_model=wide", r"'wide' does not fit"),
    ("norm_ops?kind=layernorm&d_model", r"takes 'd_model' from the section, and no \[\.\.\]\(given:d_model\)"),
    ("norm_ops?kind=layernorm&kind=rmsnorm", r"'kind' stands twice"),
    ("norm_ops?kind=", r"cannot read 'kind='"),
    ("norm_ops?", r"cannot read ''"),
    ("2+2", r"is no fact expression"),
    ("", r"is no fact expression"),
    ("exact_share?part=1&enabled=maybe", r"'maybe' does not fit the parameter enabled: bool"),
    ("exact_share?part=1/0", r"'1/0' does not fit"),
    ("raising?x=1", r"ZeroDivisionError"),
    ("not_a_number?x=1", r"finite"),
    ("not_a_number?x=0", r"number"),
    ("resnet_error?network=plain-19", r"does not fit the parameter network: plain-18 \| resnet-34"),
])  # fmt: skip
def test_refusals(registry, expr, message):
    with pytest.raises(FactError, match=message):
        registry.evaluate(expr)


def test_an_error_is_remembered_as_an_error(registry):
    for _ in range(2):
        with pytest.raises(FactError):
            registry.evaluate("raising?x=1")


def test_cited_figures(registry):
    found = registry.evaluate("resnet_error?network=plain-18")
    assert (found.value, found.grade, found.origin) == (Fraction(2794, 10000), "cited", "he2015, Table 2")
    assert registry.evaluate("resnet_error?network=resnet-34").origin == "he2015, Table 3"
    assert registry.evaluate("rmsnorm_speedup").value == Range(Fraction(7, 100), Fraction(64, 100))


@pytest.mark.parametrize("text, message", [
    ("[a\nb = 1", r"cited.toml:1: not valid TOML"),
    ("[ab]\nabout.zh = 'x'\nsource='y'\nplace='z'\nvalue='1'", r"cited.toml:1: ab: about.zh and about.en"),
    ("\n\n[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nvalue='1'", r"cited.toml:3: .*place"),
    ("[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace='z'", r"give value, or parameter"),
    ("[ab]\nabuot.zh='x'", r"unknown key 'abuot'"),
    ("[norm_ops]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace='z'\nvalue='1'", r"two facts are named 'norm_ops'"),
    ("\nab = 5", r"cited.toml:1: ab: an entry is a table"), ("\n[Ab]\nx = 1", r"cited.toml:2: Ab: an entry is a table"),
    ("[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace=''\nvalue='1'", r"value needs the figure as printed"),
    ("[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace=5\nvalue='1'", r"value needs the figure as printed"),
    ("[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace='z'\nvalue=1", r"value needs the figure as printed"),
    ("[ab]\nabout.zh='x'\nabout.en='x'\nplace='z'\nvalue='1'", r"source .a BibTeX key. and a figure are needed"),
    ("[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace='z'\nparameter='p'\nvalues={}", r"and a figure are needed"),
])  # fmt: skip
def test_broken_cited_files(tmp_path, text, message):
    with pytest.raises(FactError, match=message):
        make_library(tmp_path, text).names()


def test_the_origin_of_a_column_is_its_place_else_its_first_rows(tmp_path):
    rows = "[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nparameter='p'\n{}[ab.values]\na={{value='1', place='§2'}}\nb={}\n"
    placed, bare = rows.format("place='§1'\n", "'2'"), rows.format("", "{value='2', place='§3'}")
    for number, (text, origin) in enumerate([(placed, "y, §1"), (bare, "y, §2")]):
        registry = make_library(tmp_path / str(number), text)
        assert registry.lookup("ab").origin == origin and registry.evaluate("ab?p=a").origin == "y, §2"


@pytest.mark.parametrize("whole", ["true", "false"])
def test_a_measured_value_says_its_noise(registry, whole):
    """Else nobody could say how many of its digits count; what is counted (an int) has none."""
    with pytest.raises(FactError, match="measured, but .* without its noise") as error:
        registry.evaluate(f"bare_time?whole={whole}")
    assert "theory.py" in str(error.value)
    assert registry.evaluate("step_time").value.noise


@pytest.mark.parametrize("value, unit, message", [
    ("'about 5'", "", "carries a relation"), ("'5 GB'", "", "has the unit B"), ("'many'", "", "cannot read"),
    ("'5'", "unit = 'B'", "declared is B"),
])  # fmt: skip
def test_cited_figures_that_cannot_vouch(tmp_path, value, unit, message):
    entry = f"[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace='z'\nvalue={value}\n{unit}\n"
    with pytest.raises(FactError, match=message):
        make_library(tmp_path, entry).evaluate("ab")


@pytest.mark.parametrize("code, message", [
    ('@fact()\ndef f(x):\n    """A.\n\n    中文：甲。\n    """\n', r"parameter 'x' has no annotation"),
    ('@fact()\ndef f(x: list):\n    """A.\n\n    中文：甲。\n    """\n', r"parameter 'x' has list"),
    ('@fact()\ndef f():\n    """Only English."""\n', r"begins 中文"),
    ('@fact()\ndef f():\n    """中文：甲。"""\n', r"first paragraph in English"),
    ('@fact(grade="sure")\ndef f():\n    """A.\n\n    中文：甲。\n    """\n', r"unknown grade 'sure'"),
    ('@fact(colour="red")\ndef f():\n    """A.\n\n    中文：甲。\n    """\n', r"no argument 'colour'"),
    ('@fact(unit=unit())\ndef f():\n    """A.\n\n    中文：甲。\n    """\n', r"must be a literal"),
    ('@fact()\ndef f(*args: int):\n    """A.\n\n    中文：甲。\n    """\n', r"named ones"),
])  # fmt: skip
def test_declarations_that_are_not_complete(tmp_path, code, message):
    registry = make_library(tmp_path)
    (registry.root / registry.package / "more.py").write_text(code, encoding="utf-8")
    with pytest.raises(FactError, match=message) as error:
        registry.lookup("f")
    assert f"{registry.package}/more.py:2" in str(error.value)


def test_one_name_twice_names_both_places(tmp_path):
    registry = make_library(tmp_path)
    (registry.root / registry.package / "more.py").write_text("\n\n@fact()\ndef saving():\n    ...\n")
    with pytest.raises(FactError, match=r"two facts are named 'saving'.*more.py:4|more.py:4.*two facts") as error:
        registry.names()
    assert "theory.py:" in str(error.value)


def test_constants_of_the_module_and_imported_aliases(tmp_path):
    registry = make_library(tmp_path)
    folder = registry.root / registry.package
    (folder / "more.py").write_text(
        f"from {registry.package}.theory import Kind\nHEAD = 'tests/a.py::'\nALL = (HEAD + 'b', HEAD + 'c')\n"
        "@fact(tests=(*ALL, 'd'))\ndef f(kind: Kind | None = None):\n    '''A.\n\n    中文：甲。\n    '''\n",
        encoding="utf-8",
    )
    spec = registry.lookup("f")
    assert spec.tests == ("tests/a.py::b", "tests/a.py::c", "d")
    assert spec.params[0].choices == ("layernorm", "rmsnorm")


def test_a_library_constant_changed(registry):
    assert registry.evaluate("norm_ops?kind=layernorm&d_model=2").value == 14
    (registry.root / registry.package / "constants.py").write_text("FACTOR = 70\n")
    assert again(registry).evaluate("norm_ops?kind=layernorm&d_model=2").value == 140


@given(st.fractions(min_value=-(10**6), max_value=10**6))
def test_number_text_reads_back(value):
    assert Fraction(number_text(value)) == value


def test_keys_are_ascii_and_differ_where_expressions_differ():
    assert slug("norm_ops?kind=rmsnorm&d_model=4096") == "norm_ops-kind-rmsnorm-d_model-4096"
    exprs = ["f_a?b=1", "f?a_b=1", "f?a=1/3", "f?a=1-3", "f?a=-1", "f?a=1", "f?a=中", "f?a=文", "f?a=0.5", "f?a=05"]
    keys = [slug(expr) for expr in exprs]
    assert len(set(keys)) == len(keys) and all(key.isascii() and " " not in key for key in keys)


def test_the_tail_of_a_key_is_six_digits_of_a_hash():
    assert slug("f?a=中") == "f-a-" + hashlib.sha256("f?a=中".encode()).hexdigest()[:6]


def test_parameters_left_out_or_open_do_not_hide_later_ones(registry):
    assert registry.bind("exact_share?part=1/2&name=b", {})[1] == {"part": Fraction(1, 2), "name": "b"}
    assert registry.bind("norm_ops?kind&d_model=5", None)[1] == {"d_model": 5}


def test_the_command_prints_text_as_it_is(tmp_path, capsys, monkeypatch):
    library = make_library(tmp_path, "[ab]\nabout.zh='x'\nabout.en='x'\nsource='y'\nplace='§ 2'\nvalue='1'\n")
    monkeypatch.setattr("blocklib.facts.registry.default", lambda: library)
    assert fact_main(["ab"]) == 0 and '"y, § 2"' in capsys.readouterr().out


def test_parse_expr():
    assert parse_expr("a?b=1&c&d=x%20y") == ("a", {"b": "1", "c": None, "d": "x y"})


@pytest.mark.parametrize("value, shown", [
    (16777216, 16777216), (Fraction(616, 1000), 0.616), (Fraction(1, 3), "1/3"),
    (Fraction("0.1234567890123456789"), "0.1234567890123456789"), (Fraction(4, 2), 2),
    (Range(1, Fraction(1, 2) * 4), [1, 2]), (Measured(Fraction(1, 2), Fraction(1, 4)), {"value": 0.5, "noise": 0.25}),
])  # fmt: skip
def test_json_is_exact(value, shown):
    assert json_value(value) == shown
    assert json.loads(json.dumps(json_value(value))) == shown


def test_command(capsys):
    assert fact_main(["implicit_paths?blocks=24"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row == {"value": 16777216, "unit": None, "grade": "computed",
                   "origin": "blocklib.theory.paths.implicit_paths"}  # fmt: skip


@pytest.mark.parametrize("argv, message", [
    (["implicit_path?blocks=24"], "did you mean implicit_paths?"), (["implicit_paths?blocks"], "given"),
    (["implicit_paths?blocks=-1"], "at least 0"), ([], "--help"), (["a", "b"], "--help"),
])  # fmt: skip
def test_command_refuses_in_one_line(capsys, argv, message):
    assert main(["fact", *argv]) == 2
    out = capsys.readouterr()
    assert out.out == "" and message in out.err and out.err.count("\n") == 1 and "Traceback" not in out.err


def test_blocklib_declares_every_fact_rightly():
    registry = Registry()
    for name in registry.names():
        spec = registry.lookup(name)
        assert spec.about.zh and spec.about.en, name


def test_evaluating_imports_no_torch():
    code = (
        "import sys; from blocklib.facts.registry import default; d = default(); [d.lookup(n) for n in d.names()];"
        "d.evaluate('implicit_paths?blocks=24'); assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_module_level_evaluate():
    assert evaluate("implicit_paths?blocks=3").value == 8


def test_facts_file():
    refs = parse_facts(
        "# head\n[ln]:   fact:norm_ops?kind=layernorm&d_model\n\n[LN]: fact:x\n[bad]: norm_ops\nno line\n"
        "[é]: fact:a\n[g]: given:a\n[ok.2]: fact:a  # why\n[t]: fact:a tail\n",
        "docs/a.facts",
    )
    assert [ref.key for ref in refs.by_key.values()] == ["ln", "ok.2"]
    assert refs.get(" LN ").expr == "norm_ops?kind=layernorm&d_model" and refs.get("ln").line == 2
    assert [p.line for p in refs.problems] == [4, 5, 6, 7, 8, 10]
    assert "already defined on line 2" in refs.problems[0].message


@pytest.mark.parametrize(
    "expr, message",
    [
        ("implicit_paths?blocks=1e9", "at most 4,096"), ("sublayer_paths?blocks=99999999999999999999", "at most 4,096"),
        ("compound_factor?factor=1.01&layers=1e300", "too large"), ("norm_ops?kind=rmsnorm&d_model=1e200", "too large"),
        ("total_path_weight?blocks=-1&gain=1/3", "at least 0"), ("implicit_paths?blocks=" + "9" * 99999, "does not fit"),
        ("compound_factor?factor=1e-300&layers=4000", "more than 4,000 digits"),
    ],
)  # fmt: skip
def test_what_nobody_could_print_is_refused_at_once(expr, message, capsys):
    assert main(["fact", expr]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error) < 1000


def test_a_value_beyond_floats_is_exact_text(capsys):
    assert fact_main(["compound_factor?factor=1.5&layers=4000"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == f"{3**4000}/{2**4000}"
