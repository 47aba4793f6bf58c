import { createHash } from 'node:crypto';
import { Router, type Request } from 'express';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { Problem } from '../../port/problem.ts';
import type { Role, Turn } from '../../protocol/events.ts';
import type { Store } from '../../store/store.ts';
import { personName } from '../../protocol/people.ts';
import { callJson } from './call-json.ts';
import type { CallLinks } from '../call-links.ts';
import { found } from './calls-api.ts';
import { read } from './query.ts';
import { sendRecording } from '../recordings/recording-file.ts';
import type { Recordings } from '../recordings/recordings.ts';

type SharedCallsOptions = {
  store: Store;
  recordings: Recordings;
  links: CallLinks;
  clock: Clock;
  /** As in the links that events carry: a page must not offer what its event kept back. */
  withRecording: boolean;
  stereoRoles: readonly [Role, Role];
};

/** Seconds since 1970, as a link has them; no number of another form passes for the signed one. */
const LinkQuery = z.object({
  expires: z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number),
  signature: z.string().max(100),
});

/** The call that a signed link names, to read and to hear, without a key. No script, no style but its own. */
export function sharedCalls(options: SharedCallsOptions): Router {
  const { store, recordings, links, clock, withRecording, stereoRoles } = options;
  const router = Router();

  const admitted = (kind: 'page' | 'recording', request: Request<{ id: string }>): number => {
    const query = read(LinkQuery, request);
    const verdict = links.judge(kind, request.params.id, query, clock.now());
    if (verdict === 'wrong') throw new Problem(403, 'the link is not signed by this installation');
    if (verdict === 'expired') throw new Problem(410, 'the link has expired');
    return query.expires;
  };

  router.get('/shared/calls/:id', async (request, response) => {
    const { id } = request.params;
    const expires = admitted('page', request);
    const call = await found(callJson(store.db, id, () => undefined));
    const audio =
      call.recording && withRecording ? links.pathOf('recording', id, expires) : undefined;
    response
      .set({ 'x-robots-tag': 'noindex', 'content-security-policy': policy })
      .type('text/html')
      .send(page(call, audio, expires * 1_000));
  });

  router.get('/shared/calls/:id/recording', async (request, response) => {
    admitted('recording', request);
    const { id } = request.params;
    await sendRecording({ db: store.db, recordings, stereoRoles, callId: id, request, response });
  });

  return router;
}

type SharedCall = NonNullable<Awaited<ReturnType<typeof callJson>>>;

function page(call: SharedCall, audio: string | undefined, expiresAt: number): string {
  const parties = `${call.from ?? 'unknown'} → ${call.to ?? 'unknown'}`;
  const facts = [call.carrier, call.direction, call.started_at, call.carrier_call_id];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Call ${escaped(parties)}</title>
<style>${style}</style>
<main>
<h1>${escaped(parties)}</h1>
<p>${facts
    .filter((fact) => fact !== null)
    .map(escaped)
    .join(' · ')}</p>
${audio === undefined ? '' : `<audio controls preload="none" src="${escaped(audio)}"></audio>`}
${summary(call.summary)}
<h2>Transcript</h2>
${call.transcript.length === 0 ? '<p>No words were heard.</p>' : `<ol>${call.transcript.map(turn).join('')}</ol>`}
<p><small>This link opens until ${new Date(expiresAt).toISOString()}.</small></p>
</main>
</html>
`;
}

function summary(value: unknown): string {
  const text = z.object({ text: z.string().min(1) }).safeParse(value).data?.text;
  return text === undefined ? '' : `<h2>Summary</h2><p>${escaped(text)}</p>`;
}

function turn(said: Turn): string {
  const { role, start, text } = said;
  const seconds = Math.floor(start);
  const at = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return `<li class="${role}"><b>${personName(said)}</b> <time>${at}</time> ${escaped(text)}</li>`;
}

/** Words of callers and names of carriers are text, whatever they look like. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const style = `main { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
:root { color-scheme: light dark; }
audio { width: 100%; }
ol { list-style: none; padding: 0; }
li { margin: .5rem 0; }
time { opacity: .7; }
h2 + p { white-space: pre-line; }
`;

const styleDigest = createHash('sha256').update(style).digest('base64');
const policy = `default-src 'none'; media-src 'self'; style-src 'sha256-${styleDigest}'; base-uri 'none'; frame-ancestors 'none'`;
