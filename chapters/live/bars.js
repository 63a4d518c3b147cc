/* bars.js -- the parts of live figures that have no maps: the running softmax, and the work of all operators */

"use strict";

const short = (value, digits = 4) => String(+value.toPrecision(digits)).replace("-", "−");

const cells = (kind, words) => words.map(word => element(kind, {}, word));

/* ---- the running softmax ------------------------------------------------------------------- */

const BARS_X = 340, BARS_Y = 120;

/* A bar for the score of each key, tile by tile; tiles not yet read are outlines. */
function score_bars({ scores, values }, tile, read) {
    const gap = 8, tiles = Math.ceil(scores.length / tile), width = (BARS_X - gap * (tiles - 1)) / scores.length;
    const high = Math.max(0, ...scores), low = Math.min(0, ...scores), unit = (BARS_Y - 50) / (high - low || 1);
    const y = score => 18 + (high - score) * unit;
    const word = (x, y, words) => element("text", { x, y, "text-anchor": "middle" }, words);
    const parts = [element("line", { class: "grid", x1: 0, x2: BARS_X, y1: y(0), y2: y(0) })];
    scores.forEach((score, k) => {
        const t = Math.floor(k / tile), left = k * width + t * gap;
        parts.push(element("rect", { class: t < read - 1 ? "read" : t < read ? "now" : "unread", x: left + 0.5,
            width: width - 1, y: Math.min(y(score), y(0)), height: Math.max(1, Math.abs(y(score) - y(0))) }));
        if (scores.length <= 4) parts.push(
            word(left + width / 2, y(score) - 5, `score ${short(score)}`),
            word(left + width / 2, BARS_Y - 8, `value ${short(values[k])}`));
    });
    return element("svg", { viewBox: `0 0 ${BARS_X} ${BARS_Y}`, role: "img",
        "aria-label": `The scores of ${scores.length} keys in ${tiles} tiles` }, ...parts);
}

/* m, s and o after each tile that has been read. */
function tile_table(steps, read) {
    return element("table", {},
        element("tr", {}, ...cells("th", ["tile", "largest score m", "factor", "sum s", "sum o"])),
        ...steps.map(({ m, factor, s, o }, t) => element("tr", { class: t === read - 1 ? "now" : "" },
            ...cells("td", [String(t + 1), ...t < read ? [short(m), t ? short(factor) : "", short(s, 5), short(o, 5)]
                : ["", "", "", ""]]))));
}

function tile_outcome(keys, steps, read) {
    const { before, m, factor, s, o } = steps[read - 1] || {}, [whole] = running_softmax(keys, keys.scores.length);
    const words = read < 2 ? `The weight of a key is ${keys.base} to the score − m; s is the sum of the weights, ` +
            "and o that of weights times values."
        : factor === 1 ? `Tile ${read} leaves m as it was, so the factor is 1.`
        : `Tile ${read} raises m from ${short(before)} to ${short(m)}: the sums of earlier tiles are multiplied by ` +
            `${keys.base} to the ${short(before - m)} = ${short(factor)}.`;
    return words + (read < steps.length ? ""
        : ` The result is o / s = ${short(o / s)}; computed all at once it is ${short(whole.o / whole.s)}.`);
}

function running_part(scene, settings, changed) {
    const labels = controls_of(scene.running, settings, changed), slider = labels.read.querySelector("input");
    const bars = element("div"), table = element("div", { class: "tiles" });
    const said = element("p", { class: "said", "aria-live": "polite" });
    const next = element("button", { type: "button", click() {
        settings.read = settings.read < +slider.max ? settings.read + 1 : 0;
        changed();
    } }, "Next tile");
    const box = element("div", { class: "running" },
        element("p", { class: "said" }, "The running softmax of one query"),
        element("div", { class: "controls", role: "group", "aria-label": "The running softmax" },
            ...Object.values(labels), next), bars, said, table);

    function show(keys) {
        const steps = running_softmax(keys, settings.tile);
        slider.max = steps.length;
        settings.read = labels.read.set(settings.read);
        bars.replaceChildren(score_bars(keys, settings.tile, settings.read));
        table.replaceChildren(tile_table(steps, settings.read));
        said.textContent = tile_outcome(keys, steps, settings.read);
    }

    return { box, labels, show };
}

/* ---- the work of all operators ------------------------------------------------------------------- */

function large(value) {
    const power = Math.min(5, Math.floor(Math.log10(value) / 3));
    return `${+(value / 1000 ** power).toPrecision(3)} ${["", "k", "M", "G", "T", "P"][power]}`;
}

/* Multiply-adds as bars, the least first, and committed times for the nearest grid. */
function gap_figure(place) {
    const scene = scenes.gap, times = JSON.parse(place.dataset.times || '{"sides": [], "milliseconds": {}}');
    const settings = Object.fromEntries(scene.controls.map(({ key, value }) => [key, value]));
    const table = element("table"), said = element("p", { class: "said", "aria-live": "polite" }, " ");
    const labels = controls_of(scene.controls, settings, show);
    let library = null;
    place.append(element("div", { class: "controls", role: "group", "aria-label": "Settings of the figure" },
        ...Object.values(labels)), table,
    element("figcaption", {}, "Multiply-adds of one layer and one image; the bars' lengths are logarithms. " +
        `Times of the fast forms with 96 channels: ${times.machine}, one thread, ${times.measured}.`), said);
    place.preset = words => {
        set_all(labels, settings, words);
        show();
    };

    function show() {
        if (!library) return;
        const { E } = settings, work = scene.work(library, settings), apart = side => Math.abs(Math.log(side / E));
        const side = times.sides.reduce((a, b) => apart(b) < apart(a) ? b : a, times.sides[0]);
        const rows = work.map(row => ({ ...row, ms: (times.milliseconds[row.name] || [])[times.sides.indexOf(side)] }))
            .sort((a, b) => a.work - b.work);
        const low = Math.log(rows[0].work / 2), high = Math.log(rows[rows.length - 1].work);
        const quickest = rows.reduce((a, b) => b.ms < a.ms ? b : a);
        table.replaceChildren(
            element("tr", {}, ...cells("th", ["operator", "multiply-adds", `ms at ${side}×${side}`])),
            ...rows.map(({ name, work, ms }, n) => element("tr", {}, element("th", {}, name),
                element("td", { class: n ? "" : "least" }, large(work), element("i", { class: "bar",
                    style: `width: ${100 * (Math.log(work) - low) / (high - low)}%` })),
                element("td", { class: ms === quickest.ms ? "least" : "" }, ms === undefined ? "" : String(ms)))));
        said.textContent = `With ${E * E} tokens and ${settings.C} channels, ${rows[0].name} needs the fewest ` +
            `multiply-adds; at ${side}×${side} and 96 channels, ${quickest.name} is fastest.`;
        place.live = { settings, maps: [{ data: work.map(row => row.work) }] };     /* for tests */
        place.dispatchEvent(new Event("shown"));
    }

    when_near(place, opened => {
        library = opened;
        show();
    }, said);
}
