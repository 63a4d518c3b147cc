/* browser.js -- a browser without a window, driven as a reader would drive it
 *
 *     const browser = await open_browser("chromium");          or "firefox"
 *     const page = await browser.page("file:///...", 1280, 900);
 *     await page.click(x, y); await page.ask("document.title"); await page.errors()
 *
 * Each by the protocol that comes with it: Chromium's through a pipe (messages of JSON, each
 * ended by a zero byte), Firefox's Marionette through a socket (length, colon, JSON).  Clocks
 * run, clicks are a mouse's, and a page from the disk has no right that it would not have for
 * a reader.  dark and scripts are what the reader has set; Firefox here always lets scripts run. */

"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const net = require("net");
const os = require("os");
const path = require("path");

/* What Chromium and Firefox call them. */
const KEYS = {
    ArrowLeft: [37, "\uE012"], ArrowUp: [38, "\uE013"], ArrowRight: [39, "\uE014"], ArrowDown: [40, "\uE015"],
};
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/* A process with a folder of its own, and its end. */
function begin(program, words, stdio) {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"));
    const child = spawn(program, words(home), { stdio });
    const ended = new Promise(resolve => child.on("exit", resolve));
    child.on("error", () => {});
    process.on("exit", () => child.kill());
    process.on("SIGTERM", () => process.exit(1));
    async function end() {
        const patience = setTimeout(() => child.kill(), 5000);
        await ended;
        clearTimeout(patience);
        fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    }
    return { home, child, end };
}

/* ---- Chromium --------------------------------------------------------------------------- */

