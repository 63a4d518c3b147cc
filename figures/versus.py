#!/usr/bin/env python3
"""Our fast forms against PyTorch, both sides in one run.

    python3 figures/versus.py [lisa] [msa] [--threads 1,2] [--rounds 5] [--build build]

Needs python3-torch and python3-numpy.  Each case is first checked: the same
tensors go through `twicetold apply` and through PyTorch, and must agree.
Then the two sides take turns for a number of rounds; what is printed is the
median over the rounds of each side's median, and the ratio of the medians.

PyTorch is timed twice: stock, and tuned as a user in earnest would (its
allocator keeps large blocks, AVX-512 kernels).  Environment variables that
make OpenBLAS choose slower kernels are taken out for both sides.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184",
         "MALLOC_TOP_PAD_": "268435456", "ATEN_CPU_CAPABILITY": "avx512"}

# One row a case: operator, options of measure and apply, sizes.
CASES = {
    "lisa": dict(operator="lisa", grid=(56, 56), channels=96, latent=16, options=["--equation", "10"]),
    "lisa-7": dict(operator="lisa", grid=(56, 56), channels=96, latent=16, options=["--equation", "7"]),
    "msa": dict(operator="msa", grid=(56, 56), channels=64, latent=0, options=[]),
}


def draw(case):
    """Random x and parameters of a case, float32, as a dict of tensors."""
    import torch
    generator = torch.Generator().manual_seed(1)

    def normal(fan, *shape):
        return torch.randn(*shape, generator=generator) / fan ** 0.5

    height, width = case["grid"]
    tokens, channels, latent = height * width, case["channels"], case["latent"]
    tensors = {"x": normal(1, 1, tokens, channels), "w_qkv": normal(channels, 3 * channels, channels),
               "w_o": normal(channels, channels, channels)}
    if case["operator"] == "lisa" and "10" in case["options"]:
        tensors.update(wa=normal(tokens, tokens, channels, latent), wb=normal(tokens, tokens, latent))
    elif case["operator"] == "lisa":
        offsets = (2 * height - 1) * (2 * width - 1)
        tensors.update(ea=normal(tokens, offsets, channels, latent), eb=normal(tokens, offsets, latent))
    if case["operator"] == "lisa":
        tensors.update(ba=normal(channels, channels, latent), bb=normal(channels, channels, latent))
    return tensors


def forms(case, t):
    """PyTorch's ways to compute a case: name -> function of nothing."""
    import torch
    import torch.nn.functional as F
    height, width = case["grid"]
    tokens, channels = height * width, case["channels"]

    def project():
        return F.linear(t["x"], t["w_qkv"]).chunk(3, dim=-1)

    if case["operator"] == "msa":
        def plain():
            q, k, v = project()
            return F.linear(F.softmax(q @ k.transpose(1, 2) * channels ** -0.5, dim=-1) @ v, t["w_o"])

        def chunked():      # 256 queries at a time, so that scores stay in the cache
            q, k, v = project()
            keys = k[0].t().contiguous()
            parts = [F.softmax((part * channels ** -0.5) @ keys, dim=-1) @ v[0] for part in q[0].split(256)]
            return F.linear(torch.cat(parts)[None], t["w_o"])

        return {"plain": plain, "chunked": chunked}

    if "10" not in case["options"]:
        height, width = 2 * height, 2 * width   # a fast size above 2n - 1

        def flip(table):                        # a correlation in e is a convolution with e flipped
            rows, columns = case["grid"]
            table = table.reshape(2 * rows - 1, 2 * columns - 1, -1).flip(0, 1)
            return F.pad(table, (0, 0, 0, 1, 0, 1)).roll((1 - rows, 1 - columns), (0, 1))

        wa = flip(t["ea"]).reshape(height, width, channels, -1)
        wb = flip(t["eb"])
    else:
        wa, wb = t["wa"].reshape(height, width, channels, -1), t["wb"].reshape(height, width, -1)
    rows, columns = case["grid"]

    def literal():
        """Fig. 7, on the grid's two axes; [N, C, D] is really there."""
        q, k, v = (a.reshape(rows, columns, channels) for a in project())
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        wa_hat, wb_hat = torch.fft.rfft2(wa, dim=(0, 1)), torch.fft.rfft2(wb, dim=(0, 1))
        k_hat, v_hat = (torch.fft.rfft2(a, s=(height, width), dim=(0, 1)) for a in (k, v))
        ga = torch.fft.irfft2(k_hat[..., None] * wa_hat, s=(height, width), dim=(0, 1))[:rows, :columns]
        gb = torch.fft.irfft2(v_hat[..., None] * wb_hat[:, :, None], s=(height, width), dim=(0, 1))[:rows, :columns]
        a = torch.einsum("yxc,yxcd->yxd", q, ga + t["ba"])
        y = torch.einsum("yxd,yxkd->yxk", a, gb + t["bb"])
        return F.linear(y.reshape(1, tokens, channels), t["w_o"])

    wa_cached = torch.fft.rfft2(wa.permute(3, 2, 0, 1).contiguous())
    wb_cached = torch.fft.rfft2(wb.permute(2, 0, 1).contiguous())

    def streamed():
        """Channels first, spectra cached, one latent at a time."""
        q, k, v = F.linear(t["x"][0], t["w_qkv"]).t().contiguous().reshape(3, channels, rows, columns)
        q, k = F.normalize(q, dim=0), F.normalize(k, dim=0)
        k_hat, v_hat = torch.fft.rfft2(k, s=(height, width)), torch.fft.rfft2(v, s=(height, width))
        y = torch.zeros(channels, rows, columns)
        for d in range(case["latent"]):
            ga = torch.fft.irfft2(k_hat * wa_cached[d], s=(height, width))[:, :rows, :columns]
            a = (q * (ga + t["ba"][:, d, None, None])).sum(0)
            gb = torch.fft.irfft2(v_hat * wb_cached[d], s=(height, width))[:, :rows, :columns]
            y.addcmul_(a.expand_as(gb), gb + t["bb"][:, d, None, None])
        return F.linear(y.reshape(channels, tokens).t().contiguous()[None], t["w_o"])

    return {"literal": literal, "streamed": streamed}


