// Makes pages live: replaces their blocks as the server sends them. Without it every page still works.
"use strict";

(() => {
  const bar = document.querySelector("[data-live-bar]");
  const mark = document.querySelector("[data-live-mark]");
  const switchButton = document.querySelector("[data-live-pause]");
  const SILENCE_MS = 20000;
  const LOOK_MS = 5000;
  const AGAIN_MS = [1000, 30000];
  const words = document.documentElement.dataset;
  const lang = document.documentElement.lang || [];
  let source = null;
  let paused = false;
  let heardAt = 0;
  let again = 0;
  let tries = 0;
  let lookedAt = Date.now();
  // Blocks that came while the person was busy inside them.
  const held = new Map();

  const say = (is, text) => {
    bar.dataset.is = is;
    mark.textContent = text;
  };

  const heard = () => {
    heardAt = Date.now();
    tries = 0;
    say("live", bar.dataset.sayLive + " · " + new Date().toLocaleTimeString(lang, { hour12: false }));
  };

  const busyIn = (block) => {
    const active = document.activeElement;
    if (block.contains(active) && active.matches("input, select, textarea")) return true;
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && block.contains(selection.anchorNode);
  };

  const FOCUSABLE = "a, button, summary, [tabindex]";

  const replace = (block, html) => {
    const open = [...block.querySelectorAll("details")].map((one) => one.open);
    const focused = [...block.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    const scrolled = [...block.querySelectorAll("pre")].map((one) => one.scrollTop);
    block.innerHTML = html;
    block.querySelectorAll("details").forEach((one, i) => { if (open[i]) one.open = true; });
    block.querySelectorAll("pre").forEach((one, i) => { one.scrollTop = scrolled[i] || 0; });
    if (focused >= 0) block.querySelectorAll(FOCUSABLE)[focused]?.focus({ preventScroll: true });
    addCopyButtons(block);
  };

  // Many changes between two frames are one: only the last of a block is drawn.
  const coming = new Map();
  const take = (name, html) => {
    if (!coming.size) requestAnimationFrame(draw);
    coming.set(name, html);
  };

  const draw = () => {
    const blocks = [...coming];
    coming.clear();
    blocks.forEach(([name, html]) => put(name, html));
  };

  const put = (name, html) => {
    const block = document.querySelector('[data-live="' + CSS.escape(name) + '"]');
    if (!block) return;
    if (busyIn(block)) held.set(name, html);
    else replace(block, html);
  };

  const release = () => {
    const waiting = [...held];
    held.clear();
    waiting.forEach(([name, html]) => put(name, html));
  };

  const close = () => {
    clearTimeout(again);
    source?.close();
    source = null;
  };

  const open = () => {
    close();
    if (paused || document.hidden) return;
    heardAt = Date.now();
    source = new EventSource("/live?page=" + encodeURIComponent(location.pathname + location.search));
    source.addEventListener("open", heard);
    source.addEventListener("beat", heard);
    source.addEventListener("block", (event) => {
      const { name, html } = JSON.parse(event.data);
      take(name, html);
      heard();
    });
    source.addEventListener("trouble", (event) => {
      heardAt = Date.now();
      say("trouble", JSON.parse(event.data));
    });
    source.addEventListener("ended", (event) => {
      close();
      say("trouble", JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      say("trouble", bar.dataset.sayAgain);
      // Later and later, and not all pages at the same moment: a server that comes back is not run over.
      const wait = Math.min(AGAIN_MS[0] * 2 ** tries, AGAIN_MS[1]) * (0.75 + Math.random() / 2);
      tries += 1;
      close();
      again = setTimeout(open, wait);
    });
  };

  const addCopyButtons = (root) => {
    if (!navigator.clipboard) return;
    root.querySelectorAll("[data-copy]").forEach((box) => {
      const text = box.textContent;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "small copy";
      button.textContent = words.copy;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(text);
        button.textContent = words.copied;
        setTimeout(() => { button.textContent = words.copy; }, 1500);
      });
      box.append(button);
    });
  };

  // Rows that scroll sideways on a phone show where one is.
  document.querySelectorAll(".side nav, .tabs, .chips").forEach((row) => {
    const here = row.querySelector("[aria-current]");
    if (here && row.scrollWidth > row.clientWidth) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
  });

  addCopyButtons(document);
  if (!bar) return;

  bar.hidden = false;
  switchButton.addEventListener("click", () => {
    paused = !paused;
    switchButton.textContent = paused ? bar.dataset.sayGoOn : bar.dataset.sayPause;
    if (paused) {
      close();
      say("paused", bar.dataset.sayPaused + " · " + mark.textContent.replace(/^.* · /, ""));
    } else {
      open();
    }
  });
  // A hidden page asks for nothing.
  document.addEventListener("visibilitychange", open);
  window.addEventListener("online", open);
  document.addEventListener("selectionchange", release);
  document.addEventListener("focusout", () => setTimeout(release));
  // A stream that fell silent, or a machine that slept meanwhile.
  setInterval(() => {
    const slept = Date.now() - lookedAt > 3 * LOOK_MS;
    lookedAt = Date.now();
    if (slept || (source && Date.now() - heardAt > SILENCE_MS)) open();
  }, LOOK_MS);
  open();
})();
