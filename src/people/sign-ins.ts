import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { digestOf } from '../lib/digest.ts';
import { newId } from '../lib/ids.ts';
import type { Store } from '../store/store.ts';
import type { Holders } from './holders.ts';

/** At most this many sign-ins are held. The oldest is ended first, since signing in again is easy. */
export const maxSignIns = 1_000;
/** Sign-ins that ended are forgotten after this time. */
const keptMs = 24 * 60 * 60_000;

type SignInsOptions = { store: Store; clock: Clock; known: Holders; hours: number };

type SignInHolder = { kind: 'person' | 'key' | 'setting'; holder: string };

/** Browsers that have shown a key or a password. Only digests of their cookies are stored. */
export class SignIns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #known: Holders;
  readonly #lifeMs: number;

  constructor({ store, clock, known, hours }: SignInsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#known = known;
    this.#lifeMs = hours * 3_600_000;
  }

  /** Creates a sign-in and returns the value of its cookie. */
  async open({ kind, holder }: SignInHolder, address: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const madeAt = this.#clock.now();
    const tooMany = this.#known.signIns
      .toSorted((one, other) => one.made_at - other.made_at)
      .slice(0, Math.max(0, this.#known.signIns.length + 1 - maxSignIns))
      .map(({ id }) => id);
    await this.#known.change(async (tx, revision) => {
      if (tooMany.length > 0)
        await tx
          .updateTable('sign_ins')
          .set({ ended_at: madeAt, revision })
          .where('id', 'in', tooMany)
          .execute();
      await tx
        .insertInto('sign_ins')
        .values({
          ...{ id: newId('sign', madeAt), digest: digestOf(token), kind, holder, address },
          ...{ made_at: madeAt, expires_at: madeAt + this.#lifeMs, ended_at: null, revision },
        })
        .execute();
    });
    return token;
  }

  /** Ends the sign-in whose cookie the request shows. */
  async close(request: IncomingMessage): Promise<void> {
    if (this.#known.isUnknown(request)) await this.#known.refresh();
    const row = this.#known.signInOf(request);
    if (row !== undefined) await this.end([row.id]);
  }

  async end(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#known.change((tx, revision) =>
      tx
        .updateTable('sign_ins')
        .set({ ended_at: this.#clock.now(), revision })
        .where('id', 'in', ids)
        .where('ended_at', 'is', null)
        .execute(),
    );
  }

  /** Ends all sign-ins of this person or key. */
  async endOf(holder: string): Promise<void> {
    const own = this.#known.signIns.filter((row) => row.holder === holder);
    await this.end(own.map(({ id }) => id));
  }

  /** Deletes the rows of sign-ins that nobody can use any more. */
  async forget(): Promise<void> {
    const before = this.#clock.now() - keptMs;
    await this.#store.db.deleteFrom('sign_ins').where('expires_at', '<', before).execute();
  }
}
