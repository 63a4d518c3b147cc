/* layout.js -- how the pages of the bound book lie in windows of three widths
 *
 * layout.sh lists the `pages` and `drawings` and lets a browser run this in the book's
 * folder.  Each page is opened in a frame, which is then made narrower.  What is found
 * becomes the text of `report`, a line each: KIND seen NUMBER, KIND wrong PLACE: WHAT, or
 * KIND skipped REASON, where a KIND is page, formula, picture, sign or drawing. */

const widths = [1280, 684, 360];
const slack = 1.5;              /* boxes end between pixels */
const found = [];
const seen = { page: 0, formula: 0, picture: 0, sign: 0, drawing: 0 };
const pen = document.createElement("canvas").getContext("2d");

function wrong(kind, where, what) {
    found.push(`${kind} wrong ${where}: ${what}`);
}

/* What contains an element and may be scrolled sideways, if anything does. */
function scroller(element) {
    for (let box = element.parentElement; box; box = box.parentElement) {
        const style = box.ownerDocument.defaultView.getComputedStyle(box);
        if (box.tagName === "BODY" || box.tagName === "HTML") return null;
        if (/auto|scroll/.test(style.overflowX)) return box;
    }
    return null;
}

/* The nearest element around it that is a block of its own. */
function block(element) {
    let box = element.parentElement;
    while (/^inline|^contents|math/.test(element.ownerDocument.defaultView.getComputedStyle(box).display))
        box = box.parentElement;
    return box;
}

/* The words of an element; of a formula those that are seen, not those it was written in. */
function words(element) {
    const copy = element.cloneNode(true);
    for (const unseen of copy.querySelectorAll("annotation")) unseen.remove();
    return copy.textContent.replace(/\s+/g, " ").trim().slice(0, 60);
}

/* Does the element lie within `box`, or within what can be scrolled into it? */
function within(element, box, scrolls) {
    const inner = element.getBoundingClientRect();
    const outer = box.getBoundingClientRect();
    const right = scrolls ? outer.left - box.scrollLeft + box.scrollWidth : outer.right;
    return inner.left >= outer.left - box.scrollLeft - slack && inner.right <= right + slack;
}

function not_too_wide(page, width, where) {
    const root = page.documentElement;
    const reach = Math.max(root.scrollWidth, page.body.scrollWidth);
    if (reach > width) wrong("page", where, `is ${reach} px wide`);
    for (const table of page.querySelectorAll("main table, main img"))
        if (!scroller(table) && !within(table, block(table), false))
            wrong("page", where, `<${table.tagName.toLowerCase()}> leaves its column: ${words(table)}`);
    const aside = page.querySelector("aside"), text = page.querySelector("main");
    if (aside && page.defaultView.getComputedStyle(aside).position === "fixed" &&
        aside.getBoundingClientRect().right > text.getBoundingClientRect().left + slack)
        wrong("page", where, "the list beside the text lies on it");
}

function formulas_lie_within(page, where) {
    for (const math of page.querySelectorAll("math")) {
        const box = scroller(math);
        if (!within(math, box || block(math), box))
            wrong("formula", where, `${Math.round(math.getBoundingClientRect().width)} px: ${words(math)}`);
    }
    for (const equation of page.querySelectorAll(".equation"))
        if (equation.scrollHeight > equation.clientHeight + slack)
            wrong("formula", where,
                `${equation.scrollHeight} px high in ${equation.clientHeight} px: ${words(equation)}`);
}

function pictures_are_drawn(page, where) {
    for (const picture of page.querySelectorAll("img")) {
        if (!picture.complete || !picture.naturalWidth || picture.getBoundingClientRect().width < 1)
            wrong("picture", where, `${picture.getAttribute("src")} is not drawn`);
    }
}

