import type { ApiCall, LiveFeedMessage } from '../protocol/api.ts';

const colours = { customer: '\u001b[36m', agent: '\u001b[33m' } as const;
const dim = '\u001b[2m';
const plain = '\u001b[0m';
const clearLine = '\r\u001b[2K';

/** The conversation as it comes: a colour for each party, what is not final yet dimmed on the last line. */
export class TranscriptPrinter {
  readonly #out: NodeJS.WriteStream;
  readonly #isTerminal: boolean;
  #partials = new Map<string, string>();

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.#isTerminal = out.isTTY;
  }

  show(message: LiveFeedMessage): void {
    switch (message.type) {
      case 'partial':
        return this.#partial(message.role, message.utterance.text);
      case 'call.transcript':
        return this.#final(message.leg?.role ?? 'customer', message.data.start, message.data.text);
      case 'call.gap':
        return this.#line(
          `${dim}-- gap of ${message.data.duration.toFixed(2)} s (${message.data.cause})${plain}`,
        );
      case 'call.paused':
      case 'call.resumed':
      case 'call.ended':
        return this.#line(`${dim}-- ${message.type}${plain}`);
      default:
    }
  }

  end(): void {
    if (this.#isTerminal) this.#out.write(clearLine);
  }

  #partial(role: 'customer' | 'agent', text: string): void {
    if (!this.#isTerminal) return;
    this.#partials.set(role, text);
    const room = Math.max(20, (this.#out.columns ?? 80) - 12);
    const shown = text.length > room ? `...${text.slice(3 - room)}` : text;
    this.#out.write(`${clearLine}${dim}${colours[role]}${role.padEnd(9)} ${shown}${plain}`);
  }

  #final(role: 'customer' | 'agent', startS: number, text: string): void {
    this.#partials.delete(role);
    this.#line(
      `${dim}${startS.toFixed(1).padStart(6)}${plain} ${colours[role]}${role.padEnd(9)} ${text}${plain}`,
    );
  }

  #line(text: string): void {
    const written = this.#isTerminal ? text : text.replace(/\u001b\[[0-9;]*m/g, '');
    this.#out.write(`${this.#isTerminal ? clearLine : ''}${written}\n`);
  }
}

/** Every byte of every leg, and whether the sum is right (design.md section 1). */
export function ledgerLines(call: ApiCall): string[] {
  const rows = call.legs.map(({ role, track, encoding, ledger }) => {
    const { received, acknowledged, gaps, paused } = ledger;
    const agrees = received === acknowledged + gaps + paused;
    return [
      role,
      track,
      encoding,
      String(received),
      String(acknowledged),
      String(gaps),
      String(paused),
      agrees ? 'exact' : call.state === 'ended' ? 'OFF' : 'under way',
    ];
  });
  const all = [
    ['role', 'track', 'encoding', 'received', 'acknowledged', 'gaps', 'paused', ''],
    ...rows,
  ];
  const widths =
    all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
