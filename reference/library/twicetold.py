"""Attention operators of five papers, each naive and fast, over arrays of NumPy and PyTorch.

    import twicetold
    y = twicetold.msa(x, w_qkv=w_qkv, w_o=w_o, grid=(14, 14), heads=4)
    y = twicetold.msa(x, w_qkv=w_qkv, w_o=w_o, grid=(14, 14), heads=4, form="naive", threads=1)

There is a function for each operator and layer; help(twicetold.msa) lists its tensors and options.  In names of options
a dash becomes an underscore, and a keyword of Python gets one at its end: gate_size, lambda_.

The type of x selects the library: float32 or float64.  Parameters of the other type are converted.  float16 and
bfloat16 are computed in float32, and y is rounded to the type of x.  Dense arrays are read in place, others are copied.
Masked and misaligned arrays are errors, and so are tensors of PyTorch without memory of their own (sparse, meta, within
vmap).  If x is a tensor of PyTorch, so is y; otherwise y is an array of NumPy.  Calls keep the memory of the last eight
small plans, but read all parameters again.

Gradients are not computed.  If x requires them, so does y, and its backward() raises an error: without it, the layers
before would silently stay as they are.  Parameters that require them give a y that does not, so that y.numpy() works.

    plan = twicetold.plan("msa", x, w_qkv=w_qkv, w_o=w_o, grid=(14, 14), heads=4)
    y = plan(x)                 # any number of times
    plan.load(w_o=other)        # other parameters of the same shapes

    net = twicetold.network("litv2-s", random=1)
    logits = net(images)        # [B, H*W, 3], normalised

An error raises twicetold.Error with one line: what was found and what was expected.

The libraries are searched for in the folder TWICETOLD_LIBRARY if it is set, else next to this file and in <prefix>/lib;
last, where the system's loader looks.
"""

from __future__ import annotations

import ctypes
import difflib
import functools
import inspect
import itertools
import json
import keyword
import os
import pathlib
import re
import sys
import threading
import typing
import weakref

import numpy

Array = typing.TypeVar("Array")     # an array of NumPy, a tensor of PyTorch, or what supports DLPack


class Error(ValueError):
    """One line: what was found and what was expected.  code is 2 for bad input, 1 if the machine failed."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


# ---- The processor

_NEEDS = ""         # features, as in /proc/cpuinfo; wheel.py inserts those that its libraries were compiled for


def _check_processor():
    """Raises an error if a feature is missing; the libraries would end the process by SIGILL."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next(line for line in file if line.startswith("flags")).split()
    except (OSError, StopIteration):
        return      # no x86, or no Linux
    missing = [feature for feature in _NEEDS.split() if feature not in flags]
    if missing:
        raise ImportError(f"twicetold: the processor lacks {', '.join(missing)}, expected all that the wheel was built "
                          "for (make install ARCH= installs the module for any processor)")


_check_processor()


# ---- The two libraries: structs and functions of twicetold.h

def _in_python(message):
    """A message of the library, with options and commands as in Python."""
    message = re.sub(r"(?:option )?--([a-z][a-z-]*)( (?:final|SEED|\d))?",
                     lambda found: _python_name(found[1]) + (found[2] or "").replace(" ", "="), message)
    message = re.sub(r"'twicetold help ([\w-]+)'", r"twicetold.network('\1').tensors", message)
    return message.replace("'twicetold list'", "twicetold.networks()")


class _Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 252)]

    def expect(self):
        if self.code:
            raise Error(_in_python(self.message.decode(errors="replace")), self.code)


class _Request(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("options", ctypes.POINTER(ctypes.c_char_p)), ("form", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("max_memory", ctypes.c_char_p)]


_AXES = 8


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("axes", ctypes.c_int),
                ("size", ctypes.c_size_t * _AXES)]


