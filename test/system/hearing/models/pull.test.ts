import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { CatalogueEntry } from '../../../../src/hearing/models/catalogue.ts';
import { problemsOf } from '../../../../src/hearing/models/installed.ts';
import { pullModel, type PullOptions } from '../../../../src/hearing/models/pull.ts';
import { startModelSupply } from '../../../../src/hearing/models/supply.ts';
import { programOnPath } from '../../../support/process/programs.ts';
import { realModel } from '../../../support/recognition/real-model.ts';
import { recogniserOf, silentLog } from '../../../support/recognition/recogniser.ts';

/** Archives of models are packed with it, so tar needs it. */
const bzip2Missing = programOnPath('bzip2') === undefined;

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const files = new Map([
  ['model.onnx', randomBytes(300_000)],
  ['tokens.txt', randomBytes(2_000)],
]);

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-pull-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** A plain file server that knows ranges; counts what it was asked for. */
function serving(asked: string[] = []): RequestListener {
  return (request, response) => {
    asked.push(`${request.url ?? ''} ${request.headers.range ?? ''}`.trim());
    const content = files.get(request.url?.split('/').at(-1) ?? '');
    if (!content) {
      response.writeHead(404).end();
      return;
    }
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': content.length - from });
    response.end(content.subarray(from));
  };
}

function entryFrom(publisher: string): CatalogueEntry {
  return {
    name: 'test-model', role: 'recognition', about: '', publisher: '', licence: '', megabytes: 1,
    verified: true,
    model: {
      kind: 'nemo-ctc', files: { model: 'model.onnx', tokens: 'tokens.txt' },
      languages: ['en'], sampleRate: 16000,
    },
    files: [...files].map(([name, content]) => ({ name, bytes: content.length, sha256: sha256(content) })),
    sources: [{ type: 'https', base: `${publisher}/publisher/` }],
  }; // prettier-ignore
}

function options(models: string, more: Partial<PullOptions> = {}): PullOptions {
  return {
    models,
    signal: AbortSignal.timeout(60_000),
    onProgress: () => undefined,
    onWait: () => undefined,
    ...more,
  };
}

const nowhere = 'http://127.0.0.1:1';

