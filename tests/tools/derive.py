"""derive.py -- derivations: Python functions, one for each step, that are compared with a direct evaluation

The task of a page of kind `derive` lists its steps, "1. `name(a, b)`: text".  "At most n products" in the text limits
multiplications, divisions and powers of real numbers.  Section "Check" is Python: draw() returns random inputs by name, and
each step's name is a tuple of functions: the direct evaluation, whose parameters are inputs, the solution, and wrong
answers.
"""
import cmath
import inspect
import math
import random
import re

DRAWS = 10


class Counted(float):
    """A number that counts its products and quotients."""
    made = 0


def count(name, cost):
    def method(self, other):
        result = getattr(float, name)(self, other)
        if result is NotImplemented:
            return result
        Counted.made += cost
        return Counted(result)
    setattr(Counted, name, method)


for operation in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow"):
    count(f"__{operation}__", "add" not in operation and "sub" not in operation)
Counted.__neg__ = lambda self: 0 - self


def counted(value):
    if isinstance(value, list):
        return [counted(each) for each in value]
    return Counted(value) if isinstance(value, float) else value


def numbers(*size):
    return [numbers(*size[1:]) for _ in range(size[0])] if size else random.uniform(-2, 2)


def steps(page):
    """(name, parameters, text) of each step."""
    found = re.findall(r"^\d\. `(\w+)\((.*?)\)`: (.*(?:\n   .*)*)", page.task, re.M)
    return [(name, names.split(", "), " ".join(text.split())) for name, names, text in found]


def skeleton(page):
    out = [f"# Exercise {page.number}: return each step's answer.  make check N={page.number} checks them in order.",
           "import cmath", "from math import *"]
    for name, names, text in steps(page):
        out += ["", "", f"def {name}({', '.join(names)}):", f'    """{text}"""', "    return None"]
    return out


def checks(page):
    known = {**vars(math), "cmath": cmath, "random": random, "numbers": numbers, "number": numbers}
    exec("\n".join(page.block("Check")), known)
    return known


def shown(value):
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return f"{value:.4g}" if isinstance(value, (float, complex)) else str(value)


def shape(value):
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if not isinstance(value, (int, float, complex)):
        return "no number"
    return "a complex number" if isinstance(value, complex) else "a number"


def same(a, b):
    if isinstance(b, (list, tuple)):
        return shape(a) == shape(b) and all(map(same, a, b))
    return isinstance(a, (int, float, complex)) and abs(a - b) <= 1e-9 * max(1, abs(b))


def error(page, answers):
    """None, or the number of the first step that is wrong, and why."""
    check = checks(page)
    for n, (name, names, text) in enumerate(steps(page), 1):
        direct, most = check[name][0], re.search(r"At most (\d+) product", text)
        for seed in range(DRAWS):
            random.seed(seed)
            inputs = check["draw"]()
            expected = direct(*(inputs[each] for each in inspect.signature(direct).parameters))
            given = [counted(inputs[each]) for each in names]
            Counted.made = 0
            try:
                found = answers[name](*given)
            except Exception as problem:        # the reader's
                found = repr(problem)
            if not same(found, expected):
                inputs = "".join(f"    {each} = {shown(value)}\n" for each, value in zip(names, given))
                other = " with another value" if shape(found) == shape(expected) else ""
                return n, f"Step {n}, {name}, for\n{inputs}found {shown(found)}, expected {shape(expected)}{other}"
            if most and Counted.made > int(most[1]):
                return n, f"Step {n}, {name}, is right. Found {Counted.made} products, expected at most {most[1]}"
    return None
