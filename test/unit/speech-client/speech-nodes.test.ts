import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { SpeechNodes, type SpeechNode } from '../../../src/speech-client/speech-nodes.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const node = (name: string, used?: number, more: Partial<SpeechNode> = {}): SpeechNode => ({
  name,
  target: { url: `http://${name}`, keyHeader: 'x-service-key' },
  isOfFleet: false,
  ...(used === undefined ? {} : { load: { used, capacity: 10, at: 1 } }),
  ...more,
});

function nodesOf(list: SpeechNode[], random: () => number = () => 0) {
  const clock = new TestClock(0);
  const answering = new Set<string>();
  const nodes = new SpeechNodes({
    nodes: () => list,
    probe: ({ url }) => Promise.resolve(answering.has(url)),
    clock,
    log: createLog({ level: 'silent' }),
    random,
  });
  const names = (): string[] => nodes.candidates().map(({ name }) => name);
  return { nodes, names, clock, answering };
}

test('the freest node is asked first, and its own sessions count before it says so itself', () => {
  const [a, b] = [node('a', 5), node('b', 3)];
  const { nodes, names } = nodesOf([a, b]);
  expect(names()).toEqual(['b', 'a']);
  for (let at = 0; at < 3; at++) nodes.asked(b)('created');
  expect(names()).toEqual(['a', 'b']);
});

test('the freer one of two random nodes comes first', () => {
  const list = [node('a', 1), node('b', 2), node('c', 3), node('d', 4)];
  const draws = [0, 0, 0, 0, 0.9, 0.6];
  const { names } = nodesOf(list, () => draws.shift() ?? 0);
  expect(names()).toEqual(['c', 'a', 'b', 'd']);
});

test('a full node is passed over until it wants to be asked again, a silent one until it answers', async () => {
  const [a, b] = [node('a', 0), node('b', 9)];
  const { nodes, names, clock, answering } = nodesOf([a, b]);
  nodes.asked(a)('busy', 5_000);
  expect(names()).toEqual(['b']);
  await clock.pass(5_001);
  expect(names()).toEqual(['a', 'b']);
  nodes.asked(a)('unreachable');
  await clock.pass(60_000);
  expect(names()).toEqual(['b']);
  expect(nodes.passedOver()).toEqual({ full: [], silent: ['a'] });
  answering.add('http://a');
  await clock.pass(15_000);
  expect(names()).toEqual(['a', 'b']);
});

test('full everywhere: nobody is asked, and the wait is that of the first to have room', () => {
  const [a, b] = [node('a', 0), node('b', 0)];
  const { nodes, names } = nodesOf([a, b]);
  nodes.asked(a)('busy', 9_000);
  nodes.asked(b)('busy', 4_000);
  expect(names()).toEqual([]);
  expect(nodes.busyForMs()).toBe(4_000);
});

test('silent everywhere: all are asked, there is nothing better to do', () => {
  const [a, b] = [node('a', 0), node('b', 0)];
  const { nodes, names } = nodesOf([a, b]);
  nodes.asked(a)('unreachable');
  nodes.asked(b)('unreachable');
  expect(names()).toEqual(['a', 'b']);
});

test('a node that lets a request wait counts as full for those that come after it', async () => {
  const [a, b] = [node('a', 0), node('b', 9)];
  const { nodes, names, clock } = nodesOf([a, b]);
  const told = nodes.asked(a);
  await clock.pass(1_100);
  expect(names()).toEqual(['b', 'a']);
  told('created');
  expect(names()).toEqual(['a', 'b']);
});

test('a single node is asked whatever it said, and our own comes before others', () => {
  const alone = nodesOf([node('a', 0)]);
  alone.nodes.asked(node('a', 0))('busy', 9_000);
  expect(alone.names()).toEqual(['a']);
  const own = nodesOf([node('a', 0), node('own', undefined, { isHere: true })]);
  expect(own.names()).toEqual(['own', 'a']);
});

test('a node that is being stopped, or has no recogniser, gets nothing new while another can have it', () => {
  const list = [node('a', 0, { isDraining: true }), node('b', 9), node('c', 0, { load: { used: 0, capacity: 0, at: 1 } })]; // prettier-ignore
  const { nodes, names } = nodesOf(list);
  expect(names()).toEqual(['b', 'c']);
  expect(nodes.isGone('a')).toBe(false);
  list.shift();
  expect(nodes.isGone('a')).toBe(true);
});
