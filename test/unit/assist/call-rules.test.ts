import { describe, expect, test } from 'vitest';
import { CallRules, settledS } from '../../../src/assist/call-rules.ts';
import type { Hit } from '../../../src/assist/hits.ts';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { playbookFrom, ruleSetOf } from '../../../src/assist/rule-set.ts';
import type { RuleInput } from '../../../src/assist/rule-inputs.ts';
import { testsOf, tryCall } from '../../../src/assist/trial.ts';

const call = { direction: 'inbound', carrier: 'twilio', to: '+15550100', metadata: { campaign: 'spring' } }; // prettier-ignore

function rulesOf(text: string, of = call) {
  return new CallRules(ruleSetOf([playbookFrom(`id: test\nstatus: live\n${text}`)]), of);
}

let last = 0;
function said(rules: CallRules, role: string, text: string, end: number): string[] {
  const final = { utteranceId: `u${last++}`, legId: role, role, start: end - 1, end, text };
  return namesOf(rules.heard(final));
}

function namesOf(hits: readonly Hit[]): string[] {
  return hits.map(({ rule }) => rule);
}

function rule(id: string, when: string, then = `{ tag: ${id} }`, more = '') {
  return `  - { id: ${id}, title: ${id}, when: ${when}, then: [${then}]${more} }\n`;
}
const phrase = (words: string) => `{ phrase: { any: ['${words}'] } }`;

const starterTests = await Promise.all(
  starterPlaybooks().map(async (playbook) =>
    (await testsOf(playbook)).map((one) => [playbook.id, one.name, one] as const),
  ),
);

test.each(starterTests.flat())(
  // prettier-ignore
  'the starter playbook %s: %s',
  (_, __, { why }) => {
    expect(why).toBe('');
  },
);

