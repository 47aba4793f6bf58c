import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * The keys of this installation, kept only as keyed digests: a heap dump does not give them away,
 * and a comparison takes the same time whatever the guess.
 */
export class ApiKeys {
  readonly #salt = randomBytes(32);
  readonly #digests: Buffer[];

  constructor(keys: readonly string[]) {
    this.#digests = keys.map((key) => this.#digest(key));
  }

  get required(): boolean {
    return this.#digests.length > 0;
  }

  accepts(key: string | undefined): boolean {
    if (key === undefined) return false;
    const digest = this.#digest(key);
    let found = false;
    // No early exit: which of several keys matched must not show in the time.
    for (const known of this.#digests) found = timingSafeEqual(known, digest) || found;
    return found;
  }

  #digest(key: string): Buffer {
    return createHmac('sha256', this.#salt).update(key).digest();
  }
}

/** Equal strings, in a time that depends on neither. */
export function equalSecrets(left: string, right: string): boolean {
  const salt = randomBytes(16);
  const digest = (text: string): Buffer => createHmac('sha256', salt).update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
