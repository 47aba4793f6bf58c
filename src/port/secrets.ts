import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { counter } from '../lib/metrics.ts';
import { networkOf } from './connections.ts';
import { SeldomLog } from './seldom-log.ts';

/** Compares two secrets in a time that depends on neither. */
export function equalSecrets(left: string, right: string): boolean {
  const salt = randomBytes(16);
  const digest = (text: string): Buffer => createHmac('sha256', salt).update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** A shorter secret can be guessed in the time that a door stands open. */
const shortestSecret = 16;
/** Nobody guesses a secret of this length over a network, whatever the number of tries. */
const unguessableLength = 24;

/** A secret that an operator chooses, and that alone opens a door. */
export const SharedSecret = z
  .string()
  .min(
    shortestSecret,
    `has under ${shortestSecret} characters: make one with openssl rand -hex 16`,
  );

/** A line for the start of the process, where a secret is short enough for its door to make clients wait. */
export function shortSecretNote(setting: string, secrets: readonly string[]): string | undefined {
  return secrets.some((secret) => secret.length < unguessableLength)
    ? `${setting}: a secret has under ${unguessableLength} characters, so its own client waits, too, after somebody guessed at its address`
    : undefined;
}

/** A client may send this many wrong secrets before it has to wait. */
const freeGuesses = 10;
/** The first wait; each further wrong secret doubles it, up to the longest. */
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;
/** A client that sent no wrong secret for this long begins anew. */
const forgetMs = 900_000;
/** A short secret that a client has shown before passes in the wait, until that client has guessed this often. */
const guessesOfKnown = 100;
/** Clients remembered at once; beyond this number the one heard of the longest ago is forgotten. */
export const maxClientsRemembered = 10_000;
/** Lines of the log that are told apart by their client; further clients share one. */
const maxClientsTold = 500;

const checksTotal = counter(
  'trunkline_secret_checks_total',
  'Secrets that clients showed, by door and outcome; `wait` were not looked at, because their client had guessed too often.',
  ['door', 'outcome'],
);

/** The verdict on a secret. `wait` means that its client guessed too often. */
export type SecretVerdict = { is: 'right' } | { is: 'wrong' } | { is: 'wait'; waitS: number };

type ShownSecret = {
  /** The secrets that it is compared with. Wrong guesses at one door make nobody wait at another. */
  door: string;
  /** The address that showed it, behind the proxies that are believed. */
  client: string;
  secret: string;
  /** The answer of a comparison in constant time. */
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
 * Judges secrets that are compared and not signed with, for every door of this process. It counts the wrong ones of
 * each client: secrets are long, but a door that takes any number of guesses invites them.
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

  /** Doors are counted from 0 on, so that the first wrong secret is an increase. */
  open(door: string): void {
    for (const outcome of ['right', 'wrong', 'wait']) checksTotal.inc({ door, outcome }, 0);
  }

  judge(asked: ShownSecret): SecretVerdict {
    const verdict = this.#decide(asked);
    checksTotal.inc({ door: asked.door, outcome: verdict.is });
    if (verdict.is !== 'right') this.#tell(asked);
    return verdict;
  }

  /** Writes the lines that were held back; called once a second. */
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
    // A right secret in the wait gets the same answer as a wrong one: the answer must not tell which it was.
    if (leftMs > 0) return { is: 'wait', waitS: Math.ceil(leftMs / 1_000) };
    known.wrong++;
    const waits = known.wrong - freeGuesses;
    if (waits >= 0)
      known.waitUntilMs =
        this.#clock.monotonicMs() + Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(waits, 20));
    return { is: 'wrong' };
  }

  /**
   * Others may share the address of a client, so its own secret passes while they wait. A short one passes for a
   * limited number of guesses only: the answer would otherwise tell a guesser at that address that a guess was right.
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
    // Long secrets pass at any time, so nothing is remembered of them.
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

  /** Digests, so that a heap dump gives no secret away. */
  #digest(secret: string): string {
    return createHmac('sha256', this.#salt).update(secret).digest('base64');
  }

  /** Finds or makes the client, and moves it behind all others as the one heard of latest. */
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
