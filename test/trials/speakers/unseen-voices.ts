import { existsSync } from 'node:fs';
import { sayWithFestival } from '../../support/recognition/dialogue.ts';
import { levelled, missingOf, onceEach, promptsOf } from './human-voices.ts';
import { sentences } from './unseen-sentences.ts';

type Language = keyof typeof sentences;

/**
 * Voices that no recipe was tried on, and their packages. Festival's kal is not among them: flite has the same person.
 * Of the Hindi, Telugu and Marathi voices one is enough: all are of one person.
 */
const synthetic = {
  ked: { name: 'ked_diphone', language: 'english', from: 'festvox-kdlpc16k' },
  dita: { name: 'czech_dita', language: 'czech', from: 'festvox-czech-dita' },
  machac: { name: 'czech_machac', language: 'czech', from: 'festvox-czech-machac' },
  krb: { name: 'czech_krb', language: 'czech', from: 'festvox-czech-krb' },
  ph: { name: 'czech_ph', language: 'czech', from: 'festvox-czech-ph' },
  lj: { name: 'suo_fi_lj_diphone', language: 'finnish', from: 'festvox-suopuhe-lj' },
  mv: { name: 'hy_fi_mv_diphone', language: 'finnish', from: 'festvox-suopuhe-mv' },
  lp: { name: 'lp_diphone', language: 'italian', from: 'festvox-italp16k' },
  pc: { name: 'pc_diphone', language: 'italian', from: 'festvox-itapc16k' },
  ona: { name: 'upc_ca_ona_hts', language: 'catalan', from: 'festvox-ca-ona-hts' },
  nsh: { name: 'msu_ru_nsh_clunits', language: 'russian', from: 'festvox-ru' },
  nsk: { name: 'hindi_NSK_diphone', language: 'hindi', from: 'festvox-hi-nsk' },
} as const;
/** The person of `allison` in another language: she speaks alone only. */
const mexican = {
  folder: 'es_MX_f_Allison',
  extension: 'wav',
  from: 'asterisk-core-sounds-es-wav',
} as const;
export type UnseenVoice = keyof typeof synthetic | 'mexican';
export const unseenVoices = [...Object.keys(synthetic), 'mexican'] as UnseenVoice[];

/** The packages that are missing for all of them. */
export function missingUnseenVoices(): string[] {
  const folders = '/usr/share/festival/voices';
  const missing = Object.values(synthetic).flatMap(({ name, language, from }) =>
    existsSync(`${folders}/${language}/${name}`) ? [] : [from],
  );
  return [...missing, ...missingOf(mexican)];
}

/** The speech of a voice, sentence by sentence, without the silence at both ends. */
export const sayingsOfUnseen = onceEach((voice: UnseenVoice) =>
  voice === 'mexican' ? promptsOf(mexican) : spoken(synthetic[voice]),
);

function spoken({ name, language }: { name: string; language: Language }): Int16Array[] {
  return sentences[language].map((text) =>
    levelled(sayWithFestival(encoded(text, language), [], name)),
  );
}

/** Festival reads bytes: these languages are written as their voices expect them, the others in UTF-8. */
const encodings: Partial<Record<Language, string>> = {
  czech: 'iso-8859-2',
  finnish: 'iso-8859-1',
  italian: 'iso-8859-1',
  catalan: 'iso-8859-1',
};
const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

function encoded(text: string, language: Language): Uint8Array {
  const encoding = encodings[language];
  if (!encoding) return Buffer.from(text);
  const characters = new TextDecoder(encoding).decode(everyByte);
  return Uint8Array.from(text, (character) => {
    const byte = characters.indexOf(character);
    if (byte < 0) throw new Error(`${encoding} has no ${character}`);
    return byte;
  });
}
