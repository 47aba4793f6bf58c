import { readFileSync, readdirSync } from 'node:fs';
import type { UpgradeRequest } from '../../../src/carriers/carrier.ts';

export type FixtureLine = {
  atMs: number;
  from: 'carrier' | 'bridge';
  data: Buffer;
  isBinary: boolean;
};

const folder = new URL('../../fixtures/carriers/', import.meta.url);

export function fixtureNames(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => name.slice(0, -6))
    .sort();
}

/** A recorded conversation with one line per frame (`atMs`, `from`, `text` or `base64`). */
export function readFixture(name: string): FixtureLine[] {
  return readFileSync(new URL(`${name}.jsonl`, folder), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const { atMs, from, text, base64 } = JSON.parse(line) as {
        atMs: number;
        from: 'carrier' | 'bridge';
        text?: string;
        base64?: string;
      };
      const isBinary = base64 !== undefined;
      return {
        atMs,
        from,
        isBinary,
        data: Buffer.from(base64 ?? text ?? '', isBinary ? 'base64' : 'utf8'),
      };
    });
}

/** The carrier's first frames in a recorded conversation. */
export function openingOf(name: string): FixtureLine[] {
  return readFixture(name)
    .filter(({ from }) => from === 'carrier')
    .slice(0, 4);
}

export function upgradeRequest(
  target = '/carriers/x',
  headers: Record<string, string> = {},
): UpgradeRequest {
  const [path = '', query = ''] = target.split('?');
  return { target, path, query, headers };
}

/** The audio used in the fixtures. `frame(n)` gives the bytes of one frame. */
export function frame(seed: number, length = 160): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (seed * 37 + at * 7) % 251));
}
