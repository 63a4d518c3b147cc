/* figure.js -- a live figure on a page: its controls and maps
 *
 * A page holds <figure class="live" data-scene="lisa" hidden>, which stays hidden in a browser without WebAssembly.
 * The module comes as a script of base64 when a figure is nearly in sight, since a page opened from a disk may load
 * only scripts.  Nothing is sent anywhere.  One thread; short runs are repeated, since the browser's clock is rounded.
 * scenes.js has the operators, bars.js the parts without maps.
 *
 * A link "#live?alpha=1&s=4&i=3,5" sets controls by their keys in scenes.js, and the query to row 3, column 5. */

"use strict";

const able = typeof WebAssembly === "object" && typeof DecompressionStream === "function";
const LONG_ENOUGH = 25;         /* milliseconds */

/* ---- the module --------------------------------------------------------------------- */

let opening = null;
function open_module() {
    opening = opening || new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = "live/module.js";
        script.onload = resolve;
        script.onerror = () => reject(new Error("live/module.js is not there"));
        document.head.append(script);
    }).then(async () => {
        const packed = Uint8Array.from(atob(library_packed), letter => letter.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        return library_open(await new Response(stream).arrayBuffer());
    });
    return opening;
}

/* Milliseconds of one run: the least of several rounds, until they get no faster.  A browser compiles
 * code that runs often a second time, with more optimisation. */
function milliseconds(plan) {
    const most = Math.max(1, Math.min(4096, 3e8 / plan.multiply_adds));
    let best = Infinity;
    for (let times = 1, round = 0; round < 6;) {
        const start = performance.now();
        plan.run(times);
        const spent = performance.now() - start, before = best;
        if (spent < LONG_ENOUGH && times < most) {
            times = Math.min(most, spent > 0 ? Math.ceil(times * 1.5 * LONG_ENOUGH / spent) : 8 * times);
            continue;
        }
        best = Math.min(best, spent / times);
        if (spent > 10 * LONG_ENOUGH || (++round > 1 && best > 0.95 * before)) break;
    }
    return best;
}

/* Two significant digits, without a power of ten. */
function figures(value) {
    return value >= 100 ? thousands(+value.toPrecision(2)) : value.toPrecision(2);
}

function duration(ms) {
    if (!(ms > 0)) return "less than the clock resolves";
    return ms >= 1000 ? `${figures(ms / 1000)} s` : ms >= 0.1 ? `${figures(ms)} ms` : `${figures(1000 * ms)} µs`;
}

function thousands(value) {
    return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, " ");
}

/* ---- elements ------------------------------------------------------------------------- */

function element(name, attributes = {}, ...inside) {
    const made = document.createElementNS(/^(svg|text|line|rect)$/.test(name) ? "http://www.w3.org/2000/svg"
        : "http://www.w3.org/1999/xhtml", name);
    for (const key in attributes) {
        if (typeof attributes[key] === "function") made.addEventListener(key, attributes[key]);
        else if (attributes[key] === true) made.setAttribute(key, "");
        else if (attributes[key] !== false && attributes[key] !== undefined) made.setAttribute(key, attributes[key]);
    }
    made.append(...inside);
    return made;
}

/* A labelled control; changed(value) is called as it moves.  Its set(value) takes a value or its text, as a link has
 * it, and returns the value at which the control then stands. */
function control({ label, low, high, step, values, flag, value, words = String }, changed) {
    let box;
    if (flag) {
        const tick = element("input", { type: "checkbox", checked: value, change: () => changed(tick.checked) });
        box = element("label", { class: "flag" }, tick, " " + label);
        box.set = value => tick.checked = value === true || value === "1";
    } else if (values) {
        const list = element("select", { change: () => changed(values[list.selectedIndex]) },
            ...values.map(each => element("option", { selected: each === value }, String(each))));
        box = element("label", {}, element("span", {}, label), list);
        box.set = value => {
            const at = values.findIndex(each => String(each) === String(value));
            if (at >= 0) list.selectedIndex = at;
            return values[list.selectedIndex];
        };
    } else {
        const shown = element("output");
        const slider = element("input", { type: "range", min: low, max: high, step, value, input() {
            changed(+slider.value);
            box.set(slider.value);
        } });
        box = element("label", {}, element("span", {}, label, " ", shown), slider);
        box.set = value => {
            if (value !== "" && isFinite(value)) slider.value = value;
            shown.textContent = words(+slider.value);
            slider.setAttribute("aria-valuetext", shown.textContent);
            return +slider.value;
        };
        box.set(value);
    }
    return box;
}

