/* scenes.js -- the problems that the live figures give the library, and the maps they make of them; nothing of a page
 *
 * A scene sets an operator over a small picture: tokens are its pixels, each sees the 3 x 3 around it, and parameters
 * are made by hand or random.  Nothing is trained.  `show` builds the problem that is shown.  `widen` builds a second
 * one to ask for its attention kernel: query and key are as before, but more channels carry an impulse, 1 at one token
 * each, and only they are values.  Their output at query i is the weight of that token, since y is linear in the
 * values.
 *
 *     E  side of the grid, N = E E tokens     C  channels of x     M  impulses at a time */

"use strict";

const SEEN = 9, IMPULSES = 64, SHEET = 96;

/* ---- pictures: SHEET x SHEET grey values from 0 to 1 ------------------------------ */

const pictures = {
    shapes(u, v) {
        if (Math.hypot(u - 0.32, v - 0.34) < 0.2) return 1;
        if (u > 0.6 && u < 0.92 && v > 0.12 && v < 0.44) return 0.65;
        if (v > 0.62) return Math.sin((u + 0.6 * v) * 32) > 0 ? 0.9 : 0.15;
        return 0.1 + 0.25 * u;
    },
    rings: (u, v) => 0.5 + 0.5 * Math.cos(60 * ((u - 0.5) ** 2 + (v - 0.5) ** 2)),
    weave: (u, v) => 0.5 + 0.5 * Math.sin(70 * ((Math.floor(u * 6) + Math.floor(v * 6)) % 2 ? u : v)),
};

function draw_picture(name) {
    return Float32Array.from({ length: SHEET * SHEET }, (_, i) =>
        pictures[name]((i % SHEET + 0.5) / SHEET, (Math.floor(i / SHEET) + 0.5) / SHEET));
}

/* Means of the sheet over E x E cells. */
function shrink(sheet, E) {
    return Float32Array.from({ length: E * E }, (_, i) => {
        const edge = at => Math.floor(at * SHEET / E);
        const y = Math.floor(i / E), x = i % E;
        let sum = 0, count = 0;
        for (let row = edge(y); row < edge(y + 1); row++)
            for (let column = edge(x); column < edge(x + 1); column++, count++) sum += sheet[row * SHEET + column];
        return sum / count;
    });
}

/* [N][SEEN]: the pixels around each token, minus the picture's mean; pixels outside are zero. */
function windows(pixels, E) {
    const mean = pixels.reduce((a, b) => a + b, 0) / pixels.length;
    const x = new Float32Array(E * E * SEEN);
    for (let i = 0; i < E * E; i++)
        for (let m = 0; m < SEEN; m++) {
            const row = Math.floor(i / E) + Math.floor(m / 3) - 1, column = i % E + m % 3 - 1;
            const inside = row >= 0 && row < E && column >= 0 && column < E;
            x[i * SEEN + m] = (inside ? pixels[row * E + column] : 0) - mean;
        }
    return x;
}

function unit(rows, width) {
    for (let at = 0; at < rows.length; at += width) {
        const row = rows.subarray(at, at + width);
        const norm = Math.hypot(...row) || 1;
        row.forEach((value, i) => { row[i] = value / norm; });
    }
    return rows;
}

/* ---- tensors ------------------------------------------------------------------------ */

/* Entry by entry: fill(to, [2, 3], (a, b) => value). */
function fill(to, size, value) {
    const at = size.map(() => 0);
    for (let i = 0; i < to.length; i++) {
        to[i] = value(...at);
        for (let axis = size.length - 1; axis >= 0 && ++at[axis] === size[axis]; axis--) at[axis] = 0;
    }
}

/* Fills the tensor `name` of a wide problem from the shown one; entries that this lacks come from `beyond`. */
function copy(wide, shown, name, beyond = () => 0) {
    const size = shown.size[name], from = shown.tensor[name];
    const place = at => at.reduce((sum, index, axis) => sum * size[axis] + index, 0);
    fill(wide.tensor[name], wide.size[name], (...at) =>
        at.every((index, axis) => index < size[axis]) ? from[place(at)] : beyond(...at));
}

