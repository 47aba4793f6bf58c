import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { counter } from '../lib/metrics.ts';
import { networkOf } from './connections.ts';
import { SeldomLog } from './seldom-log.ts';

/** Compares two secrets in a time that does not depend on their content. */
export function equalSecrets(left: string, right: string): boolean {
  const salt = randomBytes(16);
  const digest = (text: string): Buffer => createHmac('sha256', salt).update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** A shorter secret could be guessed in the time that an installation runs. */
const shortestSecret = 16;
/** Nobody guesses a secret of this length over a network, whatever the number of tries. */
const unguessableLength = 24;

/** A secret that an operator chooses and that gives access on its own. */
export const SharedSecret = z
  .string()
  .min(
    shortestSecret,
    `has under ${shortestSecret} characters: make one with openssl rand -hex 16`,
  );

/** Returns a line for the start of the process if a secret is so short that wrong guesses make clients wait. */
export function shortSecretNote(setting: string, secrets: readonly string[]): string | undefined {
  return secrets.some((secret) => secret.length < unguessableLength)
    ? `${setting}: a secret has under ${unguessableLength} characters, so its own client waits, too, after somebody guessed at its address`
    : undefined;
}

/** A client may send this many wrong secrets before it has to wait. */
const freeGuesses = 10;
/** The first wait. Each further wrong secret doubles the wait, up to the longest. */
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;
/** The count of a client begins anew if the client sent no wrong secret for this long. */
const forgetMs = 900_000;
/**
 * During a wait, a short secret that its client has shown before is accepted until the client has sent this many wrong
 * ones.
 */
const guessesOfKnown = 100;
/** At most this many clients are remembered. Beyond that, the one that was heard of the longest ago is forgotten. */
export const maxClientsRemembered = 10_000;
/** At most this many clients have log lines of their own. Further clients share one. */
const maxClientsTold = 500;

const checksTotal = counter(
  'trunkline_secret_checks_total',
  'Secrets that clients showed, by door and outcome; `wait` were not looked at, because their client had guessed too often.',
  ['door', 'outcome'],
);

/** The result of judging a secret. `wait` means that the client guessed too often. */
export type SecretVerdict = { is: 'right' } | { is: 'wrong' } | { is: 'wait'; waitS: number };

type ShownSecret = {
  /**
   * The name of the group of secrets that it is compared with. Wrong guesses at one group make nobody wait at another.
   */
  door: string;
  /** The address of the client that showed the secret. Listed proxies are believed about it. */
  client: string;
  secret: string;
  /** The result of a comparison that takes the same time for every secret. */
  isRight: boolean;
};

type Client = {
  wrong: number;
  /** The number of wrong secrets, including those sent during a wait. */
  guesses: number;
  waitUntilMs: number;
  latestMs: number;
  /** Digests of the right secrets that this client has shown. */
  shown: Set<string>;
};

/**
 * Judges secrets that are compared with a configured one, for all groups (doors) of this process. It counts the wrong
 * secrets of each client, because a door without a limit would invite guesses.
 */
export class SecretJudge {
  readonly #clock: Clock;
  readonly #told: SeldomLog;
  readonly #salt = randomBytes(32);
  readonly #clients = new Map<string, Client>();

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#told = new SeldomLog({ clock, log });
  }

  /** Sets the counts of this door to 0, so that the first wrong secret shows as an increase. */
  open(door: string): void {
    for (const outcome of ['right', 'wrong', 'wait']) checksTotal.inc({ door, outcome }, 0);
  }

  judge(asked: ShownSecret): SecretVerdict {
    const verdict = this.#decide(asked);
    checksTotal.inc({ door: asked.door, outcome: verdict.is });
    if (verdict.is !== 'right') this.#tell(asked);
    return verdict;
  }

  /** Writes the log lines that were held back. Called once a second. */
  tick(): void {
    this.#told.tick();
  }

  /** Writes a line about a client that showed the right secret. */
  note(client: string, message: string, fields: Record<string, unknown> = {}): void {
    const kind = `${message} ${this.#told.size < maxClientsTold ? networkOf(client) : ''}`;
    this.#told.note(kind, { level: 'info', message, fields: { client, ...fields } });
  }

  #decide({ door, client: address, secret, isRight }: ShownSecret): SecretVerdict {
    const name = `${door} ${networkOf(address)}`;
    const client = this.#clients.get(name);
    const leftMs = (client?.waitUntilMs ?? 0) - this.#clock.monotonicMs();
    if (isRight && (leftMs <= 0 || this.#passesInWait(client, secret))) {
      this.#remember(name, secret);
      return { is: 'right' };
    }
    const known = this.#heardOf(name);
    known.guesses++;
    // During a wait, a right secret gets the same answer as a wrong one, so that the answer does not show which it was.
    if (leftMs > 0) return { is: 'wait', waitS: Math.ceil(leftMs / 1_000) };
    known.wrong++;
    const waits = known.wrong - freeGuesses;
    if (waits >= 0)
      known.waitUntilMs =
        this.#clock.monotonicMs() + Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(waits, 20));
    return { is: 'wrong' };
  }

  /**
   * True if this secret is accepted while its client must wait. Other clients may share the address, and their wrong
   * guesses must not lock this one out. A short secret is accepted only for a limited number of guesses, because the
   * answer would otherwise tell a guesser at that address that a guess was right.
   */
  #passesInWait(client: Client | undefined, secret: string): boolean {
    if (secret.length >= unguessableLength) return true;
    return (
      client !== undefined &&
      client.guesses < guessesOfKnown &&
      client.shown.has(this.#digest(secret))
    );
  }

  #remember(name: string, secret: string): void {
    // Long secrets are always accepted, so nothing about them is remembered.
    if (secret.length >= unguessableLength) return;
    const digest = this.#digest(secret);
    if (this.#clients.get(name)?.shown.has(digest)) return;
    this.#heardOf(name).shown.add(digest);
  }

  #tell({ door, client, isRight: _secret }: ShownSecret): void {
    const kind = `${door} ${this.#told.size < maxClientsTold ? networkOf(client) : ''}`;
    this.#told.note(kind, {
      level: 'warn',
      message: 'a wrong secret was shown',
      fields: { door, client },
    });
  }

  /** Makes a digest, so that a dump of the heap does not reveal a secret. */
  #digest(secret: string): string {
    return createHmac('sha256', this.#salt).update(secret).digest('base64');
  }

  /** Finds or makes the client, and moves it to the end of the list, which is in order of the last contact. */
  #heardOf(name: string): Client {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#clients.get(name);
    this.#clients.delete(name);
    for (const oldest of this.#clients.keys()) {
      if (this.#clients.size < maxClientsRemembered) break;
      this.#clients.delete(oldest);
    }
    const client = before ?? {
      wrong: 0,
      guesses: 0,
      waitUntilMs: 0,
      latestMs: nowMs,
      shown: new Set<string>(),
    };
    if (nowMs - client.latestMs > forgetMs) {
      client.wrong = 0;
      client.guesses = 0;
    }
    client.latestMs = nowMs;
    this.#clients.set(name, client);
    return client;
  }
}
