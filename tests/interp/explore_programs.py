"""Small programs over an unknown model: bodies of `resolve(self, config)`, by what is hard in them."""

LEFT_BY_BREAK = """
for name in ("llama", "qwen3"):
    self.first = name
    if config.model_type == name:
        break
else:
    self.first = "another"
self.second = name
"""
LEFT_BY_RETURN = """
for size in (1000, 3000, 4500):
    if config.hidden_size < size:
        self.second = size
        return
"""
GONE_ON = """
for size in (1000, 3000, 4500):
    if config.hidden_size < size:
        continue
    self.second = size
"""
COLLECTED = """
found = []
for size in (1000, 3000):
    if config.hidden_size > size:
        found.append(size)
self.first = len(found) if found else "none"
"""
STORED_BY_SLOT = """
held, row = {}, [0]
dict.__setitem__(held, "a", helper(config, 20))
put = list.__setitem__
put(row, 0, self.second)
self.first, self.second = held["a"], row[0]
"""
HELD = """
held = {{"a": 1}} if config.hidden_size < 4500 else {{}}
if config.num_hidden_layers > 33:
    held["b"] = 2
if config.model_type == "mistral":
    held["c"] = 3
{use}
"""
USES = [
    "self.first = {**{'b': 7, 'd': 8}, **held}.get('b')",
    "self.first = sorted({'c': 7, **held, 'a': 5}.items())",
    "self.first = held == {'a': 1}",
    "self.second = 'same' if {'b': 2, 'a': 1} != held else 'other'",
    "self.first = sorted((held or {'z': 1}).items())",
    "self.second = [*held]",
    "self.second = [*{**held}, *held.values()]",
    "self.second = ({'b': 0} | held)['b']",
    "held |= {'c': 4}\nself.first = sorted(held.items())",
    "other = {'c': 0, 'b': 5}\nother |= held\nself.first = sorted(other.items())",
    "self.first = named(**held)",
    "self.first = next(iter(held), 'empty')",
    "self.first = list(enumerate(held))",
    "self.first = list(zip(held, (1, 2)))",
    "self.first = list(map(str.upper, held))",
    "self.first = list(filter(None, held))",
    "self.first = list(reversed(held))",
    "self.first = (lambda *keys: keys)(*held)",
    "del held['b']",
    "try:\n    del held['b']\nexcept KeyError:\n    self.second = 'no b'\nself.first = sorted(held)",
    "first, *rest = held or 'xy'\nself.first = [first, rest]",
    "self.first = max(held, default='none')",
    "self.second = dict(held, b=9)['b']",
    "self.second = list(held) == ['a', 'b']",
    "self.second = held and held.get('c')",
    "self.first = not held",
    "self.first = {key: value for key, value in held.items() if value > 1}",
    "self.first = {**held} == {**held, 'c': 3}",
]
GENERATED = [
    "self.first = Kind[helper(config, 33).upper()].value",
    "try:\n    self.first = Kind['x' if config.hidden_size > 3000 else 'FLAT'].name\nexcept KeyError:\n    self.first = 'none'",
    "self.first = sorted(x for x in (1, 2, 5) if config.hidden_size > x * 1000)",
    "self.first = sorted((x for x in (1, 2, 5) if config.hidden_size > x * 1000), reverse=True)",
    "self.first = max((x for x in (1, 2, 5) if config.hidden_size > x * 1000), default=0)",
    "self.first = sum(x for x in (1, 2, 5) if config.hidden_size > x * 1000)",
    "self.first = ','.join(str(x) for x in (1, 2, 5) if config.hidden_size > x * 1000)",
    "self.first = next((x for x in (1, 2, 5) if config.hidden_size < x * 1000), 'none')",
    "self.first = list(x for x in (1, 2, 5) if config.hidden_size > x * 1000)",
    "self.first = sorted(set(x for x in (1, 2, 5) if config.hidden_size > x * 1000))",
    "self.first = 'llama' in set([config.model_type, 'none'])",
    "self.first = 'llama' in frozenset(('none', config.model_type))",
    "self.first = sorted(set(['llama', 'none']) & {config.model_type})",
    "self.first = dict((str(x), x) for x in (1, 2, 5) if config.hidden_size > x * 1000)",
    "self.first = named(*(x for x in (1, 2, 5) if config.hidden_size > x * 1000 or x < 3))",
    "self.first = any(config.hidden_size < x * 1000 for x in (1, 3))",
    "self.first = list(map(lambda x: helper(config, x), (20, 33)))",
    "self.first = list(filter(lambda x: config.num_hidden_layers > x, (20, 33, 38)))",
    "steps = iter((1, 2, 3))\nif config.hidden_size > 3000:\n    next(steps)\nself.first = next(steps)\nself.second = list(steps)",
    "pairs = zip((1, 2, 3), 'abc')\nif config.hidden_size > 3000:\n    next(pairs)\nself.first = list(pairs)",
    "rows = map(str, (1, 2, 3))\nif config.hidden_size > 3000:\n    next(rows)\nself.first = list(rows)",
    "def made():\n    for x in (1, 2, 5):\n        if config.hidden_size > x * 1000:\n            yield x\nself.first = sorted(made())",
    "def made():\n    for x in (1, 2, 5):\n        if config.hidden_size > x * 1000:\n            yield x\nself.first = list(made())\nself.second = max(made(), default=0)",
]
STORED = [
    "def made():\n    for x in (1, 2, 5, 7):\n        if config.hidden_size > x * 1000 or x > 4:\n            yield x\nsome = made()\nself.first = next(some)\nself.second = next(some)",
    "some = (x for x in (1, 2, 5) if config.hidden_size < x * 1000)\nself.first = next(some, 0)",
    "some = (x for x in (1, 2, 5))\nif config.hidden_size > 3000:\n    next(some)\nself.first = list(some)",
    "def made():\n    yield 1\n    yield 2\nsome = made()\nif config.hidden_size > 3000:\n    next(some)\nself.first = list(some)",
]
LEFT_AS_IT_WAS = [
    "if config.hidden_size > 3000:\n    assert config.num_hidden_layers < 36, 'deep'\nself.first = 1",
    "if config.hidden_size > 3000:\n    self.first = 1\n    self.first = 0\nself.second = self.first",
    "size = 1\nif config.hidden_size > 3000:\n    size = 2\n    size = 1\nself.first = size",
    "size = 1\nif config.hidden_size > 3000:\n    if config.num_hidden_layers > 33:\n        size = 2\nself.first = size",
    "for size in (1000, 3000):\n    if config.hidden_size < size:\n        if helper(config, 33) == 'deep':\n            raise ValueError(size)",
]
WALKED = [
    """
kept = []
for size in (1000, 3000, 4500):
    kept.append(lambda: size)
    if config.hidden_size < size:
        break
self.first = [told() for told in kept]
self.second = size
""",
    """
def first(rows):
    for name, limit in rows:
        if config.num_hidden_layers > limit:
            return [name, limit]
        name = limit
self.first = first([("a", 38), ("b", 33), ("c", 20)])
""",
    """
for position, size in enumerate((1000, 3000, 4500)):
    if config.hidden_size < size:
        self.first = position
        break
""",
    """
def last(rows, name):
    for _source, row in reversed(rows):
        if name in row:
            return row[name]
    return "none"
rows = [("a", {"one": 1, "two": 2})]
if config.hidden_size > 3000:
    rows.append(("b", {"one": helper(config, 20)}))
if config.model_type == "llama":
    rows.append(("c", {"two": 5}))
self.first, self.second = last(rows, "one"), last(rows, "two")
""",
    """
def reversed(rows):
    return held
held = iter((1, 2, 3))
for size in reversed(()):
    if config.hidden_size < size * 2000:
        break
self.first = list(held)
""",
]
FILTERED = [
    "self.first = [x for x in (1, 2, 5) if config.hidden_size > x * 1000]",
    "self.first = {x for x in (1, 2, 5) if helper(config, x * 10) == 'deep'}",
    "self.first = {x: helper(config, x * 9) for x in (1, 2, 4) if config.hidden_size - x > 3000}",
    "self.second = [x for x in (1, 2) if [y for y in (x, 20) if helper(config, y) == 'flat']]",
]
COMPUTED = [
    """
kinds = [str(kind) for kind in config.kinds]
self.first = ("full" in kinds) + 2 * (config.hidden_size > 3000)
""",
    """
def told():
    kinds = {str(kind) for kind in config.kinds}
    if "full" in kinds:
        raise KeyError("full")
    if config.hidden_size > 4500:
        raise ValueError("wide")
    return "other"
try:
    self.first = told()
except KeyError:
    self.first = "full"
except ValueError:
    self.first = "wide"
""",
]
