import type { Store } from '../store/store.ts';

/** The data of the newest earlier event of each kind that tells of a whole call. */
export type EarlierEvents = { completed?: unknown; revised?: unknown; wrapped?: unknown };

const kinds = {
  'call.completed': 'completed',
  'call.transcript.revised': 'revised',
  'call.wrapped': 'wrapped',
} as const;
export const eventsWithEarlier: readonly string[] = [
  'call.transcript.revised',
  'call.wrapped',
  'call.scored',
];

/** Reads the events of a call before one of them: a record of a CRM is written as a whole, whichever event changes it. */
export class EarlierRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async before(callId: string, sequence: number): Promise<EarlierEvents> {
    const rows = await this.#store.db
      .selectFrom('events')
      .select(['type', 'body'])
      .where('call_id', '=', callId)
      .where('sequence', '<', sequence)
      .where('type', 'in', Object.keys(kinds))
      .orderBy('sequence')
      .execute();
    const earlier: EarlierEvents = {};
    for (const { type, body } of rows)
      earlier[kinds[type as keyof typeof kinds]] = (JSON.parse(body) as { data?: unknown }).data;
    return earlier;
  }
}
