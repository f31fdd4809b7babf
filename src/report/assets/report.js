/* What a reader can do with the page: choose a curve, find a person in every figure, sort the table, fold
   cards, copy the methods text, save a figure. Without it everything is there all the same. */
(() => {
    "use strict";
    const all = (selector, from = document) => [...from.querySelectorAll(selector)];
    const byId = (id) => document.getElementById(id);
    const make = (name, text) => {
        const e = document.createElement(name);
        e.textContent = text;
        return e;
    };
    document.documentElement.classList.add("js");
    for (const e of all(".control, .save")) e.hidden = false;

    /* ---- curves: one at a time ---- */
    const which = byId("which-curve");
    if (which) {
        const show = () => all(".curve").forEach((c) => c.classList.toggle("off", c.id !== "curve" + which.value));
        which.addEventListener("change", show);
        show();
    }

    /* ---- people: one is looked at, everywhere ---- */
    const ids = byId("ids") ? JSON.parse(byId("ids").textContent) : [];
    const rank = all(".sortable tbody tr").map((tr) => Number(tr.dataset.p)); /* as the page has them */
    const link = (i, kind, words) => {
        const a = make("a", words);
        a.href = "#" + kind + i;
        return a;
    };
    const open = (card) => {
        if (card && card.tagName === "DETAILS") card.open = true;
    };
    const forget = () => all(".hit").forEach((e) => e.classList.remove("hit"));
    const lookAt = (i, words = "") => {
        forget();
        for (const e of all('[data-p="' + i + '"]')) {
            e.classList.add("hit");
            if (e.ownerSVGElement) { /* above the others, and those of one colour above the other colours */
                e.parentNode.append(e);
                if (e.parentNode !== e.ownerSVGElement) e.ownerSVGElement.append(e.parentNode);
            }
        }
        const row = byId("row" + i), card = byId("card" + i);
        const box = row && row.closest(".tall");
        if (box) box.scrollTop = row.offsetTop - box.clientHeight / 3;
        open(card);
        const found = byId("found");
        if (!found) return;
        found.replaceChildren(make("b", ids[i]), " " + words + " ");
        if (row) found.append(link(i, "row", "row"), " ");
        if (card) found.append(link(i, "card", "card"));
        if (!row && !card) found.append("not in the table");
    };
    const matches = (text) => {
        const asked = text.trim().toLowerCase();
        if (!asked) return [];
        if (/^#\d+$/.test(asked)) return rank.slice(asked.slice(1) - 1, asked.slice(1));
        const place = (id) => (id === asked ? 0 : id.startsWith(asked) ? 1 : id.includes(asked) ? 2 : 3);
        return ids.map((id, i) => [place(id.toLowerCase()), i]).filter((m) => m[0] < 3)
            .sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((m) => m[1]);
    };
    const find = byId("find");
    if (find) {
        let found = [], at = 0;
        const tell = () => {
            if (found.length) lookAt(found[at], found.length > 1 ? "(" + (at + 1) + " of " + found.length + ")" : "");
            else {
                forget();
                byId("found").textContent = find.value.trim() === "" ? ""
                    : find.value.trim()[0] === "#" ? "No participant has this number." : "No ID contains this text.";
            }
        };
        const next = () => {
            if (found.length) at = (at + 1) % found.length;
            tell();
        };
        find.addEventListener("input", () => {
            found = matches(find.value);
            at = 0;
            tell();
        });
        find.addEventListener("keydown", (event) => {
            if (event.key === "Enter") {
                event.preventDefault();
                next();
            } else if (event.key === "Escape") {
                find.value = "";
                found = [];
                tell();
            }
        });
        byId("find-next").addEventListener("click", next);
    }
    document.addEventListener("click", (event) => {
        const e = event.target.closest("[data-p]");
        if (e && e.tagName !== "DETAILS" && !e.classList.contains("card")) lookAt(Number(e.dataset.p));
    });

    /* ---- the table ---- */
    const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const number = (text) => { /* as kn_html_fixed and kn_html_p write them */
        const plain = text.replace(/^[<≤] /, "").replace(/−/g, "-").replace("∞", "Infinity").replace(/\s*%$/, "")
            .replace(/×10⁻([⁰¹²³⁴-⁹]+)$/, (all, up) => "e-" + [...up].map((c) => RAISED.indexOf(c)).join(""));
        return plain === "" || plain === "n/a" ? NaN : Number(plain);
    };
    const sort = (table, th, k) => {
        const body = table.tBodies[0], rows = [...body.rows];
        const texts = rows.map((r) => r.cells[k].textContent.trim());
        const numbers = texts.map(number);
        const numeric = texts.every((t, i) => t === "n/a" || t === "" || !Number.isNaN(numbers[i]));
        const down = th.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? !numeric : numeric;
        const order = rows.map((r, i) => i).sort((a, b) => {
            if (!numeric) return (down ? -1 : 1) * texts[a].localeCompare(texts[b], "en", { numeric: true }) || a - b;
            const none = Number.isNaN(numbers[a]) - Number.isNaN(numbers[b]); /* not known: last */
            if (none || Number.isNaN(numbers[a])) return none || a - b;
            return numbers[a] === numbers[b] ? a - b : (numbers[a] < numbers[b]) === down ? 1 : -1;
        });
        body.append(...order.map((i) => rows[i]));
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
    };
    for (const table of all(".sortable"))
        [...table.tHead.rows[0].cells].forEach((th, k) => {
            const button = make("button", th.textContent);
            button.type = "button";
            button.addEventListener("click", () => sort(table, th, k));
            th.replaceChildren(button);
        });

    /* ---- cards ---- */
    const OPEN = 3; /* at first: the page of ten is long */
    const cards = all(".card"), fold = byId("fold");
    const folds = () => { /* what the button would do now */
        const some = cards.some((card) => !card.open);
        fold.textContent = some ? "Open all cards" : "Close all cards";
        return some;
    };
    if (fold) {
        cards.forEach((card, k) => (card.open = k < OPEN));
        fold.addEventListener("click", () => {
            const some = folds();
            for (const card of cards) card.open = some;
        });
        for (const card of cards) card.addEventListener("toggle", folds);
        folds();
    }
    const arrive = () => open(byId(location.hash.slice(1)));
    addEventListener("hashchange", arrive);
    arrive();
    for (const viewer of all(".viewer")) {
        const line = make("p", ""), button = make("button", "Browse slices");
        line.className = "control";
        button.type = "button";
        button.addEventListener("click", () => {
            line.remove();
            window.kronormViewer(viewer);
            viewer.querySelector("canvas").focus({ preventScroll: true });
        });
        button.className = "viewer-open";
        line.append(button);
        viewer.before(line);
    }
    addEventListener("beforeprint", () => all("details").forEach((d) => (d.open = true)));

    /* ---- copy ---- */
    const copy = (source) => { /* the clipboard of a page from disk is not everywhere to be had */
        const range = document.createRange();
        range.selectNodeContents(source);
        const selection = getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        const done = document.execCommand("copy");
        if (done) selection.removeAllRanges();
        return done;
    };
    for (const button of all("[data-copy]"))
        button.addEventListener("click", () => {
            const done = copy(byId(button.dataset.copy));
            button.parentNode.querySelector("[role=status]").textContent = done ? "Copied." : "Selected. Copy it with the keyboard.";
        });

    /* ---- a figure as a file, with the rules that it uses and the colours of paper ---- */
    const styleOf = (svg) => {
        const rules = [...document.styleSheets[0].cssRules].filter((r) => r.selectorText);
        const root = rules.filter((r) => r.selectorText === ":root");
        const value = (name) => root.map((r) => r.style.getPropertyValue(name)).filter(Boolean)[0] || "";
        return rules.filter((r) => r.selectorText.includes(".fig") && !/\.hit|data-p/.test(r.selectorText) &&
                                   (svg.matches(r.selectorText) || svg.querySelector(r.selectorText)))
            .map((r) => r.cssText.replace(/var\((--[\w-]+)\)/g, (all, name) => value(name).trim())).join("\n");
    };
    const save = (figure) => {
        const svg = figure.querySelector("svg"), copied = svg.cloneNode(true);
        for (const e of all(".hit", copied)) e.classList.remove("hit");
        const text = new XMLSerializer().serializeToString(copied)
            .replace(/^<svg[^>]*>/, (tag) => tag + "<style>svg { background: #fff; }\n" + styleOf(svg) + "<\/style>");
        const a = make("a", "");
        a.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
        a.download = (figure.dataset.figure || "figure") + ".svg";
        a.click();
        setTimeout(() => URL.revokeObjectURL(a.href), 10000);
    };
    for (const button of all(".save")) button.addEventListener("click", () => save(button.closest("figure")));

    /* ---- where the reader is ---- */
    const places = new Map(all(".top a").map((a) => [a.hash.slice(1), a]));
    if ("IntersectionObserver" in window) {
        const seen = new Set();
        const watch = new IntersectionObserver((entries) => {
            for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
            const first = [...places.keys()].find((id) => seen.has(id));
            for (const [id, a] of places) id === first ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current");
            const row = first && places.get(first).closest("ul"), at = first && places.get(first).parentNode;
            if (row && row.scrollWidth > row.clientWidth) row.scrollLeft = at.offsetLeft - row.offsetLeft - 32;
        }, { rootMargin: "-30% 0px -60% 0px" });
        for (const id of places.keys()) watch.observe(byId(id));
    }
})();
