import { LinkRows } from '../crm/link-rows.ts';
import { TokenRows } from '../crm/token-rows.ts';
import type { Store } from '../store/store.ts';
import { ClaimRows } from './claim-rows.ts';
import { ConnectedRows } from './connected-rows.ts';
import { EndpointRows } from './endpoint-rows.ts';
import { LaneRows } from './lane-rows.ts';
import { EarlierRows } from './earlier-rows.ts';
import { OperatorRows } from './operator-rows.ts';
import { OutboxTime } from './outbox-time.ts';
import { UpkeepRows } from './upkeep-rows.ts';

/*
 * All SQL of the outbox stands in the files named `*-rows.ts`. Its six tables:
 *
 *   event_calls   one row per call: the number of its last event; stays for ever, so that no number is given twice
 *   events        the envelopes, exactly as they are sent
 *   endpoints     the configured webhooks, as a transaction that enqueues sees them
 *   connected_endpoints   the webhooks that were connected while the process ran
 *   deliveries    one row per event and endpoint: waiting, delivered, parked or skipped
 *   lanes         one row per call and endpoint: the lock of its deliveries, their next attempt, their claim
 *
 * Nobody else writes to these tables, and nobody else removes rows from them.
 */

/** The rows, grouped by their users. All are read and written by the database's clock. */
export class OutboxTables {
  readonly time: OutboxTime;
  readonly endpoints: EndpointRows;
  readonly claims: ClaimRows;
  readonly upkeep: UpkeepRows;
  readonly operator: OperatorRows;
  readonly lanes: LaneRows;
  readonly connected: ConnectedRows;
  readonly crm: { links: LinkRows; tokens: TokenRows; earlier: EarlierRows };

  constructor(store: Store) {
    this.time = new OutboxTime(store);
    this.endpoints = new EndpointRows(store, this.time);
    this.claims = new ClaimRows(store, this.time);
    this.upkeep = new UpkeepRows(store, this.time);
    this.operator = new OperatorRows(store, this.time);
    this.lanes = new LaneRows(store);
    this.connected = new ConnectedRows(store, this.time);
    this.crm = {
      links: new LinkRows(store),
      tokens: new TokenRows(store),
      earlier: new EarlierRows(store),
    };
  }
}
