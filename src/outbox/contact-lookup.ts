import { Authorizer } from '../crm/authorizer.ts';
import { chosenContact, type FoundContact } from '../crm/expression-functions.ts';
import type { ContactSteps } from '../crm/preset.ts';
import { RateLimit } from '../crm/rate-limit.ts';
import type { TokenRows } from '../crm/token-rows.ts';
import type { Clock } from '../lib/clock.ts';
import { GuardedClient } from '../lib/guarded-fetch.ts';
import { storableText } from '../lib/storable.ts';
import { withoutUndefined } from '../lib/without-undefined.ts';
import type { CallContact, LookedUpCall } from '../protocol/contact.ts';
import { languageCodeOf } from '../protocol/language-names.ts';
import type { Endpoint } from './config.ts';
import { Mapping, type StepContext } from './mapping.ts';
import type { WebhookClient } from './sender.ts';

/** A contact that comes later than this after the beginning of the look-up is of no use to the call. */
export const lookupDeadlineMs = 2_000;
const maxAnswerBytes = 262_144;
const maxNameLength = 120;
const maxTickets = 5;

type ContactLookupOptions = {
  endpoint: Endpoint;
  steps: ContactSteps;
  clock: Clock;
  tokens: TokenRows | undefined;
  client?: WebhookClient | undefined;
};

/**
 * Asks one CRM for the contact that has a number. The CRM may answer as it likes: what is read of an answer is
 * bounded, expressions run in a process of their own, and a name becomes short text.
 */
export class ContactLookup implements AsyncDisposable {
  readonly endpoint: Endpoint;
  readonly #options: ContactLookupOptions;
  readonly #mapping: Mapping;
  readonly #ownClient: GuardedClient | undefined;
  readonly #client: WebhookClient;
  readonly #authorizer: Authorizer | undefined;
  readonly #rate: RateLimit | undefined;
  readonly #firstOpen: number;

  constructor(options: ContactLookupOptions) {
    const { endpoint, steps, clock, tokens, client } = options;
    const { name, url, auth, scheme = 'Bearer', limits, guarded } = endpoint;
    this.endpoint = endpoint;
    this.#options = options;
    this.#firstOpen = steps.search.length;
    this.#mapping = new Mapping({ ...endpoint, shape: { steps: [...steps.search, ...steps.open] } }, clock); // prettier-ignore
    this.#ownClient = client
      ? undefined
      : new GuardedClient(
          guarded === undefined
            ? { trust: 'as-written', connections: 8 }
            : { trust: 'checked', allow: guarded.hosts, connections: 8 },
        );
    this.#client = client ?? (this.#ownClient as GuardedClient);
    this.#authorizer = auth && new Authorizer({ endpoint: name, url, auth, scheme, client: this.#client, rows: tokens, clock }); // prettier-ignore
    this.#rate = limits && new RateLimit(name, limits, clock, tokens);
  }

  /** The one contact with exactly this number, by the rule that is set for several; undefined for none. */
  async find(call: LookedUpCall, signal: AbortSignal): Promise<CallContact | undefined> {
    const endsMs = this.#options.clock.monotonicMs() + lookupDeadlineMs;
    const { endpoint } = this.#options;
    const event = JSON.stringify({ type: 'call.started', call: { ...call, started_at: new Date(call.startedAt).toISOString() }, data: {} }); // prettier-ignore
    const context: StepContext = { answers: {}, links: {}, unsure: {} };
    const found = listOf(await this.#read(0, this.#firstOpen, event, context, endsMs, signal));
    const { phone_region: region, several } = endpoint.options ?? {};
    const number = call.direction === 'outbound' ? call.to : call.from;
    const id = chosenContact(found, number, region, several);
    const contact = found.find((one) => one.id === id);
    const contactId = shortText(id);
    if (contact === undefined || contactId === undefined) return undefined;
    const known = {
      crm: endpoint.name,
      id: contactId,
      name: shortText(contact['name']) ?? null,
      company: shortText(contact['company']) ?? null,
      ...withoutUndefined({ language: languageCodeOf(shortText(contact['language']) ?? '') }),
    };
    context.links = { contact: known.id };
    // A CRM that tells who calls and not what is open with them has told the most of it.
    const open = await this.#read(this.#firstOpen, this.#mapping.steps.length, event, context, endsMs, signal).catch(() => []); // prettier-ignore
    const tickets = listOf(open).flatMap((one) => {
      const [ticketId, title] = [shortText(one['id']), shortText(one['title'])];
      return ticketId === undefined || title === undefined ? [] : [{ id: ticketId, title }];
    });
    return { ...known, tickets: tickets.slice(0, maxTickets) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mapping[Symbol.asyncDispose]();
    await this.#ownClient?.[Symbol.asyncDispose]();
  }

  /** Takes the steps from `first` on; the last one is the value of what they answered. */
  async #read(
    first: number,
    end: number,
    event: string,
    context: StepContext,
    endsMs: number,
    signal: AbortSignal,
  ): Promise<unknown> {
    const leftMs = (): number => Math.max(1, endsMs - this.#options.clock.monotonicMs());
    for (let index = first; index < end - 1; index++) {
      const step = this.#mapping.steps[index];
      const made = await this.#mapping.request(index, event, context, leftMs());
      if (step === undefined || made === undefined) continue;
      const late = await this.#rate?.place(leftMs(), signal);
      if (late !== undefined) throw new Error(late);
      const proof = (await this.#authorizer?.headers(leftMs())) ?? {};
      const answer = await this.#client.send({
        url: made.url,
        method: made.method,
        headers: { 'user-agent': 'Trunkline', ...made.headers, ...proof, ...this.endpoint.headers },
        ...(made.body ? { body: made.body } : {}),
        deadlineMs: leftMs(),
        maxBytes: maxAnswerBytes,
        resendWhenStale: true,
        signal,
      });
      if (!answer.ok) throw new Error(answer.reason);
      const isTaken = (answer.status >= 200 && answer.status < 300) || step.accept?.includes(answer.status) === true; // prettier-ignore
      if (answer.status === 401) this.#authorizer?.refused(proof);
      if (!isTaken) throw new Error(`it answered ${answer.status}`);
      context.answers[step.name] = { status: answer.status, body: parsedJson(answer.body) };
    }
    return end > first ? this.#mapping.value(end - 1, event, context, leftMs()) : undefined;
  }
}

/** An answer that is cut or no JSON tells nothing. */
function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

function listOf(value: unknown): (FoundContact & Record<string, unknown>)[] {
  return [value].flat().filter((one): one is FoundContact & Record<string, unknown> => typeof one === 'object' && one !== null); // prettier-ignore
}

/** A text from the CRM without control characters and marks that turn the direction of writing, and short. */
export function shortText(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  const plain = storableText(text.slice(0, 4 * maxNameLength))
    .replace(/[\p{Cc}\p{Cf}\uFFFD]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain === '' ? undefined : plain.slice(0, maxNameLength).toWellFormed();
}
