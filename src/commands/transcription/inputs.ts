import { stat } from 'node:fs/promises';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { printable } from '../../lib/printable.ts';

/** An input to transcribe, and the files for its results. */
export type JobInput = {
  /** The input as the user typed it. */
  given: string;
  /** The name to show. An address is shown without parts that may be secret. */
  label: string;
  /** An absolute path; undefined for an address. */
  path?: string | undefined;
  /** Absolute paths by kind (`txt`, `srt`, `de.txt` ...). Empty if all results go to stdout. */
  outputs: Map<string, string>;
};

/**
 * Determines the result files of an input. `folder` is `-` for standard output, and undefined for the folder of the
 * input.
 */
export function inputOf(given: string, folder: string | undefined, kinds: string[]): JobInput {
  const url = addressOf(given);
  const path = url ? undefined : resolve(given);
  const name = url ? nameOf(url) : basename(given);
  const into = folder === undefined ? (path === undefined ? '.' : dirname(path)) : folder;
  const stem = name === '' ? (url?.hostname ?? '') : parse(name).name;
  return {
    given,
    label: printable(url ? (name === '' ? url.host : `${name} of ${url.host}`) : given),
    path,
    outputs: new Map(
      folder === '-' ? [] : kinds.map((kind) => [kind, resolve(join(into, `${stem}.${kind}`))]),
    ),
  };
}

/** The reason why an address cannot be one of audio. Undefined for files and usable addresses. */
export function whyNoInput(given: string): string | undefined {
  if (given === '') return 'an empty name is no file';
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) return undefined;
  const url = URL.parse(given);
  if (url === null) return 'is no address; a file of that name is given as ./...';
  return /^https?:$/.test(url.protocol)
    ? undefined
    : `${url.protocol}// is not fetched: http:// and https:// are, or give a file`;
}

function addressOf(given: string): URL | undefined {
  return /^https?:\/\//i.test(given) ? (URL.parse(given) ?? undefined) : undefined;
}

/**
 * The last part of the path, usable as a file name, or an empty string. The query is ignored, because it may hold a
 * secret.
 */
function nameOf(url: URL): string {
  const last = url.pathname.split('/').at(-1) ?? '';
  let name: string;
  try {
    name = decodeURIComponent(last);
  } catch {
    name = last; // a percent sign that encodes nothing is part of the name
  }
  return printable(name.replace(/[/\\]/g, '_')).replace(/^\.+/, '').slice(0, 120);
}

/** Finds two inputs whose results would go into the same file. */
export function collision(inputs: readonly JobInput[]): string | undefined {
  const owners = new Map<string, JobInput>();
  const sources = new Set(inputs.flatMap(({ path }) => path ?? []));
  for (const input of inputs)
    for (const output of input.outputs.values()) {
      if (sources.has(output)) return `${printable(output)} is to be read and to be written`;
      const other = owners.get(output);
      if (other)
        return other.given === input.given
          ? `${input.label} is given twice`
          : `${other.label} and ${input.label} would both be written to ${printable(output)}: give them one after the other, with another --output`;
      owners.set(output, input);
    }
  return undefined;
}

/** The reason why a file cannot be sent. Undefined for a file that can be sent, and for addresses. */
export async function whyUnreadable({ path }: JobInput): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    const found = await stat(path);
    if (found.isDirectory()) return 'is a folder; name the files in it, for example with /*.wav';
    if (!found.isFile()) return 'is no regular file; save what it gives into one first';
    return found.size === 0 ? 'is empty' : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file';
    return code === 'EACCES' ? 'may not be read' : `cannot be read (${code ?? String(error)})`;
  }
}
