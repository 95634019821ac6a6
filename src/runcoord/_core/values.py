"""Values of named fields, whose methods are made when they are first used.

A start of a command loads about a hundred of them and makes objects of a third. The decorator of
:mod:`dataclasses` writes and compiles six methods for each at once, which was a third of that start; these
two write down what the fields are. Whatever is asked for later is the same: signature, order, defaults,
``repr``, equality and hash by the fields, and :func:`dataclasses.fields`, ``replace`` and ``asdict``.

    @value     cannot be changed, can be hashed
    @record    can be changed, cannot be hashed

Not supported, because nothing needs them: keyword-only fields, ``InitVar``, inheritance of fields.
"""

from __future__ import annotations

import sys
from operator import attrgetter

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, dataclass_transform, overload

    T = TypeVar("T")


class _Named:
    """Stands for something in a signature."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


_NONE = _Named("<none>")
_FACTORY = _Named("<factory>")


class _Field:
    """A field with more to it than a default."""

    __slots__ = ("compared", "default", "factory", "shown")

    def __init__(self, default: Any, factory: Any, shown: bool, compared: bool) -> None:
        self.default, self.factory, self.shown, self.compared = default, factory, shown, compared

    def standard(self) -> Any:
        import dataclasses

        how: dict[str, Any] = {"repr": self.shown, "compare": self.compared}
        if self.factory is not _NONE:
            how["default_factory"] = self.factory
        elif self.default is not _NONE:
            how["default"] = self.default
        return dataclasses.field(**how)


def field(
    *,
    default: Any = _NONE,
    default_factory: Any = _NONE,
    repr: bool = True,  # noqa: A002 - as there
    compare: bool = True,
) -> Any:
    """As :func:`dataclasses.field`."""
    return _Field(default, default_factory, repr, compare)


if TYPE_CHECKING:

    @overload
    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def value(kind: type[T], /) -> type[T]: ...
    @overload
    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def value(*, slots: bool = True) -> Callable[[type[T]], type[T]]: ...
    def value(kind: Any = None, /, *, slots: bool = True) -> Any: ...

    @dataclass_transform(field_specifiers=(field,))
    def record(kind: type[T], /) -> type[T]: ...

else:

    def value(kind=None, /, *, slots=True):
        """A class of values that cannot be changed. Without ``slots`` its fields are in ``__dict__``."""
        if kind is None:
            return lambda kind: _made(kind, frozen=True, slots=slots)
        return _made(kind, frozen=True, slots=slots)

    def record(kind, /):
        """A class of objects that are their fields, which can be changed."""
        return _made(kind, frozen=False, slots=True)


def replace(one: T, /, **changes: Any) -> T:
    """As :func:`dataclasses.replace`, for what these two have made: ``one`` with ``changes``, checked as any
    new one is. ``TypeError`` for a field that it has not."""
    kind = type(one)
    return kind(**{name: getattr(one, name) for name in names_of(kind)} | changes)


def names_of(kind: type) -> tuple[str, ...]:
    """The names of its fields, in order."""
    names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    return names


def _made(kind: type, *, frozen: bool, slots: bool) -> type:
    if any("__match_args__" in base.__dict__ for base in kind.__mro__[1:]):
        raise TypeError(f"{kind.__name__} would inherit fields, which is not supported")
    body = dict(kind.__dict__)
    for own in ("__dict__", "__weakref__"):
        body.pop(own, None)
    fields = {
        name: body.get(name, _NONE)
        for name, text in kind.__annotations__.items()
        if not text.startswith("ClassVar")
    }
    plan = _Plan(kind, body, fields, frozen, slots)
    made = dict(body)
    for name, default in fields.items():
        if slots or isinstance(default, _Field):
            made.pop(name, None)
    if slots:
        made["__slots__"] = tuple(fields)
    made["__qualname__"] = kind.__qualname__
    made["__match_args__"] = tuple(fields)
    made["__replace__"] = _replaced
    for name in _LATE:
        if name not in body:
            made[name] = _Late(plan, name)
    if frozen:
        made["__setattr__"], made["__delattr__"], made["__setstate__"] = _kept, _not_deleted, _restored
    elif "__hash__" not in body:
        made["__hash__"] = None
    plan.kind = type(kind)(kind.__name__, kind.__bases__, made)
    return plan.kind


OFTEN = 32
"""Objects after which a constructor is compiled. That takes as long as a hundred objects do without, and most
classes have a few objects in the life of a command."""


class _Plan:
    """What is known of a class until its methods are made."""

    __slots__ = ("body", "checked", "factories", "fields", "frozen", "kind", "made", "slots")

    def __init__(
        self, kind: type, body: dict[str, Any], fields: dict[str, Any], frozen: bool, slots: bool
    ) -> None:
        self.kind, self.body, self.fields, self.frozen, self.slots = kind, body, fields, frozen, slots
        self.factories: dict[str, Any] = {}
        self.checked = False
        self.made = 0
        """Objects of the class, until its constructor is compiled."""

    def fill(self, one: Any, given: dict[str, Any]) -> None:
        """Set the fields of a new object."""
        self.made += 1
        if self.made >= OFTEN:
            self.made = 0
            self.kind.__init__ = _compiled_init(self)  # type: ignore[misc]
        for name in self.fields:
            each = given[name]
            object.__setattr__(one, name, self.factories[name]() if each is _FACTORY else each)
        if self.checked:
            one.__post_init__()


class _Late:
    """A method, or another attribute, that is made and put into its class when it is first looked up."""

    __slots__ = ("_name", "_plan")

    def __init__(self, plan: _Plan, name: str) -> None:
        self._plan, self._name = plan, name

    def __get__(self, instance: object, owner: type) -> Any:
        made = _LATE[self._name](self._plan)
        setattr(self._plan.kind, self._name, made)
        bind = getattr(type(made), "__get__", None)
        return made if bind is None else bind(made, instance, owner)


# --- what is made late ---


_PATTERNS: dict[tuple[int, bool, bool, bool], Any] = {}
"""What makes a constructor, for each number of fields, and whether they are checked, frozen and in slots. To
compile one takes a tenth of a millisecond, to rename its fields a hundredth of that."""


def _init(plan: _Plan) -> Any:
    """A function with its own signature, which leaves the rest to the plan; nothing is compiled for it."""
    _, plan.factories = _defaults(plan)
    plan.checked = hasattr(plan.kind, "__post_init__")
    names, like = tuple(plan.fields), _like_any
    constants = tuple(plan if each == "the plan" else each for each in like.__code__.co_consts)
    code = like.__code__.replace(
        co_name="__init__",
        co_argcount=len(names) + 1,
        co_nlocals=len(names) + 1,
        co_varnames=("self", *names),
        co_consts=constants,
    )
    return _function(plan, code, like)


def _like_any(self: Any) -> None:
    # A constructor, once it has the fields as arguments, and the plan in the place of its name.
    "the plan".fill(self, locals())  # type: ignore[attr-defined]


def _compiled_init(plan: _Plan) -> Any:
    """The same, which costs what any other function does."""
    names, factories = tuple(plan.fields), plan.factories
    if factories:
        like = _compiled(plan, names)(**_known(plan, names))
        code = like.__code__
    else:
        places = tuple(f"_{number}" for number in range(len(names)))
        form = (len(names), plan.checked, plan.frozen, plan.slots)
        make = _PATTERNS.get(form)
        if make is None:
            make = _PATTERNS[form] = _compiled(plan, places)
        like = make(**_known(plan, places))
        code = _renamed(like.__code__, dict(zip(places, names, strict=True)))
    return _function(plan, code, like)


def _function(plan: _Plan, code: Any, like: Any) -> Any:
    """A constructor of this code, with the defaults and annotations of the class."""
    names, (defaults, _) = tuple(plan.fields), _defaults(plan)
    module = sys.modules.get(plan.kind.__module__)
    namespace = module.__dict__ if module is not None else {}
    made = type(like)(code, namespace, "__init__", defaults, like.__closure__)
    made.__qualname__ = f"{plan.kind.__qualname__}.__init__"
    annotations = plan.kind.__annotations__
    made.__annotations__ = {**{name: annotations[name] for name in names}, "return": None}
    return made


def _defaults(plan: _Plan) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Of the last fields, in order; and what makes those that each object has of its own."""
    defaults: list[Any] = []
    factories: dict[str, Any] = {}
    for name, given in plan.fields.items():
        default = given.default if isinstance(given, _Field) else given
        if isinstance(given, _Field) and given.factory is not _NONE:
            default, factories[name] = _FACTORY, given.factory
        if default is not _NONE:
            defaults.append(default)
        elif defaults:
            raise TypeError(f"{plan.kind.__name__}.{name} has no default, but a field before it has one")
    return tuple(defaults), factories


