/**
 * Display choices of a person, stored by this browser. They never contain anything of a call, and nothing is stored
 * until somebody chooses. A browser without storage forgets them with the page.
 */
const prefix = 'trunkline.';

/**
 * The stored choice, or '' if there is none.
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
    // Without storage the choice lasts until the page is closed.
  }
}
