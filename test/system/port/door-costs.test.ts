import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import { CpuMeter, costMs, shapesOf, type StrangersDoor } from '../../support/faults/door-costs.ts';
import { provenEnv } from '../../support/carriers/proven-config.ts';
import { callbackEnv } from '../../support/carriers/callbacks.ts';
import { startApp } from '../../support/process/app.ts';
import { endsWithUs } from '../../support/process/ends-with-us.ts';
import { freePort } from '../../support/process/free-port.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

/** A door may spend this much on outside text before it has seen a proof. */
const boundMs = 3;

const meterModule = new URL('../../support/process/cpu-meter.mjs', import.meta.url).href;
const nodeDoor = new URL('../../support/faults/node-door-child.ts', import.meta.url).pathname;

const basic = 'Authorization: Basic c29tZWJvZHk6bm90LXRoZS1wYXNzd29yZA==\r\n';
const bearer = 'Authorization: Bearer not-the-secret-of-anybody\r\n';
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: 'Vonage' })}.${'A'.repeat(43)}`;
const plivo = `X-Plivo-Signature-V3: ${Array(8)
  .fill(`${'A'.repeat(43)}=`)
  .join(',')}\r\nX-Plivo-Signature-V3-Nonce: ${'1'.repeat(200)}\r\n`;
const audiohook = ['@request-target', '@authority', 'audiohook-organization-id', 'audiohook-session-id', 'audiohook-correlation-id', 'x-api-key'].map((name) => `"${name}"`).join(' '); // prettier-ignore

/** A proof of each carrier that has the right form and is wrong. */
const wrongProofs: Record<CarrierName, { socket: string; webhook?: string }> = {
  twilio: { socket: `X-Twilio-Signature: ${'A'.repeat(27)}=\r\n` },
  signalwire: { socket: bearer, webhook: `X-SignalWire-Signature: ${'A'.repeat(27)}=\r\n` },
  plivo: { socket: plivo },
  telnyx: {
    socket: bearer,
    webhook: `Telnyx-Signature-Ed25519: ${'A'.repeat(86)}==\r\nTelnyx-Timestamp: ${Math.floor(Date.now() / 1_000)}\r\n`,
  },
  vonage: { socket: `Authorization: Bearer ${jwt}\r\n` },
  audiohook: {
    socket: `X-API-KEY: audiohook-key-of-the-tests\r\nAudiohook-Organization-Id: a\r\nAudiohook-Session-Id: b\r\nAudiohook-Correlation-Id: c\r\nSignature-Input: s=(${audiohook});keyid="audiohook-key-of-the-tests";nonce="${'n'.repeat(22)}";created=1;expires=2\r\nSignature: s=:${'A'.repeat(43)}=:\r\n`,
  },
  asterisk: { socket: basic },
  infobip: { socket: basic },
  jambonz: { socket: basic },
  bandwidth: { socket: basic },
  exotel: { socket: basic },
  freeswitch: { socket: basic },
  ringcx: { socket: bearer },
};

type DescribedPort = { paths: Record<string, Record<string, { requestBody?: unknown }>> };

function carrierDoors(port: number): StrangersDoor[] {
  const sockets = carrierNames.flatMap((name) => [
    { name: `socket of ${name}`, wrongProof: wrongProofs[name].socket },
    { name: `socket of ${name}, without a proof`, wrongProof: '' },
  ].map((door) => ({ ...door, port, method: 'get', path: `/carriers/${name}`, isUpgrade: true }))); // prettier-ignore
  const webhooks = carrierNames.flatMap((name) =>
    carriers[name].webhooks.flatMap(({ method = 'post', action }) =>
      ['application/x-www-form-urlencoded', 'application/json'].map((contentType) => ({
        name: `${name} ${method} ${action} ${contentType.slice(12, 16)}`,
        port,
        method,
        path: `/carriers/${name}/${action}`,
        wrongProof: wrongProofs[name].webhook ?? wrongProofs[name].socket,
        contentType,
      })),
    ),
  );
  const anyCarrier = {
    port,
    method: 'get',
    path: '/carriers',
    wrongProof: '',
    isUpgrade: true,
    name: 'socket of whoever it is',
  };
  return [...sockets, ...webhooks, anyCarrier].map((door) => ({ bodyBytes: 32_768, ...door }));
}

/** Everything else that the port's own description names, with a wrong key. */
function apiDoors(port: number, { paths }: DescribedPort): StrangersDoor[] {
  return Object.entries(paths)
    .filter(([path]) => !path.startsWith('/carriers/'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        name: `${method} ${path}`,
        port,
        method,
        path: path.replaceAll(/\{\w+\}/g, 'some-id'),
        wrongProof: `X-Service-Key: not-the-key-of-anybody-here\r\n`,
        bodyBytes: 262_144,
      })),
    );
}

async function costsOf(meter: CpuMeter, doors: readonly StrangersDoor[]) {
  const rows: { door: string; shape: string; ms: number; answer: string }[] = [];
  for (const door of doors)
    for (const shape of shapesOf(door.bodyBytes ?? 0)) {
      if (shape.body !== undefined && !door.isUpgrade && /^(?:get|head)$/.test(door.method))
        continue;
      rows.push({
        door: door.name,
        shape: shape.name,
        ...(await costMs(meter, door, shape, boundMs)),
      });
    }
  return rows;
}

/** The dearest shape of each door; all doors with TEST_DOORS=all, else the ten dearest. */
function print(rows: Awaited<ReturnType<typeof costsOf>>): void {
  const dearest = new Map<string, (typeof rows)[number]>();
  for (const row of rows)
    if (row.ms > (dearest.get(row.door)?.ms ?? -1)) dearest.set(row.door, row);
  const list = [...dearest.values()].toSorted((one, other) => other.ms - one.ms);
  const shown = process.env['TEST_DOORS'] === 'all' ? list : list.slice(0, 10);
  console.log(
    shown
      .map(({ ms, door, shape, answer }) => `${ms.toFixed(2)} ms  ${door}: ${shape} (${answer})`)
      .join('\n'),
  );
}

test('no door spends more than 3 ms of CPU on what a stranger sends, whatever its shape', async () => {
  await using folder = await temporaryFolder();
  const socket = join(folder.path, 'meter.sock');
  await using app = await startApp({
    env: {
      ...provenEnv(),
      ...callbackEnv,
      TRUNKLINE_TWILIO_AUTH_TOKEN: 'twilio-secret-of-the-tests,twilio-secret-before',
      TRUNKLINE_PLIVO_AUTH_TOKEN: 'plivo-secret-of-the-tests,plivo-secret-before',
      TRUNKLINE_API_KEYS: 'a-key-of-the-tests-24-long',
      TRUNKLINE_PUBLIC_URL: 'https://bridge.example.net/trunkline',
      NODE_OPTIONS: `--import=${meterModule}`,
      TEST_CPU_METER: socket,
    },
  });
  using meter = new CpuMeter(socket);
  const port = Number(new URL(app.url).port);
  const document = (await (await app.get('/openapi.json')).json()) as DescribedPort;
  const speech = { name: 'socket of a live session', path: '/v2/live?token=00000000-0000-4000-8000-000000000000' }; // prettier-ignore
  const other = { port, method: 'get', wrongProof: '' };
  const doors: StrangersDoor[] = [
    ...carrierDoors(port),
    ...apiDoors(port, document),
    { ...other, ...speech, isUpgrade: true },
    { ...other, name: 'socket that leads nowhere', path: '/nothing', isUpgrade: true },
    { ...other, name: 'page', path: '/' },
    { ...other, name: 'address that leads nowhere', path: '/nothing', method: 'post', bodyBytes: 262_144 }, // prettier-ignore
  ];
  expect(doors.length).toBeGreaterThan(100);
  const rows = await costsOf(meter, doors);
  print(rows);
  expect(rows.filter(({ ms }) => ms > boundMs)).toEqual([]);
}, 300_000);

test('nor does the port of the nodes', async () => {
  await using folder = await temporaryFolder();
  const socket = join(folder.path, 'meter.sock');
  const port = await freePort();
  const child = endsWithUs(
    spawn(
      process.execPath,
      [`--import=${meterModule}`, nodeDoor, `http://127.0.0.1:${port}`, 'k'.repeat(24)],
      { env: { ...process.env, TEST_CPU_METER: socket }, stdio: ['ignore', 'pipe', 'inherit'] },
    ),
  );
  await once(child.stdout, 'data');
  using meter = new CpuMeter(socket);
  const wrong = { port, method: 'get', wrongProof: bearer };
  const rows = await costsOf(meter, [
    { ...wrong, name: 'nodes: api', path: '/api/calls', method: 'post', bodyBytes: 262_144 },
    { ...wrong, name: 'nodes: speech', path: '/v2/live', method: 'post', bodyBytes: 262_144 },
    ...['/node/streams', '/node/feed', '/node/sessions', '/v2/live'].map((path) => ({
      ...wrong,
      name: `nodes: socket ${path}`,
      path,
      isUpgrade: true,
    })),
  ]);
  print(rows);
  expect(rows.filter(({ ms }) => ms > boundMs)).toEqual([]);
  child.kill('SIGKILL');
  await until(() => child.exitCode !== null || child.signalCode !== null);
}, 120_000);
