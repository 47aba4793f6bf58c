import { expect, test } from 'vitest';
import type { HeardFinal } from '../../../../src/assist/heard-text.ts';
import { KnowledgeCards } from '../../../../src/bridge/events/knowledge-cards.ts';
import type { FoundArticle } from '../../../../src/knowledge/knowledge-index.ts';

const article = (name: string, isSure = true): FoundArticle => ({
  ...{ id: 1, article: 'digest', place: 0, name, title: name, url: null, say: null, heading: '' },
  ...{ text: 'x'.repeat(2_000), asked: '', score: 0.7, isSure },
});

function inCall(answers: Record<string, FoundArticle[] | undefined>) {
  const asked: string[] = [];
  const shown: string[] = [];
  const open: string[] = [];
  const failures: unknown[] = [];
  const waits: ((go: undefined) => void)[] = [];
  const cards = new KnowledgeCards({
    knowledge: {
      isEmpty: false,
      ask: async (question) => {
        asked.push(question);
        await new Promise((resolve) => waits.push(resolve));
        if (question.includes('broken')) throw new Error('the index is away');
        const key = Object.keys(answers).find((one) => question.includes(one));
        return key === undefined ? [] : answers[key];
      },
    },
    show: ({ rule, did }) => {
      shown.push(rule);
      expect(did[0]).toMatchObject({ kind: 'hint', source: 'knowledge' });
      expect(JSON.stringify(did).length).toBeLessThan(1_200);
    },
    unanswered: ({ question }) => open.push(question),
    failed: (error) => failures.push(error),
  });
  let at = 0;
  const says = (role: string, text: string, gapS = 0): HeardFinal => {
    const start = at + gapS;
    at = start + 2;
    return { utteranceId: `u${at}`, legId: 'leg', role, start, end: at, text };
  };
  const answered = async () => {
    waits.splice(0).forEach((go) => go(undefined));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { cards, asked, shown, open, failures, says, answered };
}

test('a call asks once at a time and once in six seconds, for all that the customer said since the agent spoke', async () => {
  const { cards, asked, shown, says, answered } = inCall({ refund: [article('refund.md')] });
  cards.heard(says('customer', 'Hello there.'));
  expect(asked).toEqual([]);
  cards.heard(says('customer', 'My broken kettle came back last week.'));
  expect(asked).toEqual(['Hello there. My broken kettle came back last week.']);
  cards.heard(says('customer', 'And the refund never arrived.'));
  await answered();
  cards.ask(7);
  expect(asked).toHaveLength(1);
  // The agent speaks before six seconds are over: the question keeps its turn.
  cards.heard(says('agent', 'Let me see.'));
  cards.ask(10);
  expect(asked[1]).toBe('Hello there. My broken kettle came back last week. And the refund never arrived.'); // prettier-ignore
  cards.ask(20);
  expect(asked).toHaveLength(2);
  await answered();
  expect(shown).toEqual([]);
  cards.heard(says('agent', 'One moment.', 20));
  cards.heard(says('customer', 'So where is my refund money?'));
  await answered();
  expect([asked[2], shown]).toEqual(['So where is my refund money?', ['refund.md']]);
});

test('an article comes once in a call, also after a restart; one that is unsure never; questions without an answer are kept', async () => {
  const { cards, asked, shown, open, failures, says, answered } = inCall({
    refund: [article('refund.md')],
    parcel: [article('parcel.md', false)],
    busy: undefined,
  });
  const turn = async (text: string) => {
    cards.heard(says('agent', 'Yes?', 8));
    cards.heard(says('customer', text));
    await answered();
  };
  cards.restored({ rule: 'parking.md', at: 0, cause: {} } as never);
  await turn('When does the refund come to my account?');
  await turn('The refund was promised for Monday morning');
  expect(shown).toEqual(['refund.md']);
  await turn('Where can I find the parcel shop?');
  await turn('The parcel was blue and rather large');
  await turn('How long is the busy line going to last?');
  await turn('Is the broken index still away today?');
  expect(open).toEqual(['Where can I find the parcel shop?']);
  expect(failures).toHaveLength(1);
  expect(asked).toHaveLength(6);
});
