import { join } from 'node:path';

export type SessionPaths = { audio: string; log: string };

/** Ids are our own uuids; nothing that a client chose becomes part of a path. */
export function pathsOf(folder: string, id: string): SessionPaths {
  return { audio: join(folder, `${id}.audio`), log: join(folder, `${id}.log`) };
}