def _openmp(here):
    """OpenMP for a wheel's libraries, the first of: loaded; of PyTorch or scikit-learn, which may be imported later; of
    the wheel.  None if `here` has none, since such libraries name their own."""
    if not (here / "libgomp.so").exists():
        return None
    loaded = []
    if os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            loaded = [line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/libgomp" in line]
    peers = [file for package in ("torch/lib", "torch.libs", "scikit_learn.libs") for folder in sys.path
             for file in sorted(pathlib.Path(folder).glob(package + "/libgomp*.so*"))]
    return ctypes.CDLL(str([*loaded, *peers, here / "libgomp.so"][0]), ctypes.RTLD_GLOBAL)


def _open(name):
    """The shared library, from the first place that has it."""
    here = pathlib.Path(__file__).resolve().parent
    places = [here, here.parent.parent]             # next to this file; <prefix>/lib, two levels above site-packages
    if os.environ.get("TWICETOLD_LIBRARY"):
        places = [pathlib.Path(os.environ["TWICETOLD_LIBRARY"])]
    found = [place / name for place in places if (place / name).exists()]
    try:
        openmp = _openmp(found[0].parent) if found else None
        library = ctypes.CDLL(str(found[0] if found else name))
        if openmp:
            library.omp_get_max_threads = openmp.omp_get_max_threads
        return library
    except OSError as error:
        raise ImportError(f"{error}; expected in {' or '.join(map(str, places))}, or in a folder that the loader knows "
                          "(TWICETOLD_LIBRARY names another)") from None


class _Library:
    """The functions of one precision, as attributes without their prefix."""

    def __init__(self, dtype, name, prefix):
        plan = network = ctypes.c_void_p
        text = ctypes.c_char_p
        tensors, sizes = ctypes.POINTER(_Tensor), ctypes.POINTER(ctypes.c_size_t)
        library = _open(name)
        self.dtype = numpy.dtype(dtype)
        for function, result, *arguments in (
                ("version", text),
                ("operator", text, ctypes.c_int),
                ("layer", text, ctypes.c_int),
                ("network_name", text, ctypes.c_int),
                ("describe", ctypes.c_size_t, text, ctypes.c_size_t, text),
                ("plan_create", _Status, ctypes.POINTER(plan), ctypes.POINTER(_Request), tensors, ctypes.c_size_t),
                ("plan_load", _Status, plan, tensors, ctypes.c_size_t),
                ("plan_run", _Status, plan, ctypes.c_void_p, ctypes.c_void_p),
                ("plan_release", None, plan),
                ("plan_shape", ctypes.c_int, plan, sizes),
                ("plan_bytes", ctypes.c_size_t, plan),
                ("plan_parameters", ctypes.c_size_t, plan),
                ("plan_threads", ctypes.c_int, plan),
                ("plan_multiply_adds", ctypes.c_double, plan),
                ("network_create", _Status, ctypes.POINTER(network), ctypes.POINTER(_Request), ctypes.c_size_t,
                 tensors, ctypes.c_size_t),
                ("network_tensor", ctypes.c_int, network, tensors, ctypes.c_size_t),
                ("network_run", _Status, network, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)),
                ("network_release", None, network),
                ("network_bytes", ctypes.c_size_t, network),
                ("network_parameters", ctypes.c_size_t, network)):
            call = getattr(library, prefix + function)
            call.restype, call.argtypes = result, arguments
            setattr(self, function, call)
        self.default_threads = library.omp_get_max_threads


_libraries = {4: _Library("float32", "libtwicetold.so.1", "twicetold_"),
              8: _Library("float64", "libtwicetold-double.so.1", "twicetold_double_")}


def _names(function):
    """All names that a function of the library lists."""
    return tuple(name.decode() for name in itertools.takewhile(bool, map(function, itertools.count())))


# ---- Arrays of NumPy and PyTorch

_TYPES = "float16, bfloat16, float32 or float64"
_TRANSFORMS = {"BatchedTensor": "vmap", "GradTrackingTensor": "grad", "FunctionalTensor": "functionalize"}


