import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PublicUrl } from '../port/addresses.ts';

const hourMs = 3_600_000;
/** The kind of page that a link opens. A link for one kind cannot open another. */
export type LinkKind = 'page' | 'recording' | 'transcript';

type CallLinksOptions = {
  key: Buffer;
  publicUrl: PublicUrl;
  /** The current generation of links. Changing it invalidates all links made before. */
  generation: string;
  lifeHours: number;
  /**
   * False if calls are redacted. The recording contains the unredacted words, and a link would give it to everybody who
   * gets the event.
   */
  withRecording: boolean;
};

/**
 * Signed addresses of one call. Until it expires, an address opens the call for everybody who has it, because users of
 * a CRM have no API key. The signature covers the call and the expiry.
 */
export class CallLinks {
  readonly #options: CallLinksOptions;

  constructor(options: CallLinksOptions) {
    this.#options = options;
  }

  /** Returns undefined if links are switched off. */
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

  /** The address of the call's full transcript. If links are switched off, the address requires an API key. */
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
    // The first generation is an empty name. It adds nothing to the signed text, so links from before generations
    // existed stay valid.
    const named = generation === '' ? [] : [generation];
    return createHmac('sha256', key)
      .update(JSON.stringify([kind, callId, expires, ...named]))
      .digest('base64url');
  }
}
