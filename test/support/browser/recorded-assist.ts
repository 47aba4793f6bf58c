import type { CallAssistance } from '../../../src/protocol/assist-events.ts';

/** A hint that was judged, one that is open, and a checklist that is half done. */
export const recordedAssist: CallAssistance = {
  hits: [
    hint('wants-manager', 'Offer a call back from a team leader', 12.4, 'useful'),
    hint('wants-refund', 'Look up the order and check the refund', 21, null),
  ],
  tags: ['refund'],
  checklists: [
    {
      id: 'opening',
      title: 'Opening',
      steps: [
        { id: 'greet', title: 'Greet and say who you are', required: false, done: true },
        { id: 'recorded', title: 'Say that the call is recorded', required: true, done: false },
      ],
    },
  ],
};

function hint(
  rule: string,
  title: string,
  at: number,
  verdict: 'useful' | null,
): CallAssistance['hits'][number] {
  return {
    hit_id: `shop/${rule}@utt_1`,
    rule,
    playbook: 'shop',
    version: 1,
    digest: '9f2c41a07be35d18',
    at,
    cause: { role: 'customer', start: at - 2, end: at, matched: 'speak to your manager', score: 1 },
    title,
    did: [
      {
        kind: 'hint',
        title,
        say: 'Let me look at that for you. May I have the order number?',
        links: [{ title: 'How refunds work', url: 'https://help.example.com/refunds' }],
        priority: 60,
      },
      { kind: 'tag', tag: 'refund' },
    ],
    verdict,
  };
}
