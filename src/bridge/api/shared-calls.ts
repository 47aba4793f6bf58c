import { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { tellOpening } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import type { Role } from '../../protocol/events.ts';
import type { Store } from '../../store/store.ts';
import { callRowOf } from '../events/call-rows.ts';
import { callJson } from './call-json.ts';
import type { CallLinks, LinkKind } from '../call-links.ts';
import { sendTranscript } from './transcript-file.ts';
import { found } from './query.ts';
import { read } from './query.ts';
import { closedLinkPage, sharedCallPage, sharedPagePolicy } from './shared-call-page.ts';
import { sendRecording } from '../recordings/recording-file.ts';
import type { Recordings } from '../recordings/recordings.ts';

type SharedCallsOptions = {
  store: Store;
  recordings: Recordings;
  links: CallLinks;
  clock: Clock;
  /**
   * Set to the same value as for links in events. If an event held the recording back, the page must not offer it
   * either.
   */
  withRecording: boolean;
  stereoRoles: readonly [Role, Role];
  log: Logger;
};

/** The expiry in seconds since 1970. Only the exact form that was signed is accepted. */
const LinkQuery = z.object({
  expires: z
    .string()
    .regex(/^\d{1,12}$/, 'must be as it stands in the link: it was cut or changed on its way')
    .transform(Number),
  signature: z.string().max(100),
});

/** Serves the call that a signed link names, to read and to listen to. It needs no key and can change nothing. */
export function sharedCalls(options: SharedCallsOptions): Router {
  const { store, recordings, links, clock, withRecording, stereoRoles, log } = options;
  const router = Router();

  const admitted = async (kind: LinkKind, request: Request<{ id: string }>): Promise<number> => {
    const query = read(LinkQuery, request);
    const verdict = links.judge(kind, request.params.id, query, clock.now());
    if (verdict === 'wrong') throw new Problem(403, 'the link is not signed by this installation');
    if (verdict === 'expired') throw new Problem(410, 'the link has expired');
    const call = await store.db
      .selectFrom('calls')
      .select('links_closed_at')
      .where('id', '=', request.params.id)
      .executeTakeFirst();
    if (call?.links_closed_at != null) throw new Problem(410, linksClosed);
    return query.expires;
  };

  const callPage = async (
    request: Request<{ id: string }>,
    response: Response,
  ): Promise<string> => {
    const { id } = request.params;
    const expires = await admitted('page', request);
    const call = await found(callJson(store.db, id, () => undefined));
    await tellOpening(response, id);
    const audio =
      call.recording && withRecording ? links.pathOf('recording', id, expires) : undefined;
    return sharedCallPage(call, audio, expires * 1_000);
  };

  router.get('/shared/calls/:id', async (request, response) => {
    response
      .set({ 'x-robots-tag': 'noindex', 'content-security-policy': sharedPagePolicy })
      .type('text/html');
    try {
      response.send(await callPage(request, response));
    } catch (error) {
      // A person opened the link, so the error is shown as a page. The page has the status code that a program would
      // get.
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      const why =
        error.message === linksClosed
          ? 'The links to this call were closed. The call itself is still here.'
          : (whyClosed[error.status] ?? 'This link is not complete.');
      response
        .status(error.status)
        .send(closedLinkPage(error.status === 404 ? undefined : request.params.id, why));
    }
  });

  router.get('/shared/calls/:id/transcript', async (request, response) => {
    await admitted('transcript', request);
    const call = await found(callRowOf(store.db, request.params.id));
    await tellOpening(response, call.id);
    response.set('x-robots-tag', 'noindex');
    await sendTranscript({ db: store.db, call, format: 'json', response, log });
  });

  router.get('/shared/calls/:id/recording', async (request, response) => {
    await admitted('recording', request);
    // If links with recordings were switched off, older links do not open recordings either.
    if (!withRecording) throw new Problem(404, 'recording not found');
    const { id } = request.params;
    await tellOpening(response, id);
    await sendRecording({ db: store.db, recordings, stereoRoles, callId: id, request, response });
  });

  return router;
}

const linksClosed = 'the links to this call were closed';

const whyClosed: Partial<Record<number, string>> = {
  403: 'This link was not made by this installation, or it was changed on its way.',
  404: 'The call is not here any more. It may have been erased.',
  410: 'This link has expired. The call itself may still be here.',
};