def _with_memory(tensor):
    """The tensor with its values in memory.  PyTorch may have stored their negatives or conjugates, or nothing (zeros,
    wrapped tensors)."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_conj():
        tensor = tensor.resolve_conj()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if tensor._is_zerotensor():
        tensor = tensor.clone()
    if tensor.numel() and not tensor.data_ptr():
        raise BufferError("a tensor without memory of its own")
    return tensor.float() if str(tensor.dtype) in ("torch.float16", "torch.bfloat16") else tensor


def _place(value, error):
    """Where an array is that cannot be read, and where it could be."""
    try:
        transform = _TRANSFORMS.get(repr(value).split("(")[0])
    except Exception:                   # wrappers of PyTorch raise their own types
        transform = None
    if transform:
        return (f"within torch.func.{transform}, expected a call outside it: operators take a whole batch, and compute "
                "no gradients")
    reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
    return f"on {getattr(value, 'device', '?')} ({reason}), expected dense {_TYPES} in the memory of the CPU"


def _is_masked(value):
    return (isinstance(value, numpy.ma.MaskedArray)
            or isinstance(value, (list, tuple)) and any(map(_is_masked, value)))


def _shared(operator, name, value):
    """The value as an array of NumPy; without a copy if it supports DLPack."""
    if _is_masked(value):
        raise Error(f"{operator}: tensor {name}: found a masked array, expected one without a mask")
    if hasattr(value, "__dlpack__") and not isinstance(value, numpy.ndarray):
        torch = sys.modules.get("torch")
        try:
            value = numpy.from_dlpack(_with_memory(value) if torch and isinstance(value, torch.Tensor) else value)
        except Exception as error:      # as above
            kind = getattr(value, "dtype", "?")
            raise Error(f"{operator}: tensor {name}: found {kind} {_place(value, error)}") from None
    array = numpy.asarray(value)
    if array.dtype.name in ("float16", "bfloat16"):
        return array.astype("float32")
    if array.dtype.kind != "f" or array.dtype.itemsize not in _libraries:
        raise Error(f"{operator}: tensor {name}: found {array.dtype}, expected {_TYPES}")
    if not array.flags.aligned:
        raise Error(f"{operator}: tensor {name}: found numbers that are not aligned, expected addresses that are "
                    f"multiples of {array.dtype.alignment} (a copy has them)")
    return array


def _converted(operator, tensors, dtype):
    """The tensors as dense arrays of this type, copied only if necessary."""
    return {name: numpy.asarray(_shared(operator, name, value), dtype, order="C") for name, value in tensors.items()}


def _tensors(arrays):
    """The arrays as a list of twicetold_tensor (twicetold.h).  They must outlive it."""
    listed = (_Tensor * len(arrays))()
    for tensor, (name, array) in zip(listed, arrays.items()):
        tensor.name, tensor.data, tensor.axes = _bytes(name), array.ctypes.data, array.ndim
        tensor.size[:min(array.ndim, _AXES)] = array.shape[:_AXES]
    return listed


@functools.lru_cache(None)
def _node(torch):
    class Node(torch.autograd.Function):
        """Of the graph of x; in backward it raises an error."""

        @staticmethod
        def forward(_, x, y):
            return torch.from_dlpack(y).to(x.dtype)

        @staticmethod
        def backward(*_):
            raise Error("twicetold computes no gradients, expected a call with x.detach() or under torch.no_grad()")

    return Node


def _like(x, y):
    """y, as a tensor of PyTorch if x is one, and in a half type if x has it."""
    torch = sys.modules.get("torch")
    if torch and isinstance(x, torch.Tensor):
        return _node(torch).apply(x, y) if x.requires_grad else torch.from_dlpack(y).to(x.dtype)
    kind = getattr(x, "dtype", None)
    return y.astype(kind) if isinstance(kind, numpy.dtype) and kind.itemsize == 2 else y


# ---- Options, as on the command line

def _bytes(text):
    encoded = str(text).encode(errors="replace")
    if b"\0" in encoded:
        raise Error(f"found {str(text)!r}, expected no NUL in it")
    return encoded


def _threads(operator, count):
    """The number of threads to request; 0 leaves it to the library."""
    if count is not None and (not isinstance(count, (int, numpy.integer)) or not 1 <= count <= 1024):
        raise Error(f"{operator}: threads: found {count!r}, expected a whole number from 1 to 1024, or None")
    return count or 0


def _word(value, between="x"):
    if isinstance(value, (tuple, list)):
        return between.join(map(_word, value))
    return repr(float(value)) if isinstance(value, (float, numpy.floating)) else str(value)


def _python_name(name):
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _nearest(name, known):
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"


def _description(operator):
    if str(operator) not in _described:
        raise Error(f"operator {operator}: not known, {_nearest(str(operator), [*_described])}")
    return _described[str(operator)]


def _sort(described, given):
    """Splits keyword arguments into words of options, and tensors."""
    options = {_python_name(option["name"]): option for option in described["options"]}
    known = dict.fromkeys([tensor["name"] for tensor in described["tensors"][1:]] + [*options])
    words, tensors = [], {}
    for name, value in given.items():
        option = options.get(name)
        if name not in known:
            raise Error(f"{described['name']}: {name}: unknown argument, {_nearest(name, [*known])}")
        if value is None:
            continue
        if option and option["kind"] == "flag":
            if not isinstance(value, (bool, numpy.bool_)):
                raise Error(f"{described['name']}: {name}: found {value!r}, expected True or False")
            words += ["--" + option["name"]] if value else []
        elif option:
            words += ["--" + option["name"], _word(value)]
        else:
            tensors[name] = value
    return words, tensors


def _request(name, words, form, threads, max_memory):
    options = (ctypes.c_char_p * (len(words) + 1))(*map(_bytes, words))
    return ctypes.byref(_Request(_bytes(name), options, _bytes(form), _threads(name, threads),
                                 None if max_memory is None else _bytes(max_memory)))


# ---- Plans

class Plan:
    """A form of an operator, prepared for options and parameters; see twicetold.plan.

    Attributes: operator and form; shape of y; dtype that it computes in; bytes of the plan, without the arrays;
    threads; parameters, the number of parameters; multiply_adds of a run, by formula."""

    def __init__(self, operator: str, x: Array, *, form: str = "fast", threads: int | None = None,
                 max_memory: int | str | None = None, **given: typing.Any) -> None:
        # Step 1: words and arrays.  Only the type and shape of x matter, so a broadcast number replaces it.
        operator = str(operator)
        words, tensors = _sort(_description(operator), given)
        x = _shared(operator, "x", x)
        library = _libraries[x.dtype.itemsize]
        self.operator, self.form, self.dtype = operator, form, library.dtype
        self._library, self._lock = library, threading.Lock()
        self._arrays = {"x": numpy.broadcast_to(library.dtype.type(0), x.shape),
                        **_converted(operator, tensors, self.dtype)}

        # Step 2: the plan, which is released with this object.
        request, listed = _request(operator, words, form, threads, max_memory), _tensors(self._arrays)
        self._plan = ctypes.c_void_p()
        library.plan_create(ctypes.byref(self._plan), request, listed, len(listed)).expect()
        weakref.finalize(self, library.plan_release, self._plan)

        # Step 3: its attributes, and the parameters.
        size = (ctypes.c_size_t * _AXES)()
        self.shape = tuple(size[:library.plan_shape(self._plan, size)])
        self.bytes, self.threads = library.plan_bytes(self._plan), library.plan_threads(self._plan)
        self.parameters = library.plan_parameters(self._plan)
        self.multiply_adds = library.plan_multiply_adds(self._plan)
        library.plan_load(self._plan, listed, len(listed)).expect()

    def __repr__(self) -> str:
        return (f"<twicetold.Plan {self.operator}, form {self.form}, y {list(self.shape)} of {self.dtype}, "
                f"{self.bytes} bytes, threads {self.threads}>")

    def __reduce_ex__(self, protocol):
        raise Error(f"{self.operator}: a plan is neither copied nor pickled, expected another plan")

    def load(self, **changed: typing.Any) -> None:
        """Replaces the named parameters by others of the same shapes.  Call it, too, after an array that the plan reads
        has changed in place."""
        converted = _converted(self.operator, changed, self.dtype)
        with self._lock:
            self._load({**self._arrays, **converted})

    def _load(self, arrays):
        listed = _tensors(arrays)
        self._library.plan_load(self._plan, listed, len(listed)).expect()
        self._arrays = arrays

    def __call__(self, x: Array) -> Array:
        """y from x, of the shape and type that the plan was created for."""
        return _like(x, self._run(_shared(self.operator, "x", x)))

    def _run(self, shared):
        planned = self._arrays["x"]
        if shared.shape != planned.shape or shared.dtype.itemsize != planned.dtype.itemsize:
            raise Error(f"{self.operator}: tensor x: found {list(shared.shape)} of {shared.dtype}, "
                        f"expected {list(planned.shape)} of {planned.dtype} as when the plan was created")
        dense, y = numpy.asarray(shared, self.dtype, order="C"), numpy.empty(self.shape, self.dtype)
        with self._lock:
            self._library.plan_run(self._plan, y.ctypes.data, dense.ctypes.data).expect()
        return y


def plan(operator: str, x: Array, *, form: str = "fast", threads: int | None = None,
         max_memory: int | str | None = None, **given: typing.Any) -> Plan:
    """A plan for arrays of the shape and type of x.  Tensors and options are those of the operator's function.

    form is one of forms(operator).  threads: None is OpenMP's default, but one in a child of fork; several are an error
    there if the parent has run a plan of several.  max_memory: bytes of the plan, as "8G"; None is three quarters of
    the free memory.  Several Python threads may call one plan; they wait for each other."""
    return Plan(operator, x, form=form, threads=threads, max_memory=max_memory, **given)


# ---- Networks

def networks() -> tuple[str, ...]:
    """The names of the networks."""
    return _names(_libraries[4].network_name)


def _read(path):
    """The tensors of a file."""
    data = pathlib.Path(path).read_bytes()
    try:
        length = int.from_bytes(data[:8], "little")
        header, data = json.loads(data[8:8 + length]), data[8 + length:]
        header.pop("__metadata__", None)
        kinds = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
        return {name: numpy.frombuffer(data[slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"])
                for name, t in header.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Error(f"{path}: found {type(error).__name__} ({error}), expected a file of safetensors") from None


class Network:
    """A network of a paper.  weights: a dict of arrays, or the path of a .safetensors file; or random: a seed.  Without
    either, it has attributes, but cannot be called.

    grid: pixels, (H, W), or (T, H, W) of a video; classes; depths, widths and heads of the stages, as (1, 1, 2, 1).
    None is the network's.  dtype: float32 or float64.  form: "naive" or "fast".  Others: see twicetold.plan.

    Attributes: tensors, the shapes of all weights by name; parameters, the number of learned ones; for the last batch,
    the shape of x, and bytes without the weights given."""

    def __init__(self, name: str, *, weights: dict | str | os.PathLike | None = None, random: int | None = None,
                 dtype: str = "float32", form: str = "fast", threads: int | None = None,
                 max_memory: int | str | None = None, grid: tuple | str | None = None, classes: int | None = None,
                 depths: tuple | None = None, widths: tuple | None = None, heads: tuple | None = None) -> None:
        if str(name) not in networks():
            raise Error(f"network {name}: not known, {_nearest(str(name), networks())}")
        dtype = numpy.dtype(dtype)
        if dtype.kind != "f" or dtype.itemsize not in _libraries:
            raise Error(f"{name}: dtype: found {dtype}, expected float32 or float64")
        words = []
        for option, value, between in (("grid", grid, "x"), ("classes", classes, ""), ("random", random, ""),
                                       ("depths", depths, ","), ("widths", widths, ","), ("heads", heads, ",")):
            words += [] if value is None else ["--" + option, _word(value, between)]
        weights = _read(weights) if isinstance(weights, (str, os.PathLike)) else weights or {}
        self.name, self.form, self._lock = str(name), form, threading.Lock()
        self._library = _libraries[dtype.itemsize]
        self.dtype, self._weights = self._library.dtype, _converted(name, weights, self._library.dtype)
        self._settings = self.name, words, form, threads, max_memory
        self._create(1)

    def _create(self, batch):
        """Creates it for this batch, and releases the one before."""
        library, handle, listed = self._library, ctypes.c_void_p(), _tensors(self._weights)
        library.network_create(ctypes.byref(handle), _request(*self._settings), batch, listed, len(listed)).expect()
        if hasattr(self, "_release"):
            self._release()
        self._network, self._release = handle, weakref.finalize(self, library.network_release, handle)
        self._shapes = dict(itertools.takewhile(bool, map(self._tensor, itertools.count())))
        self.tensors: dict[str, tuple[int, ...]] = {name: self._shapes[name] for name in self._shapes if "." in name}
        self.shape, self.bytes = self._shapes["x"], library.network_bytes(handle)
        self.parameters = library.network_parameters(handle)

    def _tensor(self, at):
        tensor = _Tensor()
        found = self._library.network_tensor(self._network, ctypes.byref(tensor), at)
        return found and (tensor.name.decode(), tuple(tensor.size[:tensor.axes]))

    def __reduce_ex__(self, protocol):
        raise Error(f"{self.name}: a network is neither copied nor pickled, expected another network")

    def __repr__(self) -> str:
        return (f"<twicetold.Network {self.name}, form {self.form}, x {list(self.shape)} of {self.dtype}, "
                f"logits {list(self._shapes['logits'])}, {self.parameters} parameters, {self.bytes} bytes>")

    def __call__(self, x: Array, stages: bool = False) -> Array | tuple[Array, list[Array]]:
        """The logits [B, classes] of x [B, H*W, 3]: pixels row by row, normalised as in training.  Grey networks have
        one channel.  With stages, also a list of each stage's output [B, tokens, channels]."""
        shared = _shared(self.name, "x", x)
        with self._lock:
            if shared.ndim != 3 or not len(shared) or shared.shape[1:] != self.shape[1:] or shared.dtype != self.dtype:
                raise Error(f"{self.name}: tensor x: found {list(shared.shape)} of {shared.dtype}, "
                            f"expected [B, {self.shape[1]}, {self.shape[2]}] of {self.dtype}")
            if len(shared) != self.shape[0]:
                self._create(len(shared))
            dense = numpy.asarray(shared, self.dtype, order="C")
            logits, *outputs = (numpy.empty(shape, self.dtype) for name, shape in self._shapes.items()
                                if name == "logits" or stages and re.fullmatch(r"stage\d", name))
            pointers = (ctypes.c_void_p * len(outputs))(*(output.ctypes.data for output in outputs))
            self._library.network_run(self._network, logits.ctypes.data, dense.ctypes.data,
                                      pointers if outputs else None).expect()
        return (_like(x, logits), [_like(x, output) for output in outputs]) if stages else _like(x, logits)


