/* library.js -- the library in a page: the module's functions over numbers as objects
 *
 *     const library = await library_open(bytes);
 *     const problem = library.problem("lisa --grid 14x14", "B=1 C=48 D=8 -w_o");
 *     problem.tensor.x.set(...);                      views of the module's own memory
 *     const plan = problem.plan("fast");
 *     plan.run();                                     writes problem.tensor.y
 *
 * Errors of the module are thrown with their message.  See reference/library/wasm/live.c; node reads this file too, for
 * tests. */

"use strict";

/* System calls of the module's C library.  It never makes any: each would fail. */
const no_system = new Proxy({}, { get: () => () => 52 });

async function library_open(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: no_system });
    const c = instance.exports;
    c._initialize();

    function text() {
        const all = new Uint8Array(c.memory.buffer, c.live_text(), 16384);
        return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
    }

    function say(words) {
        const bytes = new TextEncoder().encode(words + "\0");
        new Uint8Array(c.memory.buffer, c.live_text(), bytes.length).set(bytes);
    }

    function must(good) {
        if (!good) throw new Error(text());
        return good;
    }

    /* Multiply-adds of a form by the library's formula, for shapes as live_shape has them; allocates no tensor. */
    function count(options, form, shapes) {
        say(options);
        const live = must(c.live_open());
        try {
            say(`${form} ${shapes}`);
            return must(c.live_count(live));
        } finally {
            c.live_close(live);
        }
    }

    function plan(live, form) {
        say(form);
        const at = must(c.live_plan(live));
        return {
            run: (times = 1) => must(!c.live_run(live, at, times)),
            multiply_adds: c.live_multiply_adds(live, at),
            bytes: c.live_bytes(at),
            close: () => c.live_release(at),
        };
    }

    /* `shapes` is as live_shape has it, or, for live_bind, a map of names to sizes. */
    function problem(options, shapes) {
        say(options);
        const live = must(c.live_open());
        try {
            const listed = typeof shapes !== "string";
            say(listed ? Object.entries(shapes).map(([name, size]) => `${name} ${size.join(" ")}`).join("\n") : shapes);
            must(!(listed ? c.live_bind(live) : c.live_shape(live)));
        } catch (error) {
            c.live_close(live);
            throw error;
        }
        c.live_tensors(live);
        const places = text().trim().split("\n").map(line => {
            const [name, ...size] = line.split(" ");
            return { name, at: +size.pop().slice(1), size: size.map(Number) };
        });
        const plans = [];
        return {
            options,
            size: Object.fromEntries(places.map(place => [place.name, place.size])),
            /* The memory moves when it grows, and old views of it are empty. */
            get tensor() {
                return Object.fromEntries(places.map(({ name, at, size }) =>
                    [name, new Float32Array(c.memory.buffer, at, size.reduce((a, b) => a * b, 1))]));
            },
            plan: form => {
                plans.push(plan(live, form));
                return plans[plans.length - 1];
            },
            close: () => {
                for (const each of plans) each.close();
                c.live_close(live);
            },
        };
    }

    return { problem, count };
}

if (typeof module !== "undefined") module.exports = { library_open };
