"""Tests of the Python module against the program of a build; test_installed.py runs each in an empty folder.

    installed_check.py TEST BUILD float32|float64
"""

import contextlib
import copy
import importlib.util
import inspect
import io
import json
import os
import pathlib
import pickle
import re
import shlex
import struct
import subprocess
import sys
import weakref
import zipfile
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import numpy
import twicetold

sys.path[0] += "/.."                       # tests/
from support.suite import write_tensors

test, build, precision = sys.argv[1:]
dtype = numpy.dtype(precision)
program = build + "/twicetold"
top = pathlib.Path(__file__).resolve().parents[2]


def read(path):
    """The tensors and metadata of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header, data = json.loads(data[8:8 + length]), data[8 + length:]
    metadata = header.pop("__metadata__", {})
    kinds = {"F32": "<f4", "F64": "<f8"}
    return {name: numpy.frombuffer(data[slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}, metadata


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, **more)


def apply(operator, words, tensors):
    """y of `twicetold apply`, or its error."""
    numpy.savez("program.npz", **tensors)
    ran = run(program, "apply", operator, *words, "program.npz", "-o", "y.npy")
    return ran.stderr.strip() if ran.returncode else numpy.load("y.npy")


def keyword_of(option):
    return "lambda_" if option == "lambda" else option.replace("-", "_")


def keywords(words):
    """Options of a command as keywords: a flag is True, other values are strings."""
    given = {}
    for word in words:
        if word.startswith("--"):
            name = keyword_of(word[2:])
            given[name] = True
        else:
            given[name] = word
    return given


def cases():
    """Name, operator, options and tensors of each golden vector and of one more case of msa, in this precision."""
    found = []
    for path in sorted(top.glob("tests/golden/*.safetensors")):
        tensors, said = read(path)
        if said["operator"] != "network":
            del tensors["y_expected"]
            found.append((path.stem, said["operator"], said["options"], tensors))
    draw = numpy.random.default_rng(1).standard_normal
    tensors = {"x": draw((2, 24, 6)), "w_qkv": draw((18, 6)), "rpe": draw((77, 2)), "w_o": draw((6, 6))}
    found.append(("msa", "msa", "--grid 4x6 --heads 2 --window 2", tensors))
    for name, operator, words, tensors in found:
        yield name, operator, words.split(), each(lambda t: t.astype(dtype), tensors)


def case(wanted):
    return next(rest for name, *rest in cases() if name == wanted)


def function(operator):
    return getattr(twicetold, operator.replace("-", "_"))


def each(change, tensors):
    return {name: change(t) for name, t in tensors.items()}


def parameters_of(tensors):
    return {name: t for name, t in tensors.items() if name != "x"}


def same(y, expected, what):
    assert isinstance(y, numpy.ndarray) and y.dtype == expected.dtype == dtype, f"{what}: {y.dtype}"
    assert y.shape == expected.shape and y.tobytes() == expected.tobytes(), f"{what}: other numbers"


def near(y, expected):
    return y.shape == expected.shape and abs(y - expected).max() <= 64 * numpy.finfo(dtype).eps * abs(expected).max()


def error_of(call, *arguments, **given):
    """The message of the error that a call raises."""
    try:
        call(*arguments, **given)
    except twicetold.Error as error:
        assert isinstance(error, ValueError) and error.code == 2, error.code
        return str(error)
    raise AssertionError(f"no error, of {given}")


def agree():
    asked = set()
    for name, operator, words, tensors in cases():
        for form in twicetold.forms(operator):
            y = apply(operator, words + ["--form", form], tensors)
            assert not isinstance(y, str), y
            same(function(operator)(**tensors, **keywords(words), form=form), y, f"{name}, {form}")
            asked.add((operator, form))
    assert asked == {(o, f) for o in twicetold.operators for f in twicetold.forms(o)}, "a form without a case"
    print(len(asked), "forms compared")


def errors():
    _, words, tensors = case("lisa_eq10_paper")
    C = tensors["x"].shape[2]

    def compare(words, tensors):
        line = apply("lisa", words, tensors)
        assert isinstance(line, str), "the program accepts it"
        line = re.sub(r"(?:option )?--([a-z-]+)( \d)?",
                      lambda said: keyword_of(said[1]) + (said[2] or "").replace(" ", "="), line)
        assert "twicetold: " + error_of(twicetold.lisa, **tensors, **keywords(words)) == line, line
        print(line)

    for options in ("", "--grid 3x5", "--grid 14x14 --heads 5", "--grid 14x14 --equation 11", "--grid 0x14",
                    "--grid 14x14 --heads 2.5", "--grid 14x14 --max-memory much",
                    "--grid 14x14 --equation 4 --kernel 3x3"):
        compare(options.split(), tensors)
    for changed in ({"w_qkv": None}, {"wa": tensors["wa"][:, :1]},
                    {"b_o": numpy.ones(C + 1, dtype)}, {"x": tensors["x"][0]}, {"w_o": None}):
        compare(words, {name: t for name, t in {**tensors, **changed}.items() if t is not None})
    given = {**tensors, "grid": (14, 14)}
    for said, line in ((error_of(twicetold.hilo, tensors["x"], pooled_queries=3),
                        "hilo: pooled_queries: found 3, expected True or False"),
                       (error_of(twicetold.lisa, **given, gird=3), "lisa: gird: unknown argument, did you mean grid?"),
                       (error_of(twicetold.lisa, **given, w_kqv=1), "lisa: w_kqv: unknown argument, did you mean"),
                       (error_of(twicetold.msa, tensors["x"], num_heads=4),
                        "msa: num_heads: unknown argument, did you mean heads?"),
                       (error_of(twicetold.norm, tensors["x"], w=1),
                        "norm: w: unknown argument, expected one of g, b, mean, var, kind, epsilon"),
                       (error_of(twicetold.plan, "lissa", 1), "operator lissa: not known, did you mean lisa?"),
                       (error_of(twicetold.lisa, **given, form="cuba"), "lisa: form 'cuba': not known"),
                       (error_of(twicetold.lisa, **given, form="fast\0er"), "found 'fast\\x00er', expected no NUL"),
                       (error_of(twicetold.lisa, **given, threads=2.5), "lisa: threads: found 2.5, expected a whole"),
                       (error_of(twicetold.lisa, **given, threads=0), "lisa: threads: found 0, expected a whole"),
                       (error_of(twicetold.lisa, **given, threads=2 ** 32), "lisa: threads: found 4294967296"),
                       (error_of(twicetold.forms, "nothing"), "operator nothing: not known, expected one of msa"),
                       (error_of(twicetold.lisa, **given, heads=2, max_memory=64), "lisa: needs ")):
        assert said.startswith(line), said


class DLPackOnly:
    """An array that offers only DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(DLPackOnly):
    dtype, device = "float32", "cuda:0"

    def __dlpack__(self, **asked):
        raise BufferError("not in this memory")


