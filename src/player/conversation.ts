import { readFile } from 'node:fs/promises';
import { mulawSilence } from '../audio/g711.ts';
import type { LegAudio } from './play.ts';

/**
 * A turn in the script of the built-in conversation. The conversation is a refund call of about a minute. We made it
 * with free speech synthesis (config/tools/make-conversation.ts), and the script tells its true words. Each leg is 8
 * kHz mu-law.
 */
type PlayedTurn = { leg: 'agent' | 'customer'; text: string; startMs: number; endMs: number };

export type Conversation = {
  turns: PlayedTurn[];
  /** The audio of each leg. It is as long as the call, with silence while the other party speaks. */
  legs: Record<'agent' | 'customer', Buffer>;
  durationMs: number;
};

type Script = { turns: { leg: 'agent' | 'customer'; text: string; pauseMs: number }[] };

const folder = new URL('./conversation/', import.meta.url);
const bytesPerMs = 8;

/** Returns both legs as a carrier would stream them, the customer first. */
export async function builtInConversation(): Promise<LegAudio[]> {
  const { legs } = await loadConversation();
  return [
    { leg: 'customer', bytes: legs.customer },
    { leg: 'agent', bytes: legs.agent },
  ];
}

export async function loadConversation(): Promise<Conversation> {
  const [script, lengths, agent, customer] = await Promise.all([
    json<Script>('script.json'),
    json<{ bytes: number }[]>('turns.json'),
    readFile(new URL('agent.ulaw', folder)),
    readFile(new URL('customer.ulaw', folder)),
  ]);
  const speech = { agent, customer };
  const used = { agent: 0, customer: 0 };
  const placed = script.turns.map(({ leg, text, pauseMs }, at) => {
    const bytes = lengths[at]?.bytes ?? 0;
    const audio = speech[leg].subarray(used[leg], used[leg] + bytes);
    used[leg] += bytes;
    return { leg, text, audio, pauseBytes: pauseMs * bytesPerMs };
  });
  let position = 0;
  const turns = placed.map(({ leg, text, audio, pauseBytes }) => {
    const start = position + pauseBytes;
    position = start + audio.length;
    return { leg, text, audio, start, end: position };
  });
  // A second of silence at the end gives the recogniser time to finish the last words before the call ends.
  const total = position + 8000;
  const legs = {
    agent: Buffer.alloc(total, mulawSilence),
    customer: Buffer.alloc(total, mulawSilence),
  };
  for (const { leg, audio, start } of turns) audio.copy(legs[leg], start);
  return {
    turns: turns.map(({ leg, text, start, end }) => ({
      leg,
      text,
      startMs: start / bytesPerMs,
      endMs: end / bytesPerMs,
    })),
    legs,
    durationMs: total / bytesPerMs,
  };
}

async function json<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(new URL(name, folder), 'utf8')) as T;
}
