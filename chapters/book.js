/* book.js -- a search over the text, claims and proofs; buttons that copy code
 *
 * The pages are complete without it.  `book`, of found.js, lists [words, target, page, text of the section];
 * what is asked for are words, all of which must occur.  found.js is large: the first search loads it. */

const field = document.createElement("input");
const answers = document.createElement("ol");

function holds(text, words) {
    return words.every(word => text.includes(word));
}

/* Smaller is nearer: headings and terms, then sections that say it often, then claims and tests. */
function distance([text, target, page, prose = ""], words) {
    const low = text.toLowerCase(), further = /^test_|#claim-/.test(target) ? 3 : 0;
    if (holds(low, words)) return further + (low.startsWith(words[0]) ? 0 : 1) + (page ? 0.5 : 0);
    const known = prose.toLowerCase(), times = known.split(words.join(" ")).length - 1;
    if (holds(`${low} ${known}`, words)) return times ? 2 + 3 / times : 6;
    return holds(`${low} ${page.toLowerCase()}`, words) ? 7 : Infinity;
}

function search(asked) {
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return book.map(entry => ({ entry, far: distance(entry, words) })).filter(({ far }) => far < Infinity)
        .sort((a, b) => a.far - b.far).slice(0, 20).map(({ entry }) => [...entry.slice(0, 3), around(entry, words)]);
}

/* The text around the words, or the first that the heading lacks: before, the word, after. */
function around([text, , , prose = ""], words) {
    const low = prose.toLowerCase(), phrase = words.join(" ");
    const word = low.includes(phrase) ? phrase : words.find(word => !text.toLowerCase().includes(word));
    const at = word ? low.indexOf(word) : -1;
    if (at < 0) return null;
    const from = at > 50 ? prose.indexOf(" ", at - 50) + 1 : 0, end = prose.indexOf(" ", at + word.length + 70);
    return [(from ? "… " : "") + prose.slice(Math.min(from, at), at), prose.slice(at, at + word.length),
        prose.slice(at + word.length, end < 0 ? prose.length : end) + (end < 0 ? "" : " …")];
}

/* The scripts of the live figures have their own element(). */
function tag(name, text, ...children) {
    const made = document.createElement(name);
    made.append(text, ...children);
    return made;
}

function show() {
    if (typeof book === "undefined") return;
    answers.replaceChildren(...search(field.value).map(([text, target, page, found]) => {
        const link = tag("a", text), item = tag("li", link, " ", tag("span", page));
        link.href = target;
        if (found) item.append(tag("p", found[0], tag("mark", found[1]), found[2]));
        return item;
    }));
    if (field.value.trim() && !answers.children.length) answers.textContent = "Found nothing.";
}

/* There are no buttons if a page may not write to the clipboard. */
for (const code of navigator.clipboard ? document.querySelectorAll("pre > code") : []) {
    const button = tag("button", "copy"), text = code.textContent;
    button.className = "copy";
    button.addEventListener("click", () => navigator.clipboard.writeText(text).then(() => "copied", () => "failed")
        .then(said => { button.textContent = said; }));
    code.prepend(button);
}

field.type = "search";
field.placeholder = "Search";
field.setAttribute("aria-label", "Search the book");
field.addEventListener("focus", () => document.head.append(
    Object.assign(document.createElement("script"), { src: "found.js", onload: show })), { once: true });
field.addEventListener("input", show);
answers.className = "answers";
answers.setAttribute("aria-live", "polite");
const box = document.createElement("search");
box.append(field, answers);
document.querySelector("aside").prepend(box);

document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== field) {
        event.preventDefault();
        field.focus();
    } else if (event.key === "Escape") {
        field.value = "";
        show();
    } else if (event.key === "Enter" && document.activeElement === field) {
        const first = answers.querySelector("a");
        if (first) first.click();
    }
});
