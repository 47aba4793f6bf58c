import type { AgentSetting, BoundBy, EventAgent } from '../../protocol/agents.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';

/** The agent who has a call, and since when. */
export type CallAgent = EventAgent & { readonly by: BoundBy; readonly since: number };

/** Names of a call's parameters that name its agent, in order of weight. */
const idKeys = ['agent_id', 'agentId', 'agent'];
const extensionKeys = ['extension', 'agent_extension'];

const longest = 100;

type Facts = {
  direction: 'inbound' | 'outbound' | undefined;
  from: string | undefined;
  to: string | undefined;
  metadata: Record<string, unknown>;
};

/**
 * The agent that the facts of a call name: by a parameter with an id, by one with an extension, or by the number on the
 * agent's side. `sameNumber` compares two numbers however they are written. Pure.
 */
export function agentOf(
  agents: readonly AgentSetting[],
  { direction, from, to, metadata }: Facts,
  sameNumber: (one: string, other: string) => boolean,
): Omit<CallAgent, 'since'> | undefined {
  const id = firstText(metadata, idKeys);
  if (id !== undefined)
    return agentFrom(agents.find((agent) => agent.id === id) ?? { id }, 'metadata');
  const extension = firstText(metadata, extensionKeys);
  if (extension !== undefined) {
    const known = agents.find((agent) => agent.extension === extension);
    return agentFrom(known ?? { id: extension, extension }, 'metadata');
  }
  // The other party may write any number as its own, so only the number of our side counts.
  const ours = direction === 'outbound' ? from : to;
  if (ours === undefined) return undefined;
  const known = agents.find(({ numbers }) => numbers.some((number) => sameNumber(number, ours)));
  return known && agentFrom(known, 'number');
}

/** The agent as events name them. */
export function eventAgentOf({ id, name, extension }: EventAgent): EventAgent {
  return { id, ...withoutUndefined({ name, extension }) };
}

export function agentFrom(agent: EventAgent, by: BoundBy): Omit<CallAgent, 'since'> {
  return { ...eventAgentOf(agent), by };
}

export function isSameAgent(one: EventAgent | undefined, other: EventAgent | undefined): boolean {
  return one?.id === other?.id && one?.name === other?.name && one?.extension === other?.extension;
}

function firstText(metadata: Record<string, unknown>, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = metadata[key];
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text === 'string' && text.trim() !== '') return text.trim().slice(0, longest);
  }
  return undefined;
}