function letters(sizes, without = []) {
    return [
        ...Object.entries(sizes).map(([letter, size]) => `${letter}=${size}`),
        ...without.map(name => "-" + name),
    ].join(" ");
}

/* Query and key are the windows; `value` gives the weights of the value. */
function three_maps(problem, C, value) {
    fill(problem.tensor.w_qkv, problem.size.w_qkv, (row, column) =>
        row < 2 * C ? (row % C === column ? 1 : 0) : value(row - 2 * C, column));
}

const CENTRE = 4, OUTPUT = "The sum of the values, for every query with its own kernel.";
const SCORES = "Scores: how similar each token is to the query.";

/* A map of tokens: its title, entries, colours (see paint), and the sentence of its step. */
const plane = (title, data, kind, says) => ({ title, data, columns: Math.sqrt(data.length), kind, says });
const centre = (row, column) => column === CENTRE ? 1 : 0;

/* The same with impulses in channels C ... C + M - 1: query and key do not see them, and there is no other value. */
function widen_maps(wide, shown, C) {
    const W = wide.size.x[2];
    const small = shown.tensor.w_qkv;
    fill(wide.tensor.w_qkv, wide.size.w_qkv, (row, column) => {
        const part = Math.floor(row / W), channel = row % W;
        if (part === 2) return channel >= C && channel === column ? 1 : 0;
        return channel < C && column < C ? small[(part * C + channel) * C + column] : 0;
    });
}

/* [N][N]: the weight of token j for query i.  `from` is the channel of x where the impulses begin,
 * `to` that of y where they come out. */
function kernels(wide, N, M, from, to) {
    const plan = wide.plan("fast"), width = wide.size.x[2], out = wide.size.y[2];
    const all = new Float32Array(N * N);
    for (let first = 0; first < N; first += M) {
        const { x } = wide.tensor;
        for (let n = 0; n < N; n++)
            for (let m = 0; m < M; m++) x[n * width + from + m] = n === first + m ? 1 : 0;
        plan.run();
        const { y } = wide.tensor;
        for (let i = 0; i < N; i++)
            for (let m = 0; m < M && first + m < N; m++) all[i * N + first + m] = y[i * out + to + m];
    }
    return all;
}

const row_of = (all, N, i) => all.subarray(i * N, (i + 1) * N);
const channel_of = (y, C, channel) => Float32Array.from({ length: y.length / C }, (_, n) => y[n * C + channel]);

/* ---- the scenes ------------------------------------------------------------------------ */

const range = (key, label, low, high, step, value, more = {}) => ({ key, label, low, high, step, value, ...more });
const choice = (key, label, values, value) => ({ key, label, values, value });
const flag = (key, label, value) => ({ key, label, flag: true, value });

/* Derivatives of a Gaussian of width s at (y, x). */
const by_hand = [
    (y, x) => 0.25,
    (y, x, s) => -x / s,
    (y, x, s) => -y / s,
    (y, x, s) => (2 - (x * x + y * y) / (s * s)) / 2,
    (y, x, s) => x * y / (s * s),
    (y, x, s) => (x * x - y * y) / (2 * s * s),
    (y, x, s) => x * (3 - x * x / (s * s)) / (3 * s),
    (y, x, s) => y * (3 - y * y / (s * s)) / (3 * s),
];
const gaussian = (y, x, s) => Math.exp(-(x * x + y * y) / (2 * s * s));

/* The scores of a query: its products with all tokens. */
function products(x, C, i) {
    return Float32Array.from({ length: x.length / C }, (_, n) => {
        let sum = 0;
        for (let c = 0; c < C; c++) sum += x[i * C + c] * x[n * C + c];
        return sum;
    });
}

/* Problems of operators that have a w_qkv: the shown one over windows, and the wide one. */
function show_maps(scene, library, settings, x) {
    const problem = library.problem(scene.options(settings), scene.sizes(settings, SEEN));
    problem.tensor.x.set(x);
    three_maps(problem, SEEN, centre);
    return problem;
}

function read_maps(scene, library, settings, shown, widen) {
    const wide = library.problem(scene.options(settings), scene.sizes(settings, SEEN + IMPULSES));
    copy(wide, shown, "x");
    widen_maps(wide, shown, SEEN);
    widen(wide);
    const all = kernels(wide, settings.E ** 2, IMPULSES, SEEN, SEEN);
    wide.close();
    return all;
}

