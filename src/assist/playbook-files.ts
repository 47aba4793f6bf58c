import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, lstat, open, realpath, rename, rm, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { reasonOf } from '../lib/errors.ts';
import { isMissing } from '../lib/is-missing.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { linedMistakes, type LinedMistake } from './mistakes.ts';
import { Playbook } from './playbook.ts';
import { filesAt, maxFiles, ruleFileDigest, starterTexts, textOfFile } from './rule-files.ts';
import { playbookFrom, ruleSetInSlices, type LoadedPlaybook } from './rule-set.ts';

/** A name without folders: it can lead nowhere else. */
const fileName = /^[a-z0-9][a-z0-9._-]{0,99}\.ya?ml$/i;

export type PlaybookFile = {
  name: string;
  /** The version of the text as it is; a save names the digest that it was written upon. */
  digest: string;
  /** The playbook in it, where one can be read. */
  playbook: Pick<LoadedPlaybook, 'id' | 'title' | 'status' | 'rules'> | undefined;
  mistakes: LinedMistake[];
  /** It comes with the program. Saved, it becomes a file of the installation, which stands in its place. */
  isStarter: boolean;
};

export type SaveRefusal =
  | { refused: 'name' | 'changed' | 'cannot'; why: string }
  | { refused: 'mistakes'; mistakes: LinedMistake[] };

export type DeletionRefusal = { refused: 'gone' | 'changed' | 'cannot'; why: string };

/** The shape of a playbook, for editors. */
export function playbookSchema(): object {
  return {
    title: 'Playbook',
    ...z.toJSONSchema(Playbook, { io: 'input', unrepresentable: 'any' }),
  };
}

/** A playbook, or the mistakes in its text: the check of `trunkline assist check`. Ready in slices of some milliseconds. */
export async function checkedPlaybook(
  text: string,
): Promise<{ playbook: LoadedPlaybook } | { mistakes: LinedMistake[] }> {
  try {
    const playbook = playbookFrom(text);
    await ruleSetInSlices([playbook]);
    return { playbook };
  } catch (error) {
    return { mistakes: linedMistakes(text, error) };
  }
}

/** The playbooks of an installation as files that a person edits. */
export class PlaybookFiles {
  readonly #path: string;
  readonly #starter: boolean;
  /** Files as they were checked last, by name: a text is checked again only when it changed. */
  readonly #checked = new Map<string, PlaybookFile>();
  #starterFiles: { text: string; playbook: LoadedPlaybook; name: string }[] | undefined;
  /** One save or deletion at a time: two with the same digest cannot both be right. */
  #saving: Promise<unknown> = Promise.resolve();

  constructor({ folder, starter }: { folder: string; starter: boolean }) {
    this.#path = folder;
    this.#starter = starter;
  }

  get folder(): string {
    return this.#path;
  }

