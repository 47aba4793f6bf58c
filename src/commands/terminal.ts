import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { printable, printableJson } from '../lib/printable.ts';

/*
 * The only file in which commands write to the terminal. Much of that text comes from outside: a receiver's answer,
 * an unsigned body, a carrier's id. Every line therefore goes through `printable`.
 */

/** One line, or several with line breaks, on stdout. */
export function printLine(text = ''): void {
  console.log(printableLines(text));
}

/** Prints one or several lines on stderr: errors, and notes when a program reads stdout. */
export function printNote(text: string): void {
  console.error(printableLines(text));
}

/** Prints a value as JSON on stdout: one line, or indented for a person. */
export function printJson(value: unknown, indent?: number): void {
  console.log(printableJson(value, indent));
}

/** A file: to a program as it is, to a person's terminal line by line. */
export async function printStream(file: Readable): Promise<void> {
  if (!process.stdout.isTTY) return pipeline(file, process.stdout, { end: false });
  for await (const line of createInterface({ input: file, crlfDelay: Infinity })) printLine(line);
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Prints rows as columns under their headings. */
export function printTable(headings: readonly string[], rows: readonly string[][]): void {
  const all = [headings, ...rows];
  const widths = headings.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  for (const row of all)
    printLine(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}
