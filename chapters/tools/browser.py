"""browser.py -- Chromium without a window: prints pages, and looks at every page of the bound book

browse() asks: does each page load without a message on the console, draw its pictures, and fit into its window? Do
the labels of our drawings lie within them, none on another, if DejaVu is the only font? Do the live figures answer to
their controls, to the pointer and to links? Do search, copy buttons and links to headings work? Each
question is one line, "ok - ...", "not ok - ..." below the places where it failed, or "skipped: ..." with the reason."""
import contextlib, functools, glob, html, json, os, re, shutil, subprocess, tempfile, zipfile
from xml.etree import ElementTree
import epub, pages
from check import answer
from weave import Wrong, replace, suite_of, text_of

LIMIT = 600             # seconds
ONLY_DEJAVU = '''<fontconfig><include>/etc/fonts/fonts.conf</include><cachedir>{}</cachedir>
<selectfont><acceptfont><glob>*/DejaVu*</glob></acceptfont>
<rejectfont><glob>*.?t?</glob><glob>*.p*</glob></rejectfont></selectfont></fontconfig>'''

# Opens each page in a frame, then each drawing; the report is JSON.
LOOK = '''<!DOCTYPE html>
<style>iframe { border: 0; height: 900px; }</style>
<pre id="report"></pre>
<script>
const pages = PAGES, drawings = DRAWINGS, wrong = { width: [], picture: [], label: [], live: [], help: [] };
const frame = document.body.appendChild(document.createElement("iframe"));
const slack = 1.5;              /* boxes end between pixels */

function opened(address) {
    return new Promise(resolve => {
        frame.onload = () => frame.contentDocument.fonts.ready.then(() => resolve(frame.contentDocument));
        frame.style.width = "1280px";
        frame.src = address;
    });
}

function look_at_page(page, name) {
    for (const details of page.querySelectorAll("details")) details.open = true;
    for (const width of [1280, 684, 360]) {
        frame.style.width = width + "px";
        const reach = Math.max(page.documentElement.scrollWidth, page.body.scrollWidth);
        if (reach > width) wrong.width.push(`${name} at ${width} px: is ${reach} px wide`);
    }
    for (const picture of page.querySelectorAll("img"))
        if (!picture.naturalWidth) wrong.picture.push(`${name}: ${picture.getAttribute("src")} is not drawn`);
}

/* A word that only the text has, a term, and a claim; code copied; the links of a heading and a figure. */
async function use_page(page, view) {
    const check = (good, what) => { if (!good) wrong.help.push(what); };
    const field = page.querySelector("aside input"), first = words => {
        field.value = words;
        field.dispatchEvent(new Event("input"));
        return page.querySelector(".answers li");
    };
    field.dispatchEvent(new Event("focus"));
    for (let n = 0; n < 20000 && !first("softmax"); n++) await pause();
    for (const [words, target, mark] of [["handbag wall", "1-lisa.html", "handbag"],
        ["butterfly", "1-lisa.html#term-butterfly"], ["ignores a common shift", "#claim-softmax_sums_to_one"]]) {
        const answer = first(words), link = answer && answer.querySelector("a").getAttribute("href");
        check(link && link.includes(target) && (!mark || answer.querySelector("mark").textContent === mark),
            `"${words}" leads to ${link}`);
    }
    let copied = "";
    Object.defineProperty(view.navigator, "clipboard", { value: { writeText: async text => { copied = text; } } });
    const code = page.querySelector("div.sourceCode code");
    code.querySelector("button").click();
    check(copied.length > 99 && "copy" + copied === code.textContent, `copied "${copied}"`);
    for (const link of [page.querySelector("h2 a.permalink"), [...page.querySelectorAll("p a")].find(link =>
        link.textContent === "Figure\\u00a01.2")])
        check(link && page.querySelector(link.hash), "a heading or a number of a figure has no link");
}

/* gnuplot draws a label on a background twice at the same place; a label's box is higher than its letters. */
function look_at_drawing(drawing, name) {
    const sheet = drawing.documentElement.getBoundingClientRect();
    const labels = [...drawing.querySelectorAll("text")].filter(text => text.textContent.trim())
        .map(text => ({ words: text.textContent.trim(), box: text.getBoundingClientRect() }));
    labels.forEach(({ words, box }, i) => {
        if (box.left < sheet.left - slack || box.right > sheet.right + slack ||
            box.top < sheet.top - slack || box.bottom > sheet.bottom + 2 * slack)
            wrong.label.push(`${name}: "${words}" is clipped`);
        for (const other of labels.slice(i + 1)) {
            const moved = Math.abs(box.left - other.box.left) + Math.abs(box.top - other.box.top);
            const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
            const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
            if ((words !== other.words || moved >= 1) && across > slack &&
                down > Math.min(box.height, other.box.height) / 3)
                wrong.label.push(`${name}: "${words}" and "${other.words}" overlap`);
        }
    });
}

/* Virtual time stops for an image that loads, but not for what other threads do for a figure. */
function pause() {
    const image = new Image();
    return new Promise(resolve => {
        image.onload = image.onerror = () => setTimeout(resolve, 10);
        image.src = `book.css?${Math.random()}`;
    });
}

/* Uses a live figure: it shows its maps once it is in sight, a click on one moves the query, the pointer shows an
 * entry, a step shows one map, a link sets it, and each control changes the maps, except the form, which changes no
 * more than the last digits.  The running softmax reaches its result; the bars of all operators are sorted. */
async function use_figure(figure, name) {
    const state = () => ({ query: figure.live.query, maps: figure.live.maps.map(({ data }) => [...data]) });
    const same = (a, b, error) => a.length === b.length && a.every((map, n) => map.length === b[n].length &&
        map.every((value, i) => Math.abs(value - b[n][i]) <= error * Math.max(1, Math.abs(value))));
    const check = (good, what) => { if (!good) wrong.live.push(`${name}: ${what}`); };
    const after = async (what, doing, until = () => true) => {
        let shown = false;
        figure.addEventListener("shown", () => { shown = true; }, { once: true });
        doing();
        for (let n = figure.live ? 18000 : 0; n < 20000 && !(shown && until()); n++) await pause();
        if (!shown || !until()) throw `${what}: nothing is shown: ${figure.querySelector(".said").textContent}`;
        return state();
    };
    let before = await after("in sight", () => figure.scrollIntoView());
    const page = figure.ownerDocument, all = selector => [...figure.querySelectorAll(selector)];
    const follow = words => {
        const link = page.createElement("a");
        link.href = "#live?" + words;
        page.body.append(link);
        link.click();
        link.remove();
    };
    const first = figure.live.settings.E, other = all(".map").length ? 8 : 28;
    await after("a link", () => follow(`unknown=1&i=1,2&E=${other}`), () => figure.live.settings.E === other);
    const { y, x } = figure.live.query || { y: 1, x: 2 }, { top: place } = figure.getBoundingClientRect();
    check(y === 1 && x === 2 && page.activeElement === figure && Math.abs(place) < 900,
        `a link leads to the query ${y}, ${x}, at ${place} px`);
    const { y: row, x: column } = before.query || {};
    await after("a link back", () => follow(`E=${first}&i=${row},${column}`), () => figure.live.settings.E === first);
    if (all(".map").length) {
        const map = all(".map")[1], { left, top, width, height } = map.getBoundingClientRect();
        const at = { clientX: left + 0.3 * width, clientY: top + 0.3 * height }, entry = Math.floor(0.3 * first);
        const { query, maps } = await after("a click", () => map.dispatchEvent(new PointerEvent("pointerdown", at)));
        check(query.y === entry && query.x === entry && !same(before.maps, maps, 0),
            `a click leads to the query ${query.y}, ${query.x}`);
        for (const to of [2, 4]) {
            const moved = { clientX: left + (to + 0.5) * width / first, clientY: top + 1.5 * height / first };
            map.dispatchEvent(new PointerEvent("pointermove", moved));
            const value = +state().maps[1][first + to].toPrecision(3), words = all(".value")[0].textContent;
            check(words.endsWith(`row 1, column ${to}: ${value}`), `the pointer at 1, ${to} shows "${words}"`);
        }
        const steps = all(".steps button"), visible = () => all(".maps > div").filter(map => map.offsetHeight).length;
        for (const n of steps.keys()) {
            await after("a step", () => steps[n].click());
            const last = n === steps.length - 1, says = all(".said")[0];
            check(visible() === (last ? steps.length : 2) && (last || says.offsetHeight > 0),
                `${steps[n].textContent} shows ${visible()} maps and "${says.textContent}"`);
        }
    }
    if (all(".running").length) {
        for (const read of [1, 2]) if (!all(".running")[0].textContent.includes("o / s"))
            await after("the next tile", () => all(".running button")[0].click());
        const words = all(".running")[0].textContent;
        check(words.includes("1.437549.375") && words.includes("34.35; computed all at once it is 34.35"),
            `the running softmax of 1, 3, 2, 5 shows "${words}"`);
    }
    const bars = all(".bar").map(bar => bar.getBoundingClientRect().width);
    check(bars.every((wide, n) => wide > 1 && wide >= (bars[n - 1] || 0)) && all("td").every(cell => cell.textContent ||
        cell.closest(".tiles")), "a bar or a time is missing, or out of order");
    for (const label of figure.querySelector(".controls").querySelectorAll("label")) {
        const control = label.querySelector("input, select"), words = label.firstChild.textContent || label.textContent;
        if (control.type === "file") continue;
        const set = value => after(words, () => {
            if (control.type === "checkbox") return control.click();
            control.value = value;
            for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind));
        });
        const old = control.value, ends = control.options ? [...control.options].map(option => option.value)
            : [control.max, control.min];
        before = state();
        const { maps } = await set(ends.find(value => value !== old));
        if (same(before.maps, maps, words === "form" ? 1e-4 : 0) !== (words === "form"))
            wrong.live.push(`${name}: ${words}: ${words === "form" ? "other maps" : "the same maps"}`);
        await set(old);
    }
}

(async () => {
    for (const name of pages) {
        const page = await opened(name);
        for (const figure of page.querySelectorAll("figure.live"))
            await use_figure(figure, name).catch(error => wrong.live.push(`${name}: ${error}`));
        look_at_page(page, name);
        if (name === "1-lisa.html")
            await use_page(page, frame.contentWindow).catch(error => wrong.help.push(`${error}`));
    }
    for (const name of drawings) look_at_drawing(await opened("file://" + name), name.replace(/.*[/]/, ""));
    document.getElementById("report").textContent = JSON.stringify(wrong);
})();
</script>
'''