def write_safetensors(path, tensors):
    import json
    import struct
    header, data, at = {}, [], 0
    for name, tensor in tensors.items():
        block = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(block)]}
        data.append(block)
        at += len(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def read_y(path):
    import json
    import struct
    import numpy
    with open(path, "rb") as f:
        raw = f.read()
    n, = struct.unpack("<Q", raw[:8])
    entry = json.loads(raw[8:8 + n])["y"]
    return numpy.frombuffer(raw[8 + n:], dtype="<f4").reshape(entry["shape"])


def torch_side(name, threads, rounds_wanted):
    """A child process: answers each line on stdin with its forms' medians."""
    import torch
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    case = CASES[name]
    ways = forms(case, draw(case))
    for way in ways.values():
        way()
    for _ in sys.stdin:
        row = []
        for way in ways.values():
            times = []
            for _ in range(rounds_wanted):
                start = time.perf_counter()
                way()
                times.append(time.perf_counter() - start)
            row.append(statistics.median(times))
        print(*row, flush=True)


def environment(threads, tuned):
    e = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    e.update(OMP_NUM_THREADS=str(threads), **(TUNED if tuned else {}))
    return e


def options(case):
    grid = "x".join(map(str, case["grid"]))
    return ["--grid", grid] + case["options"]


def check(name, build):
    """The largest difference between the two sides, over the largest entry."""
    import torch
    torch.set_grad_enabled(False)
    case = CASES[name]
    tensors = draw(case)
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
        write_safetensors(source, tensors)
        subprocess.run([os.path.join(build, "twicetold"), "apply", case["operator"], *options(case), source, "-o", target],
                       check=True)
        ours = torch.from_numpy(read_y(target).copy())
    worst = 0.0
    for way in forms(case, tensors).values():
        theirs = way()
        worst = max(worst, float((ours - theirs).abs().max() / theirs.abs().max()))
    if not worst < 1e-4:
        sys.exit(f"{name}: the two sides differ by {worst:.1e}; not timed")
    return worst


def ours_once(case, threads, build):
    command = [os.path.join(build, "measure"), case["operator"], *options(case), "--channels", str(case["channels"]),
               "--form", "fast", "--threads", str(threads), "--repeats", "15", "--without", "b_qkv,b_o" + (",rpe" if case["operator"] == "msa" else "")]
    if case["latent"]:
        command += ["--sizes", f"D={case['latent']}"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True,
                           env=environment(threads, False)).stdout.splitlines()
    head, row = lines[0].lstrip("#").split(), lines[-1].split()
    return float(row[head.index("median_seconds")])


def versus(name, threads, rounds, build):
    case = CASES[name]
    difference = check(name, build)
    sides = {}
    for label, tuned in (("stock", False), ("tuned", True)):
        sides[label] = subprocess.Popen([sys.executable, __file__, name, "--child", str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(threads, tuned))
    seen = {"ours": []}
    ways = list(forms(case, draw(case)))
    for _ in range(rounds):
        seen["ours"].append(ours_once(case, threads, build))
        for label, side in sides.items():
            side.stdin.write("go\n")
            side.stdin.flush()
            for way, seconds in zip(ways, map(float, side.stdout.readline().split())):
                seen.setdefault(f"{label} {way}", []).append(seconds)
    for side in sides.values():
        side.stdin.close()
        side.wait()
    ours = statistics.median(seen["ours"])
    for label, times in seen.items():
        median = statistics.median(times)
        print(f"{name}\t{threads}\t{label}\t{1e3 * median:.3f}\t{median / ours:.2f}\t{difference:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default="build")
    parser.add_argument("--child", type=int)
    a = parser.parse_args()
    if a.child:
        return torch_side(a.cases[0], a.child, 7)
    import torch
    about = subprocess.run([os.path.join(a.build, "figures", "machine")], check=True, capture_output=True, text=True,
                           env=environment(1, False)).stdout
    print(about, end="")
    print(f"# PyTorch {torch.__version__}; milliseconds are medians, both sides in one run")
    print("#case\tthreads\tside\tmilliseconds\tratio_to_ours\tlargest_relative_difference")
    for name in a.cases or CASES:
        for threads in map(int, a.threads.split(",")):
            versus(name, threads, a.rounds, a.build)


main()
