/* press.js -- uses the live figures of the bound book as a reader does
 *
 *     node tests/press.js BROWSER FOLDER MODULE [PICTURES]
 *
 * Opens each page of FOLDER that has a live figure from the disk, in Chromium or Firefox without
 * a window, clicks, types, drags and waits.  What it shows is compared with what the same module
 * (MODULE, library.wasm) says in node, whose kernels tests/test_live.c holds to the program.
 * Prints a line per question, "ok - ..." or "not ok - ...", each failure with its place above it.
 * With a folder PICTURES it leaves there what the figures looked like, 1280 and 360 px wide. */

"use strict";
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const { open_browser } = require("./browser.js");
const { library_open } = require("../chapters/live/library.js");
const { scenes, draw_picture, shrink } = require("../chapters/live/scenes.js");

const questions = {
    load: "their pages open from a disk with no error, and the figures begin",
    click: "a click on a map moves the query, and what belongs to it changes",
    kernel: "the kernel shown is the module's",
    keys: "arrows on the picture and the sliders do the same, and every control has a name",
    own: "a picture of the reader's own takes the place of the sample",
    change: "what a chapter lets its reader move changes what it should",
    race: "both forms race, and the fast one is ahead",
    narrow: "at 360 px nothing is wider than the window",
    dark: "they are dark where the reader's screen is",
    silent: "without scripts they are not there",
    weight: "a page weighs at most 300 KiB more for its figure",
};

/* ---- words for a page ------------------------------------------------------------------- */

const figure = `document.querySelector("figure.live")`;
const labelled = words =>
    `[...${figure}.querySelectorAll("label")].find(each => each.textContent.includes("${words}"))`;

/* What it shows. */
const state = `(({ settings, query, maps }) => ({ settings, query,
    maps: maps.map(({ title, data, columns }) => ({ title, data: [...data], columns })) }))(${figure}.live)`;

/* A control is moved. */
const move = (words, value) => `(() => {
    const control = ${labelled(words)}.querySelector("input, select");
    if (control.type === "checkbox") control.click();
    else {
        control.value = ${JSON.stringify(value)};
        control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input"));
    }
})()`;

/* Where a share of a map lies in the window. */
const spot = (map, y, x) => `(() => {
    const box = ${figure}.querySelectorAll(".map")[${map}];
    box.scrollIntoView({ block: "center" });
    const { left, top, width, height } = box.getBoundingClientRect();
    return [left + ${x} * width, top + ${y} * height];
})()`;

/* The figure on the page, and some of what is around it. */
const whole = `(() => {
    const { x, y, width, height } = ${figure}.getBoundingClientRect();
    return { x: Math.max(0, x + scrollX - 20), y: y + scrollY - 10, width: Math.min(innerWidth, width + 40),
        height: height + 20 };
})()`;

/* A picture whose left half is black, and its right half white. */
const give_picture = `new Promise(resolve => {
    const canvas = document.createElement("canvas"), list = new DataTransfer();
    canvas.width = 40;
    canvas.height = 30;
    const pen = canvas.getContext("2d");
    pen.fillRect(0, 0, 20, 30);
    pen.fillStyle = "white";
    pen.fillRect(20, 0, 20, 30);
    canvas.toBlob(blob => {
        const input = ${figure}.querySelector("input[type=file]");
        list.items.add(new File([blob], "own.png", { type: "image/png" }));
        input.files = list.files;
        input.dispatchEvent(new Event("change"));
        resolve();
    });
})`;

const unnamed = `[...${figure}.querySelectorAll("input, select, button, canvas, [tabindex]")].filter(each =>
    !(each.getAttribute("aria-label") || (each.closest("label") || each).textContent.trim())).length`;

/* The darkest of each colour in the kernel's map. */
const darkest = `(() => {
    const kernel = [...${figure}.querySelectorAll("canvas")].find(each => /kernel/.test(each.ariaLabel));
    const { data } = kernel.getContext("2d").getImageData(0, 0, kernel.width, kernel.height);
    const least = [255, 255, 255];
    data.forEach((value, i) => { if (i % 4 < 3) least[i % 4] = Math.min(least[i % 4], value); });
    return least;
})()`;

/* Does something, and waits until the figure has shown what came of it. */
async function after(page, doing) {
    await page.ask(`void (window.again = new Promise((resolve, reject) => {
        ${figure}.addEventListener("shown", resolve, { once: true });
        setTimeout(() => reject(new Error("nothing was shown")), 60000);
    }))`);
    await doing();
    await page.ask("window.again.then(() => true)");
    return page.ask(state);
}

/* ---- and for what it shows --------------------------------------------------------------- */

const map_of = (shown, words) => (shown.maps.find(({ title }) => title.includes(words)) || { data: [] }).data;
const kernel_of = shown => map_of(shown, "kernel");
const has = (shown, words) => shown.maps.some(({ title }) => title.includes(words));
const differ = (a, b) => a.length !== b.length || a.some((value, i) => value !== b[i]);
const sum = data => data.reduce((a, b) => a + b, 0);
const is_one = value => Math.abs(value - 1) < 1e-5;

