/**
 * Speaks src/player/conversation/script.json: `node config/tools/make-conversation.ts`. Needs Debian's flite, festival,
 * festvox-us-slt-hts and sox. Writes one mu-law file of speech for each leg and the length of every turn into
 * turns.json; silence between turns is not stored.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Script = { turns: { leg: 'agent' | 'customer'; text: string; pauseMs: number }[] };

const folder = new URL('../../src/player/conversation/', import.meta.url).pathname;
const script = JSON.parse(readFileSync(join(folder, 'script.json'), 'utf8')) as Script;
const work = mkdtempSync(join(tmpdir(), 'conversation-'));

function speak(leg: 'agent' | 'customer', text: string, to: string): void {
  if (leg === 'agent') execFileSync('flite', ['-voice', 'rms', '-t', text, '-o', to]);
  else
    execFileSync('text2wave', ['-eval', '(voice_cmu_us_slt_arctic_hts)', '-o', to], {
      input: text,
    });
}

/** Limits audio to the telephone band, at equal loudness for both voices, in whole frames of 20 ms. */
function telephone(from: string, to: string): Buffer {
  execFileSync('sox', [
    ...[from, '-t', 'raw', '-r', '8000', '-c', '1', '-e', 'mu-law', to],
    ...['silence', '1', '0.01', '0.5%', 'reverse', 'silence', '1', '0.01', '0.5%', 'reverse'],
    ...['highpass', '200', 'lowpass', '3600', 'norm', '-3', 'pad', '0.06', '0.12'],
  ]);
  const bytes = readFileSync(to);
  return Buffer.concat([bytes, Buffer.alloc((160 - (bytes.length % 160)) % 160, 0xff)]);
}

const speech: Record<'agent' | 'customer', Buffer[]> = { agent: [], customer: [] };
const turns = script.turns.map(({ leg, text }, at) => {
  const wav = join(work, `${at}.wav`);
  speak(leg, text, wav);
  const bytes = telephone(wav, join(work, `${at}.ulaw`));
  speech[leg].push(bytes);
  return { leg, bytes: bytes.length };
});
for (const leg of ['agent', 'customer'] as const)
  writeFileSync(join(folder, `${leg}.ulaw`), Buffer.concat(speech[leg]));
writeFileSync(join(folder, 'turns.json'), `${JSON.stringify(turns)}\n`);
rmSync(work, { recursive: true });
console.log(turns.map(({ leg, bytes }) => `${leg} ${bytes / 8000} s`).join('\n'));
