import { CompandingCheck } from '../audio/companding-check.ts';
import type { StreamEncoding } from './call-stream.ts';

/** The check decides within half a second of sound; a leg that is silent for longer than this keeps its law. */
const keptBytesLimit = 8_000 * 30;

/**
 * Listens to the first speech of a G.711 leg for the other law. Keeps what it heard only where the leg is
 * to be begun anew by the law that its samples show.
 */
export class CompandingWatch {
  readonly #check: CompandingCheck;
  readonly #keeps: boolean;
  #kept: Buffer[] = [];
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

  /** Undefined while it listens; then once the verdict. */
  hear(payload: Buffer): 'as-declared' | 'other-law' | undefined {
    if (this.#keeps && this.#keptBytes <= keptBytesLimit) {
      this.#kept.push(Buffer.from(payload));
      this.#keptBytes += payload.length;
    }
    const verdict = this.#check.push(payload);
    return verdict === 'undecided' ? undefined : verdict;
  }

  /** All that was heard, when all of it could be kept. */
  takeKept(): Buffer[] | undefined {
    const kept = this.#kept;
    this.#kept = [];
    return this.#keeps && this.#keptBytes <= keptBytesLimit ? kept : undefined;
  }
}