network = Network


# ---- Calls without a plan

_KEPT_PLANS, _KEPT_BYTES = 8, 1 << 22
_kept = {}          # plans by form, options, types and shapes; each operation is atomic
os.register_at_fork(after_in_child=_kept.clear)


def _call(operator, x, *, form="fast", threads=None, max_memory=None, **given):
    """Computes y by a kept plan for the same shapes and options, or by a new plan.

    During the call the plan is not in _kept, so that a nested call of the thread cannot use it."""
    words, tensors = _sort(_described[operator], given)
    shared = _shared(operator, "x", x)
    library = _libraries[shared.dtype.itemsize]
    arrays = _converted(operator, tensors, library.dtype)
    key = (threading.get_ident(), operator, str(form), _threads(operator, threads) or library.default_threads(),
           str(max_memory), *words, library.dtype, shared.shape,
           *((name, array.shape) for name, array in arrays.items()))
    kept = _kept.pop(key, None)
    if kept:
        kept._load({**kept._arrays, **arrays})
    else:
        kept = Plan(operator, shared, form=form, threads=threads, max_memory=max_memory, **{**given, **arrays})
    y = kept._run(shared)
    if kept.bytes <= _KEPT_BYTES:
        kept._arrays = {"x": kept._arrays["x"]}     # not the caller's, which may be large
        _kept[key] = kept
        for oldest in list(_kept)[:-_KEPT_PLANS]:
            _kept.pop(oldest, None)
    return _like(x, y)