  /** Why nothing can be saved here, as a sentence for a person. Undefined if it can. */
  async closed(): Promise<string | undefined> {
    try {
      const at = await lstat(this.#path).catch(noneIfMissing);
      const folder = at?.isFile() === true || at === undefined ? dirname(this.#path) : this.#path;
      // A folder that does not exist yet is made by the first save.
      await access(await nearest(folder), constants.W_OK);
      return undefined;
    } catch (error) {
      return `Trunkline may not write in ${this.#path} (${codeOf(error)}). Change the file where it comes from, such as your repository or ConfigMap, or give TRUNKLINE_ASSIST a folder that Trunkline may write.`;
    }
  }

  async list(): Promise<PlaybookFile[]> {
    const own: PlaybookFile[] = [];
    for (const file of await filesAt(this.#path)) own.push(await this.#fileAt(file));
    const ids = new Set(own.map(({ playbook }) => playbook?.id));
    const starters = this.#starters().map(({ text, playbook, name }) => ({ name, digest: ruleFileDigest(text), playbook, mistakes: [], isStarter: true })); // prettier-ignore
    return [...own, ...starters.filter(({ playbook }) => !ids.has(playbook.id))];
  }

  async read(
    name: string,
  ): Promise<{ text: string; digest: string; isStarter: boolean } | undefined> {
    const file = (await filesAt(this.#path)).find((one) => basename(one) === name);
    if (file !== undefined) {
      const text = await textOfFile('playbook', file);
      return { text, digest: ruleFileDigest(text), isStarter: false };
    }
    const starter = this.#starters().find((one) => one.name === name);
    return starter && { text: starter.text, digest: ruleFileDigest(starter.text), isStarter: true };
  }

  /** Writes a whole file or nothing. `digest` is that of the text before, or null for a file that is new. */
  save(order: {
    name: string;
    text: string;
    digest: string | null;
  }): Promise<PlaybookFile | SaveRefusal> {
    return this.#inTurn(() => this.#save(order));
  }

  /** Deletes a file whose text has this digest. Answers with the file as it was. */
  remove(order: { name: string; digest: string }): Promise<PlaybookFile | DeletionRefusal> {
    return this.#inTurn(() => this.#remove(order));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#saving.then(work);
    this.#saving = done.catch(() => undefined);
    return done;
  }

  async #remove(order: { name: string; digest: string }): Promise<PlaybookFile | DeletionRefusal> {
    const { name, digest } = order;
    const before = (await this.list()).find((one) => one.name === name);
    if (before === undefined) return { refused: 'gone', why: 'there is no such playbook' };
    if (before.isStarter) return { refused: 'cannot', why: `${name} comes with Trunkline. Save it with "status: draft", and its rules rest.` }; // prettier-ignore
    if (before.digest !== digest) return { refused: 'changed', why: `${name} was changed meanwhile` }; // prettier-ignore
    const closed = await this.closed();
    if (closed !== undefined) return { refused: 'cannot', why: closed };
    try {
      const at = await lstat(this.#path);
      // A link is deleted, and what it leads to stays.
      await unlink(at.isFile() ? this.#path : join(this.#path, name));
      await syncFolder(at.isFile() ? dirname(this.#path) : this.#path);
      this.#checked.delete(name);
      return before;
    } catch (error) {
      return { refused: 'cannot', why: `${name} could not be deleted (${codeOf(error)})` };
    }
  }

  async #save({
    name,
    text,
    digest,
  }: {
    name: string;
    text: string;
    digest: string | null;
  }): Promise<PlaybookFile | SaveRefusal> {
    if (!fileName.test(name)) return { refused: 'name', why: 'the name must be letters, digits, dots and hyphens, and end with .yaml' }; // prettier-ignore
    const checked = await checkedPlaybook(text);
    if ('mistakes' in checked) return { refused: 'mistakes', mistakes: checked.mistakes };
    const { playbook } = checked;
    const files = await this.list();
    const twin = files.find((one) => one.playbook?.id === playbook.id && one.name !== name && !one.isStarter); // prettier-ignore
    if (twin !== undefined) return { refused: 'mistakes', mistakes: [{ line: 1, reason: `id: ${twin.name} has a playbook ${playbook.id} already` }] }; // prettier-ignore
    const before = files.find((one) => one.name === name && !one.isStarter);
    if ((before?.digest ?? null) !== digest) {
      const why = before === undefined ? 'is gone' : digest === null ? 'exists already' : 'was changed meanwhile'; // prettier-ignore
      return { refused: 'changed', why: `${name} ${why}` };
    }
    if (before === undefined && files.length >= maxFiles)
      return { refused: 'cannot', why: `there are ${maxFiles} playbooks, and no more are read` };
    const closed = await this.closed();
    if (closed !== undefined) return { refused: 'cannot', why: closed };
    try {
      const file = await this.#placeOf(name);
      if (file === undefined) return { refused: 'cannot', why: `TRUNKLINE_ASSIST names the one file ${this.#path}. Name a folder to have several.` }; // prettier-ignore
      await writeWhole(file, text, before === undefined);
      return { ...(await this.#fileAt(file)), name };
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return { refused: 'changed', why: `${name} was made meanwhile` }; // prettier-ignore
      return { refused: 'cannot', why: `${name} could not be written (${codeOf(error)})` };
    }
  }

  /** The file of this name. Undefined if the setting names one file, and another one is meant. */
  async #placeOf(name: string): Promise<string | undefined> {
    const at = await lstat(this.#path).catch(noneIfMissing);
    const isOneFile = at === undefined ? /\.ya?ml$/.test(this.#path) : at.isFile();
    if (isOneFile) {
      makeFolder(dirname(this.#path));
      return basename(this.#path) === name ? this.#path : undefined;
    }
    makeFolder(this.#path);
    const file = join(this.#path, name);
    const own = await lstat(file).catch(noneIfMissing);
    // A link is followed: in its place a file would stand, and whoever changes the target would change nothing.
    return own?.isSymbolicLink() === true ? realpath(file) : file;
  }

  async #fileAt(file: string): Promise<PlaybookFile> {
    const name = basename(file);
    try {
      const text = await textOfFile('playbook', file);
      const digest = ruleFileDigest(text);
      const known = this.#checked.get(name);
      if (known?.digest === digest) return known;
      const checked = await checkedPlaybook(text);
      const found = 'mistakes' in checked ? { ...checked, playbook: undefined } : { ...checked, mistakes: [] }; // prettier-ignore
      const read = { name, digest, ...found, isStarter: false };
      if (this.#checked.size >= maxFiles) this.#checked.clear();
      this.#checked.set(name, read);
      return read;
    } catch (error) {
      const mistakes = [{ line: 1, reason: reasonOf(error) }];
      return { name, digest: '', playbook: undefined, mistakes, isStarter: false };
    }
  }

  #starters() {
    if (!this.#starter) return [];
    this.#starterFiles ??= starterTexts('playbook').map((text) => {
      const playbook = playbookFrom(text);
      return { text, playbook, name: `${playbook.id}.yaml` };
    });
    return this.#starterFiles;
  }
}

/** On the disk before it has its name, so that a power cut leaves the old text or the new one. */
async function writeWhole(file: string, text: string, isNew: boolean): Promise<void> {
  // A name that no reader of the folder takes for a playbook.
  const draft = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  try {
    const handle = await open(draft, 'wx', 0o644);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // A link refuses a name that somebody took meanwhile; a rename would take it from them.
    if (isNew)
      await link(draft, file).catch((error: unknown) => {
        // A file system without links: the folder was looked at a moment ago.
        if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error))) throw error;
        return rename(draft, file);
      });
    else await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(file));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The folder, or the nearest one above that exists. */
async function nearest(folder: string): Promise<string> {
  const at = await lstat(folder).catch(noneIfMissing);
  const above = dirname(folder);
  return at !== undefined || above === folder ? folder : nearest(above);
}

function noneIfMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined;
  throw error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : reasonOf(error);
}
