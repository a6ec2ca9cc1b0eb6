// Makes pages live: replaces their blocks as the server sends them. Without it every page still works.
"use strict";

(() => {
  const bar = document.querySelector("[data-live-bar]");
  const mark = document.querySelector("[data-live-mark]");
  const switchButton = document.querySelector("[data-live-pause]");
  const SILENCE_MS = 20000;
  const AGAIN_MS = 5000;
  let source = null;
  let paused = false;
  let heardAt = 0;
  let again = 0;
  // Blocks that came while the person was busy inside them.
  const held = new Map();

  const say = (is, text) => {
    bar.dataset.is = is;
    mark.textContent = text;
  };

  const heard = () => {
    heardAt = Date.now();
    say("live", "live · " + new Date().toLocaleTimeString([], { hour12: false }));
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

  const take = (name, html) => {
    const block = document.querySelector('[data-live="' + CSS.escape(name) + '"]');
    if (!block) return;
    if (busyIn(block)) held.set(name, html);
    else replace(block, html);
  };

  const release = () => {
    const waiting = [...held];
    held.clear();
    waiting.forEach(([name, html]) => take(name, html));
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
      say("trouble", "connecting again…");
      // The browser gives up on a refusal; a later try may find a free place.
      if (source?.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS);
    });
  };

  const addCopyButtons = (root) => {
    if (!navigator.clipboard) return;
    root.querySelectorAll("[data-copy]").forEach((box) => {
      const text = box.textContent;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "small copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      box.append(button);
    });
  };

  addCopyButtons(document);
  if (!bar) return;

  bar.hidden = false;
  switchButton.addEventListener("click", () => {
    paused = !paused;
    switchButton.textContent = paused ? "Go on" : "Pause";
    if (paused) {
      close();
      say("paused", "paused · " + mark.textContent.replace(/^.* · /, ""));
    } else {
      open();
    }
  });
  // A hidden page asks for nothing.
  document.addEventListener("visibilitychange", open);
  document.addEventListener("selectionchange", release);
  document.addEventListener("focusout", () => setTimeout(release));
  setInterval(() => {
    if (source && Date.now() - heardAt > SILENCE_MS) open();
  }, AGAIN_MS);
  open();
})();
