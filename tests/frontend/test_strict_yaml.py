"""The reading of YAML: what it refuses and where, and the surprises of YAML 1.1 that it does not have."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from small_vocabulary import HEADER, PATH, REGISTRY, read, steps

from pytest_runcoord import _strict_yaml
from pytest_runcoord._limits import MAX_DOCUMENTS, MAX_NESTING, MAX_NODES, MAX_SCENARIO_BYTES
from pytest_runcoord._nodes import ListNode, MappingNode, plain
from pytest_runcoord._scenario_text import decode
from pytest_runcoord._strict_yaml import read_documents
from pytest_runcoord.scenario import InvalidScenario, Scenario, ScenarioFileError, load_file, load_text

H = HEADER.encode()


@dataclass(frozen=True)
class Bad:
    """A bad input, and what its error must say where. ``problem`` and ``remedy`` are parts of the texts."""

    data: bytes
    line: int
    column: int
    problem: str
    remedy: str


UNREADABLE = {
    "empty file": Bad(b"", 1, 1, "the file is empty", "begins with 'runcoord: 1'"),
    "only a comment": Bad(b"# later\n", 1, 1, "the file is empty", "begins with 'runcoord: 1'"),
    "only a byte order mark": Bad(b"\xef\xbb\xbf", 1, 1, "the file is empty", "or remove the file"),
    "bad UTF-8": Bad(
        H + b"origin: [caf\xe9]\n", 4, 13, "byte 0xe9 at offset 52 is not UTF-8", "save the file"
    ),
    "bad UTF-8 after a mark": Bad(
        b"\xef\xbb\xbf" + H + b"says: \xff", 4, 7, "byte 0xff at offset 49 is not UTF-8", "as UTF-8"
    ),
    "bad UTF-8 after wide characters": Bad(
        "ä: 日本".encode() + b"\x80", 1, 6, "0x80 at offset 10", "as UTF-8"
    ),
    "UTF-16": Bad("a: b".encode("utf-16"), 1, 1, "written in UTF-16", "save it as UTF-8"),
    "UTF-32": Bad("a: b".encode("utf-32"), 1, 1, "written in UTF-32", "save it as UTF-8"),
    "NUL": Bad(b"a: 1\r\nb: x\x00", 2, 5, "U+0000 cannot be seen", 'escape in double quotes: "\\u0000"'),
    "control character": Bad(b"a: b\x07", 1, 5, "U+0007 cannot be seen", '"\\u0007"'),
    "line separator": Bad("a: b\u2028c".encode(), 1, 5, "U+2028 cannot be seen", '"\\u2028"'),
    "next line": Bad("a: b\x85c".encode(), 1, 5, "U+0085 cannot be seen", '"\\u0085"'),
    "byte order mark inside": Bad("a: b\ufeff".encode(), 1, 5, "U+FEFF cannot be seen", '"\\uFEFF"'),
    "over a megabyte": Bad(b"#" * (MAX_SCENARIO_BYTES + 1), 1, 1, "larger than 1048576 bytes", "split it"),
    "ten megabytes": Bad(b"a: b\n" * 2_000_000, 1, 1, "larger than 1048576 bytes", "split it"),
    "deep nesting": Bad(b"a: " + b"[" * MAX_NESTING, 1, 35, "deeper than 32", "not closed"),
    "absurd nesting": Bad(b"a: " + b"[" * 5000, 1, 1004, "deeper than 32", "not closed"),
    "absurd indentation": Bad(b"- " * 5000, 1, 65, "deeper than 32", "flatten it"),
    "deep indentation": Bad(
        b"".join(b" " * depth + b"a:\n" for depth in range(40)), 33, 33, "deeper than 32", "flatten it"
    ),
    "too many documents": Bad(b"---\n" * (MAX_DOCUMENTS + 1), 201, 1, "more than 200 scenarios", "split"),
    "too many values": Bad(b"[" + b"1," * MAX_NODES + b"]", 1, 99998, "more than 50000 keys", "split"),
    "unclosed list": Bad(
        b"a: [1,\n\nb: 2\n", 4, 1, "the list that begins in line 1, column 4", "close it with ']'"
    ),
    "unclosed mapping": Bad(
        b"a: {b: 1\nc: 2\n", 2, 2, "the mapping that begins in line 1", "close it with '}'"
    ),
    "wrong bracket": Bad(b"a: [1, 2}\n", 1, 9, "the list that begins in line 1, column 4", "']'"),
    "unclosed quote": Bad(b"a: 1\nb: 'x\n\nc: 1\n", 2, 4, "quoted text that begins here", "close the quote"),
    "tab": Bad(b"a:\n\tb: 1\n", 2, 1, "a tab is used for indentation", "use spaces"),
    "colon in a value": Bad(b"a: b: c\n", 1, 5, "a ':' stands where no key can be", "quote the value"),
    "reserved character": Bad(b"a: @b\n", 1, 4, "cannot begin with '@'", "quote it"),
    "dedent": Bad(
        b" a: 1\nb: 2\n", 2, 1, "goes on where the scenario ended", "indent it like the keys above"
    ),
    "key in a list": Bad(b"- a\nb: 1\n", 2, 1, "a list goes on without '-'", "begin each entry with '- '"),
    "no colon": Bad(b"a: 1\nb\nc: 2\n", 3, 1, "a key has no ':'", "write 'key: value'"),
    "unknown directive": Bad(b"%FOO\n---\na: 1\n", 1, 5, "this is not YAML", "correct the syntax"),
    "unknown escape": Bad(b'a: "\\q"\n', 1, 5, "unknown escape character", "correct the syntax"),
}

MISFIT_DOCUMENTS = {
    "duplicate key": Bad(
        H + b"says: twice\n", 4, 1, "the key 'says' is there twice, first in line 3", "remove one"
    ),
    "duplicate key far below": Bad(
        steps("- submit: {run: r1,\n    run: r2}").encode(),
        6,
        7,
        "'run' is there twice, first in line 5",
        "remove",
    ),
    "duplicate in another spelling": Bad(
        H + b'"says": x\n', 4, 1, "'says' is there twice", "remove one of them"
    ),
    "alias": Bad(H + b"tags: [a]\norigin: *x\n", 5, 9, "'*x' is an alias", "write the value out"),
    "alias as a key": Bad(H + b"*x : 1\n", 4, 1, "'*x' is an alias", "write the value out"),
    "anchor": Bad(H + b"tags: [&x a]\n", 4, 8, "'&x' is an anchor", "remove it"),
    "anchor of a list": Bad(H + b"tags: &x [a]\n", 4, 7, "'&x' is an anchor", "remove it"),
    "anchor of a key": Bad(H + b"&x tags: [a]\n", 4, 1, "'&x' is an anchor", "remove it"),
    "tag": Bad(H + b"tags: [!!str a]\n", 4, 8, "'tag:yaml.org,2002:str' is a tag", "remove it"),
    "tag of python": Bad(H + b"tags: !!python/name:os.system\n", 4, 7, "is a tag", "remove it"),
    "tag of a mapping": Bad(H + b"given: !x {a: 1}\n", 4, 8, "'!x' is a tag", "remove it"),
    "bare tag": Bad(H + b"tags: [a, ! 12]\n", 4, 11, "'!' is a tag", "quote the value"),
    "merge key": Bad(H + b"<<: {a: 1}\n", 4, 1, "'<<' is a merge key", "write the keys out"),
    "number as a key": Bad(H + b"1: x\n", 4, 1, "the key '1' is not text", "quote it"),
    "truth value as a key": Bad(H + b"true: x\n", 4, 1, "the key 'true' is not text", "quote it"),
    "null as a key": Bad(H + b"~: x\n", 4, 1, "the key '~' is not text", "quote it"),
    "list as a key": Bad(H + b"? [a, {b: c}]\n: 1\n", 4, 3, "a key is a list or a mapping", "as plain text"),
    "endless number": Bad(
        H + b"tags: [" + b"9" * 5000 + b"]\n", 4, 8, "more than 400 characters", "quote it"
    ),
    "YAML 1.1": Bad(b"%YAML 1.1\n---\n" + H, 1, 1, "asks for YAML 1.1", "remove the directive"),
    "declared tags": Bad(b"%TAG ! x:\n---\n" + H, 1, 1, "declares tags", "remove the directive"),
}


def same_error(error: Exception, bad: Bad) -> None:
    assert str(error).startswith(f"{PATH}:{bad.line}:{bad.column}: ")
    problem, _, remedy = str(error).rpartition(" (")
    assert bad.problem in problem
    assert bad.remedy in remedy


@pytest.mark.parametrize("bad", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_one_error_with_its_place_and_remedy(bad: Bad) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        load_text(bad.data, REGISTRY, PATH)
    same_error(raised.value, bad)


@pytest.mark.parametrize("bad", MISFIT_DOCUMENTS.values(), ids=MISFIT_DOCUMENTS)
def test_what_yaml_must_not_contain_spoils_its_own_scenario_only(bad: Bad) -> None:
    after = "\n---\n" + steps("- reboot").replace("scenario: s", "scenario: after")
    [wrong, good] = read(bad.data + after.encode())
    assert isinstance(wrong, InvalidScenario)
    same_error(wrong.error, bad)
    assert wrong.name == "s"
    assert isinstance(good, Scenario)
    assert good.name == "after"


def test_a_file_that_is_not_there_or_a_folder_is_an_error_with_its_path(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "directory")):
        with pytest.raises(ScenarioFileError, match=reason) as raised:
            load_file(path, REGISTRY, shown_as="x.runcoord.yaml")
        assert str(raised.value).startswith("x.runcoord.yaml:1:1: the file cannot be read: ")
        assert "check that it exists" in raised.value.remedy


def test_a_large_file_is_not_read_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "large.runcoord.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # sparse: reading it all would take minutes
    with pytest.raises(ScenarioFileError, match="larger than"):
        load_file(path, REGISTRY)


def test_errors_survive_pickling_as_parallel_test_runs_need() -> None:
    with pytest.raises(ScenarioFileError) as raised:
        load_text(b"a: [", REGISTRY, PATH)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.position) == (str(raised.value), raised.value.position)


def test_so_do_all_that_are_told_of_one_scenario_at_once() -> None:
    # A name that nothing introduces, and another fault behind it.
    [found] = read(steps("- claim: r1\n- rebot"))
    assert isinstance(found, InvalidScenario)
    copy = pickle.loads(pickle.dumps(found.error))
    assert [str(each) for each in (copy, *copy.others)] == [
        str(each) for each in (found.error, *found.error.others)
    ]
    assert len(copy.others) == 1


@pytest.fixture(params=["c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers of PyYAML: the second is what is there where the first could not be built."""
    loader = yaml.CSafeLoader if request.param == "c" else yaml.SafeLoader
    monkeypatch.setattr(_strict_yaml, "PARSER", loader)
    return str(request.param)