def arrays():
    _, words, tensors = case("lisa_eq10_paper")
    given, other = keywords(words), "float64" if precision == "float32" else "float32"
    y = twicetold.lisa(**tensors, **given)
    kinds = {
        "Fortran's order": numpy.asfortranarray,
        "every second number": lambda t: numpy.repeat(t, 2, axis=-1)[..., ::2],
        "the other byte order": lambda t: t.astype(t.dtype.newbyteorder()),
        "not to be written": lambda t: numpy.frombuffer(t.tobytes(), t.dtype).reshape(t.shape),
        "DLPack": DLPackOnly,
    }
    if precision == "float64":
        kinds["lists"] = numpy.ndarray.tolist
    for kind, change in kinds.items():
        same(twicetold.lisa(**each(change, tensors), **given), y, kind)
    for t in tensors.values():
        assert kinds["every second number"](t).strides != t.strides or t.shape[-1] == 1
        assert not kinds["not to be written"](t).flags.writeable

    parameters = parameters_of(tensors)
    same(twicetold.lisa(tensors["x"], **each(lambda t: t.astype(other), parameters), **given),
         twicetold.lisa(tensors["x"], **each(lambda t: t.astype(other).astype(dtype), parameters), **given),
         "parameters of " + other)
    assert twicetold.lisa(tensors["x"].astype(other), **parameters, **given).dtype == other
    same(twicetold.lisa(**tensors, grid=(14, 14), equation=10, heads=numpy.int64(2)), y, "options as numbers")
    for kind in ("int32", "complex128"):
        for name in ("x", "w_qkv"):
            line = error_of(twicetold.lisa, **{**tensors, name: tensors[name].astype(kind)}, **given)
            assert line == f"lisa: tensor {name}: found {kind}, expected float16, bfloat16, float32 or float64", line
    half = each(lambda t: t.astype("float16"), tensors)
    y_half, y_single = twicetold.lisa(**half, **given), twicetold.lisa(**each(numpy.float32, half), **given)
    assert y_half.dtype == "float16" and numpy.array_equal(y_half, y_single.astype("float16")), "float16"
    line = error_of(twicetold.lisa, **{**tensors, "x": OnDevice(tensors["x"])}, **given)
    assert line.startswith("lisa: tensor x: found float32 on cuda:0 (not in this memory), expected dense"), line

    # Masks and unaligned numbers are errors, also inside a list.
    def misaligned(t):
        return numpy.frombuffer(b"?" + t.tobytes(), dtype, offset=1).reshape(t.shape)

    plan = twicetold.plan("lisa", **tensors, **given)
    for change, line in ((numpy.ma.masked_array, "found a masked array, expected one without a mask"),
                         (lambda t: [numpy.ma.masked_array(t[0])], "found a masked array, expected one without a mask"),
                         (misaligned, "found numbers that are not aligned, expected addresses that are multiples of")):
        for name, t in tensors.items():
            assert numpy.array_equal(change(t)[0], t[0])
            said = error_of(twicetold.lisa, **{**tensors, name: change(t)}, **given)
            assert said.startswith(f"lisa: tensor {name}: {line}"), said
            said = error_of(plan, change(t)) if name == "x" else error_of(plan.load, **{name: change(t)})
            assert said.startswith(f"lisa: tensor {name}: {line}"), said
    same(plan(tensors["x"]), y, "after errors")


