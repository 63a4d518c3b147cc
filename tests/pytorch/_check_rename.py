"""Test rename.py, against the authors' names, shapes and order of rows, restated here as in their checkpoints.

    python3 tests/pytorch/_check_rename.py FOLDER       (a folder for temporary files)
"""

import math
import pathlib
import subprocess
import sys

import torch

import networks
import rename
from _golden import read

FOLDER = pathlib.Path(sys.argv[1])
RENAME = str(pathlib.Path(__file__).with_name("rename.py"))


def pair(name, weight, bias=True):
    yield f"{name}.weight", weight
    if bias:
        yield f"{name}.bias", weight[:1]


def both_ends(C, classes):
    yield from pair("patch_embed.proj", (C, 3, 4, 4))
    yield from pair("patch_embed.norm", (C,))
    yield from pair("norm", (8 * C,))
    yield from pair("head", (classes, 8 * C))


def pairs(path, **shapes):
    for name, shape in shapes.items():
        yield from pair(f"{path}.{name}", shape)


def merge(layer, c):
    yield from pair(f"{layer}.downsample.reduction", (2 * c, 4 * c), bias=False)
    yield from pair(f"{layer}.downsample.norm", (4 * c,))


def litv2(C, depths, classes=1000):
    yield from both_ends(C, classes)
    for i, depth in enumerate(depths):
        c, layer = C * 2 ** i, f"layers.{i}"
        for block in (f"{layer}.blocks.{j}" for j in range(depth)):
            if i > 1:
                low = math.floor(0.9 * (c // 32)) * 32 if i == 2 else c
                yield from pairs(block, norm1=(c,))
                if low < c:
                    yield from pairs(f"{block}.attn", h_qkv=(3 * (c - low), c), h_proj=(c - low, c - low))
                yield from pairs(f"{block}.attn", l_q=(low, c), l_kv=(2 * low, c), l_proj=(low, low))
            yield from pairs(block, norm2=(c,))
            yield from pairs(f"{block}.mlp", fc1=(4 * c, c), fc2=(c, 4 * c))
            yield from pair(f"{block}.mlp.dwconv.dwconv", (4 * c, 1, 3, 3))
        if i < 3:
            yield from pairs(f"{layer}.downsample", dconv=(2 * c, c, 2, 2), norm_layer=(2 * c,))
            yield from pair(f"{layer}.downsample.dconv.conv_offset", (8, c, 2, 2))
            yield f"{layer}.downsample.norm_layer.running_mean", (2 * c,)
            yield f"{layer}.downsample.norm_layer.running_var", (2 * c,)
            yield f"{layer}.downsample.norm_layer.num_batches_tracked", ()


def elsa_swin(C, depths, group, classes=1000):
    yield from both_ends(C, classes)
    for i, depth in enumerate(depths):
        c, layer, heads = C * 2 ** i, f"layers.{i}", C * 2 ** i // 32
        Q = -(-(c // 3 * 2) // group) * group
        for block in (f"{layer}.blocks.{j}" for j in range(depth)):
            if i < 3:
                yield f"{block}.attn.ghost_head", (1, c, 7, 7)
                yield from pair(f"{block}.attn.pre_proj", (2 * Q + c, c, 1, 1))
                yield from pair(f"{block}.attn.attn.0", (Q, group, 7, 7))
                yield from pair(f"{block}.attn.attn.2", (49 * heads, Q, 1, 1))
            else:
                yield f"{block}.attn.rb", (heads, 169)
                yield f"{block}.attn.relative_id", (2401,)
                yield from pair(f"{block}.attn.pre_proj", (3 * c, c))
            yield from pair(f"{block}.attn.post_proj", (c, c))
            yield from pairs(block, norm1=(c,), norm2=(c,))
            yield from pairs(f"{block}.mlp", fc1=(4 * c, c), fc2=(c, 4 * c))
        if i < 3:
            yield from merge(layer, c)


def swin(C, depths, classes=1000):
    yield from both_ends(C, classes)
    for i, depth in enumerate(depths):
        c, layer, heads = C * 2 ** i, f"layers.{i}", C * 2 ** i // 32
        for j in range(depth):
            block = f"{layer}.blocks.{j}"
            if j % 2 and i < 3:
                yield f"{block}.attn_mask", ((8 >> i) ** 2, 49, 49)
            yield f"{block}.attn.relative_position_bias_table", (169, heads)
            yield f"{block}.attn.relative_position_index", (49, 49)
            yield from pairs(f"{block}.attn", qkv=(3 * c, c), proj=(c, c))
            yield from pairs(block, norm1=(c,), norm2=(c,))
            yield from pairs(f"{block}.mlp", fc1=(4 * c, c), fc2=(c, 4 * c))
        if i < 3:
            yield from merge(layer, c)


SMALL, MEDIUM = (2, 2, 6, 2), (2, 2, 18, 2)
PUBLISHED = {
    "litv2-s": (litv2(96, SMALL), 27844000),
    "litv2-m": (litv2(96, MEDIUM), 48830368),
    "litv2-b": (litv2(128, MEDIUM), 86520704),
    "elsa-swin-t": (elsa_swin(96, SMALL, 4), 29140978),
    "elsa-swin-s": (elsa_swin(96, MEDIUM, 8), 52874626),
    "elsa-swin-b": (elsa_swin(128, MEDIUM, 8), 92682464),
    "swin-t": (swin(96, SMALL), 28288354),
}


def filled(layout):
    """Numbers that are distinct within each tensor, also in float32."""
    tensors, start = {}, 1
    for name, shape in layout:
        tensors[name] = torch.arange(start, start + math.prod(shape), dtype=torch.float32).reshape(shape)
        start = (start + math.prod(shape)) % 2 ** 23
    return tensors


def whole_networks():
    """Each published network gives exactly our paths and shapes."""
    for name, (layout, learned) in PUBLISHED.items():
        theirs = {path: torch.empty(shape, device="meta") for path, shape in layout}
        counted = sum(math.prod(shape) for path, shape in ((p, t.shape) for p, t in theirs.items())
                      if not path.endswith(("running_mean", "running_var", "num_batches_tracked", "relative_id",
                                            "relative_position_index", "attn_mask")))
        assert counted == learned, f"{name}: {counted} numbers"
        steps = networks.placed(networks.network(name))
        ours, wrong = rename.renamed(name, steps, theirs)
        assert not wrong, wrong
        assert {path: tuple(t.shape) for path, t in ours.items()} == networks.shapes(steps), name
        assert networks.parameters(steps) == learned, name
        assert networks.shapes(steps) == networks.shapes(networks.placed(networks.network(name), (448, 448))), name


def small(name):
    layout = {"litv2-s": litv2(96, (1, 1, 2, 1), 10), "elsa-swin-t": elsa_swin(96, (1, 1, 2, 1), 4, 10),
              "swin-t": swin(96, (1, 1, 2, 1), 10)}[name]
    steps = networks.placed(networks.network(name, depths=(1, 1, 2, 1), classes=10))
    return filled(layout), steps


def both(name):
    theirs, steps = small(name)
    ours, wrong = rename.renamed(name, steps, theirs)
    assert not wrong, wrong
    return theirs, ours


def values():
    """Numbers arrive at their places."""
    theirs, ours = both("litv2-s")
    for path, source in [("stage3.block2.mixer.h_qkv", "layers.2.blocks.1.attn.h_qkv.weight"),
                         ("stage1.block1.mlp.conv_w", "layers.0.blocks.0.mlp.dwconv.dwconv.weight"),
                         ("stage2.deform.offset_w", "layers.0.downsample.dconv.conv_offset.weight"),
                         ("stage4.deform.norm_var", "layers.2.downsample.norm_layer.running_var"),
                         ("norm.g", "norm.weight"), ("stage1.embed.w", "patch_embed.proj.weight")]:
        assert ours[path].flatten().tolist() == theirs[source].flatten().tolist(), path

    theirs, ours = both("elsa-swin-t")
    last, C = "layers.3.blocks.0.attn", 768
    for bias, kind in (("w_qkv", "weight"), ("b_qkv", "bias")):
        value, query, key = theirs[f"{last}.pre_proj.{kind}"].split(C)
        assert ours[f"stage4.block1.mixer.{bias}"].equal(torch.cat([query, key, value])), bias
    table, rb = ours["stage4.block1.mixer.rpe"], theirs[f"{last}.rb"]
    assert all(table[p, h] == rb[h, p] for p in (0, 5, 168) for h in (0, 7, 23))
    Q, first = 256, "layers.2.blocks.1.attn"
    for rows in (slice(0, Q), slice(Q, 2 * Q), slice(2 * Q, None)):     # query, key, value: our order
        assert ours["stage3.block2.mixer.w_qkv"][rows].equal(theirs[f"{first}.pre_proj.weight"][rows, :, 0, 0])
    assert ours["stage3.block2.mixer.ghost_add"][7, 7 * 3 + 2] == theirs[f"{first}.ghost_head"][0, 7, 3, 2]
    assert ours["stage3.block2.mixer.mix_w"][49 * 2 + 5, 9] == theirs[f"{first}.attn.2.weight"][49 * 2 + 5, 9, 0, 0]
    assert ours["stage2.merge.w"].equal(theirs["layers.0.downsample.reduction.weight"])

    theirs, ours = both("swin-t")
    assert ours["stage3.block2.mixer.w_qkv"].equal(theirs["layers.2.blocks.1.attn.qkv.weight"])
    for stage in range(1, 5):                                   # a query at (3, 4) of a window, and some keys
        table = theirs[f"layers.{stage - 1}.blocks.0.attn.relative_position_bias_table"]
        window = ours[f"stage{stage}.block1.mixer.rpe"].unflatten(0, (13, 13))
        for row, column in ((0, 0), (2, 6), (6, 1), (3, 4)):
            theirs_at = (3 - row + 6) * 13 + 4 - column + 6     # query minus key, shifted to begin at 0
            assert window[row - 3 + 6, column - 4 + 6].equal(table[theirs_at]), (stage, row, column)


def every_number_arrives():
    """Each number arrives once."""
    for name in ("litv2-s", "elsa-swin-t", "swin-t"):
        theirs, steps = small(name)
        ours, _ = rename.renamed(name, steps, theirs)
        for path, (source, _, _) in rename.rules(name, steps).items():
            assert ours[path].flatten().sort().values.equal(theirs[source].flatten().sort().values), path


def errors():
    """All errors are listed, with their paths."""
    theirs, steps = small("elsa-swin-t")
    del theirs["layers.1.blocks.0.attn.attn.0.bias"]
    theirs["layers.3.blocks.0.attn.rb"] = theirs["layers.3.blocks.0.attn.rb"].t()
    theirs["layers.0.blocks.0.attn.logit_scale"] = torch.ones(3)
    _, wrong = rename.renamed("elsa-swin-t", steps, theirs)
    assert wrong == [
        "layers.1.blocks.0.attn.attn.0.bias: missing; it would be stage2.block1.mixer.conv_b",
        "layers.3.blocks.0.attn.rb: found [169, 24], expected [24, 169]; it would be stage4.block1.mixer.rpe",
        "layers.0.blocks.0.attn.logit_scale: extra",
    ], wrong


def command():
    """The command writes no file for a wrong checkpoint."""
    theirs = filled(litv2(96, SMALL))
    source, target = FOLDER / "authors.pth", FOLDER / "ours.safetensors"

    def ran(name, *which):
        asked = [sys.executable, RENAME, *which, name, str(source), str(target)]
        return subprocess.run(asked, capture_output=True, text=True)

    def rejected(answer, line):
        assert answer.returncode == 2 and not target.exists() and answer.stderr == f"{source}: {line}\n", answer

    torch.save({"model": theirs, "epoch": 3}, source)
    for name in ("litv2-m", "swin-t", "litv2", "lisanet-i-t"):
        answer = ran(name)
        assert answer.returncode == 2 and answer.stderr and not target.exists(), (name, answer)
    answer = ran("litv2-s")
    assert answer.returncode == 0, answer.stderr
    expected, _ = rename.renamed("litv2-s", networks.placed(networks.network("litv2-s")), theirs)
    found, _ = read(target)
    assert list(found) == list(expected)
    for path, value in expected.items():
        assert found[path].shape == value.shape and found[path].equal(value), path
    target.unlink()

    # A file with two sets of weights needs an option.
    torch.save({"state_dict": theirs, "state_dict_ema": {path: value + 1 for path, value in theirs.items()}}, source)
    rejected(ran("litv2-s"),
             "found state_dict and state_dict_ema, expected one of them, or --raw or --ema to say which")
    for which, more in (("--raw", 0), ("--ema", 1)):
        answer = ran("litv2-s", which)
        assert answer.returncode == 0, answer.stderr
        assert read(target)[0]["norm.g"].equal(expected["norm.g"] + more), which
    target.unlink()
    torch.save({"model": theirs}, source)
    rejected(ran("litv2-s", "--ema"), "--ema: found model, expected model_ema or state_dict_ema")
    torch.save(theirs, source)
    assert ran("litv2-s", "--raw").returncode == 0
    source.unlink()
    target.unlink()


for question in (whole_networks, values, every_number_arrives, errors, command):
    question()
    print(question.__name__.replace("_", " "))
