import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { twilio } from '../../src/carriers/twilio/twilio.ts';
import { playCall } from '../../src/player/play-call.ts';
import { callAt } from '../support/bridge/fleet.ts';
import { CarrierClient } from '../support/carriers/carrier-client.ts';
import { startCrm, type Crm } from '../support/crm/crm.ts';
import { promtool, promtoolMissing } from '../support/metrics/promtool.ts';
import { scrape, valueOf, type Sample } from '../support/metrics/scrape.ts';
import { allPapers, anchorsOf } from '../support/papers/papers.ts';
import { startApp, type App } from '../support/process/app.ts';
import { recognisersOf } from '../support/process/recognisers.ts';
import { until } from '../support/process/until.ts';
import { tones } from '../support/recognition/fixture-model.ts';
import { FakeSpeech } from '../support/speech/fake-speech.ts';

/*
 * Processes are brought into the state that an alert tells of and asked for /metrics. What they answered becomes
 * the input of promtool's rule tests: the first answer for five minutes, then each of the next, the last one for
 * forty. promtool says which alerts fired.
 */
const rulesPath = resolve(import.meta.dirname, '../../config/deploy/alerts.yaml');
const rules = (
  parse(readFileSync(rulesPath, 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../config/deploy/dashboard.json'), 'utf8'),
) as Dashboard;
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
];
const namesIn = (expr: string): string[] =>
  expr.match(/\b(?:trunkline|process|nodejs)_[a-z0-9_]+/g) ?? [];

const secret = `whsec_${Buffer.from('a secret of the alerts test').toString('base64')}`;
const fired = new Set<string>();
let crm: Crm;
let app: App;
let healthy: [Sample[], Sample[]];

beforeAll(async () => {
  crm = await startCrm([secret]);
  app = await startApp({
    env: {
      TRUNKLINE_REJOIN_WAIT_MS: '500',
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: secret,
    },
  });
  const before = await scrape(app);
  await callTo(app);
  await until(() => crm.requests.some(({ event }) => event.type === 'call.completed'));
  healthy = [before, await scrape(app)];
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await crm[Symbol.asyncDispose]();
});

describe('on paper', () => {
  test('every metric that a rule or the dashboard names is one that a process has', () => {
    const known = new Set(healthy[1].map(({ name }) => name));
    // Labelled counters that begin with what they count.
    for (const name of [
      'trunkline_carrier_upgrades_total',
      'trunkline_carrier_webhooks_total',
      'trunkline_carrier_clock_skew_seconds',
      'trunkline_streams_relayed_total',
      'trunkline_objects_failures_total',
    ])
      known.add(name);
    const unknown = new Set(expressions.flatMap(namesIn).filter((name) => !known.has(name)));
    expect([...unknown]).toEqual([]);
  });

  test('every alert says what is wrong, what to do, and where that is written', () => {
    const papers = allPapers();
    for (const { alert, annotations } of rules) {
      expect(annotations.summary, alert).toBeTruthy();
      expect(annotations.description, alert).toBeTruthy();
      const [path = '', anchor = ''] = annotations.runbook_url.split('#');
      const page = papers.find(({ name }) => name === path);
      expect(page && anchorsOf(page).has(anchor), annotations.runbook_url).toBe(true);
    }
  });

  test('the dashboard has an address, a title, and a name and a place for each panel', () => {
    expect(dashboard).toMatchObject({ uid: 'trunkline', title: 'Trunkline' });
    expect(dashboard.panels.length).toBeGreaterThan(8);
    const titles = dashboard.panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    for (const { gridPos, targets } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      expect(targets.length).toBeGreaterThan(0);
    }
  });

  test.skipIf(promtoolMissing)('promtool reads the rules and every expression', () => {
    expect(promtool(['check', 'rules'], readFileSync(rulesPath, 'utf8'))).toMatchObject({
      isContent: true,
    });
    const records = expressions.map((expr, at) => ({
      record: `expression_${at}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const { isContent, says } = promtool(['check', 'rules'], {
      groups: [{ name: 'expressions', rules: records }],
    });
    expect(isContent, says).toBe(true);
  });
});

describe.skipIf(promtoolMissing)('brought about', () => {
  test('a healthy call fires none', () => {
    judge(healthy, []);
  });

  test('a recogniser that stands still, then ends', async () => {
    const before = await scrape(app);
    const playing = callTo(app);
    await until(async () => valueOf(await scrape(app), 'trunkline_recogniser_streams') === 1);
    const child = recognisersOf(app.process.pid!)[0]!;
    expect(child).toBeGreaterThan(0);
    process.kill(child, 'SIGSTOP');
    const stoodAtMs = performance.now();
    const hung = await until(async () => {
      const samples = await scrape(app);
      return (valueOf(samples, 'trunkline_recogniser_lateness_seconds') ?? 0) > 3 && samples;
    });
    judge([before, hung], ['TrunklineRecogniserLate']);
    // The one wait for a time: how long it stands still is what is measured.
    await setTimeout(Math.max(0, 7_000 - (performance.now() - stoodAtMs)));
    process.kill(child, 'SIGCONT');
    await playing;
    const finals = 'trunkline_speech_end_to_final_seconds_count';
    const after = await until(async () => {
      const samples = await scrape(app);
      return (valueOf(samples, finals) ?? 0) > (valueOf(before, finals) ?? 0) && samples;
    });
    judge([before, after], ['TrunklineFinalsLate']);
    process.kill(child, 'SIGKILL');
    const ended = await until(async () => {
      const samples = await scrape(app);
      return valueOf(samples, 'trunkline_recogniser_restarts_total') === 1 && samples;
    });
    judge([after, ended], ['TrunklineRecogniserRestarts']);
  });

  test('a carrier with a wrong secret, and a recording that is none', async () => {
    const upgrades = 'trunkline_carrier_upgrades_total';
    const knock = async (times: number): Promise<Sample[]> => {
      const headers = { authorization: 'Bearer wrong' };
      const address = `${app.url.replace('http', 'ws')}/carriers/telnyx`;
      await CarrierClient.connect(address, headers);
      return until(async () => {
        const samples = await scrape(app);
        return (
          valueOf(samples, upgrades, { carrier: 'telnyx', outcome: '403' }) === times && samples
        );
      });
    };
    // The very first refusal is one.
    judge([await scrape(app), await knock(1)], ['TrunklineCarrierRefused']);
    // A wrong signature at a voice webhook is all that some carriers ever send.
    const unheard = await scrape(app);
    const asked = await app.get('/carriers/twilio/voice', {
      method: 'POST',
      headers: { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' },
      body: new URLSearchParams({ CallSid: 'CA1' }),
    });
    expect(asked.status).toBe(403);
    judge([unheard, await scrape(app)], ['TrunklineCarrierRefused']);
    const before = await scrape(app);
    await app.get('/v2/pre-recorded', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ audio_url: 'https://nowhere.invalid/call.wav' }),
    });
    const failed = await until(async () => {
      const samples = await scrape(app);
      return (
        valueOf(samples, 'trunkline_speech_jobs_ended_total', { outcome: 'error' }) === 1 && samples
      );
    });
    judge([before, failed], ['TrunklineJobsFail']);
  });

  test('a speech service that refuses and a CRM that takes nothing', async () => {
    await using speech = await FakeSpeech.start();
    speech.script.create = () => ({ status: 401, body: { message: 'no such key' } });
    await using deaf = await startCrm([secret], () => 400);
    await using troubled = await startApp({
      env: {
        TRUNKLINE_SPEECH_URL: speech.url,
        TRUNKLINE_SPEECH_KEY: 'not-known-there',
        TRUNKLINE_REJOIN_WAIT_MS: '200',
        TRUNKLINE_WEBHOOK_URL: deaf.url,
        TRUNKLINE_WEBHOOK_SECRET: secret,
        TRUNKLINE_WEBHOOK_REFUSED_TRIES: '1',
      },
    });
    const before = await scrape(troubled);
    await callTo(troubled);
    const after = await until(async () => {
      const samples = await scrape(troubled);
      return (
        (valueOf(samples, 'trunkline_outbox_parked_calls') ?? 0) > 0 &&
        (valueOf(samples, 'trunkline_speech_create_failures_total') ?? 0) > 0 &&
        samples
      );
    });
    judge(
      [before, after],
      ['TrunklineCrmRefuses', 'TrunklineEventsParked', 'TrunklineSpeechUnavailable'],
    );
  });

  test('a disk without room', async () => {
    await using low = await startApp({
      env: { TRUNKLINE_DISK_LOW_WATER_BYTES: String(2 ** 50) },
    });
    const samples = await scrape(low);
    judge([samples, samples], ['TrunklineDiskLow']);
    const { client } = await callAt(low);
    const refused = await until(async () => {
      const now = await scrape(low);
      return valueOf(now, 'trunkline_streams_not_taken_total') === 1 && now;
    });
    client.socket.terminate();
    judge([samples, refused], ['TrunklineDiskLow', 'TrunklineCallsNotHeard']);
  });

  test('a process that starts again and again, then no more', async () => {
    const scrapes = [await scrape(app)];
    // A process tells its start in whole seconds: two within one would count as one.
    const second = (): number => Math.round(Date.now() / 1_000);
    let last = second();
    for (let start = 0; start < 2; start++) {
      await until(() => second() > last + 1);
      last = second();
      await using again = await startApp();
      scrapes.push(await scrape(again));
      await again.end('SIGKILL');
    }
    judge(scrapes, ['TrunklineRestarts']);
    await app.end('SIGKILL');
    judge([healthy[1], await scrape(app).catch(() => [])], ['TrunklineDown']);
  });

  /** States that take a bug, a broken disk, an odd voice or hours: what the process answers is raised by hand. */
  test.each<[alert: string, added: Record<string, number>]>([
    ['TrunklineBytesUnaccounted', { trunkline_ledger_unbalanced_total: 1 }],
    ['TrunklineCallsSetAside', { trunkline_calls_set_aside_total: 1 }],
    ['TrunklineWritesFail', { trunkline_journal_unwritten_bytes_total: 8_000 }],
    ['TrunklineConnectionsDropped', { trunkline_connections_dropped_total: 3 }],
    ['TrunklineEventsLate', { trunkline_outbox_oldest_waiting_seconds: 400 }],
    [
      'TrunklineSpeechUnread',
      { trunkline_speech_unread_seconds_total: 6, trunkline_speech_audio_seconds_total: 60 },
    ],
    [
      'TrunklineLineLossy',
      {
        'trunkline_leg_audio_bytes_total/gaps': 8_000,
        'trunkline_leg_audio_bytes_total/received': 80_000,
      },
    ],
    ['TrunklineAudioGaps', { 'trunkline_call_gaps_total/service': 1 }],
    ['TrunklineEventLoopLag', { nodejs_eventloop_lag_p99_seconds: 1 }],
    ['TrunklineNodeLost', { trunkline_nodes_lost_total: 1 }],
    ['TrunklineNodeStoodStill', { trunkline_node_given_up_total: 1 }],
    ['TrunklineDatabaseAway', { trunkline_node_missed_beats_total: 2 }],
    ['TrunklineSpeechNodePassedOver', { trunkline_speech_passed_over_total: 1 }],
    ['TrunklineObjectStoreFails', { trunkline_objects_failures_total: 1 }],
    ['TrunklineErasuresWait', { trunkline_objects_erasures_waiting: 2 }],
    ['TrunklineSpeechFull', { trunkline_recogniser_streams: 1_000 }],
    ['TrunklineClockSkew', { trunkline_carrier_clock_skew_seconds: 4 }],
  ])('%s, as it would be told', (alert, added) => {
    const skew = { name: 'trunkline_carrier_clock_skew_seconds', labels: {}, value: 0 };
    // These alerts exist only with an object store.
    const failures = {
      name: 'trunkline_objects_failures_total',
      labels: { what: 'copy' },
      value: 0,
    };
    const before = [...healthy[1], skew, failures];
    const after = before.map((sample) => ({
      ...sample,
      value:
        sample.value +
        (added[[sample.name, ...Object.values(sample.labels)].join('/')] ??
          added[sample.name] ??
          0),
    }));
    judge([before, after], [alert]);
  });

  test('no alert was left out', () => {
    expect(rules.map(({ alert }) => alert).filter((alert) => !fired.has(alert))).toEqual([]);
  });
});

async function callTo(bridge: App): Promise<void> {
  await playCall({
    player: twilio.player,
    to: bridge.url,
    api: { url: bridge.url },
    legs: [{ leg: 'customer', samples: tones('my card is lost', { tailS: 1.5 }), rateHz: 8000 }],
  });
}

/** promtool finds that these alerts fire, and no other. An answer without a line is a process that is down. */
function judge(scrapes: readonly Sample[][], alerts: readonly string[]): void {
  const used = new Set(rules.flatMap(({ expr }) => namesIn(expr)));
  const series = new Map<string, (number | undefined)[]>();
  for (const [at, samples] of scrapes.entries())
    for (const { name, labels, value } of [
      ...samples.filter((sample) => used.has(sample.name)),
      { name: 'up', labels: {}, value: samples.length === 0 ? 0 : 1 },
    ]) {
      const all = Object.entries({ ...labels, job: 'trunkline', instance: 'one' });
      const key = `${name}{${all.map(([label, text]) => `${label}=${JSON.stringify(text)}`).join(',')}}`;
      const values = series.get(key) ?? scrapes.map(() => undefined);
      // Alerts that come from this machine's own load are not judged here.
      const isOfLoad =
        (name.startsWith('nodejs_eventloop') && !alerts.includes('TrunklineEventLoopLag')) ||
        // A recogniser is late for as long as it stands still and a little after: one scrape sees it, another does not.
        (name === 'trunkline_recogniser_lateness_seconds' &&
          !alerts.includes('TrunklineRecogniserLate'));
      values[at] = isOfLoad ? 0 : value;
      series.set(key, values);
    }
  const spans = scrapes.map((_, at) => (at === 0 ? 5 : at === scrapes.length - 1 ? 40 : 5));
  const { isContent, says } = promtool(['test', 'rules'], {
    rule_files: [rulesPath],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: [...series].map(([key, values]) => ({
          series: key,
          values: values
            .map((value, at) => {
              const minutes = spans[at] ?? 1;
              return value === undefined ? `_x${minutes}` : `${value}+0x${minutes - 1}`;
            })
            .join(' '),
        })),
        promql_expr_test: [
          {
            expr: 'group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[45m]))',
            eval_time: '40m',
            exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
          },
        ],
      },
    ],
  });
  expect(isContent, says).toBe(true);
  for (const alert of alerts) fired.add(alert);
}

type Rule = {
  alert: string;
  expr: string;
  annotations: { summary: string; description: string; runbook_url: string };
};
type Dashboard = {
  uid: string;
  title: string;
  panels: {
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets: { expr: string }[];
  }[];
};
