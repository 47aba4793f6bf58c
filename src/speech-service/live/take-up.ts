import { stat } from 'node:fs/promises';
import { frameBytes, bytesPerSecond, type AudioFormat } from './format.ts';
import type { DiskWriter } from './disk-writer.ts';
import { Intake } from './intake.ts';
import { lostAckWindowMs } from './overlap.ts';
import type { SessionPaths } from './paths.ts';
import { add, emptyRecord, type SessionRecord } from './result.ts';
import { fileLog, type LogLine, type SessionLog } from './session-log.ts';
import type { SessionState } from './state.ts';
import { fileTape, type Tape } from './tape.ts';

/** What a session was when the process before this one ended. */
export type TakenUp = {
  tape: Tape;
  journal: SessionLog;
  intake: Intake;
  record: SessionRecord;
  state: SessionState;
  /** Where a client may stand: acks that died with the process are not known, so every frame of the last seconds. */
  places: number[];
  confirmed: number;
  /** Messages not known to have reached the client. */
  undelivered: string[];
  calledBack: number;
  /** Messages whose callback was not settled. */
  uncalled: string[];
  /** How many events each account webhook has. */
  webhooks: Map<string, number>;
  /** Kinds of messages that a session says once, and this one has. */
  said: Set<string>;
};

/** What comes once in a session: a process that takes an ending up in its middle does not say it again. */
const saidOnce = new Set([
  'start_session',
  'start_recording',
  'end_recording',
  'post_transcript',
  'post_summarization',
  'post_chapterization',
  'post_final_transcript',
  'end_session',
]);

const longestHeaderBytes = 65_536 + 12;

export async function takeUp(
  disk: DiskWriter,
  paths: SessionPaths,
  format: AudioFormat,
  onLogFailure: (error: unknown) => void,
): Promise<TakenUp> {
  const tape = fileTape(disk, paths.audio, await sizeOf(paths.audio));
  const journal = fileLog(disk, paths.log, await sizeOf(paths.log), onLogFailure);
  const lines = (await sizeOf(paths.log)) === 0 ? [] : await journal.read();
  const intake = await intakeOf(tape, format);
  return {
    tape,
    journal,
    intake,
    ...summaryOf(lines, intake.bytes),
    places: placesOf(intake, format),
  };
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0; // never written: nothing was received or said
  }
}

async function intakeOf(tape: Tape, format: AudioFormat): Promise<Intake> {
  if (tape.bytes === 0) return new Intake(format);
  const start = await tape.read(0, Math.min(tape.bytes, longestHeaderBytes));
  const tail = await tape.read(Math.max(0, tape.bytes - frameBytes(format)), tape.bytes);
  return Intake.resumed(format, tape.bytes, start, tail);
}

function placesOf(intake: Intake, format: AudioFormat): number[] {
  const step = frameBytes(format);
  const window = (bytesPerSecond(format) * lostAckWindowMs) / 1e3;
  const first = Math.max(0, intake.bytes - window);
  const places: number[] = [];
  for (let place = intake.bytes - step; place >= first; place -= step) places.push(place);
  return places.reverse();
}

type Summary = Omit<TakenUp, 'tape' | 'journal' | 'intake' | 'places'>;

function summaryOf(lines: readonly LogLine[], bytes: number): Summary {
  const record = emptyRecord();
  const forSocket: string[] = [];
  const forCallback: string[] = [];
  let confirmed = 0;
  const webhooks = new Map<string, number>();
  const said = new Set<string>();
  let calledBack = 0;
  let stopped = false;
  for (const line of lines)
    switch (line.line) {
      case 'message':
        if (line.socket) forSocket.push(line.text);
        if (line.callback) forCallback.push(line.text);
        said.add(typeOf(line.text));
        break;
      case 'record':
        add(record, line.entry);
        break;
      case 'confirmed':
        confirmed = Math.max(confirmed, line.count);
        break;
      case 'called-back':
        calledBack = Math.max(calledBack, line.count);
        break;
      case 'webhook':
        webhooks.set(line.target, Math.max(webhooks.get(line.target) ?? 0, line.count));
        break;
      case 'stopped':
        stopped = true;
    }
  return {
    record,
    state: stateOf(stopped, bytes),
    confirmed,
    undelivered: forSocket.slice(confirmed),
    calledBack,
    uncalled: forCallback.slice(calledBack),
    webhooks,
    said: said.intersection(saidOnce),
  };
}

export function typeOf(text: string): string {
  return (JSON.parse(text) as { type: string }).type;
}

function stateOf(stopped: boolean, bytes: number): SessionState {
  if (stopped) return { at: 'finishing', socket: false, stopSeenHere: true };
  if (bytes > 0) return { at: 'recording', socket: false };
  return { at: 'queued', socket: false, everConnected: false };
}
