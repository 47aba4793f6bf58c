import { messageOf } from './failures.js';

/** @typedef {Record<string, string | number | boolean | undefined>} Data */
/**
 * A listener may declare the event type of its name, because the browser passes no other.
 * @typedef {{ bivarianceHack(event: Event): unknown }['bivarianceHack']} Listener
 */
/** @typedef {Record<string, string | number | boolean | null | undefined | Data | Listener>} Props */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Builds an element: `h('p', { class: 'quiet' }, 'text', child)`. Text is always text, never markup.
 * Functions become listeners. Children that are `null` or `false` are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Props} [props]
 * @param {...(Child | readonly Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  setProps(element, props);
  for (const child of children.flat()) if (child != null && child !== false) element.append(child);
  return element;
}

const svgNamespace = 'http://www.w3.org/2000/svg';

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} [props]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {Props} props
 */
function setProps(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (typeof value === 'object') setData(element, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/**
 * @param {HTMLElement} element
 * @param {Data} data
 */
function setData(element, data) {
  for (const [name, value] of Object.entries(data))
    if (value !== undefined) element.dataset[name] = String(value);
}

/**
 * Sets text only if it differs, so that selections and screen readers are not disturbed.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Runs an action of a person. What was said of the one before goes, and a failure is told as a problem.
 * @param {{ said: Element, problem: Element }} told
 * @param {() => Promise<unknown>} run
 */
export async function tryAction({ said, problem }, run) {
  setText(said, '');
  setText(problem, '');
  try {
    await run();
  } catch (error) {
    setText(problem, `That did not work: ${messageOf(error)}`);
  }
}

/**
 * Runs the function once before the next frame, however often it is requested until then.
 * @param {() => void} run
 */
export function onNextFrame(run) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      run();
    });
  };
}
