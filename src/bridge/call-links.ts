import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PublicUrl } from '../port/addresses.ts';

const hourMs = 3_600_000;
/** What a link opens; a link for one does not open the other. */
export type LinkKind = 'page' | 'recording' | 'transcript';

type CallLinksOptions = {
  key: Buffer;
  publicUrl: PublicUrl;
  /** Links of another generation open nothing. */
  generation: string;
  lifeHours: number;
  /** False where words are redacted: the recording has them in clear, and a link would hand it to whoever gets the event. */
  withRecording: boolean;
};

/**
 * Addresses that open one call to whoever has them, until their time is over: a person in the CRM has no key. They say
 * which call and until when, and the signature covers both.
 */
export class CallLinks {
  readonly #options: CallLinksOptions;

  constructor(options: CallLinksOptions) {
    this.#options = options;
  }

  /** Undefined where links are switched off. */
  linksOf(
    callId: string,
    nowMs: number,
  ): { page: string; recording: string | undefined; expiresAt: number } | undefined {
    const { lifeHours, publicUrl, withRecording } = this.#options;
    if (lifeHours === 0) return undefined;
    const expires = this.#expiryAt(nowMs);
    const base = publicUrl();
    return {
      page: base + this.pathOf('page', callId, expires),
      recording: withRecording ? base + this.pathOf('recording', callId, expires) : undefined,
      expiresAt: expires * 1_000,
    };
  }

  /** Where all the words of a call stand; where links are off this address wants a key. */
  transcriptUrl(callId: string, nowMs: number): string {
    const { lifeHours, publicUrl } = this.#options;
    const path =
      lifeHours === 0
        ? `/api/calls/${encodeURIComponent(callId)}/transcript`
        : this.pathOf('transcript', callId, this.#expiryAt(nowMs));
    return publicUrl() + path;
  }

  #expiryAt(nowMs: number): number {
    return Math.floor((nowMs + this.#options.lifeHours * hourMs) / 1_000);
  }

  pathOf(kind: LinkKind, callId: string, expires: number): string {
    const query = `expires=${expires}&signature=${this.#signatureOf(kind, callId, expires)}`;
    const path = `/shared/calls/${encodeURIComponent(callId)}`;
    return `${path}${kind === 'page' ? '' : `/${kind}`}?${query}`;
  }

  judge(
    kind: LinkKind,
    callId: string,
    { expires, signature }: { expires: number; signature: string },
    nowMs: number,
  ): 'good' | 'expired' | 'wrong' {
    const right = Buffer.from(this.#signatureOf(kind, callId, expires));
    const shown = Buffer.from(signature);
    if (right.length !== shown.length || !timingSafeEqual(right, shown)) return 'wrong';
    return nowMs < expires * 1_000 ? 'good' : 'expired';
  }

  #signatureOf(kind: LinkKind, callId: string, expires: number): string {
    const { key, generation } = this.#options;
    // The first generation has no name, and its links are as they always were.
    const named = generation === '' ? [] : [generation];
    return createHmac('sha256', key)
      .update(JSON.stringify([kind, callId, expires, ...named]))
      .digest('base64url');
  }
}
