import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';

const cli = new URL('../../../src/cli.ts', import.meta.url).pathname;

async function language(
  command: string,
  input: string,
): Promise<{ lines: unknown[]; errors: string; code: number | null }> {
  const child = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    cli,
    'language',
    command,
  ]);
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const lines = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
  return { lines, errors, code };
}

test('entities: a line in, a line out, offsets in characters', async () => {
  const input = '{"id":"a","text":"This is Laura Bennett."}\n\n{"id":2,"text":"nothing here"}\n';
  expect(await language('entities', input)).toEqual({
    lines: [
      { id: 'a', entities: [{ type: 'NAME', text: 'Laura Bennett', start: 8, end: 21 }] },
      { id: 2, entities: [] },
    ],
    errors: '',
    code: 0,
  });
});

test('sentiment: a bad line is named, the others are answered', async () => {
  const result = await language(
    'sentiment',
    '{"id":1,"text":"I am furious"}\nnot json\n{"id":3}\n{"id":4,"text":"It is blue."}',
  );
  expect(result.lines).toEqual([
    { id: 1, label: 'negative' },
    { id: 4, label: 'neutral' },
  ]);
  expect(result.errors).toContain('line 2');
  expect(result.errors).toContain('line 3');
  expect(result.code).toBe(1);
});

test('calls: a summary and the turns where chapters begin', async () => {
  const turns = [
    { role: 'agent', text: 'Good morning, how can I help?' },
    { role: 'customer', text: 'My name is Laura Bennett and my parcel never arrived.' },
    { role: 'agent', text: 'I will refund the $40 today.' },
  ];
  const { lines } = await language('calls', JSON.stringify({ id: 'c', turns }));
  expect(lines).toEqual([
    { id: 'c', summary: expect.stringContaining('$40') as string, chapters: [1] },
  ]);
});