/* Controls by their keys; each changes its setting. */
function controls_of(list, settings, changed) {
    return Object.fromEntries(list.map(each => [each.key, control(each, value => {
        settings[each.key] = value;
        changed();
    })]));
}

/* Sets the controls that a link names (alpha=1&s=4). */
function set_all(labels, settings, words) {
    for (const [key, text] of new URLSearchParams(words))
        if (Object.hasOwn(labels, key)) settings[key] = labels[key].set(text);
}

/* ---- maps --------------------------------------------------------------------------------- */

function colour(name) {
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

function mix(a, b, share) {
    return a.map((value, i) => value + (b[i] - value) * share);
}

/* A matrix onto a canvas with a point for each entry: grey, from its least entry to its largest; linear, from 0, the
 * colour of the paper, to the largest magnitude, with a colour for each sign; signed, the same by the square root,
 * which makes small entries visible. */
function paint(canvas, { data, columns, kind }) {
    const pen = canvas.getContext("2d"), rows = data.length / columns || 1;
    canvas.width = columns || 1;
    canvas.height = rows;
    const picture = pen.createImageData(canvas.width, rows);
    const paper = colour("--panel"), more = colour("--accent"), less = colour("--string");
    const low = data.reduce((a, b) => Math.min(a, b), Infinity);
    const high = data.reduce((a, b) => Math.max(a, b), -Infinity);
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    data.forEach((value, i) => {
        const shade = kind === "grey" ? Array(3).fill(255 * (high > low ? (value - low) / (high - low) : 0.5))
            : mix(paper, value > 0 ? more : less, (Math.abs(value) / most) ** (kind === "linear" ? 1 : 0.5));
        picture.data.set([...shade, 255], 4 * i);
    });
    pen.putImageData(picture, 0, 0);
}

/* ---- a figure --------------------------------------------------------------------------------- */

function live_figure(place) {
    const scene = scenes[place.dataset.scene];
    const settings = { form: "fast", picture: "shapes", step: 0 };
    for (const each of [...scene.controls, ...scene.running || []]) settings[each.key] = each.value;
    let library = null, own = null, waiting = 0, state = null;
    let row = 0.5, column = 0.5;                        /* the query, as a share of the side */
    let looked = -1, spot = null;           /* the map whose value is shown, and the entry; null: that of the query */

    const panels = element("div", { class: "maps" });
    const steps = element("div", { class: "steps", role: "group", "aria-label": "One map at a time" });
    const says = element("p", { class: "said" }), value = element("p", { class: "said value", "aria-live": "polite" });
    const said = element("p", { class: "said", "aria-live": "polite" }, " ");
    const file = element("input", { type: "file", accept: "image/*",
        change: () => file.files[0] && take(file.files[0]) });
    const share = (label, value, words, changed) =>
        control({ label, low: 0, high: 1, step: 0.01, value, words }, changed);
    const place_row = share("query, row", row, () => at().y, value => point(value, column));
    const place_column = share("query, column", column, () => at().x, value => point(row, value));
    const labels = {
        ...controls_of([{ key: "picture", label: "picture", values: Object.keys(pictures), value: settings.picture }],
            settings, () => {
                own = null;
                change();
            }),
        ...controls_of(scene.controls, settings, change),
        ...controls_of([{ key: "form", label: "form", values: ["fast", "naive"], value: "fast" }], settings, change),
    };
    const { picture, ...others } = labels;
    const running = scene.running && running_part(scene, settings, show);
    place.append(
        element("div", { class: "controls", role: "group", "aria-label": "Settings of the figure" }, picture,
            element("label", {}, element("span", {}, "or your own (it stays here)"), file),
            ...Object.values(others), place_row, place_column),
        steps, says, panels, value,
        element("figcaption", {}, "Each map has its own range. In maps of two colours red is above 0, blue below."),
        said, ...running ? [running.box] : []);
    if (scene.across) panels.style.setProperty("--across", scene.across);
    place.classList.toggle("dragged", Boolean(scene.press));
    Object.assign(labels, running && running.labels, { step: { set: words => Math.max(0, Math.trunc(words) || 0) } });
    place.preset = words => {
        const all = new URLSearchParams(words), query = /^(\d+),(\d+)$/.exec(all.get("i"));
        set_all(labels, settings, words);
        if (all.has("picture")) own = null;
        if (query) point((+query[1] + 0.5) / settings.E, (+query[2] + 0.5) / settings.E);
        change();
    };

    function at() {
        const of = share => Math.min(settings.E - 1, Math.floor(share * settings.E));
        return { y: of(row), x: of(column), i: of(row) * settings.E + of(column) };
    }

    function change() {
        clearTimeout(waiting);
        waiting = setTimeout(compute, 30);
    }

    function compute() {
        if (!library) return;
        let problem = null;
        state = null;
        try {
            const pixels = shrink(own || draw_picture(settings.picture), settings.E);
            problem = scene.show(library, settings, pixels);
            const plan = problem.plan(settings.form), ms = milliseconds(plan), { x, y } = problem.tensor;
            const held = { settings: { ...settings }, pixels, x: x.slice(), y: y.slice() };
            state = { ...held, kernels: scene.kernel(library, settings, problem) };
            const work = thousands(plan.multiply_adds), memory = thousands(plan.bytes / 1024);
            said.textContent = `The ${settings.form} form: a run takes ${duration(ms)} on this machine, ` +
                `${work} multiply-adds, and ${memory} KiB of memory besides the tensors.`;
        } catch (error) {
            said.textContent = `The figure cannot be shown: ${error.message}`;
        } finally {
            if (problem) problem.close();
        }
        show();
    }

    function show() {
        if (!state) return;
        const { E } = state.settings, here = at(), percent = value => `${100 * value / E}%`;
        const lie = ({ style }, top, left, bottom, right) => Object.assign(style,
            { top: percent(top), left: percent(left), height: percent(bottom - top), width: percent(right - left) });
        const maps = [{ title: "picture", data: state.pixels, columns: E, kind: "grey" }, ...scene.maps(state, here)];
        while (panels.children.length > maps.length) panels.lastChild.remove();
        while (panels.children.length < maps.length) panels.append(panel(panels.children.length === 0));
        const step = settings.step < maps.length ? settings.step : 0;
        name_steps(maps);
        [...steps.children].forEach((button, number) =>
            button.setAttribute("aria-pressed", (number + 1) % maps.length === step));
        says.textContent = step ? maps[step].says : "";
        says.hidden = !step;
        panels.classList.toggle("one", step > 0);
        maps.forEach((map, number) => {
            panels.children[number].hidden = step > 0 && number > 0 && number !== step;
            const [title, box] = panels.children[number].children, [canvas, query] = box.children;
            title.textContent = map.title;
            paint(canvas, map);
            canvas.setAttribute("aria-label", `${map.title}, ${canvas.height} by ${canvas.width}`);
            const large = map.columns === E && !map.apart;
            box.classList.toggle("plane", large);
            query.hidden = !large;
            lie(query, here.y, here.x, here.y + 1, here.x + 1);
            const frame = box.children[2];
            frame.hidden = !large || !scene.frame;
            if (!frame.hidden) {
                const [top, left, bottom, right] = scene.frame(state.settings);
                lie(frame, here.y + 0.5 + top, here.x + 0.5 + left, here.y + 0.5 + bottom, here.x + 0.5 + right);
            }
        });
        place_row.set(row);
        place_column.set(column);
        say_value(maps);
        if (running) running.show(scene.keys(settings.keys, state, maps, here));
        place.live = { settings: state.settings, query: here, maps };       /* for tests */
        place.dispatchEvent(new Event("shown"));
    }

    /* Buttons "1 scores", "2 weights", ..., "all"; the picture, map 0, is shown with each. */
    function name_steps(maps) {
        const names = maps.slice(1).map(({ title }, n) => `${n + 1} ${title}`).concat("all");
        if (names.join() === steps.dataset.names) return;
        steps.dataset.names = names.join();
        steps.replaceChildren(...names.map((name, n) => element("button", { type: "button", click() {
            settings.step = (n + 1) % names.length;
            show();
        } }, name)));
    }

    /* The entry under the pointer; after the query has moved, that of the query in the step's map or the last one. */
    function say_value(maps) {
        const plane = ({ columns, apart }) => columns === settings.E && !apart;
        const shown = spot ? looked : [settings.step, looked, ...maps.keys()].find(n => n > 0 && plane(maps[n] || {}));
        const { title, data, columns } = maps[shown] || maps[0], { y, x } = spot || at(), entry = data[y * columns + x];
        value.textContent = entry === undefined ? "" : `${title}, row ${y}, column ${x}: ${+entry.toPrecision(3)}`;
    }

    function hover(event) {
        const canvas = event.currentTarget.firstChild, inside = canvas.getBoundingClientRect();
        const of = (share, size) => Math.min(size - 1, Math.max(0, Math.floor(share * size)));
        looked = [...panels.children].indexOf(event.currentTarget.parentNode);
        spot = { y: of((event.clientY - inside.top) / inside.height, canvas.height),
            x: of((event.clientX - inside.left) / inside.width, canvas.width) };
        if (place.live) say_value(place.live.maps);
    }

    function panel(first) {
        const box = element("div", { class: "map", pointerdown: press, pointermove(event) {
            hover(event);
            press(event);
        } },
            element("canvas", { role: "img" }), element("i", { class: "query" }), element("i", { class: "frame" }));
        if (first) {
            box.tabIndex = 0;
            box.setAttribute("aria-label", "The picture; arrows move the query");
            box.setAttribute("role", "group");
            box.addEventListener("keydown", steer);
        }
        return element("div", {}, element("span", {}), box);
    }

    function press(event) {
        const box = event.currentTarget, inside = box.getBoundingClientRect();
        if (!box.classList.contains("plane") || (event.type === "pointermove" && !event.buttons)) return;
        const share = (value, from, size) => Math.min(0.999, Math.max(0, (value - from) / size));
        const y = share(event.clientY, inside.top, inside.height), x = share(event.clientX, inside.left, inside.width);
        const first = event.type === "pointerdown", { E } = settings;
        if (first && event.isTrusted) box.setPointerCapture(event.pointerId);
        if (scene.press && scene.press(settings, at(), y * E, x * E, first)) drag();
        else point(y, x);
        event.preventDefault();
    }

    function steer(event) {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step) return;
        const here = at(), into = value => (Math.min(settings.E - 1, Math.max(0, value)) + 0.5) / settings.E;
        point(into(here.y + step[0]), into(here.x + step[1]));
        event.preventDefault();
    }

    function point(y, x) {
        row = Math.min(0.999, y);
        column = Math.min(0.999, x);
        spot = null;
        show();
    }

    /* The sliders follow a drag. */
    function drag() {
        for (const each of scene.controls)
            if (each.low !== undefined)
                labels[each.key].set(settings[each.key]);
        change();
    }

    /* The reader's picture: its middle square, in grey. */
    async function take(file) {
        try {
            const bitmap = await createImageBitmap(file), side = Math.min(bitmap.width, bitmap.height);
            const pen = element("canvas", { width: SHEET, height: SHEET }).getContext("2d");
            const left = (bitmap.width - side) / 2, top = (bitmap.height - side) / 2;
            pen.drawImage(bitmap, left, top, side, side, 0, 0, SHEET, SHEET);
            const { data } = pen.getImageData(0, 0, SHEET, SHEET);
            own = Float32Array.from({ length: SHEET * SHEET }, (_, i) =>
                (0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]) / 255);
            change();
        } catch (error) {
            said.textContent = `This browser cannot read ${file.name} as a picture.`;
        }
    }

    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

    when_near(place, opened => {
        library = opened;
        compute();
    }, said);
}

/* Opens the module when a figure is nearly in sight. */
function when_near(place, use, said) {
    place.hidden = false;
    place.tabIndex = -1;
    new IntersectionObserver((entries, watch) => {
        if (!entries.some(entry => entry.isIntersecting)) return;
        watch.disconnect();
        open_module().then(use).catch(error => { said.textContent = `The figure cannot be shown: ${error.message}`; });
    }, { rootMargin: "300px" }).observe(place);
}

/* Sets the page's figure as a link says, and shows it. */
function follow(target) {
    const place = document.querySelector("figure.live");
    if (!place || !place.preset || !target.startsWith("#live?")) return;
    place.preset(target.slice(6));
    place.scrollIntoView();
    place.focus({ preventScroll: true });
}

if (able) {
    for (const place of document.querySelectorAll("figure.live"))
        (scenes[place.dataset.scene].work ? gap_figure : live_figure)(place);
    document.addEventListener("click", event => {
        const link = event.target.closest("a");
        if (link) follow(link.getAttribute("href") || "");
    });
    follow(location.hash);
}