# ---- One function for each operator, from its description

def _describe(name):
    library = _libraries[4]
    text = ctypes.create_string_buffer(library.describe(None, 0, name) + 1)
    library.describe(text, len(text), name)
    return json.loads(text.value.decode())


def _kind(option):
    """The type of an option, for annotations."""
    kinds = {"integer": int, "real": float, "choice": str, "flag": bool}
    return kinds.get(option["kind"], typing.Union[int, str, typing.Tuple[int, ...]])


def _default(option):
    """The default of an option: a value, None, or empty if the option is required."""
    kind, text = option["kind"], option["default"]
    if kind == "flag":
        return False
    if text is None:
        return inspect.Parameter.empty
    return {"integer": int, "real": float}.get(kind, str)(text) if text else None


def _signature(described):
    only, first = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = {"x": inspect.Parameter("x", first, annotation=Array)}
    needed = {tensor["name"] for tensor in described["tensors"] if not tensor["optional"] and not tensor["when"]}
    for tensor in described["tensors"][1:]:
        name = tensor["name"]
        parameters[name] = inspect.Parameter(name, only, default=inspect.Parameter.empty if name in needed else None,
                                             annotation=Array if name in needed else typing.Optional[Array])
    for option in described["options"]:
        name = _python_name(option["name"])
        default, kind = _default(option), _kind(option)
        parameters[name] = inspect.Parameter(name, only, default=default,
                                             annotation=typing.Optional[kind] if default is None else kind)
    for name, default, kind in (("form", "fast", str), ("threads", None, typing.Optional[int]),
                                ("max_memory", None, typing.Union[int, str, None])):
        parameters[name] = inspect.Parameter(name, only, default=default, annotation=kind)
    return inspect.Signature(list(parameters.values()), return_annotation=Array)


