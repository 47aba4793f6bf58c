import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal, type Journal } from '../../../src/bridge/journal/journal.ts';
import type { LegGap } from '../../../src/bridge/records/ledger.ts';
import { Leg, type LegOptions } from '../../../src/bridge/leg/leg-audio.ts';
import type { LegState } from '../../../src/bridge/leg/session-state.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog, type Logger } from '../../../src/lib/log.ts';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';
import { SpeechClient } from '../../../src/speech-client/client.ts';
import { SpeechConfig } from '../../../src/speech-client/config.ts';
import { numberedFrame } from '../speech/audio.ts';

export type HeardWord = { word: string; atS: number; sessionId: string };

export type RigLeg = {
  leg: Leg;
  words: HeardWord[];
  gaps: LegGap[];
  states: LegState[];
  messages: ServerMessage[];
  /** Pushes the next frames one by one. */
  push(frames: number): void;
  pushed: number;
};

export type Rig = AsyncDisposable & {
  dir: string;
  journal: Journal;
  speech: SpeechClient;
  log: Logger;
  leg(overrides?: Partial<LegOptions>): RigLeg;
  /** Waits until the journal has given all pushed frames to the operating system. */
  written(): Promise<void>;
};

export async function legRig(options: {
  url: string;
  clock?: Clock;
  config?: Partial<SpeechConfig>;
  dir?: string;
  /** Further speech nodes. */
  others?: readonly string[];
  /** True if the service is ours. Its sessions are then reached at this address, whatever address they state. */
  own?: boolean;
}): Promise<Rig> {
  const clock = options.clock ?? systemClock;
  const log = createLog({ level: process.env['TEST_LOG'] ?? 'silent' });
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'trunkline-leg-')));
  const journal = await openJournal({ dir, clock, log });
  const speech = new SpeechClient({
    config: SpeechConfig.parse(options.config ?? {}),
    nodes: () =>
      [options.url, ...(options.others ?? [])].map((url) => ({
        name: url,
        target: { url, keyHeader: 'x-service-key', key: 'secret', own: options.own ?? false },
        isOfFleet: false,
      })),
    clock,
    log,
  });
  let count = 0;
  return {
    dir,
    journal,
    speech,
    log,
    leg(overrides = {}) {
      const rigLeg: Omit<RigLeg, 'leg'> = {
        words: [],
        gaps: [],
        states: [],
        messages: [],
        pushed: 0,
        push(frames) {
          for (let index = 0; index < frames; index++) leg.push(numberedFrame(rigLeg.pushed++));
        },
      };
      const legId = overrides.legId ?? `leg_${++count}`;
      const leg = new Leg({
        legId,
        callId: 'call_1',
        request: {
          encoding: 'wav/ulaw',
          bit_depth: 8,
          sample_rate: 8000,
          channels: 1,
          custom_metadata: { call_id: 'call_1', leg_id: legId },
        },
        journal,
        speech,
        recording: false,
        log,
        clock,
        onMessage(message, sessionId, offsetS) {
          rigLeg.messages.push(message);
          if (message.type !== 'transcript') return;
          for (const { word, start } of message.data.utterance.words)
            rigLeg.words.push({ word: word.trim(), atS: offsetS + start, sessionId });
        },
        onState: (state) => rigLeg.states.push(state),
        onGap: (gap) => rigLeg.gaps.push(gap),
        ...overrides,
      });
      leg.begin();
      return Object.assign(rigLeg, { leg });
    },
    async written() {
      const giveUpMs = performance.now() + 30_000;
      while (!journal.isWritten) {
        if (performance.now() > giveUpMs) throw new Error('the journal is not written');
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    async [Symbol.asyncDispose]() {
      await speech[Symbol.asyncDispose]();
      await journal[Symbol.asyncDispose]();
      if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}

/**
 * The errors in the words that were heard. Empty if every frame was heard once, at its own time. The words are sorted
 * by time, because those lost with a socket are read from the record at the end.
 */
export function faultsOf(rig: RigLeg, options: { repeats?: boolean } = {}): string[] {
  const faults: string[] = [];
  const { received, acknowledged, gaps, paused } = rig.leg.ledger();
  if (received !== rig.pushed * 160) faults.push(`received ${received} of ${rig.pushed * 160}`);
  if (received !== acknowledged + gaps + paused)
    faults.push(`ledger ${JSON.stringify(rig.leg.ledger())}`);
  const inTime = [...rig.words].sort((one, other) => one.atS - other.atS);
  const all = inTime.map(({ word }) => word);
  const words = options.repeats ? [...new Set(all)] : all;
  const expected = Array.from({ length: rig.pushed }, (_, index) => `f${index}`);
  if (words.join(' ') !== expected.join(' '))
    faults.push(`text: ${firstDifference(words, expected)}`);
  const misplaced = rig.words.find(
    ({ word, atS }) => Math.abs(atS - Number(word.slice(1)) * 0.02) > 0.001,
  );
  if (misplaced) faults.push(`${misplaced.word} at ${misplaced.atS}`);
  return faults;
}

function firstDifference(words: string[], expected: string[]): string {
  const at = expected.findIndex((word, index) => words[index] !== word);
  const index = at < 0 ? expected.length : at;
  return `at ${index}: heard ${words.slice(index, index + 3).join(' ') || 'nothing'} (${words.length} of ${expected.length})`;
}
