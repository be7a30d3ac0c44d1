"""Ways out through Python's own library: it accesses attributes by name, and it executes text.

As in `interp_attacks`: each text defines `attempt()`, which returns something true only when it has
got hold of something that it must not have, or changed something that is not the tree's.
"""

from __future__ import annotations

# How text that the library would execute shows that it was executed.
RAN = "__import__('os').mkdir('ran')"

LIBRARY_ATTACKS: dict[str, str] = {
    # -- argparse: `dest` is the name of an attribute --------------------------------------
    "an action that stores into a class": """
        import argparse
        def attempt():
            argparse._StoreAction([], "written")(None, argparse.HelpFormatter, 7)
            return argparse.HelpFormatter.written == 7
    """,
    "an action that stores into a function": """
        import argparse, os
        def attempt():
            argparse._StoreAction([], "__dataclass_fields__")(None, os.getenv, 7)
            return True
    """,
    "an action that reads an attribute": """
        import argparse, os
        def attempt():
            try:
                argparse._AppendAction([], "__globals__")(None, os.getenv, 1)
            except AttributeError as error:
                return error.obj
    """,
    "an action that counts": """
        import argparse
        class Space(argparse.Namespace):
            pass
        def attempt():
            argparse._CountAction([], "written")(None, argparse.HelpFormatter)
            return argparse.HelpFormatter.written
    """,
    "an action that stores the class's destructor": """
        import argparse
        class Probe:
            pass
        def attempt():
            argparse._StoreAction([], "__del__")(None, Probe, lambda self: 1)
            return "__del__" in dir(Probe)
    """,
    "every action there is": """
        import argparse, os
        class Parser(argparse.ArgumentParser):
            pass
        def attempt():
            parser = Parser()
            made = [
                parser.add_argument("--a", action=kind, dest="written")
                for kind in ("store", "store_true", "store_false", "append", "count")
            ]
            made += [
                parser.add_argument("--" + kind, action=kind, dest="written", const=1)
                for kind in ("store_const", "append_const")
            ]
            return made
        """.replace('"--a"', '"--a-" + kind')
    + """
        def outcome_of(action):
            action(None, argparse.HelpFormatter, [1])
            return argparse.HelpFormatter.written
        made = attempt
        def attempt():
            for action in made():
                if outcome_of(action):
                    return True
    """,
    "the registry's actions": """
        import argparse
        def attempt():
            kind = argparse.ArgumentParser()._registry_get("action", "store")
            kind([], "written")(None, argparse.HelpFormatter, 7)
            return argparse.HelpFormatter.written == 7
    """,
    "an action by the base class's call": """
        import argparse
        class Mine(argparse._StoreAction):
            pass
        def attempt():
            argparse._StoreAction.__call__(Mine([], "written"), None, argparse.HelpFormatter, 7)
            return argparse.HelpFormatter.written == 7
    """,
    "a namespace that is a class": """
        import argparse
        def attempt():
            parser = argparse.ArgumentParser()
            parser.add_argument("--written", default=7)
            parser.parse_args([], namespace=argparse.HelpFormatter)
            return argparse.HelpFormatter.written == 7
    """,
    "a namespace that is a module": """
        import argparse, os
        def attempt():
            parser = argparse.ArgumentParser()
            parser.add_argument("--x", dest="__dict__", default=7)
            return parser.parse_args(["--x", "1"], namespace=os)
    """,
    "a namespace that is a function": """
        import argparse, os
        def attempt():
            parser = argparse.ArgumentParser()
            parser.add_argument("--x", dest="__globals__", action="append", default=None)
            try:
                parser.parse_args(["--x", "1"], namespace=os.getenv)
            except AttributeError as error:
                return error.obj
    """,
    "defaults of a parser with strange names": """
        import argparse, os
        def attempt():
            parser = argparse.ArgumentParser()
            parser.set_defaults(__dataclass_fields__=7)
            parser.parse_args([], namespace=os.getenv)
            return True
    """,
    "the defaults of a subparser": """
        import argparse
        def attempt():
            parser = argparse.ArgumentParser()
            sub = parser.add_subparsers(dest="written")
            sub.add_parser("go")
            parser.parse_args(["go"], namespace=argparse.HelpFormatter)
            return argparse.HelpFormatter.written == "go"
    """,
    "a help text with attributes": """
        import argparse, os
        def attempt():
            parser = argparse.ArgumentParser(formatter_class=argparse.RawTextHelpFormatter)
            parser.add_argument("--x", type=os.getenv, help="%(type)s", default=os.getenv)
            text = parser.format_help()
            assert "sgcheck" in text or " at 0x" in text
            return text
    """,
    # -- dataclasses -----------------------------------------------------------------------
    "replace with forged fields": """
        import dataclasses, types, weakref, os
        @dataclasses.dataclass
        class Base:
            x: int = 0
        class Alias(types.GenericAlias):
            def __new__(cls, *a, **kw):
                return kw if kw else super().__new__(cls, *a)
            __dataclass_fields__ = 1
        def attempt():
            f = Base.__dataclass_fields__["x"]
            f.name = "__globals__"
            weakref.proxy(os.getenv).__dataclass_fields__ = {"x": f}
            return dataclasses.replace(Alias(os.getenv, (int,)))["__globals__"]
    """,
    "asdict with forged fields": """
        import dataclasses
        @dataclasses.dataclass
        class Base:
            x: int = 0
            def method(self):
                pass
        class Reads:
            def __getattr__(self, name):
                raise AttributeError(name)
        def attempt():
            field = Base.__dataclass_fields__["x"]
            field.name = "__reduce_ex__"
            found = dataclasses.asdict(Base())
            return list(found.values())[0]
    """,
    "astuple with forged fields": """
        import dataclasses
        @dataclasses.dataclass
        class Base:
            x: int = 0
        def attempt():
            Base.__dataclass_fields__["x"].name = "__reduce_ex__"
            return dataclasses.astuple(Base())[0]
    """,
    "forged fields by a metaclass": """
        import dataclasses, os
        @dataclasses.dataclass
        class Base:
            x: int = 0
        field = Base.__dataclass_fields__["x"]
        class Seen:
            __dataclass_fields__ = {"x": field}
            @property
            def __class__(self):
                return dict
        def attempt():
            field.name = "__reduce_ex__"
            return dataclasses.replace(Seen())["__reduce_ex__"]
    """,
    "fields whose names are text that runs": f"""
        import dataclasses
        def attempt():
            @dataclasses.dataclass
            class Base:
                x: int = 0
            Base.__dataclass_fields__["x"].name = "x.__class__ and {RAN}"
            @dataclasses.dataclass(init=False, repr=False)
            class Derived(Base):
                pass
            Derived() == Derived()
            return True
    """,
    "fields of a base that only looks like a dataclass": f"""
        import dataclasses
        @dataclasses.dataclass
        class Real:
            x: int = 0
        field = Real.__dataclass_fields__["x"]
        field.name = "x={RAN}"
        class Base:
            __dataclass_fields__ = {{"x": field}}
            __dataclass_params__ = Real.__dataclass_params__
        def attempt():
            @dataclasses.dataclass
            class Derived(Base):
                pass
            return Derived()
    """,
    "fields of a base by a metaclass": f"""
        import dataclasses
        @dataclasses.dataclass
        class Real:
            x: int = 0
        field = Real.__dataclass_fields__["x"]
        class Names(dict):
            turn = 0
            def values(self):
                Names.turn += 1
                if Names.turn > 1:
                    field.name = "x={RAN}"
                return super().values()
        class Meta(type):
            @property
            def __dataclass_fields__(cls):
                return Names(x=field)
        class Base(metaclass=Meta):
            __dataclass_params__ = Real.__dataclass_params__
        def attempt():
            for _ in range(3):
                @dataclasses.dataclass
                class Derived(Base):
                    pass
                Derived()
            return True
    """,
    "annotations that change": f"""
        import dataclasses
        class Names(dict):
            turn = 0
            def keys(self):
                return ["x={RAN}"]
            def items(self):
                return [("x={RAN}", int)]
            def __iter__(self):
                Names.turn += 1
                return iter(["x"] if Names.turn < 2 else ["x={RAN}"])
            def __getitem__(self, name):
                return int
        class Probe:
            x: int = 1
        def attempt():
            Probe.__annotations__ = Names(x=int)
            return dataclasses.dataclass(Probe)()
    """,
    "a field's name that lies": f"""
        import dataclasses
        class Name(str):
            def isidentifier(self):
                return True
            def __repr__(self):
                return "{RAN}"
            def __str__(self):
                return "{RAN}"
            def __format__(self, spec):
                return "{RAN}"
        def attempt():
            @dataclasses.dataclass
            class Base:
                x: int = 0
            Base.__dataclass_fields__["x"].name = Name("x")
            @dataclasses.dataclass(frozen=False, order=True)
            class Derived(Base):
                pass
            Derived()
            @dataclasses.dataclass(unsafe_hash=True)
            class Other(Derived):
                pass
            return hash(Other(1))
    """,
    "a frozen class's names": f"""
        import dataclasses
        class Name(str):
            def __repr__(self):
                return "{RAN}"
        def attempt():
            @dataclasses.dataclass(frozen=True)
            class Base:
                x: int = 0
            object.__setattr__(Base.__dataclass_fields__["x"], "name", Name("x"))
            @dataclasses.dataclass(frozen=True)
            class Derived(Base):
                y: int = 0
            return Derived()
    """,
    "text among a dataclass's slots": f"""
        import dataclasses
        def attempt():
            @dataclasses.dataclass
            class Base:
                x: int = 0
            Base.__dataclass_fields__["x"].name = "x):\\n    {RAN}\\n    return (0"
            @dataclasses.dataclass(slots=True)
            class Derived(Base):
                pass
            return Derived(1)
    """,
    "a class that is no class for dataclass": f"""
        import dataclasses
        class Probe:
            __annotations__ = {{"x={RAN}": int}}
            __mro__ = (1, 2)
            __name__ = __qualname__ = "Probe"
            __doc__ = ""
            @property
            def __class__(self):
                return type
        def attempt():
            return dataclasses.dataclass(Probe())
    """,
    # -- copy and reduce -------------------------------------------------------------------
    "state of a copy into a class": """
        import copy, argparse
        class Probe:
            def __reduce_ex__(self, level):
                return (lambda: argparse.Action, (), (None, {"written": 7}))
        def attempt():
            copy.copy(Probe())
            return argparse.Action.written == 7
    """,
    "state of a copy into a module": """
        import copy, os
        class Probe:
            def __reduce_ex__(self, level):
                return (lambda: os, (), {"getenv": 7})
        def attempt():
            copy.copy(Probe())
            return os.getenv == 7
    """,
    "state of a copy into a function": """
        import copy, os
        class Probe:
            def __reduce_ex__(self, level):
                return (lambda: os.getenv, (), {"written": 7})
        def attempt():
            copy.deepcopy(Probe())
            return os.getenv.written == 7
    """,
    "state of a copy into a module of the tree": """
        import copy, sys
        class Probe:
            def __reduce__(self):
                return (lambda: sys.modules[__name__], (), {"__builtins__": {}})
        def attempt():
            copy.copy(Probe())
            return True
    """,
    "items of a copy": """
        import copy, sys
        class Probe:
            def __reduce__(self):
                return (lambda: vars(sys.modules[__name__]), (), None, None, [("__builtins__", {})])
        def attempt():
            copy.copy(Probe())
            return True
    """,
    "a setter of state by reduce": """
        import copy
        class Probe:
            def __reduce_ex__(self, level):
                return (lambda: print, (), 1, None, None, setattr)
        def attempt():
            return copy.copy(Probe()).__self__
    """,
    "getattr by reduce": """
        import copy
        read = "".join.__reduce__ if hasattr("", "join") else None
        def attempt():
            return read()[0]
    """,
    "what a deep copy remembers": """
        import copy, os
        def attempt():
            memo = {}
            copy.deepcopy([os.remove, os.environ.get, open], memo)
            held = [value for value in memo.values() if type(value) is list]
            return [
                one for kept in held for one in kept
                if type(one).__module__.startswith("sgcheck") and type(one).__name__ == "Files"
            ]
    """,
    "a copy of a world's method": """
        import copy, os
        def attempt():
            found = copy.deepcopy(os.remove)
            assert found is not os.remove
            return found
    """,
    "copy of UserDict": """
        import collections, os
        class Target:
            @staticmethod
            def __new__(*args):
                return os.getenv
        class Probe(collections.UserDict):
            @property
            def __class__(self):
                return Target
        def attempt():
            probe = Probe()
            probe.written = 7
            probe.__copy__()
            return os.getenv.written == 7
    """,
    # -- classes that hand on ----------------------------------------------------------------
    "UserString.format": """
        import collections, os
        def attempt():
            return "builtins" in collections.UserString("{0.__globals__}").format(os.getenv)
    """,
    "UserString.format_map": """
        import collections, os
        def attempt():
            text = collections.UserString("{f.__globals__}").format_map({"f": os.getenv})
            return "builtins" in text
    """,
    "UserString by its class": """
        import collections, os
        def attempt():
            found = collections.UserString.format(collections.UserString("{0.__globals__}"), os.getenv)
            return "builtins" in found
    """,
    "UserString of a subclass": """
        import collections, os
        class Text(collections.UserString):
            pass
        def attempt():
            return "builtins" in getattr(super(Text, Text("{0.__globals__}")), "format")(os.getenv)
    """,
    "UserString's data by another class": """
        import collections, os
        class Probe:
            data = "{0.__globals__}"
        def attempt():
            return "builtins" in collections.UserString.format(Probe(), os.getenv)
    """,
    "a proxy that writes": """
        import weakref, argparse
        def attempt():
            weakref.proxy(argparse.Action).written = 7
            return argparse.Action.written == 7
    """,
    "a proxy that reads": """
        import weakref, os
        def attempt():
            return getattr(weakref.proxy(os.getenv), "__globals__")
    """,
    "an alias of typing that writes": """
        import typing, collections.abc
        def attempt():
            typing.Mapping[str, int].written = 7
            return collections.abc.Mapping.written == 7
    """,
    "an alias of typing that writes by setattr": """
        import typing, collections.abc
        def attempt():
            setattr(typing.Callable, "written", 7)
            return collections.abc.Callable.written == 7
    """,
    "an alias of typing that reads": """
        import typing, types, os
        def attempt():
            return types.GenericAlias(os.getenv, (int,)).__globals__
    """,
    "a super of a class": """
        import argparse
        def attempt():
            super(type, argparse.Action).__setattr__("written", 7)
            return argparse.Action.written == 7
    """,
    "type's own setattr": """
        import argparse
        def attempt():
            type.__setattr__(argparse.Action, "written", 7)
            return argparse.Action.written == 7
    """,
    "property as a setter": """
        import argparse
        def attempt():
            vars(argparse.Action)["__dict__"].__set__(argparse.Action, {})
            return True
    """,
    "a member of an alias": """
        import types, argparse
        class Alias(types.GenericAlias):
            pass
        def attempt():
            Alias(argparse.Action, (int,)).register.written = 1
            return True
    """,
    # -- functools, operator, itertools --------------------------------------------------------
    "singledispatch by annotation": f"""
        import functools
        class Probe:
            __annotations__ = {{"x": "{RAN}", "return": "int"}}
            turn = 0
            @property
            def __class__(self):
                Probe.turn += 1
                return type if Probe.turn == 1 else Probe
            def __call__(self):
                pass
        @functools.singledispatch
        def f(x):
            pass
        def attempt():
            f.register(Probe())
            return True
    """,
    "singledispatch's own register": f"""
        import functools
        @functools.singledispatch
        def f(x):
            pass
        def g(x: "{RAN}"):
            pass
        def attempt():
            f.register(g)
            return True
    """,
    "singledispatch's registry": """
        import functools
        @functools.singledispatch
        def f(x):
            pass
        def attempt():
            return f.register.__closure__ or f.dispatch.__globals__
    """,
    "update_wrapper with a name that lies": """
        import functools, os
        class Name(str):
            def __eq__(self, other):
                return True
            def __hash__(self):
                return hash("__dict__")
        class Wrapper:
            __globals__ = {}
        def attempt():
            functools.update_wrapper(Wrapper, os.getenv, (), (Name("__globals__"),))
            return Wrapper.__globals__["__builtins__"]
    """,
    "update_wrapper of a module": """
        import functools, sys
        def attempt():
            def f():
                pass
            functools.update_wrapper(f, sys.modules[__name__], ())
            return f.__dict__["__builtins__"]
    """,
    "cached_property with a reserved name": """
        import functools, sys
        def attempt():
            found = functools.cached_property(lambda self: 0)
            found.__set_name__(None, "__builtins__")
            return found.__get__(sys.modules[__name__])
    """,
    "cached_property that writes into the world": """
        import functools, os
        def attempt():
            found = functools.cached_property(lambda self: 7)
            found.__set_name__(None, "written")
            found.__get__(os.getenv)
            return os.getenv.written == 7
    """,
    "total_ordering of a foreign class": """
        import functools, argparse
        def attempt():
            class Meta(type):
                def __instancecheck__(cls, obj):
                    return True
            return functools.total_ordering(argparse.Namespace).__lt__
    """,
    "a class with a destructor by starmap": """
        import itertools
        def attempt():
            made = list(itertools.starmap(type, [("X", (), {"__del__": print})]))[0]
            return "__del__" in dir(made)
    """,
    "a class with a destructor by a bound type": """
        import types
        def attempt():
            return "__del__" in dir(types.MethodType(type, "X")((), {"__del__": print}))
    """,
    "a class with a destructor by a class that calls": """
        class Probe:
            __call__ = type
        def attempt():
            return "__del__" in dir(Probe()("X", (), {"__del__": print}))
    """,
    "a class with a destructor by its metaclass": """
        import abc
        def attempt():
            return "__del__" in dir(abc.ABCMeta("X", (), {"__del__": print}))
    """,
    "a class with a destructor by an own metaclass": """
        class Meta(type):
            pass
        def attempt():
            return "__del__" in dir(Meta("X", (), {"__del__": print}))
    """,
    "a class with a destructor by a partial": """
        import functools
        class Mine(functools.partial):
            pass
        def attempt():
            return "__del__" in dir(Mine(type, "X", ())({"__del__": print}))
    """,
    "a class of a foreign module with a destructor": """
        class Probe:
            __module__ = "os"
            def __del__(self):
                pass
        def attempt():
            return "__del__" in dir(Probe)
    """,
    "a destructor by type's own setattr": """
        class Probe:
            pass
        def attempt():
            type.__setattr__(Probe, "__del__", print)
            return "__del__" in dir(Probe)
    """,
    "a destructor by set_name": """
        class Meta(type):
            def __new__(mcs, name, bases, names):
                return super().__new__(mcs, name, bases, {**names, "__del__": print})
        class Probe(metaclass=Meta):
            pass
        def attempt():
            return "__del__" in dir(Probe)
    """,
    "a destructor by types.new_class": """
        import types
        def attempt():
            made = types.new_class("X", (), {}, lambda names: names.update({"__del__": print}))
            return "__del__" in dir(made)
    """,
    "a callback at an object's end": """
        import weakref
        ran = []
        class Probe:
            pass
        def attempt():
            probe = Probe()
            held = weakref.ref(probe, ran.append)
            del probe
            return ran
    """,
    "a function from a code object by a class that calls": """
        import types
        class Probe:
            __call__ = types.FunctionType
        def attempt():
            return Probe()(attempt.__code__, {})
    """,
    "methodcaller with a path": """
        import operator, os
        def attempt():
            return operator.methodcaller("__getattribute__", "__globals__")(os.getenv)
    """,
    "attrgetter with text that lies": """
        import operator, os
        class Path(str):
            def split(self, *a):
                return [Path("__globals__")]
            def startswith(self, *a):
                return False
        def attempt():
            return operator.attrgetter(Path("x"))(os.getenv)
    """,
    # -- text that is executed ---------------------------------------------------------------
    "a text signature of an own class": """
        import inspect
        class Meta(type):
            @property
            def __text_signature__(cls):
                return "(a=sys.executable)"
        class Probe(metaclass=Meta):
            pass
        def attempt():
            found = inspect.signature(Probe).parameters["a"].default
            assert isinstance(found, str)
            return found
    """,
    "a text signature of an instance": """
        import inspect
        class Probe:
            __text_signature__ = "($self, a=sys.prefix)"
            __name__ = "x"
            __call__ = len
        def attempt():
            found = inspect.signature(Probe()).parameters["a"].default
            assert isinstance(found, str)
            return found
    """,
    "a text signature of a method": """
        import inspect
        class Meta(type):
            __call__ = print
            __text_signature__ = "(a=sys.prefix)"
        class Probe(metaclass=Meta):
            __text_signature__ = "(a=sys.prefix)"
        def attempt():
            found = inspect.signature(Probe).parameters["a"].default
            assert isinstance(found, str)
            return found
    """,
    "a signature that evaluates": f"""
        import inspect
        def f(x: "{RAN}"):
            pass
        def attempt():
            inspect.signature(f, eval_str=True, globals={{}})
            return False
    """,
    "Signature.from_callable": f"""
        import inspect
        def f(x: "{RAN}"):
            pass
        def attempt():
            return inspect.Signature.from_callable(f, eval_str=True).parameters["x"].annotation
    """,
    "from_callable of a subclass": f"""
        import inspect
        class Mine(inspect.Signature):
            pass
        def f(x: "{RAN}"):
            pass
        def attempt():
            return getattr(Mine, "from_callable")(f, eval_str=True).parameters["x"].annotation
    """,
    "names of a namedtuple": f"""
        import collections
        class Name(str):
            def isidentifier(self):
                return True
            def startswith(self, *a):
                return False
        def attempt():
            return collections.namedtuple("X", [Name("x={RAN}")])()
    """,
    "names of a namedtuple that change": f"""
        import collections
        class Names:
            turn = 0
            def __iter__(self):
                Names.turn += 1
                return iter(["x"] if Names.turn < 2 else ["x={RAN}"])
        def attempt():
            collections.namedtuple("X", Names(), defaults=[1])()
            return False
    """,
    "the name of a namedtuple": f"""
        import collections
        class Name(str):
            def __str__(self):
                return self
            def isidentifier(self):
                return True
            def __format__(self, spec):
                return "x: ({RAN})"
        def attempt():
            return collections.namedtuple(Name("x: ({RAN})"), "a")(1)
    """,
    "the names of typing.NamedTuple": f"""
        import typing
        class Name(str):
            def isidentifier(self):
                return True
            def startswith(self, *a):
                return False
        def attempt():
            return typing.NamedTuple("X", [(Name("x={RAN}"), int)])()
    """,
    "the forward reference of an alias": f"""
        import typing
        def attempt():
            ref = typing.List["{RAN}"].__args__[0]
            return ref._evaluate({{}}, {{}}, frozenset())
    """,
    "forward references by get_type_hints": f"""
        import typing
        def f(x: "{RAN}"):
            pass
        def attempt():
            typing.get_type_hints(f)
            return False
    """,
    "forward references inside aliases": f"""
        import typing
        def f(x: typing.List["{RAN}"]):
            pass
        def attempt():
            found = typing.get_type_hints(f)["x"].__args__[0]
            assert not isinstance(found, typing.ForwardRef)
            return found
    """,
    "get_type_hints with globals that lie": """
        import typing
        def f(x: "open"):
            pass
        class Names(dict):
            def get(self, name, default=None):
                return {} if name == "__builtins__" else default
        def attempt():
            found = typing.get_type_hints(f, globalns=Names(__builtins__={}))["x"]
            return found is not open
    """,
    "get_type_hints of a world function": """
        import typing, os
        class Probe:
            __annotations__ = {"x": "Files"}
            __globals__ = None
        def attempt():
            Probe.__module__ = "os"
            return typing.get_type_hints(Probe)["x"]
    """,
    "get_type_hints in the world's names": """
        import typing, os
        class Probe:
            __annotations__ = {"x": "ASK"}
            __wrapped__ = os.getenv
        def attempt():
            os.getenv.__annotations__ = {"x": "ASK"}
            return typing.get_type_hints(os.getenv)["x"]
    """,
    "enum's functional API": f"""
        import enum
        class Name(str):
            def replace(self, *a):
                return self
            def split(self, *a):
                return ["x"]
        def attempt():
            return enum.Enum("X", Name("{RAN}"), module="os").x._convert_
    """,
    "enum that names a module": """
        import enum
        def attempt():
            return enum.Enum("X", "a b", module="builtins").a.__module__ == "os"
    """,
    "enum that is put into a module": """
        import enum
        def attempt():
            return enum.Enum._convert_("X", "enum", lambda name: name.startswith("E"))
    """,
    "enum that is put into a module by its old name": """
        import enum
        def attempt():
            return enum.IntEnum._convert
    """,
    "TypedDict's names": """
        import typing
        def attempt():
            return typing.TypedDict("X", {"x": "__import__('os').mkdir('ran')"}).__annotations__[
                "x"
            ]._evaluate({}, {}, frozenset())
    """,
    "the words of a template": """
        import string, os
        def attempt():
            return string.Template("${x}").substitute(x=os.getenv).__globals__
    """,
    # -- isinstance that is lied to ------------------------------------------------------------
    "a name that claims to be text": """
        import os
        class Name:
            @property
            def __class__(self):
                return str
        def attempt():
            return getattr(os.getenv, Name())
    """,
    "a path that claims to be one": """
        class Path:
            @property
            def __class__(self):
                return str
            def __str__(self):
                return "/etc/passwd"
        def attempt():
            return open(Path()).read()
    """,
    "a class that claims to be of the tree": """
        import argparse
        class Probe:
            @property
            def __class__(self):
                return type
            __name__ = "x"
            __mro__ = ()
            __module__ = "sglang"
        def attempt():
            setattr(Probe(), "__code__", 1)
            return False
    """,
    "a module that claims": """
        import types
        class Probe:
            _closed = True
            @property
            def __class__(self):
                return types.ModuleType
        def attempt():
            return vars(Probe())["__builtins__"]
    """,
    "a string that claims to be another thing": """
        import os
        class Name(str):
            @property
            def __class__(self):
                return int
        def attempt():
            return getattr(os.getenv, Name("__globals__"))
    """,
    "a format that claims": """
        import os
        class Text(str):
            @property
            def __class__(self):
                return int
        def attempt():
            return "builtins" in Text("{0.__globals__}").format(os.getenv)
    """,
    "a format by a class that claims": """
        import os
        class Text(str):
            @property
            def __class__(self):
                return int
        def attempt():
            return "builtins" in str.format(Text("{0.__globals__}"), os.getenv)
    """,
    "a list that claims to be none": """
        class Mine(list):
            @property
            def __class__(self):
                return int
        def attempt():
            return getattr(Mine(), "append").__self__
    """,
    # -- what exceptions and frames carry ----------------------------------------------------
    "the object of an AttributeError": """
        import argparse, os
        def attempt():
            try:
                os.environ.get("x", 1).no_such
                os.getenv.no_such
            except AttributeError as error:
                return error.obj.__globals__
    """,
    "the object of the world's AttributeError": """
        import os
        def attempt():
            try:
                os.remove(7)
            except Exception as error:
                return error.obj
            raise KeyError
    """,
    "the object by getattr": """
        import os
        class Probe:
            def __fspath__(self):
                return 7
        def attempt():
            for call in (os.remove, os.listdir, os.path.isfile, os.makedirs, os.path.join, os.fspath):
                try:
                    call(Probe())
                except Exception as error:
                    found = getattr(error, "obj", None)
                    if found is not None and type(found).__module__.startswith("sgcheck"):
                        return found
    """,
    "the object by a class of the tree": """
        class Mine(AttributeError):
            def look(self):
                return super().obj
        def attempt():
            try:
                None.x
            except AttributeError as error:
                return vars(AttributeError)["obj"].__get__(error)
    """,
    "the next traceback": """
        def attempt():
            try:
                int("x")
            except ValueError as error:
                return error.__traceback__.tb_next or error.__traceback__.tb_frame
    """,
    "with_traceback": """
        def attempt():
            try:
                int("x")
            except ValueError as error:
                made = KeyError().with_traceback(error.__traceback__)
                return made.__traceback__.tb_frame.f_builtins
    """,
    "the manager's exit gets a signal": """
        import contextlib
        seen = []
        def attempt():
            try:
                with contextlib.ExitStack() as stack:
                    stack.push(lambda *exc: seen.append(exc) or True)
                    eval("1")
            finally:
                return seen
    """,
    "a generator's manager gets a signal": """
        import contextlib
        seen = []
        @contextlib.contextmanager
        def quiet():
            try:
                yield
            except:
                seen.append(1)
            finally:
                pass
        def attempt():
            with quiet():
                eval("1")
            return seen
    """,
    "a context that is a signal": """
        class Probe:
            def __getattr__(self, name):
                try:
                    return eval(name)
                finally:
                    raise KeyError(name)
        def attempt():
            try:
                Probe().x
            except KeyError as error:
                return error.__context__
    """,
    "the context of a group": """
        def attempt():
            try:
                raise ExceptionGroup("x", [ValueError(1)])
            except ExceptionGroup as error:
                return error.__traceback__.tb_frame.f_globals
    """,
    # -- what all trees share ------------------------------------------------------------------
    "registering with an abstract class": """
        import collections.abc
        def attempt():
            collections.abc.Mapping.register(int)
            return isinstance(5, collections.abc.Mapping)
    """,
    "registering by the metaclass": """
        import abc, numbers
        def attempt():
            abc.ABCMeta.register(numbers.Number, str)
            return isinstance("", numbers.Number)
    """,
    "registering by an alias": """
        import typing
        def attempt():
            typing.Mapping.register(int)
            return isinstance(5, typing.Mapping)
    """,
    "registering by an alias with parameters": """
        import typing, collections.abc
        def attempt():
            typing.Sized[int].register if False else typing.Iterable[int].register(int)
            return isinstance(5, collections.abc.Iterable)
    """,
    "registering by map": """
        import numbers
        def attempt():
            list(map(numbers.Number.register, [str]))
            return isinstance("", numbers.Number)
    """,
    "registering by getattr": """
        import numbers
        def attempt():
            getattr(numbers.Number, "regi" + "ster")(str)
            return isinstance("", numbers.Number)
    """,
    "registering by methodcaller": """
        import numbers, operator
        def attempt():
            operator.methodcaller("register", str)(numbers.Number)
            return isinstance("", numbers.Number)
    """,
    "registering by super": """
        import abc, numbers
        def attempt():
            super(abc.ABCMeta, numbers.Number).__init_subclass__
            class Meta(abc.ABCMeta):
                def go(cls, other):
                    return super(Meta, cls).register(other)
            Meta.go(numbers.Number, str)
            return isinstance("", numbers.Number)
    """,
    "registering by a decorator": """
        import contextlib
        def attempt():
            @contextlib.AbstractContextManager.register
            class Probe:
                pass
            return issubclass(Probe, contextlib.AbstractContextManager)
    """,
    "registering with os.PathLike": """
        import os
        def attempt():
            os.PathLike.register(int)
            return isinstance(5, os.PathLike)
    """,
    "emptying an abstract class": """
        import collections.abc
        def attempt():
            collections.abc.Sequence._abc_registry_clear()
            return not isinstance((), collections.abc.Sequence)
    """,
    "writing into a module's constant": """
        import argparse
        def attempt():
            argparse.ArgumentParser.given = 7
            return True
    """,
    "writing into a class's list": """
        import functools
        def attempt():
            functools.WRAPPER_ASSIGNMENTS += ("x",)
            return False
    """,
    "writing into a class's dictionary": """
        import inspect
        def attempt():
            kinds = inspect.Parameter.POSITIONAL_ONLY.__class__
            kinds._member_map_["written"] = 7
            return inspect.Parameter.POSITIONAL_ONLY.__class__._member_map_["written"] == 7
    """,
    "writing into an enumeration": """
        import inspect
        def attempt():
            inspect.Parameter.POSITIONAL_ONLY._value_ = 7
            return inspect.Parameter.POSITIONAL_ONLY.value == 7
    """,
    "writing into a constant of http": """
        import http
        def attempt():
            http.HTTPStatus._value2member_map_.clear()
            http.HTTPStatus(200)
            return False
    """,
    "writing into keyword.kwlist": """
        import keyword, collections
        def attempt():
            keyword.kwlist.append("x")
            return keyword.iskeyword("x")
    """,
    "writing into a frozenset's holder": """
        import keyword
        def attempt():
            keyword.iskeyword.__self__.x
            return True
    """,
    "writing into the defaults of a function": """
        import os
        def attempt():
            os.getenv.__defaults__ = (7,)
            return os.getenv("NO_SUCH_VARIABLE") == 7
    """,
    "writing into the defaults of a method": """
        import argparse
        def attempt():
            argparse.ArgumentParser.parse_args.__defaults__ = (["--x"],)
            return True
    """,
    "writing into the keyword defaults of a function": """
        import dataclasses
        def attempt():
            dataclasses.field.__kwdefaults__["default"] = 7
            return dataclasses.field().default == 7
    """,
    "the defaults' own objects": """
        import dataclasses
        def attempt():
            dataclasses.field.__kwdefaults__.clear()
            dataclasses.field()
            return False
    """,
    "writing into annotations": """
        import argparse
        def attempt():
            argparse.Namespace.__annotations__["x"] = 1
            return argparse.Namespace.__annotations__["x"] == 1
    """,
    "a slot that lists": """
        import types
        def attempt():
            types.SimpleNamespace.__init__.written = 7
            return True
    """,
    "writing into a formatter's table": """
        import json
        def attempt():
            json.JSONEncoder.item_separator = "x"
            return True
    """,
    "writing into json's defaults": """
        import json
        def attempt():
            json.JSONDecoder().memo.clear()
            json.JSONEncoder.default.__defaults__ = (1,)
            return True
    """,
    # -- neighbours ------------------------------------------------------------------------------
    "an alias whose class has the attribute": """
        import types, os
        class Alias(types.GenericAlias):
            __globals__ = 1
        def attempt():
            found = Alias(os.getenv, (int,)).__globals__
            return found if found != 1 else False
    """,
    "an alias of typing whose class has the attribute": """
        import typing
        class Alias(type(typing.List[int])):
            @property
            def gi_frame(self):
                raise AttributeError
        def attempt():
            return Alias((x for x in ()), (int,)).gi_frame
    """,
    "a metaclass that says where attributes lie": """
        import types, os
        class Lies(type):
            @property
            def __mro__(cls):
                return (Holder,)
        class Holder:
            __globals__ = 1
        class Alias(types.GenericAlias, metaclass=Lies):
            pass
        def attempt():
            return Alias(os.getenv, (int,)).__globals__
    """,
    "a super of text": """
        import os
        class Text(str):
            def go(self):
                return super().format(os.getenv)
        def attempt():
            return "builtins" in Text("{0.__globals__}").go()
    """,
    "a super of text by getattr": """
        import os
        class Text(str):
            pass
        def attempt():
            form = getattr(super(Text, Text("{0.__globals__}")), "format")
            return "builtins" in form(os.getenv)
    """,
    "a super of text as a value": """
        import os
        class Text(str):
            @property
            def form(self):
                return super().format_map
        def attempt():
            return "builtins" in Text("{f.__globals__}").form({"f": os.getenv})
    """,
    "an alias of text": """
        import types, os
        def attempt():
            return "builtins" in types.GenericAlias("{0.__globals__}", (int,)).format(os.getenv)
    """,
    "an alias of the class of text": """
        import types, os
        def attempt():
            form = types.GenericAlias(str, (int,)).format
            return "builtins" in form("{0.__globals__}", os.getenv)
    """,
    "an alias of typing of text": """
        import typing, os
        def attempt():
            alias = type(typing.List[int])("{0.__globals__}", (int,), name="x")
            return "builtins" in alias.format(os.getenv)
    """,
    "a static method of text": """
        import os
        class Probe:
            form = staticmethod("{0.__globals__}".format)
        def attempt():
            return "builtins" in Probe.form(os.getenv)
    """,
    "the manager of a module": """
        import contextlib, sys
        def attempt():
            return contextlib.contextmanager(sys.modules[__name__]).__dict__["__builtins__"]
    """,
    "a decorator of a module": """
        import contextlib, sys
        class Manager(contextlib.ContextDecorator):
            pass
        def attempt():
            return Manager()(sys.modules[__name__]).__dict__["__builtins__"]
    """,
    "a cache of a module": """
        import functools, sys
        def attempt():
            return vars(functools.lru_cache(sys.modules[__name__]))["__builtins__"]
    """,
    "a module's own dictionary by an alias": """
        import types, sys
        def attempt():
            return types.GenericAlias(sys.modules[__name__], (int,)).__dict__["__builtins__"]
    """,
    "a simple namespace that compares modules": """
        import argparse, sys
        class Seen:
            def __init__(self):
                self.found = []
            def __eq__(self, other):
                self.found.append(other)
                return True
        class Probe(argparse.Namespace):
            @property
            def __dict__(self):
                return {}
        def attempt():
            seen = Seen()
            mine = argparse.Namespace(**{"__builtins__": seen})
            class Claims:
                __class__ = argparse.Namespace
                __dict__ = vars(sys.modules[__name__])
            mine == Claims()
            return seen.found
    """,
    "partialmethod hands out whose method it is": """
        import functools, os
        class Gets:
            def __get__(self, obj, cls):
                return os.remove
            def __call__(self):
                pass
        class Probe:
            go = functools.partialmethod(Gets())
        def attempt():
            return vars(Probe().go)["__self__"]
    """,
    "partialmethod by its name": """
        import functools, os
        class Gets:
            def __get__(self, obj, cls):
                return os.remove
            def __call__(self):
                pass
        def attempt():
            found = functools.partialmethod(Gets()).__get__(1, int)
            return found.__self__
    """,
    "the property of an enumeration": """
        import enum, os
        class Probe(type(vars(enum.Enum)["value"])):
            _attr_type = "attr"
            _cls_type = os.getenv
            name = clsname = member = "__globals__"
            fget = None
        def attempt():
            return Probe().__get__(1, Probe)
    """,
    "the property of an enumeration, changed": """
        import enum, os
        class Kind(enum.Enum):
            A = 1
        def attempt():
            found = vars(Kind)["A"]
            found._attr_type, found._cls_type, found.name = "attr", os.getenv, "__globals__"
            found.fget = None
            return found.__get__(Kind.A, Kind)
    """,
    "the map of members of an own enumeration": """
        import enum, os
        class Kind(enum.Enum):
            A = 1
        def attempt():
            prop = type(vars(enum.Enum)["name"])()
            prop.name = "x"
            class Fake:
                _member_map_ = {"x": os.getenv}
            return prop.__get__(None, Fake).__globals__
    """,
    "the document of a property": """
        import inspect
        def f(self):
            pass
        f.__module__ = "os"
        f.__qualname__ = "environ.__class__.x"
        f.__name__ = "__doc__"
        def attempt():
            return inspect.getdoc(property(f))
    """,
    "the document of a dataclass": """
        import dataclasses
        def attempt():
            @dataclasses.dataclass
            class Probe:
                __signature__ = "(a=sys.executable)"
            return "python" in Probe.__doc__
    """,
    "the document of a dataclass by a metaclass": """
        import dataclasses
        class Meta(type):
            @property
            def __text_signature__(cls):
                return "(a=sys.prefix)"
        def attempt():
            @dataclasses.dataclass(init=False)
            class Probe(metaclass=Meta):
                pass
            return "/" in Probe.__doc__
    """,
    "a Struct with a destructor": """
        import msgspec
        def attempt():
            made = msgspec.defstruct("X", [("x", int)], namespace={"__del__": print})
            return "__del__" in dir(made)
    """,
    "a function of the world made a coroutine": """
        import types, os
        def attempt():
            before = os.walk("/")
            made = types.coroutine(os.walk)
            return made is os.walk and hasattr(made("/"), "cr_running") or hasattr(made, "__wrapped__")
    """,
    "annotations in the names of a world's module": """
        import typing, sys
        class Probe:
            x: "_closed"
        def attempt():
            Probe.__module__ = "os"
            import os
            return typing.get_type_hints(Probe)["x"] is not None
    """,
    "the hints of a world's function": """
        import typing, os
        def attempt():
            return [v for v in typing.get_type_hints(os.makedirs).values() if v is not type(None)]
    """,
    "a memo that is kept": """
        import copy, os
        kept = []
        class Probe:
            def __deepcopy__(self, memo):
                kept.append(memo)
                return self
        def attempt():
            copy.deepcopy([os.environ, Probe(), os.remove])
            return [v for m in kept for v in m.values()]
    """,
    "a reduce that is a method of the world": """
        import copy, os
        class Probe:
            __reduce_ex__ = os.getenv
        def attempt():
            return copy.copy(Probe()) and False
    """,
    "a state that is put into globals": """
        import copy
        class Probe:
            def __reduce__(self):
                return (globals, (), {"__builtins__": {}})
        def attempt():
            copy.copy(Probe())
            return True
    """,
    "a copied namespace": """
        import copy
        def attempt():
            return copy.copy(globals())["__builtins__"]
    """,
    "elements of a copy that are appended to the world": """
        import copy, sys
        class Probe:
            def __reduce__(self):
                return (lambda: sys.path, (), None, iter(["x"]))
        def attempt():
            copy.copy(Probe())
            return False
    """,
    "an error that says what it is": """
        class Error(Exception):
            @property
            def __class__(self):
                return GeneratorExit
            @property
            def __traceback__(self):
                return 5
            @property
            def __context__(self):
                return 7
        def attempt():
            raise Error
    """,
    "the context by object": """
        def attempt():
            try:
                try:
                    eval("1")
                finally:
                    raise KeyError
            except KeyError as error:
                return object.__getattribute__(error, "__context__")
    """,
    "the object of an error by object": """
        import os
        def attempt():
            try:
                os.getenv.no_such
            except AttributeError as error:
                return object.__getattribute__(error, "obj")
    """,
    "the object of an error by an alias": """
        import os, types
        def attempt():
            try:
                os.getenv.no_such
            except AttributeError as error:
                return types.GenericAlias(error, (int,)).obj
    """,
    "the object of an error by super": """
        import os
        class Mine(AttributeError):
            pass
        def attempt():
            try:
                os.getenv.no_such
            except AttributeError as error:
                return super(AttributeError, error).obj if False else getattr(error, "obj")
    """,
    "registering by a bound method that is kept": """
        import numbers, functools
        def attempt():
            go = functools.partial(type(numbers.Number).register, numbers.Number)
            go(str)
            return isinstance("", numbers.Number)
    """,
    "registering by an alias of a class": """
        import numbers, types
        def attempt():
            types.GenericAlias(numbers.Number, (int,)).register(str)
            return isinstance("", numbers.Number)
    """,
    "registering by a class of the tree that claims": """
        import numbers, abc
        class Meta(abc.ABCMeta):
            def go(cls, other):
                return abc.ABCMeta.register(numbers.Number, other)
        class Probe(metaclass=Meta):
            pass
        def attempt():
            Probe.go(str)
            return isinstance("", numbers.Number)
    """,
    "a class whose namespace hides": """
        class Meta(type):
            def __new__(mcs, name, bases, names):
                made = type.__new__(mcs, name, bases, dict(names))
                type.__setattr__(made, "__del__", print)
                return made
        def attempt():
            return "__del__" in dir(Meta("X", (), {}))
    """,
    "a destructor by groupby": """
        import itertools
        def attempt():
            kinds = itertools.accumulate([("X", (), {"__del__": print})], initial=1, func=lambda a, b: b)
            made = list(itertools.starmap(type, list(kinds)[1:]))[0]
            return "__del__" in dir(made)
    """,
    "a destructor by an enumeration": """
        import enum
        def attempt():
            return "__del__" in dir(enum.EnumMeta("X", (), enum.EnumMeta.__prepare__("X", ()) | {"__del__": print}))
    """,
}
"""Those of the library."""
