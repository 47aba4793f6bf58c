import { stat } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import { loggedId, type Logger } from '../../lib/log.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Callbacks } from '../callbacks/session-callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { AddonRunner } from '../results/answer.ts';
import type { Addons } from './words/session-addons.ts';
import {
  type AudioFormat,
  formatOf,
  frameBytes,
  headerReachBytes,
} from './incoming/audio-format.ts';
import { callbackBody, Broadcast, webhookBody, webhookEventsOf } from './outgoing/broadcast.ts';
import type { DiskWriter } from './disk/disk-writer.ts';
import type { SessionEnd } from './session-ending.ts';
import { FrameCutter } from './incoming/frame-cutter.ts';
import { Outbound } from './outgoing/outbound.ts';
import { placesAfterRestart, type Places } from './incoming/overlap.ts';
import { add, noResults, type SessionResults } from './words/session-result.ts';
import {
  audioOnDisk,
  audioInMemory,
  type SessionPaths,
  type SessionAudio,
} from './disk/session-audio.ts';
import { fileLog, type LogLine, noLog, type SessionLog } from './outgoing/session-log.ts';
import type { SessionRows } from './session-rows.ts';
import { LiveSession } from './live-session.ts';
import type { SessionState } from './live-state.ts';
import type { LiveListener } from '../../hearing/speakers/live-listener.ts';
import type { Recogniser } from '../../hearing/recogniser.ts';

export type SessionsOptions = {
  config: SpeechServiceConfig;
  rows: SessionRows;
  /** The folder for audio and logs of sessions. */
  folder: string;
  disk: DiskWriter;
  node: string;
  clock: Clock;
  log: Logger;
  recogniser: Recogniser;
  /** Tells the voices of mixed channels apart. */
  listener: Pick<LiveListener, 'open'>;
  language: AddonRunner;
  callbacks: Callbacks;
  recording: RecordingRule;
};

/** Tells if session audio is kept after the end, and for how many days. */
export type RecordingRule = { kept: boolean; days: number };

export type Assembly = {
  id: string;
  request: LiveRequest;
  createdAt: number;
  zeroRetention: boolean;
  restored?: RestoredSession;
};

export type Assembled = {
  session: LiveSession;
  /** A logger that adds the session and its call to every line. */
  log: Logger;
  broadcast: Broadcast;
  sessionLog: SessionLog;
  format: AudioFormat;
};

type AssemblyOptions = SessionsOptions & {
  addons: Addons;
  paths: SessionPaths;
  onRecording(): void;
  onEnd(end: SessionEnd): Promise<void>;
};

/** Assembles a session: its audio and log on disk or in memory, its broadcast and its recogniser. */
export function assemble(options: AssemblyOptions, assembly: Assembly): Assembled {
  const { config, clock, paths, disk } = options;
  const { id, request, restored, zeroRetention } = assembly;
  const log = options.log.child(callOf(request));
  const format = formatOf(request);
  const sessionLog =
    restored?.sessionLog ??
    (zeroRetention
      ? noLog()
      : fileLog(disk, paths.log, 0, (error) => {
          log.error({ sessionId: id, err: error }, 'the log of a session could not be written');
        }));
  const broadcast = broadcastOf(options, assembly, sessionLog);
  const session = new LiveSession({
    ...options,
    log,
    id,
    request,
    format,
    createdAt: assembly.createdAt,
    cutter: restored?.cutter ?? new FrameCutter(format),
    audio:
      restored?.audio ??
      (zeroRetention
        ? audioInMemory()
        : audioOnDisk(disk, paths.audio, { kept: options.recording.kept })),
    sessionLog,
    record: restored?.record ?? noResults(),
    broadcast,
    times: {
      neverConnectedMs: config.neverConnectedS * 1e3,
      idleMs: config.idleS * 1e3,
      abandonedMs: config.abandonedS * 1e3,
      longestMs: config.longestS * 1e3,
    },
    backlogS: config.backlogS,
    messages: async () =>
      (await sessionLog.read()).flatMap((line) =>
        line.line === 'message' && line.socket ? [line.text] : [],
      ),
    clock,
    ...(restored ? { resumed: { state: restored.state, places: restored.places } } : {}),
  });
  return { session, broadcast, sessionLog, format, log };
}

/**
 * The call that the bridge names in the session's metadata. With it a session's log lines are found by the call's id.
 */
