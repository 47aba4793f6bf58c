import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const texts = '/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz';
const sounds = '/usr/share/asterisk/sounds/en_US_f_Allison';

export type Prompt = { name: string; text: string; samples: Int16Array };

/** False if the packages are missing, or were installed without their documentation. */
export function promptsAreThere(): boolean {
  return existsSync(texts) && existsSync(sounds);
}

/** Telephone prompts from Debian's asterisk-core-sounds-en(-wav), 8 kHz, with their texts. */
export function telephonePrompts(leastWords = 4): Prompt[] {
  if (!promptsAreThere())
    throw new Error('apt-get install asterisk-core-sounds-en asterisk-core-sounds-en-wav');
  const prompts: Prompt[] = [];
  for (const line of gunzipSync(readFileSync(texts)).toString('latin1').split('\n')) {
    const [, name, text] = /^([\w/-]+): *(.+)$/.exec(line) ?? [];
    if (name === undefined || text === undefined || /[[\]<>()]/.test(text)) continue;
    const path = `${sounds}/${name}.wav`;
    if (text.trim().split(/\s+/).length < leastWords || !existsSync(path)) continue;
    prompts.push({ name, text, samples: wavSamples(readFileSync(path)) });
  }
  return prompts;
}

/** The samples of a 16-bit mono WAV file. */
export function wavSamples(file: Buffer): Int16Array {
  let at = 12;
  while (file.toString('latin1', at, at + 4) !== 'data') at += 8 + file.readUInt32LE(at + 4);
  const length = Math.min(file.readUInt32LE(at + 4), file.length - at - 8);
  const samples = new Int16Array(length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = file.readInt16LE(at + 8 + 2 * i);
  return samples;
}
