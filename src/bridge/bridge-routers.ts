import type { Router } from 'express';
import type { Access } from '../port/part.ts';
import { agentsApi } from './api/agents-api.ts';
import { assistApi } from './api/assist-api.ts';
import { playbookEditorApi } from './api/playbook-editor-api.ts';
import { knowledgeApi } from './api/knowledge-api.ts';
import { callsApi } from './api/calls-api.ts';
import { sharedCalls } from './api/shared-calls.ts';
import { streamsApi } from './api/streams-api.ts';
import { testEventsApi } from './api/test-events.ts';
import type { BridgeOptions, BridgeParts } from './bridge-parts.ts';
import { Board } from './board/board.ts';
import { PanelApi } from './panel/panel-api.ts';
import { CallJudge } from './scores/call-judge.ts';
import { scoresApi } from './scores/scores-api.ts';
import { openRelay } from './relay/relay.ts';
import { LoadedDirections } from './search/loaded-directions.ts';
import { SaidDirections } from './search/said-directions.ts';
import { SearchBacklog } from './search/search-backlog.ts';
import { savedSearches } from './search/saved-searches.ts';
import { searchApi } from './search/search-api.ts';

/**
 * The bridge's routes. If there are other nodes, requests for their calls are forwarded before our own routes are
 * tried.
 */
export function bridgeRouters(
  opened: AsyncDisposableStack,
  options: BridgeOptions,
  parts: BridgeParts,
): { access: Access; router: Router }[] {
  const { config, store, outbox, publicUrl, carriers, nodes, link, playbooks, knowledge } = options;
  const { calls, recordings, feed, links, tokens, live, withRecording, clock, log } = parts;
  const { stereoRoles } = config;
  const operatorCalls = callsApi({
    ...parts,
    store,
    stereoRoles,
    isRedacted: config.redactEntities.length > 0,
  });
  const agents = agentsApi({ store, calls, feed, outbox, clock });
  const others =
    nodes === undefined || link === undefined
      ? undefined
      : opened.use(
          openRelay({
            link,
            nodes,
            calls,
            feed,
            store,
            recordings,
            api: [live.router, operatorCalls, agents],
            clock,
            log,
          }),
        );
  const { teamsOf = () => [], scorecards } = options;
  const panel = opened.use(
    new PanelApi({
      store,
      tokens: parts.panelTokens,
      calls,
      feed,
      agents: config.agents,
      teamsOf,
      publicUrl,
      clock,
    }),
  );
  const scores = scorecards && new CallJudge({ store, scorecards, playbooks, teamsOf, feed, wakeOutbox: () => outbox.wake(), node: parts.node, clock, log }); // prettier-ignore
  opened.defer(() => scores?.stop());
  const board = opened.use(new Board({ store, calls, feed, playbooks, teamsOf, clock }));
  const backlog = opened.use(new SearchBacklog({ store, clock, log }));
  const { meaning } = options;
  const directions = opened.use(new SaidDirections({ store, meaning, node: parts.node, clock, log })); // prettier-ignore
  const near = opened.use(new LoadedDirections({ store, feed, clock }));
  const search = searchApi({ store, calls, backlog, directions, near, meaning, clock, log });
  return [
    { access: 'operator', router: streamsApi({ tokens, publicUrl, carriers }) },
    ...(others === undefined ? [] : [{ access: 'operator' as const, router: others.router }]),
    { access: 'operator', router: live.router },
    { access: 'operator', router: board.router },
    ...(scores === undefined || scorecards === undefined ? [] : [{ access: 'operator' as const, router: scoresApi({ scores, scorecards }) }]), // prettier-ignore
    { access: 'operator', router: search },
    { access: 'operator', router: savedSearches({ store, clock }) },
    { access: 'operator', router: testEventsApi({ store, outbox, feed, links, clock }) },
    { access: 'operator', router: assistApi({ store, playbooks, clock }) },
    ...(options.playbookFiles === undefined ? [] : [{ access: 'operator' as const, router: playbookEditorApi({ store, playbooks, files: options.playbookFiles, clock }) }]), // prettier-ignore
    ...(knowledge === undefined
      ? []
      : [{ access: 'operator' as const, router: knowledgeApi({ store, knowledge, clock }) }]),
    { access: 'operator', router: operatorCalls },
    { access: 'operator', router: agents },
    { access: 'operator', router: panel.router },
    {
      access: 'public',
      router: sharedCalls({ store, recordings, links, clock, withRecording, stereoRoles, log }),
    },
  ];
}
