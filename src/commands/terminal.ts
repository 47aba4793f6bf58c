import { printable, printableJson } from '../lib/printable.ts';

/*
 * The only place where commands write to the terminal. Much of what they show came from outside: an answer of a
 * receiver, a body that nobody signed, a carrier's id. Every line therefore goes through `printable`.
 */

/** One line, or several with line breaks, on stdout. */
export function printLine(text = ''): void {
  console.log(printableLines(text));
}

/** The same on stderr: for errors, and for remarks where stdout is for a program. */
export function printNote(text: string): void {
  console.error(printableLines(text));
}

/** A value as JSON on stdout: one line, or indented for a person. */
export function printJson(value: unknown, indent?: number): void {
  console.log(printableJson(value, indent));
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
