import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { metricsTable } from '../../config/tools/generate.ts';
import { startApp, startProcess, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';

// A dozen whole processes start side by side: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 180_000 });

describe.concurrent('the process', () => {
  test('a healthy installation is ready without a warning, and one field says what is not set up', async () => {
    // The machine's limit of open files is none of the installation's: so few connections fit into any.
    await using app = await startApp({ env: { TRUNKLINE_MAX_CONNECTIONS: '100' } });
    const line = app.lines.find((one) => one.includes('ready at'))!;
    const ready = JSON.parse(line) as { notes: string[]; missing: string[] };
    expect(ready.notes).toEqual([]);
    expect(ready.missing).toEqual(
      expect.arrayContaining([
        'a CRM (npx trunkline crm, or TRUNKLINE_WEBHOOK_URL)',
        'a carrier (npx trunkline carriers)',
        'a public address (TRUNKLINE_PUBLIC_URL)',
      ]),
    );
  });

  test('says ready once, with its address, and answers there', async () => {
    await using app = await startApp();
    expect(app.lines.filter((line) => line.includes('ready at'))).toHaveLength(1);
    expect((await app.get('/health/ready')).status).toBe(200);
  });

  test('every metric stands in metrics.md, and nothing stands there that is none (npm run docs)', async () => {
    await using app = await startApp();
    const metrics = await (await app.get('/metrics')).text();
    const paper = await readFile(
      resolve(import.meta.dirname, '../../config/docs/metrics.md'),
      'utf8',
    );
    expect(paper).toContain(`<!-- metrics -->\n${metricsTable(metrics)}\n<!-- /metrics -->`);
  });

  test('SIGTERM idle drains and exits 0, and the folder can be opened again', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-start-'));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      await using app = await startApp({ dataDir });
      expect(await app.end(signal)).toEqual({ code: 0, signal: null });
    }
    await rm(dataDir, { recursive: true });
  });

  test('the data folder is for its owner alone', async () => {
    await using app = await startApp();
    expect((await stat(app.dataDir)).mode & 0o777).toBe(0o700);
    expect((await stat(join(app.dataDir, 'trunkline.sqlite'))).mode & 0o077).toBe(0);
  });

  test('a second process on the same folder refuses with a clear error, and the first is unharmed', async () => {
    await using app = await startApp();
    const second = await startProcess({
      PORT: '0',
      TRUNKLINE_DATA: app.dataDir,
      TRUNKLINE_PULL_MODELS: '0',
    });
    expect((await second.exited()).code).toBe(1);
    expect(second.lines.join('\n')).toMatch(/DATA_LOCKED: .*another process/i);
    expect((await app.get('/health/ready')).status).toBe(200);
  });

  test('a data folder that cannot be made or written ends the start with its name and the reason', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-unusable-'));
    const file = join(folder, 'file');
    await writeFile(file, '');
    const readOnly = join(folder, 'read-only');
    await mkdir(readOnly);
    // For root a mode is no obstacle, a file system is.
    const isRoot = process.getuid?.() === 0;
    if (isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', readOnly]).status !== 0)
      return context.skip('a read-only file system needs root that may mount');
    if (!isRoot) await chmod(readOnly, 0o500);
    const folders = ['/proc/nope', file, readOnly];
    const started = await Promise.all(
      folders.map((dataDir) => startProcess({ PORT: '0', TRUNKLINE_DATA: dataDir })),
    );
    try {
      for (const [at, one] of started.entries()) {
        expect([folders[at], await one.exited()]).toEqual([folders[at], { code: 1, signal: null }]);
        expect(one.lines).toEqual([
          expect.stringMatching(
            `^DATA_UNUSABLE: The data folder ${folders[at]} cannot be used: E[A-Z]+.*TRUNKLINE_DATA`,
          ),
        ]);
      }
    } finally {
      // One that would not end by itself.
      for (const one of started) await one.end('SIGKILL');
      if (isRoot) spawnSync('umount', ['-l', readOnly]);
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('the ready line says who hears the calls, by the host alone', async () => {
    await using own = await startApp();
    const readyOf = (app: App) => app.lines.find((line) => line.includes('ready at')) ?? '';
    expect(readyOf(own)).toContain(`"speech":"${own.url}/v2/live"`);
    await using app = await startApp({
      env: {
        TRUNKLINE_SPEECH_URL: 'http://someone:password@127.0.0.1:9/secret-path',
        TRUNKLINE_SPEECH_KEY: 'the-key-of-the-tests',
      },
    });
    expect(readyOf(app)).toContain('"speech":"http://127.0.0.1:9"');
    expect(app.lines.join('\n')).not.toMatch(/password|secret-path|the-key-of-the-tests/);
  });

  test('a mistake in the settings ends it with code 78 and the place of the mistake', async () => {
    const typo = await startProcess({ PORT: '0', TRUNKLINE_WEBHOK_URL: 'http://127.0.0.1:9' });
    expect((await typo.exited()).code).toBe(78);
    expect(typo.lines.join('\n')).toMatch(
      /CONFIG_INVALID[^]*TRUNKLINE_WEBHOK_URL[^]*TRUNKLINE_WEBHOOK_URL/,
    );
    const open = await startProcess({
      PORT: '0',
      HOST: '0.0.0.0',
      TRUNKLINE_DATA: join(tmpdir(), 'trunkline-never'),
    });
    expect((await open.exited()).code).toBe(78);
    expect(open.lines.join('\n')).toContain('TRUNKLINE_API_KEYS');
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-wrong-'));
    const file = join(folder, 'trunkline.yaml');
    await writeFile(file, 'bridge:\n  session:\n    endpoiting: 3\n');
    const session = await startProcess({ PORT: '0', TRUNKLINE_CONFIG: file });
    const model = await startProcess({
      PORT: '0',
      TRUNKLINE_DATA: join(folder, 'data'),
      TRUNKLINE_MODELS: folder,
      TRUNKLINE_MODEL: 'whisper-bas',
    });
    const codes = [await session.exited(), await model.exited()].map(({ code }) => code);
    await rm(folder, { recursive: true });
    expect(codes).toEqual([78, 78]);
    expect(session.lines.join('\n')).toMatch(
      /bridge\.session\.endpoiting.*did you mean endpointing\?/,
    );
    expect(model.lines.join('\n')).toMatch(
      /TRUNKLINE_MODEL.*no model "whisper-bas", did you mean whisper-base\? there are: moonshine-tiny-en/,
    );
    expect(model.lines.join('\n')).not.toMatch(/ENOENT|voice-encoder/);
  });

  test('a reload says whether the settings can be read, and the ones in use stay', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-reload-'));
    const file = join(folder, 'trunkline.yaml');
    await writeFile(file, 'logLevel: info\n');
    await using app = await startApp({ env: { TRUNKLINE_CONFIG: file } });
    const said = (text: string) => app.lines.some((line) => line.includes(text));
    app.process.kill('SIGHUP');
    await until(() => said('the settings can be read'));
    await writeFile(file, 'logLevel: loud\nhtpt: {}\n');
    app.process.kill('SIGHUP');
    await until(() => said('the settings have errors; the ones in use stay'));
    expect(app.lines.find((line) => line.includes('have errors'))).toMatch(/logLevel.*htpt/s);
    expect((await app.get('/health/ready')).status).toBe(200);
    await rm(folder, { recursive: true });
  });

  test('a port that is taken is named', async () => {
    await using app = await startApp();
    const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-start-'));
    const second = await startProcess({
      PORT: new URL(app.url).port,
      TRUNKLINE_DATA: dataDir,
      TRUNKLINE_PULL_MODELS: '0',
    });
    expect((await second.exited()).code).toBe(78);
    expect(second.lines.join('\n')).toContain(`127.0.0.1:${new URL(app.url).port}`);
    expect(second.lines.join('\n')).toContain('set PORT to another');
    await rm(dataDir, { recursive: true });
  });

  test('only the roles that were asked for run', async () => {
    await using app = await startApp({
      env: { TRUNKLINE_ROLES: 'bridge,console', TRUNKLINE_SPEECH_URL: 'http://127.0.0.1:9' },
    });
    expect((await app.get('/api/calls')).status).toBe(200);
    expect((await app.get('/v2/live')).status).toBe(404);
    await using speech = await startApp({ env: { TRUNKLINE_ROLES: 'speech' } });
    expect((await speech.get('/v2/live')).status).toBe(200);
    expect((await speech.get('/api/calls')).status).toBe(404);
  });

  test('with keys set the bridge still reaches our own service, and strangers reach nothing', async () => {
    await using app = await startApp({ env: { TRUNKLINE_API_KEYS: 'operator-key-of-1' } });
    for (const path of ['/v2/live', '/api/calls', '/metrics', '/api/live'])
      expect([path, (await app.get(path)).status]).toEqual([path, 401]);
    const opened = await app.get('/api/calls', {
      headers: { 'x-service-key': 'operator-key-of-1' },
    });
    expect(opened.status).toBe(200);
  });
});

test('a process that is open to strangers says so at its start', async () => {
  await using app = await startApp({ env: { TRUNKLINE_INSECURE: '1' } });
  expect(app.lines.join('\n')).toContain(
    'open to anyone who reaches this port (TRUNKLINE_INSECURE=1)',
  );
});
