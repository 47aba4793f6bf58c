import { alawSilence, mulawSilence } from '../audio/g711.ts';
import type { RecordedFrame } from './fixture.ts';

type MaskOptions = { keepNumbers: boolean; keepAudio: boolean };

/** Fields that name a person or contain a secret. */
const privateFields = new Set(['aniName', 'callerName', 'token', 'client_state']);

/** Fields with counters and times, whose digits are not phone numbers. */
const technicalFields = new Set([
  'timestamp',
  'sequenceNumber',
  'sequence_number',
  'chunk',
  'seq',
  'position',
  'occurred_at',
]);

/** Masks a recorded conversation. The frames, their lengths and their order stay; the contents are replaced. */
export class Masker {
  readonly #options: MaskOptions;
  readonly #numbers = new Map<string, string>();
  #silence = mulawSilence;

  constructor(options: MaskOptions) {
    this.#options = options;
  }

  mask(frame: RecordedFrame): RecordedFrame {
    if ('base64' in frame) return { ...frame, base64: this.#audio(frame.base64) };
    this.#noteEncoding(frame.text);
    const masked = this.#text(frame.text);
    return { ...frame, text: masked };
  }

  /** Notes the value of silence in the stream's encoding: 0 in L16, 0xD5 in A-law, 0xFF in mu-law. */
  #noteEncoding(text: string): void {
    if (
      /"(?:encoding|format|content-type)":"(?:audio\/)?(?:x-)?(?:l16|raw)|format:slin|"format":"slin|"(?:mixType|packetizationTime)":/i.test(
        text,
      )
    )
      this.#silence = 0;
    else if (/PCMA|alaw/i.test(text) && /start|open/i.test(text)) this.#silence = alawSilence;
  }

  #audio(base64: string): string {
    if (this.#options.keepAudio) return base64;
    return Buffer.alloc(Buffer.from(base64, 'base64').length, this.#silence).toString('base64');
  }

  #text(text: string): string {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // This is a plain-text control message, or a broken frame that must stay broken in the same way.
      return this.#digits(text.replace(/("payload":")[^"]*/g, (_, head: string) => head));
    }
    return JSON.stringify(this.#value(value, ''));
  }

  #value(value: unknown, name: string): unknown {
    if (typeof value === 'string') {
      if (name === 'payload' || name === 'media') return this.#audio(value);
      if (this.#options.keepNumbers || technicalFields.has(name)) return value;
      return privateFields.has(name) ? 'masked' : this.#digits(value);
    }
    if (Array.isArray(value)) return value.map((item) => this.#value(item, name));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, this.#value(item, key)]),
      );
    return value;
  }

  /** Replaces each phone number by a number reserved for fiction, always the same one. Ids keep their form. */
  #digits(text: string): string {
    if (this.#options.keepNumbers) return text;
    return text.replace(/(?<![\w.-])\+?\d{7,15}(?![\w.:-])/g, (number) => {
      const known = this.#numbers.get(number);
      if (known !== undefined) return known;
      const masked = `+155501${String(this.#numbers.size).padStart(5, '0')}`;
      this.#numbers.set(number, masked);
      return masked;
    });
  }
}
