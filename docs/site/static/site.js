// What a page does beyond being read: search, the list of versions, the menu on narrow screens, and buttons that copy commands.
// Without scripts everything can still be read. Nothing is fetched from elsewhere, and pages work from a disk too: so the index
// and the list are scripts that call a function here.
"use strict";

const root = document.documentElement.dataset.root;
const version = document.documentElement.dataset.version;

function load(address) {
  const script = document.createElement("script");
  script.src = address;
  document.head.append(script);
}

// ---- versions ----

// Called by versions.js, which stands beside the directories of all versions, the newest release first.
window.siteVersions = function (versions) {
  const select = document.getElementById("versions");
  if (!versions.includes(version)) versions.push(version);
  select.replaceChildren(...versions.map((name) => new Option(name, name, false, name === version)));
  const page = location.href.slice(new URL(root, location.href).href.length);
  select.addEventListener("change", () => {
    // Another version may lack this page: its overview is always there.
    const there = new URL(`${root}../${select.value}/`, location.href).href;
    if (!there.startsWith("http")) return void (location.href = `${there}index.html`);
    fetch(there + page, { method: "HEAD" }).then(
      (answer) => (location.href = answer.ok ? there + page : there),
      () => (location.href = there),
    );
  });
  const newest = versions[0];
  if (newest === version || !newest.startsWith("v")) return;
  const old = document.getElementById("old");
  const link = document.createElement("a");
  link.href = `${root}../${newest}/index.html`;
  link.textContent = `The newest release is ${newest}.`;
  old.append(`These pages are about ${version === "main" ? "what is not released yet" : version}. `, link);
  old.hidden = false;
};
load(`${root}../versions.js`);

// ---- search ----

const input = document.getElementById("search");
const found = document.getElementById("found");
let entries;

// Called by search-index.js.
window.searchIndex = function (sections) {
  entries = sections.map((s) => ({
    ...s,
    lowTitle: `${s.page} ${s.heading}`.toLowerCase(),
    lowText: s.text.toLowerCase(),
    // What holds today comes before why it was decided, and what was new once.
    weight: /^(decisions|changelog)/.test(s.address) ? 0.3 : 1,
  }));
  show();
};

// score is 0 unless every word is in the section. Words in a heading count most, and most of all where one begins with them.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    const inTitle = entry.lowTitle.indexOf(word);
    const inText = entry.lowText.split(word, 6).length - 1;
    if (inTitle < 0 && inText === 0) return 0;
    sum += inText;
    if (entry.heading.toLowerCase().includes(word)) sum += 15;
    if (inTitle === 0 || (inTitle > 0 && /\W/.test(entry.lowTitle[inTitle - 1]))) sum += 10;
  }
  return sum * entry.weight;
}

function marked(text, words) {
  const line = document.createElement("span");
  const pattern = new RegExp(`(${words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
  text.split(pattern).forEach((part, i) => {
    if (i % 2 === 0) return line.append(part);
    const mark = document.createElement("mark");
    mark.textContent = part;
    line.append(mark);
  });
  return line;
}

function excerpt(entry, words) {
  const { text, lowText } = entry;
  const first = Math.min(...words.map((w) => lowText.indexOf(w)).filter((at) => at >= 0), text.length);
  const from = first === text.length || first < 60 ? 0 : text.lastIndexOf(" ", first - 60) + 1;
  const to = text.length <= from + 180 ? text.length : text.lastIndexOf(" ", from + 180);
  return (from > 0 ? "… " : "") + text.slice(from, Math.max(to, from)) + (to < text.length ? " …" : "");
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0 || !entries;
  if (found.hidden) return;
  const best = entries
    .map((entry) => ({ entry, score: score(entry, words) }))
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 12);
  found.replaceChildren(
    ...best.map(({ entry }) => {
      const link = document.createElement("a");
      link.href = root + entry.address;
      const title = document.createElement("b");
      title.append(entry.page === entry.heading || !entry.heading ? entry.page : `${entry.page} › ${entry.heading}`);
      link.append(title, marked(excerpt(entry, words), words));
      link.addEventListener("click", () => (found.hidden = true));
      return link;
    }),
  );
  if (best.length === 0) found.textContent = "Nothing has all of these words.";
}

input.addEventListener("focus", () => entries || load(`${root}search-index.js`), { once: true });
input.addEventListener("input", show);
input.addEventListener("focus", show);
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) found.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea, select")) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape") {
    found.hidden = true;
    input.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.closest(".search") && !found.hidden) {
    event.preventDefault();
    const links = [input, ...found.querySelectorAll("a")];
    const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    links[Math.min(Math.max(next, 0), links.length - 1)].focus();
  } else if (event.key === "Enter" && event.target === input && !found.hidden) {
    found.querySelector("a")?.click();
  }
});

// ---- the menu on narrow screens ----

// Without scripts the button leads to the menu below the page.
const button = document.querySelector(".menu-button");
button.setAttribute("role", "button");
button.setAttribute("aria-expanded", "false");
document.documentElement.classList.add("scripts");
button.addEventListener("click", (event) => {
  event.preventDefault();
  const open = document.documentElement.classList.toggle("menu-open");
  button.setAttribute("aria-expanded", String(open));
  if (open) window.scrollTo(0, 0);
});
const current = document.querySelector('nav [aria-current="page"]');
if (current) current.closest("nav").scrollTop = current.offsetTop - window.innerHeight / 2;

// ---- copying ----

// Of a block with a terminal, only the commands.
function commands(text) {
  const lines = text.split("\n");
  if (!lines.some((line) => line.startsWith("$ "))) return text;
  const kept = [];
  let goesOn = false;
  for (const line of lines) {
    if (goesOn || line.startsWith("$ ")) {
      kept.push(goesOn ? line : line.slice(2));
      goesOn = line.endsWith("\\");
    }
  }
  return kept.join("\n") + "\n";
}

for (const block of navigator.clipboard ? document.querySelectorAll("main .highlight") : []) {
  const copy = document.createElement("button");
  copy.className = "copy";
  copy.textContent = "Copy";
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(commands(block.querySelector("code").textContent));
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  block.append(copy);
}
