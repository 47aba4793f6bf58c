import { stat } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Callbacks } from '../callbacks/callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { AddonRunner, Addons } from './addons.ts';
import { type AudioFormat, bytesPerSecond, frameBytes } from './audio-format.ts';
import { callbackBody, Outlets, webhookBody, webhookEventsOf } from './broadcast.ts';
import type { DiskWriter } from './disk-writer.ts';
import type { SessionEnd } from './ending.ts';
import { Intake } from './frame-cutter.ts';
import { Outbound } from './outbound.ts';
import { lostAckWindowMs } from './overlap.ts';
import { add, emptyRecord, type SessionRecord } from './result.ts';
import { fileTape, memoryTape, type SessionPaths, type Tape } from './session-audio.ts';
import { fileLog, type LogLine, noLog, type SessionLog } from './session-log.ts';
import type { Jobs } from './session-rows.ts';
import { LiveSession } from './session.ts';
import type { SessionState } from './state.ts';
import type { Recogniser } from '../recognition/recogniser.ts';

export type SessionsOptions = {
  config: SpeechServiceConfig;
  jobs: Jobs;
  /** Audio and logs of sessions. */
  folder: string;
  disk: DiskWriter;
  node: string;
  clock: Clock;
  log: Logger;
  recogniser: Recogniser;
  language: AddonRunner;
  callbacks: Callbacks;
};

export type Assembly = {
  id: string;
  request: LiveRequest;
  createdAt: number;
  zeroRetention: boolean;
  taken?: TakenUp;
};

export type Assembled = {
  session: LiveSession;
  outlets: Outlets;
  journal: SessionLog;
  format: AudioFormat;
};

export type AssemblyOptions = SessionsOptions & {
  addons: Addons;
  paths: SessionPaths;
  onRecording(): void;
  onEnd(end: SessionEnd): Promise<void>;
};

export function formatOf(request: LiveRequest): AudioFormat {
  return {
    encoding: request.encoding,
    bitDepth: request.bit_depth,
    sampleRate: request.sample_rate,
    channels: request.channels,
  };
}

/** Puts a session together: files or memory, the ways out, the recogniser; new or taken up again. */
export function assemble(options: AssemblyOptions, assembly: Assembly): Assembled {
  const { config, clock, log, paths, disk } = options;
  const { id, request, taken, zeroRetention } = assembly;
  const format = formatOf(request);
  const journal =
    taken?.journal ??
    (zeroRetention
      ? noLog()
      : fileLog(disk, paths.log, 0, (error) => {
          log.error({ sessionId: id, err: error }, 'the log of a session could not be written');
        }));
  const outlets = outletsOf(options, assembly, journal);
  const session = new LiveSession({
    ...options,
    id,
    request,
    format,
    createdAt: assembly.createdAt,
    intake: taken?.intake ?? new Intake(format),
    tape: taken?.tape ?? (zeroRetention ? memoryTape() : fileTape(disk, paths.audio)),
    journal,
    record: taken?.record ?? emptyRecord(),
    outlets,
    times: {
      neverConnectedMs: config.neverConnectedS * 1e3,
      idleMs: config.idleS * 1e3,
      abandonedMs: config.abandonedS * 1e3,
      longestMs: config.longestS * 1e3,
    },
    backlogS: config.backlogS,
    messages: async () =>
      (await journal.read()).flatMap((line) =>
        line.line === 'message' && line.socket ? [line.text] : [],
      ),
    clock,
    ...(taken ? { resumed: { state: taken.state, places: taken.places } } : {}),
  });
  return { session, outlets, journal, format };
}

function outletsOf(options: AssemblyOptions, assembly: Assembly, journal: SessionLog): Outlets {
  const { config, clock, callbacks } = options;
  const { id, request, taken } = assembly;
  const socket = new Outbound(clock, (count) => journal.write({ line: 'confirmed', count }));
  if (taken) socket.restore(taken.confirmed, taken.undelivered);
  const url = request.callback ? request.callback_config.url : undefined;
  const queue =
    url === undefined
      ? undefined
      : callbacks.forSession(id, url, taken?.calledBack ?? 0, (count) =>
          journal.write({ line: 'called-back', count }),
        );
  for (const text of taken?.uncalled ?? [])
    queue?.add(callbackBody(id, typeOf(text), text), 'message');
  const webhooks = callbacks.forAccount(id, taken?.webhooks ?? new Map(), (target, count) =>
    journal.write({ line: 'webhook', target, count }),
  );
  const heard = taken ? webhookEventsOf(taken.state, taken.intake.bytes > 0) : [];
  for (const { name, queue: webhook } of webhooks)
    for (const event of heard.slice(taken?.webhooks.get(name) ?? 0))
      webhook.add(webhookBody(id, event), 'message');
  return new Outlets({
    sessionId: id,
    request,
    socket,
    journal,
    callbacks: queue,
    webhooks: webhooks.map(({ queue: webhook }) => webhook),
    said: taken?.said ?? new Set(),
    heard: new Set(heard),
    errorMessages: config.errorMessages,
    startSessionMessage: config.startSessionMessage,
  });
}

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
