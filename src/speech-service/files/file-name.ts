import { storableText } from '../../lib/storable.ts';

const longest = 255;
const nameless = 'audio';

/**
 * A file name from outside in the form in which we keep it: without folders and control characters, and never empty.
 */
export function keptName(name: string | undefined): string {
  const last = (name ?? '').split(/[/\\]/).at(-1) ?? '';
  // Control characters, and marks that change the direction of writing, can make a name look like another one.
  const plain = storableText(last.toWellFormed())
    .replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu, '')
    .trim();
  const short = Array.from(plain).slice(0, longest).join('');
  return short === '' || /^\.+$/.test(short) ? nameless : short;
}

/** The extension in small letters without the dot. Empty if it is none that a program would know. */
export function extensionOf(name: string): string {
  return /[^.]\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
}

/** The last part of the address's path. The query is not used, since it may hold a secret. */
export function nameOfUrl(url: string): string {
  const part = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  try {
    return keptName(decodeURIComponent(part));
  } catch {
    return keptName(part); // a percent sign that encodes nothing belongs to the name
  }
}

/** Types that browsers play and never render as a page. Any other file is sent as plain bytes. */
const audioTypes: Partial<Record<string, string>> = {
  aac: 'audio/aac',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  mp2: 'audio/mpeg',
  mp3: 'audio/mpeg',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  opus: 'audio/ogg',
  wav: 'audio/wav',
};

/**
 * Headers for sending a stranger's file. The extension may be false, so it only selects a type of audio. Browsers may
 * not guess another type from the bytes, and the answer is saved, not displayed.
 */
export function headersOfFile(filename: string): Record<string, string> {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    'content-type': audioTypes[extensionOf(filename)] ?? 'application/octet-stream',
    'x-content-type-options': 'nosniff',
    'content-disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
  };
}