def value_of(written: str) -> object:
    [document] = read_documents(f"- {written}\n", PATH)
    assert document.error is None
    assert isinstance(document.root, ListNode)
    return plain(document.root.items[0])


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "written",
    ["NO", "no", "on", "Off", "y", "yes", "1:30", "12:30:45", "0777", "-012", "2026-01-01", "1_000", "0b11",
     "0o8", "0xg", "1e", "e3", ".", "+", "nan", "inf", "+.nan", "truE", "nulL", "=", "12e03x", "1.2.3",
     "2026-01-01T00:00:00Z", "0x1F_", "~~", "00", "01.5", "NaN"],
)  # fmt: skip
def test_what_only_looks_like_a_value_is_text(written: str) -> None:
    assert value_of(f"{written} # so") == written


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("written", "value"),
    [("true", True), ("False", False), ("TRUE", True), ("null", None), ("~", None), ("", None),
     ("Null", None), ("0", 0), ("-7", -7), ("+12", 12), ("0o17", 15), ("0xFf", 255), ("1e3", 1000.0),
     ("-.5", -0.5), ("12.", 12.0), ("1.5E-3", 0.0015), (".inf", math.inf), ("-.INF", -math.inf),
     ("9" * 400, int("9" * 400))],
)  # fmt: skip
def test_plain_values_are_those_of_the_core_schema(written: str, value: object) -> None:
    found = value_of(written)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.usefixtures("parser")