describe('triggers', () => {
  test('one after the other, within a time', () => {
    const rules = rulesOf(`rules:\n${rule('it', `{ then: { first: ${phrase('it is broken')}, next: ${phrase('money back')}, within: 20 } }`)}`); // prettier-ignore
    expect(said(rules, 'customer', 'my money back', 2)).toEqual([]);
    expect(said(rules, 'customer', 'it is broken', 5)).toEqual([]);
    expect(said(rules, 'customer', 'so my money back', 15)).toEqual(['it']);
    const late = rulesOf(`rules:\n${rule('it', `{ then: { first: ${phrase('it is broken')}, next: ${phrase('money back')}, within: 20 } }`)}`); // prettier-ignore
    said(late, 'customer', 'it is broken', 5);
    expect(said(late, 'customer', 'my money back', 40)).toEqual([]);
  });

  test('so many times within so long', () => {
    const rules = rulesOf(`rules:\n${rule('it', `{ count: { of: ${phrase('hold on')}, times: 3, over: 60 } }`)}`); // prettier-ignore
    expect(said(rules, 'agent', 'hold on', 1)).toEqual([]);
    expect(said(rules, 'agent', 'hold on', 30)).toEqual([]);
    expect(said(rules, 'agent', 'hold on', 80)).toEqual([]);
    expect(said(rules, 'agent', 'hold on', 85)).toEqual(['it']);
  });

  test('all, and what was not said', () => {
    const rules = rulesOf(`rules:\n${rule('it', `{ all: [${phrase('take a payment')}, { not: ${phrase('call is recorded')} }] }`)}`); // prettier-ignore
    expect(said(rules, 'agent', 'I will take a payment now', 5)).toEqual(['it']);
    const told = rulesOf(`rules:\n${rule('it', `{ all: [${phrase('take a payment')}, { not: ${phrase('call is recorded')} }] }`)}`); // prettier-ignore
    said(told, 'agent', 'this call is recorded', 1);
    expect(said(told, 'agent', 'I will take a payment now', 5)).toEqual([]);
  });

  test('a silence is told once, and again after somebody spoke', () => {
    const rules = rulesOf(`rules:\n${rule('quiet', '{ silence: { longer_than: 10 } }', '{ hint: { title: Speak } }', ', cooldown: 0')}`); // prettier-ignore
    said(rules, 'agent', 'one moment', 5);
    expect(rules.advance(14)).toEqual([]);
    expect(rules.advance(60).map(({ at }) => at)).toEqual([15]);
    rules.speaking(70);
    expect(rules.advance(79)).toEqual([]);
    expect(rules.advance(90).map(({ at }) => at)).toEqual([80]);
  });

  test('a step that is missing at a time, and one that is done', () => {
    const list = 'checklists: [{ id: open, title: Open, steps: [{ id: told, title: Told }] }]\n';
    const rules = `${list}rules:\n${rule('tick', phrase('is recorded'), '{ step: open.told }')}${rule('missing', '{ missing: { step: open.told, at: 20 } }', '{ alert: { level: warn } }')}${rule('then', '{ step: { step: open.told } }')}`; // prettier-ignore
    const without = rulesOf(rules);
    expect(namesOf(without.advance(30))).toEqual(['missing']);
    const told = rulesOf(rules);
    expect(said(told, 'agent', 'this call is recorded', 5)).toEqual(['tick', 'then']);
    expect(told.advance(30)).toEqual([]);
    expect(told.checklists[0]?.steps[0]?.isDone).toBe(true);
  });

  test('the mood of the customer falls', () => {
    const rules = rulesOf(`rules:\n${rule('down', '{ sentiment: { course: falling, by: 1, over: 60, min_utterances: 4 } }')}`); // prettier-ignore
    const moods = ['positive', 'positive', 'negative', 'negative'];
    expect(moods.map((mood, at) => namesOf(rules.felt('customer', at * 5, mood)))).toEqual([[], [], [], ['down']]); // prettier-ignore
    expect(namesOf(rules.felt('agent', 30, 'negative'))).toEqual([]);
  });

  test('overlaps, talk, key presses and entities', () => {
    const rules = rulesOf(`rules:\n${rule('over', '{ overlap: { by: agent, times: 2, over: 60 } }')}${rule('talks', '{ talk: { role: agent, share_above: 0.7, over: 30 } }')}${rule('keys', '{ dtmf: { presses: 3, over: 10 } }')}${rule('money', '{ entity: { type: MONEY } }')}`); // prettier-ignore
    const turn = (role: string, start: number, end: number) =>
      namesOf(rules.heard({ utteranceId: `o${start}`, legId: role, role, start, end, text: 'and so on' })); // prettier-ignore
    expect(turn('customer', 0, 4)).toEqual([]);
    expect(turn('agent', 3, 9)).toEqual([]);
    expect(turn('customer', 9.5, 12)).toEqual([]);
    expect(turn('agent', 11, 30)).toEqual(['over']);
    expect(namesOf(rules.advance(36))).toEqual(['talks']);
    expect([1, 2, 3].flatMap((at) => namesOf(rules.pressed(36 + at)))).toEqual(['keys']);
    expect(namesOf(rules.entity('customer', 'MONEY', { start: 40, end: 41 }))).toEqual(['money']);
  });

  test('a tag may fire another rule, and none fires for ever', () => {
    const rules = rulesOf(`rules:\n${rule('one', phrase('go on'), '{ tag: a }', ', cooldown: 0')}${rule('two', '{ tag: a }', '{ tag: b }', ', cooldown: 0')}${rule('three', '{ tag: b }', '{ tag: a }', ', cooldown: 0')}`); // prettier-ignore
    expect(said(rules, 'customer', 'go on', 1)).toEqual(['one', 'two']);
  });
});