/* ---- self-attention ----------------------------------------------------------------------- */

const msa = {
    controls: [
        range("E", "side of the grid", 8, 32, 1, 20),
        range("scale", "scale of q · k", 1, 40, 1, 12),
    ],
    /* The running softmax, below the maps. */
    running: [
        choice("keys", "keys", ["four by hand", "the query's row"], "four by hand"),
        range("tile", "keys in a tile", 1, 16, 1, 2),
        range("read", "tiles read", 0, 32, 1, 1),
    ],
    options: ({ E, scale }) => `msa --grid ${E}x${E} --scale ${scale}`,
    sizes: (settings, C) => letters({ B: 1, C }, ["b_qkv", "rpe", "w_o", "b_o"]),

    show(library, settings, pixels) {
        return show_maps(this, library, settings, unit(windows(pixels, settings.E), SEEN));
    },

    kernel(library, settings, shown) {
        return { all: read_maps(this, library, settings, shown, () => {}) };
    },

    maps: ({ settings: { E, scale }, x, y, kernels }, { i }) => [
        plane("scores q · k", products(x, SEEN, i).map(value => scale * value), "linear", SCORES),
        plane("weights", row_of(kernels.all, E * E, i), "signed",
            "Softmax makes weights of the scores: they are positive and sum to one."),
        plane("output", channel_of(y, SEEN, CENTRE), "grey", OUTPUT),
    ],

    /* Scores and values that the running softmax reads: an example in powers of two, or keys of the picture. */
    keys(which, { settings: { E }, x }, maps, { y }) {
        if (which === "four by hand")
            return { scores: [1, 3, 2, 5], values: [10, 20, 30, 40], power: score => 2 ** score, base: "2" };
        const row = Array.from({ length: E }, (_, column) => y * E + column);
        return { scores: row.map(n => maps[1].data[n]), values: row.map(n => x[n * SEEN + CENTRE]), power: Math.exp,
            base: "e" };
    },
};

/* After each tile of keys: the largest score m, the sums s of the weights and o of the weighted values, and the factor
 * that has rescaled the sums of earlier tiles.  o / s of the last is the mean. */
function running_softmax({ scores, values, power }, tile) {
    const steps = [];
    let m = -Infinity, s = 0, o = 0;
    for (let first = 0; first < scores.length; first += tile) {
        const keys = scores.slice(first, first + tile), before = m;
        m = Math.max(m, ...keys);
        const factor = power(before - m), weights = keys.map(score => power(score - m));
        s = factor * s + weights.reduce((a, b) => a + b);
        o = factor * o + weights.reduce((sum, weight, k) => sum + weight * values[first + k], 0);
        steps.push({ before, m, factor, s, o });
    }
    return steps;
}

/* ---- LiSA ------------------------------------------------------------------------------- */

const lisa = {
    controls: [
        range("E", "side of the grid", 8, 32, 1, 20),
        range("D", "latents D", 1, 8, 1, 4),
        choice("tables", "tables", ["by hand", "random"], "by hand"),
    ],
    options: ({ E }) => `lisa --grid ${E}x${E}`,
    sizes: ({ D }, C) => letters({ B: 1, C, D }, ["b_qkv", "w_o", "b_o"]),

    show(library, settings, pixels) {
        const { E, tables } = settings, problem = show_maps(this, library, settings, unit(windows(pixels, E), SEEN));
        const far = m => m > E / 2 ? m - E : m;         /* the short way around */
        const table = s => (m, ...rest) => {
            const y = far(Math.floor(m / E)), x = far(m % E);
            return by_hand[rest[rest.length - 1]](y, x, s) * gaussian(y, x, s);
        };
        if (tables === "by hand") {
            fill(problem.tensor.wa, problem.size.wa, table(1));
            fill(problem.tensor.wb, problem.size.wb, table(2.5));
        }
        problem.tensor.ba.fill(0);
        problem.tensor.bb.fill(0);
        return problem;
    },

    kernel(library, settings, shown) {
        return { all: read_maps(this, library, settings, shown, wide => {
            for (const name of ["wa", "wb", "ba"]) copy(wide, shown, name);
            wide.tensor.bb.fill(0);
        }) };
    },

    maps: ({ settings: { E }, x, y, kernels }, { i }) => [
        plane("scores q · k", products(x, SEEN, i), "linear", SCORES),
        plane("attention kernel", row_of(kernels.all, E * E, i), "signed",
            "D tables read the scores, and the readings mix D kernels into the kernel of this query."),
        plane("output", channel_of(y, SEEN, CENTRE), "grey", OUTPUT),
    ],
};