def _example(described):
    """A call that runs, with small arrays: a shape in letters becomes numbers."""
    options = {option["name"]: option for option in described["options"]}
    needed = {name: option["kind"] for name, option in options.items() if option["default"] is None}
    sizes = {"B": 1, "N": 16, "P": 49, "C": 4, "D": 4, "R": 4, "c": 4, "hd": 4, "ld": 0, "K": 3, "s": 2, "r": 4, "G": 2,
             "S": 2, "h": 1, "M": 9 if "kernel" in needed.values() else 4 if described["name"] == "patch" else 16}

    def holds(condition):
        name, said, values = condition.partition("=")
        return not condition or bool(said) and (options[name]["default"] or "") in values.split("|")

    given = []
    for tensor in described["tensors"]:
        if tensor["optional"] or not all(map(holds, (tensor["when"] or "").split(" & "))):
            continue
        terms = tensor["shape"].split("]")[0].replace("·", "*").replace("'", "") + "]"
        shape = eval(re.sub(r"(\d)(?=[A-Za-z])", r"\1*", terms), sizes.copy())
        if tensor["name"] == "boxes":
            given.append(f"boxes=numpy.tile([-1.0, -1, 1, 1], {shape[:2] + [1]})")
        elif all(shape):
            given.append(f"{tensor['name']}=numpy.ones({shape})")
    values = {"grid": "(4, 4)", "kernel": "(3, 3)", "integer": "3"}
    given += [f"{name}={values[kind]}" for name, kind in needed.items() if kind != "flag"]
    return f"twicetold.{_python_name(described['name'])}({', '.join(given)})"


