"""Values and records: what :mod:`dataclasses` would have made, made later."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import runcoord
from runcoord._core.values import OFTEN, field, names_of, record, replace, value


@value
class Point:
    """A value."""

    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list)
    secret: str = field(default="s", repr=False)
    note: str = field(default="", compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class StandardPoint:
    """The same, as the standard library makes it."""

    x: int
    y: int = 2
    seen: list[int] = dataclasses.field(default_factory=list)
    secret: str = dataclasses.field(default="s", repr=False)
    note: str = dataclasses.field(default="", compare=False)


@value(slots=False)
class Open:
    """A value with a dictionary."""

    x: int
    seen: tuple[int, ...] = ()


@value
class Single:
    """A value of one field."""

    x: float


@value
class Checked:
    """A value that is checked when it is made."""

    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError(self.x)


@record
class Count:
    """It can be changed."""

    of: str
    number: int = 0
    names: list[str] = field(default_factory=list)


def test_a_value_looks_like_one_of_the_standard_library() -> None:
    mine, theirs = inspect.signature(Point), inspect.signature(StandardPoint)
    assert str(mine) == str(theirs)
    assert repr(Point(1, 5)) == repr(StandardPoint(1, 5)).removeprefix("Standard")
    assert get_type_hints(Point.__init__) == get_type_hints(StandardPoint.__init__)
    assert Point.__match_args__ == StandardPoint.__match_args__ == names_of(Point)
    assert hash(Single(1.5)) == hash((1.5,))
    for ours, standard in zip(dataclasses.fields(Point), dataclasses.fields(StandardPoint), strict=True):
        for what in ("name", "type", "default", "default_factory", "repr", "compare", "init", "hash"):
            assert getattr(ours, what) == getattr(standard, what)


def test_a_value_cannot_be_changed() -> None:
    for one, name in ((Point(1), "x"), (Point(1), "new"), (Open(1), "x"), (Open(1), "new")):
        before = repr(one)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(one, name, 7)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(one, name)
        assert repr(one) == before
        assert not hasattr(one, "new")


def test_values_compare_by_their_class_and_the_fields_that_count() -> None:
    nan = float("nan")
    assert Point(1, note="a") == Point(1, note="b")
    assert Point(1) != Point(2)
    others: list[object] = [StandardPoint(1), Open(1), (1,), None]
    assert [other for other in others if other in (Point(1), Single(1))] == []
    assert Single(nan) == Single(nan)  # the same object, as in a tuple
    assert len({Single(1), Single(1), Single(2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))  # its list


def test_each_value_has_a_default_of_its_own() -> None:
    one, other = Point(1), Point(1)
    one.seen.append(3)
    assert other.seen == []
    assert Point(1, 2, [9]).seen == [9]


def test_what_is_missing_or_too_much_is_said_as_of_any_call() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_a_value_is_checked_when_it_is_made() -> None:
    assert Checked(1).x == 1
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)


@pytest.mark.parametrize(
    "one", [Point(1, 3, [4], "t", "n"), Open(1, (2,)), Single(2.0), Count("a", 1, ["b"])], ids=repr
)
def test_values_and_records_survive_pickles_and_copies(one: Any) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(one, protocol))
        assert (type(again), again, repr(again)) == (type(one), one, repr(one))
    assert copy.copy(one) == one
    assert copy.deepcopy(one) == one
    assert dataclasses.replace(one) == one
    assert type(one)(**{each.name: getattr(one, each.name) for each in dataclasses.fields(one)}) == one


def test_the_standard_library_takes_them_for_its_own() -> None:
    assert dataclasses.asdict(Open(1, (2,))) == {"x": 1, "seen": (2,)}
    assert dataclasses.replace(Point(1, note="a"), x=2) == Point(2)
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)
    assert dataclasses.is_dataclass(Point)


def test_a_record_can_be_changed_and_is_not_hashable() -> None:
    count = Count("a")
    count.number += 1
    assert count == Count("a", 1)
    assert repr(count) == "Count(of='a', number=1, names=[])"
    assert Count.__hash__ is None
    assert not hasattr(count, "__dict__")


def test_fields_are_not_inherited() -> None:
    with pytest.raises(TypeError, match="Longer would inherit fields, which is not supported"):

        @value
        class Longer(Single):
            """It has more."""

            y: int


def declared() -> list[tuple[str, str]]:
    """Module and name of every value and record of the library."""
    assert runcoord.__file__ is not None
    root = Path(runcoord.__file__).parent
    return [
        (".".join(("runcoord", *path.relative_to(root).with_suffix("").parts)), node.name)
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        if {ast.unparse(each).partition("(")[0] for each in node.decorator_list} & {"value", "record"}
    ]


def test_what_is_made_late_can_be_made_for_every_value_of_the_library() -> None:
    """A mistake in a declaration shows here at the latest: a field without a default after one with it."""
    assert len(declared()) > 100
    for module, name in declared():
        kind = getattr(importlib.import_module(module), name)
        names = tuple(inspect.signature(kind).parameters)
        assert names == names_of(kind) == tuple(each.name for each in dataclasses.fields(kind)), name


def test_declaring_values_loads_nothing() -> None:
    code = (
        "import sys\n"
        "from runcoord._core.values import value\n"
        "@value\nclass A:\n    x: 'int'\n"
        "assert A(1) == A(1), A\n"
        "assert repr(A(1)) and hash(A(1))\n"
        "print(sorted({'dataclasses', 'inspect', 'typing', 're'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _found(code)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def _found(code: str) -> str:
    assert runcoord.__file__ is not None
    return f"import sys\nsys.path.append({str(Path(runcoord.__file__).parents[1])!r})\n{code}"


def test_a_constructor_is_compiled_when_it_is_used_often_and_does_the_same() -> None:
    @value
    class Own:
        """A class that nobody has made an object of."""

        x: int
        names: list[str] = field(default_factory=list)
        factor: float = 1.5

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError(self.x)

    seen = []
    for _ in range(OFTEN + 2):
        made = Own(3, factor=2.5)
        made.names.append("own")
        with pytest.raises(TypeError) as missing:
            Own()  # type: ignore[call-arg]
        with pytest.raises(TypeError) as unknown:
            Own(1, other=2)  # type: ignore[call-arg]
        with pytest.raises(ValueError, match="-1"):
            Own(-1)
        told = (str(missing.value), str(unknown.value), str(inspect.signature(Own)), Own.__init__.__doc__)
        seen.append((made, *told, get_type_hints(Own.__init__, localns=locals())))
    assert len({id(each[0].names) for each in seen}) == OFTEN + 2
    assert all(each == seen[0] for each in seen)
    assert seen[0][0] == Own(3, ["own"], 2.5)
    # Objects of a compiled constructor are not counted; it was compiled.
    assert "fill" not in Own.__init__.__code__.co_names


def test_one_is_replaced_and_checked_as_a_new_one_is() -> None:
    assert replace(Point(1, note="n"), y=5) == Point(1, 5)
    assert replace(Point(1, note="n"), y=5).note == "n"
    with pytest.raises(ValueError, match="-1"):
        replace(Checked(1), x=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        replace(Point(1), z=5)