describe('pulling a model', () => {
  test('brings every file whole and right, and tells how far it is', async () => {
    const models = await temporary();
    const entry = entryFrom(await serve(serving()));
    const seen: number[] = [];
    await pullModel(
      entry,
      options(models, {
        onProgress: ({ receivedBytes, totalBytes }) => seen.push(receivedBytes / totalBytes),
      }),
    );
    expect(await problemsOf(models, entry)).toEqual([]);
    expect(seen.at(-1)).toBe(1);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect((await readdir(join(models, 'test-model'))).toSorted()).toEqual([
      'model.json',
      'model.onnx',
      'tokens.txt',
    ]);
  });

  test('goes on where an earlier download broke off', async () => {
    const models = await temporary();
    await mkdir(join(models, 'test-model'));
    await writeFile(
      join(models, 'test-model/model.onnx.part'),
      files.get('model.onnx')!.subarray(0, 100_000),
    );
    const asked: string[] = [];
    await pullModel(entryFrom(await serve(serving(asked))), options(models));
    expect(asked[0]).toContain('bytes=100000-');
  });

  test('takes over what was brought by hand, and asks nobody else', async () => {
    const entry = entryFrom(nowhere);
    const [loose, models] = [await temporary(), await temporary()];
    for (const [name, content] of files) await writeFile(join(loose, name), content);
    await pullModel(entry, options(models, { from: loose }));
    expect(await problemsOf(models, entry)).toEqual([]);
    // The models folder of one machine is what the next takes it from.
    const next = await temporary();
    await pullModel(entry, options(next, { from: models }));
    expect(await problemsOf(next, entry)).toEqual([]);
  });

  test('names what a folder lacks, and takes no file that is another one', async () => {
    const asked: string[] = [];
    const entry = entryFrom(await serve(serving(asked)));
    const from = await temporary();
    const models = await temporary();
    await writeFile(join(from, 'tokens.txt'), randomBytes(2_000));
    const pulled = () => pullModel(entry, options(models, { from }));
    await expect(pulled()).rejects.toThrow(`${from} lacks model.onnx`);
    await writeFile(join(from, 'model.onnx'), files.get('model.onnx')!);
    await expect(pulled()).rejects.toThrow('tokens.txt is not the file it should be');
    expect(asked).toEqual([]);
    expect(existsSync(join(models, 'test-model/tokens.txt'))).toBe(false);
    expect(existsSync(join(models, 'test-model/model.json'))).toBe(false);
  });

  test.skipIf(bzip2Missing)(
    'takes a published archive over, and only the files that the model names',
    async () => {
      const from = await temporary();
      const entry: CatalogueEntry = {
        ...entryFrom(nowhere),
        verified: false,
        files: [],
        sources: [{ type: 'archive', url: `${nowhere}/packed.tar.bz2`, folder: 'packed' }],
      };
      const models = await temporary();
      const pulled = () => pullModel(entry, options(models, { from }));
      await expect(pulled()).rejects.toThrow('there is no packed.tar.bz2 either');
      await mkdir(join(from, 'packed'));
      for (const [name, content] of [...files, ['more.onnx', randomBytes(9)] as const])
        await writeFile(join(from, 'packed', name), content);
      await promisify(execFile)('tar', ['-cjf', 'packed.tar.bz2', 'packed'], { cwd: from });
      await pulled();
      expect((await readdir(join(models, 'test-model'))).toSorted()).toEqual([
        'model.json',
        'model.onnx',
        'tokens.txt',
      ]);
      await writeFile(join(from, 'model.onnx'), randomBytes(9));
      await writeFile(join(from, 'tokens.txt'), randomBytes(9));
      await rm(join(models, 'test-model'), { recursive: true });
      await expect(pulled()).rejects.toThrow('differs from the file of the first pull');
    },
  );

  test.skipIf(bzip2Missing)(
    'takes nothing through a link that an archive holds in place of its folder',
    async () => {
      const victim = await temporary();
      await writeFile(join(victim, 'private.txt'), 'not of the archive');
      const packing = await temporary();
      await symlink(victim, join(packing, 'packed'));
      await promisify(execFile)('tar', ['-cjf', 'packed.tar.bz2', 'packed'], { cwd: packing });
      const archive = await readFile(join(packing, 'packed.tar.bz2'));
      const publisher = await serve((_request, response) => response.end(archive));
      const { model: _model, ...entry } = entryFrom(nowhere);
      const pulled = pullModel(
        {
          ...entry,
          verified: false,
          files: [],
          sources: [{ type: 'archive', url: `${publisher}/packed.tar.bz2`, folder: 'packed' }],
        },
        options(await temporary()),
      );
      await expect(pulled).rejects.toThrow('packed in the archive is a link and not a folder');
      expect(await readdir(victim)).toEqual(['private.txt']);
    },
  );

  test('asks the mirror first, a folder or an address, and the publisher when the mirror lies', async () => {
    const models = await temporary();
    const asked: string[] = [];
    const publisher = await serve(serving(asked));
    const folder = join(await temporary(), 'test-model');
    await mkdir(folder, { recursive: true });
    for (const [name, content] of files) await writeFile(join(folder, name), content);
    await pullModel(entryFrom(publisher), options(models, { mirror: join(folder, '..') }));
    expect(asked).toEqual([]);

    const other = await temporary();
    const liar = await serve((_request, response) => response.end(randomBytes(300_000)));
    const entry = entryFrom(publisher);
    await pullModel(entry, options(other, { mirror: liar }));
    expect(asked.length).toBeGreaterThan(0);
    expect(await problemsOf(other, entry)).toEqual([]);
  });

  test('takes a file that is made from another from wherever it was made, and half a model from nowhere', async () => {
    const [made, beside] = ['model.onnx', 'tokens.txt'];
    const known = (name: string) => {
      const content = files.get(name)!;
      return { name, bytes: content.length, sha256: sha256(content) };
    };
    const entry: CatalogueEntry = {
      ...entryFrom(nowhere),
      files: [known(beside), { name: 'source.pt', bytes: 9, sha256: '0'.repeat(64), forMaking: true }], // prettier-ignore
      derived: { how: 'voice-encoder', files: [known(made)] },
    };
    const copied = await temporary();
    const asked: string[] = [];
    await pullModel(entry, options(copied, { mirror: await serve(serving(asked)) }));
    expect(await problemsOf(copied, entry)).toEqual([]);
    expect(asked.join()).not.toContain('source.pt');
    // A mirror without it is asked for what it is made from.
    const [models, without] = [await temporary(), await temporary()];
    const failure = pullModel(entry, options(models, { mirror: await serve((_request, response) => response.writeHead(404).end()) })); // prettier-ignore
    await expect(failure).rejects.toThrow('could not be fetched');

    await writeFile(join(without, made), files.get(made)!);
    const half = pullModel(entry, options(models, { from: without }));
    await expect(half).rejects.toThrow(`${without} lacks ${beside}`);
    expect(existsSync(join(models, 'test-model', made))).toBe(false);
    await writeFile(join(without, beside), files.get(beside)!);
    await pullModel(entry, options(models, { from: without }));
    expect(await problemsOf(models, entry)).toEqual([]);
  });

  test('never keeps what has the wrong checksum, and says which file of which source it was', async () => {
    const models = await temporary();
    const liar = await serve((_request, response) => response.end(randomBytes(300_000)));
    await expect(pullModel(entryFrom(liar), options(models))).rejects.toThrow(
      /model\.onnx is not the file.*sha256/s,
    );
    expect(existsSync(join(models, 'test-model/model.onnx'))).toBe(false);
    expect(existsSync(join(models, 'test-model/model.onnx.part'))).toBe(false);
  });

  test('stops a source that never ends before it fills the disk', async () => {
    const models = await temporary();
    const endless = await serve((_request, response) => {
      const more = () => { while (response.write(Buffer.alloc(65_536))); };
      response.on('drain', more);
      more();
    }); // prettier-ignore
    await expect(pullModel(entryFrom(endless), options(models))).rejects.toThrow(
      'more bytes than the file should have',
    );
  });

  test('names every source that failed, why, and what mends it', async () => {
    const models = await temporary();
    const broken = await serve((_request, response) => response.writeHead(503).end());
    const failure = pullModel(entryFrom(broken), options(models, { mirror: nowhere }));
    await expect(failure).rejects.toThrow(
      /127\.0\.0\.1:1.*answered 503.*TRUNKLINE_MODELS_MIRROR.*models pull test-model/s,
    );
  });

  test('a full disk is said as such, with the room it needs', async () => {
    const models = await temporary();
    await mkdir(join(models, 'test-model'));
    await symlink('/dev/full', join(models, 'test-model/model.onnx.part'));
    const entry = entryFrom(await serve(serving()));
    await expect(pullModel(entry, options(models))).rejects.toThrow(
      /no space left.*1 MB.*TRUNKLINE_MODELS/,
    );
  });

  test('two at once fetch once', async () => {
    const models = await temporary();
    const asked: string[] = [];
    const entry = entryFrom(await serve(serving(asked)));
    let waited = 0;
    await Promise.all(
      [1, 2].map(() => pullModel(entry, options(models, { onWait: () => waited++ }))),
    );
    expect(asked).toHaveLength(2);
    expect(waited).toBeGreaterThan(0);
    expect(await problemsOf(models, entry)).toEqual([]);
  });

  test('the lock of a process that is gone does not stop anybody', async () => {
    const models = await temporary();
    await mkdir(join(models, 'test-model'));
    const lock = join(models, 'test-model/.pulling');
    await writeFile(lock, '1');
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(lock, longAgo, longAgo);
    await pullModel(entryFrom(await serve(serving())), options(models));
    expect(existsSync(lock)).toBe(false);
  });

  test('a model we have not held is recorded at its first pull and must be the same ever after', async () => {
    const models = await temporary();
    const unknown = (base: string): CatalogueEntry => ({
      ...entryFrom(base),
      verified: false,
      files: [...files.keys()].map((name) => ({ name })),
    });
    const entry = unknown(await serve(serving()));
    await pullModel(entry, options(models));
    expect(await readFile(join(models, 'test-model.sha256'), 'utf8')).toContain(
      `${sha256(files.get('model.onnx')!)}  model.onnx`,
    );
    expect(await problemsOf(models, entry)).toEqual([]);
    await rm(join(models, 'test-model'), { recursive: true });
    const changed = await serve((_request, response) => response.end(randomBytes(2_000)));
    await expect(pullModel(unknown(changed), options(models))).rejects.toThrow(
      'differs from the file of the first pull',
    );
  });
});