/* The largest difference over the largest magnitude. */
function apart(a, b) {
    const most = Math.max(...b.map(Math.abs));
    return a.length === b.length ? Math.max(...a.map((value, i) => Math.abs(value - b[i]))) / most : Infinity;
}

/* ---- what each chapter lets its reader move: so(good, what it is if not) ------------------- */

const moves = {
    async lisa(page, shown, so) {
        const one = await after(page, () => page.ask(move("latents", 1))), kernel = kernel_of(one);
        so(differ(kernel, kernel_of(shown)), "D changed, and the kernel did not");
        so(kernel.every(value => value * Math.sign(sum(kernel)) >= -1e-6), "the Gaussian alone has two signs");
        const drawn = await after(page, () => page.ask(move("tables", "drawn")));
        so(differ(kernel_of(drawn), kernel), "other tables, and the same kernel");
    },

    async structsa(page, shown, so) {
        const other = await after(page, () => page.ask(move("by hand", "drawn")));
        so(differ(map_of(other, "detectors"), map_of(shown, "detectors")), "the detectors are the same");
        so(differ(kernel_of(other), kernel_of(shown)), "other detectors, and the same kernel");
    },

    async elsa(page, shown, so) {
        so(differ(kernel_of(shown), map_of(shown, "scores")), "the ghost head does nothing");
        const bare = await after(page, () => page.ask(move("ghost head"))), near = map_of(bare, "near");
        const { E, K } = bare.settings, inside = bare.query.y >= K && bare.query.y < E - K;
        so(!differ(kernel_of(bare), map_of(bare, "scores")), "without a ghost head the kernel is not the head's");
        so(near.every(value => value >= 0), "a head's filter is negative");
        so(!inside || is_one(sum(near)), "a head's filter does not sum to one");
    },

    async chopd(page, shown, so) {
        const work = () => page.ask(`${figure}.querySelector(".said").textContent.match(/[0-9 ]+(?= multiply)/)[0]`);
        const filled = data => data.filter(value => value !== 0).length;
        const { E, bottom } = shown.settings, { y, x } = shown.query, before = await work();
        const [across, down] = await page.ask(spot(2, (y + 0.5 + bottom) / E, (x + 0.5) / E));
        const height = await page.ask(`${figure}.querySelector(".map").clientHeight`);
        await after(page, () => page.drag([across, down], [across, down + 3 * height / E]));
        await page.ask("new Promise(resolve => setTimeout(resolve, 500))");
        const now = await page.ask(state);
        const slider = await page.ask(`${labelled("box, bottom")}.querySelector("input").value`);
        so(now.settings.bottom === bottom + 3, `the box was dragged by 3, and its edge is at ${now.settings.bottom}`);
        so(+slider === bottom + 3, `the box was dragged by 3, and its slider is at ${slider}`);
        so(now.query.i === shown.query.i, "the box was dragged, and the query moved");
        so(filled(kernel_of(now)) > filled(kernel_of(shown)), "a larger box pools no more tokens");
        so(await work() === before, "a larger box costs more");
    },

    async hilo(page, shown, so) {
        const { E, s } = shown.settings, { y, x } = shown.query, window = at => Math.floor(at / s);
        const high = map_of(shown, "Hi-Fi: kernel"), low = map_of(shown, "Lo-Fi: kernel");
        const within = j => window(Math.floor(j / E)) === window(y) && window(j % E) === window(x);
        so(high.every((value, j) => value === 0 || within(j)), "Hi-Fi's kernel leaves the window");
        so(is_one(sum(high)) && is_one(sum(low)), "a softmax does not sum to one");
        const all_low = await after(page, () => page.ask(move("alpha", 1)));
        so(!has(all_low, "Hi-Fi") && has(all_low, "Lo-Fi: spectrum"), "alpha is 1, and Hi-Fi is there");
        const all_high = await after(page, () => page.ask(move("alpha", 0)));
        so(!has(all_high, "Lo-Fi") && has(all_high, "Hi-Fi: spectrum"), "alpha is 0, and Lo-Fi is there");
    },
};

/* ---- one page ----------------------------------------------------------------------------- */