describe('when a rule may fire', () => {
  test('its cooldown and once', () => {
    const rules = rulesOf(`rules:\n${rule('cool', phrase('hello there'), '{ alert: {} }', ', cooldown: 30')}${rule('once', phrase('hello there'), '{ alert: {} }', ', once: true, cooldown: 0')}`); // prettier-ignore
    expect(said(rules, 'customer', 'hello there', 1)).toEqual(['cool', 'once']);
    expect(said(rules, 'customer', 'hello there', 20)).toEqual([]);
    expect(said(rules, 'customer', 'hello there', 40)).toEqual(['cool']);
  });

  test.each([
    ['scope: { direction: [outbound] }', false],
    ['scope: { carrier: [twilio] }', true],
    ['scope: { metadata: { campaign: [autumn, spring] } }', true],
    ['scope: { metadata: { campaign: autumn } }', false],
    ['scope: { to: ["+15550199"] }', false],
  ])('%s: %s', (scope, isHeard) => {
    const rules = rulesOf(`${scope}\nrules:\n${rule('it', phrase('hello there'))}`);
    expect(said(rules, 'customer', 'hello there', 1)).toEqual(isHeard ? ['it'] : []);
  });

  test('a draft fires in a trial alone, a shadow shows nothing and changes nothing', () => {
    const of = (status: string) =>
      playbookFrom(`id: test\nstatus: ${status}\nrules:\n${rule('it', phrase('hello there'))}`);
    const final: RuleInput = { kind: 'final', utteranceId: 'u', legId: 'l', role: 'customer', start: 0, end: 1, text: 'hello there' }; // prettier-ignore
    const draft = ruleSetOf([of('draft')]);
    expect(new CallRules(draft, call).isIdle).toBe(true);
    expect(namesOf(tryCall(draft, call, [final]))).toEqual(['it']);
    const shadow = new CallRules(ruleSetOf([of('shadow')]), call);
    expect(shadow.heard(final)).toMatchObject([{ isShadow: true }]);
    expect([...shadow.tags]).toEqual([]);
  });
});

describe('hints', () => {
  const hint = (id: string, priority: number) =>
    rule(id, phrase(`say ${id} now`), `{ hint: { title: ${id}, priority: ${priority} } }`);
  const shown = (hits: readonly Hit[]) => hits.map(({ rule: name, at }) => [name, at]);

  test('come one in eight seconds, the most important first, and are dropped when they are old', () => {
    const rules = rulesOf(`rules:\n${hint('red', 50)}${hint('green', 40)}${hint('blue', 60)}${hint('white', 95)}`); // prettier-ignore
    expect(said(rules, 'customer', 'say red now', 1)).toEqual(['red']);
    expect(said(rules, 'customer', 'say green now', 2)).toEqual([]);
    expect(said(rules, 'customer', 'say blue now', 3)).toEqual([]);
    expect(said(rules, 'customer', 'say white now', 4)).toEqual(['white']);
    expect(shown(rules.advance(11))).toEqual([]);
    // Green had to wait longer than ten seconds: nobody is shown it any more.
    expect(shown(rules.advance(40))).toEqual([['blue', 12]]);
  });

  test('what else a rule does is not held back', () => {
    const rules = rulesOf(`rules:\n${hint('red', 50)}${rule('tagged', phrase('say tagged now'), '{ hint: { title: T } }, { tag: t }')}`); // prettier-ignore
    said(rules, 'customer', 'say red now', 1);
    const hits = rules.heard({ utteranceId: 'x', legId: 'l', role: 'customer', start: 1, end: 2, text: 'say tagged now' }); // prettier-ignore
    expect(hits.map(({ did }) => did.map(({ kind }) => kind))).toEqual([['tag']]);
    expect(rules.advance(20).map(({ did }) => did.map(({ kind }) => kind))).toEqual([['hint']]);
  });
});

test('the same inputs give the same hits, byte for byte', () => {
  const set = ruleSetOf(starterPlaybooks());
  const texts = ['I want a refund for my damaged order', 'this is terrible service', 'cancel my subscription', 'I will send it within two business days', 'one two three']; // prettier-ignore
  const inputs = Array.from({ length: 400 }, (_, at): RuleInput => ({ kind: 'final', utteranceId: `u${at}`, legId: `l${at % 2}`, role: at % 2 === 0 ? 'customer' : 'agent', start: at * 3, end: at * 3 + 2, text: texts[(at * 7) % 5] ?? '' })); // prettier-ignore
  const first = JSON.stringify(tryCall(set, call, inputs));
  expect(first.length).toBeGreaterThan(1_000);
  expect(JSON.stringify(tryCall(set, call, inputs))).toBe(first);
});

