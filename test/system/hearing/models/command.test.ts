import { execFile } from 'node:child_process';
import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { realModel } from '../../../support/recognition/real-model.ts';

const cli = new URL('../../../../src/cli.ts', import.meta.url).pathname;
const real = await realModel();

test.skipIf(!real)(
  'trunkline models: two processes pull at once, verify finds damage, remove removes',
  async () => {
    const models = await mkdtemp(join(tmpdir(), 'trunkline-models-'));
    const heard = /heard {2}Hello[^]*refund[^]*\d+ legs that speak all the time have room/;
    const run = (...args: string[]) =>
      promisify(execFile)(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', cli, 'models', ...args],
        {
          env: { ...process.env, TRUNKLINE_MODELS: models, TRUNKLINE_MODELS_MIRROR: real!.models },
        },
      );
    try {
      await Promise.all([run('pull'), run('pull', 'moonshine-tiny-en')]);
      expect((await run('verify')).stdout).toContain('moonshine-tiny-en: all files are right');
      expect((await run('list')).stdout).toMatch(
        /moonshine-tiny-en {2}\(configured\)[^]*?needs about \d+ MB[^]*?installed/,
      );
      await truncate(join(models, 'moonshine-tiny-en/tokens.txt'), 1000);
      await expect(run('verify')).rejects.toMatchObject({
        stderr: expect.stringContaining('tokens.txt'),
      });
      await run('pull');
      expect((await run('verify')).stdout).toContain('all files are right');
      await run('remove', 'moonshine-tiny-en');
      expect((await run('verify')).stdout).toContain('no model is installed');
      const taken = await run('pull', 'moonshine-tiny-en', '--from', real!.models);
      expect(taken.stdout).toMatch(heard);
      expect((await run('test')).stdout).toMatch(heard);
      await run('remove', 'moonshine-tiny-en');
      await expect(run('test')).rejects.toMatchObject({
        stderr: expect.stringContaining('moonshine-tiny-en'),
      });
      await expect(run('pull', 'no-such')).rejects.toMatchObject({
        stderr: expect.stringContaining('MODEL_UNKNOWN'),
      });
    } finally {
      await rm(models, { recursive: true });
    }
  },
  180_000,
);