/* ---- StructSA ----------------------------------------------------------------------------- */

const structsa = {
    controls: [
        range("E", "side of the grid", 8, 24, 1, 18),
        range("D", "detectors D", 1, 8, 1, 8),
        choice("K", "window", [3, 5, 7], 3),
        choice("detectors", "detectors", ["edges, by hand", "centre and surround, by hand", "random"],
            "edges, by hand"),
        range("scale", "scale of q", 1, 12, 1, 7),
    ],
    options: ({ E, K, scale }) => `structsa --grid ${E}x${E} --kernel ${K}x${K} --equation 5 --scale ${scale}`,
    sizes: ({ D }, C) => letters({ B: 1, C, D }, ["b_qkv", "w_o", "b_o"]),

    show(library, settings, pixels) {
        const { E, K, D, detectors } = settings, s = K / 3;
        const problem = show_maps(this, library, settings, unit(windows(pixels, E), SEEN));
        const edge = (y, x, d) => {
            const turn = 2 * Math.PI * d / D;
            return (Math.cos(turn) * x - Math.sin(turn) * y) * gaussian(y, x, s);
        };
        const ring = (y, x, d) => gaussian(y, x, s * (0.4 + 0.5 * d / D)) - 0.45 * gaussian(y, x, s * (0.9 + d / D));
        const draw = detectors[0] === "e" ? edge : ring;
        if (detectors !== "random") {
            const all = Array.from({ length: D }, (_, d) => Array.from({ length: K * K }, (_, m) =>
                draw(Math.floor(m / K) - (K - 1) / 2, m % K - (K - 1) / 2, d)));
            const sum = all.map(detector => detector.reduce((a, b) => a + Math.abs(b), 0) || 1);
            for (const name of ["uk", "uv"])
                fill(problem.tensor[name], problem.size[name], (m, d) => all[d][m] / sum[d]);
        }
        return problem;
    },

    kernel(library, settings, shown) {
        return { all: read_maps(this, library, settings, shown, wide => {
            for (const name of ["uk", "uv"]) copy(wide, shown, name);
        }), detectors: shown.tensor.uk.slice() };
    },

    maps: ({ settings: { E, D, K }, x, y, kernels }, { i }) => [
        plane("scores q · k", products(x, SEEN, i), "linear", SCORES),
        plane("attention kernel", row_of(kernels.all, E * E, i), "signed",
            "Detectors find patterns in the scores around each token; aggregators spread them into the kernel."),
        plane("output", channel_of(y, SEEN, CENTRE), "grey", OUTPUT),
        { title: "the detectors", data: side_by_side(kernels.detectors, K, D), columns: 4 * (K + 1) - 1, kind: "signed",
            apart: true, says: "The D patterns that the detectors look for in the scores." },
    ],
};

/* Detectors [K K][D], four in a row, a line of nothing between them. */
function side_by_side(detectors, K, D) {
    const width = 4 * (K + 1) - 1, sheet = new Float32Array(width * (2 * (K + 1) - 1));
    for (let d = 0; d < D; d++)
        for (let m = 0; m < K * K; m++) {
            const row = Math.floor(d / 4) * (K + 1) + Math.floor(m / K), column = d % 4 * (K + 1) + m % K;
            sheet[row * width + column] = detectors[m * D + d];
        }
    return sheet;
}

/* ---- ELSA ------------------------------------------------------------------------------------ */

