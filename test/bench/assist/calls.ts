import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { linearToMulaw, mulawToLinear } from '../../../src/audio/g711.ts';
import { digestOf } from '../../../src/lib/digest.ts';
import { sayWithFestival, sayWithFlite } from '../../support/recognition/dialogue.ts';
import { levelled } from '../../trials/speakers/human-voices.ts';
import { throughGsm } from '../recognition/audio.ts';
import { turnsOf, type HalfOfCalls, type TurnOfSet } from './turns.ts';

const rateHz = 8_000;
const pauseS = 0.7;
/** Longer than the rule `dead-air` waits, with what it is judged late by. */
const deadAirS = 22;
const callsIn: Record<HalfOfCalls, number> = { seen: 40, unseen: 24 };

type CallVoice = { name: string; say: (text: string) => Int16Array };
const flite = (voice: string, ...effects: string[]): CallVoice => ({
  name: [voice, ...effects].join(' '),
  say: (text) => sayWithFlite(voice, text, effects),
});
const festival: CallVoice = { name: 'festival', say: (text) => sayWithFestival(text) };

const voices: Record<HalfOfCalls, readonly CallVoice[]> = {
  seen: [
    flite('rms'),
    flite('slt'),
    flite('kal16'),
    flite('rms', 'pitch', '-200'),
    flite('slt', 'pitch', '120', 'tempo', '1.05'),
  ],
  unseen: [
    flite('awb'),
    festival,
    flite('slt', 'pitch', '-250', 'tempo', '1.08'),
    flite('rms', 'pitch', '180', 'tempo', '0.94'),
    flite('kal16', 'pitch', '150'),
  ],
};

type PlannedTurn = TurnOfSet & {
  /** A pause before it in which nobody speaks. */
  afterS: number;
};
export type PlannedCall = {
  id: string;
  half: HalfOfCalls;
  turns: readonly PlannedTurn[];
  customer: number;
  agent: number;
};

/** The place of a turn in its call: openings first, closings last. */
const phases: Record<string, number> = {
  greeted: 0,
  recorded: 1,
  verified: 2,
  'next-step': 8,
  'anything-else': 9,
};

/** All turns of a half, dealt to calls so that each has something of everything. */
export function callsOf(half: HalfOfCalls): PlannedCall[] {
  const count = callsIn[half];
  const turns = turnsOf(half);
  const courses = Map.groupBy(
    turns.filter(({ kind }) => kind === 'course'),
    ({ text }) => text,
  );
  const dealt: TurnOfSet[][] = Array.from({ length: count }, () => []);
  let next = 0;
  for (const [at, turn] of turns.entries()) {
    if (turn.kind === 'course') continue;
    // One question alone verifies nobody.
    const isSecond =
      turn.about === 'verified' && turns[at - 1]?.kind === turn.kind && next % 2 === 1;
    dealt[(isSecond ? next - 1 : next) % count]!.push(turn);
    next += 1;
  }
  const calls = dealt.map((own, at) => planned(half, at, inOrder(own, at)));
  const upset = [...courses.values()].flat();
  for (let at = 0; at * 6 < upset.length; at++)
    calls.push(planned(half, count + at, upset.slice(at * 6, at * 6 + 6)));
  return calls;
}

function planned(half: HalfOfCalls, at: number, turns: readonly TurnOfSet[]): PlannedCall {
  const isSilent = at % 5 === 3;
  const middle = Math.floor(turns.length / 2);
  const isCourse = turns.some(({ kind }) => kind === 'course');
  return {
    id: `${half}-${String(at)}`,
    half,
    turns: turns.map((turn, index) => ({
      ...turn,
      afterS: isSilent && index === middle ? deadAirS : isCourse ? 6 : pauseS,
    })),
    customer: at % voices[half].length,
    agent: (at + 1 + Math.floor(at / 5)) % voices[half].length,
  };
}

function inOrder(turns: readonly TurnOfSet[], seed: number): TurnOfSet[] {
  const place = (turn: TurnOfSet, at: number): number =>
    10 * (phases[turn.about] ?? 4) + ((at * 7 + seed * 3) % 10);
  return turns
    .map((turn, at) => ({ turn, place: place(turn, at) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ turn }) => turn);
}