def run(program, *options, fonts=None):
    """(what Chromium printed, what it said besides).  Virtual time: it waits for scripts, but not for pauses."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = dict(os.environ)
        if fonts:
            environment['FONTCONFIG_FILE'] = home + '/fonts.conf'
            replace(home + '/fonts.conf', fonts.format(home))
        sandbox = [] if os.getuid() else ['--no-sandbox']
        try:
            done = subprocess.run(
                [program, '--headless', '--disable-gpu', '--disable-dev-shm-usage', *sandbox, '--enable-logging=stderr',
                 f'--user-data-dir={home}/profile', '--allow-file-access-from-files', '--virtual-time-budget=600000',
                 *options], capture_output=True, encoding='utf-8', errors='replace', timeout=LIMIT, env=environment)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{program} took more than {LIMIT} seconds")
    if done.returncode:
        raise Wrong(f'{program} failed: {(done.stderr.strip().splitlines() or ["it says nothing"])[-1]}')
    return done.stdout, done.stderr


@functools.cache
def chromium():
    program = next(filter(shutil.which, ('chromium', 'chromium-browser', 'google-chrome')), None)
    if not program:
        raise Wrong('Chromium is missing (Debian: apt-get install chromium)')
    if not run(program, '--dump-dom', 'about:blank')[0]:
        raise Wrong(f'{program} does not run here')
    return program


def address(page):
    return 'file://' + os.path.realpath(page)


def print_pdf(page, out):
    run(chromium(), '--no-pdf-header-footer', '--generate-pdf-document-outline',
        f'--print-to-pdf={os.path.realpath(out)}.new', address(page))
    if not os.path.exists(out + '.new') or not os.path.getsize(out + '.new'):
        raise Wrong('Chromium printed nothing')
    os.replace(out + '.new', out)


def suites_have_results(folder):
    """The page of each suite that ran says how each of its tests ended."""
    reports, silent = os.path.dirname(folder) + '/tap', []
    ran = [file for file in glob.glob(f'{reports}/float/*.tap') + glob.glob(f'{reports}/exact/test_*.tap')
           if os.path.getsize(file)]
    for file in ran:
        page = f'{folder}/{suite_of(file)}.html'
        if not os.path.exists(page) or 'Not run here yet' in text_of(page):
            silent.append(f'{page}: the suite ran, but the page lacks the result of a test')
    return answer(f'the book bound: the pages of {len(ran)} suites show the results of all tests', silent)


def look(folder):
    """{what is wrong: places} in the pages bound in a folder and in our drawings; and how many there are of each."""
    names = sorted(os.path.basename(page) for page in glob.glob(folder + '/*.html'))
    drawings = sorted(map(os.path.realpath, glob.glob('figures/*/*.svg')))
    with tempfile.NamedTemporaryFile('w', suffix='.html', dir=folder) as file:
        file.write(LOOK.replace('PAGES', json.dumps(names)).replace('DRAWINGS', json.dumps(drawings)))
        file.flush()
        text, said = run(chromium(), '--dump-dom', address(file.name), fonts=ONLY_DEJAVU)
    report = re.search('<pre id="report">({.*})</pre>', text)
    if not report:
        raise Wrong('the pages were not looked at to the end')
    wrong = json.loads(html.unescape(report[1]))
    console = re.findall(r':CONSOLE\b.*?\] "(.*?)", source: (\S*)', said, re.S)
    wrong['console'] = [f'{source}: {message}' for message, source in console]
    return wrong, len(names), len(drawings)


def missing():
    """The reason why nothing can be looked at here, or None."""
    try:
        chromium()
    except Wrong as reason:
        return reason
    if not glob.glob('/usr/share/fonts/**/DejaVuSans.ttf', recursive=True):     # without a font, Chromium never ends
        return 'DejaVu is missing (Debian: apt-get install fonts-dejavu-core)'
    return None


def cover(folder, out, width, height):
    """A PNG with the title and the picture of all operators, which is in FOLDER/ours."""
    with tempfile.NamedTemporaryFile('w', suffix='.html', dir=folder) as file:
        file.write('<body style="display: grid; place-content: center; justify-items: center; gap: 2vh; margin: 0; '
                   f'height: 100vh; font: 64px serif">{pages.BOOK}<img src="ours/operators.svg" '
                   'style="height: min(80vh, 61vw)">')
        file.flush()
        run(chromium(), f'--screenshot={os.path.realpath(out)}', f'--window-size={width},{height}', address(file.name))


def make_epub(folder, out, version):
    cover(folder, out + '.png', 1200, 1600)
    epub.pack(folder, out, version, out + '.png')
    os.remove(out + '.png')
    print(out)


def site(folder, out, home=''):
    """Copies the bound book for a static host, which has it at HOME: with a picture for links, and a page for wrong
    addresses."""
    first, home = text_of(folder + '/index.html'), html.escape(home.rstrip('/') + '/' * bool(home))
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns('here', '*.pdf'), dirs_exist_ok=True)
    lost = re.sub('<main>.*</main>', '<main>\n<p>No page has this address. The search finds the others.</p>\n</main>',
                  first.replace('<head>', '<head>\n<base href="%s">' % (home or '/')), flags=re.S)
    cover(out, out + '/cover.png', 1200, 630)
    head = f'<meta property="og:image" content="{home}cover.png">\n</head>'
    for page in glob.glob(out + '/*.html'):
        replace(page, text_of(page).replace('</head>', head, 1))
    replace(out + '/404.html', lost)
    print(out + '/index.html')


def site_is_whole(folder):
    with tempfile.TemporaryDirectory() as home, contextlib.redirect_stdout(None):
        site(folder, home + '/site', 'file://' + home + '/site')
        os.rename(home + '/site/404.html', home + '/404.html')
        lost, said = run(chromium(), '--dump-dom', address(home + '/404.html'))
        wrong = [line for line in said.splitlines() if 'CONSOLE' in line] + ['no search'] * ('<search>' not in lost)
        with open(home + '/site/cover.png', 'rb') as file:
            if file.read(24)[12:] != b'IHDR' + (1200).to_bytes(4, 'big') + (630).to_bytes(4, 'big'):
                wrong.append('cover.png is not a picture of 1200 by 630')
    return answer('the site: it has a picture, and its page for wrong addresses works in any folder', wrong)


def epub_is_whole(folder):
    """Its first file says what it is, each file with tags is XML, each link leads somewhere; and epubcheck agrees."""
    with tempfile.TemporaryDirectory() as home:
        out, checker = home + '/book.epub', shutil.which('epubcheck')
        with contextlib.redirect_stdout(None):
            make_epub(folder, out, '1.0')
        with zipfile.ZipFile(out) as archive:
            files, first = {name: archive.read(name) for name in archive.namelist()}, archive.infolist()[0]
        good = first.filename == 'mimetype' and first.compress_type == zipfile.ZIP_STORED
        wrong = [] if good else [f'found {first.filename}, method {first.compress_type}, expected mimetype, stored']
        texts = {name: data.decode() for name, data in files.items() if data[:1] == b'<'}
        places = {*files, *(f'{name}#{id}' for name in texts for id in re.findall(' id="([^"]*)"', texts[name]))}
        for name, text in texts.items():
            try:
                ElementTree.fromstring(text)
            except ElementTree.ParseError as error:
                wrong.append(f'{name}: {error}')
            wrong += [f'{name}: nothing is at {link}' for link in re.findall(' (?:href|src)="(?!https?:)([^"]*)"', text)
                      if os.path.normpath(f'{os.path.dirname(name)}/{link}') not in places]
        if checker:                         # Debian's is an archive for Java, which not every kernel runs
            java = ['java', '-jar'] * zipfile.is_zipfile(checker)
            done = subprocess.run([*java, checker, out], capture_output=True, encoding='utf-8')
            wrong += (done.stdout + done.stderr).splitlines() * bool(done.returncode)
        else:
            print('skipped: the EPUB by epubcheck: it is missing (Debian: apt-get install epubcheck)')
    return answer('the EPUB: its pages are XHTML, and each link leads somewhere', wrong[:12])


def browse(folder, named):
    """Bind the book in a folder and look at it; returns whether all is well."""
    if not shutil.which('pandoc'):
        print('skipped: the book bound: pandoc is missing (make deps)')
        return True
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with contextlib.redirect_stdout(None):
            pages.bind(folder, named, sources=False)
    except Wrong as wrong:
        return answer('the book is bound', [wrong])
    good = suites_have_results(folder)
    if reason := missing():
        print(f'skipped: the book in Chromium: {reason}')
        return good
    try:
        good &= site_is_whole(folder) & epub_is_whole(folder)
        wrong, seen, drawn = look(folder)
    except Wrong as why:
        return answer('the book in Chromium', [why])
    questions = {
        'console': f'its {seen} pages load without a message on the console',
        'picture': 'all pictures are drawn',
        'width': 'no page is wider than a window of 1280, 684 or 360 px',
        'help': 'a search finds prose, terms and claims; code is copied; headings and figures have links',
        'live': 'each live figure answers to a click, the pointer, steps, links and its controls',
        'label': f'no label of its {drawn} drawings is clipped or lies on another in DejaVu'}
    return good & all([answer(f'the book in Chromium: {question}', wrong[kind][:12])
                       for kind, question in questions.items()])
