"""The weights that authors published, under the paths of our networks.

    /usr/bin/python3 tests/pytorch/rename.py [--raw | --ema] NETWORK CHECKPOINT.pth WEIGHTS.safetensors

NETWORK is one of litv2-s, -m, -b (the checkpoints of "Fast Vision Transformers
with HiLo Attention"), elsa-swin-t, -s, -b (those of "ELSA: Enhanced Local
Self-Attention") and swin-t (those of "Swin Transformer").  WEIGHTS.safetensors is what `twicetold network` reads.  A
tensor that is missing, extra or of another shape is named by its path, all of
them at once; exit status 2, and nothing is written.

Most tensors change their names alone.  Convolutions over one token are linear
maps; depth-wise kernels lose the axis of the one channel that they see.
ELSA-Swin's windows have the rows of value, query and key in this order, and a
table of heads by offsets; ours are query, key, value, and offsets by heads.
Both take key minus query.  Swin's tables of relative positions take query minus
key and have the offsets of one window: they are reversed along both axes and
become the middle of a table of the plane (of_windows in msa.py).

Does not guess.  A checkpoint may hold the weights of the last step (state_dict,
model) and their moving average (state_dict_ema, model_ema).  If it holds both, say
which: --raw takes the first, --ema the second.  ELSA-Swin-B was trained with an
average, and its authors test with it (--use-ema).  Needs torch and numpy.
"""

import re
import sys

sys.dont_write_bytecode = True

import torch

import networks
from _golden import safetensors
from msa import of_windows

# ---- layouts ------------------------------------------------------------------
#
# How one of their tensors becomes one of ours, and back: the shape that theirs
# has for a shape of ours, and both ways.


class Same:
    theirs = staticmethod(lambda shape: shape)
    ours = back = staticmethod(lambda value: value)


class Pixel:
    """A linear map, kept as a convolution of 1 x 1."""
    theirs = staticmethod(lambda shape: (*shape, 1, 1))
    ours = staticmethod(lambda value: value.flatten(1))
    back = staticmethod(lambda value: value[:, :, None, None])


class Window:
    """[D, C, M], kept as [D, C, k, k]."""
    theirs = staticmethod(lambda shape: (*shape[:2], round(shape[2] ** 0.5), round(shape[2] ** 0.5)))
    ours = staticmethod(lambda value: value.flatten(2))
    back = staticmethod(lambda value: value.unflatten(2, (round(value.shape[2] ** 0.5),) * 2))


class OneChannel:
    """Depth-wise kernels."""
    theirs = staticmethod(lambda shape: (shape[0], 1, *shape[1:]))
    ours = staticmethod(lambda value: value.squeeze(1))
    back = staticmethod(lambda value: value.unsqueeze(1))


class Plane:
    """[C, taps], kept as [1, C, K, K]."""
    theirs = staticmethod(lambda shape: (1, shape[0], round(shape[1] ** 0.5), round(shape[1] ** 0.5)))
    ours = staticmethod(lambda value: value[0].flatten(1))
    back = staticmethod(lambda value: value.unflatten(1, (round(value.shape[1] ** 0.5),) * 2)[None])


class Turned:
    """[P, h], kept as [h, P]."""
    theirs = staticmethod(lambda shape: shape[::-1])
    ours = back = staticmethod(lambda value: value.t())


class OfWindows:
    """Offsets on a square plane, key minus query, kept as those of a window of 7 x 7, query minus key."""

    def __init__(self, shape):
        self.side = (round(shape[0] ** 0.5) + 1) // 2
        self.edge = min(7, self.side)

    def theirs(self, shape):
        return ((2 * self.edge - 1) ** 2, shape[1])

    def ours(self, value):
        return of_windows(value, (self.side, self.side), self.edge)

    def back(self, value):
        whole = value.unflatten(0, (2 * self.side - 1,) * 2)
        middle = slice(self.side - self.edge, self.side + self.edge - 1)
        return whole[middle, middle].flip((0, 1)).flatten(0, 1)


