"""Ways out of the interpreter that a hostile tree may try, as source text by name.

Each text defines `attempt()`. It returns only when it has got hold of something that it must not
have; an exception of its own is as good as a refusal.
"""

from __future__ import annotations

ATTACKS: dict[str, str] = {
    # -- attribute walks by every spelling -------------------------------------------------
    "globals of a world function": """
        import os
        def attempt():
            return os.getenv.__globals__
    """,
    "globals by getattr": """
        import os
        def attempt():
            return getattr(os.getenv, "__glo" + "bals__")
    """,
    "globals by getattr with a default": """
        import os
        def attempt():
            found = getattr(os.getenv, "__globals__", None)
            assert found
            return found
    """,
    "hasattr then getattr": """
        import os
        def attempt():
            assert hasattr(os.getenv, "__globals__")
            return True
    """,
    "globals by object.__getattribute__": """
        import os
        def attempt():
            return object.__getattribute__(os.getenv, "__globals__")
    """,
    "globals by the function's own __getattribute__": """
        import os
        def attempt():
            return os.getenv.__getattribute__("__globals__")
    """,
    "getattribute taken as a value": """
        import os
        def attempt():
            read = object.__getattribute__
            return read(os.getenv, "__globals__")
    """,
    "getattribute through map": """
        import os
        def attempt():
            return list(map(object.__getattribute__, [os.getenv], ["__globals__"]))[0]
    """,
    "getattribute of type": """
        def attempt():
            return type.__getattribute__(object, "__subclasses__")()
    """,
    "getattribute through super": """
        class Probe:
            def look(self):
                return super().__getattribute__("__reduce_ex__")
        def attempt():
            return Probe().look()
    """,
    "getattribute through a bound super": """
        import os
        def attempt():
            return super(type(os.getenv), os.getenv).__getattribute__("__globals__")
    """,
    "attrgetter": """
        import operator, os
        def attempt():
            return operator.attrgetter("__globals__")(os.getenv)
    """,
    "attrgetter with a path": """
        import operator, os
        def attempt():
            return operator.attrgetter("getenv.__globals__")(os)
    """,
    "methodcaller": """
        import operator
        def attempt():
            return operator.methodcaller("__subclasses__")(object)
    """,
    "str.format": """
        import os
        def attempt():
            text = "{0.__globals__}".format(os.getenv)
            assert "builtins" in text
            return text
    """,
    "str.format_map": """
        import os
        def attempt():
            text = "{f.__globals__}".format_map({"f": os.getenv})
            assert "builtins" in text
            return text
    """,
    "str.format taken as a value": """
        import os
        def attempt():
            form = "{0.__globals__}".format
            return form(os.getenv)
    """,
    "str.format through map": """
        import os
        def attempt():
            return list(map("{0.__globals__}".format, [os.getenv]))
    """,
    "str.format of the class": """
        import os
        def attempt():
            return list(map(str.format, ["{0.__globals__}"], [os.getenv]))
    """,
    "format through getattr": """
        import os
        def attempt():
            return getattr("{0.__globals__}", "for" + "mat")(os.getenv)
    """,
    "format of a subclass": """
        import os
        class Text(str):
            pass
        def attempt():
            return Text("{0.__globals__}").format(os.getenv)
    """,
    "string.Formatter": """
        import os, string
        def attempt():
            return string.Formatter().format("{0.__globals__}", os.getenv)
    """,
    "str by type of a value": """
        import os
        def attempt():
            return type("").__dict__["format"]("{0.__globals__}", os.getenv)
    """,
    "f-string attribute": """
        import os
        def attempt():
            return f"{os.getenv.__globals__}"
    """,
    "f-string of a lambda": """
        def attempt():
            return f"{(lambda: 0).__code__}"
    """,
    "match keyword pattern": """
        import os
        def attempt():
            match os.getenv:
                case object(__globals__=found):
                    return found
            raise ValueError
    """,
    "match through match_args": """
        import os
        class Any(type):
            def __instancecheck__(cls, obj):
                return True
        class Probe(metaclass=Any):
            __match_args__ = ("__globals__",)
        def attempt():
            match os.getenv:
                case Probe(found):
                    return found
            raise ValueError
    """,
    "match through changing match_args": """
        import os
        class Any(type):
            turn = 0
            def __instancecheck__(cls, obj):
                return True
            @property
            def __match_args__(cls):
                Any.turn += 1
                return ("__name__",) if Any.turn < 2 else ("__globals__",)
        class Probe(metaclass=Any):
            pass
        def attempt():
            for _ in range(3):
                match os.getenv:
                    case Probe(dict() as found):
                        return found
            raise ValueError
    """,
    # -- dictionaries of classes and objects -----------------------------------------------
    "class dictionary": """
        import os
        def attempt():
            return type(os.getenv).__dict__["__globals__"].__get__(os.getenv)
    """,
    "vars of a type": """
        def attempt():
            return vars(type)["__subclasses__"](object)
    """,
    "vars of object": """
        import os
        def attempt():
            return vars(object)["__getattribute__"](os.getenv, "__globals__")
    """,
    "class dictionary by mro": """
        import os
        def attempt():
            for base in type(os.getenv).__mro__:
                space = base.__dict__
                if "__globals__" in space:
                    return space["__globals__"].__get__(os.getenv, base)
            raise ValueError
    """,
    "generator's frame by its class": """
        def attempt():
            made = (x for x in ())
            return vars(type(made))["gi_frame"].__get__(made)
    """,
    "traceback's frame by its class": """
        def attempt():
            try:
                raise ValueError
            except ValueError as error:
                trace = error.__traceback__
                return vars(type(trace))["tb_frame"].__get__(trace)
    """,
    "dictionary of a module of the tree": """
        import sys
        def attempt():
            return sys.modules[__name__].__dict__["__builtins__"]
    """,
    "vars of a module of the tree": """
        import sys
        def attempt():
            return vars(sys.modules[__name__])["__builtins__"]
    """,
    "dictionary of a facade": """
        import os
        def attempt():
            found = os.__dict__.get("__builtins__") or os.__dict__["__loader__"]
            assert found
            return found
    """,
    "own dictionary by object": """
        import sys
        def attempt():
            return object.__getattribute__(sys.modules[__name__], "__dict__")["__builtins__"]
    """,
    "inspect members": """
        import inspect, os
        def attempt():
            return dict(inspect.getmembers(os.getenv))["__globals__"]
    """,
    # -- frames ------------------------------------------------------------------------------
    "traceback frame": """
        def attempt():
            try:
                raise ValueError
            except ValueError as error:
                return error.__traceback__.tb_frame
    """,
    "traceback frame by getattr": """
        def attempt():
            try:
                raise ValueError
            except ValueError as error:
                return getattr(error.__traceback__, "tb_" + "frame")
    """,
    "generator frame": """
        def numbers():
            yield 1
        def attempt():
            return numbers().gi_frame
    """,
    "generator frame by name": """
        def numbers():
            yield 1
        def attempt():
            return getattr(numbers(), "gi_frame").f_back
    """,
    "generator code": """
        def numbers():
            yield 1
        def attempt():
            return numbers().gi_code
    """,
    "coroutine frame": """
        async def work():
            return 1
        def attempt():
            made = work()
            try:
                return made.cr_frame
            finally:
                made.close()
    """,
    "async generator frame": """
        async def work():
            yield 1
        def attempt():
            return work().ag_frame
    """,
    "sys._getframe": """
        import sys
        def attempt():
            return sys._getframe().f_globals["__builtins__"]
    """,
    "globals of a frame but its names": """
        import sys
        def attempt():
            return set(sys._getframe().f_globals) - {"__name__", "__file__"}
    """,
    "variables of a frame": """
        import sys
        def attempt():
            return sys._getframe().f_locals
    """,
    "builtins of a frame": """
        import sys
        def attempt():
            return sys._getframe().f_builtins
    """,
    "code of a frame": """
        import sys
        def attempt():
            return sys._getframe().f_code.co_consts
    """,
    "a frame beyond the tree": """
        import sys
        def attempt():
            frame = sys._getframe()
            while frame.f_back is not None:
                frame = frame.f_back
            return not frame.f_code.co_filename.startswith("/usr/local/lib/")
    """,
    "inspect.currentframe": """
        import inspect
        def attempt():
            return inspect.currentframe().f_back
    """,
    "inspect.stack": """
        import inspect
        def attempt():
            return inspect.stack()[0].frame
    """,
    "exception from a world function": """
        import os
        def attempt():
            try:
                os.listdir(3.5)
            except Exception as error:
                trace = error.__traceback__
                while trace.tb_next:
                    trace = trace.tb_next
                return trace.tb_frame.f_globals
    """,
    # -- classes -------------------------------------------------------------------------------
    "subclasses": """
        def attempt():
            return object.__subclasses__()
    """,
    "subclasses by mro": """
        def attempt():
            return ().__class__.__mro__[-1].__subclasses__()
    """,
    "subclasses by base": """
        def attempt():
            return ().__class__.__base__.__subclasses__()
    """,
    "subclasses by type": """
        def attempt():
            return type.__subclasses__(type)
    """,
    "subclasses by getattr": """
        def attempt():
            return getattr(object, "__subclasses__")()
    """,
    "own metaclass": """
        class Meta(type):
            def look(cls):
                return super().__subclasses__()
        class Probe(metaclass=Meta):
            pass
        def attempt():
            return Probe.look()
    """,
    "a function from code": """
        def attempt():
            return type(lambda: 0)((lambda: 0).__code__, {})
    """,
    "types.FunctionType": """
        import types
        def attempt():
            return types.FunctionType(types.CodeType, {})
    """,
    "types.CodeType": """
        import types
        def attempt():
            return types.CodeType(0, 0, 0, 0, 0, 0, b"", (), (), (), "", "", "", 0, b"", b"", (), ())
    """,
    "code of a function by types": """
        import types
        def attempt():
            return types.FunctionType.__code__.__get__(attempt)
    """,
    "closure": """
        import os
        def attempt():
            return os.listdir.__closure__[0].cell_contents
    """,
    "self of a builtin": """
        def attempt():
            return print.__self__ or len.__self__
    """,
    "self of len": """
        def attempt():
            return len.__self__
    """,
    "self of a method of the world": """
        import os
        def attempt():
            return os.remove.__self__.tree
    """,
    "file's inner objects": """
        def attempt():
            return open("/tmp/x", "w")._files.tree
    """,
    "reduce of a bound builtin": """
        def attempt():
            read = "".join.__reduce__()[0]
            return read(attempt, "__globals__")
    """,
    "reduce_ex": """
        def attempt():
            return [].append.__reduce_ex__(2)[0]
    """,
    "reduce of object": """
        class Probe:
            pass
        def attempt():
            return object.__reduce_ex__(Probe(), 2)[0].__globals__
    """,
    "copy through reduce": """
        import copy
        class Probe:
            def __reduce_ex__(self, level):
                return (type.__subclasses__, (object,))
        def attempt():
            return copy.copy(Probe())
    """,
    # -- names -----------------------------------------------------------------------------------
    "eval": """
        def attempt():
            return eval("1")
    """,
    "exec": """
        def attempt():
            exec("x = 1")
            return True
    """,
    "compile": """
        def attempt():
            return compile("1", "", "eval")
    """,
    "__import__": """
        def attempt():
            return __import__("os").system("true")
    """,
    "__import__ of a module's own imports": """
        def attempt():
            return __import__("logging").sys.modules
    """,
    "__import__ with a fromlist": """
        def attempt():
            return __import__("os", fromlist=["system"]).system("true")
    """,
    "__import__ of a relative name": """
        def attempt():
            return __import__("server_args", globals(), locals(), ["x"], 1)
    """,
    "the globals of __import__": """
        def attempt():
            return __import__.__self__, __import__.__globals__
    """,
    "__builtins__": """
        def attempt():
            return __builtins__
    """,
    "__builtins__ from another module": """
        def attempt():
            from sglang import __builtins__ as found
            return found
    """,
    "builtins module": """
        import builtins
        def attempt():
            found = builtins.open
            assert type(found).__name__ == "builtin_function_or_method"
            return found
    """,
    "globals has builtins": """
        def attempt():
            return globals()["__builtins__"]
    """,
    "globals get builtins": """
        def attempt():
            found = globals().get("__builtins__")
            assert found
            return found
    """,
    "locals at module level": """
        found = locals().get("__builtins__")
        def attempt():
            assert found
            return found
    """,
    "vars at module level": """
        found = vars().get("__builtins__")
        def attempt():
            assert found
            return found
    """,
    "builtins by iteration": """
        def attempt():
            return [v for k, v in globals().items() if k == "__builtins__"][0]
    """,
    "global statement": """
        def attempt():
            global __builtins__
            __builtins__ = {}
            return True
    """,
    "shadowing a guard": """
        ʒt = lambda: None
        def attempt():
            return True
    """,
    "shadowing a guard by globals": """
        def attempt():
            globals()["\\u0292t"] = lambda: None
            return True
    """,
    "shadowing a guard by update": """
        def attempt():
            globals().update({"\\u0292t": lambda: None})
            return True
    """,
    "shadowing a guard by setattr": """
        import sys
        def attempt():
            setattr(sys.modules[__name__], "\\u0292t", lambda: None)
            return True
    """,
    "shadowing a guard in a class body": """
        def attempt():
            class Probe:
                locals()["\\u0292t"] = lambda: None
            return True
    """,
    "shadowing a guard by prepare": """
        class Meta(type):
            @classmethod
            def __prepare__(cls, name, bases):
                return {"\\u0292t": lambda: None}
        def attempt():
            class Probe(metaclass=Meta):
                pass
            return True
    """,
    "shadowing a guard by a callable metaclass": """
        def meta(name, bases, space):
            return type(name, bases, dict(space))
        meta.__prepare__ = lambda *a: {"\\u0292t": lambda: None}
        def attempt():
            class Probe(metaclass=meta):
                pass
            return True
    """,
    "naming a guard": """
        def attempt():
            return ʒF
    """,
    "an old letter": """
        def attempt():
            ᶾc = 1
            return ᶾc
    """,
    # -- modules of the standard library -----------------------------------------------------------
    "forward reference": """
        import typing
        def attempt():
            return typing.ForwardRef("__import__('os')")._evaluate({}, {}, frozenset())
    """,
    "forward reference inside Optional": """
        import typing
        def attempt():
            hidden = typing.Optional["__import__('os')"].__args__[0]
            return hidden._evaluate({}, {}, frozenset())
    """,
    "type hints": """
        import typing
        class Probe:
            x: "__import__('os').system('true')" = 0
        def attempt():
            return typing.get_type_hints(Probe)["x"]
    """,
    "type hints in a given namespace": """
        import typing
        class Probe:
            x: "__import__('os').system('true')" = 0
        def attempt():
            return typing.get_type_hints(Probe, {}, {})["x"]
    """,
    "typing_extensions.get_annotations": """
        import typing_extensions
        def attempt():
            class Probe:
                __annotations__ = {"x": "__import__('os').system('true')"}
            return typing_extensions.get_annotations(Probe, globals={}, locals={}, eval_str=True)
    """,
    "signature that evaluates": """
        import inspect
        def probe(x: "__import__('os').system('true')"):
            pass
        def attempt():
            return inspect.Signature.from_callable(probe, globals={}, locals={}, eval_str=True).parameters["x"].annotation.__name__
    """,
    "singledispatch registers by annotation": """
        import functools
        class Probe:
            __annotations__ = {"x": "__import__('os').system('true')", "return": "int"}
            def __call__(self):
                pass
        @functools.singledispatch
        def f(x):
            pass
        def attempt():
            f.register(Probe())
            return True
    """,
    "dataclass field names": """
        import dataclasses
        def attempt():
            made = type("Probe", (), {"__annotations__": {"x=__import__('os')": int}})
            return dataclasses.dataclass(made)
    """,
    "named tuple names": """
        import collections
        def attempt():
            return collections.namedtuple("P", ["x=__import__('os')"])
    """,
    "update_wrapper with names": """
        import functools, os
        class Probe:
            pass
        def attempt():
            functools.update_wrapper(Probe, os.getenv, assigned=("__globals__",), updated=())
            return vars(Probe)["__globals__"]
    """,
    "wraps with names": """
        import functools, os
        class Probe:
            pass
        def attempt():
            functools.wraps(os.getenv, assigned=("__globals__",), updated=())(Probe)
            return vars(Probe)["__globals__"]
    """,
    "wraps that updates a namespace": """
        import functools, os
        class Probe:
            __globals__ = {"CWD": "changed"}
        def attempt():
            functools.update_wrapper(os.getcwd, Probe, assigned=(), updated=("__globals__",))
            return True
    """,
    "enum members of a real module": """
        import enum
        def attempt():
            made = enum.IntEnum._convert_("T", "os", lambda name: name in ("O_RDONLY", "O_CREAT"))
            return made.O_CREAT
    """,
    "global_enum": """
        import enum
        def attempt():
            class Probe(enum.Enum):
                __module__ = "colorsys"
                hostile_name = 1
            return enum.global_enum(Probe)
    """,
    "reduce with getattr": """
        import functools, os
        def attempt():
            return functools.reduce(getattr, ["__globals__"], os.getenv)
    """,
    "partial of getattr": """
        import functools, os
        def attempt():
            return functools.partial(getattr, os.getenv, "__globals__")()
    """,
    "partialmethod of getattr": """
        import functools, os
        class Probe:
            read = functools.partialmethod(lambda self, f, n: getattr(f, n), os.getenv, "__globals__")
        def attempt():
            return Probe().read()
    """,
    "sorted with a key": """
        import os
        def attempt():
            return sorted([os.getenv], key=lambda f: getattr(f, "__globals__"))
    """,
    "property of a native": """
        class Probe(type):
            look = property(type.__subclasses__)
        def attempt():
            return Probe("P", (), {}).look
    """,
    "cached_property of a native": """
        import functools
        class Probe(type):
            look = functools.cached_property(type.__subclasses__)
        def attempt():
            return Probe("P", (), {}).look
    """,
    "weakref.finalize": """
        import weakref
        class Probe:
            pass
        def attempt():
            return weakref.finalize(Probe(), lambda: None).alive
    """,
    "contextlib functions": """
        import contextlib
        def attempt():
            return contextlib.contextmanager.__globals__
    """,
    "defaults of a world function": """
        import functools
        def attempt():
            functools.wraps.__defaults__ = ((), ())
            return True
    """,
    "keyword defaults of a real function": """
        import contextlib
        def attempt():
            contextlib.contextmanager.__kwdefaults__ = {}
            return True
    """,
    "code of a real function replaced": """
        import contextlib
        def attempt():
            contextlib.contextmanager.__code__ = (lambda f: f).__code__
            return True
    """,
    "attribute of a real class": """
        import json
        def attempt():
            json.JSONEncoder.default = lambda self, o: o
            return True
    """,
    "attribute of a real class by setattr": """
        import json
        def attempt():
            setattr(json.JSONEncoder, "item_separator", "!")
            return True
    """,
    "attribute of a real class by type": """
        import json
        def attempt():
            type.__setattr__(json.JSONEncoder, "item_separator", "!")
            return True
    """,
    "deleting from a real class": """
        import json
        def attempt():
            del json.JSONEncoder.item_separator
            return True
    """,
    "deleting from a real class by delattr": """
        import json
        def attempt():
            delattr(json.JSONEncoder, "item_separator")
            return True
    """,
    "pickle": """
        import pickle
        def attempt():
            return pickle.loads(b"cos\\nsystem\\n.").__name__
    """,
    "marshal": """
        import marshal
        def attempt():
            return marshal.loads(b"i\\x01\\x00\\x00\\x00") + 1
    """,
    "ctypes": """
        import ctypes
        def attempt():
            return ctypes.CDLL(None).getpid() + 1
    """,
    "codecs.open": """
        import codecs
        def attempt():
            return codecs.open("/etc/passwd").read() + ""
    """,
    "linecache": """
        import linecache
        def attempt():
            return linecache.getlines("/etc/passwd")[0] + ""
    """,
    "fileinput": """
        import fileinput
        def attempt():
            return next(iter(fileinput.input("/etc/passwd"))) + ""
    """,
    "shelve": """
        import shelve
        def attempt():
            shelve.open("/tmp/x")["a"] = 1
            return True
    """,
    "sqlite": """
        import sqlite3
        def attempt():
            return sqlite3.connect("/tmp/x.db").execute("select 1").fetchall()[0]
    """,
    "zipfile": """
        import zipfile
        def attempt():
            return zipfile.ZipFile("/tmp/x.zip", "w").namelist() + []
    """,
    "mmap": """
        import mmap
        def attempt():
            return mmap.mmap(-1, 10).read(1) + b""
    """,
    "importlib.import_module of a foreign module": """
        import importlib
        def attempt():
            return importlib.import_module("posix").getpid() + 1
    """,
    "sys.modules": """
        import sys
        def attempt():
            return sys.modules["posix"]
    """,
    "argparse FileType": """
        import argparse
        def attempt():
            return argparse.FileType("w")("/tmp/x").write("x") + 1
    """,
    "argparse file arguments": """
        import argparse
        def attempt():
            return argparse.ArgumentParser(fromfile_prefix_chars="@").parse_known_args(["@/etc/passwd"])[1][0] + ""
    """,
    "argparse's own globals": """
        import argparse
        def attempt():
            return argparse.ArgumentParser.parse_args.__globals__
    """,
    "argparse type function": """
        import argparse
        def attempt():
            parser = argparse.ArgumentParser()
            parser.add_argument("--x", type=getattr)
            return parser.register.__globals__
    """,
    "logging handler": """
        import logging
        def attempt():
            return logging.FileHandler("/tmp/x").stream.write("x") + 1
    """,
    "logging manager": """
        import logging
        def attempt():
            return logging.getLogger().manager.loggerDict
    """,
    "warnings internals": """
        import warnings
        def attempt():
            return warnings.warn.__globals__
    """,
    "print to a file": """
        class Probe:
            wrote = []
            def write(self, text):
                self.wrote.append(text)
        def attempt():
            print("x", file=Probe())
            return Probe.wrote[0]
    """,
    "atexit": """
        import atexit
        ran = []
        def attempt():
            atexit.register(ran.append, 1)
            atexit._run_exitfuncs()
            return ran[0]
    """,
    "real clock": """
        import datetime
        def attempt():
            return str(datetime.datetime.now().year + 1)
    """,
    "real date": """
        import datetime
        def attempt():
            return str(datetime.date.today().year + 1)
    """,
    "struct member of a real class": """
        import msgspec
        def attempt():
            return msgspec.Struct.__init_subclass__.__globals__
    """,
    "yaml object": """
        import yaml
        def attempt():
            return yaml.load("!!python/object/apply:os.getpid []", Loader=yaml.UnsafeLoader) + 1
    """,
    "yaml loader class": """
        import yaml
        def attempt():
            return yaml.SafeLoader.yaml_constructors["x"]
    """,
    "world class's inner objects": """
        import pathlib
        def attempt():
            return pathlib.Path.exists.__globals__
    """,
    "path's parents in the real world": """
        import pathlib
        def attempt():
            return pathlib.Path("/etc/passwd").read_text() + ""
    """,
    "pure path gives a real path": """
        import pathlib
        def attempt():
            return pathlib.PurePath.__subclasses__()
    """,
    "environment": """
        import os
        def attempt():
            return os.environ["SGCHECK_CANARY"] + ""
    """,
    "environment's inner objects": """
        import os
        def attempt():
            return os.environ.__class__.__init__.__globals__
    """,
    "unknown's engine": """
        import time
        def attempt():
            return time.time().__class__.__init__.__globals__
    """,
    "unknown's operations": """
        import time
        def attempt():
            return time.time().reason.__class__.__init__.__globals__
    """,
    "exception's context": """
        def attempt():
            try:
                try:
                    eval("1")
                finally:
                    raise KeyError("hidden")
            except KeyError as error:
                return error.__context__.reason
    """,
    "swallowing a refusal in finally": """
        def inner():
            try:
                return eval("1")
            finally:
                return 5
        def attempt():
            return inner() + 1
    """,
    "swallowing a refusal in a manager": """
        class Quiet:
            def __enter__(self):
                return self
            def __exit__(self, *exc):
                return True
        def attempt():
            with Quiet():
                eval("1")
            return True
    """,
    "swallowing a refusal with suppress": """
        import contextlib
        def attempt():
            with contextlib.suppress(BaseException):
                eval("1")
            return True
    """,
    "swallowing a refusal in an exit stack": """
        import contextlib
        def attempt():
            with contextlib.ExitStack() as stack:
                stack.push(lambda *exc: True)
                eval("1")
            return True
    """,
    "swallowing a refusal in a handler": """
        def attempt():
            try:
                eval("1")
            except BaseException:
                pass
            return True
    """,
    "swallowing a refusal in an exception group": """
        def attempt():
            try:
                eval("1")
            except* BaseException:
                pass
            return True
    """,
    "a decorator that is a refused name": """
        @eval
        def x():
            pass
        def attempt():
            return True
    """,
    "init_subclass": """
        class Base:
            def __init_subclass__(cls, **names):
                cls.found = names["f"].__globals__
        def attempt():
            import os
            class Probe(Base, f=os.getenv):
                pass
            return Probe.found
    """,
    "class_getitem": """
        class Probe:
            def __class_getitem__(cls, item):
                return getattr(item, "__globals__")
        def attempt():
            import os
            return Probe[os.getenv]
    """,
    "descriptor": """
        class Reads:
            def __set_name__(self, owner, name):
                self.name = name
            def __get__(self, obj, owner):
                return getattr(obj.f, self.name)
        class Probe:
            __globals__ = Reads()
        def attempt():
            import os
            probe = Probe()
            probe.f = os.getenv
            return vars(Probe)["__globals__"].__get__(probe, Probe)
    """,
    "class that claims to be native": """
        import os
        class Probe:
            __module__ = "os"
            def look(self):
                return os.getenv.__globals__
        def attempt():
            return Probe().look()
    """,
    "changing a class": """
        import os
        class Probe:
            pass
        def attempt():
            probe = Probe()
            probe.__class__ = type(os.environ)
            return probe.__class__.__init__.__globals__
    """,
    "process": """
        import subprocess
        def attempt():
            return subprocess.run(["touch", "/tmp/x"]).returncode == 0 and subprocess.check_output(["id"])
    """,
    "process by Popen": """
        import subprocess
        def attempt():
            return subprocess.Popen(["touch", "/tmp/x"]).wait() + 1 and str(subprocess.Popen)[1000]
    """,
    "os.system": """
        import os
        def attempt():
            return os.system("true") + 1 and {}["os.system"]
    """,
    "os.open": """
        import os
        def attempt():
            return os.read(os.open("/etc/passwd", os.O_RDONLY), 10) + b""
    """,
    "io.FileIO": """
        import io
        def attempt():
            return io.FileIO("/etc/passwd").read() + b""
    """,
    "open by number": """
        def attempt():
            return open(0)
    """,
    "multiprocessing": """
        import multiprocessing
        def attempt():
            process = multiprocessing.Process(target=print)
            process.start()
            return process.pid + 1
    """,
    "socket": """
        import socket
        def attempt():
            return socket.socket().fileno() + 1
    """,
    "urllib": """
        import urllib.request
        def attempt():
            return urllib.request.urlopen("file:///etc/passwd").read() + b""
    """,
    "a real file by pathlib": """
        from pathlib import Path
        def attempt():
            return Path.home().joinpath("x").stat().st_size + 1
    """,
    "threads": """
        import threading
        ran = []
        def attempt():
            thread = threading.Thread(target=ran.append, args=(1,))
            thread.start()
            thread.join()
            return ran[0]
    """,
    "signal handler": """
        import signal
        ran = []
        def attempt():
            signal.signal(signal.SIGTERM, lambda *a: ran.append(1))
            signal.raise_signal(signal.SIGTERM)
            return ran[0]
    """,
    "destructor": """
        ran = []
        class Probe:
            def __del__(self):
                ran.append(1)
        def attempt():
            Probe()
            return ran[0]
    """,
    "destructor by setattr": """
        ran = []
        class Probe:
            pass
        def attempt():
            Probe.__del__ = lambda self: ran.append(1)
            Probe()
            return ran[0]
    """,
    "destructor by type": """
        ran = []
        def attempt():
            type("Probe", (), {"__del__": lambda self: ran.append(1)})()
            return ran[0]
    """,
}
