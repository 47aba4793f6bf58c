import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endsWithUs } from '../../support/process/ends-with-us.ts';

const cli = resolve(import.meta.dirname, '../../../src/cli.ts');
const key = 'a-key-of-this-test-that-is-long';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trunkline-strange-'));
  await writeFile(join(folder, 'call.wav'), Buffer.alloc(5_000_000));
});
afterAll(() => rm(folder, { recursive: true }));

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Whatever stands behind an address that somebody mistyped, or that somebody else has taken over. */
async function startStranger(answer: Handler, beforeBody: Handler = answer) {
  const server = createServer(answer).on('checkContinue', beforeBody);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function transcribe(url: string) {
  const child = endsWithUs(
    spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', cli, 'transcribe', 'call.wav', '--url', url],
      {
        cwd: folder,
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: folder,
          TRUNKLINE_DATA: folder,
          TRUNKLINE_API_KEYS: key,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ),
  );
  const exited = new Promise<number | null>((done) => child.once('close', done));
  const [errors, code] = await Promise.all([text(child.stderr), exited]);
  return { errors, code };
}

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

describe('a service that is none, or a hostile one', () => {
  test('a redirect is told and not followed: the key stays here', async () => {
    const seen: unknown[] = [];
    await using thief = await startStranger((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    await using stranger = await startStranger((_request, response) => {
      response.writeHead(307, { location: thief.url }).end();
    });
    const { code, errors } = await transcribe(stranger.url);
    expect(code).toBe(78);
    expect(errors).toContain(`redirects to ${thief.url}`);
    expect(seen).toEqual([]);
  });

  test('a file that is too large is refused before a byte of it has gone', async () => {
    let bodyBytes = 0;
    await using stranger = await startStranger(
      (_request, response) => json(response, 200, { items: [] }),
      (request, response) => {
        request.on('data', (piece: Buffer) => (bodyBytes += piece.length));
        json(response, 413, { message: 'at most 1000 bytes' });
      },
    );
    const { code, errors } = await transcribe(stranger.url);
    expect(code).toBe(1);
    expect(errors).toContain('too large or too long for the service: at most 1000 bytes');
    expect(bodyBytes).toBe(0);
  });

  test('an answer that breaks into the upload is read, and the rest of the file stays here', async () => {
    await using stranger = await startStranger(
      (_request, response) => json(response, 200, { items: [] }),
      (request, response) => {
        response.writeContinue();
        request.once('data', () => json(response, 422, { message: 'this is no audio' }));
      },
    );
    const { code, errors } = await transcribe(stranger.url);
    expect(code).toBe(1);
    expect(errors).toContain('the service cannot use it: this is no audio');
  });

  test.each([
    ['a page', (response: ServerResponse) => response.end('<html>Welcome</html>')],
    ['JSON of another kind', (response: ServerResponse) => json(response, 200, { ok: true })],
    [
      'an id that is a path',
      (response: ServerResponse) => json(response, 200, { audio_url: 'http://x', id: '../../x' }),
    ],
  ])('%s instead of the interface fails the file by name', async (_name, answer) => {
    await using stranger = await startStranger(
      (request, response) => {
        request.resume();
        request.once('end', () => answer(response));
      },
      (request, response) => {
        response.writeContinue();
        request.resume();
        request.once('end', () => answer(response));
      },
    );
    const { code, errors } = await transcribe(stranger.url);
    expect(code).toBe(1);
    expect(errors).toContain('call.wav: failed: no speech service answers there');
    expect(await readdir(folder)).toEqual(['call.wav']);
  });

  test('an answer without an end is cut off', async () => {
    const piece = Buffer.alloc(1024 * 1024, ' ');
    await using stranger = await startStranger(
      (request, response) => {
        const pour = (): void => {
          while (!response.destroyed && response.write(piece));
        };
        if (request.url?.includes('limit=1') === true) json(response, 200, {});
        else if (request.method === 'POST') json(response, 201, { id: 'job-1' });
        else response.on('drain', pour).emit('drain');
      },
      (request, response) => {
        response.writeContinue();
        request.resume();
        request.once('end', () => json(response, 200, { audio_url: 'http://x/' }));
      },
    );
    const { code, errors } = await transcribe(stranger.url);
    expect(code).toBe(1);
    expect(errors).toContain('an answer of more than');
  });

  test('its messages move no cursor', async () => {
    const message = 'no\u001b[2J\u009b\r audio';
    await using stranger = await startStranger(
      (_request, response) => json(response, 200, {}),
      (_request, response) => json(response, 422, { message }),
    );
    const { code, errors } = await transcribe(stranger.url);
    expect(code).toBe(1);
    expect(errors).toContain('the service cannot use it: no[2J audio');
  });
});