def lazy():
    """Tensors of PyTorch whose memory differs from their values."""
    import torch
    _, words, tensors = case("msa")
    given, tensors = keywords(words), each(lambda t: torch.from_numpy(t.copy()), tensors)
    plan = twicetold.plan("msa", **tensors, **given)

    def negated(t):
        """Value t, stored as -t."""
        return torch.complex(torch.zeros_like(t), -t).conj().imag

    def equal(changed, plain, what):
        for name, t in changed.items():
            expected = twicetold.msa(**{**tensors, name: plain[name]}, **given).numpy()
            same(twicetold.msa(**{**tensors, name: t}, **given).numpy(), expected, f"{what} {name}")
            y = plan(t) if name == "x" else plan.load(**{name: t}) or plan(tensors["x"])
            same(y.numpy(), expected, f"{what} {name}, in a plan")
            plan.load(**parameters_of(tensors))

    equal(each(negated, tensors), tensors, "negative")
    equal(each(lambda t: negated(t).requires_grad_(), parameters_of(tensors)), tensors, "with gradients")
    equal(each(torch.nn.Parameter, parameters_of(tensors)), tensors, "a parameter")
    equal(each(lambda t: t.transpose(0, 1).contiguous().transpose(0, 1), tensors), tensors, "transposed")
    equal(each(lambda t: torch._efficientzerotensor(t.shape, dtype=t.dtype), tensors),
          each(torch.zeros_like, tensors), "zeros")

    # Only an x with gradients gives a result in a graph, whose backward is an error.
    x = tensors["x"].clone().requires_grad_()
    for call in (plan, lambda x: twicetold.msa(**{**tensors, "x": x}, **given)):
        assert error_of(call(x).sum().backward).startswith("twicetold computes no gradients, expected a call")
        with torch.no_grad():
            same(call(x).numpy(), plan(tensors["x"]).numpy(), "x without its gradients")
    for kind in (torch.float16, torch.bfloat16):
        half = each(lambda t: t.to(kind), tensors)
        y, expected = (twicetold.msa(**changed, **given) for changed in (half, each(torch.Tensor.float, half)))
        assert y.dtype == kind and torch.equal(y, expected.to(kind)), kind

    class Wrapper(torch.Tensor):
        """A subclass with a shape but no memory."""

        @classmethod
        def __torch_dispatch__(cls, call, types, arguments=(), named=None):
            inner = call(*(a.inner if isinstance(a, cls) else a for a in arguments), **(named or {}))
            return wrapped(inner) if isinstance(inner, torch.Tensor) else inner

    def wrapped(t):
        wrapper = torch.Tensor._make_wrapper_subclass(Wrapper, t.size(), dtype=t.dtype)
        wrapper.inner = t
        return wrapper

    try:
        from torch import func
    except ImportError:
        import functorch as func
    kinds = {"sparse": lambda t: t.to_sparse(), "meta": lambda t: t.to("meta"), "wrapper": wrapped,
             "conj": lambda t: torch.complex(t, t).conj(),
             "quantized": lambda t: torch.quantize_per_tensor(t.float(), 0.1, 0, torch.qint8),
             "nested": lambda t: torch.nested.nested_tensor([t, t])}
    transforms = "vmap", "grad", "functionalize"
    others = each(torch.Tensor.numpy, tensors)
    for name, t in tensors.items():
        def rejected(made, where=".*, expected .*float32 or float64.*"):
            for call, changed in ((twicetold.msa, {**others, name: made, **given}),
                                  (plan, {"x": made}) if name == "x" else (plan.load, {name: made})):
                line = error_of(call, **changed)
                assert re.fullmatch(rf"msa: tensor {name}: found {where}", line), line

        for make in kinds.values():
            rejected(make(t))
        for transform in transforms:
            where = rf"torch\S* within torch.func.{transform}, expected a call outside it: .*"
            getattr(func, transform)(lambda inner: rejected(inner, where) or inner.sum())(t)


