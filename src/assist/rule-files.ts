import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { digestOf } from '../lib/digest.ts';
import { reasonOf } from '../lib/errors.ts';
import { yaml } from '../lib/yaml.ts';
import { RuleFileError } from './mistakes.ts';

/* The YAML files that people write, playbooks and scorecards: one of them, a folder of them, and those that come with the program. */

/** Triggers in triggers, and lists in lists, are read up to this depth. */
const maxNesting = 60;
const tooDeep = `nested too deeply: at most ${maxNesting} levels are read`;
/** At most this many files are read from a folder. */
export const maxFiles = 100;
export const maxFileBytes = 512 * 1024;
const starterFolder = new URL('./starter/', import.meta.url);

export type RuleFileKind = 'playbook' | 'scorecard';
export type PlaybookProblem = { file: string; reason: string };

/** Reads one file. Throws with a line for each mistake, for the person who wrote it. */
export function ruleFileFrom<T extends object>(
  kind: RuleFileKind,
  schema: z.ZodType<T>,
  text: string,
): T & { digest: string } {
  if (text.length > maxFileBytes) throw new Error(tooLong(kind));
  const parsed = readWith(schema, text);
  if (!parsed.success)
    throw new RuleFileError(
      parsed.error.issues.slice(0, 20).map((issue) => {
        const path = issue.path.map((key) => (typeof key === 'symbol' ? key.toString() : key));
        const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : [];
        const place = unknown === undefined ? path : [...path, unknown];
        return { place, reason: `${path.join('.') || 'the file'}: ${issue.message}` };
      }),
    );
  return { ...parsed.data, digest: ruleFileDigest(text) };
}

function readWith<T extends object>(schema: z.ZodType<T>, text: string) {
  let value: unknown;
  try {
    value = yaml().parse(text, { maxAliasCount: 20 });
  } catch (error) {
    // The reader of YAML reports its own overflow of the stack as a mistake of the text.
    if (/call stack/.test(reasonOf(error))) throw new RuleFileError([{ place: [], reason: tooDeep }]); // prettier-ignore
    throw error;
  }
  const place = placeTooDeep(value);
  if (place !== undefined) throw new RuleFileError([{ place, reason: tooDeep }]);
  return schema.safeParse(value);
}

/** The way to a value that stands in too many others. Neither the schema nor the rules are asked to follow it. */
function placeTooDeep(value: unknown): (string | number)[] | undefined {
  const open: { value: unknown; place: (string | number)[] }[] = [{ value, place: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.place.length > maxNesting) return next.place;
    const isList = Array.isArray(next.value);
    for (const [key, inner] of Object.entries(next.value))
      open.push({ value: inner, place: [...next.place, isList ? Number(key) : key] });
  }
  return undefined;
}

/** The true version of a file. */
export function ruleFileDigest(text: string): string {
  return digestOf(text).slice(0, 16);
}

/** The texts of the files of this kind that come with the program. */
export function starterTexts(kind: RuleFileKind): string[] {
  return readdirSync(starterFolder)
    .filter((file) => file.endsWith('.yaml'))
    .filter((file) => file.endsWith('.scorecard.yaml') === (kind === 'scorecard'))
    .toSorted()
    .map((file) => readFileSync(new URL(file, starterFolder), 'utf8'));
}

/** Reads a folder, or one file. A file that cannot be used is a problem and never an error. */
export async function ruleFilesIn<T extends { id: string }>(
  kind: RuleFileKind,
  path: string,
  from: (text: string) => T,
): Promise<{ good: T[]; problems: PlaybookProblem[] }> {
  const good: T[] = [];
  const problems: PlaybookProblem[] = [];
  for (const file of await filesAt(path)) {
    try {
      const one = from(await textOfFile(kind, file));
      if (good.some(({ id }) => id === one.id))
        throw new Error(`another file has a ${kind} ${one.id}`);
      good.push(one);
    } catch (error) {
      problems.push({ file, reason: reasonOf(error) });
    }
  }
  return { good, problems };
}

/**
 * The files as they were read last, with those whose file is wrong now and was right before. A file that is gone is
 * gone.
 */
export function lastGood<T extends { id: string }>(
  { good, problems }: { good: readonly T[]; problems: readonly PlaybookProblem[] },
  before: readonly T[],
): readonly T[] {
  if (problems.length === 0) return good;
  return [...good, ...before.filter(({ id }) => !good.some((one) => one.id === id))];
}

/** Names, lengths and times of the files: they tell whether anything must be read again. */
export async function filesAsTheyAre(path: string): Promise<string> {
  const files = await filesAt(path);
  const seen = files.map(async (file) => {
    const { size, mtimeMs, ctimeMs } = await stat(file);
    return [file, size, mtimeMs, ctimeMs];
  });
  return JSON.stringify(await Promise.all(seen));
}

/** The YAML files of a folder, or the one file. */
export async function filesAt(path: string): Promise<string[]> {
  const at = await stat(path).catch(() => undefined);
  if (at === undefined) return [];
  if (at.isFile()) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .toSorted()
    .slice(0, maxFiles)
    .map((name) => join(path, name));
}

/** A device or a film in the folder is not read at all. */
export async function textOfFile(kind: RuleFileKind, file: string): Promise<string> {
  const at = await stat(file);
  if (!at.isFile()) throw new Error('it is no file');
  if (at.size > maxFileBytes) throw new Error(tooLong(kind));
  return readFile(file, 'utf8');
}

function tooLong(kind: RuleFileKind): string {
  return `a ${kind} is at most 512 KiB long`;
}