async function open_chromium(program) {
    const { child, end } = begin(program, home => ["--headless", "--disable-gpu", "--disable-dev-shm-usage",
        "--remote-debugging-pipe", `--user-data-dir=${home}`, "--hide-scrollbars",
        ...(process.getuid() ? [] : ["--no-sandbox"]), "about:blank"], ["ignore", "ignore", "ignore", "pipe", "pipe"]);
    const [, , , to, from] = child.stdio, asked = new Map(), sessions = new Map();
    let last = 0, rest = "";

    from.setEncoding("utf8");
    from.on("data", data => {
        const parts = (rest + data).split("\0");
        rest = parts.pop();
        for (const { id, error, result, sessionId, method, params } of parts.map(JSON.parse)) {
            if (!id) {
                if (sessions.has(sessionId)) sessions.get(sessionId)(method, params);
                continue;
            }
            const { resolve, reject } = asked.get(id);
            asked.delete(id);
            if (error) reject(new Error(error.message));
            else resolve(result);
        }
    });
    const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
        asked.set(++last, { resolve, reject });
        to.write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
    });

    async function page(address, width, height, { dark = false, scripts = true } = {}) {
        const { targetId } = await send("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
        const errors = [], mine = (method, params) => send(method, params, sessionId);
        const fault = ({ exception, text }) => (exception && exception.description) || text;
        let loaded;
        const load = new Promise(resolve => { loaded = resolve; });
        sessions.set(sessionId, (method, params) => {
            if (method === "Runtime.exceptionThrown") errors.push(fault(params.exceptionDetails));
            if (method === "Log.entryAdded" && params.entry.level === "error") errors.push(params.entry.text);
            if (method === "Runtime.consoleAPICalled" && params.type === "error")
                errors.push(params.args.map(({ value }) => value).join(" "));
            if (method === "Page.loadEventFired") loaded();
        });
        for (const kind of ["Page", "Runtime", "Log"]) await mine(`${kind}.enable`);
        const resize = (width, height) =>
            mine("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
        await resize(width, height);
        const scheme = { name: "prefers-color-scheme", value: dark ? "dark" : "light" };
        await mine("Emulation.setEmulatedMedia", { features: [scheme] });
        if (!scripts) await mine("Emulation.setScriptExecutionDisabled", { value: true });
        await mine("Page.navigate", { url: address });
        await load;

        async function ask(expression) {
            const words = { expression, awaitPromise: true, returnByValue: true };
            const { result, exceptionDetails } = await mine("Runtime.evaluate", words);
            if (exceptionDetails) throw new Error(fault(exceptionDetails));
            return result.value;
        }
        async function press(key) {
            for (const type of ["keyDown", "keyUp"])
                await mine("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: KEYS[key][0] });
        }
        async function drag([x, y], [to_x, to_y]) {
            const mouse = (type, share, button, buttons) => mine("Input.dispatchMouseEvent",
                { type, x: x + (to_x - x) * share, y: y + (to_y - y) * share, button, buttons, clickCount: 1 });
            await mouse("mousePressed", 0, "left", 1);
            for (let step = 1; step <= 5; step++) await mouse("mouseMoved", step / 5, "none", 1);
            await mouse("mouseReleased", 1, "left", 0);
        }
        async function picture(file, clip) {
            const words = { format: "png", captureBeyondViewport: true, clip: { ...clip, scale: 1 } };
            fs.writeFileSync(file, Buffer.from((await mine("Page.captureScreenshot", words)).data, "base64"));
        }
        return { ask, resize, press, drag, picture, errors: async () => errors,
            click: (x, y) => drag([x, y], [x, y]), close: () => send("Target.closeTarget", { targetId }) };
    }

    async function close() {
        send("Browser.close").catch(() => {});
        await end();
    }
    return { name: "Chromium", silences: true, page, close };
}

/* ---- Firefox ------------------------------------------------------------------------------ */

/* The port that Marionette listens to, which it writes into its folder. */
async function port_of(home) {
    for (let tries = 0; tries < 300; tries++) {
        const file = path.join(home, "MarionetteActivePort");
        if (fs.existsSync(file) && fs.readFileSync(file, "utf8").trim()) return +fs.readFileSync(file, "utf8");
        await pause(200);
    }
    throw new Error("Firefox does not answer");
}

async function open_firefox(program) {
    const { home, end } = begin(program, home => {
        fs.writeFileSync(path.join(home, "user.js"), 'user_pref("marionette.port", 0);\n');
        return ["--headless", "--marionette", "-remote-allow-system-access", "--no-remote", "--profile", home];
    }, "ignore");
    const socket = net.connect(await port_of(home), "127.0.0.1"), asked = new Map();
    let last = 0, rest = Buffer.alloc(0), greet;
    const greeting = new Promise(resolve => { greet = resolve; });
    socket.on("error", () => {});
    socket.on("data", data => {
        rest = Buffer.concat([rest, data]);
        for (;;) {
            const colon = rest.indexOf(":"), length = +rest.subarray(0, Math.max(colon, 0)).toString();
            if (colon < 0 || rest.length < colon + 1 + length) return;
            const message = JSON.parse(rest.subarray(colon + 1, colon + 1 + length).toString());
            rest = rest.subarray(colon + 1 + length);
            if (!Array.isArray(message)) greet();
            else if (message[2]) asked.get(message[1]).reject(new Error(message[2].message));
            else asked.get(message[1]).resolve(message[3]);
        }
    });
    const send = (command, words = {}) => new Promise((resolve, reject) => {
        asked.set(++last, { resolve, reject });
        const message = JSON.stringify([0, last, command, words]);
        socket.write(`${Buffer.byteLength(message)}:${message}`);
    });
    const among_its_own = async script => {
        await send("Marionette:SetContext", { value: "chrome" });
        const { value } = await send("WebDriver:ExecuteScript", { script, args: [] });
        await send("Marionette:SetContext", { value: "content" });
        return value;
    };
    await greeting;
    await send("WebDriver:NewSession", { capabilities: { alwaysMatch: {} } });
    await send("WebDriver:SetTimeouts", { script: 120000 });

    async function page(address, width, height, { dark = false } = {}) {
        const scheme = "layout.css.prefers-color-scheme.content-override";
        await among_its_own(`Services.prefs.setIntPref("${scheme}", ${dark ? 0 : 1}); Services.console.reset();`);
        /* A window has a frame: what is asked for is what a page has in it, where that goes. */
        async function resize(width, height) {
            await send("WebDriver:SetWindowRect", { width, height });
            const [inner, high] = await ask("[innerWidth, innerHeight]");
            await send("WebDriver:SetWindowRect", { width: 2 * width - inner, height: 2 * height - high });
        }
        async function ask(expression) {
            const script = `const done = arguments[arguments.length - 1];
                Promise.resolve().then(() => eval(${JSON.stringify(expression)}))
                    .then(value => done([value]), error => done(String(error)));`;
            const { value } = await send("WebDriver:ExecuteAsyncScript", { script, args: [], sandbox: null });
            if (typeof value === "string") throw new Error(value);
            return value[0] === null ? undefined : value[0];
        }
        const act = (kind, actions) => send("WebDriver:PerformActions", { actions: [{ type: kind, id: kind, actions,
            ...(kind === "pointer" && { parameters: { pointerType: "mouse" } }) }] });
        const press = key => act("key", ["keyDown", "keyUp"].map(type => ({ type, value: KEYS[key][1] })));
        const move = ([x, y], duration) => ({ type: "pointerMove", x: Math.round(x), y: Math.round(y), duration });
        const drag = (from, to) => act("pointer", [move(from, 0), { type: "pointerDown", button: 0 }, move(to, 100),
            { type: "pointerUp", button: 0 }]);
        async function picture(file) {
            const { value } = await send("WebDriver:TakeScreenshot", { full: false });
            fs.writeFileSync(file, Buffer.from(value, "base64"));
        }
        await send("WebDriver:Navigate", { url: address });
        await resize(width, height);
        return { ask, resize, press, drag, picture, click: (x, y) => drag([x, y], [x, y]), close: async () => {},
            errors: () => among_its_own(`return Services.console.getMessageArray().filter(each =>
                each instanceof Ci.nsIScriptError && !(each.flags & Ci.nsIScriptError.warningFlag) &&
                each.sourceName.startsWith("file:")).map(each => each.errorMessage);`) };
    }

    async function close() {
        send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
        await end();
        socket.destroy();
    }
    return { name: "Firefox", silences: false, page, close };
}

const open_browser = program => /firefox/.test(program) ? open_firefox(program) : open_chromium(program);

module.exports = { open_browser };
