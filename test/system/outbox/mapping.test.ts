import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { startCrm } from '../../support/crm/crm.ts';
import { eventOf, secret, silent } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { childrenOf, cpuTicksOf, isRunning } from '../../support/process/proc.ts';
import { until } from '../../support/process/until.ts';
import { loadConfig } from '../../../src/config.ts';
import { endpointsOf, OutboxConfig, typesOf } from '../../../src/outbox/config.ts';
import { enqueueEvent } from '../../../src/outbox/enqueue.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { previewOf } from '../../../src/outbox/sender.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import type { CallEvent, NewCallEvent } from '../../../src/protocol/events.ts';
import type { Store } from '../../../src/store/store.ts';

const mapped = (url: string, steps: { name: string; request: string }[]) =>
  OutboxConfig.parse({
    pollMs: 100,
    refusedTries: 1,
    endpoints: [{ name: 'crm', url, secrets: [secret], shape: { steps } }],
  });

/** A final of the call in which somebody said these words. */
const say = (store: Store, callId: string, text: string) =>
  store.transaction((tx) => {
    const event = eventOf(callId, 'call.transcript');
    return enqueueEvent(tx, { ...event, data: { ...event.data, text } } as NewCallEvent);
  });

/** Expressions that are well-behaved until a caller says a certain word. */
const traps: [what: string, word: string, request: string, reason: RegExp][] = [
  [
    'never ends',
    'endless',
    `($f := function($n) { $f($n + 1) }; event.data.text = 'endless' ? $f(0) : {'path': '/x'})`,
    /step note: .*did not end within 1000 ms/,
  ],
  [
    'backtracks for years',
    `${'a'.repeat(60)}!`,
    `{'path': $contains(event.data.text, /^(a+)+$/) ? '/a' : '/x'}`,
    /step note: .*did not end within 1000 ms/,
  ],
  [
    'fills the memory',
    'memory',
    // One string of 256 MB: a thread that meets its bound in there would take the whole process with it.
    `($f := function($s, $n) { $n > 0 ? $f($s & $s, $n - 1) : $s };
      event.data.text = 'memory' ? $uppercase($f('aaaaaaaaaaaaaaaa', 24)) : {'path': '/x'})`,
    /step note: .*(more memory than 64 MiB|did not end within 1000 ms)/,
  ],
  [
    'makes a request of 4 MB',
    'long',
    `($f := function($s, $n) { $n > 0 ? $f($s & $s, $n - 1) : $s };
      {'path': '/x', 'body': $f('aaaaaaaaaaaaaaaa', event.data.text = 'long' ? 18 : 0)})`,
    /step note: .*a request of 41943\d\d bytes; at most 1048576/,
  ],
];

