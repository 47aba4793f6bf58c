import { execFileSync } from 'node:child_process';
import { pinkNoise } from '../../support/recognition/noises.ts';

export const quietBeforeS = 0.4;

/** With quiet before and after, as a call has it. */
export function inQuiet(samples: Int16Array, leadS = quietBeforeS, tailS = 1): Int16Array {
  const audio = new Int16Array(samples.length + Math.round((leadS + tailS) * 8000));
  audio.set(samples, Math.round(leadS * 8000));
  return audio;
}

const raw = ['-t', 'raw', '-r', '8000', '-e', 'signed', '-b', '16', '-c', '1'];

/** Through the GSM full rate codec and back, all at once: starting sox costs more than coding. */
export function throughGsm(audios: readonly Int16Array[]): Int16Array[] {
  const all = Buffer.concat(
    audios.map((audio) => Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength)),
  );
  const limits = { maxBuffer: 1 << 30 };
  const coded = execFileSync('sox', [...raw, '-', '-t', 'gsm', '-'], { input: all, ...limits });
  const back = execFileSync('sox', ['-t', 'gsm', '-r', '8000', '-', ...raw, '-'], {
    input: coded,
    ...limits,
  });
  let at = 0;
  return audios.map((audio) => {
    const out = new Int16Array(audio.length);
    for (let i = 0; i < out.length && at + 2 * i + 1 < back.length; i++)
      out[i] = back.readInt16LE(at + 2 * i);
    at += 2 * audio.length;
    return out;
  });
}

/** Pink noise so many decibels under the speech, whose level is taken where it is loud enough to be speech. */
export function inPinkNoise(audio: Int16Array, decibels: number, seed: number): Int16Array {
  const noise = pinkNoise(audio.length / 8000, 1, seed);
  const speech = meanSquare(audio.filter((sample) => Math.abs(sample) > 300));
  const gain = Math.sqrt(speech / meanSquare(noise) / 10 ** (decibels / 10));
  return audio.map((sample, i) =>
    Math.max(-32768, Math.min(32767, sample + gain * (noise[i] ?? 0))),
  );
}

function meanSquare(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return sum / Math.max(1, samples.length);
}

/** First and last second at which 20 ms of clean speech are within 35 dB of the loudest 20 ms. */
export function speechSpan(samples: Int16Array): { startS: number; endS: number } {
  const levels: number[] = [];
  for (let at = 0; at + 160 <= samples.length; at += 160)
    levels.push(meanSquare(samples.subarray(at, at + 160)));
  const least = Math.max(...levels) / 10 ** 3.5;
  const first = levels.findIndex((level) => level > least);
  const last = levels.findLastIndex((level) => level > least);
  return { startS: first * 0.02, endS: (last + 1) * 0.02 };
}

/** The speech alone of one prompt: one after the other, numbers take prompts that lie apart. */
export function spokenPrompt(
  prompts: readonly { samples: Int16Array }[],
  number: number,
): Int16Array {
  const { samples } = prompts[(number * 7) % prompts.length] ?? { samples: new Int16Array(0) };
  const { startS, endS } = speechSpan(samples);
  return samples.subarray(startS * 8_000, endS * 8_000);
}
