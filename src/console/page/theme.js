// A separate script that runs before the first frame, so that a dark page does not flash white. The storage name is
// that of choices.js.
try {
  document.documentElement.dataset.theme = localStorage.getItem('trunkline.theme') ?? '';
} catch {
  // Without storage the system's theme is used.
}
