/* book.js -- a search over headings, claims and proofs
 *
 * The pages are complete without it.  `book`, of found.js, lists
 * [words, target, page]; what is asked for are words, all of which must occur. */

const field = document.createElement("input");
const answers = document.createElement("ol");

function holds(text, words) {
    return words.every(word => text.includes(word));
}

/* Smaller is nearer: the words are its own and not its page's, it begins with them, it is a page. */
function distance([text, , page], words) {
    const low = text.toLowerCase();
    return (holds(low, words) ? 0 : 4) + (low.startsWith(words[0]) ? 0 : 2) + (page ? 1 : 0);
}

function search(asked) {
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return book
        .filter(([text, , page]) => holds((text + " " + page).toLowerCase(), words))
        .sort((a, b) => distance(a, words) - distance(b, words))
        .slice(0, 20);
}

function show() {
    answers.replaceChildren(...search(field.value).map(([text, target, page]) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        const where = document.createElement("span");
        link.href = target;
        link.textContent = text;
        where.textContent = page;
        item.append(link, " ", where);
        return item;
    }));
    if (field.value.trim() && !answers.children.length) answers.textContent = "Nothing is called so.";
}

field.type = "search";
field.placeholder = "Search";
field.setAttribute("aria-label", "Search headings, claims and proofs");
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
