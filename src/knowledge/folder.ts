import { constants } from 'node:fs';
import { open, opendir, realpath, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { reasonOf } from '../lib/errors.ts';
import { isMissing } from '../lib/is-missing.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { articlesFrom, extensions, type KnowledgeArticle } from './article.ts';

/** A folder is looked through so far. */
export const maxEntries = 20_000;
export const maxFiles = 5_000;
export const maxFileBytes = 1_048_576;
export const maxFolderBytes = 67_108_864;
export const maxPassages = 20_000;
const maxDepth = 8;
/** At most so many problems are kept by name; the last one says that there are more. */
const maxProblems = 100;
/** Parsing gives others their turn after this many milliseconds. */
const sliceMs = 5;

export type KnowledgeProblem = { file: string; reason: string };
export type KnowledgeFile = { name: string; path: string; size: number; mark: string };

/** Files that cannot be used are told by name, and never stop the process. */
class Problems {
  readonly list: KnowledgeProblem[] = [];

  add(file: string, reason: string): void {
    if (this.list.length < maxProblems) this.list.push({ file, reason });
    else if (this.list.length === maxProblems) this.list.push({ file: '…', reason: 'there are more files with problems' }); // prettier-ignore
  }
}

export type KnowledgeFolder = {
  files: KnowledgeFile[];
  problems: KnowledgeProblem[];
};

/** The files of a folder, in the order of their names. A link out of the folder is refused. */
export async function filesBelow(root: string, mostEntries = maxEntries): Promise<KnowledgeFolder> {
  const problems = new Problems();
  const files: KnowledgeFile[] = [];
  const top = await realpath(root).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (top === undefined) return { files, problems: problems.list };
  if (!(await stat(top)).isDirectory()) {
    problems.add(root, 'it is no folder');
    return { files, problems: problems.list };
  }
  let entries = 0;
  const folders = [{ name: '', depth: 0 }];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for await (const entry of await opendir(join(top, folder.name))) {
      if (++entries > mostEntries) {
        problems.add(root, `it holds more than ${mostEntries} files: divide it, or keep others elsewhere`); // prettier-ignore
        return ended();
      }
      if (entry.name.startsWith('.')) continue;
      const name = folder.name === '' ? entry.name : `${folder.name}/${entry.name}`;
      if (entry.isDirectory()) {
        if (folder.depth < maxDepth) folders.push({ name, depth: folder.depth + 1 });
        else problems.add(name, `folders go at most ${maxDepth} deep`);
        continue;
      }
      if (!extensions.includes(extname(name).toLowerCase())) continue;
      if (files.length >= maxFiles) {
        problems.add(root, `it holds more than ${maxFiles} articles: the others are not read`);
        return ended();
      }
      const file = await fileAt(top, name, problems);
      if (file !== undefined) files.push(file);
    }
  }
  return ended();

  function ended(): KnowledgeFolder {
    return { files: files.toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems: problems.list };
  }
}

async function fileAt(
  top: string,
  name: string,
  problems: Problems,
): Promise<KnowledgeFile | undefined> {
  // prettier-ignore
  try {
    const path = await realpath(join(top, name));
    if (!path.startsWith(top + sep)) throw new Error('it is a link out of the folder');
    const { size, mtimeMs, ctimeMs } = await stat(path);
    return { name, path, size, mark: `${size} ${mtimeMs} ${ctimeMs}` };
  } catch (error) {
    problems.add(name, isMissing(error) ? 'it is a link to nothing' : reasonOf(error));
    return undefined;
  }
}

/** Reads the articles of files. A file that cannot be used is a problem and never an error. */
export async function articlesOf({
  files,
  problems: before,
}: KnowledgeFolder): Promise<{ articles: KnowledgeArticle[]; problems: KnowledgeProblem[] }> {
  const problems = new Problems();
  for (const { file, reason } of before) problems.add(file, reason);
  const articles: KnowledgeArticle[] = [];
  const slice = new TimeSlice(sliceMs);
  let bytes = 0;
  let passages = 0;
  for (const file of files) {
    try {
      const text = await textOf(file);
      bytes += text.length;
      if (bytes > maxFolderBytes) throw new Error(`the folder holds more than ${maxFolderBytes} bytes of text`); // prettier-ignore
      const found = articlesFrom(file.name, text);
      passages += found.reduce((sum, one) => sum + one.passages.length, 0);
      if (passages > maxPassages) throw new Error(`the folder holds more than ${maxPassages} passages`); // prettier-ignore
      articles.push(...found);
    } catch (error) {
      problems.add(file.name, reasonOf(error));
    }
    if (passages > maxPassages || bytes > maxFolderBytes) break;
    await slice.stepped();
  }
  return { articles, problems: problems.list };
}

/** A device, a pipe or a film in the folder is not read. The file that was opened is the one that is judged. */
async function textOf({ path }: KnowledgeFile): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const at = await file.stat();
  if (!at.isFile()) throw new Error('it is no file');
  if (at.size > maxFileBytes) throw new Error(`it is larger than ${maxFileBytes} bytes: divide it`);
  const bytes = Buffer.alloc(maxFileBytes + 1);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  if (bytesRead > maxFileBytes) throw new Error(`it is larger than ${maxFileBytes} bytes: divide it`); // prettier-ignore
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytesRead));
  } catch {
    throw new Error('it is not UTF-8 text');
  }
}
