/**
 * Builds an element: `h('p', { class: 'quiet' }, 'text', child)`. Text is always text, never markup.
 * Functions become listeners, `null` and `false` children are left out.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  setProps(element, props);
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

const svgNamespace = 'http://www.w3.org/2000/svg';

export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

function setProps(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'dataset') Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Sets text only when it differs: selections and screen readers are left in peace. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Runs once before the next picture, however often it is asked for until then. */
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