describe('the supply of a starting process', () => {
  test('goes on without a model, says what is missing, and takes one that appears', async () => {
    const models = await temporary();
    const supply = await startModelSupply(
      { model: join(models, 'my-model'), models, pullModels: true },
      silentLog,
    );
    cleanups.push(() => supply[Symbol.asyncDispose]() as Promise<void>);
    expect(supply.current()).toMatchObject({
      state: 'missing',
      detail: expect.stringContaining('my-model'),
    });
    const come = new Promise<void>((resolve) => supply.onChange(resolve));
    await mkdir(join(models, 'my-model'));
    for (const [name, content] of files) await writeFile(join(models, 'my-model', name), content);
    await writeFile(join(models, 'my-model/model.json'), JSON.stringify(entryFrom(nowhere).model));
    await come;
    expect(supply.current()).toMatchObject({ state: 'there', model: { name: 'my-model' } });
  });

  test('sessions are refused with the progress while nothing is there', async () => {
    await using recogniser = await recogniserOf('/nowhere/at/all');
    expect(recogniser.status().state).toBe('no-model');
    expect(recogniser.admits({ languages: ['en'] }, 1)).toMatchObject({
      outcome: 'no-model',
      detail: expect.stringContaining('/nowhere/at/all'),
    });
  });
});

