/** Small helps for readers. Every page is whole without them. */
const base = document.currentScript.src.replace(/\/docs\/site\.js.*$/, "");

/** Blocks whose fence says `tab` and that follow each other become tabs; the choice is kept for all pages. */
function makeTabs() {
  const CHOICE = "plinth-language";
  const all = [];
  for (const group of document.querySelectorAll(".code-tabs")) {
    const blocks = [...group.children];
    const bar = document.createElement("div");
    bar.setAttribute("role", "tablist");
    bar.setAttribute("aria-label", "Language");
    const tabs = blocks.map((block, at) => {
      const tab = document.createElement("button");
      const id = `tab-${all.length}-${at}`;
      Object.assign(tab, { type: "button", id, textContent: block.dataset.label });
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", `${id}-panel`);
      block.id = `${id}-panel`;
      block.setAttribute("role", "tabpanel");
      block.setAttribute("aria-labelledby", id);
      tab.addEventListener("click", () => choose(block.dataset.label));
      tab.addEventListener("keydown", ({ key }) => {
        const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
        if (step === 0) return;
        const next = tabs[(at + step + tabs.length) % tabs.length];
        next.click();
        next.focus();
      });
      return tab;
    });
    bar.append(...tabs);
    group.prepend(bar);
    all.push({ tabs, blocks });
  }
  function show(label) {
    for (const { tabs, blocks } of all) {
      const chosen = Math.max(
        blocks.findIndex((block) => block.dataset.label === label),
        0,
      );
      for (const [at, tab] of tabs.entries()) {
        tab.setAttribute("aria-selected", String(at === chosen));
        tab.tabIndex = at === chosen ? 0 : -1;
        blocks[at].hidden = at !== chosen;
      }
    }
  }
  function choose(label) {
    localStorage.setItem(CHOICE, label);
    show(label);
  }
  show(localStorage.getItem(CHOICE));
}

/** Replaces text in a line of code, whose words lie in several elements. */
function replaceInLine(line, from, to) {
  for (
    let start = line.textContent.indexOf(from);
    start >= 0;
    start = line.textContent.indexOf(from, start + to.length)
  ) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let at = 0;
    let isFirst = true;
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const { data } = node;
      const [begin, end] = [Math.max(start - at, 0), Math.min(start + from.length - at, data.length)];
      at += data.length;
      if (begin >= end) continue;
      node.data = data.slice(0, begin) + (isFirst ? to : "") + data.slice(end);
      isFirst = false;
    }
  }
}

function replaceInCode(pairs) {
  const wanted = pairs.filter(([from, to]) => from !== to);
  for (const line of document.querySelectorAll(".expressive-code .code"))
    for (const [from, to] of wanted) if (line.textContent.includes(from)) replaceInLine(line, from, to);
  for (const button of document.querySelectorAll(".expressive-code button[data-code]"))
    for (const [from, to] of wanted) button.dataset.code = button.dataset.code.replaceAll(from, to);
}

/** Only a platform of `npm start` tells the keys of its demo, and only to its own pages. */
async function fillDemoKeys() {
  const answer = await fetch(`${base}/docs/local.json`).catch(() => undefined);
  if (answer === undefined || !answer.ok) return;
  const demo = await answer.json();
  const secret = demo.clientSecret;
  const password = demo.userPassword;
  replaceInCode([
    ["$DEMO_CLIENT_SECRET", secret],
    ['process.env["DEMO_CLIENT_SECRET"]', JSON.stringify(secret)],
    ["process.env.DEMO_CLIENT_SECRET", JSON.stringify(secret)],
    ['os.environ["DEMO_CLIENT_SECRET"]', JSON.stringify(secret)],
    ["$DEMO_USER_PASSWORD", password],
    ['process.env["DEMO_USER_PASSWORD"]', JSON.stringify(password)],
    ['os.environ["DEMO_USER_PASSWORD"]', JSON.stringify(password)],
  ]);
  const place = document.getElementById("local-platform");
  if (place === null) return;
  const title = document.createElement("p");
  title.textContent =
    "This platform runs on your machine. Its demo keys are filled in wherever code on these pages needs them:";
  const table = document.createElement("table");
  const rows = [
    ["address", base],
    ["client", demo.client],
    ["its secret", secret],
    ["browser application", demo.web],
    ["person", demo.user],
    ["their password", password],
  ];
  for (const [name, value] of rows) {
    const row = table.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    const code = document.createElement("code");
    code.textContent = value;
    row.append(head);
    row.insertCell().append(code);
  }
  place.append(title, table);
  makeWideFocusable();
}

/** Lets the keyboard scroll what is wider than the page. */
function makeWideFocusable() {
  for (const block of document.querySelectorAll(".expressive-code pre, .sl-markdown-content table, .picture-frame"))
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
}

makeTabs();
makeWideFocusable();
addEventListener("resize", makeWideFocusable);
replaceInCode([["http://127.0.0.1:8787", base]]);
void fillDemoKeys();