/* By hand: the factors of the ghost head, one filter for each channel. */
const ghosts = [
    ["left and right", (y, x) => x / 3],
    ["top and bottom", (y, x) => y / 3],
    ["centre and surround", (y, x) => Math.hypot(y, x) < 1.5 ? 1 : -0.3],
    ["a stripe down", (y, x) => Math.exp(-((x - y) ** 2) / 2)],
    ["as it is", () => 1],
    ["a stripe up", (y, x) => Math.exp(-((x + y) ** 2) / 2)],
    ["a ring", (y, x) => Math.exp(-((Math.hypot(y, x) - 2) ** 2))],
    ["across less down", (y, x) => (x * x - y * y) / 4],
    ["corners", (y, x) => x * y / 4],
];

const elsa = {
    controls: [
        range("E", "side of the grid", 8, 28, 1, 20),
        choice("K", "window K", [3, 5, 7, 9], 7),
        range("scale", "scale of q ∘ k", 0, 12, 1, 3),
        flag("ghost", "ghost head", true),
        choice("channel", "channel", ghosts.map(([name]) => name), "left and right"),
    ],
    options: ({ E, K, scale }) => `elsa --grid ${E}x${E} --kernel ${K} --scale ${scale}`,
    sizes: ({ ghost }, C) =>
        letters({ B: 1, C }, ["b_qkv", "w_o", "b_o", ...(ghost ? [] : ["ghost_mul", "ghost_add"])]),
    number: ({ channel }) => ghosts.findIndex(([name]) => name === channel),

    show(library, settings, pixels) {
        const { E, K, ghost } = settings, problem = show_maps(this, library, settings, windows(pixels, E));
        const middle = (K - 1) / 2;
        const from = n => [Math.floor(n / K) - middle, n % K - middle];
        problem.tensor.rk.fill(0);
        problem.tensor.rq.fill(1);
        fill(problem.tensor.rb, problem.size.rb, (head, n) => -(from(n)[0] ** 2 + from(n)[1] ** 2) / 8);
        if (ghost) {
            fill(problem.tensor.ghost_mul, problem.size.ghost_mul, (c, n) => ghosts[c][1](...from(n)));
            problem.tensor.ghost_add.fill(0);
        }
        return problem;
    },

    /* The ghost head has a filter for each channel: impulses get that of the channel shown. */
    read(library, settings, shown) {
        const channel = this.number(settings), n = settings.K ** 2;
        return read_maps(this, library, settings, shown, wide => {
            copy(wide, shown, "rk");
            copy(wide, shown, "rq");
            copy(wide, shown, "rb");
            if (settings.ghost)
                for (const name of ["ghost_mul", "ghost_add"])
                    copy(wide, shown, name, (c, entry) => shown.tensor[name][channel * n + entry]);
        });
    },

    kernel(library, settings, shown) {
        const all = this.read(library, settings, shown);
        return { all, head: settings.ghost ? this.read(library, { ...settings, ghost: false }, shown) : all };
    },

    maps(state, { y: row, x: column, i }) {
        const { settings: { E, K }, y, kernels } = state, middle = (K - 1) / 2;
        const filter = Float32Array.from({ length: K * K }, (_, n) => {
            const down = row + Math.floor(n / K) - middle, across = column + n % K - middle;
            return down >= 0 && down < E && across >= 0 && across < E ? kernels.all[i * E * E + down * E + across] : 0;
        });
        return [
            plane("the head's weights", row_of(kernels.head, E * E, i), "signed",
                "Softmax over the K × K tokens around the query: the weights are positive and sum to one."),
            plane("attention kernel", row_of(kernels.all, E * E, i), "signed",
                "The ghost head multiplies the weights by factors of the channel."),
            { ...plane("the filter, enlarged", filter, "signed",
                "The same kernel on the K × K tokens around the query; all others have no weight."), apart: true },
            plane("output", channel_of(y, SEEN, this.number(state.settings)), "grey", OUTPUT),
        ];
    },
};

/* ---- ChoP'D -------------------------------------------------------------------------------------- */

/* Four channels of a token, two components: one pools the picture over the box; the other pools a
 * channel of ones over the token itself and so shows the gate. */
const CHOPD = 4, ONE_TOKEN = [-0.5, -0.5, 0.5, 0.5];