/* must(question, good, what it is if not). */
async function use(browser, library, address, name, must, leave) {
    const page = await browser.page(address, 1280, 900);

    /* Step 1: it begins when it is in sight; a click. */
    const first = await after(page, () => page.ask(`${figure}.scrollIntoView()`));
    const { E } = first.settings, cell = Math.floor(0.3 * E), share = (cell + 0.5) / E;
    const at = await page.ask(spot(1, share, share));
    const clicked = await after(page, () => page.click(...at)), { query } = clicked;
    must("click", query.y === cell && query.x === cell, `the query is at ${query.y}, ${query.x}`);
    must("click", differ(kernel_of(clicked), kernel_of(first)), "the kernel is that of the query before");
    must("click", !differ(map_of(clicked, "picture"), map_of(first, "picture")), "the picture changed");

    /* Step 2: the same by the module in node. */
    const { settings } = clicked, scene = scenes[name];
    const problem = scene.show(library, settings, shrink(draw_picture("shapes"), E));
    const kernels = scene.kernel(library, settings, problem);
    problem.plan("fast").run();
    const { x, y } = problem.tensor;
    for (const { title, data } of scene.maps({ settings, kernels, x, y }, query)) {
        const error = apart(map_of(clicked, title), [...data]);
        must("kernel", error <= 1e-5, `${title} is ${error} away`);
    }
    problem.close();

    /* Step 3: keys. */
    await page.ask(`${figure}.querySelector(".map").focus()`);
    const { query: steered } = await after(page, () => page.press("ArrowRight"));
    must("keys", steered.x === cell + 1 && steered.y === cell, "an arrow moved the query elsewhere");
    await page.ask(`${labelled("query, row")}.querySelector("input").focus()`);
    const { query: slid } = await after(page, () => page.press("ArrowRight"));
    must("keys", slid.x === cell + 1, "a slider of rows moved columns");
    must("keys", await page.ask(unnamed) === 0, "a control has no name");

    /* Step 4: what is this chapter's own; what is the reader's. */
    await leave(page, 1280);
    await moves[name](page, await page.ask(state), (good, what) => must("change", good, what));
    const owned = await after(page, () => page.ask(give_picture)), side = owned.settings.E;
    const [left, right] = [0.2, 0.8].map(share =>
        map_of(owned, "picture")[Math.floor(side / 2) * side + Math.floor(share * side)]);
    must("own", left < 0.1 && right > 0.9, `left and right are ${left} and ${right}`);

    /* Step 5: the race, over the first sizes. */
    const { naive, fast } = await page.ask(`${figure}.race(${JSON.stringify(scene.race.sides.slice(0, 4))})`);
    const last = Math.min(naive.length, fast.length) - 1;
    must("race", last >= 2 && fast[last].ms < naive[last].ms && fast[last].ms > 0, JSON.stringify({ naive, fast }));
    must("race", await page.ask(`${figure}.querySelectorAll("svg circle").length`) === naive.length + fast.length,
        "not all points are drawn");

    /* Step 6: narrow; dark; without scripts. */
    await page.resize(360, 740);
    const wide = await page.ask("document.documentElement.scrollWidth - Math.max(360, innerWidth)");
    must("narrow", wide <= 0, `${wide} px too wide`);
    for (const error of await page.errors()) must("load", false, error);
    await page.close();

    const dark = await browser.page(address, 360, 740, { dark: true });
    await after(dark, () => dark.ask(`${figure}.scrollIntoView()`));
    const paper = await dark.ask(darkest);
    must("dark", sum(paper) < 250, `the paper of the kernel is ${paper}`);
    await leave(dark, 360);
    for (const error of await dark.errors()) must("load", false, error);
    await dark.close();

    if (!browser.silences) return;
    const silent = await browser.page(address, 1280, 900, { scripts: false });
    must("silent", await silent.ask(`${figure}.getBoundingClientRect().height`) === 0, "it is seen without a script");
    await silent.close();
}

/* [scene, page] of the pages in a folder that have a figure. */
function pages_of(folder) {
    return fs.readdirSync(folder).filter(leaf => /^[0-9].*html$/.test(leaf)).sort().map(leaf => {
        const found = fs.readFileSync(path.join(folder, leaf), "utf8").match(/data-scene="(\w+)"/);
        return [found && found[1], leaf];
    }).filter(([name]) => name);
}

async function main([program, folder, module, pictures]) {
    const library = await library_open(fs.readFileSync(module)), pages = pages_of(folder);
    const wrong = Object.fromEntries(Object.keys(questions).map(key => [key, []]));
    const browser = await open_browser(program);
    try {
        for (const [name, leaf] of pages) {
            const must = (question, good, what) => { if (!good) wrong[question].push(`${leaf}: ${what}`); };
            const leave = async (page, width) => {
                if (pictures) await page.picture(path.join(pictures, `${name}-${width}.png`), await page.ask(whole));
            };
            const address = pathToFileURL(path.resolve(folder, leaf)).href;
            await use(browser, library, address, name, must, leave).catch(error => must("load", false, error.message));
        }
    } finally {
        await browser.close();
    }
    if (pages.length !== Object.keys(scenes).length) wrong.load.push(`${pages.length} pages have a live figure`);
    const bytes = sum(fs.readdirSync(path.join(folder, "live")).map(leaf =>
        fs.statSync(path.join(folder, "live", leaf)).size));
    if (bytes > 300 * 1024) wrong.weight.push(`${bytes} bytes`);
    if (!browser.silences) delete questions.silent;
    for (const key in questions) {
        for (const line of wrong[key].slice(0, 8)) console.log(line);
        console.log(`${wrong[key].length ? "not ok" : "ok"} - the live figures in ${browser.name}: ${questions[key]}`);
    }
}

main(process.argv.slice(2)).catch(error => {
    console.log(`${error.message}\nnot ok - the live figures are used`);
    process.exit(1);
});
