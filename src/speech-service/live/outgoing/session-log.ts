import { rm } from 'node:fs/promises';
import { AppendFile, type DiskWriter } from '../disk/disk-writer.ts';
import type { ResultEntry } from '../words/session-result.ts';

/**
 * The log of a session: one line for each fact that a restarted process needs to continue.
 *
 *   m10{...}   a message; for the socket (1), not for callbacks (0)
 *   r{...}     an utterance or an add-on's answer
 *   k12        the client has the first 12 socket messages
 *   d3         the first 3 callbacks were delivered
 *   w2 1f0c..  that account webhook has the first 2 events
 *   s          stopped: no more audio
 */
export type LogLine =
  | { line: 'message'; socket: boolean; callback: boolean; text: string }
  | { line: 'record'; entry: ResultEntry }
  | { line: 'confirmed'; count: number }
  | { line: 'called-back'; count: number }
  | { line: 'webhook'; target: string; count: number }
  | { line: 'stopped' };

export type SessionLog = {
  write(line: LogLine): void;
  /** All lines so far, in order. */
  read(): Promise<LogLine[]>;
  close(): Promise<void>;
  remove(): Promise<void>;
};

export function encodeLine(line: LogLine): string {
  switch (line.line) {
    case 'message':
      return `m${line.socket ? 1 : 0}${line.callback ? 1 : 0}${line.text}\n`;
    case 'record':
      return `r${JSON.stringify(line.entry)}\n`;
    case 'confirmed':
      return `k${line.count}\n`;
    case 'called-back':
      return `d${line.count}\n`;
    case 'webhook':
      return `w${line.count} ${line.target}\n`;
    case 'stopped':
      return 's\n';
  }
}

/** Decodes a line. A crash can cut only the last line in two; that line is skipped. */
function decodeLine(text: string): LogLine | undefined {
  switch (text[0]) {
    case 'm':
      return {
        line: 'message',
        socket: text[1] === '1',
        callback: text[2] === '1',
        text: text.slice(3),
      };
    case 'r':
      return { line: 'record', entry: JSON.parse(text.slice(1)) as ResultEntry };
    case 'k':
      return { line: 'confirmed', count: Number(text.slice(1)) };
    case 'd':
      return { line: 'called-back', count: Number(text.slice(1)) };
    case 'w': {
      const [count = '0', target = ''] = text.slice(1).split(' ');
      return { line: 'webhook', target, count: Number(count) };
    }
    case 's':
      return { line: 'stopped' };
    default:
      return undefined;
  }
}

export function decodeLines(bytes: Buffer): LogLine[] {
  const text = bytes.toString('utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole.split('\n').flatMap((line) => decodeLine(line) ?? []);
}

export function fileLog(
  disk: DiskWriter,
  path: string,
  size: number,
  onFailure: (error: unknown) => void,
): SessionLog {
  const file = new AppendFile(disk, path, size);
  return {
    write(line) {
      file.append(Buffer.from(encodeLine(line))).catch(onFailure);
    },
    async read() {
      await file.flushed();
      return decodeLines(await file.read(0, file.size));
    },
    close: () => file.close(),
    async remove() {
      await file.close();
      await rm(path, { force: true });
    },
  };
}

/** A log that keeps nothing, for zero data retention: such a session does not survive the process. */
export function noLog(): SessionLog {
  const nothing = (): Promise<void> => Promise.resolve();
  return {
    write: () => undefined,
    read: () => Promise.resolve([]),
    close: nothing,
    remove: nothing,
  };
}