const chopd = {
    controls: [
        range("E", "side of the grid", 8, 28, 1, 20),
        range("top", "box, top", -8, 7.5, 0.5, -2.5),
        range("left", "box, left", -8, 7.5, 0.5, -2.5),
        range("bottom", "box, bottom", -7.5, 8, 0.5, 2.5),
        range("right", "box, right", -7.5, 8, 0.5, 2.5),
        flag("less", "the token less the mean", false),
        flag("gate", "gate", true),
    ],
    options: ({ E }) => `chopd --grid ${E}x${E} --activation none`,
    sizes: (settings, C) => letters({ B: 1, C, D: C, R: C, G: 2, S: 1 }),
    box: ({ top, left, bottom, right }) => [Math.min(top, bottom - 0.5), Math.min(left, right - 0.5), bottom, right],

    show(library, settings, pixels) {
        const { E, less, gate } = settings, box = this.box(settings);
        const problem = library.problem(this.options(settings), letters({ B: 1, C: CHOPD, D: 2, R: 2, G: 2, S: 1 }));
        const seen = windows(pixels, E), t = problem.tensor;
        const step = (n, to, from) => seen[n * SEEN + to] - seen[n * SEEN + from];
        fill(t.x, problem.size.x, (b, n, c) => [pixels[n], step(n, 5, 3), step(n, 7, 1), 1][c]);
        fill(t.u4, problem.size.u4, (c, r) => c === (r ? 3 : 0) ? 1 : 0);
        fill(t.boxes, problem.size.boxes, (r, g, edge) => (r === 0 && g === 0 ? box : ONE_TOKEN)[edge]);
        fill(t.mix, problem.size.mix, (r, g) => r === 0 && less ? (g ? 1 : -1) : g ? 0 : 1);
        fill(t.u5, problem.size.u5, (d, r) => d === r ? 1 : 0);
        fill(t.phi_w1, problem.size.phi_w1, (s, c) => c ? 0 : 1 / 9);
        t.phi_b1.fill(0);
        t.phi_w2.fill(gate ? 12 : 0);
        t.phi_b2.fill(gate ? -3 : 20);
        t.b.fill(0);
        return problem;
    },

    /* The impulses are channels that the gate does not read, each with a component of its own. */
    kernel(library, settings, shown) {
        const M = IMPULSES;
        const wide = library.problem(this.options(settings), letters({ B: 1, C: CHOPD + M, D: M, R: M, G: 2, S: 1 }));
        const t = wide.tensor, s = shown.tensor;
        copy(wide, shown, "x");
        fill(t.u4, wide.size.u4, (c, r) => c === CHOPD + r ? 1 : 0);
        fill(t.boxes, wide.size.boxes, (r, g, edge) => s.boxes[4 * g + edge]);
        fill(t.mix, wide.size.mix, (r, g) => s.mix[g]);
        fill(t.u5, wide.size.u5, (d, r) => d === r ? s.u5[0] : 0);
        copy(wide, shown, "phi_w1");
        copy(wide, shown, "phi_b1");
        fill(t.phi_w2, wide.size.phi_w2, () => s.phi_w2[0]);
        fill(t.phi_b2, wide.size.phi_b2, () => s.phi_b2[0]);
        t.b.fill(0);
        const all = kernels(wide, settings.E ** 2, M, CHOPD, 0);
        wide.close();
        return { all };
    },

    /* A drag from an edge or a corner of the box moves it; a drag from elsewhere moves the query. */
    press(settings, { y: row, x: column }, y, x, first) {
        const near = (a, b) => Math.abs(a - b) < Math.max(0.6, settings.E / 24);
        const down = y - row - 0.5, across = x - column - 0.5, box = this.box(settings);
        const beside = (at, low, high) => at > low - 1 && at < high + 1;
        const held = (value, low, high, names) => near(value, low) ? [names[0]] : near(value, high) ? [names[1]] : [];
        if (first) settings.held = [
            ...(beside(across, box[1], box[3]) ? held(down, box[0], box[2], ["top", "bottom"]) : []),
            ...(beside(down, box[0], box[2]) ? held(across, box[1], box[3], ["left", "right"]) : []),
        ];
        const half = value => Math.round(2 * value) / 2, { top, left, bottom, right } = settings;
        const moved = {
            top: () => Math.min(half(down), bottom - 0.5),
            left: () => Math.min(half(across), right - 0.5),
            bottom: () => Math.max(half(down), top + 0.5),
            right: () => Math.max(half(across), left + 0.5),
        };
        for (const edge of settings.held || []) settings[edge] = Math.max(-8, Math.min(8, moved[edge]()));
        return (settings.held || []).length > 0;
    },

    frame(settings) {
        return this.box(settings);
    },

    maps({ settings: { E }, y, kernels }, { i }) {
        return [
            plane("the gate", channel_of(y, 2, 1), "grey",
                "The gate of each query: open, near 1, where the picture is bright."),
            plane("attention kernel", row_of(kernels.all, E * E, i), "signed",
                "The box around the query, with equal weights, times the gate of the query."),
            plane("output", channel_of(y, 2, 0), "grey", OUTPUT),
        ];
    },
};