function callOf({ custom_metadata: about }: LiveRequest): { callId?: string } {
  const id = about?.['call_id'];
  return typeof id === 'string' ? { callId: loggedId(id) } : {};
}

function broadcastOf(
  options: AssemblyOptions,
  assembly: Assembly,
  sessionLog: SessionLog,
): Broadcast {
  const { config, clock, callbacks } = options;
  const { id, request, restored } = assembly;
  const socket = new Outbound(clock, (count) => sessionLog.write({ line: 'confirmed', count }));
  if (restored) socket.restore(restored.confirmed, restored.undelivered);
  const url = request.callback ? request.callback_config.url : undefined;
  const queue =
    url === undefined
      ? undefined
      : callbacks.forSession(id, url, restored?.calledBack ?? 0, (count) =>
          sessionLog.write({ line: 'called-back', count }),
        );
  for (const text of restored?.uncalled ?? [])
    queue?.add(callbackBody(id, typeOf(text), text), 'message');
  const webhooks = callbacks.forAccount(id, restored?.webhooks ?? new Map(), (target, count) =>
    sessionLog.write({ line: 'webhook', target, count }),
  );
  const webhooksTold = restored ? webhookEventsOf(restored.state, restored.cutter.bytes > 0) : [];
  for (const { name, queue: webhook } of webhooks)
    for (const event of webhooksTold.slice(restored?.webhooks.get(name) ?? 0))
      webhook.add(webhookBody(id, event), 'message');
  return new Broadcast({
    sessionId: id,
    request,
    socket,
    sessionLog,
    callbacks: queue,
    webhooks: webhooks.map(({ queue: webhook }) => webhook),
    said: restored?.said ?? new Set(),
    webhooksTold: new Set(webhooksTold),
    errorMessages: config.errorMessages,
    startSessionMessage: config.startSessionMessage,
  });
}

/** A session in the state that the previous process left in the files. */
type RestoredSession = {
  audio: SessionAudio;
  sessionLog: SessionLog;
  cutter: FrameCutter;
  record: SessionResults;
  state: SessionState;
  /**
   * The bytes at which the client may start again. The acks of the previous process are lost, so every frame of the
   * last minutes is possible.
   */
  places: Places;
  confirmed: number;
  /** Messages whose arrival at the client is not known. */
  undelivered: string[];
  calledBack: number;
  /** Messages whose callback was neither delivered nor given up. */
  uncalled: string[];
  /** The number of events that each account webhook has received. */
  webhooks: Map<string, number>;
  /** The types of once-only messages that this session has already sent. */
  said: Set<string>;
};

/** Messages that are sent once per session. After a restart in the middle of an ending, they are not repeated. */
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

export async function restoreSession(
  disk: DiskWriter,
  paths: SessionPaths,
  format: AudioFormat,
  { kept, onLogFailure }: { kept: boolean; onLogFailure: (error: unknown) => void },
): Promise<RestoredSession> {
  const audio = audioOnDisk(disk, paths.audio, { size: await sizeOf(paths.audio), kept });
  const sessionLog = fileLog(disk, paths.log, await sizeOf(paths.log), onLogFailure);
  const lines = (await sizeOf(paths.log)) === 0 ? [] : await sessionLog.read();
  const cutter = await cutterOf(audio, format);
  return {
    audio,
    sessionLog,
    cutter,
    ...summaryOf(lines, cutter.bytes),
    places: placesAfterRestart(cutter.bytes, frameBytes(format)),
  };
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0; // no file: nothing was received or sent
  }
}

async function cutterOf(audio: SessionAudio, format: AudioFormat): Promise<FrameCutter> {
  if (audio.bytes === 0) return new FrameCutter(format);
  const start = await audio.read(0, Math.min(audio.bytes, headerReachBytes));
  const tail = await audio.read(Math.max(0, audio.bytes - frameBytes(format)), audio.bytes);
  return FrameCutter.resumed(format, audio.bytes, start, tail);
}

type Summary = Omit<RestoredSession, 'audio' | 'sessionLog' | 'cutter' | 'places'>;

function summaryOf(lines: readonly LogLine[], bytes: number): Summary {
  const record = noResults();
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

function typeOf(text: string): string {
  return (JSON.parse(text) as { type: string }).type;
}

function stateOf(stopped: boolean, bytes: number): SessionState {
  if (stopped) return { at: 'finishing', socket: false, stopSeenHere: true };
  if (bytes > 0) return { at: 'recording', socket: false };
  return { at: 'queued', socket: false, everConnected: false };
}