export type SpokenTurn = PlannedTurn & { start: number; end: number };
type LabelledCall = {
  id: string;
  half: HalfOfCalls;
  turns: readonly SpokenTurn[];
  legs: Record<'customer' | 'agent', Int16Array>;
};

/** Both legs of a call. What was spoken is kept in a folder: a voice takes longer than a recogniser. */
export function spoken(call: PlannedCall, folder: string): LabelledCall {
  let clockS = 0.4;
  const placed = call.turns.map((turn) => {
    const { half } = call;
    const own = call[turn.role];
    // Two people never have the same voice.
    const other = turn.role === 'agent' && call.agent === call.customer ? 1 : 0;
    const voice = voices[half][(own + other) % voices[half].length]!;
    const samples = levelled(kept(voice, turn.text, folder));
    const start = clockS + turn.afterS;
    clockS = start + samples.length / rateHz;
    return { turn: { ...turn, start, end: clockS }, samples };
  });
  const length = Math.ceil((clockS + 1.5) * rateHz);
  const legs = { customer: new Int16Array(length), agent: new Int16Array(length) };
  for (const { turn, samples } of placed)
    legs[turn.role].set(samples, Math.round(turn.start * rateHz));
  return { id: call.id, half: call.half, turns: placed.map(({ turn }) => turn), legs };
}

function kept({ name, say }: CallVoice, text: string, folder: string): Int16Array {
  mkdirSync(join(folder, 'spoken'), { recursive: true });
  const file = join(folder, 'spoken', `${digestOf(`${name}\n${text}`).slice(0, 24)}.raw`);
  if (!existsSync(file)) {
    const samples = say(text);
    writeFileSync(file, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength));
  }
  const bytes = readFileSync(file);
  return new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

const toMulaw = (audio: Int16Array): Int16Array =>
  audio.map((sample) => mulawToLinear[linearToMulaw(sample)] ?? 0);

/** The effects of a line on a leg. Babble is four other legs at once, so many decibels below it. */
export type LineCondition = { name: string; isGsm: boolean; babbleDb: number | undefined };

export function conditionOf(name: string): LineCondition {
  const [, line = '', decibels] = /^(G\.711|GSM)(?: babble (\d+))?$/.exec(name) ?? [];
  if (line === '') throw new Error(`"${name}" is no condition: say "GSM" or "G.711 babble 12"`);
  return { name, isGsm: line === 'GSM', babbleDb: decibels === undefined ? undefined : Number(decibels) }; // prettier-ignore
}

export function onLine(
  leg: Int16Array,
  others: readonly Int16Array[],
  { isGsm, babbleDb }: LineCondition,
): Int16Array {
  const noisy = babbleDb === undefined ? leg : inBabble(leg, others, babbleDb);
  return isGsm ? throughGsm([noisy])[0]! : toMulaw(noisy);
}

function inBabble(leg: Int16Array, others: readonly Int16Array[], decibels: number): Int16Array {
  // The others are heard without their pauses: a room full of people has none.
  const streams = others.map((other) => other.filter((_, at) => isLoud(other, at)));
  const sum = leg.map((_, at) =>
    streams.reduce(
      (total, other, index) => total + (other[(at + index * 9_001) % other.length] ?? 0) / 4,
      0,
    ),
  );
  const gain = Math.sqrt(power(leg) / Math.max(1, power(sum)) / 10 ** (decibels / 10));
  return leg.map((sample, at) =>
    Math.max(-32_768, Math.min(32_767, sample + gain * (sum[at] ?? 0))),
  );
}

function isLoud(audio: Int16Array, at: number): boolean {
  for (let near = at; near < at + 400; near += 40)
    if (Math.abs(audio[near] ?? 0) > 100) return true;
  return false;
}

function power(audio: Int16Array): number {
  let [sum, count] = [0, 0];
  for (const sample of audio)
    if (Math.abs(sample) > 300) {
      sum += sample * sample;
      count++;
    }
  return sum / Math.max(1, count);
}
