import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { GuardedClient } from '../lib/guarded-fetch.ts';
import { parseJson } from '../lib/json.ts';
import type { ObjectsConfig } from './config.ts';

export type Credentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
};

/** The answer of the credential endpoints in Amazon's clouds. Its keys are valid for some hours. */
const Answer = z.object({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  Token: z.string().min(1).optional(),
  Expiration: z.iso.datetime({ offset: true }).optional(),
});

/** New keys are asked for this long before the old ones end. The old ones are used until new ones come. */
const renewBeforeMs = 300_000;
const askAgainMs = 10_000;
/** An address that returns expired keys is asked at most this often, not for each request. */
const leastMs = 1_000;
const answerMs = 5_000;
const maxAnswerBytes = 65_536;

/** The message never holds a key, a token or an address. */
export class NoCredentials extends Error {}

/**
 * Returns the keys that sign requests. They come from the settings, or from an address whose keys are valid for some
 * hours.
 */
export class CredentialSource implements AsyncDisposable {
  readonly #config: ObjectsConfig;
  readonly #clock: Clock;
  readonly #client = new GuardedClient({ trust: 'as-written', connections: 1 });
  #held: { credentials: Credentials; endsAt: number } | undefined;
  #renewAt = -Infinity;
  #asking: Promise<void> | undefined;

  constructor(config: ObjectsConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  async now(): Promise<Credentials> {
    const { accessKey, secretKey, sessionToken, credentialsUrl } = this.#config;
    if (accessKey !== undefined && secretKey !== undefined)
      return {
        accessKeyId: accessKey,
        secretAccessKey: secretKey,
        ...(sessionToken === undefined ? {} : { sessionToken }),
      };
    if (credentialsUrl === undefined) throw new NoCredentials('there are no keys');
    if (this.#clock.now() >= this.#renewAt) {
      this.#asking ??= this.#ask(credentialsUrl).finally(() => {
        this.#asking = undefined;
      });
      await this.#asking.catch((error: unknown) => {
        if (this.#held === undefined || this.#clock.now() >= this.#held.endsAt) throw error;
        this.#renewAt = this.#clock.now() + askAgainMs;
      });
    }
    if (this.#held === undefined) throw new NoCredentials('there are no keys');
    return this.#held.credentials;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  async #ask(url: string): Promise<void> {
    const answer = await this.#client.send({
      url,
      method: 'GET',
      headers: await this.#proof(),
      deadlineMs: answerMs,
      maxBytes: maxAnswerBytes,
    });
    if (!answer.ok) throw new NoCredentials(`the keys could not be fetched: ${answer.reason}`);
    if (answer.status !== 200)
      throw new NoCredentials(`the keys could not be fetched: the answer is ${answer.status}`);
    const found = Answer.safeParse(parseJson(answer.body.toString('utf8')));
    if (!found.success)
      throw new NoCredentials('the keys could not be fetched: the answer holds none');
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = found.data;
    const endsAt = Expiration === undefined ? Infinity : Date.parse(Expiration);
    const now = this.#clock.now();
    this.#held = {
      endsAt,
      credentials: {
        accessKeyId: AccessKeyId,
        secretAccessKey: SecretAccessKey,
        ...(Token === undefined ? {} : { sessionToken: Token }),
      },
    };
    // Keys with a shorter life are renewed at half of it.
    this.#renewAt = Math.max(endsAt - Math.min(renewBeforeMs, (endsAt - now) / 2), now + leastMs);
  }

  /** The file is read each time, because the platform writes a new one every hour. */
  async #proof(): Promise<Record<string, string>> {
    const { credentialsTokenFile } = this.#config;
    if (credentialsTokenFile === undefined) return {};
    try {
      return { authorization: (await readFile(credentialsTokenFile, 'utf8')).trim() };
    } catch {
      throw new NoCredentials(
        'the file of TRUNKLINE_OBJECTS_CREDENTIALS_TOKEN_FILE cannot be read',
      );
    }
  }
}