def _known(plan: _Plan, places: tuple[str, ...]) -> dict[str, Any]:
    """What a constructor refers to, the fields called by their ``places``."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    known |= {f"_make_{name}": make for name, make in plan.factories.items()}
    if plan.frozen and plan.slots:
        # Each slot by its own descriptor, for half of what object.__setattr__ costs, which has to find it.
        for place, name in zip(places, plan.fields, strict=True):
            known[f"_set_{place}"] = plan.kind.__dict__[name].__set__
    return known


def _compiled(plan: _Plan, places: tuple[str, ...]) -> Any:
    """What makes a constructor from what is known."""
    lines = []
    for name in places:
        argument = f"_make_{name}() if {name} is _factory else {name}" if name in plan.factories else name
        if not plan.frozen:
            lines.append(f"self.{name} = {argument}")
        elif plan.slots:
            lines.append(f"_set_{name}(self, {argument})")
        else:
            lines.append(f"_set(self, {name!r}, {argument})")
    if plan.checked:
        lines.append("self.__post_init__()")
    body = "\n  ".join(lines or ["pass"])
    taken = ", ".join(("self", *places))
    known = ", ".join(_known(plan, places))
    text = f"def make({known}):\n def __init__({taken}):\n  {body}\n return __init__"
    found: dict[str, Any] = {}
    exec(text, {}, found)
    return found["make"]


def _renamed(code: Any, names: dict[str, str]) -> Any:
    return code.replace(
        co_varnames=tuple(names.get(each, each) for each in code.co_varnames),
        co_names=tuple(names.get(each, each) for each in code.co_names),
        co_consts=tuple(names.get(each, each) if isinstance(each, str) else each for each in code.co_consts),
    )


def _key(plan: _Plan) -> Callable[[Any], tuple[Any, ...]]:
    """The fields by which an object is compared."""
    names = _names(plan, "compared")
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _names(plan: _Plan, what: str) -> tuple[str, ...]:
    return tuple(
        name
        for name, default in plan.fields.items()
        if not isinstance(default, _Field) or getattr(default, what)
    )


def _eq(plan: _Plan) -> Any:
    key = _key(plan)

    def __eq__(self: Any, other: Any) -> bool:
        if other.__class__ is self.__class__:
            return key(self) == key(other)
        return NotImplemented

    return __eq__


def _hash(plan: _Plan) -> Any:
    key = _key(plan)

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__


def _repr(plan: _Plan) -> Any:
    names = _names(plan, "shown")

    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _standard(plan: _Plan) -> Any:
    """The same class as :mod:`dataclasses` would have it, for those who ask for its fields."""
    import dataclasses

    body = {name: each.standard() if isinstance(each, _Field) else each for name, each in plan.body.items()}
    twin = type(plan.kind)(plan.kind.__name__, plan.kind.__bases__, body)
    return dataclasses.dataclass(frozen=plan.frozen)(twin)


_LATE: dict[str, Callable[[_Plan], Any]] = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__dataclass_fields__": lambda plan: _standard(plan).__dataclass_fields__,
    "__dataclass_params__": lambda plan: _standard(plan).__dataclass_params__,
}


# --- what all have ---


def _kept(self: object, name: str, given: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _not_deleted(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _restored(self: object, state: Any) -> None:
    """From a pickle or a copy."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, each in (part or {}).items():
            object.__setattr__(self, name, each)


def _replaced(self: Any, /, **changes: Any) -> Any:
    return replace(self, **changes)
