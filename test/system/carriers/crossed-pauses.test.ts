import { expect, test } from 'vitest';
import { AudiohookClient } from '../../support/carriers/audiohook-client.ts';

const moves = ['pause', 'resume', 'paused', 'resumed', 'audio', 'ping'] as const;
type Move = (typeof moves)[number];
const pauses = moves.slice(0, 4);

/** Throws what is wrong after these moves in this order: an expectation would cost more than a move. */
function play(path: readonly Move[]): void {
  const client = new AudiohookClient();
  client.open();
  let asked: Move | undefined;
  for (const move of path) {
    const before = client.serverseq;
    if (move === 'pause' || move === 'resume') {
      const said = client.say({ type: move }).length;
      // Asking twice says once, and everything said has the next number.
      const due = asked === move ? 0 : 1;
      if (said !== due || client.serverseq !== before + due) throw new Error(path.join());
      asked = move;
      continue;
    }
    const events =
      move === 'audio'
        ? client.codec.decode(Buffer.alloc(320), true)
        : client.send(move, move === 'resumed' ? { start: 'PT0S', discarded: 'PT0S' } : {});
    const types = events.map(({ type }) => type).join();
    const due = move === 'audio' ? 'audio,audio' : move === 'ping' ? 'reply' : move;
    if (types !== due) throw new Error(`${path.join()}: ${types}`);
  }
}

function* paths(of: readonly Move[], depth: number): Generator<Move[]> {
  const path = Array<number>(depth).fill(0);
  for (;;) {
    yield path.map((at) => of[at]!);
    let place = depth - 1;
    while (place >= 0 && path[place] === of.length - 1) path[place--] = 0;
    if (place < 0) return;
    path[place]!++;
  }
}

test('our pauses crossed with theirs, every interleaving to depth 8: numbers stay whole, asking twice says once', () => {
  let played = 0;
  for (const path of paths(pauses, 8)) {
    play(path);
    played++;
  }
  expect(played).toBe(4 ** 8);
});

test('the same with audio and pings between, to depth 5', () => {
  for (const path of paths(moves, 5)) play(path);
});
