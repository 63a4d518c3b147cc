"""Train the tiny network of _learned.py with each operator on Fashion-MNIST, and write its answers.

    /usr/bin/python3 tests/pytorch/train.py              answers of the committed weights, in some minutes
    /usr/bin/python3 tests/pytorch/train.py lisa ...     train these first

Training sees IMAGES images, each at most once, with one thread: it is reproducible with one library on one machine.
Accuracies of operators are not comparable.  In tests/golden/learned, OPERATOR.safetensors holds the weights in float32
and, in its metadata, seed, images, minutes and accuracy.  OPERATOR-answers.safetensors holds y_expected, the logits of
the first 1,000 test images in float64; predictions, the classes of all 10,000; and for chopd start.boxes, the boxes of
the second block's mixer before training.  Needs torch, numpy and the data set (Debian: dataset-fashion-mnist).
"""

import gzip
import pathlib
import sys
import time

import numpy
import torch

import _golden
import _learned
from _golden import safetensors

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
FOLDER = pathlib.Path("tests/golden/learned")
SEED, BATCH, RATE, DECAY, SHOWN = 1, 32, 3e-3, 0.05, 1000
IMAGES = {"lisa": 24000, "structsa": 60000, "elsa": 20000, "chopd": 60000, "hilo": 12000}


def read(part):
    """Images [B, 28, 28] in float64, from 0 to 1, and their classes."""
    images = numpy.frombuffer(gzip.open(DATA / f"{part}-images-idx3-ubyte.gz").read(), "u1", offset=16)
    classes = numpy.frombuffer(gzip.open(DATA / f"{part}-labels-idx1-ubyte.gz").read(), "u1", offset=8)
    return torch.tensor(images.reshape(-1, 28, 28), dtype=torch.float64) / 255, torch.tensor(classes, dtype=torch.long)


def train(operator):
    """Train; return the weights and the minutes of processor time."""
    images, classes = read("train")
    images = images.float()
    w = {name: tensor.requires_grad_() for name, tensor in _learned.start(operator, SEED).items()}
    # No weight decay for biases, norms, positions and the edges of boxes.
    fades = [a for name, a in w.items() if a.dim() > 1 and not name.endswith(("boxes", "table"))]
    stays = [a for name, a in w.items() if not any(a is b for b in fades)]
    steps = IMAGES[operator] // BATCH
    adam = torch.optim.AdamW([{"params": fades, "weight_decay": DECAY}, {"params": stays, "weight_decay": 0}], lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, total_steps=steps, pct_start=0.1)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(SEED))
    begin, losses = time.process_time(), []
    for step in range(steps):
        batch = order[step * BATCH:][:BATCH]
        loss = torch.nn.functional.cross_entropy(_learned.network(w, operator, images[batch]), classes[batch])
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(w.values(), 1)
        adam.step()
        schedule.step()
        # Sides of boxes are at least half a token.
        for boxes in (a.data for name, a in w.items() if name.endswith("boxes")):
            middle = (boxes[..., :2] + boxes[..., 2:]) / 2
            half = ((boxes[..., 2:] - boxes[..., :2]) / 2).clamp(min=0.25)
            boxes[:] = torch.cat([middle - half, middle + half], dim=-1)
        losses.append(float(loss))
        if step % 100 == 99:
            print(f"{operator}  step {step + 1} of {steps}  loss {numpy.mean(losses[-100:]):.3f}  "
                  f"{(time.process_time() - begin) / 60:.1f} minutes", flush=True)
    return {name: tensor.detach() for name, tensor in w.items()}, (time.process_time() - begin) / 60


def answer(operator, w):
    """Logits of all test images, in float64, and the accuracy."""
    images, classes = read("t10k")
    w = {name: tensor.double() for name, tensor in w.items()}
    with torch.no_grad():
        # Check the operator against its literal form on the input of the second block's mixer.
        mixed = []
        _learned.network(w, operator, images[:3], mixed)
        apart = _learned.agrees(operator, _learned.below(w, "stage1.block2.mixer."), mixed[1])
        assert apart < 1e-12, f"{operator}: {apart:.2g} from its literal form"
        logits = torch.cat([_learned.network(w, operator, part) for part in images.split(100)])
    return logits, float((logits.argmax(1) == classes).double().mean())


def main():
    FOLDER.mkdir(exist_ok=True)
    for operator in sys.argv[1:] or _learned.MIXERS:
        path = FOLDER / f"{operator}.safetensors"
        if sys.argv[1:]:
            w, minutes = train(operator)
            logits, right = answer(operator, w)
            path.write_bytes(safetensors(w, {"operator": operator, "data": "Fashion-MNIST", "seed": str(SEED),
                "images": str(IMAGES[operator]), "minutes": f"{minutes:.0f}", "accuracy": f"{right:.4f}"}))
        else:
            w, metadata = _golden.read(path)
            logits, right = answer(operator, w)
            assert f"{right:.4f}" == metadata["accuracy"], f"{operator}: {right:.4f}, expected {metadata['accuracy']}"
        answers = {"y_expected": logits[:SHOWN], "predictions": logits.argmax(1)}
        if operator == "chopd":
            answers["start.boxes"] = _learned.start(operator, SEED)["stage1.block2.mixer.boxes"]
        _golden.renew(FOLDER / f"{operator}-answers.safetensors", safetensors(answers, {"operator": operator}),
                      f"accuracy {right:.4f}")


if __name__ == "__main__":
    if DATA.is_dir():
        main()
    else:
        print(f"{DATA} is not there (Debian: dataset-fashion-mnist)")
