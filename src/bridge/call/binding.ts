import type { Clock } from '../../lib/clock.ts';
import { round3 } from '../../lib/round.ts';
import type { AgentSetting, BoundBy, EventAgent } from '../../protocol/agents.ts';
import type { CallEvents } from '../events/call-events.ts';
import { isSameNumber } from '../events/call-keys.ts';
import { agentFrom, agentOf, eventAgentOf, isSameAgent } from '../records/call-agent.ts';
import type { CallRecord } from '../records/call-record.ts';

type BindingOptions = {
  record: CallRecord;
  config: { readonly agents: readonly AgentSetting[] };
  events: Pick<CallEvents, 'agentChanged' | 'changed'>;
  clock: Clock;
  /** The present time in seconds of the call. */
  nowS: () => number;
};

/** Keeps which agent has a running call. */
export class AgentBinding {
  readonly #options: BindingOptions;

  constructor(options: BindingOptions) {
    this.#options = options;
  }

  /**
   * Gives the call to an agent, or to nobody. Resolves to true once that is durable. What is already so is not told
   * again.
   */
  async bind(agent: EventAgent | undefined, by: BoundBy): Promise<boolean> {
    const { record, events, clock, nowS } = this.#options;
    const previous = record.agent;
    if (isSameAgent(previous, agent)) return true;
    record.agent = agent && { ...agentFrom(agent, by), since: clock.now() };
    const isDurable = await events.agentChanged({
      agent: agent === undefined ? null : eventAgentOf(agent),
      previous: previous === undefined ? null : eventAgentOf(previous),
      by,
      at: round3(Math.max(0, nowS())),
    });
    events.changed();
    return isDurable;
  }

  /** Looks again for an agent, once the parties of the call are known. */
  learn(): void {
    const { record, config } = this.#options;
    if (record.agent !== undefined) return;
    const agent = agentOf(config.agents, record, isSameNumber);
    if (agent !== undefined) void this.bind(agent, agent.by);
  }
}
