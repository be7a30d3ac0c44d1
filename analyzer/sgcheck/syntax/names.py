"""Names shared by the translator and the guards.

Every name that the translator adds to a module starts with `PREFIX`, a letter that no real
source uses; source that does use it is refused, so a guard cannot be shadowed.
"""

from __future__ import annotations

PREFIX = "ʒ"


def guard(name: str) -> str:
    """The identifier under which translated code finds the guard `name`."""
    return PREFIX + name


RESERVED_NAMES = frozenset({"__builtins__"})
"""Identifiers that source may not use: they name the guards' own namespace."""


def is_reserved(name: str) -> bool:
    """Whether binding or reading `name` would touch the guards."""
    return name.startswith(PREFIX) or name in RESERVED_NAMES


def source_name(qualname: str) -> str:
    """A function's name as the source has it, without the local functions that translation adds."""
    return qualname.partition(f".<locals>.{PREFIX}")[0]


HIDDEN = f"{PREFIX}names"
"""The attribute behind which a namespace keeps the dictionary that it stands for."""

# Attributes that lead from an object to the machinery of the running interpreter, or that make the
# standard library evaluate text. A class of the tree may have its own attributes of such a name.
FORBIDDEN_ATTRIBUTES = frozenset(
    {
        HIDDEN,
        "_convert_",
        "_evaluate",
        "cell_contents",
        "from_callable",
        "from_function",
        "__globals__",
        "__code__",
        "__closure__",
        "__builtins__",
        "__subclasses__",
        "__loader__",
        "__spec__",
        "__self__",
        "__reduce_ex__",
        "__import__",
        "_abc_caches_clear",
        "_abc_registry_clear",
        "_add_alias_",
        "_add_value_alias_",
        "_dump_registry",
        "obj",
        "gi_frame",
        "gi_code",
        "gi_yieldfrom",
        "cr_frame",
        "cr_code",
        "cr_await",
        "cr_origin",
        "ag_frame",
        "ag_code",
        "ag_await",
        "tb_frame",
        "tb_next",
        "f_back",
        "f_builtins",
        "f_code",
        "f_globals",
        "f_locals",
        "f_trace",
    }
)

# Double-underscore attributes that translated code may read (on anything).
READABLE_DUNDERS = frozenset(
    {
        "__abs__",
        "__abstractmethods__",
        "__add__",
        "__all__",
        "__and__",
        "__annotations__",
        "__args__",
        "__base__",
        "__bases__",
        "__bool__",
        "__call__",
        "__cause__",
        "__class__",
        "__class_validators__",
        "__class_getitem__",
        "__contains__",
        "__context__",
        "__copy__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__deepcopy__",
        "__defaults__",
        "__delattr__",
        "__delitem__",
        "__dict__",
        "__dir__",
        "__doc__",
        "__enter__",
        "__eq__",
        "__exit__",
        "__file__",
        "__float__",
        "__floordiv__",
        "__format__",
        "__func__",
        "__ge__",
        "__get__",
        "__getattr__",
        "__getattribute__",
        "__getitem__",
        "__gt__",
        "__hash__",
        "__iadd__",
        "__index__",
        "__init__",
        "__init_subclass__",
        "__int__",
        "__iter__",
        "__kwdefaults__",
        "__le__",
        "__len__",
        "__lt__",
        "__members__",
        "__metadata__",
        "__missing__",
        "__module__",
        "__mro__",
        "__mul__",
        "__name__",
        "__ne__",
        "__new__",
        "__next__",
        "__optional_keys__",
        "__or__",
        "__origin__",
        "__orig_bases__",
        "__package__",
        "__parameters__",
        "__path__",
        "__post_init__",
        "__qualname__",
        "__radd__",
        "__repr__",
        "__required_keys__",
        "__reversed__",
        "__set__",
        "__set_name__",
        "__setattr__",
        "__setitem__",
        "__signature__",
        "__sizeof__",
        "__slots__",
        "__str__",
        "__struct_config__",
        "__struct_defaults__",
        "__struct_encode_fields__",
        "__struct_fields__",
        "__sub__",
        "__subclasshook__",
        "__supertype__",
        "__suppress_context__",
        "__traceback__",
        "__truediv__",
        "__type_params__",
        "__value__",
        "__version__",
        "__weakref__",
        "__wrapped__",
        "__xor__",
    }
)

# Methods of native containers that change them: reading such a method, also without calling it,
# goes through a guard so that the change can be undone.
MUTATORS = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "difference_update",
        "discard",
        "extend",
        "extendleft",
        "insert",
        "intersection_update",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "reverse",
        "rotate",
        "setdefault",
        "sort",
        "subtract",
        "symmetric_difference_update",
        "update",
    }
)

# Attributes that hold, or change, what all trees share.
SHARED = frozenset(
    {
        "_field_defaults",
        "_member_map_",
        "_member_names_",
        "_netmask_cache",
        "_private_networks",
        "_reserved_networks",
        "_value2member_map_",
        "register",
        "unicode_whitespace_trans",
    }
)

# Attribute reads without a call that must go through the guard as well.
GUARDED_ATTRIBUTES = MUTATORS | SHARED | {"format", "format_map"}

UNKNOWN_SLOTS = frozenset(
    {
        "base",
        "cases",
        "changed",
        "condition",
        "content",
        "given",
        "known",
        "label",
        "names",
        "part",
        "reason",
        "types",
        "variable",
    }
)
"""Attributes of what stands for unknown values: the tree means those of the thing itself."""
