"""Attention operators of five papers, each naive and fast, over arrays of NumPy and PyTorch.

    import twicetold
    y = twicetold.msa(x, w_qkv=w_qkv, w_o=w_o, grid=(14, 14), heads=4)
    y = twicetold.msa(x, w_qkv=w_qkv, w_o=w_o, grid=(14, 14), heads=4, form="naive", threads=1)

There is a function for each operator; help(twicetold.msa) lists its tensors and options.  In names of options a dash
becomes an underscore, and a keyword of Python gets one at its end: gate_size, lambda_.

The type of x selects the library: float32 or float64.  Parameters of the other type are converted.  Dense arrays are
read in place, others are copied.  Masked and misaligned arrays are errors, and so are tensors of PyTorch without memory
of their own (sparse, meta, within vmap).  If x is a tensor of PyTorch, so is y; otherwise y is an array of NumPy.
Gradients are not computed, and y belongs to no graph.  Calls keep the memory of the last eight small plans, but read
all parameters again.

    plan = twicetold.plan("msa", x, w_qkv=w_qkv, w_o=w_o, grid=(14, 14), heads=4)
    y = plan(x)                 # any number of times
    plan.load(w_o=other)        # other parameters of the same shapes

An error raises twicetold.Error with the message that the program prints.

The libraries are searched for in the folder TWICETOLD_LIBRARY if it is set, else next to this file and in <prefix>/lib;
last, where the system's loader looks.
"""

import ctypes
import inspect
import itertools
import json
import keyword
import os
import pathlib
import sys
import threading
import weakref

import numpy


class Error(ValueError):
    """One line: what was found and what was expected.  code is 2 for bad input, 1 if the machine failed."""

    def __init__(self, message, code=2):
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

class _Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 252)]

    def expect(self):
        if self.code:
            raise Error(self.message.decode(errors="replace"), self.code)


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
        plan, text = ctypes.c_void_p, ctypes.c_char_p
        tensors, sizes = ctypes.POINTER(_Tensor), ctypes.POINTER(ctypes.c_size_t)
        library = _open(name)
        self.dtype = numpy.dtype(dtype)
        for function, result, *arguments in (
                ("version", text),
                ("operator", text, ctypes.c_int),
                ("describe", ctypes.c_size_t, text, ctypes.c_size_t, text),
                ("plan_create", _Status, ctypes.POINTER(plan), ctypes.POINTER(_Request), tensors, ctypes.c_size_t),
                ("plan_load", _Status, plan, tensors, ctypes.c_size_t),
                ("plan_run", _Status, plan, ctypes.c_void_p, ctypes.c_void_p),
                ("plan_release", None, plan),
                ("plan_shape", ctypes.c_int, plan, sizes),
                ("plan_bytes", ctypes.c_size_t, plan),
                ("plan_parameters", ctypes.c_size_t, plan),
                ("plan_multiply_adds", ctypes.c_double, plan)):
            call = getattr(library, prefix + function)
            call.restype, call.argtypes = result, arguments
            setattr(self, function, call)
        self.default_threads = library.omp_get_max_threads


_libraries = {4: _Library("float32", "libtwicetold.so.1", "twicetold_"),
              8: _Library("float64", "libtwicetold-double.so.1", "twicetold_double_")}


# ---- Arrays of NumPy and PyTorch

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
    return tensor


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
        except Exception as error:      # wrappers of PyTorch raise their own types
            kind, device = getattr(value, "dtype", "?"), getattr(value, "device", "?")
            reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
            raise Error(f"{operator}: tensor {name}: found {kind} on {device} ({reason}), "
                        "expected dense float32 or float64 in the memory of the CPU") from None
    array = numpy.asarray(value)
    if array.dtype.kind != "f" or array.dtype.itemsize not in _libraries:
        raise Error(f"{operator}: tensor {name}: found {array.dtype}, expected float32 or float64")
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


def _like(x, y):
    """y, as a tensor of PyTorch if x is one."""
    torch = sys.modules.get("torch")
    return torch.from_dlpack(y) if torch and isinstance(x, torch.Tensor) else y


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


def _word(value):
    if isinstance(value, (tuple, list)):
        return "x".join(map(_word, value))
    return repr(float(value)) if isinstance(value, (float, numpy.floating)) else str(value)


def _python_name(name):
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _sort(described, given):
    """Splits keyword arguments into words of options, and tensors.

    An unknown name is an option or a tensor by the type of its value; the library then reports it."""
    options = {_python_name(option["name"]): option for option in described["options"]}
    words, tensors = [], {}
    for name, value in given.items():
        option = options.get(name)
        if value is None:
            continue
        if option and option["kind"] == "flag":
            if not isinstance(value, (bool, numpy.bool_)):
                raise Error(f"{described['name']}: option --{option['name']}: found {value!r}, expected True or False")
            words += ["--" + option["name"]] if value else []
        elif option or isinstance(value, (str, int, float)):
            words += ["--" + (option["name"] if option else name), _word(value)]
        else:
            tensors[name] = value
    return words, tensors


# ---- Plans