def test_not_a_number_is_a_number_of_its_kind() -> None:
    found = value_of(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("written", ["'true'", '"12"', "'~'", '""', "|\n  12", ">-\n  null"])
def test_quoted_and_block_values_are_always_text(written: str) -> None:
    assert type(value_of(written)) is str


@pytest.mark.usefixtures("parser")
def test_keys_that_were_truth_values_are_text() -> None:
    [document] = read_documents("on: 1\nNO: 2\ny: 3\n", PATH)
    assert plain(document.root) == {"on": 1, "NO": 2, "y": 3}
    assert document.error is None


@pytest.mark.usefixtures("parser")
def test_a_quoted_merge_sign_is_an_ordinary_key() -> None:
    [document] = read_documents("'<<': 1\n", PATH)
    assert (plain(document.root), document.error) == ({"<<": 1}, None)


@pytest.mark.usefixtures("parser")
def test_signs_of_anchors_and_tags_inside_text_are_text() -> None:
    [document] = read_documents("a: x & y! *z\nb: '!x &y'\nc: a!\n", PATH)
    assert plain(document.root) == {"a": "x & y! *z", "b": "!x &y", "c": "a!"}
    assert document.error is None


@pytest.mark.usefixtures("parser")
def test_every_key_and_value_knows_its_line_and_column_in_characters() -> None:
    text = "äö: 'ü'\nlist:\n  - {日本: x, k: [1]}\n"
    [document] = read_documents(text, PATH)
    root = document.root
    assert isinstance(root, MappingNode)
    first = root.entries["äö"]
    assert (first.key_line, first.key_column, first.line, first.column) == (1, 1, 1, 5)
    items = root.entries["list"]
    assert isinstance(items, ListNode)
    assert (items.key_line, items.key_column, items.line, items.column) == (2, 1, 3, 3)
    [inner] = items.items
    assert isinstance(inner, MappingNode)
    assert (inner.line, inner.column, inner.key_line, inner.key_column) == (3, 5, 3, 5)
    last = inner.entries["k"]
    assert (last.key_line, last.key_column, last.line, last.column) == (3, 13, 3, 16)


@pytest.mark.usefixtures("parser")
def test_a_byte_order_mark_and_dos_line_ends_move_nothing() -> None:
    plainly = steps("- opne: gw1")
    for data in (plainly.encode(), b"\xef\xbb\xbf" + plainly.replace("\n", "\r\n").encode()):
        [found] = read(data)
        assert isinstance(found, InvalidScenario)
        assert (found.error.position.line, found.error.position.column) == (5, 5)


@pytest.mark.usefixtures("parser")
def test_an_alias_bomb_is_refused_without_being_expanded() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(9))
    [document] = read_documents(levels, PATH)
    assert document.error is not None
    assert "anchor" in document.error.problem


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("bad", MISFIT_DOCUMENTS.values(), ids=MISFIT_DOCUMENTS)
def test_both_parsers_refuse_the_same_at_the_same_place(bad: Bad) -> None:
    document = read_documents(bad.data.decode(), PATH)[0]
    assert document.error is not None
    same_error(document.error, bad)


