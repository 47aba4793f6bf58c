// A script by itself, before the first picture: a dark page must not flash white. The name is that of choices.js.
try {
  document.documentElement.dataset.theme = localStorage.getItem('trunkline.theme') ?? '';
} catch {
  // The browser keeps nothing: the system's theme it is.
}