class ValueFirst:
    """Rows of query, key, value, kept as value, query, key."""
    theirs = staticmethod(lambda shape: shape)
    ours = staticmethod(lambda value: value.roll(-(value.shape[0] // 3), 0))
    back = staticmethod(lambda value: value.roll(value.shape[0] // 3, 0))


# ---- names ----------------------------------------------------------------------

# Step and tensor of ours: their name behind the block's, and the layout.
NORM = {"g": "weight", "b": "bias"}
COMMON = {
    **{f"{step}.{ours}": (f"{step}.{theirs}", Same)
       for step in ("norm1", "norm2", "norm") for ours, theirs in NORM.items()},
    **{f"embed_norm.{ours}": (f"patch_embed.norm.{theirs}", Same) for ours, theirs in NORM.items()},
    "embed.w": ("patch_embed.proj.weight", Window), "embed.b": ("patch_embed.proj.bias", Same),
    "mlp.w_1": ("mlp.fc1.weight", Same), "mlp.b_1": ("mlp.fc1.bias", Same),
    "mlp.w_2": ("mlp.fc2.weight", Same), "mlp.b_2": ("mlp.fc2.bias", Same),
    "head.w": ("head.weight", Same), "head.b": ("head.bias", Same),
}
LITV2 = {
    **COMMON,
    "mlp.conv_w": ("mlp.dwconv.dwconv.weight", OneChannel), "mlp.conv_b": ("mlp.dwconv.dwconv.bias", Same),
    **{f"mixer.{map}": (f"attn.{map}.weight", Same) for map in ("h_qkv", "h_proj", "l_q", "l_kv", "l_proj")},
    **{f"mixer.{map}_b": (f"attn.{map}.bias", Same) for map in ("h_qkv", "h_proj", "l_q", "l_kv", "l_proj")},
    "deform.w": ("downsample.dconv.weight", Same), "deform.b": ("downsample.dconv.bias", Same),
    "deform.offset_w": ("downsample.dconv.conv_offset.weight", Same),
    "deform.offset_b": ("downsample.dconv.conv_offset.bias", Same),
    "deform.norm_g": ("downsample.norm_layer.weight", Same), "deform.norm_b": ("downsample.norm_layer.bias", Same),
    "deform.norm_mean": ("downsample.norm_layer.running_mean", Same),
    "deform.norm_var": ("downsample.norm_layer.running_var", Same),
}
ELSA = {
    **COMMON,
    "mixer.conv_w": ("attn.attn.0.weight", Same), "mixer.conv_b": ("attn.attn.0.bias", Same),
    "mixer.mix_w": ("attn.attn.2.weight", Pixel), "mixer.mix_b": ("attn.attn.2.bias", Same),
    "mixer.ghost_add": ("attn.ghost_head", Plane), "mixer.rpe": ("attn.rb", Turned),
    "mixer.w_o": ("attn.post_proj.weight", Same), "mixer.b_o": ("attn.post_proj.bias", Same),
    "merge.w": ("downsample.reduction.weight", Same),
    "merge.norm_g": ("downsample.norm.weight", Same), "merge.norm_b": ("downsample.norm.bias", Same),
}
SWIN = {
    **COMMON,
    "mixer.w_qkv": ("attn.qkv.weight", Same), "mixer.b_qkv": ("attn.qkv.bias", Same),
    "mixer.rpe": ("attn.relative_position_bias_table", OfWindows),
    "mixer.w_o": ("attn.proj.weight", Same), "mixer.b_o": ("attn.proj.bias", Same),
    "merge.w": ("downsample.reduction.weight", Same),
    "merge.norm_g": ("downsample.norm.weight", Same), "merge.norm_b": ("downsample.norm.bias", Same),
}
# The same name of ours, in ELSA and in windows.
PROJECTIONS = {
    "elsa": {"mixer.w_qkv": ("attn.pre_proj.weight", Pixel), "mixer.b_qkv": ("attn.pre_proj.bias", Same)},
    "windows": {"mixer.w_qkv": ("attn.pre_proj.weight", ValueFirst), "mixer.b_qkv": ("attn.pre_proj.bias", ValueFirst)},
}
FAMILIES = {"litv2": LITV2, "elsa-swin": ELSA, "swin": SWIN}

# What their files hold besides: counters, and indices that follow from sizes.
DERIVED = re.compile(r"num_batches_tracked$|relative_id$|relative_position_index$|attn_mask$")


def rules(name, steps):
    """Our path: their path, our shape, the layout."""
    table = next(table for family, table in FAMILIES.items() if name.startswith(family + "-"))
    found = {}
    for each in steps:
        own = {tensor for tensor, _, _ in each.layer.tensors}
        more = PROJECTIONS["windows" if "rpe" in own else "elsa"]
        for tensor, shape, _ in each.layer.tensors:
            path = f"{each.path}.{tensor}"
            stage, block, last = re.fullmatch(r"(?:stage(\d)\.)?(?:block(\d+)\.)?(.*)", path).groups()
            theirs, layout = {**more, **table}[last]
            layout = layout(shape) if layout is OfWindows else layout
            if block:
                theirs = f"layers.{int(stage) - 1}.blocks.{int(block) - 1}.{theirs}"
            elif theirs.startswith("downsample"):
                theirs = f"layers.{int(stage) - 2}.{theirs}"        # they merge behind a stage, we before one
            found[path] = theirs, shape, layout
    return found


def renamed(name, steps, checkpoint):
    """Our tensors, and what is wrong with theirs, a line for each."""
    ours, wrong, known = {}, [], set()
    for path, (theirs, shape, layout) in rules(name, steps).items():
        known.add(theirs)
        expected, found = tuple(layout.theirs(shape)), checkpoint.get(theirs)
        if found is None:
            wrong.append(f"{theirs}: missing; it would be {path}")
        elif tuple(found.shape) != expected:
            wrong.append(f"{theirs}: found {list(found.shape)}, expected {list(expected)}; it would be {path}")
        else:
            ours[path] = layout.ours(found).contiguous()
    wrong += [f"{theirs}: extra" for theirs in checkpoint if theirs not in known and not DERIVED.search(theirs)]
    return ours, wrong


# Where files keep the weights of the last step, and their moving average.
SETS = {"--raw": ("model", "state_dict"), "--ema": ("model_ema", "state_dict_ema")}


def unwrapped(checkpoint, which=None):
    """The tensors of a file that may hold several sets of them and an optimizer's state; and what is wrong.

    A file of tensors alone is one set, the raw one."""
    found = {kind: [key for key in keys if isinstance(checkpoint.get(key), dict)] for kind, keys in SETS.items()}
    held = [key for keys in found.values() for key in keys]
    if len(held) > 1 and (not which or len(found[which]) != 1):
        return None, f"found {' and '.join(held)}, expected one of them, or --raw or --ema to say which"
    if which and (held and not found[which] or which == "--ema" and not held):
        return None, f"{which}: found {' and '.join(held) or 'tensors alone'}, expected {' or '.join(SETS[which])}"
    tensors = checkpoint[(found[which] if which else held)[0]] if held else checkpoint
    return {theirs.removeprefix("module."): value for theirs, value in tensors.items()}, None


def main():
    which = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in SETS else None
    if len(sys.argv) != 4 or not re.match("|".join(FAMILIES), sys.argv[1]) or sys.argv[1] not in networks.NETWORKS:
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        sys.exit(2)
    name, source, target = sys.argv[1:]
    checkpoint, trouble = unwrapped(torch.load(source, map_location="cpu", weights_only=True), which)
    if trouble:
        print(f"{source}: {trouble}", file=sys.stderr)
        sys.exit(2)
    ours, wrong = renamed(name, networks.placed(networks.network(name)), checkpoint)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        sys.exit(2)
    with open(target, "wb") as file:
        file.write(safetensors(ours, {"network": name}))
    print(f"{target}: {len(ours)} tensors, {sum(value.numel() for value in ours.values())} numbers")


if __name__ == "__main__":
    main()
