import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wavSamples } from './prompts.ts';

/** Sounds of a telephone line on which nobody speaks, at 8 kHz. A seed makes them reproducible. */

const rateHz = 8000;

function randomOf(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

function fill(seconds: number, wave: (atS: number, i: number) => number): Int16Array {
  return Int16Array.from({ length: Math.round(seconds * rateHz) }, (_, i) =>
    Math.max(-32768, Math.min(32767, Math.round(32767 * wave(i / rateHz, i)))),
  );
}

const sine = (hz: number, atS: number) => Math.sin(2 * Math.PI * hz * atS);

function whiteNoise(seconds: number, level: number, seed = 1): Int16Array {
  const random = randomOf(seed);
  return fill(seconds, () => level * (2 * random() - 1));
}

/** Pink noise, with equal power in every octave, made from seven octaves of held random values (Voss). */
export function pinkNoise(seconds: number, level: number, seed = 2): Int16Array {
  const random = randomOf(seed);
  const rows = new Array<number>(12).fill(0);
  return fill(seconds, (_, i) => {
    for (let row = 0; row < rows.length; row++)
      if (i % 2 ** row === 0) rows[row] = 2 * random() - 1;
    return (level * rows.reduce((sum, value) => sum + value, 0)) / Math.sqrt(rows.length);
  });
}

const tone = (seconds: number, hz: number, level = 0.3) =>
  fill(seconds, (at) => level * sine(hz, at));

/** A ringing tone: 440 and 480 Hz for two seconds out of six. */
const ringing = (seconds: number) =>
  fill(seconds, (at) => (at % 6 < 2 ? 0.15 * (sine(440, at) + sine(480, at)) : 0));

/** A busy tone: 480 and 620 Hz for half a second out of one. */
const busy = (seconds: number) =>
  fill(seconds, (at) => (at % 1 < 0.5 ? 0.15 * (sine(480, at) + sine(620, at)) : 0));

const low = [697, 770, 852, 941];
const high = [1209, 1336, 1477, 1633];

/** DTMF keys: one every 300 ms, each held for 120 ms. */
function dtmf(seconds: number, seed = 3): Int16Array {
  const random = randomOf(seed);
  const keys = Array.from({ length: Math.ceil(seconds / 0.3) }, () => [
    low[Math.floor(random() * 4)] ?? 0,
    high[Math.floor(random() * 4)] ?? 0,
  ]);
  return fill(seconds, (at) => {
    const [a = 0, b = 0] = keys[Math.floor(at / 0.3)] ?? [];
    return at % 0.3 < 0.12 ? 0.2 * (sine(a, at) + sine(b, at)) : 0;
  });
}

/** A sound like music on hold: slow chords with a melody, harmonics and some tremolo. */
function holdMusic(seconds: number, seed = 4): Int16Array {
  const random = randomOf(seed);
  const notes = Array.from({ length: Math.ceil(seconds / 0.4) }, () => Math.floor(random() * 12));
  const hz = (note: number) => 220 * 2 ** (note / 12);
  return fill(seconds, (at) => {
    const note = notes[Math.floor(at / 0.4)] ?? 0;
    const fade = Math.exp(-3 * (at % 0.4));
    const root = notes[4 * Math.floor(at / 1.6)] ?? 0;
    let wave = 0;
    for (let n = 1; n <= 4; n++) wave += (0.12 * fade * sine(n * hz(note + 12), at)) / n;
    for (const step of [0, 4, 7]) wave += 0.05 * sine(hz(root + step), at);
    return wave * (1 + 0.1 * sine(5, at));
  });
}

/** Clicks and crackling. */
function crackle(seconds: number, seed = 5): Int16Array {
  const random = randomOf(seed);
  let rest = 0;
  return fill(seconds, () => {
    if (random() < 0.001) rest = random() - 0.5;
    rest *= 0.9;
    return rest;
  });
}

/** Bursts of noise that sound like breaths. */
function breathing(seconds: number, seed = 6): Int16Array {
  const random = randomOf(seed);
  let last = 0;
  return fill(seconds, (at) => {
    last = 0.7 * last + 0.3 * (2 * random() - 1);
    return 0.15 * Math.max(0, Math.sin(2 * Math.PI * 0.3 * at)) ** 2 * last;
  });
}

/** Mains hum with its harmonics. */
const hum = (seconds: number) =>
  fill(seconds, (at) => 0.05 * (sine(50, at) + sine(150, at) + 0.5 * sine(250, at)));

/** A calling fax or modem: 1100 Hz for half a second out of 3.5, and an answer tone that reverses phase. */
const fax = (seconds: number) =>
  fill(seconds, (at) => {
    const calling = at % 3.5 < 0.5 ? 0.2 * sine(1100, at) : 0;
    const reversed = Math.floor(at / 0.45) % 2 === 0 ? 1 : -1;
    return at % 12 > 8 ? 0.2 * reversed * sine(2100, at) : calling;
  });

/** Noise that swells four times per second, as syllables do. */
function syllabicNoise(seconds: number, level = 0.3, seed = 7): Int16Array {
  const noise = pinkNoise(seconds, 1, seed);
  return fill(seconds, (at, i) => {
    const swell = Math.max(0, Math.sin(2 * Math.PI * 4 * at)) * (at % 3 < 2 ? 1 : 0);
    return (level * swell * (noise[i] ?? 0)) / 32768;
  });
}

/** A tone that slides up and down with harmonics, like a siren, a door or a whistle. */
function sliding(seconds: number): Int16Array {
  let phase = 0;
  return fill(seconds, (at) => {
    phase += (300 + 250 * Math.sin(2 * Math.PI * 0.7 * at)) / rateHz;
    return at % 4 < 2.5 ? 0.15 * (sine(1, phase) + 0.5 * sine(2, phase) + 0.3 * sine(3, phase)) : 0;
  });
}

/** Bursts of noise between digital silence, like comfort noise switching on and off. */
function silenceAfterNoise(seconds: number, seed = 8): Int16Array {
  const random = randomOf(seed);
  return fill(seconds, (at) => (at % 1.5 < 0.7 ? 0.02 * (2 * random() - 1) : 0));
}

/** All noises by name, each of the given length. */
export function lineNoises(seconds: number): Map<string, Int16Array> {
  return new Map([
    ['silence', new Int16Array(seconds * rateHz)],
    ['white noise, quiet', whiteNoise(seconds, 0.005)],
    ['white noise, loud', whiteNoise(seconds, 0.1)],
    ['pink noise, quiet', pinkNoise(seconds, 0.01)],
    ['pink noise, loud', pinkNoise(seconds, 0.15)],
    ['tone 440 Hz', tone(seconds, 440)],
    ['tone 1000 Hz', tone(seconds, 1000)],
    ['ringing', ringing(seconds)],
    ['busy', busy(seconds)],
    ['DTMF', dtmf(seconds)],
    ['music on hold', holdMusic(seconds)],
    ['crackle', crackle(seconds)],
    ['breathing', breathing(seconds)],
    ['hum', hum(seconds)],
    ['fax', fax(seconds)],
    ['swelling noise', syllabicNoise(seconds)],
    ['sliding tones', sliding(seconds)],
    ['silence after noise', silenceAfterNoise(seconds)],
  ]);
}

const tracks = '/usr/share/asterisk/moh';

/** The first seconds of each track in Debian's asterisk-moh-opsound-wav, by name. Empty if it is not installed. */
export function musicOnHold(seconds: number): Map<string, Int16Array> {
  const files = existsSync(tracks)
    ? readdirSync(tracks).filter((name) => name.endsWith('.wav'))
    : [];
  return new Map(
    files.map((name) => [
      name.replace('.wav', ''),
      wavSamples(readFileSync(join(tracks, name))).subarray(0, seconds * rateHz),
    ]),
  );
}
