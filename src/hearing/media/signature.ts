/** This many bytes at the start of a file are enough to tell its kind. */
export const signatureBytes = 4_096;

/** This process reads `wav`, `au` and `flac` itself and leaves the rest to ffmpeg. */
type Container = 'wav' | 'au' | 'flac' | 'other';

export type Signature =
  | { kind: 'media'; name: string; container: Container }
  | { kind: 'not-media'; name: string }
  | { kind: 'unknown' };

type Mark = { name: string; at?: number; bytes: string; then?: { at: number; bytes: string } };

const ownContainers: Partial<Record<string, Container>> = { WAV: 'wav', AU: 'au', FLAC: 'flac' };

/** Marks of media formats, as Latin-1 text. The order matters where one mark is the beginning of another. */
const mediaMarks: Mark[] = [
  { name: 'WAV', bytes: 'RIFF', then: { at: 8, bytes: 'WAVE' } },
  { name: 'WAV', bytes: 'RF64', then: { at: 8, bytes: 'WAVE' } },
  { name: 'AVI', bytes: 'RIFF', then: { at: 8, bytes: 'AVI ' } },
  { name: 'AU', bytes: '.snd' },
  { name: 'FLAC', bytes: 'fLaC' },
  { name: 'Ogg', bytes: 'OggS' },
  { name: 'FLV', bytes: 'FLV\x01' },
  { name: 'Matroska', bytes: '\x1a\x45\xdf\xa3' },
  { name: 'Windows Media', bytes: '\x30\x26\xb2\x75\x8e\x66\xcf\x11' },
  { name: 'MP4', at: 4, bytes: 'ftyp' },
  { name: 'MOV', at: 4, bytes: 'moov' },
  { name: 'MOV', at: 4, bytes: 'mdat' },
  { name: 'MOV', at: 4, bytes: 'wide' },
  { name: 'MP3', bytes: 'ID3' },
  { name: 'AC-3', bytes: '\x0b\x77' },
];

const otherMarks: Mark[] = [
  { name: 'PNG image', bytes: '\x89PNG' },
  { name: 'JPEG image', bytes: '\xff\xd8\xff' },
  { name: 'GIF image', bytes: 'GIF8' },
  { name: 'WebP image', bytes: 'RIFF', then: { at: 8, bytes: 'WEBP' } },
  { name: 'PDF document', bytes: '%PDF' },
  { name: 'ZIP archive', bytes: 'PK\x03\x04' },
  { name: 'gzip archive', bytes: '\x1f\x8b' },
  { name: 'program', bytes: '\x7fELF' },
  { name: 'program', bytes: 'MZ' },
];

/** The kind of a file by its first bytes. Its name is ignored, because people rename files. */
export function signatureOf(start: Buffer): Signature {
  const has = (at: number, bytes: string) =>
    start.toString('latin1', at, at + bytes.length) === bytes;
  const marked = ({ at = 0, bytes, then }: Mark) =>
    has(at, bytes) && (then === undefined || has(then.at, then.bytes));
  const medium = mediaMarks.find(marked);
  if (medium)
    return {
      kind: 'media',
      name: medium.name,
      container: ownContainers[medium.name] ?? 'other',
    };
  const other = otherMarks.find(marked);
  if (other) return { kind: 'not-media', name: other.name };
  const frames = mpegAudio(start);
  if (frames !== undefined) return { kind: 'media', name: frames, container: 'other' };
  if (isText(start)) return { kind: 'not-media', name: 'text' };
  return { kind: 'unknown' };
}

/** AAC and MP3 begin with the same sync word. The layer bits behind it are zero in AAC alone. */
function mpegAudio(start: Buffer): string | undefined {
  const [first = 0, second = 0] = start;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  return (second & 0xf6) === 0xf0 ? 'AAC' : 'MP3';
}

/** True for a web page, JSON or a playlist: all the bytes looked at are printable. */
function isText(start: Buffer): boolean {
  return start.length > 0 && start.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}
