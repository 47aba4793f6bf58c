import { readFileSync } from 'node:fs';
import { levelled } from '../../trials/speakers/human-voices.ts';
import { sayWithFestival, sayWithFlite } from '../../support/recognition/dialogue.ts';
import { wavSamples } from '../../support/recognition/prompts.ts';
import { inQuiet } from '../recognition/audio.ts';
import type { SpokenNumber } from './utterances.ts';

const digits = '/usr/share/asterisk/sounds/en_US_f_Allison/digits';
const digitNames = 'zero one two three four five six seven eight nine'.split(' ');

type Say = (text: string) => Int16Array;
const flite =
  (voice: string, ...effects: string[]): Say =>
  (text) =>
    levelled(sayWithFlite(voice, text, effects));

/** Voices of the half that rules were written by, and of the half that nobody looked at. One voice is in both. */
const voices: Record<SpokenNumber['half'], readonly Say[]> = {
  seen: [flite('rms'), flite('slt'), flite('kal16'), flite('rms', 'pitch', '-200')],
  unseen: [
    flite('awb'),
    (text) => levelled(sayWithFestival(text)),
    flite('slt', 'pitch', '-250', 'tempo', '1.08'),
    flite('rms', 'pitch', '180', 'tempo', '0.94'),
  ],
};
const agentVoice: Say = flite('slt', 'pitch', '80');

/** The digits of a person's recordings, joined with the gaps of somebody who reads them from a card. */
function recordedDigits(text: string): Int16Array | undefined {
  const words = text.split(' ').map((word) => digitNames.indexOf(word === 'oh' ? 'zero' : word));
  if (words.some((digit) => digit < 0)) return undefined;
  const parts = words.map((digit, index) => ({
    samples: levelled(wavSamples(readFileSync(`${digits}/${String(digit)}.wav`))),
    pauseS: 0.05 + ((index * 7 + digit * 3) % 21) / 100,
  }));
  return joined(
    parts.map(({ samples }) => samples),
    parts.map(({ pauseS }) => pauseS),
  );
}

function joined(pieces: readonly Int16Array[], pausesS: readonly number[]): Int16Array {
  const pauses = pieces.map((_, index) => Math.round((pausesS[index] ?? 0) * 8_000));
  const length = pieces.reduce((sum, piece, index) => sum + piece.length + (pauses[index] ?? 0), 0);
  const all = new Int16Array(length);
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    all.set(piece, at);
    at += piece.length + (pauses[index] ?? 0);
  }
  return all;
}

export type NumberCall = { agent: Int16Array; customer: Int16Array; endS: number };

/** Both legs of the call in which this is said: first the agent's question, then the answer. */
export function spokenCall(said: SpokenNumber, index: number): NumberCall {
  const say = voices[said.half][index % voices[said.half].length]!;
  const isRecorded = said.recorded && index % 2 === 0;
  const pieces = said.pieces.map((piece) => (isRecorded && recordedDigits(piece)) || say(piece));
  const answer = joined(pieces, said.pausesS);
  const question = said.agent === undefined ? new Int16Array(0) : agentVoice(said.agent);
  const startS = 0.4 + (question.length === 0 ? 0 : question.length / 8_000 + 0.5);
  const customer = inQuiet(answer, startS, 3);
  const agent = new Int16Array(customer.length);
  agent.set(question.subarray(0, customer.length - 3_200), 3_200);
  return { agent, customer, endS: startS + answer.length / 8_000 };
}
