import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linearToMulaw } from '../../../src/audio/g711.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { tones } from '../../support/recognition/fixture-model.ts';

let app: App;
let folder: string;

beforeAll(async () => {
  app = await startApp({ env: { TRUNKLINE_REJOIN_WAIT_MS: '500' } });
  folder = await mkdtemp(join(tmpdir(), 'trunkline-call-'));
  const save = (name: string, samples: Int16Array): Promise<void> =>
    writeFile(join(folder, name), Uint8Array.from(samples, linearToMulaw));
  await save('customer.ulaw', tones('my card is lost', { tailS: 2.5 }));
  await save('agent.ulaw', tones('hello please', { leadS: 2.5 }));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function trunkline(
  ...words: string[]
): Promise<{ code: number | null; out: string; errors: string }> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'src/cli.ts', ...words],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        TRUNKLINE_DATA: folder,
        TRUNKLINE_URL: app.url,
      },
    },
  );
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { code, out, errors };
}

const files = (): string[] => [join(folder, 'customer.ulaw'), join(folder, 'agent.ulaw')];

describe('trunkline call', () => {
  test('shows what both said as it comes, and a ledger that is exact', async () => {
    const { code, out, errors } = await trunkline(
      'call',
      ...files(),
      '--carrier',
      'telnyx',
      '--encoding',
      'alaw',
    );
    expect(errors).toBe('');
    expect(code).toBe(0);
    expect(out).toMatch(/customer +my card is lost/i);
    expect(out).toMatch(/agent +hello please/i);
    expect(out.match(/ exact$/gm)?.length).toBe(2);
    expect(out).not.toContain(' OFF');
    expect(out).toMatch(/^call_\w+ ended$/m);
  });

  test('plays many at once, and with faults whose bytes still add up', async () => {
    const many = await trunkline(
      'call',
      ...files(),
      '--calls',
      '3',
      '--speed',
      '2',
      '--carrier',
      'signalwire',
    );
    expect(many).toMatchObject({ code: 0, out: expect.stringContaining('3 played') });
    const bad = await trunkline(
      'call',
      ...files(),
      '--drop',
      '2%',
      '--reorder',
      '--cut',
      '1s',
      '--reopen',
      '100ms',
      '--no-stop',
    );
    expect(bad.code).toBe(0);
    expect(bad.out).toContain('-- cut (at 1000 ms)');
    expect(bad.out.match(/ exact$/gm)?.length).toBe(2);
  });

  test('a slip is one readable line', async () => {
    const slips: [string[], string][] = [
      [['--drop', 'much'], '2%'],
      [['--encoding', 'alaw'], 'BAD_INPUT: twilio streams mulaw, not alaw'],
      [['--url', 'http://127.0.0.1:1'], 'UNREACHABLE: http://127.0.0.1:1 does not answer'],
    ];
    const said = await Promise.all(slips.map(([words]) => trunkline('call', ...words)));
    for (const [at, { code, errors }] of said.entries()) {
      expect(errors).toContain(slips[at]?.[1]);
      expect(code).toBe(1);
    }
  });
});
