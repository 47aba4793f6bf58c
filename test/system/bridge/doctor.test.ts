import { execFile } from 'node:child_process';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { CallDiagnostics } from '../../../src/protocol/api.ts';
import type { Faults } from '../../../src/player/faults.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';

const run = promisify(execFile);

async function doctor(app: App, ...args: string[]): Promise<string> {
  const command = [
    '--disable-warning=ExperimentalWarning',
    'src/cli.ts',
    'doctor',
    '--url',
    app.url,
    ...args,
  ];
  const { stdout } = await run(process.execPath, command, {
    env: { PATH: process.env['PATH'] ?? '', TRUNKLINE_DATA: app.dataDir },
  });
  return stdout;
}

/** One short call of a customer, four times as fast as it was spoken. */
function shortCall(app: App, callId: string, faults: Faults = {}): ReturnType<typeof playCall> {
  return playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url },
    callId,
    speed: 4,
    legs: [{ leg: 'customer', samples: tones('hello'), rateHz: 8_000 }],
    faults,
  });
}

test('the doctor tells of one call and of the installation, with what to do', async () => {
  await using app = await startApp({
    env: {
      TRUNKLINE_REJOIN_WAIT_MS: '100',
      TRUNKLINE_WEBHOOK_URL: 'http://127.0.0.1:9/',
      TRUNKLINE_WEBHOOK_SECRET: 'whsec_dHJ1bmtsaW5lLXRyeS1pdC1vdXQtMDAwMQ==',
    },
  });
  await shortCall(app, 'CA-doctor', { noStop: true });
  const call = await until(async () =>
    ((await (await app.get('/api/calls')).json()) as AnyJson).items.find(
      (one: AnyJson) => one.summary !== null,
    ),
  );
  const evidence = (await (await app.get(`/api/calls/${call.id}/evidence`)).json()) as AnyJson;
  CallDiagnostics.parse(evidence);
  expect(evidence).toMatchObject({
    streams: [{ closed_by: 'close' }],
    sessions: [{ offset_s: 0 }],
  });
  expect(evidence.legs[0].cadence.frames).toBeGreaterThan(10);
  const screen = await doctor(app, 'CA-doctor');
  expect(screen).toContain(call.id);
  expect(screen).toContain('mulaw 8000 Hz');
  expect(screen).toContain('closed without its stop message');
  // A name that leads to this machine is refused when it is dialled: such a callback is given up at once.
  const job = {
    audio_url: 'http://localhost:9999/a.wav',
    callback_url: 'http://localhost:9999/secret',
  };
  const posted = await fetch(`${app.url}/v2/pre-recorded`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(job),
  });
  expect(posted.status).toBe(201);
  await until(async () => {
    const page = (await (await app.get('/api/job-callbacks?state=parked')).json()) as AnyJson;
    return page.items.length === 1;
  });
  await until(async () => {
    const { items } = (await (await app.get('/api/deliveries')).json()) as AnyJson;
    return items.some(({ attempts }: AnyJson) => attempts > 0);
  });
  // Something is wrong, so it ends with 1.
  const installation = await doctor(app).catch(
    (error: unknown) => (error as { stdout: string }).stdout,
  );
  expect(installation).toMatch(/callbacks +1 parked, the newest at localhost:9999: .*refused/);
  expect(installation).not.toContain('secret');
  expect(installation).toMatch(/ok {2}process/);
  expect(installation).toContain('TRUNKLINE_PUBLIC_URL');
  // The process knows its own webhooks, disk and address; this terminal's settings may be others. A webhook is well
  // where it takes events, not where it is configured.
  expect(installation).toMatch(
    /NO {2}webhooks +webhook has taken none of its events .*ECONNREFUSED/,
  );
  // Its own line: where the machine is busy, the journal's says that the disk is slow.
  expect(installation.match(/^(?:ok | ! |NO ) disk +/gm)).toHaveLength(1);
  await expect(doctor(app, 'CA-nobody')).rejects.toMatchObject({
    stderr: expect.stringContaining('no call is known'),
  });
}, 90_000);

test('while the speech service is away the doctor and the page say so, and what to do', async () => {
  await using app = await startApp({ env: { TRUNKLINE_SPEECH_URL: 'http://127.0.0.1:9' } });
  await shortCall(app, 'CA-unheard');
  const health = await until(async () => {
    const facts = (await (await app.get('/api/installation')).json()) as AnyJson;
    return facts.health.speech?.state === 'degraded' ? facts.health : undefined;
  });
  expect(health).toMatchObject({ store: { state: 'ok' }, disk: { state: 'ok' } });
  expect(await doctor(app)).toMatch(/speech +not reachable.*\n +→ .*TRUNKLINE_SPEECH_URL/);
}, 90_000);

test('the doctor tries the language model, and the log says when an answer cannot be used', async () => {
  await using app = await startApp({
    env: { TRUNKLINE_LLM_URL: 'http://127.0.0.1:9/v1', TRUNKLINE_LLM_MODEL: 'some-model' },
  });
  const findings = await doctor(app).catch(
    (error: unknown) => (error as { stdout: string }).stdout,
  );
  expect(findings).toMatch(/NO  llm +some-model: the language model could not be reached/);
  expect(findings).toMatch(/→ start the model, or correct TRUNKLINE_LLM_URL/);

  await shortCall(app, 'CA-model');
  await until(() => app.lines.some((line) => line.includes('answer of the language model could')));
});
