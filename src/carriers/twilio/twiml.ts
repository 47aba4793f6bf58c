export type TwimlOptions = {
  /** Base address by which the carrier reaches us. */
  publicUrl: string;
  parameters: Record<string, string>;
  dial: string | undefined;
  continueUrl: string | undefined;
};

/** As long as a call may last: without a verb after <Start> the call would hang up at once (section 1.1). */
const pauseS = 14_400;

/** Starts a fork of both tracks, so that the call never depends on us, and then goes on with the call (F90). */
export function voiceTwiml({ publicUrl, parameters, dial, continueUrl }: TwimlOptions): string {
  const socketUrl = `${publicUrl.replace(/^http/, 'ws')}/carriers/twilio`;
  const list = Object.entries(parameters)
    .map(([name, value]) => `<Parameter name="${escape(name)}" value="${escape(value)}"/>`)
    .join('');
  const stream =
    `<Stream url="${escape(socketUrl)}" track="both_tracks" ` +
    `statusCallback="${escape(`${publicUrl}/carriers/twilio/status`)}" statusCallbackMethod="POST">${list}</Stream>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Start>${stream}</Start>${next(dial, continueUrl)}</Response>\n`;
}

function next(dial: string | undefined, continueUrl: string | undefined): string {
  if (continueUrl !== undefined) return `<Redirect method="POST">${escape(continueUrl)}</Redirect>`;
  if (dial === undefined) return `<Pause length="${pauseS}"/>`;
  return dial.startsWith('sip:')
    ? `<Dial><Sip>${escape(dial)}</Sip></Dial>`
    : `<Dial>${escape(dial)}</Dial>`;
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escape(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (char) => entities[char] ?? '')
      // Characters that XML has no form for.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
  );
}