class Plan:
    """A form of an operator, prepared for options and parameters; see twicetold.plan.

    Attributes: shape and dtype of y; bytes of the plan, without the arrays; parameters, the number of parameters;
    multiply_adds of a run, by formula."""

    def __init__(self, operator, x, *, form="fast", threads=None, max_memory=None, **given):
        # Step 1: words and arrays.  Only the type and shape of x matter, so a broadcast number replaces it.
        operator = str(operator)
        words, tensors = _sort(_described.get(operator, {"name": operator, "options": []}), given)
        x = _shared(operator, "x", x)
        library = _libraries[x.dtype.itemsize]
        self.operator, self.form, self.dtype = operator, form, library.dtype
        self._library, self._lock = library, threading.Lock()
        self._arrays = {"x": numpy.broadcast_to(library.dtype.type(0), x.shape),
                        **_converted(operator, tensors, self.dtype)}

        # Step 2: the plan, which is released with this object.
        options = (ctypes.c_char_p * (len(words) + 1))(*map(_bytes, words))
        request = _Request(_bytes(operator), options, _bytes(form), _threads(operator, threads),
                           None if max_memory is None else _bytes(max_memory))
        listed = _tensors(self._arrays)
        self._plan = ctypes.c_void_p()
        library.plan_create(ctypes.byref(self._plan), ctypes.byref(request), listed, len(listed)).expect()
        weakref.finalize(self, library.plan_release, self._plan)

        # Step 3: its attributes, and the parameters.
        size = (ctypes.c_size_t * _AXES)()
        self.shape = tuple(size[:library.plan_shape(self._plan, size)])
        self.bytes = library.plan_bytes(self._plan)
        self.parameters = library.plan_parameters(self._plan)
        self.multiply_adds = library.plan_multiply_adds(self._plan)
        library.plan_load(self._plan, listed, len(listed)).expect()

    def __reduce_ex__(self, protocol):
        raise Error(f"{self.operator}: a plan is neither copied nor pickled, expected another plan")

    def load(self, **changed):
        """Replaces the named parameters by others of the same shapes.  Call it, too, after an array that the plan reads
        has changed in place."""
        converted = _converted(self.operator, changed, self.dtype)
        with self._lock:
            self._load({**self._arrays, **converted})

    def _load(self, arrays):
        listed = _tensors(arrays)
        self._library.plan_load(self._plan, listed, len(listed)).expect()
        self._arrays = arrays

    def __call__(self, x):
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


def plan(operator, x, *, form="fast", threads=None, max_memory=None, **given):
    """A plan for arrays of the shape and type of x.  Tensors and options are those of the operator's function.

    form is one of forms(operator).  threads: None is OpenMP's default, but one in a child of fork; several are an error
    there if the parent has run a plan of several.  max_memory: bytes of the plan, as "8G"; None is three quarters of
    the free memory.  Several Python threads may call one plan; they wait for each other."""
    return Plan(operator, x, form=form, threads=threads, max_memory=max_memory, **given)


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
    parameters = {"x": inspect.Parameter("x", first)}
    needed = {tensor["name"] for tensor in described["tensors"] if not tensor["optional"] and not tensor["when"]}
    for tensor in described["tensors"][1:]:
        name = tensor["name"]
        parameters[name] = inspect.Parameter(name, only, default=inspect.Parameter.empty if name in needed else None)
    for option in described["options"]:
        name = _python_name(option["name"])
        parameters[name] = inspect.Parameter(name, only, default=_default(option))
    for name, default in (("form", "fast"), ("threads", None), ("max_memory", None)):
        parameters[name] = inspect.Parameter(name, only, default=default)
    return inspect.Signature(list(parameters.values()))


def _documentation(described):
    """The help text of an operator: summary, tensors, options, letters, forms."""
    lines = [described["summary"], "", "Tensors, float32 or float64:"]
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
        lines.append(f"    {_python_name(option['name'])} ({kind}): {option['meaning']}")
    lines += ["", "Letters:"]
    lines += [f"    {letter['name']}: {letter['meaning']}" for letter in described["letters"] if letter["meaning"]]
    lines += ["", "form: " + ", ".join(described["forms"]) + "; threads and max_memory: see twicetold.plan",
              "", f"Returns y: {described['output']}"]
    return "\n".join(lines)


def _function(name):
    described = _described[name]

    def operator(x, **given):
        return _call(name, x, **given)

    operator.__name__ = operator.__qualname__ = _python_name(name)
    operator.__doc__ = _documentation(described)
    operator.__signature__ = _signature(described)
    return operator


def forms(operator):
    """The names of an operator's forms, the naive one first."""
    if operator not in _described:
        raise Error(f"operator {operator!r}: not known, expected one of {', '.join(operators)}")
    return tuple(_described[operator]["forms"])


_names = itertools.takewhile(bool, map(_libraries[4].operator, itertools.count()))
_described = {name.decode(): _describe(name) for name in _names}
operators = tuple(_described)
__version__ = _libraries[4].version().decode()
for _name in operators:
    globals()[_python_name(_name)] = _function(_name)
__all__ = ["Error", "Plan", "plan", "forms", "operators", *map(_python_name, operators)]