def plans():
    _, words, tensors = case("lisa_eq10_paper")
    given, x = keywords(words), tensors["x"]
    y = twicetold.lisa(**tensors, **given)
    plan = twicetold.plan("lisa", **each(numpy.copy, tensors), **given)
    same(plan(x), y, "a plan")
    assert plan.shape == y.shape and plan.dtype == dtype and plan.bytes > 0 and plan.multiply_adds > 0
    assert plan.parameters == sum(t.size for t in parameters_of(tensors).values())

    # Step 1: load other parameters, valid and wrong.
    other = {**tensors, "wa": tensors["wa"] * 2}
    for name, wrong in (("wa", other["wa"][:3]), ("nothing", x), ("w_qkv", x.astype("int32"))):
        error_of(plan.load, **{name: wrong})
        same(plan(x), y, "after an error")
    plan.load(wa=other["wa"])
    same(plan(x), twicetold.lisa(**other, **given), "after a load")
    plan.load(wa=tensors["wa"])
    same(plan(x), y, "after a load back")
    for wrong in (x[:, :1], x.astype("int32"), numpy.concatenate([x, x])):
        assert "tensor x: found" in error_of(plan, wrong)

    # Step 2: a plan keeps alive the parameters that the caller drops.
    naive = twicetold.plan("lisa", **tensors, **given, form="naive")
    expected = naive(x)
    naive.load(**each(numpy.copy, parameters_of(tensors)))
    litter = [numpy.full_like(t, numpy.nan) for t in tensors.values() for _ in range(8)]
    same(naive(x), expected, f"among {len(litter)} others")

    # Step 3: threads of a plan; threads of Python with one plan or one each.  Bits depend on the number of threads.
    for threads in (1, 2, 3):
        again = twicetold.plan("lisa", **tensors, **given, threads=threads)
        assert repr(again) == (f"<twicetold.Plan lisa, form fast, y {list(y.shape)} of {dtype}, {again.bytes} bytes, "
                               f"threads {threads}>"), again
        assert near(again(x), y)
        same(again(x), twicetold.lisa(**tensors, **given, threads=threads), f"{threads} threads")
    alone = twicetold.plan("lisa", **tensors, **given, threads=1)

    def work(n):
        own = twicetold.plan("lisa", **tensors, **given, threads=1)
        return [(plan(x * n), own(x * n)) for _ in range(8)]

    with ThreadPoolExecutor(4) as pool:
        for n, ys in enumerate(pool.map(work, range(1, 5)), 1):
            for shared, own in ys:
                same(shared, plan(x * n), f"thread {n}, a plan for all")
                same(own, alone(x * n), f"thread {n}, its own plan")

    # Step 4: copies are errors.
    for second in (copy.copy, copy.deepcopy, pickle.dumps):
        assert "neither copied nor pickled" in error_of(second, plan)
    same(plan(x), y, "after no copy")


