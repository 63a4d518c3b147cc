"""notebooks.py -- a notebook for each chapter, of the chapter's own commands

Cells of code are blocks of shell or Python, commands of twicetold or measure with options in a sentence, and the
commands of exercises.  The text before them becomes Markdown.  If the chapter has a live figure of an operator, cells
apply it with the options of LAYERS.  Commands that run make or a suite (exact/) are shown, not run.  Cells are plain
Python: sh() of the first cell runs a command.
"""
import glob, json, os, re
from string import Template
from weave import exercise, lines_of, replace, text_of

SHELL = re.compile(r'    (?:build/|cc |make )')
INLINE = re.compile(r'`(build/(?:twicetold|measure) [^`]*--[^`]*)`')
NOT_RUN = re.compile(r'\bmake |exact/')
OF_PARAMETERS = 'channels', 'sizes'        # options that the operator does not have
LAYERS = {'msa': '--grid 28x28 --channels 64', 'lisa': '--grid 14x14 --channels 96 --heads 6 --sizes D=16',
          'structsa': '--grid 28x28 --channels 64 --kernel 3x3 --sizes D=8 --equation 5',
          'elsa': '--grid 28x28 --channels 96 --heads 3 --kernel 7',
          'chopd': '--grid 14x14 --channels 16 --sizes R=16,G=4,D=16,S=8', 'hilo': '--grid 14x14 --channels 384 --heads 12'}

FIRST = Template("""\
import gzip, json, os, struct, subprocess, sys, tempfile, zlib
import numpy

if "tree" not in globals():         # once, if this cell is run again
    tree, build = map(os.path.abspath, ("$tree", ".."))
os.environ.update(BUILD=build, TWICETOLD_LIBRARY=build + "/lib", LC_ALL="C")
os.environ["PATH"] = ":".join([build, build + "/figures/bench", build + "/figures/ladders", os.environ["PATH"]])
sys.path.insert(0, tree + "/reference/library")
import twicetold

# Commands write into a scratch folder, which has links to the folders of the repository.
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
for name in ("build", "chapters", "figures", "naive", "tests"):
    os.symlink(build if name == "build" else f"{tree}/{name}", name)

def sh(command):
    # Run a command of the shell and print what it prints.
    done = subprocess.run(["sh", "-ec", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {command}")
""")
PHOTO = r"""
def photo(name):
    # Image 0 of Fashion-MNIST, a boot, as a PNG of 28 x 28 pixels; without the data set, noise.
    path = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"
    grey = gzip.open(path).read(800)[16:] if os.path.exists(path) else numpy.random.default_rng(1).bytes(784)
    rows = zlib.compress(b"".join(b"\0" + grey[first:first + 28] for first in range(0, 784, 28)))
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in (b"IHDR", struct.pack(">2I5B", 28, 28, 8, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b""):
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))

"""
APPLIED = Template("""\
with open("in.safetensors", "rb") as file:
    header, data = json.loads(file.read(struct.unpack("<Q", file.read(8))[0])), file.read()
tensors = {name: numpy.frombuffer(data[slice(*each["data_offsets"])], "f4").reshape(each["shape"])
           for name, each in header.items() if name != "__metadata__"}
options = dict($options)
naive, fast = (twicetold.$operator(**tensors, **options, form=form) for form in ("naive", "fast"))
print(f"{naive.shape}, largest difference {abs(fast - naive).max() / naive.std():.1e}")
""")
PLOTTED = Template("""\
try:
    import matplotlib.pyplot as plot
except ImportError:
    print("no plot: matplotlib is missing (make deps DEVELOPER=1)")
else:
    # How much y of token i changes if token j of x is scaled, in double.
    H, W = map(int, options["grid"].split("x"))
    i, x = H // 2 * W + W // 2, tensors["x"][:1].astype(float)
    plan = twicetold.plan("$operator", **{**tensors, **options, "x": x})
    y, influence = plan(x)[0, i], numpy.empty(H * W)
    for j in range(H * W):
        scaled = x.copy()
        scaled[0, j] *= 1.001
        influence[j] = numpy.linalg.norm(plan(scaled)[0, i] - y) / 0.001

    command = $timed
    head, *rows = subprocess.check_output(command, shell=True, text=True).lstrip("#").splitlines()
    rows = [dict(zip(head.split("\\t"), row.split("\\t"))) for row in rows]
    figure, axes = plot.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
    for axis, title, values in ((axes[0], f"Influence of each token on token {i}", influence),
                                (axes[1], "Error of each token", abs(fast - naive)[0].max(axis=1))):
        figure.colorbar(axis.imshow(values.reshape(H, W)), ax=axis)
        axis.set_title(title)
    for form in ("naive", "plain", "fast"):
        times = [(int(row["tokens"]), float(row["median_seconds"])) for row in rows if row["form"] == form]
        axes[2].semilogy(*zip(*times), "o-", label=form)
    axes[2].set(title="Seconds of a run, by tokens")
    axes[2].legend()
    plot.show()
""")


