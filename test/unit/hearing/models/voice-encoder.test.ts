import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tensorsOf } from '../../../../src/hearing/making/voice-encoder/checkpoint.ts';
import { voiceGraph } from '../../../../src/hearing/making/voice-encoder/network.ts';
import { temporaryFolder } from '../../../support/store/store.ts';
import { zipOf } from '../../../support/media/zip.ts';

const text = (value: string) =>
  Buffer.concat([Buffer.from('X'), Buffer.from(Uint32Array.of(value.length).buffer), Buffer.from(value)]); // prettier-ignore

/** The bytes of Python's pickles around the texts; no instruction of them means anything here. */
const program = Buffer.concat([
  Buffer.from('\x80\x02ccollections\nOrderedDict\nq\x00)R(X'),
  text('head.weight'), Buffer.from('q\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02(('),
  text('storage'), Buffer.from('q\x03ctorch\nFloatStorage\n'), text('7'), text('cpu'),
  Buffer.from('q\x06K\x03tq\x07QK\x00'), text('tail.weight'), text('12'), Buffer.from('.'),
]); // prettier-ignore
const numbers = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer);
type ZipFile = Parameters<typeof zipOf>[0][number];

async function tensorsIn(files: readonly ZipFile[], cut = Infinity) {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'a.pt');
  await writeFile(path, zipOf(files).subarray(0, cut));
  return await tensorsOf(path);
}

test('the numbers of a checkpoint have the names that its program says, and nothing of it runs', async () => {
  const tensors = await tensorsIn([
    ['archive/data.pkl', program, 0],
    ['archive/data/12', numbers(4), 0],
    ['archive/data/7', numbers(1, -2, 0.5), 0],
    ['archive/version', Buffer.from('3'), 0],
  ]);
  expect(Object.fromEntries([...tensors].map(([name, values]) => [name, [...values]]))).toEqual({
    'head.weight': [1, -2, 0.5],
    'tail.weight': [4],
  });
});

test('an archive that is packed, cut short or has no program is refused, and says how', async () => {
  const data: ZipFile = ['archive/data/7', numbers(1, 2, 3), 0];
  await expect(tensorsIn([data])).rejects.toThrow('names no tensors');
  await expect(tensorsIn([['archive/data.pkl', program, 8]])).rejects.toThrow('is packed');
  await expect(tensorsIn([data], 40)).rejects.toThrow('cut short');
  // The table says another length, and another place, than there is.
  for (const [field, how] of [
    [24, 'it ends inside archive/data/7'],
    [42, 'it ends inside its table of contents'],
  ] as const) {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'a.pt');
    const zip = zipOf([data]);
    zip.writeUInt32LE(0xffff_fff0, zip.indexOf('PK\x01\x02') + field);
    await writeFile(path, zip);
    await expect(tensorsOf(path)).rejects.toThrow(how);
  }
});

test('tensors of another model make no graph, and the first that is wrong is named', () => {
  expect(() => voiceGraph(new Map())).toThrow('head.conv1.weight has no numbers instead of 288');
  const other = new Map([['head.conv1.weight', new Float32Array(9)]]);
  expect(() => voiceGraph(other)).toThrow(
    /has 9 numbers instead of 288: .* another model than CAM\+\+/,
  );
});
