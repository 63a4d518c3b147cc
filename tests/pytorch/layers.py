"""Golden vectors for the layers between operators (reference/networks/layers/layers.h); see _golden.py, networks.py."""

import math
from types import SimpleNamespace

import torch

import networks
from _golden import folder, random_numbers, write

# Layer, batch, channels, grid or number of tokens, options, optional tensors that are left out.
CASES = [
    ("patch", 2, 3, "8x12", "--size 4 --channels 5", ""),
    ("patch", 2, 5, "9x7", "--size 3 --stride 2 --pad 1 --channels 6", "b"),
    ("patch", 1, 3, "15x8", "--size 7 --stride 4 --pad 3 --channels 4", ""),
    ("patch", 1, 17, "7x9", "--size 2x3 --stride 3x1 --pad 0x2 --channels 3", ""),
    ("patch", 2, 3, "11", "--size 4 --stride 3 --pad 2 --channels 2", ""),
    ("patch", 2, 3, "5x6x4", "--size 3x2x2 --stride 2x2x1 --pad 1x0x1 --channels 4", ""),
    ("patch", 1, 2, "2x2", "--size 5 --pad 3 --stride 2 --channels 3", ""),
    ("patch", 1, 2, "40x44", "--size 1 --channels 3", ""),
    ("depthwise", 2, 19, "6x7", "--size 3x3", ""),
    ("depthwise", 1, 32, "7x5", "--size 5x5", "b"),
    ("depthwise", 2, 7, "3x4x5", "--size 3x1x5", ""),
    ("depthwise", 1, 17, "2x2", "--size 7x5", ""),
    ("depthwise", 3, 1, "9", "--size 3", ""),
    ("depthwise", 2, 19, "6x5", "--size 3x3 --kind mean", "w b"),
    ("depthwise", 1, 5, "2x3x4", "--size 1x5x3 --kind mean", "w b"),
    ("mlp", 2, 7, "5x6", "", ""),
    ("mlp", 1, 5, "4", "--ratio 1", "b_1 b_2"),
    ("mlp", 1, 3, "24x24", "--ratio 3", ""),
    ("mlp", 2, 5, "5x7", "--depthwise", ""),
    ("mlp", 3, 9, "1x9", "--depthwise --ratio 2", "b_1"),
    ("mlp", 3, 2, "23x24", "--depthwise --ratio 2", "conv_b b_2"),
    ("linear", 2, 7, 13, "--channels 9", ""),
    ("linear", 2, 20, 1, "--channels 1", "b"),
    ("linear", 2, 7, 13, "--channels 19 --gelu", ""),
    ("linear", 3, 2, 5, "--channels 513 --gelu", "b"),
    ("linear", 3, 2, 300, "--channels 5 --gelu", "b"),
    ("norm", 2, 19, 7, "", ""),
    ("norm", 1, 64, 3, "--epsilon 0.5", ""),
    ("norm", 2, 18, 5, "--kind batch", ""),
    ("norm", 1, 1, 9, "--kind batch --epsilon 0.1", ""),
    ("merge", 2, 5, "4x6", "", ""),
    ("merge", 1, 33, "2x8", "", ""),
    ("deform", 2, 5, "6x8", "", ""),
    ("deform", 1, 17, "8x2", "", "b offset_b"),
    ("position", 3, 17, 6, "", ""),
    ("head", 3, 17, 12, "--classes 10", ""),
    ("head", 2, 33, 1, "--classes 1", "b"),
    ("patch", 2, 3, "8x12", "--size 4 --channels 5 --kind mean", ""),
    ("patch", 2, 19, "9x7", "--size 3x2 --stride 2 --pad 1 --channels 6 --kind mean", "b"),
]


def arguments(options):
    """The options as arguments of a function of networks.py."""
    given = {}
    for option in options.split("--")[1:]:
        name, value, *_ = *option.split(), True
        if value is not True and name != "kind":
            value = float(value) if "." in value else tuple(map(int, value.split("x")))
            value = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        given[name] = value
    return given


def main():
    (folder() / "layers").mkdir(exist_ok=True)
    for seed, (name, batch, C, grid, options, without) in enumerate(CASES, 301):
        given, sizes = arguments(options), (grid,) if isinstance(grid, int) else tuple(map(int, grid.split("x")))
        mean = given.pop("kind", None) if name == "depthwise" else None
        if name == "patch":
            given.setdefault("stride", given["size"])
        layer = getattr(networks, name)(C, sizes, **given)
        t = networks.weights([SimpleNamespace(path="", layer=layer)],
                             lambda n, shape, fan: random_numbers(1000 * seed + n, shape, fan ** -0.5))
        t = {path[1:]: value for path, value in t.items()}
        x = random_numbers(1000 * seed + 999, (batch, math.prod(sizes), C), 1)
        for absent in without.split():
            t[absent] = torch.full_like(t[absent], 1 / t["w"].shape[1] if mean and absent == "w" else 0)
        y = layer.run(t, x)
        kept = {path: value for path, value in t.items() if path not in without.split()}
        words = f"--grid {grid} {options}" if isinstance(grid, str) else options
        write("layers/" + name, seed - 300, {"x": x, **kept, "y_expected": y}, words.strip())


if __name__ == "__main__":
    main()