def blocks_of(page):
    """(heading, text, kind, code) of each block of commands of a page."""
    heading = text = ''
    for block in re.findall(r'^```.*\n(?:.*\n)*?```$|^(?:(?!```).+\n)+', text_of(page), re.M):
        fence = re.fullmatch(r'```(.*)\n((?:.*\n)*)```', block)
        if block[0] == '#':
            heading = block.strip()
        elif SHELL.match(block):
            yield heading, text, 'sh', re.sub('^    ', '', block, flags=re.M)
        elif fence and fence[1] in ('sh', 'python'):
            yield heading, text, *fence.groups()
        elif not fence and block[0] not in '|!' and '<!--' not in block:
            text = block.strip()
            for item in re.split(r'^(?=- |\d+\. )', text, flags=re.M):
                commands = INLINE.findall(item.replace('\n', ' '))
                yield from ((heading, item.strip(), 'sh', command) for command in commands)


def applied(operator, options):
    """Cells that apply an operator to tokens of pictures, by the program and in Python; options are pairs of words."""
    def words(*without):
        return ' '.join(f'--{name} {value}' for name, value in options if name not in without)

    apply = f'build/twicetold apply {operator} {words(*OF_PARAMETERS)}'
    yield 'markdown', f'## Apply {operator}\n\nBoth forms get the same tokens of pictures and random parameters.'
    yield 'sh', (f'build/twicetold parameters {operator} {words()} -o in.safetensors\n'
                 f'{apply} --form naive in.safetensors -o naive.safetensors\n'
                 f'{apply} in.safetensors -o fast.safetensors\n'
                 'build/twicetold compare --tolerance 1e-3 fast.safetensors naive.safetensors')
    yield 'markdown', 'The same in Python:'
    named = ', '.join(f'{name}="{value}"' for name, value in options if name not in OF_PARAMETERS)
    yield 'python', APPLIED.substitute(operator=operator, options=named)
    yield 'markdown', 'Which tokens change the middle one, where do the forms differ, and how long do they take?'
    timed = f'measure {operator} --grid 4x4 7x7 10x10 14x14 {words("grid")} --form naive plain fast --seconds 0.1'
    yield 'python', PLOTTED.substitute(operator=operator, timed=repr(timed + ' 2>/dev/null'))


def cells_of(page, tree):
    """(kind, text) of all cells: markdown, python or sh."""
    blocks = list(blocks_of(page))
    files = glob.glob(f'chapters/exercises/{re.search("[0-9]+", page)[0]}.*.md')
    tasks = [(os.path.basename(file)[:-3], *exercise(file)) for file in sorted(files, key=lambda f: (len(f), f))]
    tasks = [(f'{number} {title}', found) for number, title, _, parts in tasks if 'Command' in (found := dict(parts))]
    yield 'markdown', f'{lines_of(page)[0]}\n\nCommands of [the chapter](). The first cell prepares the others.'
    photos = sorted({*re.findall(r'\S+\.png', ' '.join(code for *_, code in blocks))})
    taken = ''.join(f'photo("{name}")\n' for name in photos)
    yield 'python', FIRST.substitute(tree=tree) + (PHOTO + taken if photos else '')
    operator = ''.join(re.findall('^<!-- live: (.*?) -->', text_of(page), re.M))
    if operator in LAYERS:
        yield from applied(operator, re.findall(r'--(\S+) (\S+)', LAYERS[operator]))
    before = set()
    for heading, text, kind, code in blocks:
        yield 'markdown', '\n\n'.join(part for part in (heading, text) if part not in before)
        yield kind, code
        before |= {heading, text}
    yield 'markdown', '## Predict, then run\n\nEach command prints the answer last.'
    for title, parts in tasks:
        yield 'markdown', f'### {title}\n\n{parts["Question"]}'
        yield 'sh', re.sub('^```.*\n?', '', parts['Command'], flags=re.M)
        yield 'markdown', f'<details><summary>The answer</summary>\n\n{parts["Answer"]}\n\n</details>'


def cell(index, kind, text, page, tree):
    """A cell as nbformat 4.5 has it.  Links of the chapter become links from the notebook."""
    text = text.strip()
    if kind == 'sh' and NOT_RUN.search(text):
        kind, text = 'markdown', f'Not run here:\n\n```sh\n{text}\n```'
    elif kind == 'sh':
        text = f'sh(r"""{text}""")'
    elif kind == 'markdown':
        text = re.sub(r'\]\((?![a-z]+:)([^)# ]*)', lambda link: '](' + os.path.normpath(
            f'{tree}/chapters/{link[1]}' if link[1] else f'{tree}/{page}'), text)
    code = {} if kind == 'markdown' else {'execution_count': None, 'outputs': []}
    return {'cell_type': 'code' if code else kind, 'id': f'cell-{index}', 'metadata': {}, 'source': text, **code}


def notebooks(folder):
    """Write FOLDER/CHAPTER.ipynb for each chapter; FOLDER lies in the folder of the build."""
    os.makedirs(folder, exist_ok=True)
    tree = os.path.relpath('.', folder)
    kernel = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
    for page in sorted(glob.glob('chapters/[0-9]*.md')):
        cells = [cell(index, *each, page, tree) for index, each in enumerate(cells_of(page, tree)) if each[1]]
        notebook = {'cells': cells, 'metadata': {'kernelspec': kernel}, 'nbformat': 4, 'nbformat_minor': 5}
        replace(f'{folder}/{os.path.basename(page)[:-3]}.ipynb', json.dumps(notebook, indent=1) + '\n')