def reads_or_says_where(data: bytes | str) -> None:
    """Either there are scenarios, valid or not, or there is one error with a place in the file."""
    try:
        scenarios = load_text(data, REGISTRY, PATH).scenarios
    except ScenarioFileError as error:
        position = error.position
    else:
        assert scenarios
        position = scenarios[0].position
    assert (position.path, position.line > 0, position.column > 0) == (PATH, True, True)


KEYS = ["runcoord: 1\n", "scenario: s\n", "says: x\n", "steps:\n", "given: ", "expect: ", "axes: "]
WORDS = ["submit: ", "claim: ", "during: ", "r1", "90s", "12", "~", "ü"]
SIGNS = ["  - ", "- ", "? ", ": ", ", ", "  ", "{", "}", "[", "]", "'", '"', "|\n", ">-\n", "#", "\\", "\n"]
ODD_SIGNS = ["\r", "\t", "---\n", "...\n", "%YAML 1.2\n", "&a ", "*a", "!!str ", "! ", "<<: ", "\ufeff"]
SNIPPETS = st.sampled_from([*KEYS, *WORDS, *SIGNS, *ODD_SIGNS])
YAML_LIKE = st.lists(SNIPPETS, max_size=25).map("".join)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_a_file_error(data: bytes) -> None:
    reads_or_says_where(data)


@given(YAML_LIKE)
def test_no_text_that_looks_like_yaml_does_more_than_a_file_error(text: str) -> None:
    reads_or_says_where(text)


@given(YAML_LIKE)
def test_the_slow_parser_does_no_more_either(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_strict_yaml, "PARSER", yaml.SafeLoader)
        reads_or_says_where(text)


#: JSON writes wide characters as pairs of escapes, which YAML does not have, unless told otherwise.
SEEN = st.text(st.characters(min_codepoint=32, max_codepoint=0x1FFF, exclude_categories=["Cc"]), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | SEEN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SEEN, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_json_can_say_reads_as_the_same_values(value: object) -> None:
    [document] = read_documents(decode(json.dumps(value, ensure_ascii=False).encode(), PATH), PATH)
    assert document.error is None
    assert plain(document.root) == value
