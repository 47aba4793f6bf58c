import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wavSamples } from '../../support/recognition/prompts.ts';

const sounds = '/usr/share/asterisk/sounds';

/** People who spoke the prompts of Debian's packages, each in a language of their own, and the package of each. */
const people = {
  allison: { folder: 'en_US_f_Allison', extension: 'wav', from: 'asterisk-core-sounds-en-wav' },
  june: { folder: 'fr_CA_f_June', extension: 'wav', from: 'asterisk-core-sounds-fr-wav' },
  carlo: { folder: 'it_IT_m_Carlo', extension: 'wav', from: 'asterisk-core-sounds-it-wav' },
  menardi: { folder: 'it_IT_f_Menardi', extension: 'wav', from: 'asterisk-prompt-it-menardi-wav' },
  russian: { folder: 'ru_RU_f_IvrvoiceRU', extension: 'wav', from: 'asterisk-core-sounds-ru-wav' },
  armelle: { folder: 'fr', extension: 'gsm', from: 'asterisk-prompt-fr-armelle' },
  colombian: { folder: 'es', extension: 'gsm', from: 'asterisk-prompt-es-co' },
} as const;
export type Person = keyof typeof people;

/** The folder of a speaker's prompts, and their package. */
type Prompts = { folder: string; extension: 'wav' | 'gsm'; from: string };

/** The packages that are missing for all of them. */
export function missingVoices(): string[] {
  return Object.values(people).flatMap(missingOf);
}

export function missingOf({ folder, extension, from }: Prompts): string[] {
  return existsSync(join(sounds, folder, `agent-alreadyon.${extension}`)) ? [] : [from];
}

const raw = ['-t', 'raw', '-r', '8000', '-e', 'signed', '-b', '16', '-c', '1', '-'];
/** Shorter ones are single words and numbers. */
const leastS = 1.2;

/** The speech of a person, prompt by prompt, without the silence at both ends. */
export const sayingsOf = onceEach((person: Person) => promptsOf(people[person]));

/** Files that take seconds to make are made once for each name. */
export function onceEach<Name, Made>(make: (name: Name) => Made): (name: Name) => Made {
  const known = new Map<Name, Made>();
  return (name) => {
    const made = known.get(name) ?? make(name);
    known.set(name, made);
    return made;
  };
}

export function promptsOf({ folder, extension }: Prompts): Int16Array[] {
  const files = readdirSync(join(sounds, folder))
    .filter((name) => name.endsWith(extension))
    .sort();
  const sayings = files.map((name) => spoken(join(sounds, folder, name)));
  return sayings.filter(({ length }) => length >= leastS * 8_000);
}

function spoken(path: string): Int16Array {
  const samples = path.endsWith('.wav')
    ? wavSamples(readFileSync(path))
    : samplesOf(execFileSync('sox', ['-t', 'gsm', '-r', '8000', path, ...raw]));
  return levelled(samples);
}

/** Without the silence at both ends; everybody at one level, as a line with its own gain brings them. */
export function levelled(samples: Int16Array): Int16Array {
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  const first = samples.findIndex((sample) => Math.abs(sample) > loudest / 30);
  const last = samples.findLastIndex((sample) => Math.abs(sample) > loudest / 30);
  return samples
    .subarray(Math.max(0, first), last + 1)
    .map((sample) => (sample * 12_000) / loudest);
}

export function samplesOf(bytes: Buffer): Int16Array {
  return Int16Array.from({ length: bytes.length >> 1 }, (_, at) => bytes.readInt16LE(2 * at));
}
