"""Ways to waste time and memory without bound, as source text by name. Each defines `attempt()`."""

from __future__ import annotations

BOMBS: dict[str, str] = {
    "while true": """
        def attempt():
            while True:
                pass
    """,
    "while true at module level": """
        while True:
            pass
    """,
    "while true in a class body": """
        class Probe:
            while True:
                pass
    """,
    "for over an endless generator": """
        def numbers():
            while True:
                yield 1
        def attempt():
            for _ in numbers():
                pass
    """,
    "endless comprehension": """
        def attempt():
            return [0 for a in range(10**7) for b in range(10**7) for c in range(10**7)]
    """,
    "endless generator expression": """
        def attempt():
            return sum(0 for a in range(10**7) for b in range(10**7))
    """,
    "endless comprehension at module level": """
        x = {a * b for a in range(10**7) for b in range(10**7)}
    """,
    "endless iter": """
        def attempt():
            return list(iter(int, 1))
    """,
    "endless iter in a set": """
        def attempt():
            return sum(x for x in iter(lambda: 0, 1))
    """,
    "itertools.count": """
        import itertools
        def attempt():
            return list(itertools.count())
    """,
    "itertools.cycle": """
        import itertools
        def attempt():
            return sum(itertools.cycle([1]))
    """,
    "itertools.repeat": """
        import itertools
        def attempt():
            return max(itertools.repeat(1))
    """,
    "itertools.product": """
        import itertools
        def attempt():
            return sum(1 for _ in itertools.product(range(1000), repeat=8))
    """,
    "itertools.product of a huge repeat": """
        import itertools
        def attempt():
            return next(iter(itertools.product([1, 2], repeat=10**9)))
    """,
    "itertools.permutations": """
        import itertools
        def attempt():
            return len(list(itertools.permutations(range(20))))
    """,
    "itertools.chain": """
        import itertools
        def attempt():
            return sum(itertools.chain.from_iterable([range(10**7)] * 10**6))
    """,
    "map of sum": """
        def attempt():
            return sum(map(sum, [range(10**7)] * 10**6))
    """,
    "max with a slow key": """
        def attempt():
            return max([range(10**7)] * 10**6, key=sum)
    """,
    "sort with a slow key": """
        def attempt():
            return [range(10**7)] * 10**6 and sorted([range(10**7)] * 10**4, key=sum)
    """,
    "list.sort with a slow key": """
        def attempt():
            values = [range(10**7)] * 10**4
            values.sort(key=sum)
            return values
    """,
    "reduce": """
        import functools, itertools
        def attempt():
            return functools.reduce(lambda a, b: a, itertools.count())
    """,
    "recursion": """
        def attempt():
            return attempt()
    """,
    "recursion that catches": """
        def attempt():
            try:
                return attempt()
            except RecursionError:
                return attempt()
    """,
    "recursion through getattr": """
        class Probe:
            def __getattr__(self, name):
                return getattr(self, name + "x")
        def attempt():
            return Probe().a
    """,
    "recursion through repr": """
        class Probe:
            def __repr__(self):
                return repr(self)
        def attempt():
            return f"{Probe()!r}"
    """,
    "recursion of properties": """
        class Probe:
            @property
            def value(self):
                return self.value
        def attempt():
            return Probe().value
    """,
    "forking recursion": """
        def fib(n):
            return 1 if n < 2 else fib(n - 1) + fib(n - 2)
        def attempt():
            return fib(300)
    """,
    "multiplying text": """
        def attempt():
            return "x" * 10**12
    """,
    "doubling text": """
        def attempt():
            text = "x"
            while True:
                text = text + text
    """,
    "doubling text in place": """
        def attempt():
            text = "x"
            while True:
                text += text
    """,
    "doubling text by f-string": """
        def attempt():
            text = "x" * 1000
            while True:
                text = f"{text}{text}"
    """,
    "doubling text by format": """
        def attempt():
            text = "x" * 1000
            while True:
                text = "{0}{0}".format(text)
    """,
    "doubling text by percent": """
        def attempt():
            text = "x" * 1000
            while True:
                text = "%s%s" % (text, text)
    """,
    "doubling text by join": """
        def attempt():
            text = "x" * 1000
            while True:
                text = "".join([text, text])
    """,
    "doubling text by replace": """
        def attempt():
            text = "x" * 1000
            while True:
                text = text.replace("x", "xx")
    """,
    "doubling a list": """
        def attempt():
            values = [0]
            while True:
                values = values + values
    """,
    "doubling a list in place": """
        def attempt():
            values = [0]
            while True:
                values += values
    """,
    "doubling a list by extend": """
        def attempt():
            values = [0]
            while True:
                values.extend(values)
    """,
    "doubling a list by a slice": """
        def attempt():
            values = [0]
            while True:
                values[:0] = values
    """,
    "doubling a tuple by unpacking": """
        def attempt():
            values = (0,)
            while True:
                values = (*values, *values)
    """,
    "many lists": """
        def attempt():
            keep = []
            while True:
                keep.append([0] * 10_000_000)
    """,
    "many lists in a comprehension": """
        def attempt():
            return [[0] * 10_000_000 for _ in range(10_000)]
    """,
    "many strings": """
        def attempt():
            keep = {}
            while True:
                keep[len(keep)] = str(len(keep)) * 1_000_000
    """,
    "appending": """
        def attempt():
            keep = []
            while True:
                keep.append(keep)
    """,
    "list times number": """
        def attempt():
            return [0] * 10**12
    """,
    "number times list": """
        def attempt():
            return 10**12 * [0]
    """,
    "list by range": """
        def attempt():
            return list(range(10**12))
    """,
    "sum of a range": """
        def attempt():
            return sum(range(10**15))
    """,
    "range in range": """
        def attempt():
            return 10**15 in list(range(10**15))
    """,
    "power": """
        def attempt():
            return 10 ** 10 ** 10
    """,
    "power by pow": """
        def attempt():
            return pow(7, 10**10)
    """,
    "power by operator": """
        import operator
        def attempt():
            return operator.pow(7, 10**10)
    """,
    "power by method": """
        def attempt():
            return (7).__pow__(10**10)
    """,
    "power by map": """
        def attempt():
            return list(map(pow, [7], [10**10]))
    """,
    "power in place": """
        def attempt():
            x = 7
            x **= 10**10
            return x
    """,
    "power of a fraction": """
        from fractions import Fraction
        def attempt():
            return Fraction(7, 3) ** 10**10
    """,
    "shift": """
        def attempt():
            return 1 << 10**12
    """,
    "shift by operator": """
        import operator
        def attempt():
            return operator.lshift(1, 10**12)
    """,
    "squaring": """
        def attempt():
            x = 3
            while True:
                x = x * x
    """,
    "squaring by method": """
        def attempt():
            x = 3
            while True:
                x = x.__mul__(x)
    """,
    "factorial": """
        import math
        def attempt():
            return math.factorial(10**8)
    """,
    "product of numbers": """
        import math
        def attempt():
            return math.prod([2**1_000_000] * 10**6)
    """,
    "numbers from bytes": """
        def attempt():
            a = int.from_bytes(bytes(40_000_000), "little") + 1
            return (a << 1) // 3
    """,
    "numbers from text": """
        def attempt():
            a = int("f" * 40_000_000, 16)
            return a * a
    """,
    "decimal precision": """
        import decimal
        def attempt():
            context = decimal.Context(prec=10**9)
            return context.divide(decimal.Decimal(1), decimal.Decimal(3))
    """,
    "bytes": """
        def attempt():
            return bytes(10**12)
    """,
    "bytes by map": """
        def attempt():
            return list(map(bytes, [10**10]))
    """,
    "bytearray": """
        def attempt():
            return bytearray(10**11)
    """,
    "bytes of a class": """
        class Data(bytes):
            pass
        def attempt():
            return Data(10**10)
    """,
    "ljust": """
        def attempt():
            return "x".ljust(10**11)
    """,
    "ljust of the class": """
        def attempt():
            return str.ljust("x", 10**11)
    """,
    "ljust by map": """
        def attempt():
            return list(map(str.ljust, ["x"], [10**11]))
    """,
    "ljust taken as a value": """
        def attempt():
            pad = "x".ljust
            return pad(8 * 10**9)
    """,
    "zfill": """
        def attempt():
            return "1".zfill(10**11)
    """,
    "center of bytes": """
        def attempt():
            return b"1".center(10**11)
    """,
    "expandtabs": """
        def attempt():
            return ("\\t" * 10**6).expandtabs(10**6)
    """,
    "translate": """
        def attempt():
            return ("a" * 10**7).translate({97: "b" * 10**6})
    """,
    "join": """
        def attempt():
            return ("x" * 10**7).join(["y"] * 10**6)
    """,
    "format width": """
        def attempt():
            return "{:9999999999}".format(1)
    """,
    "format width from a value": """
        def attempt():
            return "{:{}}".format(1, 9999999999)
    """,
    "f-string width": """
        def attempt():
            width = 10**11
            return f"{1:{width}}"
    """,
    "f-string precision": """
        def attempt():
            return f"{1.0:.{10**9}f}"
    """,
    "percent width": """
        def attempt():
            return "%9999999999d" % 1
    """,
    "percent star": """
        def attempt():
            return "%*d" % (2 * 10**9, 1)
    """,
    "format builtin": """
        def attempt():
            return format(1, "9999999999")
    """,
    "__format__": """
        def attempt():
            return (1).__format__("9999999999")
    """,
    "struct.pack": """
        import struct
        def attempt():
            return struct.pack("9999999999s", b"")
    """,
    "deque": """
        import collections, itertools
        def attempt():
            return collections.deque(itertools.repeat(0))
    """,
    "Counter": """
        import collections
        def attempt():
            return list(collections.Counter({"x": 10**12}).elements())
    """,
    "addresses": """
        import ipaddress
        def attempt():
            return list(ipaddress.ip_network("::/0").hosts())
    """,
    "regular expression": """
        import re
        def attempt():
            return re.match("(a+)+$", "a" * 60 + "b")
    """,
    "regular expression that repeats": """
        import re
        def attempt():
            return re.compile("(((a{1000}){1000}){1000}){1000}")
    """,
    "difflib": """
        import difflib
        def attempt():
            return list(difflib.ndiff([str(i) * 50 for i in range(3000)], [str(i) * 49 for i in range(3000)]))
    """,
    "json bomb": """
        import json
        def attempt():
            return json.loads("[" * 10**6 + "]" * 10**6)
    """,
    "json of a graph": """
        import json
        def attempt():
            value = ["x" * 1000]
            for _ in range(40):
                value = [value, value]
            return json.dumps(value)
    """,
    "yaml bomb": """
        import yaml
        def attempt():
            lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
            for i in range(1, 12):
                lines.append(f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 9) + "]")
            return str(yaml.safe_load("\\n".join(lines)))
    """,
    "repr of a graph": """
        def attempt():
            value = []
            for _ in range(60):
                value = [value, value]
            return repr(value)
    """,
    "f-string of a graph": """
        def attempt():
            value = []
            for _ in range(60):
                value = [value, value]
            return f"{value}"
    """,
    "deep copy": """
        import copy
        def attempt():
            value = []
            for _ in range(10**6):
                value = [value]
            return copy.deepcopy(value)
    """,
    "deep repr": """
        def attempt():
            value = []
            for _ in range(10**6):
                value = [value]
            return repr(value)
    """,
    "deep literal": """
        import ast
        def attempt():
            return ast.literal_eval("[" * 5000 + "]" * 5000)
    """,
    "deep minus": """
        import ast
        def attempt():
            return ast.literal_eval("-" * 10**6 + "1")
    """,
    "a class with a slow equality": """
        class Probe:
            def __eq__(self, other):
                return [self] == [other]
            def __hash__(self):
                return 1
        def attempt():
            return {Probe(), Probe()}
    """,
    "swallowing the limit": """
        def attempt():
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    continue
                finally:
                    continue
    """,
    "swallowing the limit with a manager": """
        class Quiet:
            def __enter__(self):
                return self
            def __exit__(self, *exc):
                return True
        def attempt():
            while True:
                with Quiet():
                    while True:
                        pass
    """,
    "tabs of environment": """
        import os
        def attempt():
            n = 0
            while True:
                n += 1
                os.environ[str(n)] = "x" * 10_000_000
    """,
    "logging": """
        import logging
        logger = logging.getLogger(__name__)
        def attempt():
            while True:
                logger.info("x" * 1_000_000)
    """,
    "files": """
        def attempt():
            n = 0
            while True:
                n += 1
                with open(f"/tmp/{n}", "w") as file:
                    file.write("x" * 10_000_000)
    """,
    "argparse": """
        import argparse
        def attempt():
            parser = argparse.ArgumentParser()
            n = 0
            while True:
                n += 1
                parser.add_argument(f"--x{n}")
    """,
    "imports": """
        import importlib
        def attempt():
            n = 0
            while True:
                n += 1
                try:
                    importlib.import_module(f"sglang.x{n}")
                except ImportError:
                    pass
    """,
}
"""Sources whose resolution must be stopped."""

HOPELESS: dict[str, str] = {
    "comparing graphs": """
        def attempt():
            a, b = [], []
            for _ in range(60):
                a, b = [a, a], [b, b]
            return a == b
    """,
    "hashing a graph": """
        def attempt():
            value = ()
            for _ in range(60):
                value = (value, value)
            return hash(value)
    """,
}
"""Work inside one native call that nothing can interrupt: the process is ended."""
