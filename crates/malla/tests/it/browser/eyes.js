// What a person finds on a page: shown elements of a kind, by the words on them.
const [kind, wanted, within] = arguments;
const shown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
const words = (text) => (text || "").replace(/\s+/g, " ").trim().toLowerCase();
const named = (one) => words(one.getAttribute("aria-label")) || words(one.innerText) || words(one.value);
const KINDS = {
  button: ["button, summary, input[type=submit], [role=button], a[href]", named],
  heading: ["h1, h2, h3", (one) => words(one.innerText)],
  // A label's first line: hints, errors and choices come after it.
  field: ["label", (one) => words(one.innerText.split("\n")[0])],
};
const [selector, name] = KINDS[kind];
const found = [...(within || document).querySelectorAll(selector)].filter((one) => shown(one) && name(one) === words(wanted));
return kind === "field" ? found.map((one) => one.control).filter(Boolean) : found;