describe('an example in config/', () => {
  const folder = new URL('../../../config/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  const endpointsIn = files.flatMap(
    (name) =>
    loadConfig({ TRUNKLINE_CONFIG: fileURLToPath(new URL(name, folder)) })
      .config.outbox.endpoints.map((endpoint) => ({ file: name, name: endpoint.name, endpoint })), // prettier-ignore
  );

  test.each(endpointsIn)(
    '$file: what $name claims becomes requests, and no mapping meets nothing',
    async ({ endpoint }) => {
      await using store = await temporaryStore();
      const requests: { method: string; path: string; signed: boolean; body: unknown }[] = [];
      const server = createServer((request, response) => {
        void json(request).then((body) => {
          const signed = request.headers['webhook-signature'] !== undefined;
          requests.push({ method: request.method ?? '', path: request.url ?? '', signed, body });
          response.end(JSON.stringify({ items: [{ id: 7 }] }));
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const config = OutboxConfig.parse({ pollMs: 100, endpoints: [{ ...endpoint, url }] });
      await using outbox = await startOutbox({ store, log: silent, config });
      expect(outbox.notes?.()).toEqual([]);
      const types = typesOf(endpoint);
      for (const type of types)
        await store.transaction((tx) => enqueueEvent(tx, eventOf(`call_${type}`, type)));
      outbox.wake();
      await until(async () => {
        const { items } = await outbox.deliveries.list({ state: 'delivered', limit: 99 });
        return items.length === types.length;
      });
      expect(requests.every(({ signed }) => signed === endpoint.secrets.length > 0)).toBe(true);
      if (endpoint.name === 'crm') {
        const { call, data } = eventExamples['call.completed'];
        expect(requests).toMatchObject([
          { method: 'GET', path: `/cases?phone=${encodeURIComponent(call.from ?? '')}` },
          {
            method: 'POST',
            path: '/cases/7/notes',
            body: {
              text: data.summary.text,
              seconds: call.duration,
              mood: data.sentiment_by_role.customer,
              link: data.page_url,
            },
          },
        ]);
      } else
        expect(requests.map(({ body }) => (body as CallEvent).type).sort()).toEqual(types.sort());
      server.close();
    },
  );
});

/** The body of a request as JSON; null for none. */
async function json(request: AsyncIterable<Buffer>): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return parts.length === 0 ? null : (JSON.parse(Buffer.concat(parts).toString()) as unknown);
}

describe('a mapping', () => {
  test.each(traps)(
    'that %s at a word of one caller parks that event with the reason; others go on',
    { timeout: 60_000 },
    async (_, word, request, reason) => {
      await using store = await temporaryStore();
      await using crm = await startCrm([secret]);
      await using outbox = await startOutbox({
        store,
        log: silent,
        config: mapped(crm.url, [{ name: 'note', request }]),
      });
      using lag = lagWatch();
      await say(store, 'call_bad', word);
      for (let call = 0; call < 5; call++) await say(store, `call_${call}`, 'hello');
      outbox.wake();
      await until(() => crm.requests.length === 5);
      const parked = await until(async () => {
        const { items } = await outbox.deliveries.list({ state: 'parked', limit: 9 });
        return items.length > 0 && items;
      });
      expect(parked.map((item) => item.call_id)).toEqual(['call_bad']);
      expect(parked[0]!.reason).toMatch(reason);
      // It used to stand still for ever. A busy machine alone may take a second.
      expect(lag.maxMs()).toBeLessThan(5_000);
      // The next process of the mapping works as the first one did.
      await say(store, 'call_after', 'hello');
      outbox.wake();
      await until(() => crm.requests.length === 6);
    },
  );

  test('that never ends with an example is refused at the start, and shown by its preview', async () => {
    await using store = await temporaryStore();
    const request = `($f := function($n) { $f($n + 1) }; $f(0))`;
    const config = mapped('http://127.0.0.1:1/', [{ name: 'note', request }]);
    await expect(startOutbox({ store, log: silent, config })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/crm, step note for call\.\w+: .*did not end within 1000 ms/),
    });
    const texts = await previewOf(endpointsOf(config)[0]!, eventExamples['call.started'], {});
    expect(texts.join()).toMatch(/step note: cannot be made: .*did not end within 1000 ms/);
  });

  test('that names a field that there is not says so at the start, with the place; an alternative may be nothing', async () => {
    await using store = await temporaryStore();
    const request = `{"path": "/calls/" & event.call.idd, "body": {
      "text": event.data.sumary, "from": event.data.nobody ? "x", "to": $uppercase(event.data.whom)}}`;
    const config = mapped('http://127.0.0.1:1/', [{ name: 'note', request }]);
    const endpoints = [{ ...config.endpoints[0]!, events: ['call.completed'] }];
    await using outbox = await startOutbox({
      store,
      log: silent,
      config: OutboxConfig.parse({ ...config, endpoints }),
    });
    const of = 'mapping of crm, step note for call.completed:';
    expect(outbox.notes?.()).toEqual([
      `${of} a text lacks a part: event.call.idd has no value (character 26)`,
      `${of} the field "text" is left out: event.data.sumary has no value (character 66)`,
      `${of} $uppercase gets event.data.whom, which has no value (character 135)`,
    ]);
  });

  test('that never ends does not outlive a process that was killed', async () => {
    const endless = '($f := function($n) { $f($n + 1) }; $f(0))';
    const config = mapped('http://127.0.0.1:1/', [{ name: 'note', request: endless }]);
    const from = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url));
    const program = `
      import { Mapping } from ${from('outbox/mapping.ts')};
      import { systemClock } from ${from('lib/clock.ts')};
      // Without deadlines: it is not the parent that ends the child.
      const clock = { ...systemClock, after: () => () => undefined };
      const mapping = new Mapping(${JSON.stringify(config.endpoints[0])}, clock);
      mapping.request(0, '{}', {}, 60_000).catch(() => undefined);
      setInterval(() => undefined, 1_000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program]);
    const pids = await until(() => {
      const children = childrenOf(parent.pid!);
      return children.length > 0 && children;
    });
    await until(() => pids.some((pid) => cpuTicksOf(pid) > 100)); // deep in its loop
    parent.kill('SIGKILL');
    await until(() => !pids.some(isRunning));
  }, 60_000);

  test('whose step has the name of an inherited property is sent like any other', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    const steps = [{ name: 'constructor', request: `{'path': '/x', 'body': event.data}` }];
    await using outbox = await startOutbox({
      store,
      log: silent,
      config: mapped(crm.url, steps),
    });
    await say(store, 'call_1', 'hello');
    outbox.wake();
    await until(
      async () =>
        (await outbox.deliveries.list({ state: 'delivered', limit: 9 })).items.length === 1,
    );
    expect(crm.requests.map((request) => request.path)).toEqual(['/hook/x']);
  });

  test('cannot set the signature of the request, nor a header twice', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    const request = `{'path': '/x', 'headers': {
      'Webhook-Signature': 'v1,forged', 'X-Note': event.data.text, '__proto__': 'x', 'constructor': 'y'}}`;
    await using outbox = await startOutbox({
      store,
      log: silent,
      config: mapped(crm.url, [{ name: 'note', request }]),
    });
    await say(store, 'call_1', 'hello');
    outbox.wake();
    await until(() => crm.requests.length + crm.refusedSignatures === 1);
    expect(crm.refusedSignatures).toBe(0);
    expect(crm.requests[0]!.headers['x-note']).toBe('hello');
  });
});

/** The longest time for which this process answered nobody. */
function lagWatch(): Disposable & { maxMs(): number } {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  return {
    maxMs: () => delays.max / 1e6,
    [Symbol.dispose]: () => delays.disable(),
  };
}