test('places in texts are filled, and only those', () => {
  const rules = rulesOf(`rules:\n${rule('it', phrase('hello there'), "{ hint: { title: '{match} for {metadata.campaign} {metadata.none} {other}' } }")}`); // prettier-ignore
  const [hit] = rules.heard({ utteranceId: 'u', legId: 'l', role: 'customer', start: 0, end: 1, text: 'Oh, hello there!' }); // prettier-ignore
  expect(hit?.did).toMatchObject([{ title: 'hello there for spring  {other}' }]);
});

describe('a playbook that cannot be used says why', () => {
  const one = rule('a', phrase('hello'));
  test.each([
    ['rules: []', 'rules'],
    ['rulez: []', 'rulez'],
    [`rules:\n${rule('a', '{ phrase: { any: [x, y] }, tag: z }')}`, 'exactly one trigger'],
    [
      `rules:\n${rule('a', phrase('hello'), '{ hint: { title: A }, tag: b }')}`,
      'exactly one action',
    ],
    [`rules:\n${one}${one}`, 'two are the rule a'],
    [`rules:\n${rule('a', phrase('hello'), '{ step: opn.told }')}checklists: [{ id: open, title: O, steps: [{ id: told, title: T }] }]`, 'did you mean open.told?'], // prettier-ignore
    [`rules:\n${rule('a', phrase('hello'), "{ hint: { title: A, links: [{ title: B, url: 'javascript:alert(1)' }] } }")}`, 'url'], // prettier-ignore
    [`rules:\n${one}tests: [{ name: t, turns: [[customer, hi]], expect: { hits: [b] } }]`, 'there is no rule b'], // prettier-ignore
    ['a: &a [x]\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]', ''], // prettier-ignore
  ])('%s', (text, why) => {
    expect(() => playbookFrom(`id: test\n${text}`)).toThrow(why);
  });
});

test('a trial hears a long sentence as speech and judges the seconds in the order of a live call', () => {
  const set = ruleSetOf([
    playbookFrom(
      `id: test\nstatus: live\nrules:\n${rule('quiet', '{ silence: { longer_than: 12 } }', '{ hint: { title: Say something } }')}${rule('asks', phrase('money back'), '{ hint: { title: Offer it } }')}`,
    ),
  ]);
  const final = (text: string, start: number, end: number) => ({ kind: 'final', utteranceId: `u${end}`, legId: 'customer', role: 'customer', start, end, text }) as const; // prettier-ignore
  // Eleven seconds of silence, and then a sentence that takes eight: its final comes when nineteen have passed.
  const turns = [final('hello there', 0, 2), final('a long story of a lamp', 13, 21), final('my money back', 30, 31)]; // prettier-ignore
  expect(namesOf(tryCall(set, call, [...turns, { kind: 'wait', end: 40 }]))).toEqual(['asks']);

  // The same as it comes in live: partials while somebody speaks, a final a moment after its end, a tick a second.
  const rules = new CallRules(set, call);
  const live: Hit[] = [];
  const comes = turns.flatMap((turn) => [
    ...Array.from({ length: Math.ceil(turn.end - turn.start) }, (_, at) => ({ at: turn.start + at + 0.3, spoken: turn.start + at })), // prettier-ignore
    { at: turn.end + 0.8, turn },
  ]);
  for (let second = 1; second <= 40; second++) {
    for (const one of comes.filter(({ at }) => at >= second - 1 && at < second))
      if ('turn' in one) live.push(...rules.heard(one.turn));
      else rules.speaking(one.spoken);
    live.push(...rules.advance(second - settledS));
  }
  expect(live).toEqual(tryCall(set, call, [...turns, { kind: 'wait', end: 40 - settledS }], false));
});