/* ---- HiLo ------------------------------------------------------------------------------------------ */

/* Four heads of eight channels; the windows fill nine channels.  In the wide problem a head has four
 * times as many, so that the scale 1/sqrt(c) is half as large; twice the query makes up for it. */
const HEADS = 4, HILO = 32;

const hilo = {
    controls: [
        choice("E", "side of the grid", [8, 12, 16, 20, 24], 16),
        choice("s", "window s", [2, 4], 2),
        range("alpha", "alpha", 0, 1, 1 / HEADS, 0.5),
        range("scale", "scale of q", 1, 40, 1, 16),
    ],
    options: ({ E, s, alpha }) => `hilo --grid ${E}x${E} --heads ${HEADS} --window ${s} --alpha ${alpha}`,
    sizes: (settings, C) => letters({ B: 1, C }, ["h_qkv_b", "h_proj_b", "l_q_b", "l_kv_b", "l_proj_b"]),
    split: ({ alpha }) => ({ low: Math.floor(alpha * HEADS), high: HEADS - Math.floor(alpha * HEADS) }),

    show(library, settings, pixels) {
        const problem = library.problem(this.options(settings), this.sizes(settings, HILO)), t = problem.tensor;
        const { high, low } = this.split(settings), c = HILO / HEADS, hd = high * c, ld = low * c;
        const seen = unit(windows(pixels, settings.E), SEEN);
        fill(t.x, problem.size.x, (b, n, channel) => channel < SEEN ? seen[n * SEEN + channel] : 0);

        /* Every head reads the first eight of the nine. */
        const key = (row, column) => row % c === column ? 1 : 0;
        const parts = { h_qkv: [hd, [settings.scale, 1, 0]], l_q: [ld, [settings.scale]], l_kv: [ld, [1, 0]] };
        for (const name in parts) if (t[name]) fill(t[name], problem.size[name], (row, column) => {
            const [rows, gains] = parts[name], gain = gains[Math.floor(row / rows)];
            return gain ? gain * key(row % rows, column) : centre(row, column);
        });
        this.project(problem);
        return problem;
    },

    /* Projections that change nothing. */
    project({ tensor, size }) {
        for (const name of ["h_proj", "l_proj"])
            if (tensor[name]) fill(tensor[name], size[name], (row, column) => row === column ? 1 : 0);
    },

    kernel(library, settings, shown) {
        const wide = library.problem(this.options(settings), this.sizes(settings, 4 * HILO));
        const t = wide.tensor, s = shown.tensor;
        const { high, low } = this.split(settings), c = HILO / HEADS, w = 4 * c, M = w - c;
        copy(wide, shown, "x");

        /* A row of a wide map: that of the same head and channel in the shown one, or an impulse. */
        const parts = { h_qkv: [high, [2, 1, 0]], l_q: [low, [2]], l_kv: [low, [1, 0]] };
        for (const name in parts) if (t[name]) fill(t[name], wide.size[name], (row, column) => {
            const [heads, gains] = parts[name], part = Math.floor(row / (heads * w));
            const head = Math.floor(row / w) % heads, channel = row % w;
            if (!gains[part]) return channel >= c && column === HILO + channel - c ? 1 : 0;
            if (channel >= c || column >= HILO) return 0;
            return gains[part] * s[name][((part * heads + head) * c + channel) * HILO + column];
        });
        this.project(wide);
        const N = settings.E ** 2;
        const of = head => kernels(wide, N, M, HILO, head * w + c);
        const found = { high: high ? of(0) : null, low: low ? of(high) : null };
        wide.close();
        return found;
    },

    across: "8rem",             /* four maps a row */

    maps({ settings, x, y, kernels }, { i }) {
        const { E } = settings, { high } = this.split(settings), N = E * E;
        const frequencies = (title, map, of) => ({ ...plane(title, spectrum(map, E), "grey",
            `The frequencies of ${of}, frequency 0 in the middle, on a logarithmic scale.`), apart: true });
        const of = (name, all, channel, says) => {
            if (!all) return [];
            const output = channel_of(y, HILO, channel);
            return [
                plane(`${name}: kernel`, row_of(all, N, i), "signed", says),
                plane(`${name}: output`, output, "grey", OUTPUT),
                frequencies(`${name}: spectrum`, output, "this output"),
            ];
        };
        const first = of("Hi-Fi", kernels.high, 0, "Hi-Fi: the weights of the tokens in the query's window."),
            second = of("Lo-Fi", kernels.low, high * HILO / HEADS,
                "Lo-Fi: the weights of the means of all windows; the tokens of a window have the same weight.");
        return [...first, frequencies("spectrum going in", channel_of(x, HILO, CENTRE), "the values"), ...second];
    },
};

