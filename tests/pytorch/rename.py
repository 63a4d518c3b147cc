"""Convert checkpoints that authors published to the paths of our networks.

    /usr/bin/python3 tests/pytorch/rename.py [--raw | --ema] NETWORK CHECKPOINT.pth WEIGHTS.safetensors

NETWORK is litv2-s, -m or -b (HiLo), elsa-swin-t, -s or -b (ELSA) or swin-t.  `twicetold network` reads
WEIGHTS.safetensors.  If tensors are missing, extra or of another shape, lists all of them, writes nothing and exits
with status 2.  If a checkpoint has the weights of the last step (state_dict, model) and their moving average
(state_dict_ema, model_ema), --raw takes the former and --ema the latter; ELSA-Swin-B's authors test the average.
Needs torch and numpy.
"""

import re
import sys
from collections import namedtuple

import torch

import networks
from _golden import safetensors

# The shape of their tensor for a shape of ours, and the conversion to ours.
Layout = namedtuple("Layout", "theirs ours")


def edge(taps):
    return round(taps ** 0.5)


SAME = Layout(lambda shape: shape, lambda value: value)
PIXEL = Layout(lambda shape: (*shape, 1, 1), lambda value: value.flatten(1))                    # a 1 x 1 convolution
WINDOW = Layout(lambda shape: (*shape[:2], edge(shape[2]), edge(shape[2])), lambda value: value.flatten(2))
ONE_CHANNEL = Layout(lambda shape: (shape[0], 1, *shape[1:]), lambda value: value.squeeze(1))   # depth-wise kernels
PLANE = Layout(lambda shape: (1, shape[0], edge(shape[1]), edge(shape[1])), lambda value: value[0].flatten(1))
TRANSPOSED = Layout(lambda shape: shape[::-1], lambda value: value.t())
VALUE_FIRST = Layout(lambda shape: shape, lambda value: value.roll(-(value.shape[0] // 3), 0))  # value, query, key
REVERSED = Layout(lambda shape: shape, lambda value: value.flip(0))         # by query minus key; ours: key minus query


def map_of(weight, bias, theirs, layout=SAME, of_bias=SAME):
    """Rows of a weight and its bias."""
    return {weight: (theirs + ".weight", layout), bias: (theirs + ".bias", of_bias)}


# Our step and tensor: their name within the block, and the layout.
COMMON = {
    **map_of("norm1.g", "norm1.b", "norm1"), **map_of("norm2.g", "norm2.b", "norm2"),
    **map_of("norm.g", "norm.b", "norm"), **map_of("head.w", "head.b", "head"),
    **map_of("embed_norm.g", "embed_norm.b", "patch_embed.norm"),
    **map_of("embed.w", "embed.b", "patch_embed.proj", WINDOW),
    **map_of("mlp.w_1", "mlp.b_1", "mlp.fc1"), **map_of("mlp.w_2", "mlp.b_2", "mlp.fc2"),
}
MERGE = {"merge.w": ("downsample.reduction.weight", SAME), **map_of("merge.norm_g", "merge.norm_b", "downsample.norm")}
LITV2 = {
    **COMMON, **map_of("mlp.conv_w", "mlp.conv_b", "mlp.dwconv.dwconv", ONE_CHANNEL),
    **{ours: row for name in ("h_qkv", "h_proj", "l_q", "l_kv", "l_proj")
       for ours, row in map_of(f"mixer.{name}", f"mixer.{name}_b", f"attn.{name}").items()},
    **map_of("deform.w", "deform.b", "downsample.dconv"),
    **map_of("deform.offset_w", "deform.offset_b", "downsample.dconv.conv_offset"),
    **map_of("deform.norm_g", "deform.norm_b", "downsample.norm_layer"),
    "deform.norm_mean": ("downsample.norm_layer.running_mean", SAME),
    "deform.norm_var": ("downsample.norm_layer.running_var", SAME),
}
ELSA = {
    **COMMON, **MERGE, **map_of("mixer.conv_w", "mixer.conv_b", "attn.attn.0"),
    **map_of("mixer.mix_w", "mixer.mix_b", "attn.attn.2", PIXEL), **map_of("mixer.w_o", "mixer.b_o", "attn.post_proj"),
    "mixer.ghost_add": ("attn.ghost_head", PLANE), "mixer.rpe": ("attn.rb", TRANSPOSED),
}
SWIN = {
    **COMMON, **MERGE, **map_of("mixer.w_qkv", "mixer.b_qkv", "attn.qkv"),
    **map_of("mixer.w_o", "mixer.b_o", "attn.proj"),
    "mixer.rpe": ("attn.relative_position_bias_table", REVERSED),
}
# ELSA's checkpoints use one name for two layouts of projections.
PROJECTIONS = {
    "elsa": map_of("mixer.w_qkv", "mixer.b_qkv", "attn.pre_proj", PIXEL),
    "windows": map_of("mixer.w_qkv", "mixer.b_qkv", "attn.pre_proj", VALUE_FIRST, VALUE_FIRST),
}
FAMILIES = {"litv2": LITV2, "elsa-swin": ELSA, "swin": SWIN}

# Counters, and indices that follow from sizes.
DERIVED = re.compile(r"num_batches_tracked$|relative_id$|relative_position_index$|attn_mask$")


def rules(name, steps):
    """For each of our paths: their path, our shape, the layout."""
    table = next(table for family, table in FAMILIES.items() if name.startswith(family + "-"))
    found = {}
    for each in steps:
        names = {tensor for tensor, _, _ in each.layer.tensors}
        more = PROJECTIONS["windows" if "rpe" in names else "elsa"]
        for tensor, shape, _ in each.layer.tensors:
            path = f"{each.path}.{tensor}"
            stage, block, last = re.fullmatch(r"(?:stage(\d)\.)?(?:block(\d+)\.)?(.*)", path).groups()
            theirs, layout = {**more, **table}[last]
            if block:
                theirs = f"layers.{int(stage) - 1}.blocks.{int(block) - 1}.{theirs}"
            elif theirs.startswith("downsample"):
                theirs = f"layers.{int(stage) - 2}.{theirs}"        # they merge after a stage, we before it
            found[path] = theirs, shape, layout
    return found


def renamed(name, steps, checkpoint):
    """Our tensors, and a line per error in theirs."""
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


# Keys that may hold the last step's weights, or their moving average.
SETS = {"--raw": ("model", "state_dict"), "--ema": ("model_ema", "state_dict_ema")}


def unwrapped(checkpoint, which=None):
    """The tensors of a checkpoint, and an error or None.  A file without sets is a raw set."""
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
