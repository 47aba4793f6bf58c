import { z } from 'zod';
import { escaped, plainPage } from '../../port/plain-page.ts';
import type { Turn } from '../../protocol/events.ts';
import { personName } from '../../protocol/people.ts';
import type { callJson } from './call-json.ts';

/**
 * The pages that a signed link opens, in the style of the console. They work without a script; the script only starts
 * the audio at the line that was clicked.
 */
export type SharedCall = NonNullable<Awaited<ReturnType<typeof callJson>>>;

/** The page may load only the console's own files: nothing from another host, and nothing inline. */
export const sharedPagePolicy =
  "default-src 'none'; media-src 'self'; style-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const voices = 6;

export function sharedCallPage(
  call: SharedCall,
  audio: string | undefined,
  expiresAt: number,
): string {
  const parties =
    call.from === null && call.to === null
      ? call.carrier_call_id
      : `${call.from ?? 'unknown'} → ${call.to ?? 'unknown'}`;
  const facts = [call.carrier, call.direction, `${call.started_at.slice(0, 16).replace('T', ' ')} UTC`, lengthOf(call)]; // prettier-ignore
  const isHeard = audio !== undefined;
  return shell(
    `Call ${parties}`,
    `<div class="view call-view shared${isHeard ? ' has-recording' : ''}">
<div class="heading"><div>
<h1>${escaped(parties)}</h1>
<p class="facts quiet">${facts
      .flatMap((fact) => fact ?? [])
      .map(escaped)
      .join(' · ')}</p>
</div></div>
${isHeard ? `<div class="player-place"><div class="player"><audio controls preload="metadata" aria-label="Recording of the call" src="${escaped(audio)}"></audio></div></div>` : ''}
<div class="story">
${summary(call.summary)}
<section class="transcript" aria-label="Transcript">
${call.transcript.length === 0 ? '<p class="empty">No words were heard.</p>' : `<ol class="conversation">${call.transcript.map((said, at, all) => turn(said, all[at - 1], isHeard)).join('')}</ol>`}
</section>
</div>
<p class="quiet">This link opens until ${new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC. <a href="/#/calls/${encodeURIComponent(call.id)}">Open in the console</a></p>
</div>`,
  );
}

/** The page for a person whose link no longer works. It says what they can do instead. */
export function closedLinkPage(callId: string | undefined, why: string): string {
  // Signing in would not help anybody to see a call that is gone.
  const title = callId === undefined ? 'This call is gone' : 'Sign in to see this call';
  const way =
    callId === undefined
      ? ''
      : `<p><a class="button primary" href="/#/calls/${encodeURIComponent(callId)}">Open it in Trunkline</a></p>`;
  return shell(
    title,
    `<div class="sign-in">
<h1>${title}</h1>
<p>${escaped(why)}</p>
${way}
</div>`,
  );
}

function shell(title: string, main: string): string {
  return plainPage(title, main, '/page/shared-call.js');
}

function lengthOf({ duration }: SharedCall): string | undefined {
  return duration === null || duration === undefined ? undefined : clock(duration);
}

function summary(value: unknown): string {
  const text = z.object({ text: z.string().min(1) }).safeParse(value).data?.text;
  if (text === undefined) return '';
  return `<section class="summary" aria-labelledby="summary-heading"><h2 id="summary-heading">Summary</h2><p class="lines">${escaped(text)}</p></section>`;
}

function turn(said: Turn, before: Turn | undefined, isHeard: boolean): string {
  const { role, speaker, start, text } = said;
  const name = personName(said);
  const goesOn = before !== undefined && personName(before) === name ? ' goes-on' : '';
  const voice = speaker === undefined ? '' : ` data-voice="${speaker % voices}"`;
  const at = clock(start);
  const time = isHeard
    ? `<button type="button" class="time" data-at="${start}" aria-label="Hear from ${at}">${at}</button>`
    : `<span class="time">${at}</span>`;
  return `<li class="entry utterance${goesOn}" data-role="${role}"${voice}>${time}<div><span class="role">${name}</span><p class="text">${escaped(text)}</p></div></li>`;
}

function clock(atS: number): string {
  const seconds = Math.floor(atS);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