def networks():
    """Logits and stages of a golden network, as of the program and near PyTorch's."""
    path = top / "tests/golden/network_litv2-s.safetensors"
    golden, said = read(path)
    name, *words = said["options"].split()
    given = {**keywords(words), "dtype": dtype}
    weights = {name: t.astype(dtype) for name, t in golden.items() if "." in name}
    x = golden["x"].astype(dtype)
    write_tensors("w.safetensors", {name: (t.shape, t.ravel()) for name, t in weights.items()}, "F" + precision[5:])
    numpy.save("x.npy", x)

    def program_says(*source):
        run(program, "network", name, *words, *source, "--input", "x.npy", "--stages", "-o", "y.npz", check=True)
        return numpy.load("y.npz")

    expected = program_says("--weights", "w.safetensors")
    for source in weights, "w.safetensors":
        network = twicetold.network(name, weights=source, **given)
        assert near(network(x), golden["logits"]), "PyTorch's logits"
        logits, stages = network(numpy.concatenate([x, x]), stages=True)
        for i, y in enumerate([logits, *stages]):
            assert near(y, numpy.repeat(expected[f"stage{i}" if i else "logits"], 2, 0)), f"stage {i}"
        same(network(x), expected["logits"], "one image again")
    assert network.tensors == each(numpy.shape, weights) and network.shape == x.shape
    drawn = twicetold.network(name, random=7, **given)
    same(drawn(x), program_says("--random", "7")["logits"], "drawn")
    assert repr(drawn).startswith(f"<twicetold.Network litv2-s, form fast, x [1, 2048, 3] of {dtype}, logits [1, 5], ")

    listed = run(program, "list", check=True).stdout
    assert all(name in listed for name in twicetold.networks()) and name in twicetold.networks()
    pathlib.Path("not.safetensors").write_bytes(b"not one")
    one = {**weights, "head.w": weights["head.w"][:2]}
    for settings, line in (({"weights": one}, "tensor head.w: found [2, 32], expected [5, 32]"),
                           ({"random": 1, "weights": weights}, "random: found with weights"),
                           ({"dtype": "float16"}, "dtype: found float16, expected float32 or float64"),
                           ({"max_memory": 9}, "needs ")):
        said = error_of(twicetold.network, name, **{**given, **settings})
        assert said.startswith(f"litv2-s: {line}"), said
    for call, line in ((lambda: twicetold.network("litv2"), "network litv2: not known, did you mean litv2-"),
                       (lambda: twicetold.network(name, **given)(x),
                        "litv2-s: the network has no weights, expected some, or random=SEED"),
                       (lambda: twicetold.network(name, weights="not.safetensors"), "not.safetensors: found "),
                       (lambda: copy.copy(drawn), "litv2-s: a network is neither copied nor pickled"),
                       (lambda: drawn(x[:, 1:]), f"litv2-s: tensor x: found [1, 2047, 3] of {dtype}, expected [B, "),
                       (lambda: drawn(x[:0]), "litv2-s: tensor x: found [0, 2048, 3] of")):
        said = error_of(call)
        assert said.startswith(line), said


