/* live.js -- node's part in tests/library/test_live.c: runs the module of the live figures
 *
 *     node tests/library/live.js MODULE golden FILE FORM...        y of a golden vector by each form, as raw floats
 *     node tests/library/live.js MODULE kernel SCENE SETTINGS      a scene's problem, with random x except for chopd,
 *                                                                  and the attention kernel that it shows, as a
 *                                                                  safetensors file whose last tensor is `kernel`
 *
 * SETTINGS, in JSON, replace those of the scene. */

"use strict";
const fs = require("fs");
const { library_open } = require("../../chapters/live/library.js");
const { scenes, draw_picture, shrink } = require("../../chapters/live/scenes.js");

/* Tensors and metadata of a safetensors file. */
function read(path) {
    const bytes = fs.readFileSync(path);
    const start = 8 + Number(bytes.readBigUInt64LE(0));
    const { __metadata__: said, ...header } = JSON.parse(bytes.subarray(8, start).toString());
    const tensors = {};
    for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
        const data = bytes.buffer.slice(bytes.byteOffset + start + from, bytes.byteOffset + start + to);
        tensors[name] = { shape, data: dtype === "F64" ? new Float64Array(data) : new Float32Array(data) };
    }
    return { said, tensors };
}

/* The same random numbers each time. */
function fill_noise(x) {
    for (let i = 0, seed = 1; i < x.length; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        x[i] = seed / 1073741824 - 1;
    }
}

function golden(library, path, ...forms) {
    const { said, tensors } = read(path);
    delete tensors.y_expected;
    const shapes = Object.fromEntries(Object.entries(tensors).map(([name, { shape }]) => [name, shape]));
    const problem = library.problem(`${said.operator} ${said.options}`, shapes);
    for (const name in tensors) problem.tensor[name].set(tensors[name].data);
    return forms.map(form => {
        problem.plan(form).run();
        return problem.tensor.y.slice();
    });
}

/* The bytes of a safetensors file of F32. */
function packed(said, tensors) {
    const header = { __metadata__: said };
    let at = 0;
    for (const [name, { shape, data }] of tensors) {
        header[name] = { dtype: "F32", shape, data_offsets: [at, at + 4 * data.length] };
        at += 4 * data.length;
    }
    let text = JSON.stringify(header);
    text += " ".repeat((8 - text.length % 8) % 8);
    const start = Buffer.alloc(8);
    start.writeBigUInt64LE(BigInt(text.length));
    return Buffer.concat([start, Buffer.from(text), ...tensors.map(([, { data }]) =>
        Buffer.from(data.buffer, data.byteOffset, data.byteLength))]);
}

function kernel(library, name, words) {
    const scene = scenes[name], settings = Object.fromEntries(scene.controls.map(each => [each.key, each.value]));
    Object.assign(settings, JSON.parse(words));
    const problem = scene.show(library, settings, shrink(draw_picture("shapes"), settings.E));
    if (name !== "chopd") fill_noise(problem.tensor.x);
    const { high, low, all = settings.kernel === "low" ? low : high } = scene.kernel(library, settings, problem);
    const [operator, ...options] = problem.options.split(" "), N = settings.E ** 2;
    const tensors = Object.entries(problem.size).filter(([name]) => name !== "y")
        .map(([name, shape]) => [name, { shape, data: problem.tensor[name] }]);
    return [packed({ operator, options: options.join(" ") }, [...tensors, ["kernel", { shape: [N, N], data: all }]])];
}

async function main([path, what, ...words]) {
    const library = await library_open(fs.readFileSync(path));
    for (const y of { golden, kernel }[what](library, ...words))
        fs.writeSync(1, Buffer.from(y.buffer, y.byteOffset, y.byteLength));
}

main(process.argv.slice(2)).catch(error => {
    console.error(error.message);
    process.exit(1);
});