/* log |F| of a map of even side minus its mean, frequency 0 in the middle. */
function spectrum(map, E) {
    const mean = map.reduce((a, b) => a + b, 0) / map.length, turn = 2 * Math.PI / E;
    const re = new Float64Array(E * E), im = new Float64Array(E * E);
    for (let row = 0; row < E; row++)           /* rows */
        for (let v = 0; v < E; v++)
            for (let x = 0; x < E; x++) {
                const value = map[row * E + x] - mean, angle = turn * x * (v - E / 2);
                re[row * E + v] += value * Math.cos(angle);
                im[row * E + v] -= value * Math.sin(angle);
            }
    return Float32Array.from({ length: E * E }, (_, at) => {
        const u = Math.floor(at / E) - E / 2, v = at % E;
        let real = 0, other = 0;
        for (let y = 0; y < E; y++) {
            const cos = Math.cos(turn * y * u), sin = Math.sin(turn * y * u);
            real += re[y * E + v] * cos + im[y * E + v] * sin;
            other += im[y * E + v] * cos - re[y * E + v] * sin;
        }
        return Math.log(Math.max(1e-2, Math.hypot(real, other)));
    });
}

/* ---- all operators ---------------------------------------------------------------------------------- */

/* Name, as in figures/gap/gap-choices.tsv; options; sizes, and tensors left out, for C channels. */
const layers = [
    ["7×7 windows", "msa --window 7 --heads 3", C => "-b_qkv -b_o -rpe"],
    ["ELSA, K = 7", "elsa --kernel 7 --heads 3", C => "-b_qkv -b_o"],
    ["ChoP'D", "chopd", C => `D=${C} R=${C} G=4 S=24`],
    ["LiSA, D = 16", "lisa --heads 6", C => "D=16 -b_qkv -b_o"],
    ["HiLo, s = 2", "hilo --heads 3", C => "-h_qkv_b -h_proj_b -l_q_b -l_kv_b -l_proj_b"],
    ["self-attention", "msa --heads 3", C => "-b_qkv -b_o -rpe"],
    ["StructSA, D = 4", "structsa --kernel 3x3 --heads 3", C => "D=4 -b_qkv -b_o"],
];

const gap = {
    controls: [
        range("E", "side of the grid", 7, 224, 7, 14, { words: E => `${E}, N = ${E * E}` }),
        range("C", "channels C", 24, 768, 24, 96),
        choice("form", "implementation", ["naive", "plain", "fast"], "fast"),
    ],

    /* Multiply-adds of one layer of each operator. */
    work: (library, { E, C, form }) => layers.map(([name, options, more]) =>
        ({ name, work: library.count(`${options} --grid ${E}x${E}`, form, `B=1 C=${C} ${more(C)}`) })),
};

const scenes = { msa, lisa, structsa, elsa, chopd, hilo, gap };

if (typeof module !== "undefined") module.exports = { scenes, draw_picture, shrink };