describe('a damaged default model', async () => {
  const real = await realModel();

  const good = join(real?.models ?? '', 'moonshine-tiny-en');
  const patience = { timeout: 60_000, interval: 20 };

  async function copied(): Promise<{ models: string; encoder: string }> {
    const models = await temporary();
    await cp(good, join(models, 'moonshine-tiny-en'), { recursive: true });
    return { models, encoder: join(models, 'moonshine-tiny-en/encoder_model.ort') };
  }

  /** Gives the file another content. A process that has the old file open keeps reading the old one. */
  async function replace(path: string, content: Buffer): Promise<void> {
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
  }

  test.skipIf(!real)(
    'that is damaged under a running process is named at the second failure, and no session is let in before it is mended',
    async () => {
      const { models, encoder } = await copied();
      const settings = { models, pullModels: false };
      await using recogniser = await recogniserOf('moonshine-tiny-en', settings);
      const state = () => recogniser.status().state;
      await vi.waitFor(() => expect(state()).toBe('ready'), patience);
      const whole = await readFile(encoder);
      await replace(encoder, whole.subarray(0, 1_000_000));
      process.kill(recogniser.processes()[0]!.pid!, 'SIGKILL');
      await vi.waitFor(() => expect(state()).toBe('no-model'), patience);
      expect(recogniser.admits({ languages: ['en'] }, 1)).toMatchObject({
        outcome: 'no-model',
        detail: expect.stringContaining('encoder_model.ort has 1000000 bytes instead of'),
      });
      await replace(encoder, whole);
      await vi.waitFor(() => expect(state()).toBe('ready'), patience);
    },
    120_000,
  );

  test.skipIf(!real)(
    'that is damaged under a running process is fetched anew',
    async () => {
      const { models, encoder } = await copied();
      const settings = { models, modelsMirror: real!.models };
      await using recogniser = await recogniserOf('moonshine-tiny-en', settings);
      const state = () => recogniser.status().state;
      await vi.waitFor(() => expect(state()).toBe('ready'), patience);
      const whole = await readFile(encoder);
      await replace(encoder, whole.subarray(0, 1_000_000));
      const { pid } = recogniser.processes()[0]!;
      process.kill(pid!, 'SIGKILL');
      await vi.waitFor(() => expect(recogniser.processes()[0]?.pid).not.toBe(pid), patience);
      await vi.waitFor(() => expect(state()).toBe('ready'), patience);
      expect(sha256(await readFile(encoder))).toBe(sha256(whole));
    },
    120_000,
  );

  test.skipIf(!real)(
    'is named and refused before the engine sees it, and mended from the mirror',
    async () => {
      const models = await temporary();
      const folder = join(models, 'moonshine-tiny-en');
      await mkdir(folder);
      for (const name of await readdir(good))
        await writeFile(join(folder, name), await readFile(join(good, name)));
      const encoder = await readFile(join(good, 'encoder_model.ort'));
      const refused = async (content: Buffer) => {
        await writeFile(join(folder, 'encoder_model.ort'), content);
        await using recogniser = await recogniserOf('moonshine-tiny-en', {
          models,
          pullModels: false,
        });
        expect(recogniser.status().detail).toContain('encoder_model.ort');
        expect(recogniser.processes()).toEqual([]);
        return recogniser.status().state;
      };
      expect(await refused(encoder.subarray(0, 1_000_000))).toBe('no-model'); // cut short
      const changed = Buffer.from(encoder);
      changed[5_000_000]! ^= 1;
      expect(await refused(changed)).toBe('no-model'); // one bit
      expect(await refused(await readFile(join(good, 'decoder_model_merged.ort')))).toBe(
        'no-model',
      ); // swapped

      await using recogniser = await recogniserOf('moonshine-tiny-en', {
        models,
        modelsMirror: real!.models,
      });
      await vi.waitFor(() => expect(recogniser.status().state).toBe('ready'), {
        timeout: 60_000,
        interval: 100,
      });
    },
    120_000,
  );
});
