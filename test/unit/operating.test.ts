import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configFields } from '../../src/config.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(resolve(root, name), 'utf8');
const settings = configFields.map(({ env }) => env);

test('the unit of systemd starts what npm start starts, and names settings that there are', () => {
  const unit = read('config/operating/trunkline.service');
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
  const started = /^ExecStart=\/opt\/trunkline\/node_modules\/\.bin\/node (.*)$/m.exec(unit)?.[1];
  expect(`exec node ${started ?? ''}`).toBe(scripts.start);
  const variables = [...unit.matchAll(/^Environment=(.*)$/gm)]
    .flatMap(([, words = '']) => words.split(' '))
    .map((word) => word.split('=')[0] ?? '')
    .filter((name) => !/^MALLOC_|^TRUNKLINE_CONFIG$/.test(name));
  expect(variables.length).toBeGreaterThan(1);
  expect(variables.filter((name) => !settings.includes(name))).toEqual([]);
});

test('the stop that units and containers allow is longer than the 27 s that a stop may take', () => {
  const unit = read('config/operating/trunkline.service');
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(30);
  const compose = read('config/operating/compose.yaml');
  expect(Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1])).toBeGreaterThan(30);
});

test('the composition keeps /data, names settings that there are, and believes its own proxy alone', () => {
  const { services, networks, volumes } = parse(read('config/operating/compose.yaml')) as {
    services: { trunkline: { environment: Record<string, string>; volumes: string[] } };
    networks: { inside: { ipam: { config: { subnet: string }[] } } };
    volumes: Record<string, unknown>;
  };
  const { environment, volumes: mounted } = services.trunkline;
  expect(Object.keys(environment).filter((name) => !settings.includes(name))).toEqual([]);
  expect(environment['TRUNKLINE_TRUSTED_PROXIES']).toBe(networks.inside.ipam.config[0]?.subnet);
  expect(mounted).toEqual(['data:/data']);
  expect(Object.keys(volumes)).toContain('data');
  expect(read('Dockerfile')).toContain('VOLUME /data');
  // The image copies config/: the secrets that stand beside the composition stay outside.
  expect(read('.dockerignore').split('\n')).toContain('config/operating/*.env');
});
