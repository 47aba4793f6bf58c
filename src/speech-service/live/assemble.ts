import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Addons } from '../addons/addons.ts';
import type { AudioFormat } from './format.ts';
import { Intake } from './intake.ts';
import { Outbound } from './outbound.ts';
import { callbackBody, Outlets, webhookBody, webhookEventsOf } from './outlets.ts';
import type { SessionPaths } from './paths.ts';
import { emptyRecord } from './result.ts';
import { fileLog, noLog, type SessionLog } from './session-log.ts';
import type { SessionEnd } from './session-end.ts';
import { LiveSession } from './session.ts';
import type { SessionsOptions } from './sessions-options.ts';
import { fileTape, memoryTape } from './tape.ts';
import { typeOf, type TakenUp } from './take-up.ts';

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
