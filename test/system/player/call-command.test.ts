import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linearToMulaw } from '../../../src/audio/g711.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { ffmpegMissing } from '../../support/media/media-files.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';

let app: App;
let folder: string;
/** As behind a proxy that takes a path away: a carrier signs for this address, commands have another road. */
const proven = {
  TRUNKLINE_PUBLIC_URL: 'http://localhost:1/trunkline',
  TRUNKLINE_TWILIO_AUTH_TOKEN: 'twilio-secret-of-the-tests',
  TRUNKLINE_INSECURE: '1',
};

beforeAll(async () => {
  app = await startApp({ env: { TRUNKLINE_REJOIN_WAIT_MS: '500', ...proven } });
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

function start(...words: string[]): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'src/cli.ts', ...words],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        TRUNKLINE_DATA: folder,
        TRUNKLINE_URL: app.url,
        ...proven,
      },
    },
  );
}

async function ending(
  child: ReturnType<typeof start>,
): Promise<{ code: number | null; errors: string }> {
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [errors, code] = await Promise.all([text(child.stderr), exited]);
  return { code, errors };
}

async function trunkline(
  ...words: string[]
): Promise<{ code: number | null; out: string; errors: string }> {
  const child = start(...words);
  const [out, ended] = await Promise.all([text(child.stdout), ending(child)]);
  return { out, ...ended };
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
    // The log of the process is searched by the call's id, or by the one that the carrier gave it.
    const callId = /^(call_\w+) ended$/m.exec(out)?.[1];
    const carrierCallId = /^telnyx call (\S+)/m.exec(out)?.[1];
    const logged = app.lines.flatMap((line): AnyJson[] => (line.startsWith('{') ? [JSON.parse(line)] : [])); // prettier-ignore
    const saying = (msg: string) => logged.filter((line) => line.msg === msg && line.callId === callId); // prettier-ignore
    for (const msg of ['stream opened', 'stream ended', 'call ended'])
      expect(
        saying(msg).map((line) => line.carrierCallId),
        msg,
      ).toContain(carrierCallId);
    expect(saying('a live session ended')).toHaveLength(2);
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

  test('Ctrl-C hangs up, says what it waits for, and the last words come; a second one ends at once', async () => {
    const hangsUp = 'hangs up and waits up to 30 s for the last words; Ctrl-C again ends at once';
    const interrupted = async (times: number) => {
      const child = start('call', ...files());
      const ended = once(child, 'close') as Promise<[number | null]>;
      const said: string[] = [];
      for (const input of [child.stdout, child.stderr])
        createInterface({ input }).on('line', (line) => said.push(line));
      await until(() => said.some((line) => /customer +my card is lost/i.test(line)));
      child.kill('SIGINT');
      await until(() => said.includes(hangsUp));
      if (times > 1) child.kill('SIGINT');
      const [code] = await ended;
      return { code, isWhole: said.some((line) => /^call_\w+ ended$/.test(line)) };
    };
    expect(await interrupted(1)).toEqual({ code: 0, isWhole: true });
    expect(await interrupted(2)).toEqual({ code: 130, isWhole: false });
  }, 60_000);

  test('the version of the program, and nothing else', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect(await trunkline('--version')).toEqual({ code: 0, out: `${version}\n`, errors: '' });
  });

  test.skipIf(ffmpegMissing !== undefined)('reads MP3 where ffmpeg is', async () => {
    const mp3 = join(folder, 'customer.mp3');
    const raw = ['-f', 'mulaw', '-ar', '8000', '-ac', '1', '-i', files()[0]!];
    execFileSync('ffmpeg', ['-v', 'error', ...raw, mp3]);
    const { code, out, errors } = await trunkline('call', mp3, '--speed', '4', '--no-watch');
    expect([code, errors]).toEqual([0, '']);
    // 8,000 bytes a second, as long as the file; an encoder may add a little silence.
    const sent = Number(/sent customer (\d+) bytes/.exec(out)?.[1]);
    const { size } = await stat(files()[0]!);
    expect(sent / size).toBeCloseTo(1, 1);
  });

  test('says of a file of another kind that ffmpeg would read it, and what a file is that it cannot read', async () => {
    const text = join(folder, 'notes.mp3');
    await writeFile(text, 'no audio at all');
    const { errors, code } = await trunkline('call', text);
    expect(code).toBe(1);
    expect(errors).toMatch(
      ffmpegMissing === undefined
        ? /^BAD_INPUT: .*notes\.mp3: the file is neither audio nor video/
        : /^BAD_INPUT: .*notes\.mp3: give a \.wav.*or install ffmpeg/,
    );
  });

  test('a slip is one readable line', async () => {
    const slips: [string[], string][] = [
      [['--drop', 'much'], '2%'],
      [['--encoding', 'alaw'], 'BAD_INPUT: twilio streams mulaw, not alaw'],
      [
        ['--carrier', 'telnyx', '--url', 'http://127.0.0.1:1'],
        'UNREACHABLE: http://127.0.0.1:1 does not answer',
      ],
    ];
    const said = await Promise.all(slips.map(([words]) => trunkline('call', ...words)));
    for (const [at, { code, errors }] of said.entries()) {
      expect(errors).toContain(slips[at]?.[1]);
      expect(code).toBe(1);
    }
  });
});