/* A lone letter of an <mi> is set in italics, which are signs of their own. */
function italic(letter) {
    const code = letter.codePointAt(0);
    if (letter === "h") return "\u210e";
    if (code >= 65 && code <= 90) return String.fromCodePoint(0x1d434 + code - 65);
    if (code >= 97 && code <= 122) return String.fromCodePoint(0x1d44e + code - 97);
    if (code >= 0x3b1 && code <= 0x3c9) return String.fromCodePoint(0x1d6fc + code - 0x3b1);
    return letter;
}

/* A sign is in the font when it doubles with it: what another font lends keeps its size. */
const signs = new Map();
function in_the_font(sign) {
    if (!signs.has(sign)) {
        pen.font = '40px "Once"';
        const once = pen.measureText(sign).width;
        pen.font = '40px "Twice"';
        signs.set(sign, !once || Math.abs(pen.measureText(sign).width / once - 2) < 0.01);
        seen.sign++;
    }
    return signs.get(sign);
}

function signs_are_in_the_font(page, where) {
    for (const leaf of page.querySelectorAll("math mi, math mn, math mo, math mtext")) {
        let text = [...leaf.textContent.replace(/\s/g, "")];
        if (leaf.localName === "mi" && text.length === 1 && leaf.getAttribute("mathvariant") !== "normal")
            text = [italic(text[0])];
        for (const sign of text)
            if (!in_the_font(sign))
                wrong("sign", where, `${sign} U+${sign.codePointAt(0).toString(16)} in ${words(leaf.closest("math"))}`);
    }
}

/* Words of a drawing neither leave it nor lie on other words.  Their boxes are higher than they are.
 * Words with a ground of their own gnuplot draws twice at one place, before it and on it. */
function words_lie_apart(drawing, where) {
    const sheet = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll("text")].filter(words)
        .map(text => ({ what: words(text), box: text.getBoundingClientRect() }));
    texts.forEach(({ what, box }, i) => {
        if (box.left < sheet.left - slack || box.right > sheet.right + slack ||
            box.top < sheet.top - slack || box.bottom > sheet.bottom + 2 * slack)
            wrong("drawing", where, `"${what}" leaves it`);
        for (const other of texts.slice(i + 1)) {
            const moved = Math.abs(box.left - other.box.left) + Math.abs(box.top - other.box.top);
            if (what === other.what && moved < 1) continue;
            const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
            const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
            if (across > slack && down > Math.min(box.height, other.box.height) / 3)
                wrong("drawing", where, `"${what}" and "${other.what}" overlap`);
        }
    });
}

function opened(frame, name) {
    return new Promise(resolve => {
        frame.onload = resolve;
        frame.src = name;
    });
}

async function look() {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    let font = false;
    try {
        await document.fonts.load('40px "Once"');
        await document.fonts.load('40px "Twice"');
        font = true;
    } catch (error) {
        found.push("sign skipped the book has no math.font");
    }
    for (const name of pages) {
        frame.style.width = widths[0] + "px";
        await opened(frame, name);
        const page = frame.contentDocument;
        await page.fonts.ready;
        for (const details of page.querySelectorAll("details")) details.open = true;
        for (const width of widths) {
            frame.style.width = width + "px";
            const where = `${name} at ${width} px`;
            not_too_wide(page, width, where);
            formulas_lie_within(page, where);
            pictures_are_drawn(page, where);
        }
        if (font) signs_are_in_the_font(page, name);
        seen.page++;
        seen.formula += page.querySelectorAll("math").length;
        seen.picture += page.querySelectorAll("img").length;
    }
    frame.style.width = widths[0] + "px";
    for (const name of drawings) {
        await opened(frame, name);
        words_lie_apart(frame.contentDocument.documentElement, name);
        seen.drawing++;
    }
}

look().catch(error => found.push(`page wrong ${error}`)).finally(() => {
    for (const kind in seen) found.push(`${kind} seen ${seen[kind]}`);
    document.getElementById("report").textContent = ["begin", ...found, "end"].join("\n");
});
