/**
 * Choices of a person for their eyes and hands, remembered by this browser. Nothing of a call is ever among them, and
 * nothing at all until somebody chooses. A browser that keeps nothing forgets it with the page.
 */
const prefix = 'trunkline.';

/**
 * '' where nothing was chosen.
 * @param {string} name
 */
export function choice(name) {
  try {
    return localStorage.getItem(prefix + name) ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
export function choose(name, value) {
  try {
    if (value === '') localStorage.removeItem(prefix + name);
    else localStorage.setItem(prefix + name, value);
  } catch {
    // It holds until the page is closed.
  }
}
