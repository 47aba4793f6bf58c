import { within, type Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { PublicUrl } from '../port/addresses.ts';
import { listen, type Door, type HttpServer } from '../port/http.ts';
import type { Part } from '../port/part.ts';
import type { Deed, Directory } from '../port/principal.ts';
import type { SecretJudge } from '../port/secrets.ts';
import { installationKey } from '../store/installation-key.ts';
import type { Store } from '../store/store.ts';
import { Accounts } from './accounts.ts';
import { Audit } from './audit.ts';
import { auditApi } from './audit-api.ts';
import type { PeopleConfig } from './config.ts';
import { Holders } from './holders.ts';
import { NamedKeys } from './named-keys.ts';
import { peopleApi } from './people-api.ts';
import { SignInProvider } from './sign-in-provider.ts';
import { providerApi, providerBackAt, providerTrialApi } from './provider-api.ts';
import { sessionApi } from './session-api.ts';
import { SignIns } from './sign-ins.ts';

/** A key that was revoked at another node is refused here after this time and one query. */
const lookEveryMs = 1_000;
const sweepEveryMs = 3_600_000;
const maxCloseMs = 500;

type PeopleOptions = {
  config: PeopleConfig;
  /** The keys of the settings, which may do everything. */
  settingKeys: readonly string[];
  store: Store;
  clock: Clock;
  log: Logger;
  node: string;
};

/** The keys, people and sign-ins of this installation, and the record of who did what. */
export class People implements AsyncDisposable {
  readonly #options: PeopleOptions;
  readonly #known: Holders;
  readonly #audit: Audit;
  readonly #loops: Loop[];
  /** Seals what a browser keeps while somebody signs in at the provider. */
  readonly #key: Buffer;
  #provider: SignInProvider | undefined;

  private constructor(options: PeopleOptions, known: Holders, key: Buffer) {
    const { store, clock, log, config } = options;
    this.#options = options;
    this.#known = known;
    this.#key = key;
    this.#audit = new Audit(options);
    const signIns = new SignIns({ store, clock, known, hours: config.signInHours });
    const failed = (error: unknown): void =>
      log.warn({ err: error }, 'keys and sign-ins could not be read; the ones in memory stay');
    this.#loops = [
      // On SQLite nobody else changes anything.
      ...(store.kind === 'postgres'
        ? [every(clock, lookEveryMs, () => known.refresh(), { failed })]
        : []),
      every(
        clock,
        sweepEveryMs,
        async () => {
          await signIns.forget();
          await this.#audit.forget(config.auditDays);
        },
        { firstMs: lookEveryMs, failed },
      ),
    ];
  }

  /** Opens before the port does, which asks for a proof from its first request on. */
  static async open(options: PeopleOptions): Promise<People> {
    const { store, clock, settingKeys, config } = options;
    const hasProvider = config.provider.issuer !== undefined;
    const known = await Holders.open({ store, clock, settingKeys, hasProvider });
    return new People(options, known, await installationKey(store, 'sign-ins'));
  }

  get directory(): Directory {
    return this.#known;
  }

  readonly teamsOf = (agent: string): string[] => this.#known.teamsOfAgent(agent);

  get audit(): Pick<Audit, 'add' | 'deed' | 'failed'> {
    return this.#audit;
  }

  readonly noted = (deed: Deed): Promise<((status: number) => void) | undefined> =>
    this.#audit.deed(deed);

  readonly failedAt = (address: string): void => this.#audit.failed(address);

  /** The routes, once the port is open. */
  part(http: { door: Door; secrets: SecretJudge; publicUrl: PublicUrl }): Part {
    const { store, clock, settingKeys, config, log } = this.#options;
    const known = this.#known;
    const audit = this.#audit;
    known.answersAt(http.publicUrl);
    const signIns = new SignIns({ store, clock, known, hours: config.signInHours });
    const accounts = new Accounts({ known, signIns, clock });
    const keys = new NamedKeys({ known, signIns, clock });
    const provider = (this.#provider = providerOf(config, clock, http.publicUrl));
    const shared = { ...http, known, accounts, keys, signIns, audit, clock, log, provider };
    const providerOptions = { ...shared, config: config.provider, key: this.#key };
    return {
      name: 'people',
      routers: [
        { access: 'public', router: sessionApi(shared) },
        { access: 'public', router: providerApi(providerOptions) },
        { access: 'operator', router: providerTrialApi(providerOptions) },
        { access: 'operator', router: peopleApi(shared) },
        { access: 'operator', router: auditApi(audit) },
      ],
      notes: () =>
        settingKeys.length > 0 && !known.keys.some(({ revoked_at }) => revoked_at === null)
          ? ['TRUNKLINE_API_KEYS: each of these keys may do everything; "npx trunkline keys create NAME --scope read" makes one that may do less'] // prettier-ignore
          : [],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A database that is silent never answers, so the reading is abandoned.
    const stopped = Promise.all(this.#loops.map((loop) => loop.stop()));
    await within(this.#options.clock, maxCloseMs, stopped);
    await this.#provider?.[Symbol.asyncDispose]();
  }
}

function providerOf(
  { provider: config }: PeopleConfig,
  clock: Clock,
  publicUrl: PublicUrl,
): SignInProvider | undefined {
  const { issuer, clientId } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  const backAt = (): string => providerBackAt(publicUrl);
  return new SignInProvider({ config: { ...config, issuer, clientId }, clock, backAt });
}

/** Opens the port, which asks for a proof from its first request on, and the people who have one. */
export async function openPort(
  stack: AsyncDisposableStack,
  options: Omit<PeopleOptions, 'settingKeys'> & {
    port: Omit<Parameters<typeof listen>[0], 'directory' | 'noted' | 'failedAt' | 'log'>;
  },
): Promise<{ http: HttpServer; people: Part; teamsOf: People['teamsOf'] }> {
  const { port, ...own } = options;
  const settingKeys = port.config.apiKeys;
  const people = stack.use(await People.open({ ...own, settingKeys }));
  const { directory, noted, failedAt } = people;
  const http = stack.use(await listen({ ...port, log: own.log, directory, noted, failedAt }));
  return { http, people: people.part(http), teamsOf: people.teamsOf };
}