def calls():
    """A call without a plan computes what a new plan would, although plans of earlier calls are kept."""
    _, words, tensors = case("msa")
    given, tensors = keywords(words), each(numpy.copy, tensors)

    def planned(tensors):
        return twicetold.plan("msa", **tensors, **given)(tensors["x"])

    before = twicetold.msa(**tensors, **given)
    tensors["w_qkv"] *= 2
    changed = twicetold.msa(**tensors, **given)
    assert changed.tobytes() != before.tobytes()
    same(changed, planned(tensors), "a parameter changed in place")
    del tensors["rpe"]
    same(twicetold.msa(**tensors, **given), planned(tensors), "without one parameter")
    read = weakref.ref(tensors["w_o"])
    tensors["w_o"] = tensors["w_o"].copy()
    assert read() is None, "a kept plan holds a parameter"

    def often(scale):
        scaled = {**tensors, "w_qkv": scale * tensors["w_qkv"]}
        expected = planned(scaled)
        for _ in range(200):
            same(twicetold.msa(**scaled, **given), expected, f"in a thread of its own, times {scale}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(often, (1, 3)))
    for images in range(1, 20):
        twicetold.msa(numpy.repeat(tensors["x"][:1], images, axis=0), **parameters_of(tensors), **given)
    assert len(twicetold._kept) == 8


def fork():
    """A child computes although the parent ran another library's threads; the import is before or after the fork."""
    tensors = {"x": numpy.full((1, 1, 1), 2, dtype), "w_qkv": numpy.array([[1], [1], [3]], dtype)}
    others = {"three lines of C": "import ctypes; assert ctypes.CDLL('./loop.so').loop() == 2",
              "NumPy": "a = numpy.ones((1000, 1000)); a @ a",
              "PyTorch": "import torch; torch.set_num_threads(2); a = torch.ones(1000, 1000); a.exp() @ a"}
    numpy.savez("in.npz", **tensors)
    for who, threads in others.items():
        if who == "PyTorch" and not importlib.util.find_spec("torch"):
            print("left out, without torch")
            continue
        for before, after in (("import twicetold", "pass"), ("pass", "import twicetold")):
            script = f"""if True:
                import os, signal, sys, numpy
                {before}
                {threads}
                tensors = dict(numpy.load("in.npz"))
                if os.fork() == 0:
                    signal.alarm(20)
                    {after}
                    os._exit(0 if twicetold.msa(**tensors, grid=1) == 6 else 1)
                sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))"""
            ran = run(sys.executable, "-c", script)
            assert ran.returncode == 0, f"{who}, {before}: {ran.returncode}, {ran.stderr}"


def documented():
    listed = run(program, "list", check=True).stdout.split("\n\n")[0]      # without layers and networks
    rows = [line.split() for line in listed.split("\n")]
    assert list(twicetold.operators) == [name for name, *_ in rows], listed
    for name, *words in rows:
        assert list(twicetold.forms(name)) == [word for word in words if not word.startswith(("cuda", "("))]
        page = run(program, "help", name, check=True).stdout
        options = map(keyword_of, re.findall(r"^  --([a-z-]+)", page, re.M))
        said = {*re.findall(r"^  (\w+) +\[", page, re.M), *options} - {"y", "max_work", "device"}
        taken = set(inspect.signature(function(name)).parameters)
        assert said | {"form", "threads", "max_memory"} == taken, said ^ taken
        for parameter in taken - {"form", "threads", "max_memory"}:
            assert re.search(rf"^    {parameter} ", function(name).__doc__, re.M), f"{name}: no {parameter} on its page"
        assert function(name).__name__ in twicetold.__all__
    assert "\nlayers: " + " ".join(twicetold.layers) + "\n" in run(program, "list").stdout
    for name in twicetold.operators + twicetold.layers:
        y = eval(re.search(r"Example:\n    (.*)", function(name).__doc__)[1])
        assert y.ndim > 1 and numpy.isfinite(y).all() and y.any(), name
    for name in set(twicetold.__all__) - {"Error", "operators", "layers"}:
        signature = inspect.signature(getattr(twicetold, name))
        assert all(each.annotation is not each.empty for each in signature.parameters.values()), name
        assert signature.return_annotation is not inspect.Signature.empty, name
    lisa, hilo = (inspect.signature(each).parameters for each in (twicetold.lisa, twicetold.hilo))
    assert lisa["heads"].default == 1 and lisa["grid"].default is inspect.Parameter.empty
    assert hilo["pooled_queries"].default is False


def chapter():
    """Run each block under "Use it from Python" whose imports are installed."""
    text = (top / "chapters/appendices/using.md").read_text(encoding="utf-8")
    section = text.split("## Use it from Python\n")[1].split("\n## ")[0]
    blocks, ran = re.findall(r"^```python\n(.*?)^```", section, re.S | re.M), 0
    assert len(blocks) == 2, f"{len(blocks)} blocks"
    for block in blocks:
        wanted = [name for line in re.findall(r"^import (.*)$", block, re.M) for name in line.split(", ")]
        missing = [name for name in wanted if not importlib.util.find_spec(name)]
        if missing:
            print("left out, without", *missing)
            continue
        said, names = io.StringIO(), {}
        with contextlib.redirect_stdout(said):
            exec(compile(block, "chapters/appendices/using.md", "exec"), names)
        distance = float(re.search(r"[0-9.e-]+", said.getvalue()).group())
        unit = 2.0 ** -24 if str(names["y"].dtype).endswith("float32") else 2.0 ** -53
        products = 3 * 64 + 2 * 196 + 64
        assert 0 < distance < 32 * products ** 0.5 * unit * float(abs(names["y"]).max()), said.getvalue()
        assert type(names["y"]) is type(names["x"])
        print(said.getvalue(), end="")
        ran += 1
    assert ran


def wheel():
    # No macros if the compiler does not know -march=native.
    macros = run(*shlex.split(os.environ["CC"]), "-march=native", "-dM", "-E", "-x", "c", os.devnull).stdout
    both = os.path.dirname(os.environ["TWICETOLD_LIBRARY"])
    packing = [sys.executable, "reference/library/wheel.py", both, "1.0", os.getcwd()]
    path = run(*packing, cwd=top, input=macros, check=True).stdout.strip()
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        packed.extractall()
        record = [line.split(",") for line in packed.read("twicetold-1.0.dist-info/RECORD").decode().splitlines()]
        assert [name for name, _, _ in record] == names, names
        for name, digest, length in record[:-1]:
            data = packed.read(name)
            assert int(length) == len(data)
            assert digest == "sha256=" + urlsafe_b64encode(sha256(data).digest()).decode().rstrip("="), name
    _, words, tensors = case("msa")
    script = """if True:
        import numpy, twicetold
        tensors = dict(numpy.load("in.npz"))
        numpy.save("out.npy", twicetold.msa(**tensors, grid=(4, 6), heads=2, window=2))
        print(twicetold.__file__)"""
    numpy.savez("in.npz", **tensors)
    alone = {name: value for name, value in os.environ.items() if name != "TWICETOLD_LIBRARY"}
    ran = run(sys.executable, "-c", script, env=alone)
    assert ran.returncode == 0 and os.path.dirname(ran.stdout).startswith(os.getcwd()), ran.stdout + ran.stderr
    same(numpy.load("out.npy"), apply("msa", words, tensors), "from the wheel")

    # The wheel records the processor features that it needs.  If one is missing, the import fails and names it.
    flags = re.search(r"^flags\s*:(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    if not flags:
        print("left out, without flags in /proc/cpuinfo: processors that lack some")
        return
    flags = flags[1].split()

    def needs():
        module = pathlib.Path("twicetold/__init__.py").read_text()
        return re.search('^_NEEDS = "(.*)"', module, re.M)[1].split()

    assert set(needs()) <= set(flags) and ("avx2" in needs()) == ("__AVX2__" in macros), needs()
    rare = ("xop", "XOP"), ("avx512_fp16", "AVX512FP16"), ("fma4", "FMA4")
    name, macro = next(each for each in rare if each[0] not in flags)
    run(*packing, cwd=top, input=f"#define __SSE3__ 1\n#define __{macro}__ 1\n", check=True)
    with zipfile.ZipFile(path) as packed:
        packed.extractall()
    assert needs() == ["pni", name], needs()
    for library in ("libtwicetold.so.1", "libtwicetold-double.so.1"):
        pathlib.Path("twicetold", library).write_bytes(b"not loaded")
    ran = run(sys.executable, "-c", "import twicetold", env=alone)
    line = f"ImportError: twicetold: the processor lacks {name}, expected all that the wheel was built for (make "
    assert ran.returncode == 1 and ran.stderr.splitlines()[-1].startswith(line), ran.stderr


def travels():
    with zipfile.ZipFile(next(pathlib.Path(os.environ["TWICETOLD_LIBRARY"]).parent.glob("*-manylinux_*.whl"))) as packed:
        packed.extractall()
        assert not any("fftw" in name for name in packed.namelist())
    for folder in pathlib.Path("twicetold").glob("*.so*"):
        newer = re.findall(r"GLIBC_2\.(3[2-9]|[4-9]\d)", run("objdump", "-T", folder, check=True).stdout)
        assert not newer, f"{folder}: glibc 2.{newer}"
    _, words, tensors = case("msa")
    numpy.savez("in.npz", **tensors)
    expected = apply("msa", words, tensors)
    alone = {name: value for name, value in os.environ.items() if name != "TWICETOLD_LIBRARY"}
    others = [name for name in ("torch", "sklearn.cluster") if importlib.util.find_spec(name.split(".")[0])]
    for before, after in [("os", "os"), *((name, "os") for name in others), *(("os", name) for name in others)]:
        script = f"""if True:
            import os, {before}, numpy, twicetold, {after}
            numpy.save("out.npy", twicetold.msa(**numpy.load("in.npz"), grid=(4, 6), heads=2, window=2, threads=2))
            print(twicetold.__file__)
            print(*{{line.split()[-1] for line in open("/proc/self/maps") if "/libgomp" in line}})"""
        ran = run(sys.executable, "-c", script, env=alone)
        assert ran.returncode == 0, ran.stderr
        module, *openmp = ran.stdout.split()
        assert module.startswith(os.getcwd()) and len(openmp) == 1, f"{before}, {after}: {ran.stdout}"
        assert near(numpy.load("out.npy"), expected), f"{before}, {after}: other numbers"
    print("with", *others or ["no other OpenMP"])


globals()[test]()
