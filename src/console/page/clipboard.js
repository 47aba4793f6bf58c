import { h } from './dom.js';

/** A browser reads a downloaded file after the click. Its memory is freed after this time. */
const downloadKeptMs = 60_000;

/**
 * Copies text. Without TLS browsers offer pages no clipboard, so a selection is copied in the old way.
 * @param {string} text
 */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h('textarea', { class: 'off-screen', readonly: true });
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('this browser does not let a page copy');
}

/** @param {{ name: string, type: string, text: string }} file */
export function saveFile({ name, type, text }) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), downloadKeptMs);
}
