import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { wavSamples } from '../../support/recognition/prompts.ts';
import { germanSentences } from './german.ts';

/** A recorded sentence and what is said in it. `isSeen`: rules may have been tuned on it. */
export type SpokenLine = { text: string; samples: Int16Array; isSeen: boolean };

export type LanguageSet = { language: string; lines: SpokenLine[]; singles: SpokenLine[] };

const voices: Readonly<Record<string, string>> = {
  es: 'es_MX_f_Allison',
  fr: 'fr_CA_f_June',
  it: 'it_IT_m_Carlo',
  ru: 'ru_RU_f_IvrvoiceRU',
};
/** Texts that say something else than the recording. */
const wrongTexts: Readonly<Record<string, readonly string[]>> = {
  es: ['vm-record-prepend'],
  it: ['vm-tempremoved'],
  fr: ['spy-misdn', 'vm-review-urgent', 'speed-dial-empty', 'to-call-this-number'],
};
const mostLines = Number(process.env['BENCH_LINES_EACH'] ?? 64);
const mostSingles = 20;

/** The folder with the unpacked packages `asterisk-core-sounds-*`, and perhaps `pico/` with pico2wave. */
export function languageSets(folder: string, only?: readonly string[]): LanguageSet[] {
  const named = ['es', 'fr', 'it', 'ru', 'de'].filter((code) => only?.includes(code) ?? true);
  return named.flatMap((language) => {
    const set = language === 'de' ? germanSet(folder) : promptsOf(folder, language);
    if (set === undefined) console.log(`${language}: no recordings in ${folder}`);
    return set === undefined ? [] : [set];
  });
}

function promptsOf(folder: string, language: string): LanguageSet | undefined {
  const name = `asterisk-core-sounds-${language}`;
  const texts = join(folder, `usr/share/doc/${name}/core-sounds-${language}.txt.gz`);
  const sounds = join(folder, 'usr/share/asterisk/sounds', voices[language] ?? '');
  if (!existsSync(texts) || !existsSync(sounds)) return undefined;
  const found = linesOf(gunzipSync(readFileSync(texts))).flatMap((line) => {
    const [, path = '', text = ''] = /^([\w/-]+): *(.+)$/.exec(line.trim()) ?? [];
    const file = join(sounds, `${path}.wav`);
    // Some lines hold the texts of several prompts.
    if (text === '' || /[[\]<>()]|\w-\w+:/.test(text) || !existsSync(file)) return [];
    return [{ path, text, file, words: text.trim().split(/\s+/).length }];
  });
  const wrong = wrongTexts[language] ?? [];
  const sentences = found.filter(({ words, path }) => words >= 4 && !wrong.includes(path));
  const singles = found.filter(({ words, path }) => words === 1 && !/letters|phonetic|silence/.test(path)); // prettier-ignore
  const line = ({ text, file }: { text: string; file: string }, index: number): SpokenLine => ({
    text,
    samples: wavSamples(readFileSync(file)),
    isSeen: index % 2 === 0,
  });
  return {
    language,
    lines: shuffled(sentences).slice(0, mostLines).map(line),
    singles: shuffled(singles)
      .slice(0, mostSingles)
      .map(line)
      .filter(({ samples }) => samples.length > 1_600),
  };
}

/** Some lines are in UTF-8, others in the old encoding of Western Europe. */
function linesOf(bytes: Buffer): string[] {
  return bytes
    .toString('latin1')
    .split('\n')
    .map((line) => {
      const text = Buffer.from(line, 'latin1').toString('utf8');
      return text.includes('\uFFFD') ? line : text;
    });
}

function germanSet(folder: string): LanguageSet | undefined {
  const pico = join(folder, 'pico');
  if (!existsSync(join(pico, 'pico2wave'))) return undefined;
  const speak = (text: string, index: number): SpokenLine => ({
    text,
    samples: spoken(pico, text),
    isSeen: index % 2 === 0,
  });
  const words = ['ja', 'nein', 'danke', 'hallo', 'eins', 'zwei', 'drei', 'vier', 'fünf', 'sechs', 'sieben', 'acht', 'neun', 'zehn']; // prettier-ignore
  return {
    language: 'de',
    lines: germanSentences.slice(0, mostLines).map(speak),
    singles: words.map(speak),
  };
}

function spoken(pico: string, text: string): Int16Array {
  const folder = mkdtempSync(join(tmpdir(), 'pico-'));
  try {
    const [made, narrow] = [join(folder, 'a.wav'), join(folder, 'b.wav')];
    execFileSync(join(pico, 'pico2wave'), ['-l', 'de-DE', '-w', made, text]);
    execFileSync('sox', [made, '-r', '8000', narrow]);
    return wavSamples(readFileSync(narrow));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Always the same order, which has nothing to do with that of the file. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  let state = 47;
  const next = (): number => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648);
  return items
    .map((item) => ({ item, key: next() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
