import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { enqueueEvent } from '../../../src/outbox/enqueue.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { eventOf } from '../../support/crm/outbox.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

const id = (text: string): string => JSON.stringify({ id: text });

/** Answers to the request for a record, whose id is remembered. The last one is a good CRM's. */
const answers: Record<string, string> = {
  'an id with a nul': id('a\u0000b'),
  'an id of half a pair': '{"id":"\\ud800"}',
  'an id of a million letters': id('x'.repeat(1_000_000)),
  'an id that is a list of lists': `{"id":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
  'an id beyond all numbers': '{"id":1e999}',
  'an id that is an object': '{"id":{"__proto__":{"polluted":true},"constructor":1}}',
  'a name of every object': '{"__proto__":{"id":"7"},"id":"8"}',
  'no id': '{}',
  'no JSON': '<html>\u0000</html>',
  'half an answer': '{"id":"7',
  'ten thousand records': JSON.stringify({ id: '7', more: Array.from({ length: 10_000 }, (_, at) => ({ id: at })) }), // prettier-ignore
  'a way into another record': id('7/../../../8?x=1#y'),
  'lines of a terminal': id('\u001b[2J\u001b]0;owned\u0007'),
  'a good one': id('7'),
};

const databases = [
  { name: 'SQLite', missing: undefined },
  { name: 'Postgres', missing: postgresMissing },
];

describe.each(databases)('a CRM that answers what it likes, on $name', ({ name, missing }) => {
  test.skipIf(missing !== undefined)(
    'holds up no other call and no database: each event ends with a reason, and what is kept of an answer is short text',
    async () => {
      await using server = name === 'Postgres' ? await startPostgres() : undefined;
      await using store = await temporaryStore(server ? { databaseUrl: await server.newDatabase() } : {}); // prettier-ignore
      const asked: string[] = [];
      const crm = createServer((request, response) => {
        const path = request.url ?? '';
        asked.push(path);
        const what = Object.keys(answers)[Number(/^\/find\/(\d+)$/.exec(path)?.[1])];
        response.setHeader('content-type', 'application/json');
        request.resume().on('end', () => response.end(what === undefined ? '{}' : answers[what]));
      });
      await new Promise<void>((resolve) => crm.listen(0, '127.0.0.1', resolve));
      const lines: string[] = [];
      await using outbox = await startOutbox({
        store,
        log: createLog({ level: 'error', destination: { write: (line) => lines.push(line) } }),
        config: OutboxConfig.parse({
          pollMs: 50,
          refusedTries: 1,
          endpoints: [
            {
              name: 'crm',
              url: `http://127.0.0.1:${(crm.address() as AddressInfo).port}`,
              events: ['call.ended'],
              shape: {
                steps: [
                  {
                    name: 'find',
                    request:
                      '{"method": "GET", "path": "/find/" & $substringAfter(event.call.id, "_")}',
                    remember: { record: 'answer.body.id' },
                  },
                  {
                    name: 'note',
                    request: 'links.record ? {"method": "PUT", "path": "/records/" & $encodeUrlComponent($string(links.record))}', // prettier-ignore
                  },
                ],
              },
            },
          ],
        }),
      });
      const whats = Object.keys(answers);
      for (const at of whats.keys())
        await store.transaction((tx) => enqueueEvent(tx, eventOf(`call_${at}`, 'call.ended')));
      outbox.wake();
      const fates = await until(async () => {
        const { items } = await outbox.deliveries.list({ limit: 99 });
        return items.length === whats.length && items.every(({ state }) => state !== 'pending') && items; // prettier-ignore
      }, 60_000);
      const fateOf = (what: string) =>
        fates.find(({ call_id: callId }) => callId === `call_${whats.indexOf(what)}`);
      expect(fateOf('a good one')?.state).toBe('delivered');
      for (const fate of fates)
        if (fate.state !== 'delivered') expect(fate.reason).toMatch(/step (?:find|note)/);
      // Whatever an id holds, it stays one part of the path of one request.
      const notes = asked.filter((path) => !path.startsWith('/find/'));
      for (const path of notes) expect(path).toMatch(/^\/records\/[^/?#]{1,1000}$/);
      const links = await store.db.selectFrom('crm_links').select('remote_id').execute();
      for (const { remote_id: kept } of links) expect(kept.length).toBeLessThanOrEqual(1_000);
      expect(JSON.stringify(links)).not.toContain('\\u0000');
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
      expect(lines.filter((line) => !line.includes('call parked'))).toEqual([]);
      crm.close();
      crm.closeAllConnections();
    },
    120_000,
  );
});
