import { hkdfSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../lib/is-missing.ts';
import { sealed, unsealed } from '../lib/sealed.ts';

export type SealingOptions = {
  /**
   * Secrets of the settings that all nodes have. The first seals; each of them opens, so that a key may be replaced in
   * two steps.
   */
  secrets: readonly string[];
  /** Holds a key where no such secret is set: beside the database, and not in it. */
  keyFile: string;
};

/** Seals texts for the database: a thief of the database alone cannot read them. */
export class Sealing {
  readonly #options: SealingOptions;

  constructor(options: SealingOptions) {
    this.#options = options;
  }

  async seal(text: string): Promise<string> {
    const [first] = this.#options.secrets;
    return sealed(text, keyOf(first ?? (await this.#madeKey())));
  }

  /** Undefined for a text that was sealed with a secret which is no longer there. */
  async open(text: string): Promise<string | undefined> {
    const kept = await this.#keptKey();
    const secrets = [...this.#options.secrets, ...(kept === undefined ? [] : [kept])];
    for (const secret of secrets) {
      const opened = unsealed(text, keyOf(secret));
      if (opened !== undefined) return opened;
    }
    return undefined;
  }

  async #keptKey(): Promise<string | undefined> {
    try {
      const kept = (await readFile(this.#options.keyFile, 'utf8')).trim();
      return kept === '' ? undefined : kept;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #madeKey(): Promise<string> {
    const kept = await this.#keptKey();
    if (kept !== undefined) return kept;
    const { keyFile } = this.#options;
    const key = randomBytes(32).toString('base64');
    await mkdir(dirname(keyFile), { recursive: true });
    await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
    return key;
  }
}

function keyOf(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, 'trunkline', 'connected endpoint', 32));
}
