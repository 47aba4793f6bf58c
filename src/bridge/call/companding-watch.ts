import { CompandingCheck } from '../../audio/companding-check.ts';
import type { StreamEncoding } from '../seam.ts';

/** The check decides within half a second of sound; a leg that is silent for longer than this keeps its law. */
const keptBytesLimit = 8_000 * 30;

/** A leg's first moments, to be gone through once more: what was paused is known by its length alone. */
export type Kept =
  { what: 'audio'; payload: Buffer } | { what: 'paused' | 'silence'; bytes: number };

export function keptOf(payload: Buffer, isPaused: boolean): Kept {
  return isPaused
    ? { what: 'paused', bytes: payload.length }
    : { what: 'audio', payload: Buffer.from(payload) };
}

/**
 * Listens to the first speech of a G.711 leg for the other law. Keeps what it heard only where the leg is
 * to be begun anew by the law that its samples show.
 */
export class CompandingWatch {
  readonly #check: CompandingCheck;
  readonly #keeps: boolean;
  #kept: Kept[] = [];
  #keptBytes = 0;

  private constructor(declared: 'mulaw' | 'alaw', keeps: boolean) {
    this.#check = new CompandingCheck(declared);
    this.#keeps = keeps;
  }

  static of(encoding: StreamEncoding, keeps: boolean): CompandingWatch | undefined {
    return encoding === 'mulaw' || encoding === 'alaw'
      ? new CompandingWatch(encoding, keeps)
      : undefined;
  }

  /** Undefined while it listens; then once the verdict. What is paused is not listened to. */
  hear(payload: Buffer, isPaused: boolean): 'as-declared' | 'other-law' | undefined {
    if (this.#keeps) this.#keep(keptOf(payload, isPaused), payload.length);
    if (isPaused) return undefined;
    const verdict = this.#check.push(payload);
    return verdict === 'undecided' ? undefined : verdict;
  }

  /** Silence that was written into the leg. */
  silence(bytes: number): void {
    if (this.#keeps) this.#keep({ what: 'silence', bytes }, bytes);
  }

  /** All that was heard, when all of it could be kept. */
  takeKept(): Kept[] | undefined {
    const kept = this.#kept;
    this.#kept = [];
    return this.#keeps && this.#keptBytes <= keptBytesLimit ? kept : undefined;
  }

  #keep(kept: Kept, bytes: number): void {
    if (this.#keptBytes <= keptBytesLimit) this.#kept.push(kept);
    this.#keptBytes += bytes;
  }
}