def _documentation(described):
    """The help text of an operator: summary, tensors, options, letters, forms, an example."""
    lines = [described["summary"], "", f"Tensors, {_TYPES}:"]
    for tensor in described["tensors"]:
        conditions = [part for part in (tensor["when"] or "").split(" & ") if part and not part.endswith("=")]
        if tensor["optional"]:
            conditions.append("optional")
        if tensor["with"]:
            conditions.append("with " + tensor["with"])
        condition = f" ({', '.join(conditions)})" if conditions else ""
        lines.append(f"    {tensor['name']} {tensor['shape']}{condition}: {tensor['meaning']}")
    lines += ["", "Options:"] * bool(described["options"])
    for option in described["options"]:
        kind = option["choices"] or option["kind"]
        default = f", default {option['default']}" if option["default"] else ""
        lines.append(f"    {_python_name(option['name'])} ({kind}{default}): {option['meaning']}")
    lines += ["", "Letters:"]
    lines += [f"    {letter['name']}: {letter['meaning']}" for letter in described["letters"] if letter["meaning"]]
    lines += ["", "form: " + ", ".join(described["forms"]) + "; threads and max_memory: see twicetold.plan",
              "", f"Returns y: {described['output']}", "", "Example:", "    " + _example(described)]
    return "\n".join(lines)


def _function(name):
    described = _described[name]

    def operator(x, **given):
        return _call(name, x, **given)

    operator.__name__ = operator.__qualname__ = _python_name(name)
    operator.__doc__ = _documentation(described)
    operator.__signature__ = _signature(described)
    return operator


def forms(operator: str) -> tuple[str, ...]:
    """The names of an operator's forms, the naive one first; a layer has one."""
    return tuple(_description(operator)["forms"])


operators: tuple[str, ...] = _names(_libraries[4].operator)
layers: tuple[str, ...] = _names(_libraries[4].layer)
__version__: str = _libraries[4].version().decode()
_described = {name: _describe(name.encode()) for name in operators + layers}
for _name in _described:
    globals()[_python_name(_name)] = _function(_name)
__all__ = ["Error", "Plan", "plan", "Network", "network", "networks", "forms", "operators", "layers",
           *map(_python_name, _described)]
